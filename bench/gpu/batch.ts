// Batches on a GPU beside the same work in turn, in one run: both sides warm, in turns, with the device waited for.
//
//   node --expose-gc dist/gpu/batch.mjs [--devices cuda|webgpu|cpu] [--quick] [--rounds N] [--only PART,…]
//
// Parts: overlap (whether copies and computations run at the same time, by the device's own clock; CUDA only), products, elementwise,
// xors, overhead, concurrent, memory, mixed. Prints each row with its bound as soon as it is measured.

import { batchElementwise, batchMatmul, batchXor } from '../../src/batch/index.ts';
import { DeviceManager, GPUCompute } from '../../src/compute/index.ts';
import { createRuntime, type DeviceKind, type Runtime, type Tensor } from '../../src/index.ts';
import { free, xorInTurn } from '../batch/lists.ts';
import { BareDriver } from './bare-driver.ts';
import { DeviceTimes, overlap, total } from './device-times.ts';

const args = process.argv.slice(2);
const option = (name: string): string | undefined => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
const kind = (option('--devices') ?? 'cuda') as DeviceKind;
const quick = args.includes('--quick');
const rounds = Number(option('--rounds') ?? (quick ? 5 : 21));
const gpu = kind !== 'cpu';

const only = option('--only')?.split(',');
let missed = 0;
const row = (work: string, figures: string, bound: string, met: boolean | null): void => {
  if (met === false) missed++;
  console.log(`| ${work.padEnd(48)} | ${figures} | ${bound} | ${met === null ? '' : met ? 'met' : 'MISSED'} |`);
};

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;

function values(length: number, seed: number): Float32Array {
  let s = seed >>> 0;
  return Float32Array.from({ length }, () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s / 2 ** 31 - 1;
  });
}

/** Microseconds of each side, in turns. `times`: calls per measurement of a side. */
async function sides(times: number, ...works: readonly (() => unknown)[]): Promise<number[]> {
  // Compiled code is in place after a few thousand calls. Each side has them: else the one that is called more often is ahead.
  for (const work of works) {
    const [start, calls] = [performance.now(), quick ? 20 : 3000];
    for (let done = 0; done < calls && performance.now() - start < (quick ? 50 : 1500); done++) await work();
  }
  const taken = works.map(() => [] as number[]);
  for (let r = 0; r < rounds; r++) {
    for (let w = 0; w < works.length; w++) {
      const start = performance.now();
      for (let i = 0; i < times; i++) await works[w]!();
      taken[w]!.push((1000 * (performance.now() - start)) / times);
    }
  }
  return taken.map(median);
}

const us = (n: number): string => `${n.toFixed(n < 10 ? 2 : 1)} µs`;
const ms = (n: number): string => `${(n / 1000).toFixed(2)} ms`;
async function concurrent(): Promise<void> {
  const devices = DeviceManager.create({
    kinds: [kind],
    preference: gpu ? { requireGPU: true, software: 'accept' } : { preferGPU: false },
  });
  const facade = GPUCompute.create({ devices, owned: true });
  const sets: Tensor[][] = [];
  for (let k = 0; k < 16; k++) {
    sets.push([]);
    for (let i = 0; i < 10; i++) sets[k]!.push(await facade.transferToGPU(values(16_384, 10 * k + i)));
  }
  const run = async (set: Tensor[]): Promise<number[]> => {
    const results = await facade.computeBatch(set);
    const read = await Promise.all(results.map(async (r) => Number((await facade.transferFromGPU(r))[0])));
    free(results);
    return read;
  };
  let [a, b]: [number[][], number[][]] = [[], []];
  const [together, inTurn] = await sides(
    1,
    async () => {
      a = await Promise.all(sets.map(run));
    },
    async () => {
      b = [];
      for (const set of sets) b.push(await run(set));
    },
  );
  const equal = JSON.stringify(a) === JSON.stringify(b);
  await facade.dispose();
  row(
    '16 batches of 10 × 64 KB at once',
    `${ms(together!)}, in turn ${ms(inTurn!)}, equal: ${equal}`,
    'not slower than in turn',
    equal && together! <= 1.02 * inTurn!,
  );
}

