// Programs whose values were wrong on some device, with what NumPy gives. No test runner: also for GPU hosts.

import type { Runtime, Tensor } from '../../src/index.ts';

export interface ValueProgram {
  readonly name: string;
  readonly make: (rt: Runtime) => Tensor;
  readonly want: readonly (number | bigint)[];
  /** Too long for devices that take one element at a time. */
  readonly long?: true;
}

const bools = (rt: Runtime, ...values: readonly number[]): Tensor => rt.tensor(values).cast('bool');

export const valuePrograms: readonly ValueProgram[] = [
  // Bools in sums and products.
  {
    name: 'outer product of bools',
    make: (rt) => rt.einsum('i,j', bools(rt, 1, 0), bools(rt, 1, 1)),
    want: [1, 1, 0, 0],
  },
  {
    name: 'product of bools',
    make: (rt) => rt.einsum('i,i->i', bools(rt, 1, 0, 1), bools(rt, 1, 1, 1)),
    want: [1, 0, 1],
  },
  { name: 'sum of bools', make: (rt) => rt.einsum('ij->i', bools(rt, 0, 0, 1, 0).reshape([2, 2])), want: [0, 1] },
  { name: 'trace of bools', make: (rt) => rt.einsum('ii', bools(rt, 0, 1, 1, 0).reshape([2, 2])), want: [0] },
  {
    name: 'matrix product of bools',
    make: (rt) =>
      bools(rt, 1, 0, 1, 1)
        .reshape([2, 2])
        .matmul(bools(rt, 1, 0).reshape([2, 1])),
    want: [1, 1],
  },
  {
    name: 'pooled bools',
    make: (rt) => bools(rt, 1, 0, 0, 0, 0, 0, 0, 1).reshape([1, 1, 2, 4]).maxPool([2, 2]),
    want: [1, 1],
  },
  {
    name: 'a function of pooled bools',
    make: (rt) => bools(rt, 1, 0, 0, 0, 0, 0, 0, 0).reshape([1, 1, 2, 4]).maxPool([2, 2]).expm1(),
    want: [Math.fround(Math.E - 1), 0],
  },
  {
    name: 'a function of an outer product of bools',
    make: (rt) => rt.einsum('i,j', bools(rt, 1, 0), bools(rt, 1)).exp(),
    want: [Math.fround(Math.E), 1],
  },
  // Rounding.
  {
    name: 'a product that is rounded before it is compared',
    make: (rt) => rt.tensor([0.1]).mul(3).less(0.3),
    want: [0],
  },
  { name: 'softmax far from zero', make: (rt) => rt.tensor([3e38, -1e38]).div(1e8).softmax(), want: [1, 0] },
  {
    name: 'i64 to f32',
    make: (rt) =>
      rt
        .tensor(BigInt64Array.of(2n ** 60n + 2n ** 36n + 1n))
        .expand([5000])
        .add(0n)
        .cast('f32')
        .max(),
    want: [Number(2n ** 60n + 2n ** 37n)],
  },
  {
    name: 'u64 to f32',
    make: (rt) =>
      rt
        .tensor(BigUint64Array.of(2n ** 63n + 2n ** 39n + 1n))
        .expand([5000])
        .add(0n)
        .cast('f32')
        .max(),
    want: [Number(2n ** 63n + 2n ** 40n)],
  },
  {
    name: 'i64 to bf16',
    make: (rt) =>
      rt
        .tensor(BigInt64Array.of(-(2n ** 60n) - 2n ** 52n - 1n))
        .expand([5000])
        .add(0n)
        .cast('bf16')
        .max(),
    want: [-Number(2n ** 60n + 2n ** 53n)],
  },
  {
    name: 'a sum of halves in an einsum',
    make: (rt) => rt.einsum('i,j->j', rt.full([2000], 0.1, { dtype: 'bf16' }), rt.ones([2], { dtype: 'bf16' })),
    want: [200, 200],
  },
  {
    name: 'floor division of f32',
    make: (rt) => rt.tensor([-(2 ** 31), -7, 7, -6]).floorDivide(rt.tensor([237, 2, -2, 3])),
    want: [-9061113, -4, -4, -2],
  },
  {
    name: 'floor division of f16',
    make: (rt) =>
      rt
        .tensor([-1388])
        .cast('f16')
        .floorDivide(rt.tensor([1.75]).cast('f16')),
    want: [-794],
  },
  { name: 'NaN as a scalar of bools', make: (rt) => rt.full([2], Number.NaN, { dtype: 'bool' }), want: [1, 1] },
  {
    name: 'NaN in a logical op of halves',
    make: (rt) =>
      rt
        .tensor([Number.NaN, 0, 1])
        .cast('f16')
        .logicalOr(rt.tensor([0, 0, 0]).cast('f16')),
    want: [1, 0, 1],
  },
  // Long sums.
  {
    name: 'a long dot product',
    make: (rt) => rt.ones([2 ** 25]).dot(rt.ones([2 ** 25])),
    want: [2 ** 25],
    long: true,
  },
  {
    name: 'a product with few rows and much depth',
    make: (rt) =>
      rt
        .ones([1, 2 ** 20])
        .mul(0.1)
        .matmul(rt.ones([2 ** 20, 20]))
        .sub(Math.fround(0.1) * 2 ** 20)
        .abs()
        .lessEqual(1)
        .all(),
    want: [1],
    long: true,
  },
  // Positions beyond 32 bits.
  { name: 'the mean of 2^32 ones', make: (rt) => rt.ones([2 ** 32]).mean(), want: [1], long: true },
  {
    name: 'the sum of 2^32 + 5 ones',
    make: (rt) => rt.ones([2 ** 32 + 5], { dtype: 'i64' }).sum(),
    want: [2n ** 32n + 5n],
    long: true,
  },
  {
    name: 'the largest of more positions than a prime',
    make: (rt) => rt.iota([2 ** 31 + 11], 0, { dtype: 'f64' }).max(),
    want: [2 ** 31 + 10],
    long: true,
  },
  { name: 'the trace of a matrix of 2^32 elements', make: (rt) => rt.eye(65537).trace(), want: [65537] },
  {
    name: 'one of 2^31 + 2 positions',
    make: (rt) => rt.iota([2 ** 31 + 2], 0, { dtype: 'i64' }).gather([5, -1], 0),
    want: [5n, 2n ** 31n + 1n],
  },
  {
    name: 'positions beyond 2^33 as values',
    make: (rt) =>
      rt
        .iota([2 ** 33 + 7], 0, { dtype: 'i64' })
        .slice([[2 ** 33 - 5000, 2 ** 33 + 7]])
        .max(),
    want: [2n ** 33n + 6n],
  },
  // Loads behind gates.
  {
    name: 'a lookup inside a pad',
    make: (rt) =>
      rt
        .tensor([1, 2], [2, 1])
        .repeat(3, 0)
        .takeAlongAxis([[0]], 1)
        .pad([
          [2, 1],
          [2, 2000],
        ])
        .sum(),
    want: [9],
  },
  // Negated words, of which one assembler forgot the sign.
  {
    name: 'the largest of negated words, rolled',
    make: (rt) => {
      const x = rt.tensor([8, -2, -2, -7, -3, 2, -3], { dtype: 'i32' }).roll(-3, 0).neg();
      return x.max({ axis: [0], keepdims: true }).add(x);
    },
    want: [14, 10, 5, 10, -1, 9, 9],
  },
  {
    name: 'extremes of negated words along rows',
    make: (rt) => {
      const x = rt.arange(-30, 33, 1, { dtype: 'i32' }).reshape([7, 9]).neg();
      return rt.concat([x.max({ axis: 1 }), x.min({ axis: 1 }), x.max({ axis: 0 }).slice([[0, 2]])], 0);
    },
    want: [30, 21, 12, 3, -6, -15, -24, 22, 13, 4, -5, -14, -23, -32, 30, 29],
  },
  {
    name: 'the larger of several negated words, element by element',
    make: (rt) => {
      const [a, b, c] = [
        [5, -9],
        [-6, 4],
        [7, -8],
      ].map((v) => rt.tensor(v, { dtype: 'i32' }));
      return a!.neg().maximum(b!.neg()).maximum(c!.neg()).minimum(b!.abs());
    },
    want: [6, 4],
  },
];
