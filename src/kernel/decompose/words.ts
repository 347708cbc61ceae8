// Unsigned integers of one width, for the decompositions: wrapping arithmetic and products of double width.

import type { Expr } from '../expr.ts';
import type { Lowering } from './lowering.ts';

export class Words {
  readonly b: Lowering;
  readonly type: 'u32' | 'u64';
  readonly width: 32 | 64;

  constructor(b: Lowering, type: 'u32' | 'u64') {
    this.b = b;
    this.type = type;
    this.width = type === 'u32' ? 32 : 64;
  }

  const = (v: number | bigint): Expr => this.b.const(this.type, v);
  add = (x: Expr, y: Expr): Expr => this.b.alu('add', x, y);
  sub = (x: Expr, y: Expr): Expr => this.b.alu('sub', x, y);
  mul = (x: Expr, y: Expr): Expr => this.b.alu('mul', x, y);
  and = (x: Expr, y: Expr): Expr => this.b.alu('and', x, y);
  or = (x: Expr, y: Expr): Expr => this.b.alu('or', x, y);
  lt = (x: Expr, y: Expr): Expr => this.b.alu('lt', x, y);
  ne = (x: Expr, y: Expr): Expr => this.b.alu('ne', x, y);
  where = (c: Expr, x: Expr, y: Expr): Expr => this.b.alu('where', c, x, y);
  /** By a count below the width, known or not. */
  shl = (x: Expr, count: number): Expr => this.b.safe('shl', x, this.const(count));
  shr = (x: Expr, count: number): Expr => this.b.safe('shr', x, this.const(count));
  shlBy = (x: Expr, count: Expr): Expr => this.b.safe('shl', x, count);
  shrBy = (x: Expr, count: Expr): Expr => this.b.safe('shr', x, count);

  /** The list, moved left by `by` places where the condition holds; as many entries as both have. */
  slide(list: readonly Expr[], condition: Expr, by: number): Expr[] {
    return list.slice(by).map((moved, i) => this.where(condition, moved, list[i]!));
  }

  /** The two halves of a word. */
  halves(x: Expr): readonly [Expr, Expr] {
    const half = this.width / 2;
    return [this.shr(x, half), this.and(x, this.const((1n << BigInt(half)) - 1n))];
  }
}

/** The exact product, as its upper and its lower word, from products of halves. */
export function multiply(w: Words, x: Expr, y: Expr): readonly [Expr, Expr] {
  const half = w.width / 2;
  const mask = w.const((1n << BigInt(half)) - 1n);
  const [xh, xl] = w.halves(x);
  const [yh, yl] = w.halves(y);
  const [cross1, cross2] = [w.mul(xh, yl), w.mul(xl, yh)];
  const middle = w.add(w.add(w.shr(w.mul(xl, yl), half), w.and(cross1, mask)), w.and(cross2, mask));
  const high = w.add(w.add(w.mul(xh, yh), w.shr(cross1, half)), w.add(w.shr(cross2, half), w.shr(middle, half)));
  return [high, w.mul(x, y)];
}

/** The upper word of the product, or up to two less: the carries from below are left out. */
export function multiplyHigh(w: Words, x: Expr, y: Expr): Expr {
  const half = w.width / 2;
  const [xh, xl] = w.halves(x);
  const [yh, yl] = w.halves(y);
  return w.add(w.mul(xh, yh), w.add(w.shr(w.mul(xh, yl), half), w.shr(w.mul(xl, yh), half)));
}
