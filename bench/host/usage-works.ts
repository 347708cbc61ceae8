// Steps of programs: what statistics, signals, points and tables are made of, on shapes and dtypes that other files here lack.
//
// The same works in the same order are in numpy_usage.py.

import type { Runtime, Tensor } from '../../src/index.ts';
import { floats } from '../lib/data.mjs';
import { copied, matrix, million, positive, row, square, unary, type Work, whole } from './work.ts';

const array = (rt: Runtime, shape: readonly number[], seed = 0): Tensor =>
  rt.tensor(
    floats(
      shape.reduce((n, d) => n * d, 1),
      seed,
    ),
    shape,
  );

/** A function of arrays of floats. */
const shaped = (
  title: string,
  shapes: readonly (readonly number[])[],
  f: (x: Tensor, y: Tensor, z: Tensor) => Tensor,
): Work => ({
  title,
  make: (rt) => {
    const [x, y, z] = shapes.map((shape, i) => array(rt, shape, i));
    return () => f(x!, y!, z!);
  },
});

/** A function of rows of small whole numbers. */
const small = (title: string, dtype: 'u8' | 'i32' | 'i64' | 'f16', f: (x: Tensor, y: Tensor) => Tensor): Work => ({
  title,
  make: (rt) => {
    const [x, y] = [whole(rt, million, 200), whole(rt, million, 50, 7)].map((t) => t.cast(dtype).compute());
    return () => f(x!, y!);
  },
});

const part = (x: Tensor, i: number): Tensor => x.slice([null, [i, i + 1]]);

