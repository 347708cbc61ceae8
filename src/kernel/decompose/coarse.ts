// Functions of f32 whose values only end in halves.
//
// A half keeps 8 or 11 bits of a value. Where only ops that do not enlarge a relative error lie between a function and the rounding to a
// half, an error of 2^-17 matters only if the value is as good as halfway between two halves: then the neighbour of the closest one may
// come out. A function whose value is read in any other way stays as accurate as f32 is.

import { atLeast } from '../at-least.ts';
import type { Alu, Expr } from '../expr.ts';
import type { Kernel } from '../kernel.ts';
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
  const uses = new Uses();
  if (ops.size > 0) for (const value of values) uses.add(value, false);
  return uses.coarse(ops);
}

/**
 * The same for a kernel; `inHalves`: which outputs of f32 only end in halves elsewhere. A sum of numbers that are not negative has no
 * larger error than they have, nor has the largest or smallest of them.
 */
export function coarseIn(
  { accumulators, outputs }: Pick<Kernel, 'accumulators' | 'outputs'>,
  ops: ReadonlySet<AluOp>,
  inHalves: readonly boolean[] = [],
): ReadonlySet<Expr> {
  const uses = new Uses();
  if (ops.size === 0) return uses.coarse(ops);
  for (const [i, { type, value }] of outputs.entries()) uses.add(value, type === 'f32' && inHalves[i] === true);
  accumulators.forEach(({ op, type, value }, slot) => {
    const same = op === 'max' || op === 'min' || (op === 'sum' && atLeast(value) >= 0);
    uses.add(value, type === 'f32' && same && !uses.isExact(slot));
  });
  return uses.coarse(ops);
}

/** How expressions are used: where an error matters, and where it hardly does. */
class Uses {
  readonly #coarse = new Set<Expr>();
  readonly #exact = new Set<Expr>();

  add(value: Expr, isCoarse: boolean): void {
    visit(value, isCoarse, this.#coarse, this.#exact);
  }

  /** Whether an error in an accumulator matters. */
  isExact(slot: number): boolean {
    return [...this.#exact].some((e) => e.kind === 'acc' && e.slot === slot);
  }

  coarse(ops: ReadonlySet<AluOp>): ReadonlySet<Expr> {
    const functions = [...this.#coarse].filter((e) => e.kind === 'alu' && e.type === 'f32' && ops.has(e.op));
    return new Set(functions.filter((e) => !this.#exact.has(e)));
  }
}

function visit(value: Expr, valueIsCoarse: boolean, coarse: Set<Expr>, exact: Set<Expr>): void {
  const stack: [e: Expr, isCoarse: boolean][] = [[value, valueIsCoarse]];
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
}
