// Compactions give what a plain loop gives, for every pattern of flags, on one thread and on several.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { random, runOn, sameBytes } from '../../../../test/support/cpu.ts';
import { byteSize, type DType, dtypes } from '../../../base/dtype.ts';
import type { Compact } from '../../../kernel/kernel.ts';
import { type CpuDevice, createCpuDevice } from '../device.ts';

const estimate = { flops: 0, bytesRead: 0, bytesWritten: 0 };
let devices: CpuDevice[];
beforeAll(async () => {
  devices = await Promise.all([1, 3].map((threads) => createCpuDevice({ threads, blas: false })));
});
afterAll(() => Promise.all(devices.map((d) => d.close())));

const work = (what: Compact['what'], type: DType, length: number, count: number): Compact => ({
  kind: 'routine',
  op: 'compact',
  name: `pack_${what}_${type}_${length}_${count}`,
  what,
  type,
  length,
  count,
  estimate,
});

/** How the true flags lie. */
const patterns: Readonly<Record<string, (n: number) => Uint8Array>> = {
  none: (n) => new Uint8Array(n),
  all: (n) => new Uint8Array(n).fill(1),
  'one in a thousand': (n) => drawn(n, 0.001),
  'one in twenty': (n) => drawn(n, 0.05),
  half: (n) => drawn(n, 0.5),
  most: (n) => drawn(n, 0.97),
  'the first half': (n) => Uint8Array.from({ length: n }, (_, i) => Number(2 * i < n)),
  'the last one': (n) => Uint8Array.from({ length: n }, (_, i) => Number(i === n - 1)),
  'every 64th': (n) => Uint8Array.from({ length: n }, (_, i) => Number(i % 64 === 63)),
};
const drawn = (n: number, share: number): Uint8Array => {
  const next = random(n);
  return Uint8Array.from({ length: n }, () => Number(next() < share));
};

const lengths = [1, 7, 16, 63, 64, 65, 129, 1000, 33_000, 100_001];

describe('a compaction', () => {
  it.each(Object.entries(patterns))('counts, and packs positions, of %s', (_, make) => {
    for (const length of lengths) {
      const flags = make(length);
      const want = [...flags.keys()].filter((i) => flags[i]);
      for (const device of devices) {
        const [count] = runOn(device, work('count', 'i32', length, 1), [flags], [4]);
        expect(new Int32Array(count!.buffer, count!.byteOffset, 1)[0]).toBe(want.length);
        // Fewer than there are, all of them, and more: then zeros follow.
        for (const n of new Set([Math.ceil(want.length / 2), want.length, want.length + 3])) {
          if (n === 0) continue;
          const [got] = runOn(device, work('positions', 'i32', length, n), [flags], [4 * n]);
          const expected = Int32Array.from({ length: n }, (_, i) => want[i] ?? 0);
          expect(sameBytes(got!, new Uint8Array(expected.buffer)), `${length}, ${n}`).toBe(true);
        }
      }
    }
  });

  it.each(dtypes)('packs values of %s as they are', (type) => {
    const size = byteSize(type);
    for (const [name, make] of Object.entries(patterns))
      for (const length of [1, 65, 1000, 70_000]) {
        const flags = make(length);
        const next = random(length);
        const values = Uint8Array.from({ length: length * size }, () => next() * (type === 'bool' ? 2 : 256));
        const want = [...flags.keys()].filter((i) => flags[i]);
        const n = want.length + 1;
        const expected = new Uint8Array(n * size);
        want.forEach((from, to) => {
          expected.set(values.subarray(from * size, (from + 1) * size), to * size);
        });
        for (const device of devices) {
          const [got] = runOn(device, work('values', type, length, n), [flags, values], [n * size]);
          expect(sameBytes(got!, expected), `${name}, ${length}`).toBe(true);
        }
      }
  });
});
