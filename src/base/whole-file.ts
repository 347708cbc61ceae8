// Writing files whole or not at all: one owner for tensors, fields and profiles.

import { importNode } from './platform.ts';

type FileSystem = typeof import('node:fs/promises');
type FileHandle = import('node:fs/promises').FileHandle;

export const fileSystem = (): Promise<FileSystem> => importNode('fs/promises') as Promise<FileSystem>;

const permissions = 0o7777;

/**
 * Writes a file beside its final name first, so that neither a crash nor a second writer ever leaves half of it. A file that is
 * replaced keeps its permissions, and a link goes on pointing to the file it names. With `flush`, the bytes are on the disk when it
 * gets its name: they survive a power cut.
 */
export async function replaceFile(
  name: string,
  write: (file: FileHandle) => Promise<unknown>,
  { flush = false }: { readonly flush?: boolean } = {},
): Promise<void> {
  const { chmod, open, rename, rm, stat } = await fileSystem();
  const target = await linkedFile(name);
  const before = await stat(target).catch(() => null);
  // A device or a pipe takes the bytes as they come; a folder refuses them.
  if (before && !before.isFile()) return written(await open(target, 'w'), write);
  const partial = `${target}.${crypto.randomUUID()}.tmp`;
  const mode = before && before.mode & permissions;
  try {
    await written(await open(partial, 'wx', mode ?? undefined), async (file) => {
      await write(file);
      if (flush) await file.sync();
    });
    // The umask may have taken some of it away.
    if (mode !== null) await chmod(partial, mode);
    await rename(partial, target);
  } catch (e) {
    await rm(partial, { force: true });
    throw e;
  }
}

async function written(file: FileHandle, write: (file: FileHandle) => Promise<unknown>): Promise<void> {
  try {
    await write(file);
  } finally {
    await file.close();
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
