// A reduction over positions that were counted through several axes, with these axes again.
//
// A grid that is reduced as one long row reads the cell above as (i / 32 − 1) · 32 + i mod 32. Along that row nothing lies beside anything, so
// every lane is loaded by itself. With the axes that the divisions speak of, lanes lie side by side.

import type { Alu, Expr } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { refine } from '../../../kernel/refine.ts';
import { below } from '../../../kernel/walk.ts';

/** Shorter rows are not worth a loop. */
const shortest = 8;

/** The kernel with its last axis split where it divides it; itself if it does not, or not evenly. */
export function unfolded(kernel: Kernel): Kernel {
  const rank = kernel.space.length + kernel.reduced.length;
  const size = kernel.reduced.at(-1);
  if (size === undefined) return kernel;
  const roots = kernel.accumulators.map((a) => a.value);
  const ends = [...new Set([...below(roots)].flatMap((e) => endsOf(e, rank - 1)))].sort((p, q) => p - q);
  const all = [...ends.filter((end) => end < size), size];
  if (all.length < 2 || all[0]! < shortest) return kernel;
  const sizes = all.map((end, i) => end / (all[i - 1] ?? 1)).reverse();
  if (!sizes.every(Number.isInteger)) return kernel;
  const others = [...kernel.space, ...kernel.reduced.slice(0, -1)].filter((d) => d > 1);
  return refine(kernel, [...others, ...sizes]);
}

/** Elements up to the beginning of an axis, as a division by them tells. */
function endsOf(e: Expr, axis: number): number[] {
  const division = asDivision(e);
  if (!division) return [];
  const { by, of, op } = division;
  if (of.kind === 'axis') return of.axis === axis ? [by] : [];
  // The remainder of a quotient: an axis in the middle.
  const inner = op === 'imod' ? asDivision(of) : null;
  return inner?.op === 'idiv' && inner.of.kind === 'axis' && inner.of.axis === axis ? [inner.by, inner.by * by] : [];
}

function asDivision(e: Expr): { readonly op: Alu['op']; readonly of: Expr; readonly by: number } | null {
  if (e.kind !== 'alu' || e.type !== 'index' || (e.op !== 'idiv' && e.op !== 'imod')) return null;
  const [of, by] = e.src as [Expr, Expr];
  return by.kind === 'const' ? { op: e.op, of, by: Number(by.value) } : null;
}
