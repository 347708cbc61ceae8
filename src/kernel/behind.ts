// What a matrix product's epilogue computes, as part of a kernel that has the product at hand.

import type { Expr, Exprs } from './expr.ts';
import { rewriter } from './rewrite.ts';

/** The epilogue with `product` in place of its accumulator; its own inputs begin at `first`: behind the two operands. */
export const behind = (b: Exprs, epilogue: Expr, product: Expr, first = 2): Expr =>
  rewriter(b, (e, copy) => {
    if (e.kind === 'acc') return product;
    return e.kind === 'load' ? b.load(e.type, e.slot + first, copy(e.index), e.gate && copy(e.gate)) : undefined;
  })(epilogue);