async function products(rt: Runtime): Promise<void> {
  const a = Array.from({ length: 10 }, (_, i) => rt.tensor(values(65_536, i + 1), [256, 256]) as Tensor);
  const b = Array.from({ length: 10 }, (_, i) => rt.tensor(values(65_536, i + 50), [256, 256]) as Tensor);
  const [batch, inTurn, compiled, stacked] = await sides(
    quick ? 20 : 200,
    async () => free(await batchMatmul(a, b, { runtime: rt })),
    async () => {
      const made = a.map((x, i) => x.matmul(b[i]!).compute());
      await rt.flush();
      free(made);
    },
    compiledProducts(rt, a, b),
    await stackedProducts(rt, a, b),
  );
  const [flying] = await sides(quick ? 1 : 4, async () => {
    const many = await Promise.all(Array.from({ length: 50 }, () => batchMatmul(a, b, { runtime: rt })));
    for (const made of many) free(made);
  });
  const each = flying! / 50;
  const got = await batchMatmul(a, b, { runtime: rt });
  const error = await worstError(rt, got, a, b);
  row(
    'ten 256² f32 products (tensors)',
    `batch ${us(batch!)}, in turn ${us(inTurn!)}: ${(inTurn! / batch!).toFixed(2)} × (compiled: ${us(compiled!)}; stacked already: ${us(stacked!)}; error ${error.toExponential(1)})`,
    `${gpu ? '≥ 1.95 ×' : 'at most 5 % slower'}, error ≤ 3.2e-6`,
    inTurn! / batch! >= (gpu ? 1.95 : 0.95) && error <= 3.2e-6,
  );
  row('  a batch of 50 that are in flight', us(each), gpu ? '≤ 15 µs' : '(no bound)', gpu ? each <= 15 : null);
  row(
    '  a batch that is awaited before the next',
    us(batch!),
    gpu ? '≤ 15 µs' : '(no bound)',
    gpu ? batch! <= 15 : null,
  );
  free(got);
  if (kind === 'cuda') await bareCalls(a, b);
  free([...a, ...b]);
}

const idlePtx = `.version 7.8
.target sm_80
.address_size 64
.visible .entry idle(.param .u64 out) { ret; }
`;

/** A kernel that does nothing, and the products: by the driver's own two calls. What a batch takes beyond is the library's. */
async function bareCalls(a: readonly Tensor[], b: readonly Tensor[]): Promise<void> {
  const bare = await BareDriver.open();
  const own = await createRuntime({ devices: ['cuda'], cuda: { ffi: bare.ffi } });
  const idle = own.rawKernel({
    sources: { ptx: idlePtx },
    entry: 'idle',
    outputs: () => [{ dtype: 'f32', shape: [1] }],
    grid: () => [1],
    block: [1],
  });
  const made = idle([]);
  const nothing = bare.lastLaunch();
  const copies = async (list: readonly Tensor[]): Promise<Tensor[]> =>
    Promise.all(list.map(async (t) => own.tensor((await t.data()) as Float32Array, t.shape) as Tensor));
  const [x, y] = [await copies(a), await copies(b)];
  const got = await batchMatmul(x, y, { runtime: own });
  const same = bare.lastLaunch();
  const [empty, products] = await sides(quick ? 20 : 200, nothing, same);
  row('  by the driver alone: a kernel that does nothing', us(empty!), '(no bound)', null);
  row('  by the driver alone: the same products', us(products!), '(no bound)', null);
  free([...made, ...got, ...x, ...y]);
  await own.close();
}

function compiledProducts(rt: Runtime, a: readonly Tensor[], b: readonly Tensor[]): () => unknown {
  const all = rt.compile((...t: readonly Tensor[]) => t.slice(0, 10).map((x, i) => x.matmul(t[10 + i]!)));
  return async () => {
    const made = all(...a, ...b);
    await rt.flush();
    free(made);
  };
}

async function stackedProducts(rt: Runtime, a: readonly Tensor[], b: readonly Tensor[]): Promise<() => unknown> {
  const [x, y] = [rt.stack(a).compute(), rt.stack(b).compute()];
  await rt.flush();
  return async () => {
    const made = x.matmul(y).compute();
    await rt.flush();
    made.dispose();
  };
}

