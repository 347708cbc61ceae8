// For the tests of the CPU's renderer: kernels beside the reference, and index expressions as the planner writes them.

import { expect } from 'vitest';
import type { Expr, Exprs } from '../../src/kernel/expr.ts';
import { Run, reference, type Spec } from './cpu-render.ts';

export function expectSame(spec: Spec, label = ''): void {
  const expected = reference(spec);
  const run = new Run(spec).run();
  expected.forEach((values, k) => {
    expect(run.values(k), label).toEqual(values);
  });
}

/** The row-major index of positions in a shape. */
export function indexOf(b: Exprs, shape: readonly number[], positions: readonly Expr[]): Expr {
  return positions.reduce(
    (sum, p, k) => b.alu('add', b.alu('mul', sum, b.const('index', shape[k]!)), p),
    b.const('index', 0) as Expr,
  );
}

export const n$ = (b: Exprs, n: number): Expr => b.const('index', n);

/** i + s modulo n, as the planner writes it. */
export function rolled(b: Exprs, i: Expr, n: number, s: number): Expr {
  return b.alu('add', i, b.alu('where', b.alu('lt', i, n$(b, n - s)), n$(b, s), n$(b, s - n)));
}

export const count = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
