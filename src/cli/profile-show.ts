// What `gpuforge profile` does.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ArgumentError, ForgeError } from '../errors.ts';
import type { Output } from '../forge/style.ts';
import {
  baselineText,
  compareProfiles,
  comparisonText,
  gate,
  gateStatus,
  gateText,
  kernelReport,
  type ProfileFile,
  profilePage,
  readBaseline,
  readProfile,
  suggest,
  textReport,
  updateBaseline,
} from '../profile/index.ts';
import { tellFailure } from './failure.ts';

export type ProfileRun = 'run' | 'show' | 'view' | 'compare' | 'gate';

export interface ProfileFlags {
  readonly out?: string;
  readonly html?: string;
  readonly detailed?: boolean;
  readonly top?: string;
  readonly json?: boolean;
  readonly open?: boolean;
  readonly baseline?: string;
  readonly update?: boolean;
}

type Action = (files: readonly string[], flags: ProfileFlags, output: Output) => Promise<number>;

/** Exit status: that of the command, or 2 for a request that makes no sense. */
export async function runProfile(
  what: ProfileRun,
  files: readonly string[],
  flags: ProfileFlags,
  output: Output,
): Promise<number> {
  try {
    return await actions[what](files, flags, output);
  } catch (error) {
    if (!(error instanceof ForgeError)) throw error;
    tellFailure(error, output, flags.json);
    return 2;
  }
}

const actions: Readonly<Record<ProfileRun, Action>> = {
  run: async (command, flags, output) => {
    const since = Date.now();
    const status = await runProgram(command, flags, since);
    const { out = 'profile.json' } = flags;
    if (existsSync(out) && statSync(out).mtimeMs >= since)
      output.warn(`\n${summary(load(out), 10)}Written to ${out}${flags.html ? ` and ${flags.html}` : ''}.\n`);
    else
      output.warn(
        'gpuforge profile: there is no profile: the program opened no runtime and made no scope, is no Node program, or was killed.\n',
      );
    return status;
  },
  show: async ([file], flags, output) => {
    const profile = load(file!);
    const top = count(flags.top ?? '10');
    output.write(flags.json ? json('gpuforge.profile-summary/1', summaryData(profile)) : summary(profile, top));
    return 0;
  },
  view: async ([file], flags, output) => {
    const page = flags.html ?? join(mkdtempSync(join(tmpdir(), 'gpuforge-profile-')), 'profile.html');
    write(page, (await profilePage(file === undefined ? null : load(file))).join(''));
    output.write(`${page}\n`);
    if (flags.open !== false) openInBrowser(page);
    return 0;
  },
  compare: async ([before, after], flags, output) => {
    const comparison = compareProfiles(load(before!), load(after!));
    output.write(flags.json ? json('gpuforge.comparison/1', comparison) : comparisonText(comparison));
    return 0;
  },
  gate: async ([file], flags, output) => {
    const profile = load(file!);
    const path = flags.baseline ?? 'profile-baseline.json';
    if (flags.update) {
      const old = existsSync(path) ? readBaseline(readText(path)) : null;
      write(path, baselineText(updateBaseline(profile, old)));
      output.write(`${path} has the times of this machine now.\n`);
      return 0;
    }
    if (!existsSync(path)) throw noFile(path, 'Make one with --update, on a machine that does nothing else.');
    const report = gate(profile, readBaseline(readText(path)));
    output.write(flags.json ? json('gpuforge.gate/1', report) : gateText(report));
    return gateStatus[report.outcome];
  },
};

const json = (schema: string, data: object): string => `${JSON.stringify({ schema, ...data }, null, 1)}\n`;

const summaryData = ({
  createdAt,
  machine,
  wallMs,
  summary: operations,
  kernelSummary,
  dropped,
  orphans,
  violations,
}: ProfileFile) => ({
  createdAt,
  machine,
  wallMs,
  operations,
  kernels: kernelSummary,
  dropped,
  orphans,
  violations,
});

/** The report, the kernels, and what to do. */
function summary(profile: ProfileFile, top: number): string {
  const advice = suggest(profile).map((s) => `${s.about}: ${s.advice}\n  (${s.rule}: ${s.evidence})\n`);
  return [textReport(profile, top), kernelReport(profile, top), ...(advice.length > 0 ? ['\n', ...advice] : [])].join(
    '',
  );
}

function count(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0 && text.trim() !== '') return value;
  throw new ArgumentError({
    message: `profile show: --top is '${text}'`,
    fix: 'Use a whole number from 0 up.',
    where: 'profile show',
  });
}

const noFile = (path: string, fix: string): ForgeError =>
  new ForgeError({
    code: 'NO_FILE',
    message: existsSync(path) ? `${path} cannot be read` : `there is no file ${path}`,
    fix,
    where: 'gpuforge profile',
  });

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw noFile(path, 'Check the name of the file.');
  }
}

const load = (path: string): ProfileFile => readProfile(readText(path));

function write(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (cause) {
    const message = `${path} cannot be written`;
    throw new ForgeError({
      code: 'FILE_NOT_WRITTEN',
      message,
      fix: 'Make its folder first.',
      where: 'gpuforge profile',
      cause,
    });
  }
}

/** The preloaded module: beside this file in dist/, or there from the sources. */
function registerUrl(): string {
  const places = ['./profile-register.js', '../profile-register.js', '../../dist/profile-register.js'];
  const found = places.map((p) => fileURLToPath(new URL(p, import.meta.url))).find((p) => existsSync(p));
  if (found) return pathToFileURL(found).href;
  throw new ForgeError({
    code: 'NOT_BUILT',
    message: 'profile run: profile-register.js is not beside the library',
    fix: 'Build the package first: npm run build.',
    where: 'profile run',
  });
}

async function runProgram(command: readonly string[], flags: ProfileFlags, since: number): Promise<number> {
  const [program, ...args] = command;
  const child = spawn(program === 'node' ? process.execPath : program!, args, {
    stdio: 'inherit',
    env: {
      ...process.env,
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${registerUrl()}`.trim(),
      GPUFORGE_PROFILE_OUT: resolve(flags.out ?? 'profile.json'),
      GPUFORGE_PROFILE_SINCE: String(since),
      ...(flags.html && { GPUFORGE_PROFILE_HTML: resolve(flags.html) }),
      ...(flags.detailed && { GPUFORGE_PROFILE_DETAILED: '1' }),
    },
  });
  // The program gets them too; what it does with them decides.
  const ignore = (): void => {};
  process.on('SIGINT', ignore);
  const pass = (): void => void child.kill('SIGTERM');
  process.on('SIGTERM', pass);
  try {
    return await new Promise<number>((done, failed) => {
      child.once('error', (cause) =>
        failed(
          new ForgeError({
            code: 'NOT_STARTED',
            message: `profile run: ${program} cannot be started`,
            fix: 'Write the command as in a shell: gpuforge profile run -- node app.mjs',
            where: 'profile run',
            cause,
          }),
        ),
      );
      child.once('exit', (code, signal) => done(code ?? 128 + (signal ? constants.signals[signal] : 0)));
    });
  } finally {
    process.removeListener('SIGINT', ignore);
    process.removeListener('SIGTERM', pass);
  }
}

const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
  linux: ['xdg-open'],
};

/** Where nothing opens files, the path that was printed is enough. */
function openInBrowser(page: string): void {
  const [command, ...args] = openers[process.platform] ?? ['xdg-open'];
  const child = spawn(command, [...args, page], { stdio: 'ignore', detached: true });
  child.once('error', () => {});
  child.unref();
}
