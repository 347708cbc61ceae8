import { describe, expect, it } from 'vitest';
import { type Alu, type Expr, Exprs } from '../../../kernel/expr.ts';
import { Hazards } from './hazards.ts';

const b = new Exprs();
const x = b.load('f32', 0, b.axis(0, 9));
const y = b.load('f32', 1, b.axis(0, 9));
const c = (v: number): Expr => b.const('f32', v);
const add = (p: Expr, q: Expr): Expr => b.raw('add', [p, q]);
const sub = (p: Expr, q: Expr): Expr => b.raw('sub', [p, q]);
const mul = (p: Expr, q: Expr): Expr => b.raw('mul', [p, q]);
const div = (p: Expr, q: Expr): Expr => b.raw('div', [p, q]);

/** Which of `parts` are veiled when `root` is computed. */
const veiled = (root: Expr, ...parts: readonly Expr[]): boolean[] => {
  const hazards = new Hazards([root]);
  return parts.map((p) => hazards.veils(p));
};
const operands = (e: Expr): boolean[] => [0, 1].map((i) => new Hazards([e]).veilsOperand(e as Alu, i));

describe('sums', () => {
  it('are veiled where constants would meet, as in (x + c) - c', () => {
    const inner = add(x, c(12582912));
    expect(veiled(sub(inner, c(12582912)), inner)).toEqual([true]);
    expect(veiled(sub(c(7), inner), inner)).toEqual([true]);
  });

  it('are veiled where terms that come from the same data would meet', () => {
    const inner = sub(x, y);
    expect(veiled(add(inner, y), inner)).toEqual([true]);
    // n was computed from x: x - n·a must not become x - (n·a + n·b), nor x - n·(a + b).
    const n = b.raw('round', [mul(x, c(3))]);
    const first = sub(x, mul(n, c(0.33)));
    expect(veiled(sub(first, mul(n, c(0.003))), first)).toEqual([true]);
  });

  it('are veiled once they are delicate, whatever is added', () => {
    const inner = sub(x, b.raw('round', [x]));
    expect(veiled(add(inner, y), inner)).toEqual([true]);
  });

  it('are veiled before a constant is multiplied into them', () => {
    const inner = add(x, c(12582912));
    const n = sub(inner, c(12582912));
    expect(veiled(mul(n, c(0.69)), inner, n)).toEqual([true, true]);
    expect(veiled(mul(n, y), inner, n)).toEqual([true, false]);
  });

  it('are recognised behind a choice', () => {
    const inner = b.raw('where', [b.raw('lt', [y, c(0)]), sub(c(1), x), y]);
    expect(veiled(sub(inner, mul(x, x)), inner)).toEqual([true]);
  });

  it('of products with a common factor keep their products', () => {
    const [p, q] = [mul(x, y), mul(x, c(3))];
    expect(veiled(add(p, q), p, q)).toEqual([false, true]);
  });

  it('of independent values and polynomials stay open', () => {
    const inner = add(mul(x, c(0.25)), c(0.5));
    const outer = add(mul(inner, x), c(1));
    expect(veiled(outer, inner, mul(inner, x))).toEqual([false, false]);
    expect(veiled(add(mul(x, c(2)), y), mul(x, c(2)))).toEqual([false]);
    const rolled = b.load('f32', 0, b.raw('imod', [b.axis(0, 9), b.const('index', 3)]));
    expect(veiled(add(add(x, y), rolled), add(x, y))).toEqual([false]);
  });

  it('of integers are exact anyway', () => {
    const n = b.load('i32', 0, b.axis(0, 9));
    const inner = add(n, b.const('i32', 7));
    expect(veiled(sub(inner, b.const('i32', 7)), inner)).toEqual([false]);
  });
});

describe('products', () => {
  it('are veiled between two constants, or two powers of two made of bits', () => {
    const inner = mul(x, c(1e30));
    expect(veiled(mul(inner, c(1e30)), inner)).toEqual([true]);
    const power = (slot: number): Expr => b.bitcast('f32', b.load('i32', slot, b.axis(0, 9)));
    const scaled = mul(x, power(2));
    expect(veiled(mul(scaled, power(3)), scaled)).toEqual([true]);
  });

  it('are veiled where a division would undo them', () => {
    expect(veiled(div(mul(x, y), y), mul(x, y))).toEqual([true]);
    expect(veiled(mul(div(x, y), y), div(x, y))).toEqual([true]);
  });

  it('of data stay open', () => {
    expect(veiled(mul(mul(x, y), x), mul(x, y))).toEqual([false]);
  });
});

describe('operands that are hidden for one op alone', () => {
  it('are zeros, constant divisors, constants beside constants, and what is subtracted from itself', () => {
    expect(operands(mul(x, c(0)))).toEqual([false, true]);
    expect(operands(sub(c(-0), x))).toEqual([true, false]);
    expect(operands(div(x, c(3)))).toEqual([false, true]);
    expect(operands(mul(c(2), c(3)))).toEqual([true, true]);
    expect(operands(sub(x, x))).toEqual([false, true]);
    expect(operands(add(x, x))).toEqual([false, false]);
    expect(operands(mul(x, c(2)))).toEqual([false, false]);
  });
});
