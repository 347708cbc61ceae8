// Arrays of nearly equal length in one group: the same results, fewer groups, never more padding than was allowed.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchElementwise, batchXor, createBatch } from '../../src/batch/index.ts';
import { paddedLengths, wasteOf } from '../../src/batch/padding.ts';
import { createRuntime, type Runtime } from '../../src/index.ts';
import { fakeGpu } from '../support/facade.ts';
import { seed } from '../support/seed.ts';

let [rt, gpu]: Runtime[] = [];
beforeAll(async () => {
  rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
  gpu = (await fakeGpu().open({ routing: { device: 'cuda:0' } })) as Runtime;
});
afterAll(() => Promise.all([rt!.close(), gpu!.close()]));

let state = seed;
const random = (n: number): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * n);
};

describe('lengths', () => {
  it('join the longer ones as long as the padding stays within its share', () => {
    expect(paddedLengths([10, 9, 8, 1], 0.25)).toEqual([10, 10, 10, 1]);
    expect(paddedLengths([10, 9, 8, 1], 0)).toEqual([10, 9, 8, 1]);
    expect(paddedLengths([3, 4, 4, 4], 0.0625)).toEqual([4, 4, 4, 4]);
    expect(paddedLengths([3, 4, 4, 4], 0.0624)).toEqual([3, 4, 4, 4]);
    expect(paddedLengths([0, 5, 0], 0.9)).toEqual([0, 5, 0]);
    expect(paddedLengths([], 0.5)).toEqual([]);
  });

  it('of any list: nothing is shortened, and no group has more padding than it may', () => {
    for (let round = 0; round < 300; round++) {
      const lengths = Array.from({ length: random(40) }, () => random(30));
      const waste = random(100) / 100;
      const padded = paddedLengths(lengths, waste);
      for (const target of new Set(padded)) {
        const own = lengths.filter((_, i) => padded[i] === target);
        expect(Math.max(...own)).toBe(target);
        const room = target * own.length;
        expect(room - own.reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(waste * room + 1e-9);
      }
    }
  });

  it('the share is a number or words; anything else is named', () => {
    expect([wasteOf('x', 0.25), wasteOf('x', 'waste ≤ 0.25'), wasteOf('x', 0)]).toEqual([0.25, 0.25, 0]);
    for (const bad of [1, -0.1, Number.NaN, 'much', 'waste ≤ 2', 'waste ≤ '])
      expect(() => wasteOf('x', bad as number)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
  });
});

describe('results', () => {
  const classes = [Float32Array, Float64Array, Int32Array, Uint8Array, BigInt64Array] as const;
  const list = (Class: (typeof classes)[number], count: number, most: number) =>
    Array.from({ length: count }, () => {
      const bytes = Uint8Array.from({ length: random(most) * Class.BYTES_PER_ELEMENT }, () => random(256));
      return new (Class as Float32ArrayConstructor)(bytes.buffer);
    });
  const bytes = (a: ArrayBufferView): number[] => [...new Uint8Array(a.buffer, a.byteOffset, a.byteLength)];

  it('of XOR are the bytes that each item has alone', async () => {
    for (const runtime of [rt!, gpu!]) {
      for (const Class of classes) {
        for (let round = 0; round < 6; round++) {
          const data = list(Class, 1 + random(20), 40);
          const keys = data.map((d) => d.slice().reverse());
          const got = await batchXor(data, keys, { runtime, pad: random(90) / 100 });
          got.forEach((g, i) => {
            expect(g.constructor).toBe(Class);
            expect(bytes(g)).toEqual(bytes(data[i]!).map((b, k) => b ^ bytes(keys[i]!)[k]!));
          });
          const one = data.reduce((a, b) => (a.length >= b.length ? a : b));
          const same = await batchXor(data, one, { runtime, pad: 0.5 });
          same.forEach((g, i) => {
            expect(bytes(g)).toEqual(bytes(data[i]!).map((b, k) => b ^ bytes(one)[k]!));
          });
        }
      }
    }
  });

  it('of elementwise work are the bits that each item has alone, in fewer groups', async () => {
    const lengths = [100, 98, 97, 96, 100, 3];
    const data = lengths.map((n) => Float32Array.from({ length: n }, () => random(1000) / 7 - 50));
    for (const runtime of [rt!, gpu!]) {
      for (const op of ['square', 'sqrt', 'exp', 'add', 'multiply'] as const) {
        const alone = await batchElementwise(data, op, 3, { runtime });
        const padded = await batchElementwise(data, op, 3, { runtime, pad: 'waste ≤ 0.1' });
        expect(padded.map(bytes)).toEqual(alone.map(bytes));
        expect([alone.report.groups, padded.report.groups]).toEqual([5, 2]);
      }
    }
    const launches = async (pad?: number) =>
      (await batchElementwise(data, 'square', undefined, { runtime: gpu!, pad })).report.launches;
    expect(await launches(0.1)).toBeLessThan(await launches());
  });

  it('a processor pads too; tensors are refused', async () => {
    await using batch = createBatch([1, 2], { runtime: rt! });
    const got = await batch.batchElementwise([Float32Array.of(1, 2), Float32Array.of(3)], 'square', undefined, {
      pad: 0.5,
    });
    expect(got.map((g) => [...g])).toEqual([[1, 4], [9]]);
    expect(got.report.groups).toBe(1);
    const tensors = [rt!.tensor([1, 2]), rt!.tensor([3])];
    await expect(batchElementwise(tensors, 'square', undefined, { runtime: rt!, pad: 0.5 })).rejects.toThrow(/tensors/);
  });
});
