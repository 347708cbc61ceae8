import { describe, expect, it } from 'vitest';
import { expressions, kernelOf, plain } from '../../../test/support/decompose.ts';
import type { DType } from '../../base/dtype.ts';
import { type Expr, Exprs } from '../expr.ts';
import { decompose } from './index.ts';

const b = new Exprs();
const x = b.load('f32', 0, b.const('index', 0));
const one = b.const('f32', 1);
const exp = (e: Expr): Expr => b.alu('exp', e);
const sigmoid = b.alu('div', one, b.alu('add', exp(b.alu('neg', x)), one));

/** How many functions are left as they are where a value becomes an output of a type. */
function leftIn(value: Expr, type: DType, ...others: Expr[]): number {
  const kernel = kernelOf(b.cast(type, value), type);
  const outputs = [...kernel.outputs, ...others.map((other) => ({ type: 'f32' as const, value: other }))];
  const made = decompose({ ...kernel, outputs }, plain, { coarse: new Set(['exp']) });
  const all = new Set(made.outputs.flatMap((o) => expressions(o.value)));
  return [...all].filter((e) => e.kind === 'alu' && e.op === 'exp').length;
}

describe('functions whose values end in halves', () => {
  it.each(['f16', 'bf16'] as const)('are left to the device: %s', (type) => {
    expect(leftIn(sigmoid, type)).toBe(1);
    expect(leftIn(b.alu('mul', exp(x), b.alu('sqrt', exp(one))), type)).toBeGreaterThan(0);
  });

  it('are exact where they end in anything else, too', () => {
    expect(leftIn(sigmoid, 'f32')).toBe(0);
    expect(leftIn(sigmoid, 'f64')).toBe(0);
    expect(leftIn(sigmoid, 'bf16', sigmoid)).toBe(0);
    expect(leftIn(exp(x), 'bf16', b.alu('sub', exp(x), one))).toBe(0);
  });

  it('are exact where differences or other functions make errors larger', () => {
    expect(leftIn(b.alu('sub', exp(x), one), 'bf16')).toBe(0);
    expect(leftIn(b.alu('add', exp(x), x), 'bf16')).toBe(0);
    expect(leftIn(b.alu('log', exp(x)), 'bf16')).toBe(0);
    expect(leftIn(exp(exp(x)), 'bf16')).toBe(1);
  });

  it('are left to the device in ops of halves themselves', () => {
    const half = b.load('bf16', 1, b.const('index', 0));
    const made = decompose(kernelOf(b.alu('exp', half), 'bf16'), plain, { coarse: new Set(['exp']) });
    const ops = expressions(made.outputs[0]!.value).filter((e) => e.kind === 'alu');
    expect(ops.map((e) => [e.kind === 'alu' && e.op, e.type])).toEqual([['exp', 'f32']]);
  });
});

describe('functions that are summed up before they end in halves', () => {
  const acc = b.acc('f32', 0);
  const summed = (value: Expr, op: 'sum' | 'max' | 'prod', inHalves: readonly boolean[]): number => {
    const kernel = { ...kernelOf(acc, 'f32'), accumulators: [{ op, type: 'f32' as const, value }] };
    const made = decompose(kernel, plain, { coarse: new Set(['exp']), inHalves });
    const ops = expressions(made.accumulators[0]!.value);
    return ops.filter((e) => e.kind === 'alu' && e.op === 'exp').length;
  };

  it('are left to the device where nothing cancels out', () => {
    expect(summed(exp(x), 'sum', [true])).toBe(1);
    expect(summed(b.alu('neg', exp(x)), 'max', [true])).toBe(1);
  });

  it('are exact elsewhere', () => {
    expect(summed(exp(x), 'sum', [false])).toBe(0);
    expect(summed(exp(x), 'sum', [])).toBe(0);
    expect(summed(b.alu('neg', exp(x)), 'sum', [true])).toBe(0);
    expect(summed(exp(x), 'prod', [true])).toBe(0);
  });
});
