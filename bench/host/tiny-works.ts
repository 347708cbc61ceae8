// Work on a few values, where a call itself is most of the time: one op, a few ops, a reduction, a view and an op, a read.
//
// The same works are in numpy_tiny.py.

import type { Runtime, Tensor } from '../../src/index.ts';
import { floats } from '../lib/data.mjs';
import type { Job } from '../lib/side.mjs';

interface TinyWork {
  readonly title: string;
  /** Makes the inputs; what it returns is timed. */
  readonly make: (rt: Runtime) => () => Tensor;
  /** Nothing: the result is computed and kept until the next one is. Else it is read, at once or by a promise. */
  readonly read?: 'now' | 'awaited';
}

const work = (
  title: string,
  f: (x: Tensor, y: Tensor, rt: Runtime) => Tensor,
  shape: readonly number[] = [100],
  read?: TinyWork['read'],
): TinyWork => ({
  title,
  make: (rt) => {
    const n = shape.reduce((a, b) => a * b);
    const [x, y] = [rt.tensor(floats(n), shape), rt.tensor(floats(n, 7), shape)];
    return () => f(x, y, rt);
  },
  ...(read ? { read } : {}),
});

export const tinyWorks: Readonly<Record<string, TinyWork>> = {
  add: work('x + y of 100', (x, y) => x.add(y)),
  addnumber: work('x + 0.1 of 100', (x) => x.add(0.1)),
  square: work('x * x of 100', (x) => x.mul(x)),
  less: work('x < y of 100', (x, y) => x.less(y)),
  greater: work('x > 0.1 of 100', (x) => x.greater(0.1)),
  sqrt: work('sqrt of |x|, 100', (x) => x.abs().sqrt()),
  exp: work('exp of 100', (x) => x.exp()),
  axpy: work('x * 0.3 + y of 100', (x, y) => x.mul(0.3).add(y)),
  where: work('where(x > y, x, y) of 100', (x, y, rt) => rt.where(x.greater(y), x, y)),
  clip: work('clip of 100', (x) => x.clip(-0.5, 0.5)),
  cast: work('100 to i32', (x) => x.cast('i32')),
  row: work('a row added to 10²', (x, y) => x.add(y.slice([[3, 4]])), [10, 10]),
  flat: work('10² as a row, + 0.1', (x) => x.reshape([100]).add(0.1), [10, 10]),
  transposed: work('xᵀ + y of 10²', (x, y) => x.transpose().add(y), [10, 10]),
  concat: work('concat of two 100', (x, y, rt) => rt.concat([x, y], 0)),
  stack: work('stack of two 100', (x, y, rt) => rt.stack([x, y], 0)),
  slice: work('a copy of 10 of 100', (x) => x.slice([[20, 30]]).clone()),
  sum: work('sum of 100', (x) => x.sum()),
  mean: work('mean of 100', (x) => x.mean()),
  max: work('max of 100', (x) => x.max()),
  argmax: work('argmax of 100', (x) => x.argmax()),
  any: work('any of 100 above 2', (x) => x.greater(2).any()),
  std: work('standard deviation of 100', (x) => x.std()),
  rowsums: work('sum over rows of 10²', (x) => x.sum({ axis: 1 }), [10, 10]),
  columnsums: work('sum over columns of 10²', (x) => x.sum({ axis: 0 }), [10, 10]),
  softmax: work('softmax over rows of 10²', (x) => x.softmax(1), [10, 10]),
  dot: work('dot of 100', (x, y) => x.dot(y)),
  product: work('product of 8²', (x, y) => x.matmul(y), [8, 8]),
  vector: work('product of 10² and a row', (x, y) => x.matmul(y.slice([[0, 1]]).reshape([10])), [10, 10]),
  sort: work('sort of 100', (x) => x.sort()),
  cumsum: work('running sum of 100', (x) => x.cumsum(0)),
  addread: work('x + y of 5, read', (x, y) => x.add(y), [5], 'now'),
  sumread: work('sum of 5, read', (x) => x.sum(), [5], 'now'),
  chainread: work('(x + y) * 0.3 of 5, read', (x, y) => x.add(y).mul(0.3), [5], 'now'),
  // Times 0 or rounded down: values that both sides have in common.
  uniform: work('100 uniform numbers, rounded down', (_x, _y, rt) => rt.random.uniform([100]).floor()),
  normal: work('100 normal numbers, times 0', (_x, _y, rt) => rt.random.normal([100]).mul(0)),
  integers: work('100 whole numbers below 1', (_x, _y, rt) => rt.random.integers([100], { high: 1 })),
  addawait: work('x + y of 5, awaited', (x, y) => x.add(y), [5], 'awaited'),
  sumawait: work('sum of 100, awaited', (x) => x.sum(), [100], 'awaited'),
};

export function tinyJob(rt: Runtime, { make, read }: TinyWork): Job {
  const next = make(rt);
  let last: Tensor | null = null;
  let values: ArrayLike<number> = [];
  const runs = {
    now: () => {
      values = next().dataSync() as ArrayLike<number>;
    },
    awaited: async () => {
      values = (await next().data()) as ArrayLike<number>;
    },
  };
  const computed = (): void => {
    last?.dispose();
    last = next().compute();
  };
  return { run: read ? runs[read] : computed, result: () => (last ? (last.dataSync() as ArrayLike<number>) : values) };
}
