import { expect, it } from 'vitest';
import { Exprs } from './expr.ts';
import type { Kernel } from './kernel.ts';
import { printKernel } from './print.ts';

const empty = { inputs: [], scalars: [], inPlace: [], estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 } };

it('prints an elementwise kernel with shared parts named', () => {
  const b = new Exprs();
  const i = b.axis(0, 8);
  const gated = b.load('f32', 1, b.alu('add', i, b.const('index', 1)), b.alu('lt', i, b.const('index', 7)));
  const sum = b.alu('add', b.load('f32', 0, i), gated);
  const value = b.alu('max', b.alu('tanh', sum), b.alu('mul', sum, b.scalar('f32', 0)));
  const kernel: Kernel = {
    kind: 'kernel',
    name: 'k',
    space: [8],
    reduced: [],
    accumulators: [],
    outputs: [{ type: 'f32', value }],
    ...empty,
  };
  expect(printKernel(kernel)).toBe(
    ['for i0 < 8', 't0 = (in0[i0] + in1[(i0 + 1) if (i0 < 7)])', 'out0: f32 = max(tanh(t0), (t0 * s0))'].join('\n'),
  );
});

it('prints reductions, conversions and constants', () => {
  const b = new Exprs();
  const x = b.load('f16', 0, b.alu('add', b.alu('mul', b.axis(0, 2), b.const('index', 4)), b.axis(1, 4)));
  const kernel: Kernel = {
    kind: 'kernel',
    name: 'k',
    space: [2],
    reduced: [4],
    accumulators: [{ op: 'sum', type: 'f32', value: b.cast('f32', x) }],
    outputs: [{ type: 'i32', value: b.bitcast('i32', b.alu('mul', b.acc('f32', 0), b.const('f32', 0.5))) }],
    ...empty,
  };
  expect(printKernel(kernel)).toBe(
    ['for i0 < 2', 'a0 = sum over i1 < 4 of f32(in0[((i0 * 4) + i1)])', 'out0: i32 = bits_i32((a0 * 0.5))'].join('\n'),
  );
});
