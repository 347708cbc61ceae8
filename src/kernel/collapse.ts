// Merges neighbouring axes that every expression walks through as one.
//
// Plain elementwise work over [32, 32, 32, 64] becomes one axis of 2,097,152. Two neighbours may merge if each position
// computed from them moves n times as far along the outer one as along the inner one, n being the inner size.

import { linear } from './bounds.ts';
import { type Expr, Exprs } from './expr.ts';
import { rewriter } from './rewrite.ts';
import { operands } from './walk.ts';

export interface Nest {
  readonly space: readonly number[];
  readonly reduced: readonly number[];
}

/**
 * The merged nest and a function that rewrites an expression for it. Axes of size 1 disappear; an output space of one
 * element, and a reduction over one, keep a single axis of size 1.
 */
export function collapse(nest: Nest, roots: readonly Expr[]): Nest & { readonly rewrite: (e: Expr) => Expr } {
  const sizes = [...nest.space, ...nest.reduced];
  const boundary = nest.space.length;
  const live = sizes.flatMap((size, i) => (size !== 1 ? [i] : []));
  const breaks = findBreaks(sizes, live, roots);
  // Per live axis: the run of merged axes it belongs to, and whether it is the innermost of that run.
  const runs: number[][] = [];
  live.forEach((axis, k) => {
    const before = live[k - 1];
    if (before === undefined || breaks.has(axis) || before < boundary !== axis < boundary) runs.push([axis]);
    else runs[runs.length - 1]!.push(axis);
  });
  const sizeOfRun = (run: readonly number[]) => run.reduce((n, axis) => n * sizes[axis]!, 1);
  const inSpace = runs.filter((run) => run[0]! < boundary);
  const inReduced = runs.filter((run) => run[0]! >= boundary);
  const space = inSpace.length > 0 ? inSpace.map(sizeOfRun) : [1];
  const reduced = inReduced.length > 0 || nest.reduced.length === 0 ? inReduced.map(sizeOfRun) : [1];
  const target = new Map<number, number>();
  inSpace.forEach((run, i) => {
    target.set(run[run.length - 1]!, i);
  });
  inReduced.forEach((run, i) => {
    target.set(run[run.length - 1]!, space.length + i);
  });
  const b = new Exprs();
  const rewrite = rewriter(b, (e) => {
    if (e.kind !== 'axis') return undefined;
    // The innermost of a merged run carries the whole position; the others are contained in it.
    const axis = target.get(e.axis);
    return axis === undefined ? b.const('index', 0) : b.axis(axis, [...space, ...reduced][axis]!);
  });
  return { space, reduced, rewrite };
}

/** The live axes that may not merge with the live axis before them. */
function findBreaks(sizes: readonly number[], live: readonly number[], roots: readonly Expr[]): Set<number> {
  const breaks = new Set<number>();
  const seen = new Set<Expr>();
  const stack = [...roots];
  for (let e = stack.pop(); e; e = stack.pop()) {
    if (seen.has(e)) continue;
    seen.add(e);
    if (e.type !== 'index') {
      stack.push(...operands(e));
      continue;
    }
    const coefficients = new Array<number>(sizes.length).fill(0);
    for (const [term, k] of linear(e).terms) {
      if (term.kind === 'axis') coefficients[term.axis] = k;
      else stack.push(...operands(term));
    }
    for (let k = 1; k < live.length; k++) {
      const [outer, inner] = [live[k - 1]!, live[k]!];
      if (coefficients[outer] !== coefficients[inner]! * sizes[inner]!) breaks.add(inner);
    }
  }
  return breaks;
}
