// Transforms of lengths that take several steps, of one row and of several, against sums written out.

import { afterAll, describe, expect, it } from 'vitest';
import { createRuntime, type DType } from '../../src/index.ts';

const rt = await createRuntime({ devices: ['cpu'] });
afterAll(() => rt.close());

const value = (i: number): number => Math.sin(i * i + 1) * 3 - 1;

/** One frequency of a row: real and imaginary part. */
function frequency(row: Float64Array, at: number, sign: number): readonly [number, number] {
  const n = row.length;
  let [real, imag] = [0, 0];
  for (let i = 0; i < n; i++) {
    // The angle is reduced in whole numbers: long rows would lose it otherwise.
    const angle = (2 * Math.PI * ((i * at) % n)) / n;
    real += row[i]! * Math.cos(angle);
    imag += sign * row[i]! * Math.sin(angle);
  }
  return [real, imag];
}

/** Matrix alone, two and three steps, factors that differ, primes above the largest matrix, and products with them. */
const lengths = [64, 128, 130, 1000, 1024, 4095, 4096, 65_536, 67, 127 * 2, 131 * 8];

describe('transforms', () => {
  it.each(lengths)('of %i values are the sums they stand for', async (n) => {
    for (const [dtype, rows, error] of [
      ['f64', 3, 1e-11],
      ['f32', 1, 3e-5],
    ] as const satisfies readonly (readonly [DType, number, number])[]) {
      const data = Float64Array.from({ length: rows * n }, (_, i) => value(i));
      const x = rt.tensor(data, [rows, n]).cast(dtype);
      const { real, imag } = x.fft();
      const [re, im] = [await real.data(), await imag.data()];
      const half = await x.rfft().real.data();
      for (let row = 0; row < rows; row++) {
        const given = data.subarray(row * n, (row + 1) * n);
        for (const at of [0, 1, 2, 31, n >> 1, n - 1, Math.floor(n * 0.37)]) {
          const [wantRe, wantIm] = frequency(given, at, -1);
          const far = error * Math.sqrt(n);
          expect(Math.abs(Number(re[row * n + at]) - wantRe), `real ${at} of row ${row}`).toBeLessThan(far * 10);
          expect(Math.abs(Number(im[row * n + at]) - wantIm), `imag ${at} of row ${row}`).toBeLessThan(far * 10);
          if (at <= n >> 1) expect(half[row * ((n >> 1) + 1) + at]).toBe(re[row * n + at]);
        }
      }
    }
  });

  it('of the same length twice give the same bits, and back again what was there', async () => {
    for (const n of [256, 1000, 65_536]) {
      const x = rt.tensor(Float64Array.from({ length: n }, (_, i) => value(i)));
      const [one, two] = [x.fft(), x.fft()];
      expect(await one.real.data()).toEqual(await two.real.data());
      const back = await one.real.fft({ imag: one.imag, inverse: true }).real.data();
      for (let i = 0; i < n; i += 7) expect(Math.abs(Number(back[i]) - value(i))).toBeLessThan(1e-11);
    }
  });
});
