// A resolution as a person reads it.

import type { Machine } from '../machine.ts';
import { columns, type Style } from '../style.ts';
import { shell, wrap } from '../text/quote.ts';
import { sourceNames } from '../text/sources.ts';
import { pythonsText } from './proof.ts';
import type { Choice, Resolution } from './types.ts';
import { nameOf } from './wheels.ts';

export interface RenderOptions {
  readonly verbose: boolean;
  readonly columns: number;
  /** A mirror of PyPI. */
  readonly pypi?: string | undefined;
}

export function renderResolution(result: Resolution, machine: Machine, style: Style, options: RenderOptions): string {
  const width = Math.max(60, Math.min(options.columns, 120)) - 2;
  const lines: string[] = [];
  if (machine.overrides.length > 0)
    lines.push(style.dim(`for ${machine.overrides.join(', ')} (given, not detected)`), '');
  if (result.status === 'ok') {
    const { choice } = result;
    const [least, most] = choice.pythonRange;
    const fit = least === most ? 'no other fits' : `${pythonsText(choice.pythonRange)} fit`;
    lines.push(`${style.bold(nameOf(choice))}  Python ${choice.python} (${fit})`, '');
    lines.push(...wrap(result.summary, width).map((line) => `  ${line}`), '');
    lines.push(style.bold('Install'), `  ${installCommand(choice, options.pypi)}`);
    for (const [name, value] of Object.entries(choice.environment)) lines.push(`  and run with ${name}=${value}`);
    lines.push('', style.bold('Proof'), ...proofLines(result, style, width));
    const other = [...new Set(result.alternatives.map(nameOf))].slice(0, 3);
    if (other.length > 0) lines.push('', style.dim(`Also possible: ${other.join(', ')} (--all shows every one)`));
  } else {
    lines.push(style.red('No build fits'), '', ...wrap(result.reason, width).map((line) => `  ${line}`), '');
    if (result.waysOut.length > 0) lines.push(style.bold('Ways out'));
    for (const way of result.waysOut) lines.push(...wrap(`- ${way.text}`, width).map((line) => `  ${line}`));
  }
  if (options.verbose && result.rejected.length > 0) {
    lines.push('', style.bold('Rejected'));
    lines.push(
      columns(
        result.rejected.map((row) => [row.build, style.dim(row.check), row.reason]),
        2,
        2,
      ).trimEnd(),
    );
  }
  if (result.warnings.length > 0) {
    lines.push('', style.yellow('Note'));
    for (const warning of result.warnings) lines.push(...wrap(`- ${warning}`, width).map((line) => `  ${line}`));
  }
  return `${lines.join('\n')}\n`;
}

const named: Readonly<Record<string, string>> = { ...sourceNames, assumption: 'assumed', detection: 'detected' };

/** The steps with numbered sources, so that a step stays one line. Provenance on the machine is named, pages are numbered. */
function proofLines(result: Resolution, style: Style, width: number): readonly string[] {
  const pages = [...new Set(result.proof.map((step) => step.source).filter((source) => source.startsWith('https:')))];
  const label = Math.max(...result.proof.map((step) => step.check.length));
  const steps = result.proof.flatMap((step) => {
    const page = pages.indexOf(step.source);
    const mark = page < 0 ? `(${named[step.source] ?? step.source})` : `[${page + 1}]`;
    const [head = '', ...rest] = wrap(`${step.fact} ${mark}`, width - label - 2);
    const indent = ' '.repeat(label + 2);
    return [
      `  ${style.dim(step.check.padEnd(label))}  ${head}`,
      ...rest.map((line) => `  ${indent}${line.trimStart()}`),
    ];
  });
  return [...steps, ...pages.map((page, i) => style.dim(`  [${i + 1}] ${page}`))];
}

function installCommand(choice: Choice, pypi?: string): string {
  const index = [
    ...(pypi === undefined ? [] : ['--index-url', pypi]),
    ...(choice.index ? ['--extra-index-url', choice.index.url] : []),
  ];
  const specs = choice.requirements.map(
    (row) => `${row.name}${row.extras.length > 0 ? `[${row.extras.join(',')}]` : ''}${row.spec}`,
  );
  return ['python', '-m', 'pip', 'install', ...index, ...specs].map(shell).join(' ');
}

export function renderBuilds(builds: readonly Choice[], framework: string): string {
  if (builds.length === 0) return `no build of ${framework} fits this machine\n`;
  return columns([
    ['build', 'CUDA', 'Python', 'index'],
    ...builds.map((row) => [
      nameOf(row),
      row.cuda ? `${row.cuda}${row.minorVersionCompatibility ? ' (minor-version compatibility)' : ''}` : '-',
      pythonsText(row.pythonRange),
      row.index?.url ?? 'PyPI',
    ]),
  ]);
}
