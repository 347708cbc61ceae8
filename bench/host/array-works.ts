// Ordinary work on arrays, as programs write it: functions, reductions, products, order, movement, whole numbers.
//
// The same works in the same order are in numpy_arrays.py.

import {
  binary,
  copied,
  integers,
  matrix,
  million,
  positive,
  product,
  row,
  square,
  unary,
  type Work,
  whole,
} from './work.ts';

export const arrayWorks: Readonly<Record<string, Work>> = {
  sin4m: unary('sin of 4M', 4 * million, (x) => x.sin()),
  cos4m: unary('cos of 4M', 4 * million, (x) => x.cos()),
  exp4m: unary('exp of 4M', 4 * million, (x) => x.exp()),
  log1m: unary('log of 1M', million, (x) => x.log(), positive),
  tanh1m: unary('tanh of 1M', million, (x) => x.tanh()),
  sqrt1m: unary('sqrt of 1M', million, (x) => x.sqrt(), positive),
  pow1m: unary('x ** 2.5 of 1M', million, (x) => x.pow(2.5), positive),
  exp64: {
    title: 'exp of 1M f64',
    make: (rt) => {
      const x = row(rt, million).cast('f64').compute();
      return () => x.exp();
    },
  },
  chain10: unary('tanh((x*.99+.5)*x-.1), 10', 10, (x) => x.mul(0.99).add(0.5).mul(x).sub(0.1).tanh()),
  chain16k: unary('the same, 16,384', 16_384, (x) => x.mul(0.99).add(0.5).mul(x).sub(0.1).tanh()),
  add1m: binary('add of 1M', million, (x, y) => x.add(y)),
  clip1m: unary('clip of 1M', million, (x) => x.clip(-0.5, 0.5)),
  where1m: {
    title: 'where(x > y, x, 0) of 1M',
    make: (rt) => {
      const [x, y] = [row(rt, million), row(rt, million, 7)];
      return () => rt.where(x.greater(y), x, 0);
    },
  },
  compare1m: binary('x < y of 1M', million, (x, y) => x.less(y)),
  count1m: unary('how many of 1M are above 0.5', million, (x) => x.greater(0.5).sum()),
  any1m: unary('any of 1M is above 2', million, (x) => x.greater(2).any()),
  sum1m: unary('sum of 1M', million, (x) => x.sum(), positive),
  sum64: {
    title: 'sum of 1M f64',
    make: (rt) => {
      const x = positive(rt, million).cast('f64').compute();
      return () => x.sum();
    },
  },
  dot1m: binary('dot of 1M', million, (x, y) => x.dot(y), positive),
  norm1m: unary('norm of 1M', million, (x) => x.norm()),
  std1m: unary('standard deviation of 1M', million, (x) => x.std()),
  sumrows: square('sum over rows of 1024²', 1024, (x) => x.sum({ axis: 1 })),
  sumcolumns: square('sum over columns of 1024²', 1024, (x) => x.sum({ axis: 0 })),
  maxrows: square('max over rows of 1024²', 1024, (x) => x.max({ axis: 1 })),
  maxcolumns: square('max over columns of 1024²', 1024, (x) => x.max({ axis: 0 })),
  argmaxrows: square('argmax over rows of 1024²', 1024, (x) => x.argmax({ axis: 1 })),
  argmaxcolumns: square('argmax over columns of 1024²', 1024, (x) => x.argmax({ axis: 0 })),
  meancolumns: square('mean over columns of 1024²', 1024, (x) => x.mean({ axis: 0 })),
  stdrows: square('standard deviation over rows of 1024²', 1024, (x) => x.std({ axis: 1 })),
  softmax: square('softmax over rows of 1024²', 1024, (x) => x.softmax(-1)),
  cumsum1m: unary('running sum of 1M', million, (x) => x.cumsum(0), positive),
  cumsumcolumns: square('running sums down columns of 1024²', 1024, (x) => x.cumsum(0)),
  matmul64: product('product of 64²', 64, 64, 64),
  matmul128: product('product 128×1024 · 1024×128', 128, 1024, 128),
  matvec: product('product of 2048² and a vector', 2048, 2048, 1),
  outer: binary('outer product of 1024', 1024, (x, y) => x.outer(y)),
  sort1m: unary('sort of 1M', million, (x) => x.sort()),
  argsort1m: unary('argsort of 1M', million, (x) => x.argsort()),
  sortrows: square('sort of rows of 1024²', 1024, (x) => x.sort(1)),
  unique: {
    title: 'unique of 1M whole numbers below 1000',
    make: (rt) => {
      const x = whole(rt, million, 1000);
      return async () => {
        const { values, ...others } = await x.unique();
        for (const t of Object.values(others)) t.dispose();
        return values;
      };
    },
  },
  histogram: {
    title: 'histogram of 1M, 100 bins',
    make: (rt) => {
      const x = row(rt, million);
      return async () => {
        const { counts, edges } = await x.histogram({ bins: 100, range: [-1, 1] });
        edges.dispose();
        return counts;
      };
    },
  },
  bincount: {
    title: 'bincount of 1M, 1000 bins',
    make: (rt) => {
      const x = whole(rt, million, 1000);
      return () => x.bincount();
    },
  },
  mask: {
    title: 'elements of 1M that are above 0',
    make: (rt) => {
      const x = row(rt, million);
      return () => {
        const m = x.greater(0);
        return x.mask(m);
      };
    },
  },
  searchsorted: {
    title: 'searchsorted of 100k in 100k',
    make: (rt) => {
      const [edges, x] = [row(rt, 100_000).sort().compute(), row(rt, 100_000, 7)];
      return () => edges.searchsorted(x);
    },
  },
  takerows: {
    title: '10,000 rows of 256 by position',
    make: (rt) => {
      const [x, at] = [matrix(rt, 4096, 256), whole(rt, 10_000, 4096)];
      return () => x.gather(at, 0);
    },
  },
  take1m: {
    title: '1M elements by position',
    make: (rt) => {
      const [x, at] = [row(rt, million), whole(rt, million, million)];
      return () => x.gather(at, 0);
    },
  },
  scatteradd: {
    title: '1M added to 1000 places',
    make: (rt) => {
      const [x, at, y] = [rt.zeros([1000]), whole(rt, million, 1000), positive(rt, million)];
      return () => x.scatter(at, y, { mode: 'add' });
    },
  },
  transpose: square('copy of a transpose of 2048²', 2048, (x) => copied(x.transpose())),
  concat: {
    title: 'concat of two 1024² side by side',
    make: (rt) => {
      const [x, y] = [matrix(rt, 1024, 1024), matrix(rt, 1024, 1024, 1)];
      return () => rt.concat([x, y], 1);
    },
  },
  roll: square('roll of rows of 1024²', 1024, (x) => x.roll(3, 1)),
  flip: unary('flip of 1M', million, (x) => x.flip()),
  repeat: unary('repeat of 256k, four times', million / 4, (x) => x.repeat(4)),
  broadcast: {
    title: 'row and column added to 1024²',
    make: (rt) => {
      const [x, r, c] = [matrix(rt, 1024, 1024), row(rt, 1024), matrix(rt, 1024, 1)];
      return () => x.add(r).add(c);
    },
  },
  tof16: unary('1M to f16', million, (x) => x.cast('f16')),
  fromf16: {
    title: '1M from f16',
    make: (rt) => {
      const x = row(rt, million).cast('f16').compute();
      return () => x.cast('f32');
    },
  },
  toint: unary('1M to i32', million, (x) => x.mul(1000).cast('i32')),
  sumint: integers('sum of 1M i32', (x) => x.sum()),
  arithint: integers('x*3+y of 1M i32', (x, y) => x.mul(3).add(y)),
  floordiv: integers('x // y of 1M i32', (x, y) => x.floorDivide(y)),
  modint: integers('x % 7 of 1M i32', (x) => x.mod(7)),
  maxint: integers('max of 1M i32', (x) => x.max()),
};
