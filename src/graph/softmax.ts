// A softmax over the last axis, found in a graph by its steps: as `softmax` builds it, or written out.

import { args } from './args.ts';
import type { Vertex } from './canonical.ts';

const isAlu = (v: Vertex, op: string): boolean => v.op === 'alu' && args.aluOf(v) === op;

/**
 * Follows the cast of a softmax to its type, and other shapes with the same last axis, downwards; what is passed goes into
 * `within`. Other casts round, and are not seen through.
 */
function through(v: Vertex, type: Vertex['dtype'], within: Set<Vertex>): Vertex {
  const last = v.shape.at(-1);
  const passes = (): boolean => {
    const [source] = v.sources as [Vertex];
    if (v.op === 'cast') return v.dtype === type && source.dtype === 'f32';
    return v.op === 'reshape' && source.shape.at(-1) === last;
  };
  while (passes()) {
    within.add(v);
    v = v.sources[0]!;
  }
  return v;
}

/** Values of rows in any shape, which keeps their order: as they were computed. */
function unshaped(v: Vertex, within: Set<Vertex>): Vertex {
  for (; v.op === 'reshape'; v = v.sources[0]!) within.add(v);
  return v;
}

/** A value for each row of a shape, spread along its last axis: the rows' values, or null if it is anything else. */
function ofRows(v: Vertex, shape: readonly number[], within: Set<Vertex>): Vertex | null {
  const last = shape.length - 1;
  const rows = v.op === 'expand' ? v.sources[0]! : v;
  if (rows.shape.length !== shape.length || rows.shape.some((d, i) => d !== (i === last ? 1 : shape[i]))) return null;
  within.add(v);
  return unshaped(rows, within);
}

/** exp(x − top) / sum(exp(x − top)) along the last axis, with the largest x of each row as its top: x. */
export function softmaxBelow(v: Vertex, type: Vertex['dtype'], within: Set<Vertex>): { scores: Vertex } | null {
  const quotient = through(v, type, within);
  if (!isAlu(quotient, 'div') || quotient.dtype !== 'f32') return null;
  const [powers, divisor] = quotient.sources as [Vertex, Vertex];
  const sum = ofRows(divisor, quotient.shape, within);
  if (!sum || !isAlu(powers, 'exp') || !reducesRows(sum, 'sum', powers)) return null;
  const shifted = powers.sources[0]!;
  if (!isAlu(shifted, 'sub')) return null;
  const [scores, spread] = shifted.sources as [Vertex, Vertex];
  const rows = ofRows(spread, shifted.shape, within);
  const top = rows && topOf(rows, scores, within);
  if (!top) return null;
  for (const w of [quotient, powers, sum, shifted, top]) within.add(w);
  return { scores };
}

function reducesRows(v: Vertex, op: string, of: Vertex): boolean {
  if (v.op !== 'reduce' || v.sources[0] !== of) return false;
  const reduced = args.reduceOf(v);
  return reduced.op === op && reduced.axes.length === 1 && reduced.axes[0] === of.shape.length - 1;
}

/** The largest of each row, as it is or with another value in place of infinite ones. */
function topOf(v: Vertex, scores: Vertex, within: Set<Vertex>): Vertex | null {
  if (reducesRows(v, 'max', scores)) return v;
  // where(|m| < ∞, m, where(m = m, 0, m)), as `logsumexp` says it.
  if (!isAlu(v, 'where')) return null;
  const [ok, top, other] = v.sources as [Vertex, Vertex, Vertex];
  const largest = unshaped(top, within);
  if (!reducesRows(largest, 'max', scores) || !isAlu(ok, 'lt') || !isAlu(other, 'where')) return null;
  const magnitude = ok.sources[0]!;
  if (!isAlu(magnitude, 'abs') || magnitude.sources[0] !== top || other.sources[2] !== top) return null;
  const same = other.sources[0]!;
  if (!isAlu(same, 'eq') || same.sources.some((s) => s !== top)) return null;
  for (const w of [v, ok, other, magnitude, same, top]) within.add(w);
  return largest;
}
