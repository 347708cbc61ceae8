// A number that a float expression is known not to be below.

import type { Alu, Expr } from './expr.ts';

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
  exp: () => 0,
  exp2: () => 0,
  // Of -0 it is -0, which is not below 0.
  sqrt: () => 0,
  max: ([a, b], left) => Math.max(atLeast(a!, left), atLeast(b!, left)),
  min: ([a, b], left) => Math.min(atLeast(a!, left), atLeast(b!, left)),
  where: ([, a, b], left) => Math.min(atLeast(a!, left), atLeast(b!, left)),
  add: ([a, b], left) => atLeast(a!, left) + atLeast(b!, left),
  mul: ([a, b], left) =>
    a === b || Math.min(atLeast(a!, left), atLeast(b!, left)) >= 0 ? 0 : Number.NEGATIVE_INFINITY,
};
