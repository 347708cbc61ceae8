// Where programs that may be looked at have their sockets: a folder of the user's own, which nobody else can enter.

import * as fs from 'node:fs';
import { chmodSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../../base/folder.ts';
import { ForgeError } from '../../index.ts';

/** $XDG_RUNTIME_DIR is the user's and has mode 0700; elsewhere a folder with the user's number among the temporary files. */
export function socketFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  return env.XDG_RUNTIME_DIR ? join(env.XDG_RUNTIME_DIR, 'gpuforge') : join(tmpdir(), `gpuforge-${userInfo().uid}`);
}

export const socketPath = (pid: number, folder = socketFolder()): string =>
  process.platform === 'win32' ? `\\\\.\\pipe\\gpuforge-${pid}` : join(folder, `${pid}.sock`);

/** Makes the folder, and refuses one that somebody else made or can enter. */
export function ensureFolder(folder: string): void {
  if (process.platform === 'win32') return;
  makeFolder(fs, folder, 0o700);
  const found = lstatSync(folder);
  const own = found.isDirectory() && found.uid === userInfo().uid;
  if (own && (found.mode & 0o077) !== 0) chmodSync(folder, 0o700);
  if (own) return;
  throw new ForgeError({
    code: 'STUDIO_FOLDER',
    message: `studio: ${folder} belongs to somebody else`,
    fix: 'Remove it, or set XDG_RUNTIME_DIR to a folder of your own.',
    where: 'studio',
  });
}

/** Programs with a socket that are still there; sockets of those that are gone are removed. */
export function attachable(folder = socketFolder()): number[] {
  let names: string[] = [];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names
    .flatMap((name) => /^(\d{1,10})\.sock$/.exec(name)?.[1] ?? [])
    .map(Number)
    .filter((pid) => {
      if (standingOf(pid) !== 'gone') return true;
      rmSync(socketPath(pid, folder), { force: true });
      return false;
    })
    .sort((a, b) => a - b);
}

/** Whether a process is there, and whose it is. */
export function standingOf(pid: number): 'ours' | 'foreign' | 'gone' {
  try {
    process.kill(pid, 0);
    return 'ours';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? 'foreign' : 'gone';
  }
}
