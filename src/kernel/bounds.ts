// Bounds and linear form of index expressions: what the simplifier and the vectorisers reason with.

import type { Expr, ScalarType } from './expr.ts';
import type { AluOp } from './ops.ts';
import { operands } from './walk.ts';

export interface Bounds {
  readonly min: number;
  readonly max: number;
}

const unknown: Bounds = { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY };
const cache = new WeakMap<Expr, Bounds>();

/** The smallest interval known to hold an index expression. Bool expressions are 0 … 1. */
export function bounds(e: Expr): Bounds {
  let known = cache.get(e);
  if (!known) cache.set(e, (known = compute(e)));
  return known;
}

function compute(e: Expr): Bounds {
  if (e.kind === 'const') return { min: Number(e.value), max: Number(e.value) };
  if (e.kind === 'axis') return { min: 0, max: e.size - 1 };
  if (e.type === 'bool') return { min: 0, max: 1 };
  if (e.kind !== 'alu' || e.type !== 'index') return unknown;
  const [a, b] = [bounds(e.src[e.op === 'where' ? 1 : 0]!), bounds(e.src[e.src.length - 1]!)];
  switch (e.op) {
    case 'idiv':
      return a.min >= 0 && b.min > 0 && b.min === b.max
        ? { min: Math.floor(a.min / b.min), max: Math.floor(a.max / b.min) }
        : unknown;
    case 'imod':
      return b.min > 0 && b.min === b.max
        ? { min: 0, max: Math.min(b.min - 1, a.min >= 0 ? a.max : b.min - 1) }
        : unknown;
    default:
      return intervalOf(e.op, a, b);
  }
}

const integerCache = new WeakMap<Expr, Bounds>();
const integers: Readonly<Partial<Record<ScalarType, Bounds>>> = {
  u8: { min: 0, max: 255 },
  i32: { min: -(2 ** 31), max: 2 ** 31 - 1 },
  u32: { min: 0, max: 2 ** 32 - 1 },
};

/** The smallest interval known to hold an integer: of a sum that may wrap around, all that its type holds. */
export function integerBounds(e: Expr): Bounds {
  const most = integers[e.type] ?? unknown;
  if (e.kind === 'const') return { min: Number(e.value), max: Number(e.value) };
  if (e.kind !== 'alu' || most === unknown) return most;
  const known = integerCache.get(e);
  if (known) return known;
  const [a, b] = e.op === 'where' ? e.src.slice(1) : e.src;
  const made = b ? intervalOf(e.op, integerBounds(a!), integerBounds(b)) : unknown;
  const found = made.min >= most.min && made.max <= most.max ? made : most;
  integerCache.set(e, found);
  return found;
}

/** What an op makes of any two values within bounds; of a `where`, of those it chooses from. Not for divisions. */
export function intervalOf(op: AluOp, a: Bounds, b: Bounds): Bounds {
  switch (op) {
    case 'add':
      return { min: a.min + b.min, max: a.max + b.max };
    case 'sub':
      return { min: a.min - b.max, max: a.max - b.min };
    case 'mul': {
      const corners = [a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max];
      return corners.some(Number.isNaN) ? unknown : { min: Math.min(...corners), max: Math.max(...corners) };
    }
    case 'max':
      return { min: Math.max(a.min, b.min), max: Math.max(a.max, b.max) };
    case 'min':
      return { min: Math.min(a.min, b.min), max: Math.min(a.max, b.max) };
    case 'where':
      return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
    default:
      return unknown;
  }
}

/** The constant above which a looked-up position is cut off; undefined where it is not. */
export function cutOf(e: Expr): number | undefined {
  const [, limit] = e.kind === 'alu' && e.op === 'min' ? e.src : [];
  return limit?.kind === 'const' ? Number(limit.value) : undefined;
}

/** `offset + Σ coefficient · term`, the terms being axes or expressions that are not sums. */
export interface Linear {
  readonly offset: number;
  readonly terms: ReadonlyMap<Expr, number>;
}

export function linear(e: Expr): Linear {
  const terms = new Map<Expr, number>();
  let offset = 0;
  const visit = (x: Expr, factor: number): void => {
    if (x.kind === 'const') {
      offset += factor * Number(x.value);
      return;
    }
    if (x.kind === 'alu' && x.type === 'index') {
      const [a, b] = x.src as [Expr, Expr];
      if (x.op === 'add' || x.op === 'sub') {
        visit(a, factor);
        visit(b, x.op === 'add' ? factor : -factor);
        return;
      }
      if (x.op === 'mul' && b.kind === 'const') {
        visit(a, factor * Number(b.value));
        return;
      }
    }
    const sum = (terms.get(x) ?? 0) + factor;
    if (sum === 0) terms.delete(x);
    else terms.set(x, sum);
  };
  visit(e, 1);
  return { offset, terms };
}

/** Whether an expression changes along an axis. */
export function dependsOn(e: Expr, axis: number): boolean {
  return axesOf(e).has(axis);
}

const axesCache = new WeakMap<Expr, ReadonlySet<number>>();

/** The axes an expression changes along, loads included. */
export function axesOf(e: Expr): ReadonlySet<number> {
  const known = axesCache.get(e);
  if (known) return known;
  const made = new Set<number>();
  if (e.kind === 'axis') made.add(e.axis);
  for (const s of operands(e)) for (const a of axesOf(s)) made.add(a);
  axesCache.set(e, made);
  return made;
}

/**
 * How far an index moves when `axis` advances by one: 0 if it does not change, 1 if it reads neighbours, null if it is
 * not linear along that axis (wrapped, looked up), so that every position must be computed by itself.
 */
export function strideAlong(index: Expr, axis: number): number | null {
  let stride = 0;
  for (const [term, coefficient] of linear(index).terms) {
    if (term.kind === 'axis') {
      if (term.axis === axis) stride += coefficient;
    } else if (dependsOn(term, axis)) {
      return null;
    }
  }
  return stride;
}
