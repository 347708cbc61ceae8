// What a matrix product's epilogue computes, as part of a kernel that has the product at hand.

import type { Expr, Exprs } from './expr.ts';
import { rewriter } from './rewrite.ts';

/** The epilogue with `product` in place of its accumulator; its own inputs follow the two operands. */
export const behind = (b: Exprs, epilogue: Expr, product: Expr): Expr =>
  rewriter(b, (e, copy) => {
    if (e.kind === 'acc') return product;
    return e.kind === 'load' ? b.load(e.type, e.slot + 2, copy(e.index), e.gate && copy(e.gate)) : undefined;
  })(epilogue);
