import { expect, it } from 'vitest';
import { type Alu, Exprs } from '../../../kernel/expr.ts';
import { hiddenOperands } from './hazards.ts';

const b = new Exprs();
const x = b.load('f32', 0, b.axis(0, 9));
const y = b.load('f32', 1, b.axis(0, 9));
const c = (v: number) => b.const('f32', v);
const hidden = (e: unknown): readonly boolean[] => hiddenOperands(e as Alu);

it('hides the second constant of (x + c) - c, which would cancel', () => {
  expect(hidden(b.raw('sub', [b.raw('add', [x, c(12582912)]), c(12582912)]))).toEqual([false, true]);
});

it('hides zeros, since x * 0 is not 0 for NaN', () => {
  expect(hidden(b.raw('mul', [x, c(0)]))).toEqual([false, true]);
  expect(hidden(b.raw('sub', [c(0), x]))).toEqual([true, false]);
});

it('hides a difference that is added back, and the second of products with a common factor', () => {
  expect(hidden(b.raw('add', [b.raw('sub', [x, y]), y]))).toEqual([true, false]);
  expect(hidden(b.raw('add', [b.raw('mul', [x, y]), b.raw('mul', [x, c(3)])]))).toEqual([false, true]);
});

it('hides constant divisors and what is subtracted from itself', () => {
  expect(hidden(b.raw('div', [x, c(3)]))).toEqual([false, true]);
  expect(hidden(b.raw('sub', [x, x]))).toEqual([false, true]);
});

it('leaves plain arithmetic, integers and polynomials alone', () => {
  expect(hidden(b.raw('add', [x, y]))).toEqual([false, false]);
  expect(hidden(b.raw('mul', [x, c(2)]))).toEqual([false, false]);
  expect(hidden(b.raw('add', [b.raw('mul', [x, y]), c(0.5)]))).toEqual([false, false]);
  const n = b.load('i32', 0, b.axis(0, 9));
  expect(hidden(b.raw('sub', [b.raw('add', [n, b.const('i32', 7)]), b.const('i32', 7)]))).toEqual([]);
});
