// Functions of f32 whose values only end in halves.
//
// A half keeps 8 or 11 bits of a value. Where only ops that do not enlarge a relative error lie between a function and the rounding to a
// half, an error of 2^-17 matters only if the value is as good as halfway between two halves: then the neighbour of the closest one may
// come out. A function whose value is read in any other way stays as accurate as f32 is.

import { atLeast } from '../at-least.ts';
import type { Alu, Expr } from '../expr.ts';
import type { AluOp } from '../ops.ts';
import { operands } from '../walk.ts';

/** The operands through which a relative error passes as it is, or smaller. */
const passing: Readonly<Partial<Record<AluOp, (e: Alu) => readonly Expr[]>>> = {
  mul: ({ src }) => src,
  div: ({ src }) => src,
  neg: ({ src }) => src,
  abs: ({ src }) => src,
  sqrt: ({ src }) => src,
  max: ({ src }) => src,
  min: ({ src }) => src,
  where: ({ src }) => src.slice(1),
  // Nothing cancels out.
  add: ({ src }) => (src.every((s) => atLeast(s) >= 0) ? src : []),
};

const isHalf = (e: Expr): boolean => e.type === 'f16' || e.type === 'bf16';

/** The functions below some values that may be coarse; `ops` says which there are. */
export function coarseBelow(values: readonly Expr[], ops: ReadonlySet<AluOp>): ReadonlySet<Expr> {
  const [coarse, exact] = [new Set<Expr>(), new Set<Expr>()];
  if (ops.size === 0) return coarse;
  const stack: [e: Expr, isCoarse: boolean][] = values.map((e) => [e, false]);
  for (let next = stack.pop(); next; next = stack.pop()) {
    const [e, isCoarse] = next;
    const seen = isCoarse ? coarse : exact;
    if (seen.has(e)) continue;
    seen.add(e);
    const passed = new Set(
      isHalf(e) && e.kind === 'cast' && !e.bits && e.src[0].type === 'f32'
        ? e.src
        : isCoarse && e.kind === 'alu' && e.type === 'f32'
          ? passing[e.op]?.(e)
          : [],
    );
    for (const s of operands(e)) stack.push([s, passed.has(s)]);
  }
  return new Set([...coarse].filter((e) => e.kind === 'alu' && e.type === 'f32' && ops.has(e.op) && !exact.has(e)));
}