/** The largest difference from sums in doubles, relative to the sums of magnitudes. */
async function worstError(
  rt: Runtime,
  got: readonly Tensor[],
  a: readonly Tensor[],
  b: readonly Tensor[],
): Promise<number> {
  void rt;
  let worst = 0;
  for (const i of [0, 9]) {
    const [x, y, z] = [await a[i]!.data(), await b[i]!.data(), await got[i]!.data()] as Float32Array[];
    for (let r = 0; r < 256; r += 37) {
      for (let c = 0; c < 256; c += 29) {
        let [sum, size] = [0, 0];
        for (let k = 0; k < 256; k++) {
          const p = x![r * 256 + k]! * y![k * 256 + c]!;
          sum += p;
          size += Math.abs(p);
        }
        worst = Math.max(worst, Math.abs(z![r * 256 + c]! - sum) / size);
      }
    }
  }
  return worst;
}

async function elementwise(rt: Runtime): Promise<void> {
  const arrays = Array.from({ length: 1000 }, (_, i) => values(256, i));
  const [batch, inTurn] = await sides(
    1,
    () => batchElementwise(arrays, 'square', undefined, { runtime: rt }),
    async () => {
      // All results are there in the end, as with the list: a loop that drops them would find their memory again.
      const made: unknown[] = [];
      for (const x of arrays) {
        const t = rt.tensor(x);
        const y = t.mul(t);
        made.push(await y.data());
        free([t, y]);
      }
      return made;
    },
  );
  row(
    '1,000 × 1 KB squared (arrays)',
    `batch ${ms(batch!)}, in turn ${ms(inTurn!)}: ${(inTurn! / batch!).toFixed(1)} ×`,
    gpu ? '≥ 20 ×' : 'at most 5 % slower',
    inTurn! / batch! >= (gpu ? 20 : 0.95),
  );
  const tensors = arrays.map((x) => rt.tensor(x) as Tensor);
  const [fused, each] = await sides(
    1,
    async () => free(await batchElementwise(tensors, 'square', undefined, { runtime: rt })),
    async () => {
      const made = tensors.map((t) => t.mul(t).compute());
      await rt.flush();
      free(made);
    },
  );
  row(
    '1,000 × 1 KB squared (tensors)',
    `batch ${ms(fused!)}, in turn ${ms(each!)}: ${(each! / fused!).toFixed(1)} ×`,
    gpu ? '(no bound)' : 'at most 5 % slower',
    gpu ? null : each! / fused! >= 0.95,
  );
  free(tensors);
}

async function xors(rt: Runtime): Promise<void> {
  const floats = (from: number): Float32Array[] => Array.from({ length: 10 }, (_, i) => values(10_000, i + from));
  await xorsOf(rt, 'f32', floats(0), floats(20));
  const bytes = (list: readonly Float32Array[]): Uint8Array[] => list.map((x) => new Uint8Array(x.buffer, 0, 10_000));
  await xorsOf(rt, 'bytes', bytes(floats(0)), bytes(floats(20)));
}

async function xorsOf<T extends Float32Array | Uint8Array>(
  rt: Runtime,
  kind: string,
  data: readonly T[],
  keys: readonly T[],
): Promise<void> {
  const [batch, inTurn] = await sides(
    1,
    () => batchXor(data, keys, { runtime: rt }),
    () => xorInTurn(rt, data, keys),
  );
  row(
    `10 × 10,000 XOR (arrays of ${kind})`,
    `batch ${us(batch!)}, in turn ${us(inTurn!)}: ${(inTurn! / batch!).toFixed(2)} ×`,
    gpu ? '≥ 3 ×' : 'at most 5 % slower',
    inTurn! / batch! >= (gpu ? 3 : 0.95),
  );
}

