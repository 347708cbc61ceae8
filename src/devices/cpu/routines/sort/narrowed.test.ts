// Sorts of 64-bit types give the reference's bytes whether their values fit 32 bits, nearly do, or not.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { random, runOn, sameBytes } from '../../../../../test/support/cpu.ts';
import { sortOf } from '../../../../../test/support/sort-data.ts';
import { createReferenceDevice } from '../../../reference/device.ts';
import { type CpuDevice, createCpuDevice } from '../../device.ts';

const reference = createReferenceDevice();
let device: CpuDevice;
beforeAll(async () => {
  device = await createCpuDevice({ threads: 3, blas: false });
});
afterAll(() => device.close());

type Wide = 'i64' | 'u64' | 'f64';
type Values = BigInt64Array | BigUint64Array | Float64Array;

function check(type: Wide, rows: number, columns: number, values: Values, what: string): void {
  for (const descending of [false, true])
    for (const valuesOnly of [false, true]) {
      const sort = sortOf(type, rows, columns, descending, valuesOnly);
      const sizes = valuesOnly ? [values.byteLength] : [values.byteLength, values.length * 4];
      const [got, want] = [device, reference].map((d) => runOn(d, sort, [values], sizes));
      got!.forEach((bytes, k) => {
        expect(sameBytes(bytes, want![k]!), `${what}, descending ${descending}, output ${k}`).toBe(true);
      });
    }
}

const shapes = [
  [1, 40_000],
  [300, 61],
] as const;

describe.each(shapes)('a sort of %d rows of %d', (rows, columns) => {
  const n = rows * columns;
  const whole = (most: number): number[] => {
    const next = random(n);
    return Array.from({ length: n }, () => Math.floor((next() - 0.5) * most));
  };

  it('of whole numbers that fit, and of all but one that do', () => {
    const signed = BigInt64Array.from(whole(2 ** 32 - 2), BigInt);
    check('i64', rows, columns, signed, 'fit');
    for (const odd of [2n ** 31n, -(2n ** 31n) - 1n, 2n ** 63n - 1n]) {
      signed[n - 7] = odd;
      check('i64', rows, columns, signed, `but ${odd}`);
    }
    const unsigned = BigUint64Array.from(whole(1000), (v) => BigInt(Math.abs(v)));
    unsigned[3] = 2n ** 32n - 1n;
    check('u64', rows, columns, unsigned, 'fit');
    unsigned[n - 3] = 2n ** 32n;
    check('u64', rows, columns, unsigned, 'but one');
  });

  it('of floats that were f32, with zeros of both signs and infinities, and of all but one', () => {
    const next = random(7);
    const values = Float64Array.from({ length: n }, () => Math.fround(next() - 0.5));
    values.set([0, -0, 0, -0, Infinity, -Infinity, 1e-45, -0], 11);
    check('f64', rows, columns, values, 'fit');
    for (const odd of [0.1, 1e300, 1e-46, Number.NaN]) {
      values[n - 7] = odd;
      check('f64', rows, columns, values, `but ${odd}`);
    }
  });
});
