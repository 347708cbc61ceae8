// Causal functions of scores: a query sees keys up to its own number plus a distance, and others count as one value, mostly −∞.

import type { Expr } from './expr.ts';
import { below } from './walk.ts';

export interface Band {
  /** Seen are keys up to the query's number plus this. */
  readonly reach: number;
  /** What the function is of keys that are seen. */
  readonly seen: Expr;
  /** The value of the others, the same for all. */
  readonly hidden: Expr;
}

const [queryAxis, keyAxis] = [1, 2];

export function bandOf(value: Expr): Band | null {
  if (value.kind !== 'alu' || value.op !== 'where') return null;
  const [condition, yes, no] = value.src as [Expr, Expr, Expr];
  const cut = cutOf(condition);
  if (!cut) return null;
  const [seen, hidden] = cut.below ? [yes, no] : [no, yes];
  return isFixed(hidden) ? { reach: cut.reach, seen, hidden } : null;
}

/** Where a condition on the distance of key and query changes: true up to `reach` (`below`), or beyond it. */
function cutOf(e: Expr): { readonly reach: number; readonly below: boolean } | null {
  if (e.kind !== 'alu') return null;
  if (e.op === 'where') {
    const [condition, yes, no] = e.src as [Expr, Expr, Expr];
    return isBool(yes, 1) && isBool(no, 0) ? cutOf(condition) : null;
  }
  if (e.op !== 'lt' && e.op !== 'le') return null;
  const [a, b] = e.src.map(placesOf) as [Places | null, Places | null];
  if (!a || !b) return null;
  const [query, key, offset] = [a.query - b.query, a.key - b.key, a.offset - b.offset];
  const strict = Number(e.op === 'lt');
  if (key === 1 && query === -1) return { reach: -offset - strict, below: true };
  return key === -1 && query === 1 ? { reach: offset + strict - 1, below: false } : null;
}

const isBool = (e: Expr, value: number): boolean =>
  e.kind === 'const' && e.type === 'bool' && Number(e.value) === value;

/** The same at every position: made of constants and scalars. */
const isFixed = (e: Expr): boolean => {
  for (const { kind } of below([e])) if (kind === 'axis' || kind === 'acc' || kind === 'load') return false;
  return true;
};

/** A whole number as a sum of the query's and the key's numbers and a constant. */
interface Places {
  readonly query: number;
  readonly key: number;
  readonly offset: number;
}

/** Numbers beyond these could wrap around, or be rounded, on the way. */
const farthest = 2 ** 24;

function placesOf(e: Expr): Places | null {
  switch (e.kind) {
    case 'axis':
      if (e.size > farthest) return null;
      return { query: Number(e.axis === queryAxis), key: Number(e.axis === keyAxis), offset: 0 };
    case 'const': {
      const offset = Number(e.value);
      return Number.isInteger(offset) && Math.abs(offset) <= farthest ? { query: 0, key: 0, offset } : null;
    }
    case 'cast':
      return !e.bits && wholeTypes.has(e.type) ? placesOf(e.src[0]) : null;
    case 'alu': {
      if ((e.op !== 'add' && e.op !== 'sub') || !wholeTypes.has(e.type)) return null;
      const [a, b] = e.src.map(placesOf) as [Places | null, Places | null];
      const sign = e.op === 'add' ? 1 : -1;
      if (!a || !b) return null;
      return { query: a.query + sign * b.query, key: a.key + sign * b.key, offset: a.offset + sign * b.offset };
    }
    default:
      return null;
  }
}

/** Types that hold the numbers and their differences exactly. */
const wholeTypes: ReadonlySet<Expr['type']> = new Set(['index', 'i32', 'i64', 'f64']);
