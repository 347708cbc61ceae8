// pixi.toml: Python and the plain packages from conda-forge, the proven build and all that is bound to it from its own
// index, as one feature per variant with the system requirement of its driver.

import type { PlatformTag } from '../data/schemas.ts';
import { compareVersions } from '../machine.ts';
import type { Choice, Requirement } from '../resolve/types.ts';
import { comments, key, toml } from '../text/quote.ts';
import { type EnvPlan, specOf } from './plan.ts';
import { extraOf } from './uv.ts';

const PLATFORM: Readonly<Record<PlatformTag, string>> = {
  'linux-x64': 'linux-64',
  'linux-arm64': 'linux-aarch64',
  'windows-x64': 'win-64',
  'macos-arm64': 'osx-arm64',
  'macos-x64': 'osx-64',
};

export function writePixi(plan: EnvPlan, checked: boolean): string {
  const { choice, cpuTwin, selection } = plan;
  const exact = plan.profile.pin === 'exact';
  const plain = selection.packages.filter((use) => use.conda !== null && !use.bound);
  const bound = selection.packages.filter((use) => use.conda === null || use.bound);
  const lines = [
    comments(plan.madeFor),
    comments(['Install: pixi install', ...(checked ? ['Check:   pixi run verify'] : [])]),
    '',
    '[workspace]',
    `name = ${toml(plan.name)}`,
    `description = ${toml(`${plan.profile.title}: ${plan.profile.intent}`)}`,
    'version = "0.1.0"',
    'channels = ["conda-forge"]',
    `platforms = [${toml(PLATFORM[plan.platform])}]`,
    '',
    ...(plan.pypiIndex === null ? [] : ['[pypi-options]', `index-url = ${toml(plan.pypiIndex)}`, '']),
    ...(checked ? ['[tasks]', 'verify = "python verify.py"', ''] : []),
    '[dependencies]',
    `python = ${toml(`${plan.python}.*`)}`,
    ...plain.map((use) => `${key(use.conda ?? use.name)} = ${toml(use.range || '*')}`),
  ];
  if (bound.length > 0) {
    lines.push('', '[pypi-dependencies]');
    for (const use of bound) lines.push(`${key(use.name)} = ${pypi(specOf(use, exact) || '*', use.extras, null)}`);
  }
  const gpu = extraOf(choice);
  lines.push(...feature(gpu, choice, plan.framework, plan.driverCuda));
  if (cpuTwin) {
    const vision = plan.framework.find((row) => row.name === 'torchvision');
    const companion = cpuTwin.companions.find((row) => row.name === 'torchvision');
    const rows =
      vision && companion
        ? [...cpuTwin.requirements, { ...vision, spec: `==${companion.version}` }]
        : cpuTwin.requirements;
    lines.push(...feature('cpu', cpuTwin, rows, null));
  }
  lines.push('', '[environments]', `default = [${toml(gpu)}]`);
  if (cpuTwin) lines.push('cpu = ["cpu"]');
  lines.push('');
  return lines.join('\n');
}

function feature(
  name: string,
  choice: Choice,
  rows: readonly Requirement[],
  driverCuda: string | null,
): readonly string[] {
  const lines: string[] = [];
  if (choice.backend === 'cuda' && choice.cuda !== null) {
    // What the machine must report: never more than this driver does, or pixi refuses to install.
    const floor = driverCuda !== null && compareVersions(driverCuda, choice.cuda) < 0 ? driverCuda : choice.cuda;
    lines.push('', `[feature.${key(name)}.system-requirements]`, `cuda = ${toml(floor)}`);
  }
  const variables = Object.entries(choice.environment);
  if (variables.length > 0) {
    lines.push(
      '',
      `[feature.${key(name)}.activation.env]`,
      ...variables.map(([variable, value]) => `${variable} = ${toml(value)}`),
    );
  }
  lines.push('', `[feature.${key(name)}.pypi-dependencies]`);
  for (const row of rows)
    lines.push(`${key(row.name)} = ${pypi(row.spec, row.extras, row.own ? (choice.index?.url ?? null) : null)}`);
  return lines;
}

function pypi(version: string, extras: readonly string[], index: string | null): string {
  if (extras.length === 0 && index === null) return toml(version);
  const parts = [`version = ${toml(version)}`];
  if (extras.length > 0) parts.push(`extras = [${extras.map(toml).join(', ')}]`);
  if (index !== null) parts.push(`index = ${toml(index)}`);
  return `{ ${parts.join(', ')} }`;
}
