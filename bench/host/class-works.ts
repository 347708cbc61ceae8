// Ordinary work by classes: every function in f32 and f64, every reduction of every dtype and axis, casts, views, selections.
//
// The same works are in numpy_classes.py.

import type { Runtime, Tensor } from '../../src/index.ts';
import { floats } from '../lib/data.mjs';
import { binary, copied, matrix, million, positive, row, square, unary, type Work, whole } from './work.ts';

type NumberType = 'u8' | 'i32' | 'u32' | 'i64' | 'f16' | 'f32' | 'f64';

/** One million whole numbers below 200, and as many from 1 to 50, of some dtype. */
const typed = (title: string, dtype: NumberType, f: (x: Tensor, y: Tensor) => Tensor): Work => ({
  title,
  make: (rt) => {
    const [x, y] = [whole(rt, million, 200), whole(rt, million, 50, 7).add(1)].map((t) => t.cast(dtype).compute());
    return () => f(x!, y!);
  },
});

/** The same as a matrix. */
const table = (title: string, dtype: NumberType | 'bool', f: (x: Tensor) => Tensor): Work => ({
  title,
  make: (rt) => {
    const numbers = whole(rt, million, 200).reshape([1024, 1024]);
    const x = (dtype === 'bool' ? numbers.greater(100) : numbers.cast(dtype)).compute();
    return () => f(x);
  },
});

const cube = (title: string, shape: readonly number[], f: (x: Tensor, rt: Runtime) => Tensor): Work => ({
  title,
  make: (rt) => {
    const count = shape.reduce((a, b) => a * b);
    const x = rt.tensor(floats(count, 0), shape);
    return () => f(x, rt);
  },
});

const wide = (rt: Runtime, n: number, seed = 0): Tensor => row(rt, n, seed).cast('f64').compute();
const widePositive = (rt: Runtime, n: number, seed = 0): Tensor => positive(rt, n, seed).cast('f64').compute();

/** A function of f32 and of f64. */
const both = (name: string, f: (x: Tensor) => Tensor, above0 = false): Readonly<Record<string, Work>> => ({
  [`${name}32`]: unary(`${name} of 1M f32`, million, f, above0 ? positive : row),
  [`${name}64`]: unary(`${name} of 1M f64`, million, f, above0 ? widePositive : wide),
});

const products = (title: string, a: readonly number[], b: readonly number[], dtype: NumberType): Work => ({
  title,
  make: (rt) => {
    const of = (shape: readonly number[], seed: number): Tensor => {
      const count = shape.reduce((m, n) => m * n);
      const made = dtype.startsWith('f') ? row(rt, count, seed) : whole(rt, count, 10, seed);
      return made.reshape(shape).cast(dtype).compute();
    };
    const [x, y] = [of(a, 0), of(b, 1)];
    return () => x.matmul(y);
  },
});

const numbers: readonly NumberType[] = ['u8', 'i32', 'i64', 'f32', 'f64'];
const casts: readonly (readonly [NumberType, NumberType])[] = [
  ['f32', 'u8'],
  ['f32', 'i64'],
  ['f32', 'f64'],
  ['f64', 'f32'],
  ['f64', 'i32'],
  ['f64', 'i64'],
  ['i32', 'f32'],
  ['i32', 'f64'],
  ['i32', 'i64'],
  ['i32', 'u8'],
  ['i64', 'i32'],
  ['i64', 'f32'],
  ['i64', 'f64'],
  ['u8', 'i32'],
  ['u8', 'i64'],
  ['f16', 'f64'],
];

/** Works of each of some dtypes. */
const each = <T extends string>(
  types: readonly T[],
  make: (t: T) => readonly (readonly [string, Work])[],
): Record<string, Work> => Object.fromEntries(types.flatMap(make));

