// npm run test:gpu — the tests on a machine with an NVIDIA GPU. Without one it says so and fails.
//
//   node scripts/test-gpu.mjs               everything, in about five minutes on 16 cores: the device tests; the case suite, 5,000 random
//                                           graphs and many runtimes at once through the public API; lattices, lists, TF.js's own
//                                           suite. Then, alone on the GPU: pool, order and clocks, and a soak
//     --soak N                              seconds of soak (0: none); 30 unless given
//     --seed N                              of the random graphs; drawn unless given
//   node scripts/test-gpu.mjs --sanitize    compute-sanitizer, in about four minutes: memcheck, racecheck and synccheck over the whole case
//                                           suite, memcheck and racecheck over the routines with shared memory, memcheck over kernels and
//                                           random graphs; fails where it is not installed
//   node scripts/test-gpu.mjs PART...       some of the device tests: kernels, routines, fourier, rows, attention, cublas, matmul, ampere, epilogues,
//                                           fast, pool, runtime, values, spans; `soak N` behind them
//   node scripts/test-gpu.mjs --build       only bundle, into dist/gpu/, to be carried to a GPU host
//   node scripts/test-gpu.mjs --webgpu ...  the checks and figures of the WebGPU device instead, on the adapter Dawn finds; what
//                                           follows is for webgpu.mjs
//
//     --only TEXT,...                       of either: only the jobs whose names begin so
//     --sample N                            every N-th case only: to see that everything runs
//     --logs DIR                            where each process writes what it has to say; dist/gpu/logs unless given
//
// The work is shared by as many processes as there are cores: assembling kernels keeps one core each busy. What measures times runs
// by itself in the end. On a host without the sources (only scripts/ and dist/) the bundles are run as they are.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runJobs } from './gpu-jobs.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = join(root, 'dist', 'gpu');
const args = process.argv.slice(2);

if (args.includes('--help')) {
  // What stands above, without the slashes.
  const [head] = readFileSync(fileURLToPath(import.meta.url), 'utf8').split('\n\nimport ');
  process.stdout.write(`${head.replaceAll(/^\/\/ ?/gm, '')}\n`);
  process.exit();
}

if (existsSync(join(root, 'test', 'gpu', 'main.ts'))) await (await import('./gpu-bundles.mjs')).bundleGpu(out);
if (args.includes('--build')) process.exit(0);

const node = (file, ...rest) => [process.execPath, '--expose-gc', join(out, file), ...rest];
const here = ([program, ...rest]) => spawnSync(program, rest, { stdio: 'inherit' }).status ?? 1;

const webgpuAt = args.indexOf('--webgpu');
if (webgpuAt >= 0) process.exit(here(node('webgpu.mjs', ...args.slice(webgpuAt + 1))));

const option = (name, otherwise) => {
  const at = args.indexOf(name);
  return at < 0 ? otherwise : args.splice(at, 2)[1];
};
const sample = Number(option('--sample', 1));
const soak = Number(option('--soak', 30));
const seed = option('--seed', `${Math.floor(Math.random() * 2 ** 30)}`);
const only = option('--only')?.split(',');
const logs = option('--logs', join(out, 'logs'));
const sanitizes = args.includes('--sanitize');
const parts = args.filter((a) => !a.startsWith('--'));
if (parts.length > 0) process.exit(here(node('test.mjs', ...parts)));

const most = Math.max(1, Math.min(14, availableParallelism() - 2));
/** One job in several processes, of which each takes its share; of a sample, a part of that. */
const shared = (name, count, seconds, command) =>
  Array.from({ length: count }, (_, i) => ({
    name: `${name} ${i + 1}/${count}`,
    command: command(`${i}/${count * sample}`),
    alone: false,
    seconds,
  }));
const one = (name, seconds, command, alone = false) => ({ name, command, alone, seconds });
const few = (count) => `${Math.ceil(count / sample)}`;
/** Device tests that are cut into parts. */
const cut = ['kernels', 'routines', 'fourier', 'rows', 'attention', 'cublas', 'matmul', 'ampere', 'epilogues'];

/** Long ones first. The limits end what hangs: several times what each took on an H200 beside the others. */
const tests = () => [
  ...shared('graphs', 6, 500, (part) => node('suite.mjs', '--part', part, 'fuzz', '5000', seed)),
  ...shared('device', 6, 500, (part) => node('test.mjs', '--part', part, ...cut)),
  ...(existsSync(join(out, 'tfjs.mjs')) ? [one('TF.js suite', 400, node('tfjs.mjs', '--device', 'cuda'))] : []),
  one('lists', 400, node('batch-test.mjs', few(1000))),
  one('lattices and graphs', 400, node('lattice.mjs')),
  ...shared('cases', 6, 500, (part) => node('suite.mjs', '--part', part, 'cases')),
  one('values', 400, node('test.mjs', 'fast', 'values')),
  one('streams', 400, node('suite.mjs', 'streams', few(30))),
  one('order and clocks', 90, node('test.mjs', 'pool', 'runtime', 'spans'), true),
  ...(soak > 0 ? [one('soak', soak + 60, node('test.mjs', 'soak', `${soak}`), true)] : []),
];

const checked = (tool, command) => ['compute-sanitizer', '--tool', tool, '--error-exitcode', '9', ...command];
const suite = (part) => node('suite.mjs', '--unpooled', '--part', part, 'cases');
const routines = (part) =>
  node('test.mjs', '--unpooled', '--part', part, 'routines', 'fourier', 'rows', 'attention', 'matmul');
const kernels = (part) => node('test.mjs', '--unpooled', '--part', part, 'kernels');
const graphs = (part) => node('suite.mjs', '--unpooled', '--part', part, 'fuzz', '600', seed);

/** Every buffer is an allocation of its own, so that a step past its end is seen. */
const checks = () => [
  ...shared('memcheck routines', 6, 240, (part) => checked('memcheck', routines(part))),
  ...shared('racecheck routines', 6, 240, (part) => checked('racecheck', routines(part))),
  ...['memcheck', 'racecheck', 'synccheck'].flatMap((tool) =>
    shared(`${tool} cases`, 12, 240, (part) => checked(tool, suite(part))),
  ),
  ...shared('memcheck kernels', 6, 240, (part) => checked('memcheck', kernels(part))),
  ...shared('memcheck graphs', 6, 240, (part) => checked('memcheck', graphs(part))),
];

if (sanitizes && spawnSync('compute-sanitizer', ['--version']).status !== 0) {
  console.error('compute-sanitizer is not on the PATH: nothing was checked');
  process.exit(1);
}
const jobs = (sanitizes ? checks() : tests()).filter((j) => !only || only.some((text) => j.name.startsWith(text)));
process.exit((await runJobs(jobs, most, logs)) ? 0 : 1);
