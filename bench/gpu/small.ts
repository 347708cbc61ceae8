// Small products in f32, where starting the work costs as much as the work: cuBLASLt beside our own kernel by every plan.
//
//   node dist/gpu/small.mjs [part of a plan's name] [layers]
//
// `layers`: the products of MobileNetV1's pointwise convolutions, of batches of 1 and 32, instead of squares.
//
// `in a row`: the device's time of one of many launches, between two events; it shows the host where that is the slower of the
// two. `in a graph`: of one of 20 launches in a replayed graph, the device alone. Microseconds, medians of rounds in which the
// plans take turns. Beside them what the assembler says of the kernel: registers, spilled bytes, shared memory, and how many
// blocks a multiprocessor holds (as one of Hopper does). Every plan first does products that fit no tile, in all layouts; then
// each result is compared with sums in doubles.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CudaDevice } from '../../src/devices/cuda/device.ts';
import { type CudaOptions, openCudaDevices } from '../../src/devices/cuda/discover.ts';
import { matmulRecipe } from '../../src/devices/cuda/routines/index.ts';
import { planFor, plans } from '../../src/devices/cuda/routines/plans.ts';
import type { DeviceBuffer, Program, Recording } from '../../src/devices/device.ts';
import type { Matmul } from '../../src/kernel/kernel.ts';
import { runRoutineCase } from '../../test/gpu/check.ts';
import { fill, Random } from '../../test/gpu/data.ts';
import { matmul, type RoutineCase, withEpilogue } from '../../test/gpu/routines.ts';

const wanted = process.argv[2] ?? '';

interface Variant {
  readonly name: string;
  readonly options: CudaOptions;
}

const listed: readonly Variant[] = [
  { name: 'cuBLASLt', options: { cublas: 'always' } },
  { name: 'as chosen', options: { cublas: false } },
  ...Object.keys(plans)
    .filter((name) => name.includes(wanted))
    .map((product) => ({ name: product, options: { cublas: false, tuning: { product } } })),
];

interface Shape {
  readonly batch: number;
  readonly m: number;
  readonly k: number;
  readonly n: number;
  readonly rounds: number;
  /** Launches between two events; 200 if not given. */
  readonly launches?: number;
}

const square = (batch: number, side: number, rounds: number, launches?: number): Shape => ({
  batch,
  m: side,
  k: side,
  n: side,
  rounds,
  ...(launches !== undefined && { launches }),
});

const squares: readonly Shape[] = [
  square(10, 256, 20),
  square(10, 128, 10),
  square(64, 64, 10),
  square(1, 256, 10),
  square(10, 200, 10),
  square(10, 512, 5),
  square(1, 1024, 5),
  square(1, 2048, 5, 10),
  square(1, 4096, 3, 3),
];

const layers: readonly Shape[] = [
  [1, 1024, 1000],
  [32, 1024, 1000],
  [49, 1024, 1024],
  [196, 512, 512],
  [12544, 32, 64],
  [1568, 512, 1024],
  [1568, 1024, 1024],
  [6272, 256, 512],
  [6272, 512, 512],
  [25088, 128, 256],
  [25088, 256, 256],
  [100352, 64, 128],
  [100352, 128, 128],
  [401408, 27, 32],
  [401408, 32, 64],
].map(([m, k, n]) => ({ batch: 1, m: m!, k: k!, n: n!, rounds: 5, launches: 20 }));

const shapes = process.argv[3] === 'layers' ? layers : squares;

const inGraph = 20;

/** Ends of tiles, ends of the depth, every layout, something behind the product. */
const odd: readonly RoutineCase[] = [
  matmul('f32', 100, 68, 76, { batch: 3, batchA: 3, batchB: 1 }),
  matmul('f32', 60, 300, 132, { transposeA: true }),
  matmul('f32', 37, 1028, 41, { transposeB: true }),
  matmul('f32', 132, 20, 36, { batch: 2, batchA: 1, batchB: 2, transposeA: true, transposeB: true }),
  matmul('f32', 64, 512, 128, { transposeB: true }),
  withEpilogue(matmul('f32', 70, 260, 92), 'residual'),
];

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;

async function between(device: CudaDevice, work: () => void, launches: number): Promise<number> {
  await device.mark().whenDone();
  const first = device.mark();
  work();
  const last = device.mark();
  await last.whenDone();
  return (1000 * last.since(first)!) / launches;
}

/** The largest error over elements of all products, against sums in doubles. */
function error(r: Matmul, a: Float32Array, b: Float32Array, c: Float32Array): number {
  const random = new Random(r.m + r.batch);
  let worst = 0;
  for (let probe = 0; probe < 4000; probe++) {
    const [i, j, batch] = [random.below(r.m), random.below(r.n), probe % r.batch];
    let sum = 0;
    for (let k = 0; k < r.k; k++) sum += a[(batch * r.m + i) * r.k + k]! * b[(batch * r.k + k) * r.n + j]!;
    const off = Math.abs(sum - c[(batch * r.m + i) * r.n + j]!);
    if (!(off <= worst)) worst = off;
  }
  return worst;
}

const perMultiprocessor = { threads: 2048, blocks: 32, registers: 65536, shared: 228 * 1024, reserved: 1024 };

