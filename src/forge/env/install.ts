// `env --install`, `--lock` and `--wheelhouse`: what follows the files, done by the tools themselves.
//
// Nothing starts before its size is said and agreed to; never as root unasked; what a tool prints is shown as it comes. A
// run that ends half way leaves the files, and the same command goes on where it stopped.

import { join } from 'node:path';
import { ArgumentError } from '../../errors.ts';
import type { Output } from '../style.ts';
import { shell } from '../text/quote.ts';
import type { EnvPlan } from './plan.ts';
import { estimate, gigabytes } from './sizes.ts';
import { extraOf } from './uv.ts';
import type { Format } from './writers.ts';

export interface InstallPort {
  /** Runs a program with its output shown; its status, or null when it did not start. */
  run(program: string, args: readonly string[], cwd: string): Promise<number | null>;
  /** True when the program is on the path. */
  has(program: string): boolean;
  freeBytes(folder: string): number | undefined;
  readonly isRoot: boolean;
  /** SHA-256 of every file in a folder, by name. */
  hashes(folder: string): Readonly<Record<string, string>>;
  read(file: string): string | undefined;
  write(file: string, text: string): void;
}

export interface InstallOptions {
  readonly policy: 'ask' | 'always' | 'never';
  readonly allowRoot: boolean;
  readonly yes: boolean;
  readonly confirm?: ((question: string) => Promise<boolean>) | undefined;
}

type Command = readonly [program: string, ...args: string[]];

/** The file of each format, and the tool that installs it. */
const TOOLS: readonly (readonly [Format, string])[] = [
  ['uv', 'uv (for pyproject.toml)'],
  ['requirements', 'Python (for requirements.txt)'],
  ['pixi', 'pixi (for pixi.toml)'],
  ['conda', 'conda (for environment.yml)'],
];

const listed = (names: readonly string[]): string =>
  names.length === 1 ? `${names[0]} is` : `${names.slice(0, -1).join(', ')} and ${names.at(-1)} are`;

/** The commands of the first tool that is there and has its file; the check comes last. */
export function installCommands(
  plan: EnvPlan,
  wanted: readonly Format[],
  has: (name: string) => boolean,
): readonly Command[] {
  const plain = plan.choice.backend === 'cpu' || plan.choice.backend === 'mps';
  const extra = plain ? [] : ['--extra', extraOf(plan.choice)];
  const check = wanted.includes('verify');
  if (wanted.includes('uv') && has('uv'))
    return [['uv', 'sync', ...extra], ...(check ? [['uv', 'run', ...extra, 'python', 'verify.py'] as const] : [])];
  // The versions are pinned for one Python; another is taken where that is not here.
  const python = [`python${plan.python}`, 'python3', 'python'].find(has);
  if (wanted.includes('requirements') && python !== undefined) {
    const own = process.platform === 'win32' ? '.venv\\Scripts\\python.exe' : '.venv/bin/python';
    return [
      [python, '-m', 'venv', '.venv'],
      [own, '-m', 'pip', 'install', '-r', 'requirements.txt'],
      ...(check ? [[own, 'verify.py'] as const] : []),
    ];
  }
  if (wanted.includes('pixi') && has('pixi')) return [check ? ['pixi', 'run', 'verify'] : ['pixi', 'install']];
  if (wanted.includes('conda') && has('conda'))
    return [
      ['conda', 'env', 'create', '-f', 'environment.yml'],
      ...(check ? [['conda', 'run', '-n', plan.name, 'python', 'verify.py'] as const] : []),
    ];
  return [];
}

