import { describe, expect, it } from 'vitest';
import { cpuFacade, facade, fakeGpu, keptFacades, values } from '../../test/support/facade.ts';
import type { Tensor } from '../index.ts';
import { AbortError, BatchError, DisposedError, InvalidArgumentError, OutOfMemoryError } from './errors.ts';
import { GPUCompute } from './gpu-compute.ts';

const kept = keptFacades();
const make = (...args: Parameters<typeof cpuFacade>): GPUCompute => kept(cpuFacade(...args));

const meanSquare = (data: ArrayLike<number>): number => {
  let sum = 0;
  for (let i = 0; i < data.length; i++) sum += data[i]! * data[i]!;
  return sum / data.length;
};

const bitsOf = async (gpu: GPUCompute, list: readonly Tensor[]): Promise<number[]> => {
  const all = await Promise.all(list.map((t) => gpu.transferFromGPU(t)));
  return all.flatMap((a) => [...new Uint32Array((a as Float32Array).buffer, a.byteOffset, a.length)]);
};

describe('transfers', () => {
  it('keep every bit: NaN payloads, infinities, negative zero, subnormals', async () => {
    const gpu = make();
    const bits = Uint32Array.of(0x7fc00001, 0xffc12345, 0x7f800000, 0xff800000, 0x80000000, 1, 0x007fffff, 0x3f800000);
    const tensor = await gpu.transferToGPU(new Float32Array(bits.buffer));
    expect([...new Uint32Array((await gpu.transferFromGPU(tensor)).buffer as ArrayBuffer)]).toEqual([...bits]);
  });

  it('resolve when the bytes are on the device, not at the first use', async () => {
    const fake = fakeGpu();
    const { gpu } = facade(fake);
    kept(gpu);
    await gpu.devices.selectDevice();
    const { write, mark } = fake.device().counters().calls;
    const t = await gpu.transferToGPU(values(3000));
    expect(fake.device().counters().calls.write).toBe(write + 1);
    expect(fake.device().counters().calls.mark).toBeGreaterThan(mark);
    expect(fake.device().counters().liveBytes).toBe(12_000);
    const { read } = fake.device().counters().calls;
    await gpu.transferFromGPU(t);
    expect(fake.device().counters().calls.read).toBe(read + 1);
  });

  it('copy: changing the data afterwards does not change the tensor', async () => {
    const gpu = make();
    const data = Float32Array.of(1, 2, 3);
    const tensor = await gpu.transferToGPU(data);
    data.fill(9);
    expect(await gpu.transferFromGPU(tensor)).toEqual(Float32Array.of(1, 2, 3));
  });

  it.each([
    Float32Array.of(1.5),
    Float64Array.of(1e300),
    Int32Array.of(-7),
    Uint32Array.of(4e9),
    Uint8Array.of(200),
    BigInt64Array.of(-5n),
    BigUint64Array.of(5n),
  ])('return %o in its own type', async (data) => {
    const gpu = make();
    expect(await gpu.transferFromGPU(await gpu.transferToGPU(data))).toEqual(data);
  });

  it('take empty arrays without a byte on the device', async () => {
    const gpu = make();
    await gpu.transferToGPU(Float32Array.of(1));
    const before = gpu.monitor.getMemoryUsage();
    const tensor = await gpu.transferToGPU(new Float32Array(0), { shape: [3, 0] });
    expect(tensor.shape).toEqual([3, 0]);
    expect(gpu.monitor.getMemoryUsage()).toEqual(before);
    expect(await gpu.transferFromGPU(tensor)).toEqual(new Float32Array(0));
  });

  it('refuse a shape that does not fit, and name both numbers', async () => {
    const gpu = make();
    const error = await gpu.transferToGPU(new Float32Array(5), { shape: [2, 3] }).catch((e) => e);
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error.message).toMatch(/6 elements, the data 5/);
    expect(error).toMatchObject({ retryable: false, operation: 'transferToGPU', code: 'INVALID_ARGUMENT' });
  });

  it.each([
    ['a plain array', [1, 2]],
    ['nothing', null],
    ['a view without elements', new DataView(new ArrayBuffer(4))],
    ['a type without a dtype', new Float32Array(0).constructor],
  ])('refuse %s, and stay as they were', async (_name, bad) => {
    const gpu = make();
    await gpu.transferToGPU(Float32Array.of(1));
    const before = gpu.monitor.getMemoryUsage();
    await expect(gpu.transferToGPU(bad as never)).rejects.toThrow(InvalidArgumentError);
    expect(gpu.monitor.getMemoryUsage()).toEqual(before);
  });

  it('read the same tensor twice at once, and leave it alive', async () => {
    const gpu = make();
    const tensor = await gpu.transferToGPU(values(5000));
    const [a, b] = await Promise.all([gpu.transferFromGPU(tensor), gpu.transferFromGPU(tensor)]);
    expect(a).toEqual(values(5000));
    expect(b).toEqual(values(5000));
    expect(tensor.disposed).toBe(false);
  });

  it('tell a disposed tensor', async () => {
    const gpu = make();
    const tensor = await gpu.transferToGPU(Float32Array.of(1));
    tensor.dispose();
    await expect(gpu.transferFromGPU(tensor)).rejects.toThrow(DisposedError);
  });

  it('end in an error with the sizes when there is more data than memory', async () => {
    const gpu = make({ cpu: { threads: 1, memoryBytes: 1 << 20 } });
    const error = await gpu.transferToGPU(new Float32Array(1 << 20)).catch((e) => e);
    expect(error).toBeInstanceOf(OutOfMemoryError);
    expect(error.requested).toBe(4 << 20);
    expect(error.device).toBe('cpu');
    expect(await gpu.transferFromGPU(await gpu.transferToGPU(Float32Array.of(4)))).toEqual(Float32Array.of(4));
  });

  it('are recorded with bytes and direction', async () => {
    const gpu = make();
    const tensor = await gpu.transferToGPU(new Float32Array(1000));
    await gpu.transferFromGPU(tensor);
    expect(gpu.monitor.timeline.recent().map(({ kind, bytes, failed }) => ({ kind, bytes, failed }))).toEqual([
      { kind: 'upload', bytes: 4000, failed: false },
      { kind: 'download', bytes: 4000, failed: false },
    ]);
  });

  it('do not begin when the signal is aborted', async () => {
    const gpu = make();
    await expect(gpu.transferToGPU(new Float32Array(4), { signal: AbortSignal.abort() })).rejects.toThrow(AbortError);
  });
});

