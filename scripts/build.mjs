// Builds dist/ if it is missing or older than the sources.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

function newest(folder) {
  let latest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    latest = Math.max(latest, entry.isDirectory() ? newest(path) : statSync(path).mtimeMs);
  }
  return latest;
}

/** Makes sure that dist/ is up to date; says so when it has to build. */
export function ensureBuilt({ quiet = false } = {}) {
  const target = join(root, 'dist', 'cli.js');
  const sources = Math.max(newest(join(root, 'src')), statSync(join(root, 'tsdown.config.ts')).mtimeMs);
  if (existsSync(target) && statSync(target).mtimeMs >= sources) return;
  if (!quiet) process.stderr.write('Building dist/ from src/ (once, and again when src/ changes) ...\n');
  const tsdown = fileURLToPath(new URL('../node_modules/tsdown/dist/run.mjs', import.meta.url));
  const run = spawnSync(process.execPath, [tsdown, '--logLevel', 'error'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  // What the bundler says of itself is of use only then.
  if (run.status !== 0) {
    process.stderr.write(run.stderr);
    throw new Error('The build failed; `npm run build` shows why.');
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) ensureBuilt();
