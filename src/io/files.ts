// Writing files whole or not at all.

import { importNode } from '../base/platform.ts';

type FileSystem = typeof import('node:fs/promises');

export const fileSystem = (): Promise<FileSystem> => importNode('fs/promises') as Promise<FileSystem>;

const permissions = 0o7777;

/**
 * Writes a file beside its final name first, so that neither a crash nor a signal ever leaves half of it. A file that is
 * replaced keeps its permissions, and a link goes on pointing to the file it names.
 */
export async function replaceFile(name: string, bytes: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
  const { chmod, rename, rm, stat, writeFile } = await fileSystem();
  const target = await linkedFile(name);
  const before = await stat(target).catch(() => null);
  // A device or a pipe takes the bytes as they come; a folder refuses them.
  if (before && !before.isFile()) return writeFile(target, bytes, { signal });
  const partial = `${target}.${crypto.randomUUID()}.tmp`;
  const mode = before && before.mode & permissions;
  try {
    await writeFile(partial, bytes, { signal, flag: 'wx', ...(mode === null ? {} : { mode }) });
    // The umask may have taken some of it away.
    if (mode !== null) await chmod(partial, mode);
    await rename(partial, target);
  } catch (e) {
    await rm(partial, { force: true });
    throw e;
  }
}

/** The file behind links, also where it does not exist yet. */
async function linkedFile(name: string): Promise<string> {
  const { readlink } = await fileSystem();
  const { dirname, resolve } = (await importNode('path')) as typeof import('node:path');
  let target = name;
  // As many as the system follows.
  for (let i = 0; i < 40; i++) {
    const next = await readlink(target).catch(() => null);
    if (next === null) return target;
    target = resolve(dirname(target), next);
  }
  return target;
}
