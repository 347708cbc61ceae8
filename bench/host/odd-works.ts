// Ordinary work on odd shapes, axes, strides and dtypes: what programs meet beside the large regular arrays of array-works.ts.
//
// The same works are in numpy_odd.py.

import type { Runtime, Tensor } from '../../src/index.ts';
import { floats, fractions } from '../lib/data.mjs';
import { binary, copied, matrix, million, positive, row, square, unary, type Work, whole } from './work.ts';

/** A function of an array of any shape. */
const shaped = (title: string, shape: readonly number[], f: (x: Tensor, rt: Runtime) => Tensor): Work => ({
  title,
  make: (rt) => {
    const x = rt.tensor(
      floats(
        shape.reduce((a, b) => a * b),
        0,
      ),
      shape,
    );
    return () => f(x, rt);
  },
});

/** A function of whole numbers below 200, as some dtype. */
const typed = (
  title: string,
  dtype: 'u8' | 'i64' | 'i32' | 'f16' | 'f64',
  f: (x: Tensor, y: Tensor) => Tensor,
): Work => ({
  title,
  make: (rt) => {
    const [x, y] = [whole(rt, million, 200), whole(rt, million, 50, 7).add(1)].map((t) => t.cast(dtype).compute());
    return () => f(x!, y!);
  },
});

/** Two matrices of a dtype; whole numbers from 0 to 9 if it has no others. */
const products = (title: string, m: number, k: number, n: number, dtype: 'f32' | 'f64' | 'i32'): Work => ({
  title,
  make: (rt) => {
    const of = (rows: number, columns: number, seed: number): Tensor =>
      dtype === 'i32'
        ? whole(rt, rows * columns, 10, seed)
            .reshape([rows, columns])
            .compute()
        : matrix(rt, rows, columns, seed).cast(dtype).compute();
    const [a, b] = [of(m, k, 0), of(k, n, 1)];
    return () => a.matmul(b);
  },
});

const random = (title: string, make: (rt: Runtime) => Tensor): Work => ({
  title,
  make: (rt) => () => make(rt),
  anyValues: true,
});

