// Rebuilding expressions in another builder, with some of their parts replaced.

import type { Expr, Exprs } from './expr.ts';

/**
 * A function that copies expressions into `b`. `replace` may answer for a part by itself; everything above is built anew,
 * and so simplified anew. Shared parts are visited once.
 */
export function rewriter(b: Exprs, replace: (e: Expr, copy: (e: Expr) => Expr) => Expr | undefined): (e: Expr) => Expr {
  const memo = new Map<Expr, Expr>();
  const copy = (e: Expr): Expr => {
    let known = memo.get(e);
    if (!known) memo.set(e, (known = replace(e, copy) ?? rebuild(e)));
    return known;
  };
  const rebuild = (e: Expr): Expr => {
    switch (e.kind) {
      case 'const':
        return b.const(e.type, e.value);
      case 'scalar':
        return b.scalar(e.type, e.slot);
      case 'axis':
        return b.axis(e.axis, e.size);
      case 'load':
        return b.load(e.type, e.slot, copy(e.index), e.gate && copy(e.gate));
      case 'acc':
        return b.acc(e.type, e.slot);
      case 'alu':
        return b.alu(e.op, ...e.src.map(copy));
      case 'cast':
        return e.bits
          ? b.bitcast(e.type as Exclude<typeof e.type, 'index'>, copy(e.src[0]))
          : b.cast(e.type, copy(e.src[0]));
      default:
        return e satisfies never;
    }
  };
  return copy;
}
