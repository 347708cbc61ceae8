// npm run test:gpu — the tests on a machine with an NVIDIA GPU. Without one it says so and fails.
//
//   node scripts/test-gpu.mjs               everything: the device tests; the case suite, 5,000 random graphs and many runtimes at once
//                                           through the public API; the lattice's tests; ten minutes of soak; memcheck and racecheck
//                                           of compute-sanitizer over the case suite, where it is installed
//   node scripts/test-gpu.mjs PART...       some of the device tests: kernels, routines, rows, attention, cublas, matmul, ampere, epilogues, fast, pool, runtime, values
//     --soak N                              seconds of soak (0: none); with PARTs none unless given
//     --no-sanitize                         without the checkers; they take longer than all the rest
//   node scripts/test-gpu.mjs --build       only bundle, into dist/gpu/, to be carried to a GPU host
//   node dist/gpu/batch-test.mjs [LISTS]    random lists through gpuforge/batch, each against a loop over its items
//   node dist/gpu/tfjs.mjs --device cuda    TF.js's own test suite on the backend of gpuforge/tfjs
//   node scripts/test-gpu.mjs --webgpu ...  the checks and figures of the WebGPU device instead, on the adapter Dawn finds; what
//                                           follows is for webgpu.mjs
//
// On a host without the sources (only dist/) the bundle is run as it is.

import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pageScript } from './page-script.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = join(root, 'dist', 'gpu');
const args = process.argv.slice(2);

async function bundle() {
  const { rolldown } = await import('rolldown');
  for (const [name, input] of [
    ['test', 'test/gpu/main.ts'],
    ['suite', 'test/gpu/suite.ts'],
    ['bench', 'bench/gpu/main.ts'],
    ['tensors', 'bench/gpu/tensors.ts'],
    ['small', 'bench/gpu/small.ts'],
    ['spans', 'bench/gpu/spans.ts'],
    ['waits', 'bench/gpu/waits.ts'],
    ['copies', 'bench/copies/main.ts'],
    ['batch', 'bench/gpu/batch.ts'],
    ['batch-test', 'test/gpu/batch.ts'],
    ['field', 'bench/gpu/field.ts'],
    ['everyday', 'bench/gpu/everyday.ts'],
    ['webgpu', 'test/webgpu/host.ts'],
    ['profile', 'bench/profile/main.ts'],
    ['lattice', 'test/gpu/lattice.ts'],
    ['lattice-bench', 'bench/gpu/lattice.ts'],
    ['lattice-delta', 'bench/lattice/delta.ts'],
    ['lattice-workloads', 'bench/lattice/workloads.ts'],
  ]) {
    if (!existsSync(join(root, input))) continue;
    const build = await rolldown({
      input: join(root, input),
      platform: 'node',
      plugins: [pageScript()],
      external: ['koffi', 'webgpu', 'bullmq', 'ioredis', /^node:/],
      // Test files are bundled with what they use of vitest: the host has no packages.
      resolve: { alias: { vitest: join(root, 'test/gpu/vitest.ts') } },
      // Test files are imported for what they do.
      treeshake: { moduleSideEffects: [{ test: /\.test\.ts$/, sideEffects: true }] },
      // Node 20 knows no `await using`.
      transform: { target: 'es2022' },
    });
    await build.write({ file: join(out, `${name}.mjs`), format: 'esm', codeSplitting: false });
  }
  if (existsSync(join(root, 'test', 'tfjs', 'conformance', 'main.ts'))) {
    const { bundleTfjs } = await import('./bundle-tfjs.mjs');
    await bundleTfjs(join(out, 'tfjs.mjs'));
    // TF.js's WebGPU backend is among the libraries of bench/, if those are installed.
    const peers = existsSync(join(root, 'bench', 'node_modules', '@tensorflow', 'tfjs-backend-webgpu'));
    if (peers) await bundleTfjs(join(out, 'tfjs-bench.mjs'), 'bench/tfjs/gpu.ts');
  }
  cpSync(join(root, 'bench', 'gpu', 'everyday_torch.py'), join(out, 'everyday_torch.py'));
  cpSync(join(root, 'test', 'cases', 'data'), join(out, 'data'), { recursive: true });
  cpSync(join(root, 'bench', 'gpu', 'field_torch.py'), join(out, 'field_torch.py'));
}

if (existsSync(join(root, 'test', 'gpu', 'main.ts'))) await bundle();
if (args.includes('--build')) process.exit(0);

const soakAt = args.indexOf('--soak');
const parts = args.filter((a, i) => !a.startsWith('--') && (soakAt < 0 || i !== soakAt + 1));
const whole = parts.length === 0;
const seconds = soakAt >= 0 ? Number(args[soakAt + 1] ?? 600) : whole ? 600 : 0;

const node = (file, ...rest) => {
  const run = spawnSync(process.execPath, ['--expose-gc', join(out, file), ...rest], { stdio: 'inherit' });
  return run.status ?? 1;
};

/** The shared suites in several processes: assembling kernels keeps one core each busy. `checker` runs each of them, if given. */
async function suites(what, checker = []) {
  const jobs = Math.max(1, Math.min(12, availableParallelism() - 2));
  console.log(`${checker.join(' ')} suite ${what.join(' ')} in ${jobs} processes`);
  const codes = await Promise.all(
    Array.from({ length: jobs }, (_, i) => {
      const [program, ...rest] = [
        ...checker,
        process.execPath,
        join(out, 'suite.mjs'),
        '--part',
        `${i}/${jobs}`,
        ...what,
      ];
      const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
      let text = '';
      child.stdout.on('data', (chunk) => {
        text += chunk;
      });
      return new Promise((resolve) => {
        child.on('close', (code) => {
          console.log(`-- part ${i}: exit ${code}\n${text}`);
          resolve(code ?? 1);
        });
      });
    }),
  );
  return codes.find((c) => c !== 0) ?? 0;
}

async function sanitize() {
  if (spawnSync('compute-sanitizer', ['--version']).status !== 0) {
    console.log('compute-sanitizer is not on the PATH: not run');
    return 0;
  }
  let worst = 0;
  for (const tool of ['memcheck', 'racecheck']) {
    const checker = ['compute-sanitizer', '--tool', tool, '--error-exitcode', '9'];
    worst ||= await suites(['--unpooled', 'cases'], checker);
  }
  return worst;
}

const webgpuAt = args.indexOf('--webgpu');
if (webgpuAt >= 0) process.exit(node('webgpu.mjs', ...args.slice(webgpuAt + 1)));
let status = node('test.mjs', ...parts);
if (whole) {
  const seed = Math.floor(Math.random() * 2 ** 30);
  status ||= await suites(['cases', 'fuzz', '5000', `${seed}`]);
  status ||= node('suite.mjs', 'streams', '60');
  status ||= node('lattice.mjs');
}
if (seconds > 0) status ||= node('test.mjs', 'soak', `${seconds}`);
if (whole && !args.includes('--no-sanitize')) status ||= await sanitize();
process.exit(status);
