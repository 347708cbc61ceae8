// Values in registers, and what an expression depends on.

import { type Expr, operands } from '../../../kernel/expr.ts';

/** One register, or one per lane. */
export type Values = readonly string[];

export const lane = (values: Values, i: number): string => values[i] ?? values[0]!;

/** Accumulators are dependencies as axes are, numbered below zero. */
export const accumulatorKey = (slot: number): number => -1 - slot;

const cache = new WeakMap<Expr, ReadonlySet<number>>();

/** The axes and accumulators an expression depends on. */
export function dependencies(e: Expr): ReadonlySet<number> {
  const known = cache.get(e);
  if (known) return known;
  const made = new Set<number>();
  if (e.kind === 'axis') made.add(e.axis);
  if (e.kind === 'acc') made.add(accumulatorKey(e.slot));
  for (const s of operands(e)) for (const d of dependencies(s)) made.add(d);
  cache.set(e, made);
  return made;
}
