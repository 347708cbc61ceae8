import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../../../test/gpu/build.ts';
import { kernelOf, Run, reference, type Spec } from '../../../../test/support/cpu-render.ts';
import { sizeOf } from '../../../base/shape.ts';
import type { Expr } from '../../../kernel/expr.ts';
import { renderKernel } from './render.ts';

/** The sum of the 27 values around each cell, and a long chain that reads nothing. */
function noisy(space: readonly number[], steps: number): Spec {
  const k = new KernelBuilder(space);
  const slot = k.input('f32', sizeOf(space));
  const sides = [-1, 0, 1];
  const near = (axis: number, by: number): Expr => {
    const [n, at] = [space[axis]!, k.axis(axis)];
    if (by === 0) return at;
    const inside = by > 0 ? k.op('lt', at, k.index(n - 1)) : k.op('lt', k.index(0), at);
    return k.op('add', at, k.op('where', inside, k.index(by), k.index(by > 0 ? 1 - n : n - 1)));
  };
  let sum: Expr | null = null;
  for (const x of sides)
    for (const y of sides)
      for (const z of sides) {
        const value = k.at(slot, k.flat(space, [near(0, x), near(1, y), near(2, z), k.axis(3)]));
        sum = sum ? k.op('add', sum, value) : value;
      }
  let chain: Expr = k.b.cast('f32', k.flat());
  for (let i = 0; i < steps; i++)
    chain = k.op('add', k.op('mul', chain, k.b.const('f32', 0.75)), k.b.const('f32', i - steps / 2));
  k.output(k.op('add', sum!, chain));
  const { outputs } = k.done('noisy');
  const values = Array.from({ length: sizeOf(space) }, (_, i) => Math.fround(Math.sin(i * 1.7)));
  return { space, outputs, inputs: [{ type: 'f32', values }] };
}

const fences = (spec: Spec): number =>
  renderKernel(kernelOf(spec), { shared: true }).text.match(/i32\.const -1\n\s*i32\.eq\n/g)?.length ?? 0;

describe('long work that reads nothing', () => {
  it.each([[[4, 8, 16, 16]], [[6, 4, 14, 8]], [[4, 4, 8, 7]]])('has the values it has in place: %j', (space) => {
    const spec = noisy(space, 60);
    const run = new Run(spec);
    run.run(1, Math.floor(run.wasm.items / 2));
    expect(run.values(0)).toEqual(reference(spec)[0]);
  });

  it('is fenced off where a stencil reads much, and only there', () => {
    expect(fences(noisy([4, 8, 16, 16], 60))).toBeGreaterThanOrEqual(8);
    expect(fences(noisy([4, 8, 16, 16], 5))).toBe(0);
  });
});
