import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../../../test/gpu/build.ts';
import { kernelOf, Run, reference, type Spec } from '../../../../test/support/cpu-render.ts';
import { sizeOf } from '../../../base/shape.ts';
import type { Expr } from '../../../kernel/expr.ts';
import type { ReduceOp } from '../../../kernel/ops.ts';
import { renderKernel } from './render.ts';
import { unfolded } from './unfold.ts';

/** Of a grid that is reduced as one row: each cell and those beside it along every axis. `grids`: of so many, one result each. */
function flatGrid(grids: number, [d, h, w]: readonly [number, number, number], ops: readonly ReduceOp[]): Spec {
  const cells = d * h * w;
  const k = new KernelBuilder([grids], [cells]);
  const slot = k.input('f32', grids * cells);
  const cell = k.axis(1);
  const [z, y, x] = [
    k.op('idiv', cell, k.index(h * w)),
    k.op('imod', k.op('idiv', cell, k.index(w)), k.index(h)),
    k.op('imod', cell, k.index(w)),
  ] as const;
  const next = (at: Expr, n: number): Expr =>
    k.op('add', at, k.op('where', k.op('lt', at, k.index(n - 1)), k.index(1), k.index(1 - n)));
  const value = (a: Expr, b: Expr, c: Expr): Expr => k.at(slot, k.flat([grids, d, h, w], [k.axis(0), a, b, c]));
  const sum = [value(z, y, x), value(next(z, d), y, x), value(z, next(y, h), x), value(z, y, next(x, w))].reduce(
    (a, b) => k.op('add', a, b),
  );
  for (const op of ops) k.output(k.reduce(op, sum));
  const { accumulators, outputs } = k.done('grid');
  // Whole numbers, so that sums are exact in any order.
  const values = Array.from({ length: grids * cells }, (_, i) => ((i * 37) % 101) - 50);
  return { space: [grids], reduced: [cells], accumulators, outputs, inputs: [{ type: 'f32', values }] };
}

describe('grids that are reduced as one row', () => {
  it.each([
    [1, [8, 8, 16]],
    [3, [4, 6, 8]],
    [2, [3, 5, 9]],
    [1, [16, 32, 64]],
    [5, [2, 3, 4]],
  ] as const)('have the values and the positions they have: %i of %j', (grids, sizes) => {
    const spec = flatGrid(grids, sizes, ['sum', 'max', 'argmin']);
    const run = new Run(spec);
    run.run(1, Math.floor(run.wasm.items / 2));
    reference(spec).forEach((expected, k) => {
      expect(run.values(k), `output ${k}`).toEqual(expected);
    });
  });

  it('have their axes again, where these are long enough and divide each other', () => {
    const axes = (sizes: readonly [number, number, number]): readonly number[] =>
      unfolded(kernelOf(flatGrid(2, sizes, ['sum']))).reduced;
    expect(axes([4, 6, 8])).toEqual([4, 6, 8]);
    expect(axes([2, 3, 4])).toEqual([24]);
    expect(sizeOf(axes([3, 5, 9]))).toBe(135);
  });

  it('are read in vectors', () => {
    const { text } = renderKernel(kernelOf(flatGrid(1, [8, 8, 16], ['sum'])), { shared: true });
    expect(text).not.toContain('v128.load32_lane');
  });
});
