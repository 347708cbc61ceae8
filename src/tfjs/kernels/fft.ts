// Discrete Fourier transforms of the last axis, for any length.
//
// A length that has a divisor of at most `largest` is split (Cooley and Tukey, 1965): products with small matrices, which
// every device does well. A longer prime becomes a convolution of a power of two (Bluestein, 1970).

import type { Runtime, Tensor } from '../../index.ts';
import type { Call, Kernels } from '../kernel.ts';
import type { ComplexPair } from '../types.ts';
import { productOf } from './complex.ts';

const largest = 64;
/** Up to here one product with the whole matrix is quicker than anything else. */
const dense = 128;

/** exp(±2πi · a / n), with the angle reduced in whole numbers first. */
function root(a: number, n: number, sign: number): [number, number] {
  const angle = (sign * 2 * Math.PI * (a % n)) / n;
  return [Math.cos(angle), Math.sin(angle)];
}

/** A table of roots as a pair of tensors. */
function table(
  rt: Runtime,
  shape: readonly [number, number],
  at: (i: number, j: number) => [number, number],
): ComplexPair {
  const [rows, columns] = shape;
  const [real, imag] = [new Float32Array(rows * columns), new Float32Array(rows * columns)];
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) [real[i * columns + j], imag[i * columns + j]] = at(i, j);
  }
  return { real: rt.tensor(real, shape), imag: rt.tensor(imag, shape) };
}

const both = (x: ComplexPair, f: (t: Tensor) => Tensor): ComplexPair => ({ real: f(x.real), imag: f(x.imag) });

/** The largest divisor of n up to `largest`; 1 if there is none. */
function divisor(n: number): number {
  for (let d = Math.min(largest, n); d > 1; d--) if (n % d === 0) return d;
  return 1;
}

/** The transform of the last axis of [rows, n]. */
function transform(rt: Runtime, x: ComplexPair, sign: number): ComplexPair {
  const [rows, n] = x.real.shape as readonly [number, number];
  if (n <= 1) return x;
  const a = divisor(n);
  if (n <= dense && (a === 1 || a === n || n <= largest)) return matrix(rt, x, n, sign);
  if (a === 1) return bluestein(rt, x, n, sign);
  const b = n / a;
  // Position b·j + k, frequency p + a·q: transform over j, turn by the root of k·p, transform over k.
  const inner = both(x, (t) =>
    t
      .reshape([rows, a, b])
      .permute([0, 2, 1])
      .reshape([rows * b, a]),
  );
  const first = both(matrix(rt, inner, a, sign), (t) => t.reshape([rows, b, a]));
  const turned = productOf(
    first,
    table(rt, [b, a], (k, p) => root(k * p, n, sign)),
  );
  const outer = both(turned, (t) => t.permute([0, 2, 1]).reshape([rows * a, b]));
  return both(transform(rt, outer, sign), (t) => t.reshape([rows, a, b]).permute([0, 2, 1]).reshape([rows, n]));
}

/** As one product: [real, imag] times [[cos, sin], [-sin, cos]]. */
function matrix(rt: Runtime, x: ComplexPair, n: number, sign: number): ComplexPair {
  const { real, imag } = table(rt, [n, n], (j, k) => root(j * k, n, sign));
  const whole = rt.concat([rt.concat([real, imag], 1), rt.concat([imag.neg(), real], 1)], 0);
  const y = rt.concat([x.real, x.imag], 1).matmul(whole);
  return { real: y.slice([null, [0, n]]), imag: y.slice([null, [n, 2 * n]]) };
}

function bluestein(rt: Runtime, x: ComplexPair, n: number, sign: number): ComplexPair {
  const size = 2 ** Math.ceil(Math.log2(2 * n - 1));
  // k² modulo 2n stays exact where k² itself would not.
  const chirp = table(rt, [1, n], (_, k) => root((k * k) % (2 * n), 2 * n, sign));
  const wrapped = table(rt, [1, size], (_, k) => {
    const d = k < n ? k : size - k < n ? size - k : -1;
    if (d < 0) return [0, 0];
    const [re, im] = root((d * d) % (2 * n), 2 * n, sign);
    return [re, -im];
  });
  const padded = both(productOf(x, chirp), (t) =>
    t.pad([
      [0, 0],
      [0, size - n],
    ]),
  );
  const product = productOf(transform(rt, padded, -1), transform(rt, wrapped, -1));
  const back = both(transform(rt, product, 1), (t) => t.slice([null, [0, n]]).div(size));
  return productOf(back, chirp);
}

/** sign -1: forwards; +1: backwards, divided by the length. */
const fourier = (sign: number) => (c: Call) => {
  const { shape } = c.info('input');
  const n = shape[shape.length - 1]!;
  const x = both(c.complex('input'), (t) => t.cast('f32').reshape([t.size / Math.max(1, n), n]));
  const y = transform(c.rt, x, sign);
  return both(y, (t) => (sign > 0 ? t.div(n) : t).reshape(shape));
};

export const fourierTransforms: Kernels = { FFT: fourier(-1), IFFT: fourier(1) };
