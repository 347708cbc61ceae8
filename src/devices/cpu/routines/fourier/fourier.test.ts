// Transforms beside the sums that define them, in f64.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asType, random, runOn } from '../../../../../test/support/cpu.ts';
import { byteSize, type TypedArray } from '../../../../base/dtype.ts';
import type { Fourier } from '../../../../kernel/kernel.ts';
import { type CpuDevice, createCpuDevice } from '../../device.ts';

type Real = 'f32' | 'f64';

let alone: CpuDevice;
let several: CpuDevice;
beforeAll(async () => {
  alone = await createCpuDevice({ threads: 1, blas: false });
  several = await createCpuDevice({ threads: 3, blas: false });
});
afterAll(() => Promise.all([alone.close(), several.close()]));

const routine = (type: Real, rows: number, length: number, complex: boolean, frequencies = length): Fourier => ({
  kind: 'routine',
  op: 'fourier',
  name: `fft_${type}_${rows}x${length}`,
  type,
  rows,
  length,
  form: complex ? 'complex' : 'real',
  frequencies,
  estimate: { flops: 1e9, bytesRead: 0, bytesWritten: 0 },
});

function numbers(type: Real, count: number, seed: number): TypedArray {
  const next = random(seed);
  const of = () => 2 * next() - 1;
  return type === 'f32' ? Float32Array.from({ length: count }, of) : Float64Array.from({ length: count }, of);
}

function run(r: Fourier, inputs: readonly TypedArray[], device = alone): Float64Array {
  const part = r.rows * r.frequencies * byteSize(r.type);
  const parts = runOn(device, r, inputs, [part, part]).map((bytes) => [...(asType(r.type, bytes) as Float32Array)]);
  return Float64Array.from(parts.flat());
}

/** All frequencies of one row, as they are defined. */
function defined(re: readonly number[], im: readonly number[]): readonly [number, number][] {
  const n = re.length;
  const cos = Array.from({ length: n }, (_, k) => Math.cos((2 * Math.PI * k) / n));
  const sin = Array.from({ length: n }, (_, k) => Math.sin((2 * Math.PI * k) / n));
  return re.map((_, k) => {
    let [a, b] = [0, 0];
    for (let j = 0; j < n; j++) {
      const at = (j * k) % n;
      a += re[j]! * cos[at]! + im[j]! * sin[at]!;
      b += im[j]! * cos[at]! - re[j]! * sin[at]!;
    }
    return [a, b];
  });
}

/** The error grows with the number of stages; the values of a row of n are about √n. */
const boundOf = (type: Real, n: number): number =>
  (type === 'f32' ? 2 ** -23 : 2 ** -52) * 4 * Math.sqrt(n) * Math.log2(2 * n);

function check(r: Fourier): void {
  const { rows, length, frequencies } = r;
  const type = r.type as Real;
  const re = numbers(type, rows * length, 1);
  const im = r.form === 'complex' ? numbers(type, rows * length, 2) : null;
  const got = run(r, im ? [re, im] : [re]);
  const bound = type === 'f64' ? Math.max(boundOf(type, length), 1e-12 * length) : boundOf(type, length);
  for (let row = 0; row < rows; row++) {
    const part = (of: TypedArray | null): number[] =>
      Array.from({ length }, (_, i) => (of ? Number(of[row * length + i]) : 0));
    const want = defined(part(re), part(im));
    for (let k = 0; k < frequencies; k++) {
      const at = row * frequencies + k;
      const apart = Math.max(Math.abs(got[at]! - want[k]![0]), Math.abs(got[rows * frequencies + at]! - want[k]![1]));
      if (!(apart <= bound)) expect(apart, `${r.name}: row ${row}, frequency ${k}`).toBeLessThanOrEqual(bound);
    }
  }
}

const lengths = [
  2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 21, 22, 24, 25, 26, 27, 32, 36, 49, 60, 64, 77,
];
/** With prime factors that no stage has. */
const odd = [17, 19, 34, 46, 67, 127, 131, 254, 509, 1018, 1048, 2039];
const longer = [
  ...odd,
  81,
  96,
  100,
  105,
  121,
  125,
  128,
  143,
  168,
  169,
  210,
  243,
  256,
  343,
  375,
  480,
  500,
  512,
  625,
  729,
  1000,
];

