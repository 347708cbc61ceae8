import { expect, it } from 'vitest';
import { costOf, estimateKernel, estimateRoutine } from './estimate.ts';
import { Exprs } from './expr.ts';
import { aluOps } from './ops.ts';

it('counts shared work once, and neither positions nor loads', () => {
  const b = new Exprs();
  const i = b.alu('add', b.axis(0, 8), b.const('index', 2));
  const x = b.load('f32', 0, i);
  const e = b.alu('exp', x);
  expect(costOf([b.alu('add', e, b.alu('neg', e))])).toBe(aluOps.exp.cost + 2);
  expect(costOf([x])).toBe(0);
});

it('counts reductions per element read, outputs per element written, and no byte twice', () => {
  const b = new Exprs();
  const x = b.load('f32', 0, b.alu('add', b.alu('mul', b.axis(0, 4), b.const('index', 10)), b.axis(1, 10)));
  const kernel = {
    space: [4],
    reduced: [10],
    accumulators: [{ op: 'sum', type: 'f32', value: b.alu('mul', x, x) }],
    outputs: [{ type: 'f64', value: b.cast('f64', b.alu('sqrt', b.acc('f32', 0))) }],
    inputs: [
      { type: 'f32', elements: 40 },
      { type: 'u8', elements: 1000 },
    ],
    scalars: [],
    inPlace: [],
  } as const;
  expect(estimateKernel(kernel)).toEqual({
    flops: 2 * 40 + aluOps.sqrt.cost * 4,
    bytesRead: 40 * 4 + 40,
    bytesWritten: 4 * 8,
  });
});

it('takes the operations of a routine as given', () => {
  const made = estimateRoutine(7, [{ type: 'f16', elements: 3 }], [{ type: 'i64', elements: 2 }]);
  expect(made).toEqual({ flops: 7, bytesRead: 6, bytesWritten: 16 });
});
