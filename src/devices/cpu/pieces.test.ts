// Kernels that choose by position become one loop for each stretch.

import { describe, expect, it } from 'vitest';
import { estimateKernel } from '../../kernel/estimate.ts';
import { type Expr, Exprs } from '../../kernel/expr.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { piecesOf } from './pieces.ts';

const n = 3000;

/** Parts of `n` elements behind each other, plus one. */
function joined(count: number): Kernel {
  const b = new Exprs();
  const x = b.axis(0, count * n);
  let value: Expr | undefined;
  for (let k = count - 1; k >= 0; k--) {
    const load = b.load('f32', k, b.alu('sub', x, b.const('index', k * n)));
    value = value ? b.alu('where', b.alu('lt', x, b.const('index', (k + 1) * n)), load, value) : load;
  }
  const body = {
    space: [count * n],
    reduced: [],
    accumulators: [],
    outputs: [{ type: 'f32' as const, value: b.alu('add', value!, b.const('f32', 1)) }],
    inputs: Array.from({ length: count }, () => ({ type: 'f32' as const, elements: n })),
    scalars: [],
    inPlace: [],
  };
  return { kind: 'kernel', name: 'joined', ...body, estimate: estimateKernel(body) };
}

describe('a choice between parts', () => {
  it('is one kernel for each of many parts, without the choice', () => {
    const pieces = piecesOf(joined(20))!;
    expect(pieces.map((p) => p.inputs)).toEqual(Array.from({ length: 20 }, (_, k) => [k]));
    expect(pieces.map((p) => p.offset)).toEqual(Array.from({ length: 20 }, (_, k) => 4 * n * k));
    for (const { kernel, bytes } of pieces) {
      expect([kernel.space, bytes]).toEqual([[n], 4 * n]);
      expect(kernel.outputs[0]!.value).toMatchObject({
        op: 'add',
        src: [{ kind: 'load', slot: 0, index: { kind: 'axis' }, gate: null }, { kind: 'const' }],
      });
    }
  });

  it('stays one kernel where there are few parts', () => {
    expect(piecesOf(joined(4))).toBeNull();
  });
});
