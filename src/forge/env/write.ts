// Putting the files on disk: all of them or none, never over a file that differs unless forced, each by rename.
//
// A file that is already there with the same bytes is left alone and reported as such, so a second run changes nothing. A
// link in the way is never written through.

import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../base/folder.ts';
import { ArgumentError } from '../../errors.ts';
import type { EnvFile } from './writers.ts';

export interface Placement {
  readonly path: string;
  readonly state: 'new' | 'same' | 'different';
  readonly lines: number;
  /** What would change, for a file that differs. */
  readonly difference: readonly string[];
}

/** What writing would do; touches nothing. */
export function inspect(folder: string, files: readonly EnvFile[]): readonly Placement[] {
  return files.map((file) => {
    const path = join(folder, file.path);
    const lines = file.content.split('\n').length - 1;
    const old = existing(path);
    if (old === undefined) return { path, state: 'new', lines, difference: [] };
    if (old === file.content) return { path, state: 'same', lines, difference: [] };
    return { path, state: 'different', lines, difference: difference(old, file.content) };
  });
}

export function writeFiles(folder: string, files: readonly EnvFile[], force: boolean): readonly Placement[] {
  const placements = inspect(folder, files);
  const blocked = placements.filter((row) => row.state === 'different');
  if (blocked.length > 0 && !force) {
    throw new ArgumentError({
      code: 'FORGE_FILE_EXISTS',
      message: `${blocked.map((row) => row.path).join(', ')} ${blocked.length === 1 ? 'exists and differs' : 'exist and differ'}; nothing was written`,
      fix: 'Look at the difference with --dry-run, then repeat with --force, or choose another --output folder.',
      where: 'forge.env',
    });
  }
  const staged: { readonly from: string; readonly to: string }[] = [];
  try {
    for (const [i, file] of files.entries()) {
      const placement = placements[i]!;
      if (placement.state === 'same') continue;
      refuseLinks(folder, file.path);
      makeFolder({ statSync, mkdirSync }, dirname(placement.path));
      const from = join(dirname(placement.path), `.gpuforge-${crypto.randomUUID()}.tmp`);
      // Listed before it is written: a disk that fills up half way leaves nothing behind.
      staged.push({ from, to: placement.path });
      writeFileSync(from, file.content, { flag: 'wx', mode: file.path.endsWith('.py') ? 0o755 : 0o644 });
    }
    for (const { from, to } of staged) renameSync(from, to);
  } catch (cause) {
    if (cause instanceof ArgumentError) throw cause;
    for (const { from } of staged) rmSync(from, { force: true });
    throw new ArgumentError({
      code: 'FORGE_WRITE_FAILED',
      message: `cannot write into ${folder}: ${cause instanceof Error ? cause.message : String(cause)}`,
      fix: 'Check the permissions and the free space of that folder, or choose another with --output.',
      where: 'forge.env',
      cause,
    });
  }
  return placements;
}

/** A folder of ours that is a link would lead the files somewhere else. */
function refuseLinks(folder: string, path: string): void {
  const parts = path.split('/').slice(0, -1);
  for (let i = 1; i <= parts.length; i++) {
    const step = join(folder, ...parts.slice(0, i));
    if (lstatSync(step, { throwIfNoEntry: false })?.isSymbolicLink()) {
      throw new ArgumentError({
        code: 'FORGE_NOT_A_FOLDER',
        message: `${step} is a link; nothing is written through it`,
        fix: 'Move it away, or choose another --output folder.',
        where: 'forge.env',
      });
    }
  }
}

/** The text of a regular file; undefined when nothing is there. */
function existing(path: string): string | undefined {
  let kind: ReturnType<typeof lstatSync>;
  try {
    kind = lstatSync(path);
  } catch {
    return undefined;
  }
  if (kind.isFile()) return readFileSync(path, 'utf8');
  throw new ArgumentError({
    code: 'FORGE_NOT_A_FILE',
    message: `${path} is in the way and is not a regular file; nothing was written`,
    fix: 'Move it away, or choose another --output folder.',
    where: 'forge.env',
  });
}

/** Changed lines with - and +, by the longest common subsequence; unchanged runs are left out. */
export function difference(before: string, after: string): readonly string[] {
  const a = before.split('\n');
  const b = after.split('\n');
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] =
        a[i] === b[j]
          ? longest[(i + 1) * width + j + 1]! + 1
          : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const lines: string[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      i++;
      j++;
    } else if (j < b.length && (i === a.length || longest[i * width + j + 1]! > longest[(i + 1) * width + j]!))
      lines.push(`+ ${b[j++]}`);
    else lines.push(`- ${a[i++]}`);
  }
  return lines;
}
