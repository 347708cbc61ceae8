// A sort of values alone gives the values of the sort with positions, to the bit: NaN with their payloads and zeros with their signs
// in the order of the input.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { random, runOn, sameBytes } from '../../../../../test/support/cpu.ts';
import { sortKinds, sortOf } from '../../../../../test/support/sort-data.ts';
import { within } from '../../../../../test/support/time.ts';
import { byteSize, type DType, dtypes, isFloat } from '../../../../base/dtype.ts';
import { createReferenceDevice } from '../../../reference/device.ts';
import { type CpuDevice, createCpuDevice } from '../../device.ts';
import { comparisons } from './short-rows.ts';

const reference = createReferenceDevice();
let devices: CpuDevice[];
beforeAll(async () => {
  devices = await Promise.all([1, 3].map((threads) => createCpuDevice({ threads, blas: false })));
});
afterAll(() => Promise.all(devices.map((d) => d.close())));

/** Both sorts of the same bytes, both ways, on one thread and on several. */
function check(type: DType, rows: number, columns: number, bytes: Uint8Array, device = devices[0]!): void {
  for (const descending of [false, true]) {
    const [want] = runOn(
      device,
      sortOf(type, rows, columns, descending, false),
      [bytes],
      [bytes.length, rows * columns * 4],
    );
    const [got] = runOn(device, sortOf(type, rows, columns, descending, true), [bytes], [bytes.length]);
    expect(sameBytes(got!, want!), `${type} ${rows}x${columns}, descending ${descending}`).toBe(true);
  }
}

describe('a sort without positions', () => {
  it.each(dtypes)('of %s gives the values of one with positions, for rows of every length', (type) => {
    for (const [kind, make] of Object.entries(sortKinds)) {
      for (const columns of [1, 2, 3, 12, 13, 32, 33, 64, 100, 128, 200, 256, 512, 513, 1000, 1024, 2048, 2049]) {
        check(type, 3, columns, make(type, 3 * columns, columns + kind.length));
      }
      check(type, 1, 4097, make(type, 4097, 5));
    }
  });

  it.each(dtypes)('of %s gives the same for few long rows, on one thread and on several', (type) => {
    const columns = 40_001;
    for (const make of Object.values(sortKinds)) {
      const bytes = make(type, 2 * columns, 3);
      for (const device of devices) check(type, 2, columns, bytes, device);
    }
  });

  it.each(['f32', 'f64', 'i32', 'u32', 'f16'] as const)(
    'of %s sorts short rows side by side, any number of them',
    (type) => {
      for (const [kind, make] of Object.entries(sortKinds))
        for (const columns of [2, 5, 8, 15, 16, 17, 31, 32, 33])
          for (const rows of [1, 4, 7, 259]) check(type, rows, columns, make(type, rows * columns, rows + kind.length));
      // Few rows with what is left to the keys, among others.
      const rows = 203;
      const values = Float64Array.from({ length: rows * 9 }, (_, i) => Math.sin(i));
      for (const [at, value] of [Number.NaN, -0, 0, -Infinity].entries()) values[at * 317 + 5] = value;
      if (type === 'f64') check(type, rows, 9, new Uint8Array(values.buffer), devices[1]);
      if (type === 'f32') check(type, rows, 9, new Uint8Array(Float32Array.from(values).buffer), devices[1]);
    },
  );

  it('compares columns in an order that sorts whatever they hold', () => {
    // A network that sorts every row of zeros and ones sorts everything (Knuth, 5.3.4).
    for (let columns = 1; columns <= 12; columns++)
      for (let ones = 0; ones < 2 ** columns; ones++) {
        const row = Array.from({ length: columns }, (_, i) => (ones >> i) & 1);
        for (const [i, j] of comparisons(columns)) if (row[i]! > row[j]!) [row[i], row[j]] = [row[j]!, row[i]!];
        if (row.some((v, i) => i > 0 && v < row[i - 1]!)) expect.fail(`${columns} columns: ${row}`);
      }
  });

  it('is what the reference says', () => {
    const values = Float32Array.from({ length: 300 }, (_, i) => [Number.NaN, -0, 0, Infinity, -1, i - 150][i % 6]!);
    for (const device of devices)
      for (const descending of [false, true]) {
        const sort = sortOf('f32', 3, 100, descending, true);
        const [got] = runOn(device, sort, [values], [1200]);
        expect(sameBytes(got!, runOn(reference, sort, [values], [1200])[0]!)).toBe(true);
      }
  });

  it('keeps ordinary numbers of every size in order, many rows and long ones', () => {
    for (const type of dtypes.filter((t) => isFloat(t) && byteSize(t) >= 4)) {
      const next = random(4);
      const make = (n: number): Uint8Array => {
        const v = Float64Array.from({ length: n }, () => (next() - 0.5) * 2 ** Math.floor(next() * 60 - 30));
        return new Uint8Array(type === 'f64' ? v.buffer : Float32Array.from(v).buffer);
      };
      check(type, 200, 1000, make(200_000), devices[1]);
      check(type, 1, 150_000, make(150_000), devices[1]);
    }
  });

  it.each([
    ['evenly spread', (u: number) => u * 2 - 1],
    ['evenly spread, with zeros of both signs', (u: number) => (u < 0.1 ? -0 : u < 0.2 ? 0 : u - 0.5)],
    ['crowded in the middle', (u: number) => (u - 0.5) ** 5],
    ['crowded but for one', (u: number) => (u === 0.5 ? 1e30 : u)],
    ['whole', (u: number) => Math.floor(u * 1000)],
    ['tiny', (u: number) => u * 1e-40],
    ['farther apart than a float can say', (u: number) => (u - 0.5) * 6.8e38],
    ['far from zero', (u: number) => 1e6 + u],
    ['in order', (u: number, i: number) => i + u],
  ] as const)('of long rows of floats that are %s', (_, make) => {
    for (const n of [33_000, 200_001]) {
      const next = random(n);
      const values = Float32Array.from({ length: n }, (_, i) => make(i === 77 ? 0.5 : next(), i));
      for (const device of devices) check('f32', 1, n, new Uint8Array(values.buffer), device);
      // A factor that takes them out of f32: the sort in 64 bits.
      const wide = Float64Array.from(values, (v, i) => (i % 5000 === 4321 ? Number.NaN : v * Math.PI));
      for (const device of devices) check('f64', 1, n, new Uint8Array(wide.buffer), device);
    }
  });

  it('survives a worker that dies in the middle', async () => {
    const device = await createCpuDevice({ threads: 2, blas: false, patience: 150 });
    const columns = 300_000;
    const bytes = sortKinds['any bits']!('f32', columns, 8);
    const [want] = runOn(devices[0]!, sortOf('f32', 1, columns, false, true), [bytes], [bytes.length]);
    const sort = sortOf('f32', 1, columns, false, true);
    const again = (): Uint8Array => runOn(device, sort, [bytes], [bytes.length])[0]!;
    for (const end = performance.now() + within(3000); device.workers?.ready !== 1 && performance.now() < end; ) {
      again();
      await new Promise((done) => setTimeout(done, 5));
    }
    expect(device.workers!.ready).toBe(1);
    device.workers!.injectFault(2);
    // The calling thread may take all chunks itself; go on until the worker was hit.
    for (const end = performance.now() + within(3000); device.workers!.settled && performance.now() < end; )
      expect(sameBytes(again(), want!)).toBe(true);
    expect(device.workers!.settled).toBe(false);
    expect(sameBytes(again(), want!)).toBe(true);
    await device.close();
  });
});
