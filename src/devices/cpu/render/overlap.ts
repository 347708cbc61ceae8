// How far the steps of a kernel overlap by themselves: how many there are for each that has to wait for another.
//
// Only the way that usual elements take counts (usual.ts). Where steps overlap already, a body needs few parts to keep a processor busy,
// and with many of them values go to memory because registers run out.

import type { Arms } from '../../../kernel/arms.ts';
import type { Expr } from '../../../kernel/expr.ts';
import { operands } from '../../../kernel/walk.ts';

/** Whether an instruction computes it for each vector. Bits that are read as another type are where they were. */
const isStep = (e: Expr): boolean =>
  e.type !== 'index' && (e.kind === 'load' || e.kind === 'alu' || (e.kind === 'cast' && !e.bits));

export interface Overlap {
  readonly steps: number;
  /** Steps on the longest way from a load to a root. */
  readonly longest: number;
}

export function overlapOf(roots: readonly Expr[], arms: ReadonlyMap<Expr, Arms>): Overlap {
  const done = new Map<Expr, number>();
  const usual = (e: Expr): readonly Expr[] => {
    if (e.kind === 'load') return [];
    const isRare = e.kind === 'alu' && e.op === 'where' && arms.has(e.src[0]!);
    return isRare ? [e.src[2]!] : operands(e);
  };
  let steps = 0;
  const stack = [...roots];
  for (let e = stack.at(-1); e; e = stack.at(-1)) {
    const below = usual(e);
    const waiting = done.has(e) ? [] : below.filter((s) => !done.has(s));
    if (waiting.length > 0) {
      stack.push(...waiting);
      continue;
    }
    stack.pop();
    if (done.has(e)) continue;
    // A choice that is never made is what it takes otherwise.
    const own = isStep(e) && !(below.length === 1 && e.kind === 'alu' && e.op === 'where') ? 1 : 0;
    steps += own;
    done.set(e, own + Math.max(0, ...below.map((s) => done.get(s)!)));
  }
  return { steps, longest: Math.max(0, ...roots.map((r) => done.get(r)!)) };
}
