// Bun, Deno and several versions of Node, as npm has them: fetched once by the lock files under runtimes/, with npm's check of their
// hashes and without install scripts, into node_modules/.cache. `npm ci` does not fetch them: they are 100 MB and more.

import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const cache = join(import.meta.dirname, '../../node_modules/.cache/gpuforge');

/** The folder of the packages of one of the lists under runtimes/. */
export function fetched(list: 'others' | 'nodes'): string {
  const from = join(import.meta.dirname, 'runtimes', list);
  const lock = createHash('sha256')
    .update(readFileSync(join(from, 'package-lock.json')))
    .digest('hex');
  const folder = join(cache, `${list}-${lock.slice(0, 12)}`);
  const modules = join(folder, 'node_modules');
  if (existsSync(folder)) return modules;
  // Filled beside its place and renamed: it is there whole or not at all.
  const filling = `${folder}.${randomUUID()}.tmp`;
  try {
    mkdirSync(cache, { recursive: true });
    cpSync(from, filling, { recursive: true });
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--fetch-retries=1'], {
      cwd: filling,
      encoding: 'utf8',
      stdio: 'pipe',
      timeout: 300_000,
      shell: process.platform === 'win32',
    });
    renameSync(filling, folder);
  } catch (error) {
    // Somebody else was first: theirs is as good.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(filling, { recursive: true, force: true });
  }
  return modules;
}

/** The first of these files that there is. */
export const firstOf = (folder: string, files: readonly string[]): string | undefined =>
  files.map((f) => join(folder, f)).find((f) => existsSync(f));
