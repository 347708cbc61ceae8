// The writers, by the name that --format takes. Each is a pure function of the plan: same plan, same bytes.

import { writeConda } from './conda.ts';
import { writeDevcontainer, writeDockerfile } from './docker.ts';
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

export const writers = {
  uv: { path: 'pyproject.toml', write: writeUv },
  requirements: { path: 'requirements.txt', write: writeRequirements },
  conda: { path: 'environment.yml', write: writeConda },
  pixi: { path: 'pixi.toml', write: writePixi },
  docker: { path: 'Dockerfile', write: writeDockerfile },
  devcontainer: { path: '.devcontainer/devcontainer.json', write: writeDevcontainer },
  verify: { path: 'verify.py', write: writeVerify },
} as const satisfies Readonly<Record<string, { readonly path: string; readonly write: (plan: EnvPlan) => string }>>;

export type Format = keyof typeof writers;
export const formats = Object.keys(writers) as readonly Format[];

/** The files of an environment; a devcontainer builds from the Dockerfile, and every container runs the check. */
export function render(plan: EnvPlan, wanted: readonly Format[] = formats): readonly EnvFile[] {
  const all = new Set(wanted);
  if (all.has('devcontainer')) all.add('docker');
  if (all.has('docker')) all.add('verify');
  return formats
    .filter((format) => all.has(format))
    .map((format) => ({ path: writers[format].path, content: writers[format].write(plan) }));
}
