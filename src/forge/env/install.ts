// `env --install`, `--lock` and `--wheelhouse`: what follows the files, done by the tools themselves.
//
// Nothing starts before its size is said and agreed to; never as root unasked; what a tool prints is shown as it comes. A
// run that ends half way leaves the files, and the same command goes on where it stopped.

import { join } from 'node:path';
import { ArgumentError } from '../../errors.ts';
import type { Output } from '../style.ts';
import { plainText } from '../text/plain.ts';
import { shell } from '../text/quote.ts';
import { writeExplanation } from './explained.ts';
import type { EnvPlan } from './plan.ts';
import { estimate, gigabytes } from './sizes.ts';
import { extraOf } from './uv.ts';
import type { Format } from './writers.ts';

export interface InstallPort {
  /** Runs a program with its output shown; its status, or null when it did not start. `hear` gets what it says of errors. */
  run(program: string, args: readonly string[], cwd: string, hear?: (text: string) => void): Promise<number | null>;
  /** True when the program is on the path. */
  has(program: string): boolean;
  /** The Python it is, "3.12"; undefined where it does not run: a shim of pyenv stands on the path without one behind it. */
  pythonVersion(program: string): string | undefined;
  /** Where things are installed: "linux-x64". */
  readonly platform: string;
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

/** The end of what a tool says is what it failed of. */
const MOST_HEARD = 64 * 1024;

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

const pythonNames = (plan: EnvPlan): readonly string[] => [`python${plan.python}`, 'python3', 'python'];

/** The Python that the versions are pinned for, else the first that runs. */
function findPython(
  plan: EnvPlan,
  port: InstallPort,
): { readonly program: string; readonly version: string } | undefined {
  const found = pythonNames(plan)
    .filter((program) => port.has(program))
    .flatMap((program) => {
      const version = port.pythonVersion(program);
      return version === undefined ? [] : [{ program, version }];
    });
  return found.find(({ version }) => version === plan.python) ?? found[0];
}

/** What is installed must be for this system; files for another are installed there. */
function refuseElsewhere(plan: EnvPlan, port: InstallPort): void {
  if (plan.platform === port.platform) return;
  throw new ArgumentError({
    code: 'FORGE_OTHER_SYSTEM',
    message: `the files are for ${plan.platform}, and this is ${port.platform}: nothing is installed or downloaded`,
    fix: 'Take the folder there, and run the lines under Next.',
    where: 'forge.env',
  });
}

/** The commands of the first tool that is there and has its file; the check comes last. */
export function installCommands(
  plan: EnvPlan,
  wanted: readonly Format[],
  has: (name: string) => boolean,
  python: string | null = pythonNames(plan).find(has) ?? null,
): readonly Command[] {
  const plain = plan.choice.backend === 'cpu' || plan.choice.backend === 'mps';
  const extra = plain ? [] : ['--extra', extraOf(plan.choice)];
  const check = wanted.includes('verify');
  if (wanted.includes('uv') && has('uv'))
    return [['uv', 'sync', ...extra], ...(check ? [['uv', 'run', ...extra, 'python', 'verify.py'] as const] : [])];
  if (wanted.includes('requirements') && python !== null) {
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
  refuseElsewhere(plan, port);
  const python = findPython(plan, port);
  const commands = installCommands(plan, wanted, (name) => port.has(name), python?.program ?? null);
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
  if (python && python.version !== plan.python && commands[0]![0] === python.program)
    output.warn(
      `The versions are pinned for Python ${plan.python}, and ${python.program} is ${python.version}: if one does not fit, write the files with --python ${python.version}.\n`,
    );
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
    let heard = '';
    const status = await port.run(program, args, folder, (text) => {
      heard = `${heard}${text}`.slice(-MOST_HEARD);
    });
    if (status === 0) continue;
    const line = [program, ...args].map(shell).join(' ');
    output.warn(
      `\n"${line}" ${status === null ? 'did not start' : `ended with status ${status}`}. The files are kept; go on with: cd ${shell(folder)} && ${line}\n`,
    );
    if (heard === '') output.warn(`What it says means: ${line} 2>&1 | gpuforge explain -\n`);
    else writeExplanation(plainText(heard), { write: (text) => output.warn(text) });
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
export async function wheelhouse(
  plan: EnvPlan,
  folder: string,
  target: string,
  wanted: readonly Format[],
  port: InstallPort,
  output: Output,
): Promise<number> {
  refuseElsewhere(plan, port);
  const python = findPython(plan, port);
  if (!wanted.includes('requirements') || python === undefined) {
    const lacks = python === undefined ? 'a Python is not here' : 'requirements.txt is not among the files';
    output.warn(`\nNothing is downloaded: pip does that from requirements.txt, and ${lacks}.\n`);
    return 1;
  }
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
  // Another Python than the one of the environment fetches for it what is built already.
  const other = python.version === plan.python ? [] : ['--python-version', plan.python, '--only-binary', ':all:'];
  const args = ['-m', 'pip', 'download', ...other, '--dest', target, '--requirement', join(folder, 'requirements.txt')];
  const status = await port.run(python.program, args, folder);
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
