// An expression built again with other slots, or with something else in place of an accumulator.

import type { Expr, Exprs } from '../../../kernel/expr.ts';

export interface Replacement {
  /** The slot a load moves to. */
  readonly slot: (slot: number) => number;
  /** What stands for an accumulator. */
  readonly acc: (slot: number) => Expr;
}

export function rebuild(b: Exprs, e: Expr, to: Replacement, done = new Map<Expr, Expr>()): Expr {
  const known = done.get(e);
  if (known) return known;
  const again = (s: Expr): Expr => rebuild(b, s, to, done);
  const made = ((): Expr => {
    switch (e.kind) {
      case 'const':
        return b.const(e.type, e.value);
      case 'scalar':
        return b.scalar(e.type, e.slot);
      case 'axis':
        return b.axis(e.axis, e.size);
      case 'acc':
        return to.acc(e.slot);
      case 'load':
        return b.load(e.type, to.slot(e.slot), again(e.index), e.gate && again(e.gate));
      case 'cast':
        return e.bits
          ? b.bitcast(e.type as Exclude<Expr['type'], 'index'>, again(e.src[0]))
          : b.cast(e.type, again(e.src[0]));
      case 'alu':
        return b.raw(e.op, e.src.map(again));
      default:
        return e satisfies never;
    }
  })();
  done.set(e, made);
  return made;
}
