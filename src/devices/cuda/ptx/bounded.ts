// What the expressions around an operation make known about it, where fewer instructions then do.

import type { Alu, Expr } from '../../../kernel/expr.ts';
import { dependencies } from './values.ts';

/** How far operands are looked through. */
const depth = 6;

/** A number that a float expression is not below, unless it is NaN; -Infinity if none is known. Rounding keeps the order of numbers. */
export function atLeast(e: Expr, left = depth): number {
  if (e.kind === 'const') return e.type === 'bool' ? 0 : Number(e.value);
  if (left === 0) return Number.NEGATIVE_INFINITY;
  if (e.kind === 'cast') return e.bits || e.src[0].type === 'bool' ? Number.NEGATIVE_INFINITY : fromWhole(e.src[0]);
  if (e.kind !== 'alu') return Number.NEGATIVE_INFINITY;
  const bound = bounds[e.op];
  return bound ? bound(e.src, left - 1) : Number.NEGATIVE_INFINITY;
}

/** What is cast from a type without a sign is not negative. */
const fromWhole = ({ type }: Expr): number =>
  type === 'u8' || type === 'u32' || type === 'u64' ? 0 : Number.NEGATIVE_INFINITY;

const bounds: Readonly<Partial<Record<Alu['op'], (src: readonly Expr[], left: number) => number>>> = {
  abs: () => 0,
  // Of -0 it is -0, which is not below 0.
  sqrt: () => 0,
  max: ([a, b], left) => Math.max(atLeast(a!, left), atLeast(b!, left)),
  min: ([a, b], left) => Math.min(atLeast(a!, left), atLeast(b!, left)),
  where: ([, a, b], left) => Math.min(atLeast(a!, left), atLeast(b!, left)),
  add: ([a, b], left) => atLeast(a!, left) + atLeast(b!, left),
  mul: ([a, b], left) =>
    a === b || Math.min(atLeast(a!, left), atLeast(b!, left)) >= 0 ? 0 : Number.NEGATIVE_INFINITY,
};

/**
 * Whether a sum of words is best left to the assembler: a sum plus a value that is the same for all elements, and what that is added to. It
 * adds three words at once.
 */
export const isLongSum = (e: Alu): boolean => addsKey(e) || e.src.some(addsKey);

const isSum = (e: Expr): boolean => e.kind === 'alu' && e.op === 'add' && e.type === 'u32';

const addsKey = (e: Expr): boolean =>
  e.kind === 'alu' && isSum(e) && e.src.some((s) => dependencies(s).size === 0) && e.src.some(isSum);
