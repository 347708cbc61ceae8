// Kernels by hand: the sum of the 27 cells around on a periodic grid, and a difference, of each channel or summed over channels; and rows
// that are summed several times over.

import type { Expr } from '../../src/kernel/expr.ts';
import type { Kernel } from '../../src/kernel/kernel.ts';
import { KernelBuilder } from './build.ts';

/** The first three axes are the grid's. With `reduced`, the results are summed over it. */
export function stencil(space: readonly number[], reduced: readonly number[], name = 'stencil'): Kernel {
  const k = new KernelBuilder(space, reduced);
  const sizes = [...space, ...reduced];
  const slot = k.input(
    'f32',
    sizes.reduce((n, d) => n * d, 1),
  );
  const shifted = (axis: number, by: number): Expr => {
    const at = k.axis(axis);
    if (by === 0) return at;
    const size = sizes[axis]!;
    const wraps = by < 0 ? k.op('lt', at, k.index(1)) : k.op('lt', at, k.index(size - 1));
    const step =
      by < 0
        ? k.op('where', wraps, k.index(size - 1), k.index(-1))
        : k.op('where', wraps, k.index(1), k.index(1 - size));
    return k.op('add', at, step);
  };
  const at = (i: number, j: number, l: number): Expr =>
    k.at(
      slot,
      k.flat(sizes, [shifted(0, i), shifted(1, j), shifted(2, l), ...sizes.slice(3).map((_, d) => k.axis(3 + d))]),
    );
  const sides = [-1, 0, 1];
  const sum = (list: readonly Expr[]): Expr => list.reduce((a, b) => k.op('add', a, b));
  const around = sum(sides.map((l) => sum(sides.map((j) => sum(sides.map((i) => at(i, j, l)))))));
  const slope = k.op('sub', at(0, 0, 1), at(0, 0, -1));
  for (const value of [around, slope]) k.output(reduced.length > 0 ? k.reduce('sum', value) : value);
  return k.done(name);
}

/** Rows of an array, and sums of each: of its values, of their squares, of these times the value, and so on. */
export function manySums(space: readonly number[], columns: number, sums: number, name = 'sums'): Kernel {
  const k = new KernelBuilder(space, [columns]);
  const x = k.whole('f32');
  let value = x;
  for (let i = 0; i < sums; i++) {
    k.output(k.reduce(i === 1 ? 'max' : 'sum', value));
    value = k.op('mul', value, x);
  }
  return k.done(name);
}