/** What the calls cost over the compiled group that they run. */
async function overhead(rt: Runtime): Promise<void> {
  const make = (count: number): Tensor[] =>
    Array.from({ length: count }, (_, i) => rt.tensor(values(256, i)) as Tensor);
  const taken: number[] = [];
  for (const count of [1, 32]) {
    const tensors = make(count);
    const on = rt.tensor([true]).reshape([]);
    const group = rt.compile((flag: Tensor, ...list: readonly Tensor[]) =>
      list.map((x) => (count === 1 ? x.mul(x) : rt.where(flag, x.mul(x), 0))),
    );
    const [batch, raw] = await sides(
      quick ? 50 : 500,
      async () => free(await batchElementwise(tensors, 'square', undefined, { runtime: rt })),
      async () => {
        const made = group(on, ...tensors);
        await rt.flush();
        free(made);
      },
    );
    taken.push(batch! - raw!);
    free([...tensors, on]);
    group.dispose();
  }
  const perItem = (taken[1]! - taken[0]!) / 31;
  row(
    'overhead over the compiled call',
    `${us(taken[0]!)} a batch, ${us(perItem)} an item`,
    '≤ 5 µs a batch, ≤ 0.2 µs an item',
    taken[0]! <= 5 && perItem <= 0.2,
  );
}

/** Use case B: small XORs and large products, interleaved, data in host memory. */
async function mixed(): Promise<void> {
  if (!gpu) return;
  const small = Array.from({ length: 50 }, (_, i) => Int32Array.from({ length: 5 }, (_, j) => i * j));
  const matrices = Array.from({ length: 50 }, (_, i) => values(1024 * 1024, i));
  /** Milliseconds of the XORs and of the products. */
  const run = async (rt: Runtime): Promise<[number, number]> => {
    let [xorMs, productMs] = [0, 0];
    for (let i = 0; i < 50; i++) {
      const start = performance.now();
      await batchXor([small[i]!], [small[(i + 1) % 50]!], { runtime: rt });
      const between = performance.now();
      await batchMatmul([matrices[i]!], [matrices[(i + 1) % 50]!], { runtime: rt, shapes: [[1024, 1024, 1024]] });
      xorMs += between - start;
      productMs += performance.now() - between;
    }
    return [xorMs, productMs];
  };
  const times: Record<string, [number, number]> = {};
  let counted = '';
  for (const [name, routing] of [
    ['routed', {}],
    ['GPU', { device: `${kind}:0` }],
    ...(quick ? [] : [['CPU', { device: 'cpu' }] as const]),
  ] as const) {
    const rt = await createRuntime({ devices: [kind, 'cpu'], routing });
    const launches: Record<string, number> = {};
    await run(rt);
    const stop = rt.on('launch', (e) => {
      const what = `${e.device} ${/xor/.test(e.name) ? 'xor' : 'product'}`;
      launches[what] = (launches[what] ?? 0) + 1;
    });
    if (name === 'routed') {
      await run(rt);
      counted = JSON.stringify(launches);
    }
    stop();
    times[name] = await run(rt);
    await rt.close();
  }
  const figures = Object.entries(times).map(
    ([name, [x, p]]) => `${name} ${(x + p).toFixed(1)} ms (XOR ${x.toFixed(2)})`,
  );
  const others = Object.entries(times).flatMap(([name, t]) => (name === 'routed' ? [] : [t]));
  const best = Math.min(...others.map(([x]) => x)) + Math.min(...others.map(([, p]) => p));
  const routed = times.routed![0] + times.routed![1];
  row(
    'use case B: 50 XOR of 5 + 50 products of 1024²',
    `${figures.join(', ')}; best of each call ${best.toFixed(1)} ms`,
    '≤ 1.05 × the best of each call',
    routed <= 1.05 * best,
  );
  row('  launches of the routed run', counted, 'XORs on the CPU, products on the GPU', null);
}

