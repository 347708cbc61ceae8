import { describe, expect, it } from 'vitest';
import { elementwise, makeKernel } from '../../test/support/cpu.ts';
import { canonical } from './canonical.ts';
import { Exprs } from './expr.ts';
import type { Matmul } from './kernel.ts';

describe('the key of a kernel', () => {
  it('does not depend on the builder, the name or the estimate', () => {
    const other = new Exprs();
    for (let i = 0; i < 10; i++) other.const('f32', i);
    const at = other.axis(0, 8);
    const second = makeKernel({
      space: [8],
      inputs: [{ type: 'f32', elements: 8 }],
      outputs: [{ type: 'f32', value: other.alu('mul', other.load('f32', 0, at), other.const('f32', 2)) }],
    });
    const first = elementwise(8, ['f32'], 'f32', (b, [x]) => b.alu('mul', x!, b.const('f32', 2)));
    expect(canonical({ ...second, name: 'x', estimate: { flops: 1, bytesRead: 2, bytesWritten: 3 } })).toBe(
      canonical(first),
    );
  });

  it('tells apart constants, signs of zero, types, sizes, gates and what may be overwritten', () => {
    const b = new Exprs();
    const i = b.axis(0, 8);
    const gate = b.alu('lt', i, b.const('index', 4));
    const kernels = [
      elementwise(8, ['f32'], 'f32', (e, [x]) => e.alu('mul', x!, e.const('f32', 2))),
      elementwise(8, ['f32'], 'f32', (e, [x]) => e.alu('mul', x!, e.const('f32', 3))),
      elementwise(8, ['f32'], 'f32', (e, [x]) => e.raw('add', [x!, e.const('f32', 0)])),
      elementwise(8, ['f32'], 'f32', (e, [x]) => e.raw('add', [x!, e.const('f32', -0)])),
      elementwise(9, ['f32'], 'f32', (e, [x]) => e.alu('mul', x!, e.const('f32', 2))),
      elementwise(8, ['f64'], 'f64', (e, [x]) => e.alu('mul', x!, e.const('f64', 2))),
      elementwise(8, ['f32'], 'f32', (e, [x]) => e.alu('mul', x!, e.const('f32', 2)), [0]),
      elementwise(8, ['f32'], 'i32', (e, [x]) => e.bitcast('i32', x!)),
      elementwise(8, ['f32'], 'i32', (e, [x]) => e.cast('i32', x!)),
      makeKernel({
        space: [8],
        inputs: [{ type: 'f32', elements: 8 }],
        outputs: [{ type: 'f32', value: b.load('f32', 0, i, gate) }],
      }),
      makeKernel({
        space: [8],
        inputs: [{ type: 'f32', elements: 8 }],
        outputs: [{ type: 'f32', value: b.load('f32', 0, i) }],
      }),
      makeKernel({ space: [8], inputs: [], scalars: ['f32'], outputs: [{ type: 'f32', value: b.scalar('f32', 0) }] }),
      makeKernel({
        space: [],
        reduced: [8],
        inputs: [{ type: 'f32', elements: 8 }],
        accumulators: [{ op: 'sum', type: 'f32', value: b.load('f32', 0, i) }],
        outputs: [{ type: 'f32', value: b.acc('f32', 0) }],
      }),
    ];
    expect(new Set(kernels.map(canonical)).size).toBe(kernels.length);
  });

  it('covers routines and their epilogues', () => {
    const matmul: Matmul = {
      kind: 'routine',
      op: 'matmul',
      name: 'a',
      type: 'f32',
      batch: 1,
      batchA: 1,
      batchB: 1,
      m: 2,
      n: 3,
      k: 4,
      transposeA: false,
      transposeB: false,
      precision: 'exact',
      epilogue: null,
      estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
    };
    const b = new Exprs();
    const plus = (v: number): Matmul => ({
      ...matmul,
      epilogue: {
        inputs: [],
        scalars: [],
        output: { type: 'f32', value: b.alu('add', b.acc('f32', 0), b.const('f32', v)) },
      },
    });
    const all = [matmul, plus(1), plus(2), { ...matmul, k: 5 }].map(canonical);
    expect(new Set(all).size).toBe(4);
    expect(canonical({ ...matmul, name: 'b' })).toBe(all[0]);
  });
});
