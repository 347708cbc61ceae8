// Starts the studio for the command line, prints its link, and waits until it is told to end.

import { createInterface } from 'node:readline';
import type { Output } from '../forge/style.ts';
import { ArgumentError, createRuntime, ForgeError } from '../index.ts';
import { attachable, socketFolder } from '../studio/attach/folder.ts';
import { attachTo } from '../studio/attach/programs.ts';
import { createForgeApi } from '../studio/forge-api.ts';
import type { StudioOptions } from '../studio/options.ts';
import { openBrowser, type Studio, startStudio } from '../studio/serve.ts';
import { tellFailure } from './failure.ts';
import { numberOf } from './number.ts';

export interface StudioFlags {
  readonly port?: string;
  readonly host?: string;
  readonly tokenFile?: string;
  readonly profile?: readonly string[];
  readonly open?: boolean;
  readonly json?: boolean;
}

/** `pids`: programs to look at, none for all of them; null for this machine. */
export async function runStudio(
  pids: readonly string[] | null,
  flags: StudioFlags,
  output: Output,
  signal: AbortSignal,
): Promise<number> {
  // Neither the servers nor their connections keep a process alive; this does.
  const alive = setInterval(() => {}, 2 ** 30);
  try {
    const studio = pids === null ? await ofMachine(flags) : await ofPrograms(pids, flags);
    try {
      await shown(studio, flags, output, signal);
      return 0;
    } finally {
      await studio.close();
    }
  } catch (error) {
    if (!(error instanceof ForgeError)) throw error;
    tellFailure(error, output, flags.json);
    return error instanceof ArgumentError ? 2 : 1;
  } finally {
    clearInterval(alive);
  }
}

const forge = () => createForgeApi(async () => (await import('./probe.ts')).computeProbe());

/** No program: a runtime that computes nothing shows the devices, their memory and their telemetry. */
async function ofMachine(flags: StudioFlags): Promise<Pick<Studio, 'url' | 'link' | 'close'>> {
  const options = optionsOf(flags);
  const runtime = await createRuntime({ routing: { mode: 'off' } });
  try {
    const studio = await startStudio(
      { ...options, runtimes: [{ runtime, studioName: 'this machine' }] },
      { forge: forge(), name: 'this machine' },
    );
    return {
      url: studio.url,
      link: () => studio.link(),
      close: async () => {
        await studio.close();
        await runtime.close();
      },
    };
  } catch (error) {
    await runtime.close();
    throw error;
  }
}

async function ofPrograms(pids: readonly string[], flags: StudioFlags): Promise<Studio> {
  const wanted = pids.length > 0 ? pids.map(pidOf) : attachable();
  if (wanted.length === 0)
    throw new ArgumentError({
      code: 'STUDIO_NO_PROGRAM',
      message: `studio: no program of yours can be looked at (none has a socket in ${socketFolder()})`,
      fix: 'Start the program with GPUFORGE_STUDIO=1 in its environment.',
      where: 'studio attach',
    });
  const programs = await Promise.all(wanted.map((pid) => attachTo(pid)));
  return startStudio(optionsOf(flags), { programs, forge: forge() });
}

function pidOf(text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new ArgumentError({
    code: 'BAD_PID',
    message: `studio: '${text}' is no process id`,
    fix: 'Give a number, such as the one that `ps` or `pgrep node` shows.',
    where: 'studio attach',
  });
}

function optionsOf({ port, host, tokenFile, profile = [] }: StudioFlags): StudioOptions {
  return {
    profiles: profile,
    ...(port === undefined ? {} : { port: numberOf('--port', port) }),
    ...(host === undefined ? {} : { host }),
    ...(tokenFile === undefined ? {} : { tokenFile }),
  };
}

/** Prints the link, and another at each Enter, until the signal. */
async function shown(
  studio: Pick<Studio, 'url' | 'link'>,
  { json, open = true }: StudioFlags,
  output: Output,
  signal: AbortSignal,
): Promise<void> {
  const tell = (url: string): void =>
    output.write(json ? `${JSON.stringify({ schema: 'gpuforge.studio-link/1', url })}\n` : `GPUForge Studio: ${url}\n`);
  tell(studio.url);
  if (!json && output.isTTY) output.write('The link works once. Press Enter for another one, Ctrl-C to end.\n');
  if (open && !json && output.isTTY) await openBrowser(studio.url);
  const lines = process.stdin.isTTY ? createInterface({ input: process.stdin }) : null;
  lines?.on('line', () => tell(studio.link()));
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
    lines?.on('SIGINT', () => resolve());
  });
  lines?.close();
}