describe('batches', () => {
  it('give one result per tensor, in order, for mixed shapes and types', async () => {
    const gpu = make();
    const data = [values(10), values(7, 2), Float32Array.of(3), values(10, 3), Float64Array.of(1, 2)];
    const tensors = await Promise.all(data.map((d) => gpu.transferToGPU(d)));
    const results = await gpu.computeBatch(tensors);
    const got = await Promise.all(results.map((r) => gpu.transferFromGPU(r)));
    got.forEach((g, i) => {
      expect(Number(g[0])).toBeCloseTo(meanSquare(data[i]!), 6);
    });
  });

  it.each(['meanSquare', 'sum', 'norm', 'square', 'std'] as const)(
    'of %s are the same bits for any size of chunk',
    async (op) => {
      const gpu = make();
      const tensors: Tensor[] = [];
      for (let i = 0; i < 40; i++) tensors.push(await gpu.transferToGPU(values(i % 3 === 0 ? 777 : 1024, i + 1)));
      const one = await bitsOf(gpu, await gpu.processBatch(tensors, op, { chunkSize: 1 }));
      for (const chunkSize of [7, 100, 40, 'adaptive'] as const) {
        expect(await bitsOf(gpu, await gpu.processBatch(tensors, op, { chunkSize }))).toEqual(one);
      }
    },
  );

  it('take the same tensor twice, and give each result an owner', async () => {
    const gpu = make();
    const t = await gpu.transferToGPU(values(100));
    const [a, b] = await gpu.computeBatch([t, t]);
    a!.dispose();
    expect((await gpu.transferFromGPU(b!))[0]).toBeCloseTo(meanSquare(values(100)), 6);
    expect(t.disposed).toBe(false);
  });

  it('take a function, also one that returns its operand', async () => {
    const gpu = make();
    const t = await gpu.transferToGPU(Float32Array.of(1, 2));
    const [doubled] = await gpu.processBatch([t], (x) => x.mul(2).add(x));
    const [same] = await gpu.processBatch([t], (x) => x);
    same!.dispose();
    expect(await gpu.transferFromGPU(doubled!)).toEqual(Float32Array.of(3, 6));
    expect(await gpu.transferFromGPU(t)).toEqual(Float32Array.of(1, 2));
  });

  it('are counted, each chunk once, where chunks are counted', async () => {
    const gpu = make();
    expect(gpu.batchCounts()).toEqual({
      totalBatchOps: 0,
      totalItemsProcessed: 0,
      avgBatchSize: 0,
      totalTimeMs: 0,
      avgTimeMs: 0,
      avgPerItemMs: 0,
      operations: {},
    });
    const t = await gpu.transferToGPU(values(100));
    for (const n of [3, 5, 10]) await gpu.processBatch(new Array<Tensor>(n).fill(t), 'sum');
    expect(gpu.batchCounts()).toMatchObject({ totalBatchOps: 3, totalItemsProcessed: 18, avgBatchSize: 6 });
    await gpu.processDataset(values(400), { recordLength: 100 });
    expect(gpu.batchCounts().operations).toMatchObject({
      processBatch: { calls: 3, items: 18, failures: 0 },
      processDataset: { items: 4 },
    });
  });

  it('of two handles of one tensor are the bits of the tensor alone', async () => {
    const gpu = make();
    const t = await gpu.transferToGPU(values(5000));
    const bits = await bitsOf(gpu, await gpu.processBatch([t, t.clone(), t], 'norm'));
    expect(new Set(bits).size).toBe(1);
    expect(bits).toHaveLength(3);
    expect(bits[0]).toBe((await bitsOf(gpu, await gpu.processBatch([t], 'norm')))[0]);
    // Each result is yours to dispose of, also those of one tensor.
    const [first, , third] = await gpu.processBatch([t, t.clone(), t], 'norm');
    first!.dispose();
    expect(await bitsOf(gpu, [third!])).toEqual([bits[0]]);
  });

  it('run where the router says if that is wanted, and tell where that was', async () => {
    const fake = fakeGpu();
    const { gpu } = facade(fake, { manager: { routing: 'measured', runtime: { routing: { device: 'cpu' } } } });
    kept(gpu);
    const t = await gpu.transferToGPU(values(5000));
    const [r] = await gpu.computeBatch([t]);
    expect(gpu.devices.selection!.device).toBe('cuda:0');
    expect(gpu.deviceOf(r!)).toBe('cpu');
    expect(Number((await gpu.transferFromGPU(r!))[0])).toBeCloseTo(meanSquare(values(5000)), 5);
  });

  it('give nothing for nothing, and no NaN for the mean of an empty tensor', async () => {
    const gpu = make();
    expect(await gpu.computeBatch([])).toEqual([]);
    const empty = await gpu.transferToGPU(new Float32Array(0));
    await expect(gpu.computeBatch([empty])).rejects.toThrow(InvalidArgumentError);
    expect(Number((await gpu.transferFromGPU((await gpu.processBatch([empty], 'sum'))[0]!))[0])).toBe(0);
  });

  it('of squares are exact to 1e-6, and do not overflow before the mean does', async () => {
    const gpu = make();
    const data = values(1 << 20);
    const [r] = await gpu.computeBatch([await gpu.transferToGPU(data)]);
    const want = meanSquare(data);
    expect(Math.abs(Number((await gpu.transferFromGPU(r!))[0]) - want) / want).toBeLessThan(1e-6);
    const huge = await gpu.transferToGPU(new Float32Array(4096).fill(1e19));
    const tiny = await gpu.transferToGPU(new Float32Array(4096).fill(1e-18));
    const [h, t] = await gpu.computeBatch([huge, tiny]);
    expect((await gpu.transferFromGPU(h!))[0]).toBeCloseTo(Math.fround(1e38), -33);
    expect(Number((await gpu.transferFromGPU(t!))[0]) / 1e-36).toBeCloseTo(1, 5);
  });

  it('take no more memory at the peak for 1,000 tensors than for 100', async () => {
    const gpu = make();
    const t = await gpu.transferToGPU(values(20_000));
    const copies: Tensor[] = [];
    for (let i = 0; i < 1000; i++) copies.push(await gpu.transferToGPU(values(4, i)));
    const peakOf = async (count: number): Promise<number> => {
      const { device } = gpu.devices.station!;
      const full = device.memory().free;
      let least = full;
      const results = await gpu.processBatch(copies.slice(0, count), (x) => {
        // A temporary of 80 KB that is computed, then dropped.
        const big = t.add(x.sum()).compute();
        least = Math.min(least, device.memory().free);
        return big.mean();
      });
      for (const r of results) r.dispose();
      return full - least;
    };
    const small = await peakOf(100);
    expect(small).toBeGreaterThanOrEqual(80_000);
    expect(await peakOf(1000)).toBeLessThanOrEqual(1.1 * small);
  });

  it('let the event loop run between chunks, and tell their progress', async () => {
    const gpu = make();
    const tensors = await Promise.all(Array.from({ length: 10 }, (_, i) => gpu.transferToGPU(values(4, i))));
    const seen: string[] = [];
    const turns = setInterval(() => {}, 0);
    setImmediate(() => seen.push('turn'));
    await gpu.processBatch(tensors, 'sum', {
      chunkSize: 4,
      onProgress: (done, total) => seen.push(`${done}/${total}`),
    });
    clearInterval(turns);
    expect(seen.filter((s) => s !== 'turn')).toEqual(['4/10', '8/10', '10/10']);
    expect(seen.indexOf('turn')).toBeLessThan(seen.indexOf('8/10'));
  });

  it.each([1, 2, 3])('stop when they are aborted in chunk %i, and leave nothing behind', async (chunk) => {
    const gpu = make();
    const tensors: Tensor[] = [];
    for (let i = 0; i < 9; i++) tensors.push(await gpu.transferToGPU(values(3000, i)));
    const before = gpu.monitor.getMemoryUsage();
    const stop = new AbortController();
    const run = gpu.processBatch(tensors, 'square', {
      chunkSize: 2,
      signal: stop.signal,
      onProgress: (done) => done >= 2 * chunk && stop.abort(),
    });
    await expect(run).rejects.toThrow(AbortError);
    expect(gpu.monitor.getMemoryUsage()).toEqual(before);
  });

  it('name the item that fails and free what was made, or collect the errors', async () => {
    const gpu = make();
    const tensors: Tensor[] = [];
    for (let i = 0; i < 6; i++) tensors.push(await gpu.transferToGPU(values(3000, i)));
    const before = gpu.monitor.getMemoryUsage();
    let calls = 0;
    const picky = (x: Tensor): Tensor => {
      calls++;
      if (x === tensors[4]) throw new TypeError('not this one');
      return x.mul(2);
    };
    const error = await gpu.processBatch(tensors, picky, { chunkSize: 3 }).catch((e) => e);
    expect(error).toBeInstanceOf(BatchError);
    expect(error).toMatchObject({ index: 4, completed: 4 });
    expect(error.cause).toBeInstanceOf(TypeError);
    expect(calls).toBeLessThan(12);
    expect(gpu.monitor.getMemoryUsage()).toEqual(before);
    const items = await gpu.processBatch(tensors, picky, { onError: 'collect' });
    expect(items.map((i) => i.ok)).toEqual([true, true, true, true, false, true]);
  });

  it.each([
    ['tensors', [5, undefined, {}]],
    ['an operation', [[], 'cube', {}]],
    ['a size of chunk', [[], 'sum', { chunkSize: 0 }]],
    ['an item', [[{}], 'sum', {}]],
  ])('refuse %s that cannot be used', async (_name, args) => {
    const gpu = make();
    await expect(gpu.processBatch(...(args as unknown as [Tensor[]]))).rejects.toThrow(InvalidArgumentError);
  });

  it('refuse tensors of another facade by name', async () => {
    const [one, two] = [make(), make()];
    const t = await one.transferToGPU(Float32Array.of(1));
    await two.transferToGPU(Float32Array.of(1));
    await expect(two.transferFromGPU(t)).rejects.toThrow(/belongs to another runtime/);
    expect(await one.transferFromGPU(t)).toEqual(Float32Array.of(1));
  });
});

