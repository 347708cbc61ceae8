// The reference's routines where they do more than their definition says at first sight.

import { describe, expect, it } from 'vitest';
import { type Expr, Exprs } from '../../kernel/expr.ts';
import type { Matmul } from '../../kernel/kernel.ts';
import { elementsOf } from './elements.ts';
import { runRoutine } from './routines.ts';

const product = (epilogue: Matmul['epilogue']): Matmul => ({
  kind: 'routine',
  op: 'matmul',
  name: 'matmul_f64_2x2x2',
  type: 'f64',
  batch: 1,
  batchA: 1,
  batchB: 1,
  m: 2,
  n: 2,
  k: 2,
  transposeA: false,
  transposeB: false,
  precision: 'exact',
  epilogue,
  estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
});

const run = (r: Matmul, inputs: readonly (readonly number[])[], scalars: readonly number[] = []): number[] => {
  const arrays = [...inputs.map((v) => Float64Array.from(v)), new Float64Array(4)];
  const views = arrays.map((a) => elementsOf(new Uint8Array(a.buffer), 'f64'));
  runRoutine(r, views, scalars, (type, n) => elementsOf(new Uint8Array(8 * n), type));
  return [...arrays[arrays.length - 1]!];
};

describe('the reference product', () => {
  const [a, b] = [
    [1, 2, 3, 4],
    [5, 6, 7, 8],
  ];

  it('reads the inputs and scalars of its epilogue by their own numbers', () => {
    const x = new Exprs();
    const column = x.load('f64', 0, x.axis(2, 2));
    const row = x.load('f64', 1, x.axis(1, 2));
    const value = x.alu('add', x.alu('mul', x.acc('f64', 0), x.scalar('f64', 0)), x.alu('sub', column, row));
    const inputs = [1, 2].map(() => ({ type: 'f64', elements: 2 }) as const);
    const r = product({ inputs, scalars: ['f64'], output: { type: 'f64', value } });
    expect(run(r, [a!, b!, [10, 20], [100, 200]], [2])).toEqual([
      2 * 19 + 10 - 100,
      2 * 22 + 20 - 100,
      2 * 43 + 10 - 200,
      2 * 50 + 20 - 200,
    ]);
  });

  it('visits what an epilogue shares once, not once per way that leads there', () => {
    const x = new Exprs();
    let value: Expr = x.acc('f64', 0);
    // Each step uses the one before twice: 2^300 ways.
    for (let i = 1; i <= 300; i++) value = x.alu('max', value, x.alu('sub', x.const('f64', i), value));
    const expected = [19, 22, 43, 50].map((v) => {
      let y = v;
      for (let i = 1; i <= 300; i++) y = Math.max(y, i - y);
      return y;
    });
    const r = product({ inputs: [], scalars: [], output: { type: 'f64', value } });
    expect(run(r, [a!, b!])).toEqual(expected);
  });
});
