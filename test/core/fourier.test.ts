// Transforms of lengths that take several steps, of one row and of several, against sums written out.

import { afterAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/devices/device.ts';
import { createRuntime, type DType } from '../../src/index.ts';

/** A device without transforms of its own, as WebGPU is: they become products with matrices. */
const withoutTransforms = (device: Device): Device => {
  const routines = new Set([...device.caps.routines].filter((r) => r !== 'fourier'));
  const caps = { ...device.caps, routines };
  return new Proxy(device, {
    get(target, key) {
      if (key === 'caps') return caps;
      const found = Reflect.get(target, key, target) as unknown;
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
};

const own = await createRuntime({ devices: ['cpu'] });
const products = await createRuntime({ devices: ['cpu'], wrap: withoutTransforms });
afterAll(() => Promise.all([own.close(), products.close()]));
const ways = [
  ['by the device', own],
  ['by products', products],
] as const;

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

it('are computed in two ways, and a runtime says in which', async () => {
  const text = (rt: typeof own): string => `${rt.explain(rt.tensor([1, 2, 3, 4]).rfft().real)}`;
  expect(text(own)).toContain('rfft_f32_1x4');
  expect(text(products)).not.toContain('rfft_f32');
});

describe.each(ways)('transforms %s', (_, rt) => {
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

  it('backwards, of real values and down columns are what they stand for', async () => {
    const [rows, n] = [60, 3];
    const x = rt.tensor(
      Float64Array.from({ length: rows * n }, (_, i) => value(i)),
      [rows, n],
    );
    const { real, imag } = x.fft({ axis: 0, inverse: true });
    const [re, im] = [await real.data(), await imag.data()];
    const half = await x.rfft({ axis: 0 }).imag.data();
    for (let column = 0; column < n; column++) {
      const given = Float64Array.from({ length: rows }, (_, i) => value(i * n + column));
      for (let at = 0; at < rows; at++) {
        const [wantRe, wantIm] = frequency(given, at, 1);
        expect(Number(re[at * n + column])).toBeCloseTo(wantRe / rows, 11);
        expect(Number(im[at * n + column])).toBeCloseTo(wantIm / rows, 11);
        if (at <= rows / 2) expect(Number(half[at * n + column])).toBeCloseTo(-wantIm, 10);
      }
    }
  });

  it('of no rows are empty, of one value are that value, and of none are refused', async () => {
    expect(rt.zeros([0, 8]).rfft().real.shape).toEqual([0, 5]);
    expect(await rt.zeros([0, 8]).fft().imag.data()).toHaveLength(0);
    expect(await rt.tensor([7], [1]).fft().real.data()).toEqual(Float32Array.of(7));
    expect(() => rt.zeros([3, 0]).rfft()).toThrow('axis 1 of [3, 0] has no elements');
  });

  it('in a compiled function and of f16, f64 and integers', async () => {
    const spectrum = rt.compile((x: typeof half) => x.rfft().real.mul(2));
    const half = rt.tensor([1, 2, 3, 4, 5, 6]);
    for (let i = 0; i < 3; i++) expect(await spectrum(half).data()).toEqual(Float32Array.of(42, -6, -6, -6));
    for (const dtype of ['f16', 'f64', 'i32'] as const) {
      const parts = half.cast(dtype).fft();
      const want = [21, -3, -3, -3, -3, -3];
      (await parts.real.cast('f64').data()).forEach((v, i) => {
        expect(Number(v)).toBeCloseTo(want[i]!, 2);
      });
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

  it('back to a length that the frequencies do not have is refused with those that they have', () => {
    const half = rt.ones([3]);
    expect(() => half.irfft({ length: 7 })).toThrow(/length 7 does not go with frequencies of size 3[\s\S]*4 or 5\./);
    expect(() => rt.ones([1]).irfft({ length: 2 })).toThrow(/The length is 1: leave it out\./);
    expect(half.irfft({ length: 5 }).shape).toEqual([5]);
  });
});
