// gpuforge/profile/register: measures a program that was not written for it. `gpuforge profile run -- node app.mjs` preloads it:
//
//   GPUFORGE_PROFILE_OUT=p.json node --import gpuforge/profile/register app.mjs
//
// Every runtime that opens is listened to. The profile is written when the program ends, also after an error or a signal.

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { whenRuntimeOpens } from '../index.ts';
import { htmlText } from './export/html.ts';
import type { ProfileFile } from './file/types.ts';
import { profileText } from './file/write.ts';
import { profileProgram } from './profiler.ts';

const { GPUFORGE_PROFILE_OUT: out, GPUFORGE_PROFILE_HTML: html, GPUFORGE_PROFILE_DETAILED: detailed } = process.env;

const program = basename(process.argv[1] ?? 'program');
const profiler = profileProgram({ detailed: detailed === '1' }, program);
whenRuntimeOpens((runtime) => profiler.attach(runtime));

let written = false;

/** Whole or not at all. */
function put(file: string, text: string): void {
  const path = resolve(file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.${process.pid}.tmp`, text);
  renameSync(`${path}.${process.pid}.tmp`, path);
}

function write(profile: ProfileFile): void {
  written = true;
  try {
    if (out) put(out, [...profileText(profile)].join(''));
  } catch (error) {
    process.stderr.write(`gpuforge profile: ${out} cannot be written: ${(error as Error).message}\n`);
  }
}

// The program has nothing left to do: there is time to wait for the devices, and to make the page.
process.once('beforeExit', async (code) => {
  if (written) return;
  profiler.endProgram(code !== 0);
  const profile = await profiler.collect();
  write(profile);
  if (html) put(html, (await htmlText(profile)).join(''));
  profiler.dispose();
});

// After process.exit or an error there is no time: what is known is written.
process.once('exit', (code) => {
  if (written) return;
  profiler.endProgram(code !== 0);
  write(profiler.toProfile());
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  const stop = (): void => {
    process.removeListener(signal, stop);
    // A program with a listener of its own decides itself when it ends.
    if (process.listenerCount(signal) > 0) return;
    profiler.endProgram(true);
    write(profiler.toProfile());
    process.kill(process.pid, signal);
  };
  process.on(signal, stop);
}
