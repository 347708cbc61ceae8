// Kernels that work in blocks: position p takes one of a few ways, by which stretch of its block it lies in.
//
// Random numbers are such work: a draw gives two of them, 64 elements apart. Computed one by one, each makes the whole draw and keeps
// half of it. Here the axis is split where the kernel's own positions divide it, and the stretches of a block are neighbours that are
// computed together: what they have in common is computed once.

import { type Expr, Exprs } from './expr.ts';
import type { Kernel } from './kernel.ts';
import { rewriter } from './rewrite.ts';
import { alone, type Together, together } from './together.ts';
import { below } from './walk.ts';

interface Blocks {
  readonly axis: number;
  /** Stretches of a block, and elements of a stretch. */
  readonly count: number;
  readonly length: number;
}

/** At most this part of the operations may be left. */
const mostLeft = 0.8;
/** Fewer operations than this are not worth it. */
const fewest = 40;
/** Stretches that are computed together at most. */
const mostStretches = 4;
/** Divisions that are tried. */
const mostDivisions = 4;
/** Shorter stretches of the axis that vectors lie along are not whole vectors. */
const shortest = 16;

/**
 * The kernel with the stretches of its blocks computed together, by the division that leaves the fewest operations a position; null
 * where it has no blocks, or their stretches have too little in common.
 */
export function inBlocks(kernel: Kernel, b: Exprs = new Exprs()): Together | null {
  if (kernel.accumulators.length > 0) return null;
  const single = operationsOf(kernel);
  if (single < fewest) return null;
  let best: Together | null = null;
  let least = mostLeft;
  // Few at a time unless more share more: the code is shorter.
  for (const near of [...stretchesOf(kernel, b)].sort((p, q) => p.count - q.count)) {
    const left = operationsOf(near.kernel) / (near.count * single);
    if (left < 0.9 * least) [best, least] = [near, left];
  }
  return best;
}

/** An axis of a few positions before a long one, and axes that the kernel divides so. */
function* stretchesOf(kernel: Kernel, b: Exprs): Generator<Together, void> {
  const { space } = kernel;
  const last = space.findLastIndex((d) => d !== 1);
  const few = space.findLastIndex((d, axis) => axis < last && d > 1);
  if (few >= 0 && space[few]! <= mostStretches && space[last]! >= shortest)
    yield together(alone(kernel), few, space[few]!, b);
  const seen = new Set<string>();
  for (const blocks of blocksOf(kernel, last)) {
    const { axis, count, length } = blocks;
    const key = `${axis} ${count} ${length}`;
    if (seen.has(key) || seen.size === mostDivisions) continue;
    seen.add(key);
    yield length === 1
      ? together(alone(kernel), axis, count, b)
      : together(alone(split(kernel, blocks, b)), axis + 1, count, b);
  }
}

/** Operations on values; what is done with positions does not count. */
function operationsOf({ outputs }: Kernel): number {
  let n = 0;
  for (const e of below(outputs.map((o) => o.value))) if (e.kind === 'alu' && e.type !== 'index') n++;
  return n;
}

/** Axes of which the kernel asks which stretch of its block a position is in: (p div length) mod count. */
function* blocksOf({ space, outputs }: Kernel, last: number): Generator<Blocks, void> {
  for (const e of below(outputs.map((o) => o.value))) {
    if (e.kind !== 'alu' || e.type !== 'index' || (e.op !== 'imod' && e.op !== 'idiv')) continue;
    // The last division of all leaves the number of the stretch itself.
    const [stretch, count] = e.op === 'imod' ? dividedBy(e) : [e, 0];
    const [position, length] = stretch?.kind === 'alu' && stretch.op === 'idiv' ? dividedBy(stretch) : [stretch, 1];
    if (position?.kind !== 'axis' || position.axis >= space.length || length === 0) continue;
    const { axis, size } = position;
    const stretches = count || size / length;
    const few = Number.isInteger(stretches) && stretches > 1 && stretches <= mostStretches;
    const fits = few && size % (length * stretches) === 0;
    if (fits && (axis !== last || length >= shortest)) yield { axis, count: stretches, length };
  }
}

/** What is divided, and by which number; 0 if that is not known. */
const dividedBy = ({ src }: { readonly src: readonly Expr[] }): readonly [Expr | undefined, number] => [
  src[0],
  src[1]?.kind === 'const' ? Number(src[1].value) : 0,
];

/** The same kernel with the axis as three: blocks, stretches of a block, elements of a stretch. */
function split(kernel: Kernel, { axis, count, length }: Blocks, b: Exprs): Kernel {
  const size = kernel.space[axis]!;
  const parts = [size / (count * length), count, length] as const;
  const rewrite = rewriter(b, (e) => {
    if (e.kind !== 'axis') return undefined;
    if (e.axis !== axis) return b.axis(e.axis < axis ? e.axis : e.axis + 2, e.size);
    const [block, stretch, element] = parts.map((n, i) => b.axis(axis + i, n)) as [Expr, Expr, Expr];
    const times = (x: Expr, n: number): Expr => b.alu('mul', x, b.const('index', n));
    return b.alu('add', b.alu('add', times(block, count * length), times(stretch, length)), element);
  });
  return {
    ...kernel,
    space: [...kernel.space.slice(0, axis), ...parts, ...kernel.space.slice(axis + 1)],
    outputs: kernel.outputs.map((o) => ({ ...o, value: rewrite(o.value) })),
  };
}
