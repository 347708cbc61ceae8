// Walking over expressions, without making any.

import type { Expr } from './expr.ts';

/** The operands of an expression, in order. */
export function operands(e: Expr): readonly Expr[] {
  switch (e.kind) {
    case 'alu':
    case 'cast':
      return e.src;
    case 'load':
      return e.gate ? [e.index, e.gate] : [e.index];
    case 'const':
    case 'scalar':
    case 'axis':
    case 'acc':
      return [];
    default:
      return e satisfies never;
  }
}

/** Every expression below some roots, those included, once each. */
export function* below(roots: readonly Expr[]): Generator<Expr, void> {
  const seen = new Set<Expr>();
  const stack = [...roots];
  for (let e = stack.pop(); e; e = stack.pop()) {
    if (seen.has(e)) continue;
    seen.add(e);
    yield e;
    stack.push(...operands(e));
  }
}
