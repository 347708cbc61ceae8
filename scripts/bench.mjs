// npm run bench [-- --gpu | webgpu | routing | memory | isolation | compute | copies | host | small | tiny | arrays | lattice | field | profile | report | gate | batch | studio | studio-page | tfjs]: builds the package, installs the libraries it is measured beside (first time only), and measures.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureBuilt } from './build.mjs';
import { pageScript } from './page-script.mjs';

const bench = fileURLToPath(new URL('../bench', import.meta.url));

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: bench, stdio: 'inherit' });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** On a GPU host: the public API, then the device, and PyTorch beside them where python3 has it, in one table. */
function gpu(args) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const go = (list) => spawnSync(process.execPath, list, { cwd: root, stdio: 'inherit' }).status ?? 1;
  const cublas = args.filter((a) => a === '--no-cublas');
  let status = go(['scripts/test-gpu.mjs', '--build']);
  status ||= go(['--expose-gc', 'dist/gpu/tensors.mjs', ...cublas]);
  status ||= go(['--expose-gc', 'dist/gpu/bench.mjs', '--tensors', 'dist/gpu/tensors.json', ...args]);
  process.exit(status);
}

/** Benches of parts, as `npm run bench -- NAME`: bundled into dist/bench/, which can be carried to a GPU host and run there. */
const parts = {
  routing: 'bench/routing/main.ts',
  memory: 'bench/memory/main.ts',
  isolation: 'bench/isolation/main.ts',
  compute: 'bench/compute/main.ts',
  batch: 'bench/batch/main.ts',
  lattice: 'bench/lattice/main.ts',
  workloads: 'bench/lattice/workloads.ts',
  field: 'bench/field/main.ts',
  profile: 'bench/profile/main.ts',
  report: 'bench/report/main.ts',
  copies: 'bench/copies/main.ts',
  host: 'bench/host/main.ts',
  small: 'bench/host/small.ts',
  tiny: 'bench/host/tiny.ts',
  arrays: 'bench/host/arrays.ts',
  studio: 'bench/studio/main.ts',
  'studio-page': 'bench/studio/page.ts',
  tfjs: 'bench/tfjs/main.ts',
};

function installPeers() {
  if (existsSync(`${bench}/node_modules/numpy-ts`)) return;
  console.error('Installing the libraries of bench/ (first time only) ...');
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
}

async function part(name, args) {
  // Devices in processes of their own run the built child.
  ensureBuilt();
  const root = fileURLToPath(new URL('..', import.meta.url));
  if (name === 'tfjs') installPeers();
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    input: `${root}${parts[name]}`,
    platform: 'node',
    plugins: [pageScript()],
    external: ['koffi', 'webgpu', 'bullmq', 'ioredis', 'playwright-core', /^node:/],
    // Node 20 knows no `using`.
    transform: { target: 'es2022' },
  });
  await build.write({ file: `${root}dist/bench/${name}.mjs`, format: 'esm', codeSplitting: false });
  if (args.includes('--build')) process.exit(0);
  const command = ['--expose-gc', `dist/bench/${name}.mjs`, ...args];
  process.exit(spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' }).status ?? 1);
}

const rest = process.argv.slice(2);
if (rest[0] === 'gate') await part('report', ['--gate', ...rest.slice(1)]);
if (Object.hasOwn(parts, rest[0] ?? '')) await part(rest[0], rest.slice(1));
if (rest.includes('--gpu')) gpu(rest.filter((a) => a !== '--gpu'));
ensureBuilt();
if (rest[0] === 'webgpu') run(process.execPath, ['webgpu/main.mjs', ...rest.slice(1)]);
if (rest[0] === 'webgpu') process.exit(0);
installPeers();
const python = process.env.GPUFORGE_BENCH_PYTHON ?? '/usr/bin/python3';
if (spawnSync(python, ['-c', 'import numpy']).status !== 0) {
  console.error('NumPy is not there, so its column stays empty. On Debian: apt-get install python3-numpy libopenblas0');
}
run(process.execPath, ['run.mjs', ...rest]);
