// npm run test:gpu — the device tests on a machine with an NVIDIA GPU. Without one it says so and fails.
//
//   node scripts/test-gpu.mjs [PART...]     run: kernels, routines, cublas, matmul, ampere, epilogues, fast, pool, runtime (default:
//                                           all of them), then the case suite and 5,000 random graphs through the runtime
//   node scripts/test-gpu.mjs --build       only bundle, into dist/gpu/, to be carried to a GPU host
//   node scripts/test-gpu.mjs --soak N      also N seconds of mixed work, watching memory
//   node scripts/test-gpu.mjs --webgpu ...  the checks and figures of the WebGPU device instead, on the adapter Dawn finds; what
//                                           follows is for webgpu.mjs
//   node scripts/test-gpu.mjs --sanitize    also the parts (default: quick) under compute-sanitizer where it exists: memcheck and
//                                           racecheck, every buffer an allocation of its own
//
// On a host without the sources (only dist/) the bundle is run as it is.

import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

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
    ['webgpu', 'test/webgpu/host.ts'],
  ]) {
    if (!existsSync(join(root, input))) continue;
    const build = await rolldown({
      input: join(root, input),
      platform: 'node',
      external: ['koffi', 'webgpu', /^node:/],
    });
    await build.write({ file: join(out, `${name}.mjs`), format: 'esm', codeSplitting: false });
  }
  cpSync(join(root, 'test', 'cases', 'data'), join(out, 'data'), { recursive: true });
}

if (existsSync(join(root, 'test', 'gpu', 'main.ts'))) await bundle();
if (args.includes('--build')) process.exit(0);

const soakAt = args.indexOf('--soak');
const seconds = soakAt >= 0 ? (args[soakAt + 1] ?? '600') : null;
const parts = args.filter((a, i) => !a.startsWith('--') && (soakAt < 0 || i !== soakAt + 1));
const node = (file, ...rest) => {
  const run = spawnSync(process.execPath, ['--expose-gc', join(out, file), ...rest], { stdio: 'inherit' });
  return run.status ?? 1;
};
/** The shared suites in several processes: assembling kernels keeps one core each busy. */
async function suites() {
  const jobs = Math.max(1, Math.min(12, availableParallelism() - 2));
  const seed = Math.floor(Math.random() * 2 ** 30);
  console.log(`case suite and 5,000 random graphs (seed ${seed}) in ${jobs} processes`);
  const codes = await Promise.all(
    Array.from({ length: jobs }, (_, i) => {
      const command = [join(out, 'suite.mjs'), '--part', `${i}/${jobs}`, 'cases', 'fuzz', '5000', `${seed}`];
      const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
      let text = '';
      child.stdout.on('data', (chunk) => {
        text += chunk;
      });
      return new Promise((resolve) => {
        child.on('close', (code) => {
          console.log(`-- part ${i}\n${text}`);
          resolve(code ?? 1);
        });
      });
    }),
  );
  return codes.find((c) => c !== 0) ?? 0;
}

const webgpuAt = args.indexOf('--webgpu');
if (webgpuAt >= 0) process.exit(node('webgpu.mjs', ...args.slice(webgpuAt + 1)));
let status = node('test.mjs', ...parts);
if (parts.length === 0 && status === 0) status = await suites();
if (seconds !== null) status ||= node('test.mjs', 'soak', seconds);
if (args.includes('--sanitize')) status ||= sanitize();
process.exit(status);

function sanitize() {
  if (spawnSync('compute-sanitizer', ['--version']).status !== 0) {
    console.log('compute-sanitizer is not on the PATH: not run');
    return 0;
  }
  const checked = ['--unpooled', ...(parts.length > 0 ? parts : ['quick'])];
  let worst = 0;
  for (const tool of ['memcheck', 'racecheck']) {
    const options = ['--tool', tool, '--error-exitcode', '9', process.execPath, join(out, 'test.mjs'), ...checked];
    const { status: code } = spawnSync('compute-sanitizer', options, { stdio: 'inherit' });
    console.log(`compute-sanitizer ${tool} ${checked.join(' ')}: exit ${code}`);
    worst ||= code ?? 1;
  }
  return worst;
}