/** 0 done, 1 not done. */
export async function install(
  plan: EnvPlan,
  folder: string,
  wanted: readonly Format[],
  port: InstallPort,
  output: Output,
  options: InstallOptions,
): Promise<number> {
  const commands = installCommands(plan, wanted, (name) => port.has(name));
  if (commands.length === 0) {
    const tools = TOOLS.filter(([format]) => wanted.includes(format)).map(([, needs]) => needs);
    output.warn(
      tools.length > 0
        ? `\nNothing is installed: ${listed(tools)} not here. Install one${wanted.includes('requirements') ? '' : ', or add --format requirements to use pip'}.\n`
        : '\nNothing is installed: no file was written that uv, pip, pixi or conda installs. Add --format uv or requirements.\n',
    );
    return 1;
  }
  const size = estimate(plan);
  const free = port.freeBytes(folder);
  output.warn(`\nAbout ${gigabytes(size.download)} to download, ${gigabytes(size.disk)} on disk.\n`);
  if (free !== undefined && free < size.disk * 1.2e9) {
    output.warn(`Not installed: only ${gigabytes(free / 1e9)} are free in ${folder}. The files are written.\n`);
    return 1;
  }
  for (const command of commands) output.warn(`  ${command.map(shell).join(' ')}\n`);
  if (port.isRoot && !options.allowRoot) {
    output.warn('Not installed: this is root. Run it as yourself, or add --allow-root.\n');
    return 1;
  }
  const agreed =
    options.policy === 'always' ||
    options.yes ||
    (options.policy === 'ask' && options.confirm !== undefined && (await options.confirm('Install this? [y/N] ')));
  if (!agreed) {
    output.warn('Nothing was installed. The files are written; add --yes to install.\n');
    return 1;
  }
  for (const [program, ...args] of commands) {
    const status = await port.run(program, args, folder);
    if (status === 0) continue;
    const line = [program, ...args].map(shell).join(' ');
    output.warn(
      `\n"${line}" ${status === null ? 'did not start' : `ended with status ${status}`}. The files are kept; go on with: cd ${shell(folder)} && ${line}\n`,
    );
    return 1;
  }
  return 0;
}

/** `uv.lock` and `pixi.lock`, by the tools that own them. */
export async function lock(
  folder: string,
  wanted: readonly Format[],
  port: InstallPort,
  output: Output,
): Promise<number> {
  const tools = (['uv', 'pixi'] as const).filter((tool) => wanted.includes(tool) && port.has(tool));
  if (tools.length === 0) {
    output.warn(
      '\nNothing is locked: that takes uv and pyproject.toml, or pixi and pixi.toml. Install one of the two.\n',
    );
    return 1;
  }
  for (const tool of tools) {
    const status = await port.run(tool, ['lock'], folder);
    if (status !== 0) return 1;
    output.write(`locked: ${join(folder, `${tool}.lock`)}\n`);
  }
  return 0;
}

const SUMS = 'SHA256SUMS';

/** All wheels into one folder, with their hashes. What is there is checked and not fetched again. */
export async function wheelhouse(folder: string, target: string, port: InstallPort, output: Output): Promise<number> {
  const before = sums(port.read(join(target, SUMS)) ?? '');
  const found = port.hashes(target);
  const broken = Object.keys(before).filter((name) => found[name] !== undefined && found[name] !== before[name]);
  if (broken.length > 0) {
    throw new ArgumentError({
      code: 'FORGE_WHEEL_CHANGED',
      message: `${broken.join(', ')} in ${target} is not the file that was downloaded`,
      fix: 'Delete it and run the same command again.',
      where: 'forge.env',
    });
  }
  const python = port.has('python3') ? 'python3' : 'python';
  const args = ['-m', 'pip', 'download', '--dest', target, '--requirement', join(folder, 'requirements.txt')];
  const status = await port.run(python, args, folder);
  const now = port.hashes(target);
  const names = Object.keys(now)
    .filter((name) => name !== SUMS)
    .sort();
  if (names.length > 0) port.write(join(target, SUMS), names.map((name) => `${now[name]}  ${name}\n`).join(''));
  if (status !== 0) {
    output.warn(`\nThe download ended early; ${names.length} files are kept. Run the same command to go on.\n`);
    return 1;
  }
  output.write(
    `${names.length} files in ${target}; offline: python -m pip install --no-index --find-links ${shell(target)} -r requirements.txt\n`,
  );
  return 0;
}

function sums(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text.split('\n').flatMap((line) => {
      const found = /^([0-9a-f]{64}) {2}(.+)$/.exec(line);
      return found ? [[found[2]!, found[1]!]] : [];
    }),
  );
}