describe('fourier', () => {
  it.each(['f32', 'f64'] as const)('%s: complex rows of all kinds of lengths', (type) => {
    for (const n of [...lengths, ...longer]) check(routine(type, n < 80 ? 3 : 1, n, true));
    check(routine(type, 1, 2048, true));
    check(routine(type, 2, 1001, true));
  });

  it.each(['f32', 'f64'] as const)('%s: real rows, all frequencies or half of them', (type) => {
    for (const n of [...lengths, ...longer]) {
      check(routine(type, 2, n, false));
      if (n % 2 === 0) check(routine(type, 3, n, false, n / 2 + 1));
    }
    check(routine(type, 1, 2048, false, 1025));
  });

  it.each(['f32', 'f64'] as const)('%s: back from half of the frequencies to real rows', (type) => {
    for (const n of [...lengths, ...longer, 2048].filter((v) => v % 2 === 0)) {
      const [rows, half] = [3, n / 2 + 1];
      const r = { ...routine(type, rows, n, false, half), form: 'hermitian' as const };
      const [re, im] = [numbers(type, rows * half, 8), numbers(type, rows * half, 9)];
      const [bytes] = runOn(alone, r, [re, im], [rows * n * byteSize(type)]);
      const got = asType(type, bytes!) as Float32Array;
      for (let row = 0; row < rows; row++) {
        const at = (k: number): number => row * half + (k <= n / 2 ? k : n - k);
        const real = Array.from({ length: n }, (_, k) => Number(re[at(k)]));
        // Imaginary parts of the first and of the middle frequency do not count.
        const imag = real.map((_, k) => (k % (n / 2) === 0 ? 0 : (k < n / 2 ? 1 : -1) * Number(im[at(k)])));
        // The definition goes forwards: the values come in the opposite order.
        const want = defined(real, imag);
        for (let i = 0; i < n; i++) {
          const apart = Math.abs(got[row * n + i]! - want[(n - i) % n]![0] / n);
          const bound = boundOf(type, n) / n + (type === 'f64' ? 1e-12 : 0);
          if (!(apart <= bound)) expect(apart, `${r.name}: row ${row}, value ${i}`).toBeLessThanOrEqual(bound);
        }
      }
    }
  });

  it('gives the same bits on any number of threads', () => {
    for (const [rows, n] of [
      [37, 120],
      [5, 1024],
      [1, 4096],
    ] as const) {
      const [re, im] = [numbers('f32', rows * n, 3), numbers('f32', rows * n, 4)];
      for (const r of [routine('f32', rows, n, true), routine('f32', rows, n, false, n / 2 + 1)]) {
        const inputs = r.form === 'complex' ? [re, im] : [re];
        expect(run(r, inputs, several)).toEqual(run(r, inputs));
      }
    }
  });

  it('keeps what is not a number within its row', () => {
    const n = 48;
    const re = numbers('f32', 3 * n, 5);
    re[n + 7] = Number.NaN;
    const got = run(routine('f32', 3, n, false, n / 2 + 1), [re]);
    const half = n / 2 + 1;
    const row = (i: number): number[] => [...got.slice(i * half, (i + 1) * half)];
    expect(row(0).every(Number.isFinite)).toBe(true);
    expect(row(1).every(Number.isNaN)).toBe(true);
    expect(row(2).every(Number.isFinite)).toBe(true);
  });

  it('is exact for one frequency and for constants', () => {
    const n = 64;
    const got = run(routine('f32', 1, n, false), [new Float32Array(n).fill(3)]);
    expect([...got]).toEqual([3 * n, ...new Array(2 * n - 1).fill(0)].map((v) => v + 0));
    const impulse = new Float32Array(n);
    impulse[0] = 1;
    const flat = run(routine('f32', 1, n, true), [impulse, new Float32Array(n)]);
    expect([...flat].map(Math.abs)).toEqual([...new Array(n).fill(1), ...new Array(n).fill(0)]);
  });

  it('has tables of any length', () => {
    for (const [n, complex] of [
      [2 ** 18, false],
      [50_021, true],
    ] as const) {
      const impulse = new Float32Array(n);
      impulse[0] = 1;
      const count = complex ? n : n / 2 + 1;
      const inputs = complex ? [impulse, new Float32Array(n)] : [impulse];
      const re = run(routine('f32', 1, n, complex, count), inputs).subarray(0, count);
      expect(re.length).toBe(count);
      expect(re.findIndex((v) => !(Math.abs(v - 1) < 1e-4))).toBe(-1);
    }
  });

  it('puts its roots into memory again after they were withdrawn', async () => {
    const device = await createCpuDevice({ threads: 1, blas: false });
    try {
      const r = routine('f32', 2, 512, true);
      const inputs = [numbers('f32', 1024, 6), numbers('f32', 1024, 7)];
      const before = run(r, inputs, device);
      device.trim();
      expect(run(r, inputs, device)).toEqual(before);
    } finally {
      await device.close();
    }
  });
});
