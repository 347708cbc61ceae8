// A selection gives what the same part of a sorted row is, values and positions to the bit: ties in their order, NaN last, zeros of both
// signs equal.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runOn, sameBytes } from '../../../../../test/support/cpu.ts';
import { all } from '../../../../../test/support/extent.ts';
import { sortKinds } from '../../../../../test/support/sort-data.ts';
import { byteSize, type DType, dtypes } from '../../../../base/dtype.ts';
import type { Sort, TopK } from '../../../../kernel/kernel.ts';
import { createReferenceDevice } from '../../../reference/device.ts';
import { type CpuDevice, createCpuDevice } from '../../device.ts';

const estimate = { flops: 0, bytesRead: 0, bytesWritten: 0 };
let devices: CpuDevice[];
beforeAll(async () => {
  devices = await Promise.all([1, 3].map((threads) => createCpuDevice({ threads, blas: false })));
});
afterAll(() => Promise.all(devices.map((d) => d.close())));

const shape = (type: DType, rows: number, columns: number, descending: boolean) =>
  ({ kind: 'routine', name: `test_${type}_${rows}x${columns}`, type, rows, columns, descending, estimate }) as const;

const kinds: typeof sortKinds = {
  ...sortKinds,
  'all zero': (type, n) => new Uint8Array(n * byteSize(type)),
  'all NaN, where there are some': (type, n) => new Uint8Array(n * byteSize(type)).fill(type === 'bool' ? 1 : 255),
};

/** Sorted one way or the other: the samples and what they stand for lie in one place of the row. */
function ordered(device: CpuDevice, type: DType, columns: number, descending: boolean): Uint8Array {
  const bytes = kinds['any bits']!(type, columns);
  const sort: Sort = { ...shape(type, 1, columns, descending), op: 'sort', valuesOnly: true };
  return runOn(device, sort, [bytes], [bytes.length])[0]!;
}

/** Parts of a row from its beginning, its middle and its end. Each is a program: `npm test` takes half of them, by turns with the length. */
const partsOf = (n: number): readonly (readonly [first: number, count: number])[] => {
  const half = Math.floor(n / 2);
  const parts = [
    [0, 1],
    [0, 10],
    [0, Math.floor(n / 4)],
    [half, 1],
    [Math.max(0, half - 1), 2],
    [3, Math.floor(n / 8)],
    [n - 1, 1],
    [Math.max(0, n - 5), 5],
  ] as const;
  return parts.filter(([first, count], i) => (all || (i + n) % 2 === 0) && count > 0 && first + count <= n);
};

/** Every part of the same rows, both ways, against the whole of them sorted. */
function check(device: CpuDevice, type: DType, rows: number, columns: number, bytes: Uint8Array, name: string): void {
  const size = byteSize(type);
  const cut = (whole: Uint8Array, each: number, first: number, count: number): Uint8Array => {
    const part = new Uint8Array(rows * count * each);
    for (let r = 0; r < rows; r++) {
      const from = (r * columns + first) * each;
      part.set(whole.subarray(from, from + count * each), r * count * each);
    }
    return part;
  };
  for (const descending of [false, true]) {
    const given = shape(type, rows, columns, descending);
    const [values, positions] = runOn(device, { ...given, op: 'sort' }, [bytes], [bytes.length, rows * columns * 4]);
    for (const [first, count] of partsOf(columns)) {
      const select: TopK = { ...given, op: 'topk', first, count };
      const got = runOn(device, select, [bytes], [rows * count * size, rows * count * 4]);
      const what = `${name}: ${type} ${rows}x${columns}, ${count} from ${first}, descending ${descending}`;
      expect(sameBytes(got[1]!, cut(positions!, 4, first, count)), `positions of ${what}`).toBe(true);
      expect(sameBytes(got[0]!, cut(values!, size, first, count)), `values of ${what}`).toBe(true);
    }
  }
}

describe('a selection', () => {
  it.each(dtypes)('of %s is that part of the sorted row', (type) => {
    for (const [name, make] of Object.entries(kinds)) {
      for (const columns of [1, 2, 8, 25, 100, 255, 256, 257, 1000, 4099])
        check(devices[0]!, type, 3, columns, make(type, 3 * columns), name);
      check(devices[1]!, type, 1, 70_001, make(type, 70_001), name);
    }
  });

  it.each(dtypes)('of %s that are sorted already, or the other way round', (type) => {
    for (const columns of [300, 5000, 70_000])
      for (const descending of [false, true])
        check(devices[0]!, type, 1, columns, ordered(devices[0]!, type, columns, descending), 'in order');
  });

  it('is right where every sample misleads', () => {
    // Samples are taken at places that do not depend on the data: fill those with the largest, and with the smallest.
    for (const columns of [1000, 70_000]) {
      const marks = new Float32Array(columns).fill(1);
      for (const poison of [2, -2, Number.NaN]) {
        const samples = columns >= 1 << 16 ? 2048 : 64;
        const stretch = Math.floor(columns / samples);
        const values = marks.map((_, i) => i / columns);
        for (let s = 0; s < samples; s++) values[s * stretch + ((Math.imul(s, -1640531535) >>> 12) % stretch)] = poison;
        check(devices[0]!, 'f32', 1, columns, new Uint8Array(values.buffer), `samples of ${poison}`);
      }
    }
  });

  it('of many rows on several threads', () => {
    check(devices[1]!, 'f32', 500, 700, kinds['any bits']!('f32', 350_000), 'many rows');
    check(devices[1]!, 'i64', 130, 300, kinds['low bits only']!('i64', 39_000), 'many rows');
  });

  it('is what the reference says', () => {
    const reference = createReferenceDevice();
    const values = Float32Array.from({ length: 900 }, (_, i) => [Number.NaN, -0, 0, Infinity, -1, i - 150][i % 6]!);
    for (const device of devices)
      for (const descending of [false, true]) {
        const select: TopK = { ...shape('f32', 3, 300, descending), op: 'topk', first: 5, count: 20 };
        const [got, want] = [device, reference].map((d) => runOn(d, select, [values], [240, 240]));
        expect(sameBytes(got![0]!, want![0]!) && sameBytes(got![1]!, want![1]!)).toBe(true);
      }
  });
});
