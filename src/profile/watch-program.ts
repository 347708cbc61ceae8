// Measures the program of this process from outside: every runtime that opens is listened to, and the profile is written when
// the program ends, also after an error or a signal.
//
// Processes that the program starts are measured as well. One that opened no runtime and made no scope writes nothing. The one that
// ends last, which is the program itself, gets the file; those before it are beside it, numbered.

import * as fs from 'node:fs';
import { existsSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { makeFolder } from '../base/folder.ts';
import { whenRuntimeOpens } from '../index.ts';
import { profilePage } from './export/page.ts';
import type { ProfileFile } from './file/types.ts';
import { profileText } from './file/write.ts';
import { profileProgram } from './shared-profiler.ts';

/** Whole or not at all. */
function put(file: string, text: string): void {
  makeFolder(fs, dirname(file));
  writeFileSync(`${file}.${process.pid}.tmp`, text);
  renameSync(`${file}.${process.pid}.tmp`, file);
}

/** Makes room for a file: what another process of this run wrote there gets a number. */
function makeRoom(path: string, since: number): void {
  if (!existsSync(path) || statSync(path).mtimeMs < since) return;
  const numbered = (n: number): string => path.replace(/(\.[^./\\]*)?$/, `.${n}$1`);
  let n = 1;
  while (existsSync(numbered(n))) n++;
  renameSync(path, numbered(n));
}

export function watchProgram(): void {
  const { GPUFORGE_PROFILE_OUT: out, GPUFORGE_PROFILE_HTML: html, GPUFORGE_PROFILE_DETAILED: detailed } = process.env;
  const since = Number(process.env.GPUFORGE_PROFILE_SINCE) || Date.now();
  const profiler = profileProgram({ detailed: detailed === '1' }, basename(process.argv[1] ?? 'program'));
  whenRuntimeOpens((runtime) => {
    profiler.attach(runtime);
    return profiler.ready();
  });
  let written = false;

  const write = (profile: ProfileFile, page: string | null): void => {
    written = true;
    if (profiler.runtimes.length === 0 && profile.entries.length <= 1) return;
    for (const [file, text] of [
      [out, () => [...profileText(profile)].join('')],
      [html, () => page],
    ] as const) {
      const content = file ? text() : null;
      if (!file || content === null) continue;
      try {
        const path = resolve(file);
        makeRoom(path, since);
        put(path, content);
      } catch (error) {
        process.stderr.write(`gpuforge profile: ${file} cannot be written: ${(error as Error).message}\n`);
      }
    }
  };

  // The program has nothing left to do: there is time to wait for the devices, and to make the page.
  process.once('beforeExit', async (code) => {
    if (written) return;
    profiler.endProgram(code !== 0);
    const profile = await profiler.collect();
    const page = html ? (await profilePage(profile)).join('') : null;
    if (!written) write(profile, page);
    profiler.dispose();
  });

  // After process.exit or an error there is no time: what is known is written.
  process.once('exit', (code) => {
    if (written) return;
    profiler.endProgram(code !== 0);
    write(profiler.toProfile(), null);
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const stop = (): void => {
      process.removeListener(signal, stop);
      // A program with a listener of its own decides itself when it ends.
      if (process.listenerCount(signal) > 0) return;
      profiler.endProgram(true);
      write(profiler.toProfile(), null);
      process.kill(process.pid, signal);
    };
    process.on(signal, stop);
  }
}
