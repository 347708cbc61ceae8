// Neighbouring positions of a kernel computed together, so that what they have in common is computed once.
//
// A stencil reads at one position most of what it reads at the next. The kernel made here has an axis that is `count` times shorter, and
// the outputs and accumulators of `count` neighbours along it: equal expressions of different neighbours are the same object, as always
// within one builder. Conditions on the axis that hold for some neighbours only (the wrap of a roll) are decided where bounds decide them.

import { sizeOf } from '../base/shape.ts';
import { type Expr, Exprs } from './expr.ts';
import type { Kernel } from './kernel.ts';
import { rewriter } from './rewrite.ts';
import { operands } from './walk.ts';

export interface Together {
  /** All outputs (and accumulators) of the first neighbour, then all of the second, and so on. Its outputs are not written whole. */
  readonly kernel: Kernel;
  readonly axis: number;
  readonly count: number;
  /** Elements of an output between one neighbour and the next. */
  readonly stride: number;
}

/** Every position by itself. */
export const alone = (kernel: Kernel): Together => ({ kernel, axis: -1, count: 1, stride: 0 });

/** `axis` is one of the output's. Where `count` does not divide its size, the last positions are left out. */
export function together(kernel: Kernel, axis: number, count: number, b = new Exprs()): Together {
  const { accumulators, outputs } = kernel;
  const copies = Array.from({ length: count }, (_, u) => {
    const copy = rewriter(b, (e) => {
      if (e.kind === 'acc') return b.acc(e.type, u * accumulators.length + e.slot);
      if (e.kind !== 'axis' || e.axis !== axis) return undefined;
      const block = b.alu('mul', b.axis(axis, Math.floor(e.size / count)), b.const('index', count));
      return b.alu('add', block, b.const('index', u));
    });
    return {
      accumulators: accumulators.map((a) => ({ ...a, value: copy(a.value) })),
      outputs: outputs.map((o) => ({ ...o, value: copy(o.value) })),
    };
  });
  return {
    kernel: {
      ...kernel,
      space: kernel.space.map((n, i) => (i === axis ? Math.floor(n / count) : n)),
      accumulators: copies.flatMap((c) => c.accumulators),
      outputs: copies.flatMap((c) => c.outputs),
    },
    axis,
    count,
    stride: sizeOf(kernel.space.slice(axis + 1)),
  };
}

/** Fewer loads than this are not worth it. */
const fewLoads = 9;
/** At most this part of the loads may be left. */
const mostLeft = 0.75;
/** Longer code does not stay in the instruction cache. */
const mostOperations = 1000;

/**
 * The way of computing neighbours together that leaves the fewest loads a position; null where none leaves few enough. `allowed` says
 * along which axes, and how many at a time.
 */
export function fewestLoads(
  kernel: Kernel,
  allowed: (axis: number, count: number) => boolean,
  b?: Exprs,
): Together | null {
  const loads = loadsAmong(exprsOf(kernel));
  if (loads < fewLoads) return null;
  let best: Together | null = null;
  let least = mostLeft;
  kernel.space.forEach((size, axis) => {
    for (const count of [4, 2]) {
      if (size % count !== 0 || !allowed(axis, count)) continue;
      const made = together(kernel, axis, count, b);
      const exprs = exprsOf(made.kernel);
      const left = loadsAmong(exprs) / (count * loads);
      if (exprs.size > mostOperations || left > least) continue;
      [best, least] = [made, left];
    }
  });
  return best;
}

const loadsAmong = (exprs: ReadonlySet<Expr>): number => [...exprs].filter((e) => e.kind === 'load').length;

/** All distinct expressions of a kernel. */
function exprsOf({ accumulators, outputs }: Kernel): ReadonlySet<Expr> {
  const seen = new Set<Expr>();
  const open: Expr[] = [...accumulators, ...outputs].map((r) => r.value);
  for (let e = open.pop(); e; e = open.pop()) {
    if (seen.has(e)) continue;
    seen.add(e);
    open.push(...operands(e));
  }
  return seen;
}