/** Use case C: inputs of three times the budget. */
async function memory(): Promise<void> {
  const n = quick ? 256 : 1024;
  const each = 4 * n * n;
  const budget = Math.ceil((2 * 64 * each) / 3);
  const rt = await createRuntime({ devices: [kind], memory: { budget } });
  const a = Array.from({ length: 64 }, (_, i) => values(n * n, i));
  const start = performance.now();
  const got = await batchMatmul(a, a, { runtime: rt, shapes: [[n, n, n]] });
  const took = performance.now() - start;
  const peak = rt.stats().peakBytes;
  let worst = 0;
  for (const [r, c] of [
    [0, 0],
    [n - 1, 3],
    [17, n - 1],
  ] as const) {
    let [sum, size] = [0, 0];
    for (let k = 0; k < n; k++) {
      const p = a[63]![r * n + k]! * a[63]![k * n + c]!;
      sum += p;
      size += Math.abs(p);
    }
    worst = Math.max(worst, Math.abs(got[63]![r * n + c]! - sum) / size);
  }
  await rt.close();
  row(
    `use case C: 64 products of ${n}², inputs 3 × the budget`,
    `${took.toFixed(0)} ms, peak ${(peak / 2 ** 20).toFixed(0)} of ${(budget / 2 ** 20).toFixed(0)} MiB, error ${worst.toExponential(1)}`,
    'right, peak ≤ budget',
    peak <= budget && worst <= 2e-7 * Math.sqrt(n),
  );
}

/** Whether copies run while the device computes, by its own clock. */
async function overlapping(): Promise<void> {
  if (kind !== 'cuda') return;
  const times = await DeviceTimes.open();
  const devices = DeviceManager.create({
    kinds: ['cuda'],
    preference: { requireGPU: true },
    runtime: { cuda: { ffi: times.ffi } },
  });
  const facade = GPUCompute.create({ devices, owned: true });
  const records = Array.from({ length: 48 }, (_, i) => values(1 << 20, i));
  const op =
    (parts: number) =>
    (x: Tensor): Tensor => {
      let y = x;
      for (let part = 0; part < parts; part++) {
        for (let k = 0; k < 60; k++) y = y.sin().add(0.5);
        y = y.compute();
      }
      return y;
    };
  const run = (parts: number, count = records.length) =>
    facade.processDataset(records.slice(0, count), { op: op(parts), chunkSize: count });
  await run(1);
  // The device gets work for half as long again as the host takes to bring a record and fetch its result: else it waits for the host.
  const short = await run(1);
  const [hostMs, partMs] = [short.times.total / short.records, short.times.compute / short.records];
  const parts = Math.max(1, Math.ceil((1.5 * hostMs) / partMs));
  await run(parts, 8);
  times.on = true;
  const { times: taken } = await run(parts);
  times.on = false;
  const busy = times.take();
  await facade.dispose();
  const of = (a: 'upload' | 'download'): string =>
    `${overlap(busy, a, 'compute').toFixed(2)} of ${total(busy, a).toFixed(2)} ms`;
  const up = overlap(busy, 'upload', 'compute') / Math.min(total(busy, 'upload'), total(busy, 'compute'));
  const down = overlap(busy, 'download', 'compute') / Math.min(total(busy, 'download'), total(busy, 'compute'));
  row(
    'processDataset: copies while the device computes',
    `uploads ${of('upload')}, downloads ${of('download')}; computing ${total(busy, 'compute').toFixed(1)} of ${taken.total.toFixed(1)} ms`,
    'at least a quarter of what could overlap, each way',
    up >= 0.25 && down >= 0.25,
  );
}

/** A part that fails leaves the others their rows. */
async function part(name: string, run: () => Promise<void>): Promise<void> {
  if (only && !only.includes(name)) return;
  try {
    await run();
  } catch (error) {
    row(name, error instanceof Error ? error.message.split('\n')[0]! : String(error), 'it runs', false);
  }
}

const rt = await createRuntime({ devices: [kind] });
const device = rt.devices().find((d) => d.open)!;
console.log(
  `${device.name} (${device.id}), Node ${process.version}, ${new Date().toISOString()}, medians of ${rounds} rounds`,
);
await part('overlap', overlapping);
await part('products', () => products(rt));
await part('elementwise', () => elementwise(rt));
await part('xors', () => xors(rt));
await part('overhead', () => overhead(rt));
await rt.close();
await part('concurrent', concurrent);
await part('memory', memory);
await part('mixed', mixed);
process.exitCode = missed > 0 ? 1 : 0;