export const usageWorks: Readonly<Record<string, Work>> = {
  cross: {
    title: 'cross products of 100k pairs of vectors',
    make: (rt) => {
      const [a, b] = [array(rt, [100_000, 3]), array(rt, [100_000, 3], 7)];
      const term = (i: number, j: number): Tensor =>
        part(a, i)
          .mul(part(b, j))
          .sub(part(a, j).mul(part(b, i)));
      return () => rt.concat([term(1, 2), term(2, 0), term(0, 1)], 1);
    },
  },
  kron: shaped(
    'Kronecker product of 40² and 30²',
    [
      [40, 40],
      [30, 30],
    ],
    (x, y) =>
      x
        .reshape([40, 1, 40, 1])
        .mul(y.reshape([1, 30, 1, 30]))
        .reshape([1200, 1200]),
  ),
  trapezoid: {
    title: 'area under 1M points',
    make: (rt) => {
      const [x, y] = [rt.linspace(0, 1, million), row(rt, million).add(1.5).compute()];
      const [after, before] = [[1, null] as const, [0, million - 1] as const];
      return () =>
        x
          .slice([after])
          .sub(x.slice([before]))
          .mul(y.slice([after]).add(y.slice([before])))
          .mul(0.5)
          .sum();
    },
  },
  interp: {
    title: '100k points between 1,000 others',
    make: (rt) => {
      const [xs, ys, x] = [rt.linspace(-1, 1, 1000), row(rt, 1000, 3), row(rt, 100_000)];
      return () => {
        const at = xs.searchsorted(x, { side: 'right' }).sub(1).clip(0, 998);
        const [x0, y0] = [xs.gather(at, 0), ys.gather(at, 0)];
        const slope = ys
          .gather(at.add(1), 0)
          .sub(y0)
          .div(xs.gather(at.add(1), 0).sub(x0));
        return y0.add(slope.mul(x.sub(x0)));
      };
    },
  },
  digitize: {
    title: '1M into 20 unequal bins',
    make: (rt) => {
      const [edges, x] = [rt.linspace(0, 1, 20).square().compute(), positive(rt, million)];
      return () => edges.searchsorted(x, { side: 'right' });
    },
  },
  movingmean: unary('mean of every 10 neighbours of 1M', million, (x) => {
    const sums = x.cast('f64').cumsum(0);
    return sums
      .slice([[10, null]])
      .sub(sums.slice([[null, -10]]))
      .div(10);
  }),
  windowmax: unary('largest of every 8 neighbours of 100k', 100_000, (x) => x.windows([8]).max({ axis: 1 })),
  windowmean: unary('mean of every 16 neighbours of 100k', 100_000, (x) => x.windows([16]).mean({ axis: 1 })),
  onehot: {
    title: 'one of 10 for each of 100k, f32',
    make: (rt) => {
      const [labels, classes] = [whole(rt, 100_000, 10), rt.arange(10).cast('i32').compute()];
      return () => labels.reshape([-1, 1]).equal(classes).cast('f32');
    },
  },
  maskedmean: {
    title: 'mean of what is above 0 in each row of 1024²',
    make: (rt) => {
      const x = matrix(rt, 1024, 1024);
      return () => {
        const above = x.greater(0);
        return rt
          .where(above, x, 0)
          .sum({ axis: 1 })
          .div(above.sum({ axis: 1 }).cast('f32'));
      };
    },
  },
  cumsumodd: shaped('running sums down columns of 1537×333', [[1537, 333]], (x) => x.cumsum(0)),
  cumsumnarrow: shaped('running sums down columns of 100000×7', [[100_000, 7]], (x) => x.cumsum(0)),
  u8blend: small('(x + y) // 2 of 1M u8, by way of i32', 'u8', (x, y) =>
    x.cast('i32').add(y.cast('i32')).floorDivide(2).cast('u8'),
  ),
  u8shift: small('(x >> 2) | (y << 3) of 1M u8', 'u8', (x, y) => x.rightShift(2).bitwiseOr(y.leftShift(3))),
  u8table: {
    title: '1M u8 through a table of 256',
    make: (rt) => {
      const [table, x] = [whole(rt, 256, 256, 5).cast('u8').compute(), whole(rt, million, 200).cast('u8').compute()];
      return () => table.gather(x, 0);
    },
  },
  u8histogram: small('sum of |x - y| of 1M u8', 'u8', (x, y) => x.cast('i32').sub(y.cast('i32')).abs().sum()),
  logic: shaped('((x > 0) & (y < .5)) | ~(x < y) of 1M', [[million], [million]], (x, y) =>
    x.greater(0).logicalAnd(y.less(0.5)).logicalOr(x.less(y).logicalNot()),
  ),
  outside: unary('how many of 1M are outside -.5 to .5', million, (x) => x.less(-0.5).logicalOr(x.greater(0.5)).sum()),
  f16axpy: small('x * 2 + y of 1M f16', 'f16', (x, y) => x.mul(2).add(y)),
  f16max: small('max of 1M f16', 'f16', (x) => x.max()),
  f16relu: small('maximum(x - 50, 0) of 1M f16', 'f16', (x) => x.sub(50).maximum(0)),
  lowpass: unary('low 1,000 frequencies of 64k', 65_536, (x) => {
    const { real, imag } = x.rfft();
    const low = (t: Tensor): Tensor => t.slice([[0, 1000]]).pad([[0, 31_769]]);
    return low(real).irfft({ imag: low(imag), length: 65_536 });
  }),
  small3x3: shaped(
    '100k products of 3²',
    [
      [100_000, 3, 3],
      [100_000, 3, 3],
    ],
    (x, y) => x.matmul(y),
  ),
  rotate: shaped(
    '100k points of 3 turned by one 3²',
    [
      [100_000, 3],
      [3, 3],
    ],
    (x, y) => x.matmul(y),
  ),
  norms3: shaped('lengths of 100k vectors of 3', [[100_000, 3]], (x) => x.norm({ axis: 1 })),
  unit3: shaped('100k vectors of 3 by their lengths', [[100_000, 3]], (x) =>
    x.div(x.norm({ axis: 1, keepdims: true })),
  ),
  cosines: shaped(
    'cosines of rows of 1000×300',
    [
      [1000, 300],
      [1000, 300],
    ],
    (x, y) =>
      x
        .mul(y)
        .sum({ axis: 1 })
        .div(x.norm({ axis: 1 }).mul(y.norm({ axis: 1 }))),
  ),
  pairwise: shaped('squared distances of 300 points of 20', [[300, 20]], (x) => {
    const squares = x.square().sum({ axis: 1 });
    return squares.reshape([300, 1]).add(squares).sub(x.matmul(x.transpose()).mul(2));
  }),
  oddbroadcast: shaped(
    '1000×1×37 + 53×1',
    [
      [1000, 1, 37],
      [53, 1],
    ],
    (x, y) => x.add(y),
  ),
  oddbroadcastsum: shaped(
    'sum over the middle of 1000×1×37 · 53×1',
    [
      [1000, 1, 37],
      [53, 1],
    ],
    (x, y) => x.mul(y).sum({ axis: 1 }),
  ),
  columnscale: shaped("999×1001 by its columns' largest", [[999, 1001]], (x) => x.div(x.abs().max({ axis: 0 }))),
  channels: {
    title: 'mean of channels of 224×224×3',
    make: (rt) => {
      const x = positive(rt, 150_528).reshape([224, 224, 3]).compute();
      return () => x.mean({ axis: [0, 1] });
    },
  },
  gray: shaped('gray of 512×512×3', [[512, 512, 3]], (x) =>
    x
      .slice([null, null, [0, 1]])
      .mul(0.299)
      .add(x.slice([null, null, [1, 2]]).mul(0.587))
      .add(x.slice([null, null, [2, 3]]).mul(0.114))
      .reshape([512, 512]),
  ),
  planes: shaped('512×512×3 to 3×512×512', [[512, 512, 3]], (x) => copied(x.permute([2, 0, 1]))),
  interleave: shaped('3×512×512 to 512×512×3', [[3, 512, 512]], (x) => copied(x.permute([1, 2, 0]))),
  pool2: shaped('means of 2×2 of 1024²', [[1024, 1024]], (x) => x.reshape([512, 2, 512, 2]).mean({ axis: [1, 3] })),
  pool8: shaped('largest of 8×8 of 1024²', [[1024, 1024]], (x) => x.reshape([128, 8, 128, 8]).max({ axis: [1, 3] })),
  blur: shaped('3×3 blur of 512²', [[512, 512]], (x) => {
    const rows = x
      .slice([[0, 510]])
      .add(x.slice([[1, 511]]))
      .add(x.slice([[2, 512]]));
    return rows
      .slice([null, [0, 510]])
      .add(rows.slice([null, [1, 511]]))
      .add(rows.slice([null, [2, 512]]))
      .div(9);
  }),
  lexsort: {
    title: 'order of 100k by two keys',
    make: (rt) => {
      const [first, second] = [whole(rt, 100_000, 100), whole(rt, 100_000, 1000, 7)];
      return () => {
        const order = second.argsort();
        return order.gather(first.gather(order, 0).argsort(), 0);
      };
    },
  },
  ranks: unary('ranks of 100k', 100_000, (x) => x.argsort().argsort()),
  groupsums: {
    title: 'sums of 1M in 500 groups',
    make: (rt) => {
      const [x, group, zero] = [positive(rt, million), whole(rt, million, 500, 3), rt.zeros([500])];
      return () => zero.scatter(group, x, { mode: 'add' });
    },
  },
  polynomial: unary('polynomial of 6 terms of 1M', million, (x) =>
    [0.25, -0.5, 0.75, 1, -2].reduce((sum, c) => sum.mul(x).add(c), x.mul(0.1)),
  ),
  sigmoid: unary('1 / (1 + e^-x) of 1M', million, (x) => x.neg().exp().add(1).reciprocal()),
  gaussian: unary('e^(-x²/2) of 1M', million, (x) => x.square().mul(-0.5).exp()),
  entropy: {
    title: '-sum of p·log p, rows of 1000×1000',
    make: (rt) => {
      const p = positive(rt, 1_000_000).reshape([1000, 1000]).compute();
      return () => p.mul(p.log()).sum({ axis: 1 }).neg();
    },
  },
  minmaxscale: square('(x - min) / (max - min) of columns, 1024²', 1024, (x) => {
    const least = x.min({ axis: 0 });
    return x.sub(least).div(x.max({ axis: 0 }).sub(least));
  }),
  zeroedges: square('differences along both axes of 1024², squared and added', 1024, (x) => {
    const inner = [1, null] as const;
    const dx = x.slice([null, inner]).sub(x.slice([null, [null, -1]]));
    const dy = x.slice([inner]).sub(x.slice([[null, -1]]));
    return dx
      .slice([inner])
      .square()
      .add(dy.slice([null, inner]).square());
  }),
  i64sumodd: small('sum of every third of 1M i64', 'i64', (x) => x.slice([[null, null, 3]]).sum()),
  evenodd: small('x where even, else 3x + 1, of 1M i32', 'i32', (x) => {
    const odd = x.mod(2);
    return x.add(odd.mul(x.mul(2).add(1)));
  }),
  take1000: {
    title: '1,000 of 1,000 by position',
    make: (rt) => {
      const [x, at] = [row(rt, 1000), whole(rt, 1000, 1000)];
      return () => x.gather(at, 0);
    },
  },
  search1000: {
    title: 'searchsorted of 1,000 in 100',
    make: (rt) => {
      const [edges, x] = [rt.linspace(0, 1, 100), positive(rt, 1000)];
      return () => edges.searchsorted(x);
    },
  },
  columns30: shaped('sums of columns of 30²', [[30, 30]], (x) => x.sum({ axis: 0 })),
  norm1000: unary('norm of 1,000', 1000, (x) => x.norm()),
  vector30: shaped('product of 30² and its first row', [[30, 30]], (x) => x.matmul(x.slice([[0, 1]]).reshape([30]))),
  rows150: shaped('sort of rows of 150²', [[150, 150]], (x) => x.sort(1)),
  argmax20k: unary('argmax of 20,000', 20_000, (x) => x.argmax()),
  log20k: unary('log of 20,000', 20_000, (x) => x.log(), positive),
  concat20k: {
    title: 'concat of two 20,000',
    make: (rt) => {
      const [x, y] = [row(rt, 20_000), row(rt, 20_000, 7)];
      return () => rt.concat([x, y], 0);
    },
  },
  reverse1000: unary('a copy of 1,000, backwards', 1000, (x) => copied(x.flip(0))),
  weighted: {
    title: 'mean of columns of 1000×200, weighted',
    make: (rt) => {
      const [x, w] = [array(rt, [1000, 200]), positive(rt, 1000)];
      return () => w.reshape([1, 1000]).matmul(x).reshape([200]).div(w.sum());
    },
  },
  everyother: square('sums of every other column of 1024²', 1024, (x) =>
    x.slice([null, [null, null, 2]]).sum({ axis: 0 }),
  ),
  mirrored: square('sums of reversed columns of 1024²', 1024, (x) => x.flip(1).sum({ axis: 0 })),
  everythird: square('largest of every third column of 1024²', 1024, (x) =>
    x.slice([null, [null, null, 3]]).max({ axis: 0 }),
  ),
  argsort10: shaped('argsort of rows of 100000×10', [[100_000, 10]], (x) => x.argsort(1)),
  argsort30: shaped('argsort of rows of 10000×30', [[10_000, 30]], (x) => x.argsort(1)),
  argsort50: shaped('argsort of rows of 10000×50', [[10_000, 50]], (x) => x.argsort(1)),
  turnedcube: shaped('sum over the middle of a transposed 64×128×128', [[64, 128, 128]], (x) =>
    x.permute([2, 1, 0]).sum({ axis: 1 }),
  ),
};