/** What ptxas says of a plan's kernel, where it is there. */
function facts(r: Matmul, product: string | undefined): string[] {
  const target = { sm: 90, ptx: 78, processors: 132, fastMath: false, ...(product ? { tuning: { product } } : {}) };
  const { ptx, launches } = matmulRecipe(r, target);
  const folder = mkdtempSync(join(tmpdir(), 'small-'));
  writeFileSync(join(folder, 'a.ptx'), ptx);
  const options = ['-arch=sm_90', '-v', join(folder, 'a.ptx'), '-o', join(folder, 'a.cubin')];
  const run = spawnSync('ptxas', options, { encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  if (run.status !== 0) return ['?', '?', '?', '?'];
  const said = `${run.stdout}${run.stderr}`;
  const number = (pattern: RegExp): number => Number(pattern.exec(said)?.[1] ?? 0);
  const registers = number(/Used (\d+) registers/);
  const shared = launches[0]!.shared + number(/(\d+) bytes smem/);
  const threads = launches[0]!.block[0];
  const m = perMultiprocessor;
  const held = Math.min(
    m.blocks,
    Math.floor(m.threads / threads),
    Math.floor(m.registers / (Math.ceil(registers / 8) * 8 * threads)),
    Math.floor(m.shared / (shared + m.reserved)),
  );
  return [String(registers), String(number(/(\d+) bytes spill stores/)), String(shared), `${held}×${threads}`];
}

let failed = false;
const complain = (text: string): void => {
  failed = true;
  console.log(`WRONG ${text}`);
};

const variants: (Variant & { readonly device: CudaDevice })[] = [];
for (const v of listed) {
  const { devices, refused } = await openCudaDevices({ ordinals: [0], ...v.options });
  const device = devices[0] as CudaDevice | undefined;
  if (!device) {
    console.error(refused.map((r) => `${r.id}: ${r.reason}\n  fix: ${r.fix}`).join('\n'));
    process.exit(1);
  }
  for (const [i, c] of odd.entries()) {
    const complaint = runRoutineCase(device, c, 100 + i);
    if (complaint) complain(`${v.name}, ${c.routine.name}: ${complaint}`);
  }
  variants.push({ ...v, device });
}
console.log(`${odd.length} products that fit no tile by ${variants.length}: ${failed ? 'some are wrong' : 'right'}`);

const line = (cells: readonly string[]): string =>
  cells.map((c, i) => (i < 1 ? c.padEnd(19) : c.padStart(10))).join(' ');

for (const shape of shapes) {
  const { batch, m, k, n, rounds, launches = 200 } = shape;
  const [a, b] = [fill('f32', batch * m * k, 1, true), fill('f32', batch * k * n, 2, true)];
  const results = new Uint8Array(4 * batch * m * n).fill(0xa5);
  const floats = (bytes: Uint8Array): Float32Array =>
    new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  const routine = matmul('f32', m, k, n, { batch, batchA: batch, batchB: batch }).routine as Matmul;
  const ready: {
    readonly variant: Variant;
    readonly device: CudaDevice;
    readonly program: Program;
    readonly recording: Recording;
    readonly list: readonly DeviceBuffer[];
    readonly row: number[];
    readonly graph: number[];
    readonly wrong: number;
  }[] = [];
  console.log(
    `\n${line([`${batch} × ${m}·${k}·${n}`, 'in a row', 'in a graph', 'registers', 'spilled', 'shared', 'held', 'error'])}`,
  );
  for (const variant of variants) {
    const { device } = variant;
    const program = device.prepare(routine);
    const { product } = variant.options.tuning ?? {};
    if ((variant.name === 'cuBLASLt') !== program.source.startsWith('cublas')) {
      console.log(`${variant.name}: not there`);
      continue;
    }
    const target = { sm: 90, ptx: 78, processors: 132, fastMath: false, tuning: { product: product ?? '' } };
    if (product && planFor(routine, target) !== plans[product as keyof typeof plans]) {
      console.log(`${variant.name}: does not do this`);
      continue;
    }
    const list = [a, b, results].map((bytes) => {
      const made = device.allocate(bytes.byteLength);
      device.write(made, bytes);
      return made;
    });
    device.launch(program, list, []);
    const wrong = error(routine, floats(a), floats(b), floats(device.readSync(list[2]!)));
    if (!(wrong < 1e-7 * k)) complain(`${variant.name}, ${routine.name}: an error of ${wrong}`);
    const recording = device.record(
      Array.from({ length: inGraph }, () => ({ program, buffers: [0, 1, 2], scalars: [] })),
    );
    // A library's launches are captured when their buffers come back.
    for (let i = 0; i < 3; i++) recording.replay(list, []);
    ready.push({ variant, device, program, recording, list, row: [], graph: [], wrong });
  }
  for (let round = 0; round < rounds; round++) {
    for (const { device, program, recording, list, row, graph } of ready) {
      const launch = (): void => {
        for (let i = 0; i < launches; i++) device.launch(program, list, []);
      };
      row.push(await between(device, launch, launches));
      const replay = (): void => {
        for (let i = 0; i < 4; i++) recording.replay(list, []);
      };
      graph.push(await between(device, replay, 4 * inGraph));
    }
  }
  for (const { variant, device, recording, list, row, graph, wrong } of ready) {
    const { name, options } = variant;
    // They hardly differ from shape to shape, and ptxas takes its time.
    const told =
      name === 'cuBLASLt' || shape !== shapes[0] ? ['', '', '', ''] : facts(routine, options.tuning?.product);
    console.log(line([name, median(row).toFixed(2), median(graph).toFixed(2), ...told, wrong.toExponential(1)]));
    recording.dispose();
    for (const x of list) device.release(x);
  }
}
for (const v of variants) await v.device.close();
if (failed) console.error('a result is wrong');
process.exit(failed ? 1 : 0);
