// npm run bench: builds the package, installs the libraries it is measured beside (first time only), and measures.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureBuilt } from './build.mjs';

const bench = fileURLToPath(new URL('../bench', import.meta.url));

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: bench, stdio: 'inherit' });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

ensureBuilt();
if (!existsSync(`${bench}/node_modules/numpy-ts`)) {
  console.error('Installing the libraries of bench/ (first time only) ...');
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
}
const python = process.env.GPUFORGE_BENCH_PYTHON ?? '/usr/bin/python3';
if (spawnSync(python, ['-c', 'import numpy']).status !== 0) {
  console.error('NumPy is not there, so its column stays empty. On Debian: apt-get install python3-numpy libopenblas0');
}
run(process.execPath, ['run.mjs', ...process.argv.slice(2)]);
