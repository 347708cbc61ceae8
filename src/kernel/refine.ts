// Kernels over the same positions in other shapes, brought to the same axes.
//
// A group norm reduces [128, 8192] and then scales [4, 256, 1024]: both are [4, 32, 8, 1024]. Axes are only split, so the order of
// positions stays as it was, and every value with it.

import { sizeOf } from '../base/shape.ts';
import { type Expr, Exprs } from './expr.ts';
import type { Kernel } from './kernel.ts';
import { rewriter } from './rewrite.ts';

/** The coarsest sizes of which both lists are products of neighbours; null where there are none. Sizes of 1 disappear. */
export function commonSizes(a: readonly number[], b: readonly number[]): number[] | null {
  if (sizeOf(a) !== sizeOf(b)) return null;
  const ends = [...new Set([...endsOf(a), ...endsOf(b)])].sort((p, q) => p - q);
  const sizes: number[] = [];
  for (const [i, end] of ends.entries()) {
    const before = ends[i - 1] ?? 1;
    if (end % before !== 0) return null;
    if (end > before) sizes.unshift(end / before);
  }
  return sizes;
}

/** Elements from the end up to the beginning of each axis. */
function endsOf(sizes: readonly number[]): number[] {
  let n = 1;
  return [...sizes].reverse().map((d) => (n *= d));
}

/** The kernel with its axes split into `sizes`, of which each of its axes is the product of some neighbours. */
export function refine(kernel: Kernel, sizes: readonly number[]): Kernel {
  const own = [...kernel.space, ...kernel.reduced];
  if (own.length === sizes.length && own.every((d, i) => d === sizes[i])) return kernel;
  const b = new Exprs();
  const parts: Expr[] = [];
  const counts: number[] = [];
  let next = 0;
  for (const size of own) {
    const first = next;
    let [position, product]: [Expr, number] = [b.const('index', 0), 1];
    while (product < size) {
      const d = sizes[next]!;
      position = b.alu('add', b.alu('mul', position, b.const('index', d)), b.axis(next, d));
      product *= d;
      next++;
    }
    parts.push(position);
    counts.push(next - first);
  }
  const rewrite = rewriter(b, (e) => (e.kind === 'axis' ? parts[e.axis]! : undefined));
  const inSpace = counts.slice(0, kernel.space.length).reduce((n, c) => n + c, 0);
  return {
    ...kernel,
    space: sizes.slice(0, inSpace),
    reduced: sizes.slice(inSpace),
    accumulators: kernel.accumulators.map((a) => ({ ...a, value: rewrite(a.value) })),
    outputs: kernel.outputs.map((o) => ({ ...o, value: rewrite(o.value) })),
  };
}
