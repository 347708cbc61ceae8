// Kernels whose positions need 64 bits: how wide the PTX counts them, and that ptxas takes it.

import { describe, expect, it } from 'vitest';
import { assemble, hasPtxas } from '../../../../test/gpu/assemble.ts';
import { type Expr, Exprs } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { kernelRecipe } from '../recipe.ts';
import type { Target } from './target.ts';

const target: Target = { sm: 90, ptx: 78, processors: 132, fastMath: false };
const body = { scalars: [], inPlace: [], estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 } };

/** A position looked up with 64-bit indices, cut to an axis of `size`, as a value. */
function lookedUp(size: number): Kernel {
  const b = new Exprs();
  const at = b.alu('min', b.alu('max', b.load('i64', 0, b.axis(0, 8)), b.const('i64', 0)), b.const('i64', size - 1));
  const outputs = [{ type: 'i64', value: b.cast('i64', b.cast('index', at)) } as const];
  const inputs = [{ type: 'i64', elements: 8 } as const];
  return { kind: 'kernel', name: `at_${size}`, space: [8], reduced: [], accumulators: [], outputs, inputs, ...body };
}

/** Sums of two rows, column by column. */
function columns(width: number): Kernel {
  const b = new Exprs();
  const index: Expr = b.alu('add', b.alu('mul', b.axis(1, 2), b.const('index', width)), b.axis(0, width));
  return {
    kind: 'kernel',
    name: `columns_${width}`,
    space: [width],
    reduced: [2],
    accumulators: [{ op: 'max', type: 'u8', value: b.load('u8', 0, index) }],
    outputs: [{ type: 'u8', value: b.acc('u8', 0) }],
    inputs: [{ type: 'u8', elements: 2 * width }],
    ...body,
  };
}

/** All of an axis that exists in no memory. */
function ones(size: number): Kernel {
  const b = new Exprs();
  const accumulators = [{ op: 'max', type: 'f64', value: b.cast('f64', b.axis(1, size)) } as const];
  const outputs = [{ type: 'f64', value: b.acc('f64', 0) } as const];
  return {
    kind: 'kernel',
    name: `ones_${size}`,
    space: [1],
    reduced: [size],
    accumulators,
    outputs,
    inputs: [],
    ...body,
  };
}

describe('positions beyond 32 bits', () => {
  it('a looked-up position is as wide as the axis it is cut to', () => {
    // Saturated to 31 bits where that is enough, kept whole where it is not.
    expect(kernelRecipe(lookedUp(2 ** 20), target).ptx).toContain('cvt.sat.s32.s64');
    expect(kernelRecipe(lookedUp(2 ** 33), target).ptx).not.toContain('cvt.sat.s32.s64');
  });

  it('columns of a row longer than 2^31 are numbered in 64 bits', () => {
    expect(kernelRecipe(columns(2 ** 20), target).ptx).toMatch(/mul\.lo\.u32/);
    expect(kernelRecipe(columns(2 ** 32 + 64), target).ptx).toMatch(/mul\.wide\.u32/);
    expect(kernelRecipe(columns(2 ** 32 + 1), target).ptx).toMatch(/setp\.ge\.u64 %p\d+, %d\d+, 4294967297/);
  });

  it.skipIf(!hasPtxas)('is what ptxas accepts', { timeout: 240_000 }, () => {
    const kernels = [lookedUp(2 ** 33), columns(2 ** 32 + 64), columns(2 ** 32 + 1), ones(2 ** 33 + 5)];
    for (const k of kernels) expect(assemble(kernelRecipe(k, target).ptx, target)).toBe('');
  });
});
