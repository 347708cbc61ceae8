// The writers, by the name that --format takes. Each is a pure function of the plan: same plan, same bytes.

import { writeApptainer } from './apptainer.ts';
import { writeCloudInit } from './cloud-init.ts';
import { writeConda } from './conda.ts';
import { containerVerify, sameBuild, writeDevcontainer, writeDockerfile } from './docker.ts';
import { writePixi } from './pixi.ts';
import type { EnvPlan } from './plan.ts';
import { writeRequirements } from './requirements.ts';
import { writeUv } from './uv.ts';
import { writeVerify } from './verify.ts';

export interface EnvFile {
  /** Relative to the folder of the environment, with forward slashes. */
  readonly path: string;
  readonly content: string;
}

interface Writer {
  readonly path: string | ((plan: EnvPlan) => string);
  /** Whether `verify.py` stands beside the file: only then it may name it. */
  readonly write: (plan: EnvPlan, checked: boolean) => string;
}

export const writers = {
  uv: { path: 'pyproject.toml', write: writeUv },
  requirements: { path: 'requirements.txt', write: writeRequirements },
  conda: { path: 'environment.yml', write: writeConda },
  pixi: { path: 'pixi.toml', write: writePixi },
  docker: { path: 'Dockerfile', write: writeDockerfile },
  devcontainer: { path: '.devcontainer/devcontainer.json', write: writeDevcontainer },
  verify: { path: 'verify.py', write: (plan: EnvPlan) => writeVerify(plan) },
  apptainer: { path: (plan: EnvPlan) => `${plan.name}.def`, write: writeApptainer },
  'cloud-init': { path: 'cloud-init.yaml', write: writeCloudInit },
} as const satisfies Readonly<Record<string, Writer>>;

export type Format = keyof typeof writers;
export const formats = Object.keys(writers) as readonly Format[];
/** What is written when nothing is chosen; the others are for clusters and clouds, by name. */
export const usualFormats = formats.filter((format) => format !== 'apptainer' && format !== 'cloud-init');

/** The files of an environment; a devcontainer builds from the Dockerfile, and every container runs the check. */
export function render(plan: EnvPlan, wanted: readonly Format[] = usualFormats): readonly EnvFile[] {
  const all = new Set(wanted);
  if (all.has('devcontainer')) all.add('docker');
  const boxed = all.has('docker') || all.has('apptainer');
  if (boxed && sameBuild(plan)) all.add('verify');
  const files = formats
    .filter((format) => all.has(format))
    .map((format) => {
      const { path, write }: Writer = writers[format];
      return { path: typeof path === 'string' ? path : path(plan), content: write(plan, all.has('verify')) };
    });
  return boxed && !sameBuild(plan)
    ? [...files, { path: containerVerify(plan), content: writeVerify(plan, plan.container.choice) }]
    : files;
}
