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
  /** The kernel that has every position by itself. */
  readonly origin: Kernel;
  /** Neighbours in all. */
  readonly count: number;
  /** Axes along which they lie, and how many on each; the first counts fastest. */
  readonly steps: readonly { readonly axis: number; readonly count: number }[];
  /** Sizes of an output, and where each neighbour lies in it, seen from the first. */
  readonly sizes: readonly number[];
  readonly offsets: readonly number[];
}

/** Every position by itself. */
export const alone = (kernel: Kernel): Together => ({
  kernel,
  origin: kernel,
  count: 1,
  steps: [],
  sizes: kernel.space,
  offsets: [0],
});

/** Neighbours along an axis. */
export const countAlong = ({ steps }: Together, axis: number): number =>
  steps.find((step) => step.axis === axis)?.count ?? 1;

/** Elements of an output between one position on an axis and the next, as the kernel counts them. */
export const strideOf = (near: Together, axis: number): number =>
  sizeOf(near.sizes.slice(axis + 1)) * countAlong(near, axis);

/**
 * More of them: `axis` is one of the output's that has no neighbours yet. Where `count` does not divide its size, the last positions are left
 * out.
 */
export function together(near: Together, axis: number, count: number, b = new Exprs()): Together {
  const { kernel, sizes, offsets } = near;
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
  const stride = sizeOf(sizes.slice(axis + 1));
  return {
    kernel: {
      ...kernel,
      space: kernel.space.map((n, i) => (i === axis ? Math.floor(n / count) : n)),
      accumulators: copies.flatMap((c) => c.accumulators),
      outputs: copies.flatMap((c) => c.outputs),
    },
    origin: near.origin,
    count: near.count * count,
    steps: [...near.steps, { axis, count }],
    sizes,
    offsets: copies.flatMap((_, u) => offsets.map((offset) => offset + u * stride)),
  };
}

/** The same neighbours, those along outer axes first: what the next ones along inner axes share with them is at hand then. */
export function outerFirst({ origin, steps }: Together, b?: Exprs): Together {
  const ordered = [...steps].sort((p, q) => p.axis - q.axis);
  return ordered.reduce((near, { axis, count }) => together(near, axis, count, b), alone(origin));
}

/** Fewer loads than this are not worth it. */
const fewLoads = 9;
/** At most this part of the loads may be left. */
const mostLeft = 0.75;
/** Longer code does not stay in the instruction cache. */
const mostOperations = 1000;

/**
 * The way of computing neighbours together that leaves the fewest loads a position; null where none leaves few enough. `allowed` says
 * along which axes, and how many at a time: `near` has those that are together already.
 */
export function fewestLoads(
  near: Together,
  allowed: (axis: number, count: number) => boolean,
  b?: Exprs,
  most = mostOperations,
): Together | null {
  const loads = loadsAmong(exprsOf(near.kernel));
  if (loads < fewLoads) return null;
  let best: Together | null = null;
  let least = mostLeft;
  near.kernel.space.forEach((size, axis) => {
    for (const count of [8, 4, 2]) {
      if (size % count !== 0 || countAlong(near, axis) > 1 || !allowed(axis, count)) continue;
      const made = together(near, axis, count, b);
      const exprs = exprsOf(made.kernel);
      const left = loadsAmong(exprs) / (count * loads);
      if (exprs.size > most || left > least) continue;
      [best, least] = [made, left];
    }
  });
  return best;
}

/** A load takes as long as so many operations. */
const loadCost = 4;

/** The one of two ways to compute neighbours that takes less work a position. */
export function lessWork(a: Together, b: Together): Together {
  const work = ({ kernel, count }: Together): number => {
    const exprs = exprsOf(kernel);
    const values = [...exprs].filter((e) => e.kind === 'alu' && e.type !== 'index').length;
    return (values + loadCost * loadsAmong(exprs)) / count;
  };
  return work(b) < work(a) ? b : a;
}

/** Loads of one position. */
export const loadsEach = ({ kernel, count }: Together): number => loadsAmong(exprsOf(kernel)) / count;

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
