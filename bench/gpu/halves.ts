// Products of 16-bit floats: cuBLASLt beside our own kernel, what each takes of the host and of the device.
//
//   node dist/gpu/halves.mjs [bf16|f16]
//
// `host`: until a launch is issued. `in a row`: the device's time of one of many launches, between two events; it shows the host where that
// is the slower of the two. `in a graph`: of one of ten launches in a replayed graph, the device alone. Microseconds, medians of rounds
// in which both take turns. Products of every layout and odd sizes are compared with the reference first, and each measured one with
// the other's.

import type { CudaDevice } from '../../src/devices/cuda/device.ts';
import { openCudaDevices } from '../../src/devices/cuda/discover.ts';
import type { DeviceBuffer, Program, Recording } from '../../src/devices/device.ts';
import type { Matmul } from '../../src/kernel/kernel.ts';
import { runRoutineCase } from '../../test/gpu/check.ts';
import { fill } from '../../test/gpu/data.ts';
import { matmul, matmulCases } from '../../test/gpu/routines.ts';

const type = process.argv[2] === 'f16' ? 'f16' : 'bf16';
const rounds = 9;
const inGraph = 10;

async function open(cublas: false | 'always'): Promise<CudaDevice> {
  const { devices, refused } = await openCudaDevices({ ordinals: [0], cublas });
  if (devices[0]) return devices[0] as CudaDevice;
  console.error(refused.map((r) => `${r.id}: ${r.reason}\n  fix: ${r.fix}`).join('\n'));
  process.exit(1);
}

const [library, own] = [await open('always'), await open(false)];
let failed = false;
const complain = (text: string): void => {
  failed = true;
  console.log(`WRONG ${text}`);
};

const cases = matmulCases().filter((c) => c.routine.op === 'matmul' && c.routine.type === type);
for (const [i, c] of cases.entries()) {
  const complaint = runRoutineCase(own, c, 100 + i);
  if (complaint) complain(`${c.routine.name}: ${complaint}`);
}
console.log(`${cases.length} products of every layout in ${type}: ${failed ? 'some are wrong' : 'right'}`);

type Shape = readonly [batch: number, m: number, k: number, n: number, transposeB?: true];
const shapes: readonly Shape[] = [
  [256, 128, 128, 128],
  [256, 128, 128, 128, true],
  [64, 64, 64, 64],
  [1024, 32, 32, 32],
  [1024, 64, 64, 64],
  [10, 256, 256, 256],
  [512, 128, 64, 128],
  [32, 512, 512, 512],
  [32, 1024, 64, 1024, true],
  [32, 1024, 1024, 64],
  [1, 256, 256, 256],
  [1, 512, 512, 512],
  [1, 1024, 1024, 1024],
  [1, 2048, 2048, 2048],
  [1, 4096, 4096, 4096],
  [1, 4096, 1024, 4096],
  [1, 32, 4096, 4096],
  [1, 8192, 64, 8192],
];

/** Some random numbers over and over: products do not take longer with others. */
function many(elements: number, seed: number): Uint8Array {
  const block = fill(type, Math.min(elements, 65_536), seed, true);
  const all = new Uint8Array(2 * elements);
  for (let at = 0; at < all.length; at += block.length) all.set(block.subarray(0, all.length - at), at);
  return all;
}

interface Side {
  readonly device: CudaDevice;
  readonly program: Program;
  readonly recording: Recording;
  readonly buffers: readonly DeviceBuffer[];
  /** The first of the results, as bits. */
  readonly results: Uint16Array;
  readonly host: number[];
  readonly row: number[];
  readonly graph: number[];
}

/** Results that are compared, in bytes. */
const compared = 1 << 20;

function side(device: CudaDevice, r: Matmul, a: Uint8Array, b: Uint8Array): Side {
  const program = device.prepare(r);
  const bytes = 2 * r.batch * r.m * r.n;
  const buffers = [a, b].map((data) => {
    const made = device.allocate(data.length);
    device.write(made, data);
    return made;
  });
  buffers.push(device.allocate(bytes));
  device.launch(program, buffers, []);
  const results = new Uint16Array(device.readSync(buffers[2]!, 0, Math.min(compared, bytes)).slice().buffer);
  const launch = { program, buffers: [0, 1, 2], scalars: [] };
  const recording = device.record(Array.from({ length: inGraph }, () => launch));
  // A library's launches are captured when their buffers come back.
  for (let i = 0; i < 3; i++) recording.replay(buffers, []);
  return { device, program, recording, buffers, results, host: [], row: [], graph: [] };
}

async function between(device: CudaDevice, work: () => void): Promise<number> {
  await device.mark().whenDone();
  const first = device.mark();
  work();
  const last = device.mark();
  await last.whenDone();
  return 1000 * last.since(first)!;
}

async function measure({ device, program, recording, buffers, host, row, graph }: Side, times: number): Promise<void> {
  const launches = times * inGraph;
  const inARow = await between(device, () => {
    const start = performance.now();
    for (let i = 0; i < launches; i++) device.launch(program, buffers, []);
    host.push((1000 * (performance.now() - start)) / launches);
  });
  row.push(inARow / launches);
  const replayed = await between(device, () => {
    for (let i = 0; i < times; i++) recording.replay(buffers, []);
  });
  graph.push(replayed / launches);
}

const median = (list: readonly number[]): number => [...list].sort((x, y) => x - y)[list.length >> 1]!;
const line = (name: string, cells: readonly string[]): string =>
  `${name.padEnd(24)}${cells.map((c) => c.padStart(12)).join('')}`;

console.log(line('', ['cuBLASLt', '', '', 'own', '', '']));
console.log(line('', ['host', 'in a row', 'in a graph', 'host', 'in a row', 'in a graph']));
for (const [batch, m, k, n, transposeB = false] of shapes) {
  const more = { batch, batchA: batch, batchB: batch, transposeB };
  const r = matmul(type, m, k, n, more).routine as Matmul;
  const [a, b] = [many(batch * m * k, 1), many(batch * k * n, 2)];
  const sides = [side(library, r, a, b), side(own, r, a, b)] as const;
  const times = 2 * batch * m * n * k > 1e10 ? 1 : 6;
  for (let round = 0; round < rounds; round++) for (const s of sides) await measure(s, times);
  const [x, y] = sides.map((s) => s.results) as [Uint16Array, Uint16Array];
  // Sums in another order may round to the neighbour; near zero, where terms cancel, to one further off.
  const apart = x.filter((bits, i) => Math.abs(bits - y[i]!) > 2).length;
  if (apart > x.length / 1000) complain(`${r.name}: ${apart} of ${x.length} results differ`);
  const cells = sides.flatMap((s) => [s.host, s.row, s.graph].map((list) => median(list).toFixed(2)));
  console.log(line(`${batch} × ${m}·${k}·${n}${transposeB ? ' ᵀ' : ''}`, cells));
  for (const { device, recording, buffers } of sides) {
    recording.dispose();
    for (const buffer of buffers) device.release(buffer);
  }
}
for (const device of [library, own]) await device.close();
process.exit(failed ? 1 : 0);
