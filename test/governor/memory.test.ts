// Room in memory: budgets, spilling and coming back, what an OutOfMemory says, and going elsewhere.

import { describe, expect, it } from 'vitest';
import { createRuntime, OutOfMemory, type RuntimeOptions, type Tensor } from '../../src/index.ts';

const MiB = 2 ** 20;
const options = (memory: RuntimeOptions['memory']): RuntimeOptions => ({
  devices: ['cpu'],
  cpu: { threads: 1 },
  memory,
});

const filled = (value: number, bytes: number): Float32Array => new Float32Array(bytes / 4).fill(value);

describe('more data than the budget', () => {
  it('is worked through with right results, and never more than the budget on the device', async () => {
    await using rt = await createRuntime(options({ budget: 16 * MiB }));
    const spills: number[] = [];
    rt.on('spill', (e) => spills.push(e.bytes));
    // 40 MiB of live data in 2 MiB tensors, used in two orders.
    const tensors = Array.from({ length: 20 }, (_, i) => rt.tensor(filled(i, 2 * MiB)));
    const doubled = tensors.map((t) => t.mul(2).compute());
    for (const i of [0, 19, 7, 3, 12]) {
      await rt.scope(async () => {
        expect((await doubled[i]!.slice([[0, 3]]).data())[2]).toBe(2 * i);
        expect((await tensors[i]!.add(doubled[i]!).max().data())[0]).toBe(3 * i);
      });
    }
    expect(rt.memory.snapshot('cpu').allocatedMb).toBeLessThanOrEqual(16);
    expect(rt.memory.stats('cpu').peakAllocatedMb).toBeLessThanOrEqual(16);
    expect(spills.length).toBeGreaterThan(10);
    expect(rt.stats().spilledBytes).toBeGreaterThan(20 * MiB);
    for (const t of [...tensors, ...doubled]) t.dispose();
    expect(rt.stats()).toMatchObject({ bytes: 0, spilledBytes: 0 });
  });

  it('spills what was used longest ago', async () => {
    await using rt = await createRuntime(options({ budget: 10 * MiB }));
    const [a, b, c] = [1, 2, 3].map((v) => rt.tensor(filled(v, 3 * MiB)));
    a!.max().compute();
    const spilled: number[] = [];
    rt.on('spill', (e) => spilled.push(e.moved));
    const d = rt.tensor(filled(4, 3 * MiB));
    expect(spilled).toEqual([3 * MiB]);
    const moves: string[] = [];
    rt.on('move', (e) => moves.push(`${e.from} ${e.bytes}`));
    expect((await a!.max().data())[0]).toBe(1);
    expect(moves).toEqual([]);
    expect((await b!.max().data())[0]).toBe(2);
    expect(moves).toEqual([`host ${3 * MiB}`]);
    expect((await c!.max().data())[0]).toBe(3);
    expect((await d.max().data())[0]).toBe(4);
  });

  it('reads a spilled tensor without bringing it back', async () => {
    await using rt = await createRuntime(options({ budget: 8 * MiB }));
    const first = rt.tensor(filled(5, 6 * MiB));
    rt.tensor(filled(6, 6 * MiB));
    const moves: unknown[] = [];
    rt.on('move', (e) => moves.push(e));
    expect((await first.data())[77]).toBe(5);
    expect(first.dataSync()[78]).toBe(5);
    expect(moves).toEqual([]);
  });

  it('keeps to the limit of host memory', async () => {
    await using rt = await createRuntime(options({ budget: 8 * MiB, hostBytes: 8 * MiB }));
    const kept = [1, 2, 3, 4].map((v) => rt.tensor(filled(v, 4 * MiB)));
    expect(rt.stats().spilledBytes).toBe(8 * MiB);
    expect(() => rt.tensor(filled(5, 4 * MiB))).toThrow(OutOfMemory);
    for (const [i, t] of kept.entries()) expect((await t.data())[0]).toBe(i + 1);
  });

  it('returns what was read to the device as soon as nobody needs it, and never sooner', async () => {
    const given: ArrayBufferLike[] = [];
    const back: ArrayBufferLike[] = [];
    await using rt = await createRuntime({
      ...options({ budget: 8 * MiB, hostBytes: 12 * MiB }),
      wrap: (device) => {
        const read = device.readSync!.bind(device);
        const readSync: typeof read = (src, offset, length) => {
          const bytes = read(src, offset, length);
          if (bytes.length >= MiB) given.push(bytes.buffer);
          return bytes;
        };
        const returnRead = (bytes: Uint8Array): void => {
          back.push(bytes.buffer);
          // Whoever still looks at it gets something wrong.
          bytes.fill(0xff);
        };
        return Object.assign(device, { readSync, returnRead });
      },
    });
    const tensors = Array.from({ length: 10 }, (_, i) => rt.tensor(filled(i, MiB)));
    for (let round = 0; round < 3; round++) {
      for (const [i, old] of tensors.entries()) {
        if (i % 3 === round) continue;
        tensors[i] = rt.scope(() => old.add(tensors[(i + 1) % 10]!).compute());
        old.dispose();
        expect(rt.memory.snapshot('cpu').allocatedMb).toBeLessThanOrEqual(8);
      }
    }
    const wanted = Array.from({ length: 10 }, (_, i) => i);
    for (let round = 0; round < 3; round++)
      for (let i = 0; i < 10; i++) if (i % 3 !== round) wanted[i]! += wanted[(i + 1) % 10]!;
    const read = tensors.map((t) => t.dataSync());
    for (const t of tensors) t.dispose();
    // What a caller has read is theirs: it is never returned, and stays right.
    for (const [i, data] of read.entries()) expect([data[0], data.at(-1)]).toEqual([wanted[i], wanted[i]]);
    const callers = new Set<ArrayBufferLike>(read.map((data) => data.buffer));
    const ours = given.filter((buffer) => !callers.has(buffer));
    expect(ours.length).toBeGreaterThan(10);
    // Each once, and no other.
    expect(back.length).toBe(ours.length);
    expect(new Set(back)).toEqual(new Set(ours));
  });

  it('runs a compiled recurrence beside tensors that have to make room', async () => {
    await using rt = await createRuntime(options({ budget: 12 * MiB }));
    const others = [1, 2].map((v) => rt.tensor(filled(v, 4 * MiB)));
    const step = rt.compile((x: Tensor) => x.mul(0.5).add(1));
    let f: Tensor = rt.tensor(filled(0, 4 * MiB));
    for (let i = 0; i < 20; i++) f = step(f);
    expect((await f.data())[9]).toBeCloseTo(2, 5);
    expect((await others[0]!.data())[0]).toBe(1);
    expect((await others[1]!.data())[0]).toBe(2);
  });
});

