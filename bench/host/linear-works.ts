// Products and transforms of the shapes that programs have: thin, transposed, in batches; lengths that are no powers of two.
//
// The same works in the same order are in numpy_linear.py.

import type { Tensor } from '../../src/index.ts';
import { floats } from '../lib/data.mjs';
import { million, product, unary, type Work } from './work.ts';

/** A function of an array of floats. */
const shaped = (title: string, shape: readonly number[], f: (x: Tensor) => Tensor): Work => ({
  title,
  make: (rt) => {
    const x = rt.tensor(floats(shape.reduce((n, d) => n * d, 1)), shape);
    return () => f(x);
  },
});

/** A product of two arrays of floats. */
const between = (
  title: string,
  a: readonly number[],
  b: readonly number[],
  f: (x: Tensor, y: Tensor) => Tensor = (x, y) => x.matmul(y),
): Work => ({
  title,
  make: (rt) => {
    const [x, y] = [a, b].map((shape, i) =>
      rt.tensor(
        floats(
          shape.reduce((n, d) => n * d, 1),
          i,
        ),
        shape,
      ),
    ) as [Tensor, Tensor];
    return () => f(x, y);
  },
});

/** Real parts of one transform, of which the imaginary ones are let go of at once. */
const realOf = ({ real, imag }: { readonly real: Tensor; readonly imag: Tensor }): Tensor => {
  imag.dispose();
  return real;
};

export const linearWorks: Readonly<Record<string, Work>> = {
  gramrows: shaped('x · xᵀ of 200×1000', [200, 1000], (x) => x.matmul(x.transpose())),
  gramtall: shaped('xᵀ · x of 100000×8', [100_000, 8], (x) => x.transpose().matmul(x)),
  gram500: shaped('xᵀ · x of 1000×500', [1000, 500], (x) => x.transpose().matmul(x)),
  corrcoef: shaped('correlations of 100 rows of 1000', [100, 1000], (x) => {
    const d = x.sub(x.mean({ axis: 1, keepdims: true }));
    const unit = d.div(d.square().sum({ axis: 1, keepdims: true }).sqrt());
    return unit.matmul(unit.transpose());
  }),
  transposedb: between('a · bᵀ of 512² each', [512, 512], [512, 512], (x, y) => x.matmul(y.transpose())),
  transposeda: between('aᵀ · b of 512² each', [512, 512], [512, 512], (x, y) => x.transpose().matmul(y)),
  everysecond: between('a[:, ::2] · b, 512×1024 and 512²', [512, 1024], [512, 512], (x, y) =>
    x.slice([null, [null, null, 2]]).matmul(y),
  ),
  tworows: product('product 2×1024 · 1024×1024', 2, 1024, 1024),
  fourrows: product('product 4×2048 · 2048×512', 4, 2048, 512),
  threecolumns: product('product 20000×64 · 64×3', 20_000, 64, 3),
  narrow: product('product 100000×16 · 16×16', 100_000, 16, 16),
  batch4: between('10,000 products of 4²', [10_000, 4, 4], [10_000, 4, 4]),
  batch16: between('1,000 products of 16²', [1000, 16, 16], [1000, 16, 16]),
  batch64: between('64 products of 64²', [64, 64, 64], [64, 64, 64]),
  fft1k: unary('fft of 1,024', 1024, (x) => realOf(x.fft())),
  fft16k: between('fft of 16k complex', [16_384], [16_384], (x, y) => realOf(x.fft({ imag: y }))),
  fft1m: unary('rfft of 1M', million, (x) => realOf(x.rfft())),
  fft3k: unary('rfft of 3 · 2¹⁴', 3 * 2 ** 14, (x) => realOf(x.rfft())),
  fftprime: unary('rfft of 10,007', 10_007, (x) => realOf(x.rfft())),
  fftshort: shaped('rfft of 4096 rows of 64', [4096, 64], (x) => realOf(x.rfft())),
  fftcolumns: shaped('fft down columns of 1000×256', [1000, 256], (x) => realOf(x.fft({ axis: 0 }))),
  fft2d: shaped('2-d fft of 512²', [512, 512], (x) => {
    const { real, imag } = x.fft();
    return realOf(real.fft({ imag, axis: 0 }));
  }),
  irfft: between('irfft of 32k frequencies', [32_769], [32_769], (x, y) => x.irfft({ imag: y })),
};