export const classWorks: Readonly<Record<string, Work>> = {
  ...both('exp2', (x) => x.exp2()),
  ...both('expm1', (x) => x.expm1()),
  ...both('log', (x) => x.log(), true),
  ...both('log2', (x) => x.log2(), true),
  ...both('log10', (x) => x.log10(), true),
  ...both('log1p', (x) => x.log1p(), true),
  ...both('cos', (x) => x.cos()),
  ...both('tan', (x) => x.tan()),
  ...both('asin', (x) => x.asin()),
  ...both('acos', (x) => x.acos()),
  ...both('atan', (x) => x.atan()),
  ...both('sinh', (x) => x.sinh()),
  ...both('cosh', (x) => x.cosh()),
  ...both('tanh', (x) => x.tanh()),
  ...both('sqrt', (x) => x.sqrt(), true),
  ...both('reciprocal', (x) => x.reciprocal(), true),
  ...both('abs', (x) => x.abs()),
  ...both('sign', (x) => x.sign()),
  ...both('floor', (x) => x.floor()),
  ...both('isnan', (x) => x.isnan()),
  pow64: unary('x ** 2.5 of 1M f64', million, (x) => x.pow(2.5), widePositive),
  pow4: unary('x ** 4 of 1M', million, (x) => x.pow(4)),
  powinverse: unary('x ** -0.5 of 1M', million, (x) => x.pow(-0.5), positive),
  ipow: typed('x ** 3 of 1M i32', 'i32', (x) => x.pow(3)),
  atan264: binary('atan2 of 1M f64', million, (x, y) => x.atan2(y), wide),
  maximum64: binary('maximum of 1M f64', million, (x, y) => x.maximum(y), wide),
  maximum32: binary('maximum of 1M', million, (x, y) => x.maximum(y)),
  fma64: binary('x * y + x of 1M f64', million, (x, y) => x.mul(y).add(x), wide),
  ...each(numbers, (t) => [
    [`${t}mul`, typed(`x * y of 1M ${t}`, t, (x, y) => x.mul(y))],
    [`${t}floordivide`, typed(`x // y of 1M ${t}`, t, (x, y) => x.floorDivide(y))],
    [`${t}mod7`, typed(`x % 7 of 1M ${t}`, t, (x) => x.mod(7))],
    [`${t}equal`, typed(`x == y of 1M ${t}`, t, (x, y) => x.equal(y))],
    [`${t}clip`, typed(`clip of 1M ${t}`, t, (x) => x.clip(10, 100))],
    [`${t}div`, typed(`x / y of 1M ${t}`, t, (x, y) => x.div(y))],
    [`${t}sumrows`, table(`sum over rows of 1024² ${t}`, t, (x) => x.sum({ axis: 1 }))],
    [`${t}sumcolumns`, table(`sum over columns of 1024² ${t}`, t, (x) => x.sum({ axis: 0 }))],
    [`${t}maxrows`, table(`max over rows of 1024² ${t}`, t, (x) => x.max({ axis: 1 }))],
    [`${t}maxcolumns`, table(`max over columns of 1024² ${t}`, t, (x) => x.max({ axis: 0 }))],
    [`${t}mean`, table(`mean of 1024² ${t}`, t, (x) => x.mean())],
    [`${t}var`, table(`variance of 1024² ${t}`, t, (x) => x.var())],
    [`${t}argmaxrows`, table(`argmax over rows of 1024² ${t}`, t, (x) => x.argmax({ axis: 1 }))],
    [`${t}argmaxcolumns`, table(`argmax over columns of 1024² ${t}`, t, (x) => x.argmax({ axis: 0 }))],
    [`${t}transpose`, table(`copy of a transpose of 1024² ${t}`, t, (x) => copied(x.transpose()))],
    [`${t}flip`, table(`flip of rows of 1024² ${t}`, t, (x) => copied(x.flip(1)))],
    [`${t}gather`, table(`every 7th row of 1024² ${t}, sum`, t, (x) => x.slice([[null, null, 7]]).sum({ axis: 0 }))],
    [`${t}cumsum`, table(`running sums along rows of 1024² ${t}`, t, (x) => x.cumsum(1))],
    [`${t}sortrows`, table(`sort of rows of 1024² ${t}`, t, (x) => x.sort(1))],
    [`${t}argsort`, table(`argsort of 1M ${t}`, t, (x) => x.reshape([million]).argsort())],
  ]),
  ...each(
    casts.map((c) => c.join(' to ')),
    (name) => {
      const [from, to] = name.split(' to ') as [NumberType, NumberType];
      return [[`${from}to${to}`, typed(`1M ${name}`, from, (x) => x.cast(to))]];
    },
  ),
  boolany: table('any over rows of 1024² bool', 'bool', (x) => x.any({ axis: 1 })),
  boolsum: table('count of 1024² bool', 'bool', (x) => x.sum()),
  boolrows: table('count over rows of 1024² bool', 'bool', (x) => x.sum({ axis: 1 })),
  boolnot: table('not of 1024² bool', 'bool', (x) => x.logicalNot()),
  boolf32: table('1024² bool to f32', 'bool', (x) => x.cast('f32')),
  boolwhere: {
    title: 'where(x > 0, x, y) of 1M',
    make: (rt) => {
      const [x, y] = [row(rt, million), row(rt, million, 7)];
      return () => rt.where(x.greater(0), x, y);
    },
  },
  middlemax: cube('max over the middle of 64×128×128', [64, 128, 128], (x) => x.max({ axis: 1 })),
  middleargmax: cube('argmax over the middle of 64×128×128', [64, 128, 128], (x) => x.argmax({ axis: 1 })),
  middlecumsum: cube('running sums along the middle of 64×128×128', [64, 128, 128], (x) => x.cumsum(1)),
  firstmean: cube('mean over the first of 64×128×128', [64, 128, 128], (x) => x.mean({ axis: 0 })),
  shortrows: cube('sum over rows of 262144×4', [262144, 4], (x) => x.sum({ axis: 1 })),
  shortmax: cube('max over rows of 131072×8', [131072, 8], (x) => x.max({ axis: 1 })),
  shortsort: cube('sort of rows of 65536×16', [65536, 16], (x) => x.sort(1)),
  shortsoftmax: cube('softmax over rows of 65536×10', [65536, 10], (x) => x.softmax(1)),
  shortcolumns: cube('sum over columns of 262144×4', [262144, 4], (x) => x.sum({ axis: 0 })),
  cumprod: cube('running products along rows of 1024²', [1024, 1024], (x) => x.abs().add(0.5).cumprod(1)),
  cummax: cube('running maximum along rows of 1024²', [1024, 1024], (x) => x.cummax(1)),
  center: square('x - mean of its rows, 1024²', 1024, (x) => x.sub(x.mean({ axis: 1, keepdims: true }))),
  standardize: square('(x - mean) / std of columns, 1024²', 1024, (x) =>
    x.sub(x.mean({ axis: 0 })).div(x.std({ axis: 0 })),
  ),
  sliced: square('inner 1000² of 1024², doubled', 1024, (x) =>
    x
      .slice([
        [12, 1012],
        [12, 1012],
      ])
      .mul(2),
  ),
  reversedrows: square('x + x with its rows reversed, 1024²', 1024, (x) => x.add(x.flip(0))),
  addcolumn: square('x * its first column, 1024²', 1024, (x) => x.mul(x.slice([null, [0, 1]]))),
  stepped: square('every other element of both axes of 2048²', 2048, (x) =>
    copied(
      x.slice([
        [null, null, 2],
        [null, null, 2],
      ]),
    ),
  ),
  stencil: square('five points of 1024²', 1024, (x) => {
    const at = (i: number, j: number): Tensor =>
      x.slice([
        [i, 1022 + i],
        [j, 1022 + j],
      ]);
    return at(0, 1).add(at(2, 1)).add(at(1, 0)).add(at(1, 2)).sub(at(1, 1).mul(4));
  }),
  padone: unary('pad of 1M by 5', million, (x) => x.pad([[5, 5]])),
  quantile: unary('9 percentiles of 1M', million, (x) =>
    x.sort().slice([[Math.floor(million / 10) - 1, Math.floor(million * 0.9), Math.floor(million / 10)]]),
  ),
  medianrows: square('median of rows of 1024²', 1024, (x) =>
    x
      .sort(1)
      .slice([null, [511, 513]])
      .mean({ axis: 1 }),
  ),
  searchint: {
    title: 'searchsorted of 1M i32 in 1000',
    make: (rt) => {
      const [edges, x] = [rt.arange(0, 2000, 2).cast('i32').compute(), whole(rt, million, 2000)];
      return () => edges.searchsorted(x);
    },
  },
  batch5: products('100 products of 5×7 · 7×3', [100, 5, 7], [100, 7, 3], 'f32'),
  batchwide: products('32 products of 33×65 · 65×17', [32, 33, 65], [32, 65, 17], 'f32'),
  oddproduct: products('product 333×257 · 257×129', [333, 257], [257, 129], 'f32'),
  oddproduct64: products('product 333×257 · 257×129 f64', [333, 257], [257, 129], 'f64'),
  longproduct: products('product 7×10000 · 10000×5', [7, 10000], [10000, 5], 'f32'),
  intproduct: products('product 128² i64', [128, 128], [128, 128], 'i64'),
  matvec64: products('product of 1024² f64 and a vector', [1024, 1024], [1024, 1], 'f64'),
  outer64: binary('outer product of 1024 f64', 1024, (x, y) => x.outer(y), wide),
  einsumsum: square("einsum 'ij->j' of 1024²", 1024, (x) => x.sum({ axis: 0 })),
  triu: square('triu of 1024²', 1024, (x) => x.triu()),
  diagonal: square('diagonal of 1024²', 1024, (x) => copied(x.diagonal())),
  matrixpower: {
    title: '(A · B) + C of 256²',
    make: (rt) => {
      const [a, b, c] = [matrix(rt, 256, 256), matrix(rt, 256, 256, 1), matrix(rt, 256, 256, 2)];
      return () => a.matmul(b).add(c);
    },
  },
};