export const oddWorks: Readonly<Record<string, Work>> = {
  anyrows: square('any over rows of 1024² > 0.9', 1024, (x) => x.greater(0.9).any({ axis: 1 })),
  allcolumns: square('all over columns of 1024² > -2', 1024, (x) => x.greater(-2).all({ axis: 0 })),
  countcolumns: square('count over columns of 1024² > 0', 1024, (x) => x.greater(0).sum({ axis: 0 })),
  cumsumrows: square('running sums along rows of 1024²', 1024, (x) => x.cumsum(1)),
  cumsumint: typed('running sum of 1M i32', 'i32', (x) => x.cumsum(0)),
  diff: unary('differences of 1M', million, (x) => x.slice([[1, null]]).sub(x.slice([[null, -1]]))),
  diffcolumns: square('differences down columns of 1024²', 1024, (x) =>
    x.slice([[1, null]]).sub(x.slice([[null, -1]])),
  ),
  middlesum: shaped('sum over the middle of 64×128×128', [64, 128, 128], (x) => x.sum({ axis: 1 })),
  middlestd: shaped('standard deviation over the middle of 64×128×128', [64, 128, 128], (x) => x.std({ axis: 1 })),
  outersum: shaped('sum over the outer axes of 64×64×256', [64, 64, 256], (x) => x.sum({ axis: [0, 1] })),
  argmin1m: unary('argmin of 1M', million, (x) => x.argmin()),
  minmax: unary('max - min of 1M', million, (x) => x.max().sub(x.min())),
  stdcolumns: square('standard deviation over columns of 1024²', 1024, (x) => x.std({ axis: 0 })),
  normrows: square('norm of rows of 1024²', 1024, (x) => x.norm({ axis: 1 })),
  logsumexp: square('logsumexp over rows of 1024²', 1024, (x) => x.logsumexp({ axis: 1 })),
  softmaxcolumns: square('softmax over columns of 1024²', 1024, (x) => x.softmax(0)),
  prodrows: square('product of rows of 1024²', 1024, (x) => x.abs().add(0.5).prod({ axis: 1 })),
  wherechain: shaped('three where in a row, 1M', [million], (x, rt) =>
    rt.where(x.less(-0.5), -1, rt.where(x.greater(0.5), 1, rt.where(x.less(0), x.mul(2), x))),
  ),
  strided: unary('every third of 3M, doubled', 3 * million, (x) => x.slice([[null, null, 3]]).mul(2)),
  stridedsum: square('sum of every other column of 2048²', 2048, (x) => x.slice([null, [null, null, 2]]).sum()),
  transposeodd: shaped('copy of a transpose of 1000×999', [1000, 999], (x) => copied(x.transpose())),
  permute: shaped('copy of 64×96×200, axes 2 0 1', [64, 96, 200], (x) => copied(x.permute([2, 0, 1]))),
  transposeadd: square('x + xᵀ of 1024²', 1024, (x) => x.add(x.transpose())),
  u8add: typed('x + y of 1M u8', 'u8', (x, y) => x.add(y)),
  u8sum: typed('sum of 1M u8', 'u8', (x) => x.sum()),
  u8max: typed('max of 1M u8', 'u8', (x) => x.max()),
  u8compare: typed('x > 100 of 1M u8', 'u8', (x) => x.greater(100)),
  u8tof32: typed('1M u8 to f32, / 255', 'u8', (x) => x.cast('f32').div(255)),
  i64add: typed('x + y of 1M i64', 'i64', (x, y) => x.add(y)),
  i64mod: typed('x % y of 1M i64', 'i64', (x, y) => x.mod(y)),
  i64floordiv: typed('x // 7 of 1M i64', 'i64', (x) => x.floorDivide(7)),
  bits: typed('(x & 15) ^ (y << 2) of 1M i32', 'i32', (x, y) => x.bitwiseAnd(15).bitwiseXor(y.leftShift(2))),
  f16add: typed('x + y of 1M f16', 'f16', (x, y) => x.add(y)),
  f16sum: typed('sum of 1M f16, as f32', 'f16', (x) => x.cast('f32').sum()),
  f64div: typed('x / y of 1M f64', 'f64', (x, y) => x.div(y)),
  f64sin: unary('sin of 1M f64', million, (x) => x.cast('f64').sin()),
  f64sort: {
    title: 'sort of 1M f64',
    make: (rt) => {
      const x = row(rt, million).cast('f64').compute();
      return () => x.sort();
    },
  },
  f64sortwide: {
    title: 'sort of 1M f64 that do not fit f32',
    make: (rt) => {
      const x = row(rt, million).cast('f64').mul(Math.PI).compute();
      return () => x.sort();
    },
  },
  i64sort: {
    title: 'sort of 1M i64 below 1M',
    make: (rt) => {
      const x = whole(rt, million, million).cast('i64').compute();
      return () => x.sort();
    },
  },
  u8sort: typed('sort of 1M u8', 'u8', (x) => x.sort()),
  i32sort: typed('sort of 1M i32', 'i32', (x) => x.sort()),
  sort100: unary('sort of 100', 100, (x) => x.sort()),
  sort1000: unary('sort of 1,000', 1000, (x) => x.sort()),
  sortcolumns: square('sort of columns of 1024²', 1024, (x) => x.sort(0)),
  argsortrows: square('argsort of rows of 1024²', 1024, (x) => x.argsort(1)),
  median: unary('median of 1M', million, (x) => {
    const s = x.sort();
    return s.slice([[million / 2 - 1, million / 2 + 1]]).mean();
  }),
  topk: unary('largest 10 of 1M', million, (x) => x.topk(10).values),
  topkrows: square('largest 10 of each row of 1024²', 1024, (x) => x.topk(10).values),
  einsumouter: {
    title: "einsum 'i,j->ij' of 1024",
    make: (rt) => {
      const [x, y] = [row(rt, 1024), row(rt, 1024, 7)];
      return () => rt.einsum('i,j->ij', x, y);
    },
  },
  trace: square('trace of 2048²', 2048, (x) => x.trace()),
  einsumbatch: {
    title: "einsum 'bij,bjk->bik' of 64×32×32",
    make: (rt) => {
      const [a, b] = [
        row(rt, 65_536).reshape([64, 32, 32]).compute(),
        row(rt, 65_536, 3).reshape([64, 32, 32]).compute(),
      ];
      return () => rt.einsum('bij,bjk->bik', a, b);
    },
  },
  einsumdot: {
    title: "einsum 'ij,ij->i' of 1024²",
    make: (rt) => {
      const [a, b] = [matrix(rt, 1024, 1024), matrix(rt, 1024, 1024, 3)];
      return () => rt.einsum('ij,ij->i', a, b);
    },
  },
  tall: products('product 1000×1000 · 1000×10', 1000, 1000, 10, 'f32'),
  matmul64bit: products('product of 256² f64', 256, 256, 256, 'f64'),
  matmulint: products('product of 256² i32', 256, 256, 256, 'i32'),
  matmul8: products('product of 8²', 8, 8, 8, 'f32'),
  matmul100: products('product of 100²', 100, 100, 100, 'f32'),
  matmul512: products('product of 512²', 512, 512, 512, 'f32'),
  vecmat: {
    title: 'product of a vector and 2048²',
    make: (rt) => {
      const [v, a] = [row(rt, 2048, 1), matrix(rt, 2048, 2048)];
      return () => v.matmul(a);
    },
  },
  gram: shaped('xᵀ · x of 2000×50', [2000, 50], (x) => x.transpose().matmul(x)),
  pad: square('pad of 1024² by 3', 1024, (x) =>
    x.pad([
      [3, 3],
      [3, 3],
    ]),
  ),
  rollboth: square('roll of 1024² along both axes', 1024, (x) => x.roll([5, -7], [0, 1])),
  flipboth: square('flip of 1024² along both axes', 1024, (x) => x.flip()),
  flipcolumns: square('flip of columns of 1024²', 1024, (x) => x.flip(0)),
  tile: unary('tile of 1,000, 1,000 times', 1000, (x) => x.tile([1000])),
  repeatrows: square('every row of 512² four times', 512, (x) => x.repeat(4, 0)),
  stack: {
    title: 'stack of ten 100k, last axis',
    make: (rt) => {
      const xs = Array.from({ length: 10 }, (_, i) => row(rt, 100_000, i));
      return () => rt.stack(xs, 1);
    },
  },
  takecolumns: {
    title: '500 columns of 1024² by position',
    make: (rt) => {
      const [x, at] = [matrix(rt, 1024, 1024), whole(rt, 500, 1024)];
      return () => x.gather(at, 1);
    },
  },
  alongaxis: {
    title: 'takeAlongAxis of 1024² by argsort',
    make: (rt) => {
      const x = matrix(rt, 1024, 1024);
      const at = x.argsort(1).compute();
      return () => x.takeAlongAxis(at, 1);
    },
  },
  scatterset: {
    title: '100k set among 1M',
    make: (rt) => {
      const [x, at, y] = [row(rt, million), whole(rt, 100_000, million), rt.zeros([100_000])];
      return () => x.scatter(at, y);
    },
  },
  scatterrows: {
    title: '1,000 rows added to 256 rows of 64',
    make: (rt) => {
      const [x, at, y] = [
        rt.zeros([256, 64]),
        whole(rt, 1000, 256),
        positive(rt, 64_000).reshape([1000, 64]).compute(),
      ];
      return () => x.scatter(at, y, { mode: 'add' });
    },
  },
  nonzero: {
    title: 'positions of 1M that are above 0.9',
    make: (rt) => {
      const x = row(rt, million);
      return async () => (await x.greater(0.9).nonzero())[0]!;
    },
  },
  nonzerohalf: {
    title: 'positions of 1M that are above 0',
    make: (rt) => {
      const x = row(rt, million);
      return async () => (await x.greater(0).nonzero())[0]!;
    },
  },
  fft: unary('rfft of 64k, real parts', 65_536, (x) => x.rfft().real),
  fftrows: shaped('fft of rows of 256×1000, real parts', [256, 1000], (x) => x.fft().real),
  correlate: {
    title: 'correlation of 100k with 64',
    make: (rt) => {
      const [x, k] = [rt.tensor(floats(100_000), [1, 1, 100_000]), rt.tensor(fractions(64), [1, 1, 64])];
      return () => x.conv1d(k).reshape([-1]);
    },
  },
  cov: shaped('covariance of 50×2000', [50, 2000], (x) => {
    const d = x.sub(x.mean({ axis: 1, keepdims: true }));
    return d.matmul(d.transpose()).div(1999);
  }),
  distances: {
    title: 'distances of 500 and 500 points of 3',
    make: (rt) => {
      const [a, b] = [rt.tensor(floats(1500), [500, 1, 3]), rt.tensor(floats(1500, 7), [1, 500, 3])];
      return () => a.sub(b).square().sum({ axis: 2 }).sqrt();
    },
  },
  hypot: binary('hypot of 1M', million, (x, y) => x.hypot(y)),
  atan2: binary('atan2 of 1M', million, (x, y) => x.atan2(y)),
  log1p: unary('log1p of 1M', million, (x) => x.log1p(), positive),
  powsquare: unary('x ** 2 + x ** 3 of 1M', million, (x) => x.pow(2).add(x.pow(3))),
  powtensor: binary('x ** y of 1M', million, (x, y) => x.pow(y), positive),
  round: unary('round of 1M * 10', million, (x) => x.mul(10).round()),
  isnan: unary('isnan of 1M', million, (x) => x.isnan()),
  modfloat: unary('x % 0.3 of 1M', million, (x) => x.mod(0.3)),
  floordivfloat: unary('x // 0.3 of 1M', million, (x) => x.floorDivide(0.3)),
  linspace: { title: 'linspace of 1M', make: (rt) => () => rt.linspace(0, 1, million) },
  arange: { title: 'arange of 1M', make: (rt) => () => rt.arange(million) },
  eye: { title: 'eye of 1024', make: (rt) => () => rt.eye(1024) },
  tril: square('tril of 1024²', 1024, (x) => x.tril()),
  randomint: random('random integers, 1M', (rt) => rt.random.integers([million], { high: 100 })),
  randomuniform: random('uniform random numbers, 1M', (rt) => rt.random.uniform([million])),
  randomnormal: random('normal random numbers, 1M', (rt) => rt.random.normal([million])),
  mean1000: unary('mean of 1,000', 1000, (x) => x.mean()),
  max1000: unary('max of 1,000', 1000, (x) => x.max()),
  sum10x10: square('sum over rows of 10²', 10, (x) => x.sum({ axis: 1 })),
  dot100: binary('dot of 100', 100, (x, y) => x.dot(y)),
  mul100: binary('x * y of 100', 100, (x, y) => x.mul(y)),
  concat100: {
    title: 'concat of two 100',
    make: (rt) => {
      const [x, y] = [row(rt, 100), row(rt, 100, 7)];
      return () => rt.concat([x, y], 0);
    },
  },
};