describe('when nothing helps', () => {
  it('says who holds the memory and where that was made', async () => {
    await using rt = await createRuntime({
      ...options({ budget: 20 * MiB, hostBytes: 0, sites: 'all' }),
      development: true,
    });
    const held = [8, 6, 2].map((n) => rt.tensor(filled(n, n * MiB)));
    let error: unknown;
    try {
      rt.tensor(filled(0, 5 * MiB));
    } catch (e) {
      error = e;
    }
    expect(error).toBeInstanceOf(OutOfMemory);
    const { message } = error as OutOfMemory;
    expect(message).toMatch(/budget of 20971520 bytes, of which 16777216 are in use/);
    expect(message).toMatch(/largest holders on cpu/);
    expect(message).toMatch(/8\.00 MiB.*f32 \[2097152\], made at .*memory\.test\.ts/);
    expect(message.indexOf('8.00 MiB')).toBeLessThan(message.indexOf('6.00 MiB'));
    held[0]!.dispose();
    expect((await rt.tensor(filled(3, 5 * MiB)).data())[0]).toBe(3);
  });

  it('frees forgotten tensors before it gives up, where waiting is possible', async () => {
    await using rt = await createRuntime(options({ budget: 10 * MiB, hostBytes: 0 }));
    (() => {
      rt.tensor(filled(1, 8 * MiB));
    })();
    const lazy = rt.ones([MiB]).add(1);
    expect((await lazy.data())[5]).toBe(2);
  });

  it('frees them also where many runtimes of the process have forgotten some', async () => {
    const small = () => createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, routing: { mode: 'off' } });
    const others = await Promise.all(Array.from({ length: 40 }, small));
    await using rt = await createRuntime(options({ budget: 10 * MiB, hostBytes: 0 }));
    (() => {
      rt.tensor(filled(1, 8 * MiB));
      for (const other of others) other.ones([5000]).add(other.tensor(filled(1, 20_000)));
    })();
    const lazy = rt.ones([MiB]).add(1);
    expect((await lazy.data())[5]).toBe(2);
    for (const other of others) await other.close();
  });

  it('leaves everything as it was after a failed computation', async () => {
    await using rt = await createRuntime(options({ budget: 10 * MiB, hostBytes: 0 }));
    const x = rt.tensor(filled(2, 6 * MiB));
    const before = rt.memory.snapshot('cpu').allocatedMb;
    const sorted = x.sort();
    expect(() => sorted.compute()).toThrow(OutOfMemory);
    expect(rt.memory.snapshot('cpu').allocatedMb).toBe(before);
    expect((await x.max().data())[0]).toBe(2);
  });
});

describe('another device', () => {
  it('takes work that finds no room', async () => {
    await using rt = await createRuntime({
      devices: ['cpu', 'reference'],
      cpu: { threads: 1 },
      routing: { mode: 'off' },
      memory: { budget: { cpu: 3 * MiB }, hostBytes: 0 },
    });
    const x = rt.tensor(filled(2, 2 * MiB));
    const launches: string[] = [];
    rt.on('launch', (e) => launches.push(e.device));
    expect((await x.add(1).data())[0]).toBe(3);
    expect(launches.at(-1)).toBe('reference');
  });
});

describe('pressure', () => {
  it('rises through the levels and cleans up by itself', async () => {
    await using rt = await createRuntime(options({ budget: 100 * MiB }));
    const levels: string[] = [];
    rt.on('pressure', (e) => levels.push(e.to));
    const cleanups: number[] = [];
    rt.on('cleanup', (r) => cleanups.push(r.beforeUtil));
    const held = Array.from({ length: 95 }, (_, i) => rt.tensor(filled(i, MiB)));
    expect(levels).toEqual(['moderate', 'high', 'critical']);
    expect(cleanups.length).toBeGreaterThan(0);
    for (const t of held) t.dispose();
    rt.memory.recordSnapshot();
    expect(levels.at(-1)).toBe('low');
  });
});