describe('the shared instance', () => {
  it('is one object, refuses other options, and is fresh after its disposal', async () => {
    const first = GPUCompute.getInstance({ attempts: 2 });
    expect(GPUCompute.getInstance()).toBe(first);
    expect(GPUCompute.getInstance({ attempts: 2 })).toBe(first);
    expect(() => GPUCompute.getInstance({ attempts: 3 })).toThrow(/another 'attempts'/);
    const tensor = await first.transferToGPU(Float32Array.of(1));
    await first.dispose();
    await first.dispose();
    await expect(first.transferFromGPU(tensor)).rejects.toThrow(DisposedError);
    const second = GPUCompute.getInstance();
    expect(second).not.toBe(first);
    expect(await second.transferFromGPU(await second.transferToGPU(Float32Array.of(2)))).toEqual(Float32Array.of(2));
    await second.dispose();
  });

  it('leaves no timer behind that would keep the process alive', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((r) => r === 'Timeout').length;
    const before = timers();
    const gpu = cpuFacade();
    gpu.monitor.start(10);
    await gpu.transferToGPU(values(100));
    await gpu.dispose();
    expect(timers()).toBeLessThanOrEqual(before);
  });

  it('names an option that does not exist', () => {
    expect(() => GPUCompute.create({ atempts: 3 } as never)).toThrow(/no option 'atempts'/);
    expect(() => GPUCompute.create({ utilizationCeiling: 80 })).toThrow(/utilizationCeiling is 80/);
  });
});
