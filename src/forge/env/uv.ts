// pyproject.toml for uv: the build and the CPU as two extras that exclude each other, each bound to its own explicit index.

import type { PlatformTag } from '../data/schemas.ts';
import type { Choice, Requirement } from '../resolve/types.ts';
import { comments, key, toml } from '../text/quote.ts';
import { type EnvPlan, specOf, spell } from './plan.ts';

const MARKER: Readonly<Record<PlatformTag, string>> = {
  'linux-x64': "sys_platform == 'linux' and platform_machine == 'x86_64'",
  'linux-arm64': "sys_platform == 'linux' and platform_machine == 'aarch64'",
  'windows-x64': "sys_platform == 'win32' and platform_machine == 'AMD64'",
  'macos-arm64': "sys_platform == 'darwin' and platform_machine == 'arm64'",
  'macos-x64': "sys_platform == 'darwin' and platform_machine == 'x86_64'",
};

/** The name of the extra that installs the build: "cu126", "rocm7-2". */
export const extraOf = (choice: Choice): string => choice.variant.replaceAll('.', '-');

export function writeUv(plan: EnvPlan, checked: boolean): string {
  const { choice, selection } = plan;
  const exact = plan.profile.pin === 'exact';
  const common = selection.packages.map((use) => spell(use, specOf(use, exact)));
  const variants = variantsOf(plan);
  const main = variants.length === 0 ? plan.framework.map((row) => spell(row, row.spec)) : [];
  const extras = variants.map(
    ({ extra, rows }) =>
      `${key(extra)} = ${list(
        rows.map((row) => spell(row, row.spec)),
        '',
      )}`,
  );
  for (const use of selection.optional) extras.push(`${key(use.name)} = ${list([spell(use, specOf(use, false))], '')}`);
  const install = `uv sync${variants.length > 0 ? ` --extra ${extraOf(choice)}` : ''}`;
  const run = `uv run ${variants.length > 0 ? `--extra ${extraOf(choice)} ` : ''}python verify.py`;
  const lines = [
    comments(plan.madeFor),
    comments([`Install: ${install}`, ...(checked ? [`Check:   ${run}`] : [])]),
    ...Object.entries(choice.environment).map(([name, value]) => comments([`Set ${name}=${value} when you run it.`])),
    '',
    '[project]',
    `name = ${toml(plan.name)}`,
    'version = "0.1.0"',
    `description = ${toml(`${plan.profile.title}: ${plan.profile.intent}`)}`,
    `requires-python = ${toml(`==${plan.python}.*`)}`,
    `dependencies = ${list([...main, ...common], '')}`,
    ...(extras.length > 0 ? ['', '[project.optional-dependencies]', ...extras] : []),
    '',
    '[tool.uv]',
    'package = false',
    `environments = [${toml(MARKER[plan.platform])}]`,
  ];
  if (variants.length > 1)
    lines.push(`conflicts = [[${variants.map(({ extra }) => `{ extra = ${toml(extra)} }`).join(', ')}]]`);
  const unbuilt = selection.optional.map((use) => use.name);
  if (unbuilt.length > 0) lines.push(`no-build-isolation-package = ${list(unbuilt, '')}`);
  lines.push(...sources(plan, variants));
  const indexes = new Map<string, string>();
  for (const { choice: row } of variants) if (row.index) indexes.set(row.index.name, row.index.url);
  if (variants.length === 0 && choice.index) indexes.set(choice.index.name, choice.index.url);
  for (const [name, url] of indexes)
    lines.push('', '[[tool.uv.index]]', `name = ${toml(name)}`, `url = ${toml(url)}`, 'explicit = true');
  if (plan.pypiIndex)
    lines.push('', '[[tool.uv.index]]', 'name = "pypi"', `url = ${toml(plan.pypiIndex)}`, 'default = true');
  lines.push('');
  return lines.join('\n');
}

interface Variant {
  readonly extra: string;
  readonly choice: Choice;
  readonly rows: readonly Requirement[];
}

/** The build and its CPU twin; none where there is only one way to install it. */
function variantsOf(plan: EnvPlan): readonly Variant[] {
  const { choice, cpuTwin } = plan;
  if (choice.backend === 'cpu' || choice.backend === 'mps') return [];
  const own: Variant = { extra: extraOf(choice), choice, rows: plan.framework };
  if (!cpuTwin) return [own];
  const vision = plan.framework.find((row) => row.name === 'torchvision');
  const companion = cpuTwin.companions.find((row) => row.name === 'torchvision');
  const rows =
    vision && companion
      ? [...cpuTwin.requirements, { ...vision, spec: `==${companion.version}` }]
      : cpuTwin.requirements;
  return [own, { extra: 'cpu', choice: cpuTwin, rows }];
}

function sources(plan: EnvPlan, variants: readonly Variant[]): readonly string[] {
  const bound = new Map<string, string[]>();
  const entries = variants.length > 0 ? variants : [{ extra: undefined, choice: plan.choice, rows: plan.framework }];
  for (const { extra, choice, rows } of entries) {
    if (!choice.index) continue;
    const { name: index } = choice.index;
    for (const row of rows.filter((candidate) => candidate.own)) {
      const source =
        extra === undefined ? `{ index = ${toml(index)} }` : `{ index = ${toml(index)}, extra = ${toml(extra)} }`;
      bound.set(row.name, [...(bound.get(row.name) ?? []), source]);
    }
  }
  if (bound.size === 0) return [];
  return [
    '',
    '[tool.uv.sources]',
    ...[...bound].map(([name, rows]) => `${key(name)} = [\n${rows.map((row) => `  ${row},\n`).join('')}]`),
  ];
}

function list(items: readonly string[], indent: string): string {
  return items.length === 0 ? '[]' : `[\n${items.map((item) => `${indent}  ${toml(item)},\n`).join('')}${indent}]`;
}
