// Values in registers, and what an expression depends on.

import type { Expr } from '../../../kernel/expr.ts';
import { operands } from '../../../kernel/walk.ts';

/** One register, or one per lane. */
export type Values = readonly string[];

export const lane = (values: Values, i: number): string => values[i] ?? values[0]!;

/** Accumulators are dependencies as axes are, numbered below zero. */
export const accumulatorKey = (slot: number): number => -1 - slot;

/**
 * All distinct expressions reachable from the roots, operands first; what is `known` is left out, with what only it reaches.
 * A loop and not a recursion: decomposed chains are thousands of ops long.
 */
export function reachable(roots: readonly Expr[], known: (e: Expr) => boolean = () => false): Expr[] {
  const seen = new Set<Expr>();
  const order: Expr[] = [];
  const open: { readonly e: Expr; readonly src: readonly Expr[]; next: number }[] = [];
  const enter = (e: Expr): void => {
    if (seen.has(e) || known(e)) return;
    seen.add(e);
    open.push({ e, src: operands(e), next: 0 });
  };
  for (const root of roots) {
    enter(root);
    while (open.length > 0) {
      const top = open[open.length - 1]!;
      const s = top.src[top.next++];
      if (s) enter(s);
      else order.push(open.pop()!.e);
    }
  }
  return order;
}

const cache = new WeakMap<Expr, ReadonlySet<number>>();

/** The axes and accumulators an expression depends on. */
export function dependencies(e: Expr): ReadonlySet<number> {
  const known = cache.get(e);
  if (known) return known;
  for (const x of reachable([e], (x) => cache.has(x))) {
    const made = new Set<number>();
    if (x.kind === 'axis') made.add(x.axis);
    if (x.kind === 'acc') made.add(accumulatorKey(x.slot));
    for (const s of operands(x)) for (const d of cache.get(s)!) made.add(d);
    cache.set(x, made);
  }
  return cache.get(e)!;
}
