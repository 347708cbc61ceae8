// Small products in f32, where starting the work costs as much as the work: cuBLASLt beside our own kernel in several tiles.
//
//   node dist/gpu/small.mjs
//
// `device`: one product of twenty in a replayed graph, the device's own time. `in a row`: the device's time of 200 launches one
// by one, which shows the host where it is the slower of the two. `issue`: the host's time of a launch. `done`: from launch to a
// finished read of 4 bytes. Microseconds, medians. Each variant's result is compared with a product in doubles.

import type { CudaDevice } from '../../src/devices/cuda/device.ts';
import { type CudaOptions, openCudaDevices } from '../../src/devices/cuda/discover.ts';
import type { DeviceBuffer } from '../../src/devices/device.ts';
import type { Matmul } from '../../src/kernel/kernel.ts';
import { fill } from '../../test/gpu/data.ts';
import { matmul } from '../../test/gpu/routines.ts';

const variants: readonly { readonly name: string; readonly options: CudaOptions }[] = [
  { name: 'cuBLASLt', options: { cublas: 'always' } },
  { name: 'own, as chosen', options: { cublas: false } },
  { name: 'own, 32×32×16', options: { cublas: false, tuning: { tile: 32, depth: 16 } } },
  { name: 'own, 32×32×32', options: { cublas: false, tuning: { tile: 32, depth: 32 } } },
  { name: 'own, 64×64×16', options: { cublas: false, tuning: { tile: 64, depth: 16 } } },
  { name: 'own, 64×64×32', options: { cublas: false, tuning: { tile: 64, depth: 32 } } },
];

const shapes: readonly (readonly [batch: number, side: number])[] = [
  [10, 256],
  [1, 256],
  [1, 512],
  [10, 512],
];

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;

/** A graph of so many launches. */
const together = 20;

async function measure(device: CudaDevice, routine: Matmul, list: readonly DeviceBuffer[]): Promise<number[]> {
  const program = device.prepare(routine);
  const launch = (): void => device.launch(program, list, []);
  const between = async (work: () => void, launches: number, rounds: number): Promise<number> => {
    const samples: number[] = [];
    for (let r = 0; r < rounds; r++) {
      await device.mark().whenDone();
      const first = device.mark();
      work();
      const last = device.mark();
      await last.whenDone();
      samples.push((1000 * last.since(first)!) / launches);
    }
    return median(samples);
  };
  launch();
  const recording = device.record(
    Array.from({ length: together }, () => ({ program, buffers: [0, 1, 2], scalars: [] })),
  );
  // A library's launches are captured when their buffers come back.
  for (let i = 0; i < 3; i++) recording.replay(list, []);
  const alone = await between(
    () => {
      for (let i = 0; i < 10; i++) recording.replay(list, []);
    },
    10 * together,
    9,
  );
  recording.dispose();
  const inRow = await between(
    () => {
      for (let i = 0; i < 200; i++) launch();
    },
    200,
    9,
  );
  const issue: number[] = [];
  for (let r = 0; r < 30; r++) {
    await device.mark().whenDone();
    const t = performance.now();
    for (let i = 0; i < 100; i++) launch();
    issue.push((1000 * (performance.now() - t)) / 100);
  }
  const done: number[] = [];
  for (let r = 0; r < 200; r++) {
    const t = performance.now();
    launch();
    device.readSync(list[2]!, 0, 4);
    done.push(1000 * (performance.now() - t));
  }
  return [alone, inRow, median(issue.slice(5)), median(done.slice(50))];
}

/** The largest error over some elements of the last product, against sums in doubles. */
function error(r: Matmul, a: Float32Array, b: Float32Array, c: Float32Array): number {
  let worst = 0;
  for (let probe = 0; probe < 64; probe++) {
    const [i, j] = [(probe * 37) % r.m, (probe * 101) % r.n];
    const [atA, atB] = [(r.batch - 1) * r.m * r.k, (r.batch - 1) * r.k * r.n];
    let sum = 0;
    for (let k = 0; k < r.k; k++) sum += a[atA + i * r.k + k]! * b[atB + k * r.n + j]!;
    worst = Math.max(worst, Math.abs(sum - c[(r.batch - 1) * r.m * r.n + i * r.n + j]!));
  }
  return worst;
}

let failed = false;
const line = (cells: readonly string[]): string =>
  cells.map((c, i) => (i < 2 ? c.padEnd(16) : c.padStart(9))).join(' ');
console.log(line(['product', 'by', 'device', 'in a row', 'issue', 'done', 'error']));
for (const [batch, side] of shapes) {
  const elements = batch * side * side;
  const [a, b] = [1, 2].map((seed) => fill('f32', elements, seed, true)) as [Uint8Array, Uint8Array];
  for (const { name, options } of variants) {
    const { devices, refused } = await openCudaDevices({ ordinals: [0], ...options });
    const device = devices[0] as CudaDevice | undefined;
    if (!device) {
      console.error(refused.map((r) => `${r.id}: ${r.reason}\n  fix: ${r.fix}`).join('\n'));
      process.exit(1);
    }
    const routine = matmul('f32', side, side, side, { batch, batchA: batch, batchB: batch }).routine as Matmul;
    const library = device.prepare(routine).source.startsWith('cublas');
    if (library === name.startsWith('own')) {
      console.log(`${name}: not there`);
      await device.close();
      continue;
    }
    const list = [a, b, null].map((bytes) => {
      const made = device.allocate(4 * elements);
      if (bytes) device.write(made, bytes);
      return made;
    });
    const times = await measure(device, routine, list);
    const read = (bytes: Uint8Array): Float32Array => new Float32Array(bytes.buffer, bytes.byteOffset, elements);
    const wrong = error(routine, read(a), read(b), read(device.readSync(list[2]!)));
    if (!(wrong < 1e-3)) failed = true;
    console.log(line([`${batch} × ${side}²`, name, ...times.map((t) => t.toFixed(2)), wrong.toExponential(1)]));
    for (const x of list) device.release(x);
    await device.close();
  }
}
if (failed) console.error('a result is wrong');
process.exit(failed ? 1 : 0);
