// Reductions of small windows, written out: a sum over nine neighbours becomes eight additions.
//
// Such a reduction is a stencil. As a loop it would be a kernel with a pass of its own; written out it is elementwise work like any other: it
// fuses with what it reads and with what follows, and devices read what neighbouring positions have in common once.

import { type DType, isFloat } from '../base/dtype.ts';
import { sizeOf } from '../base/shape.ts';
import type { AluOp } from '../kernel/ops.ts';
import { args } from './args.ts';
import type { Described, Vertex } from './canonical.ts';
import { noInts } from './intern.ts';

/** Larger windows are looped over. */
const mostTerms = 25;

const ops: Readonly<Partial<Record<string, AluOp>>> = { sum: 'add', prod: 'mul', max: 'max', min: 'min' };

/** Types that a reduction adds up in themselves. */
const plain: ReadonlySet<DType> = new Set(['f32', 'f64', 'i32', 'u32', 'i64', 'u64']);

/** The last vertex of what takes the place of a reduction, the others added; the reduction itself where it stays one. */
export function writtenOut(reduction: Described, add: (what: Described) => Vertex): Described {
  const { op, axes } = args.reduceOf(reduction);
  const [source] = reduction.sources as [Vertex];
  const alu = ops[op];
  const terms = sizeOf(axes.map((a) => source.shape[a]!));
  const fits = alu !== undefined && plain.has(source.dtype) && terms > 1 && terms <= mostTerms;
  if (!fits || reduction.size === 0 || !reducesWindows(source, axes)) return reduction;
  const { dtype, shape, size } = reduction;
  const view = { dtype, slot: -1, value: 0 };
  const kept = source.shape.map((d, i) => (axes.includes(i) ? 1 : d));
  const ones = source.shape.map(() => 1);
  const parts = positions(source.shape, axes).map((starts) => {
    const slice = add({ ...view, op: 'slice', shape: kept, size, arg: args.slice(starts, ones), sources: [source] });
    return add({ ...view, op: 'reshape', shape, size, arg: noInts, sources: [slice] });
  });
  const join = (a: Vertex, b: Vertex): Described => ({
    ...view,
    op: 'alu',
    shape,
    size,
    arg: args.alu(alu),
    sources: [a, b],
  });
  // A sum of negative zeros is 0: it begins with that, as the loop does.
  if (op === 'sum' && isFloat(dtype))
    parts.unshift(add({ ...view, op: 'const', shape: [], size: 1, arg: noInts, sources: [] }));
  const last = parts.pop()!;
  return join(
    parts.reduce((sum, part) => add(join(sum, part))),
    last,
  );
}

/** Where along the reduced axes a term is, for all of them in row-major order; 0 along the others. */
function positions(shape: readonly number[], axes: readonly number[]): number[][] {
  return axes.reduce<number[][]>(
    (list, axis) =>
      list.flatMap((at) =>
        Array.from({ length: shape[axis]! }, (_, i) => at.map((other, j) => (j === axis ? i : other))),
      ),
    [shape.map(() => 0)],
  );
}

/** Windows are looked for so far below a reduction. */
const deepest = 4;

/** Whether some axes are those of windows: of the vertex itself, or of one that it reads element by element. */
function reducesWindows(v: Vertex, axes: readonly number[], depth = 0): boolean {
  if (depth > deepest) return false;
  const [source] = v.sources;
  switch (v.op) {
    case 'window':
      return axes.every((a) => a >= source!.shape.length);
    case 'alu':
    case 'cast':
      return v.sources.some((s) => s.shape.length === v.shape.length && reducesWindows(s, axes, depth + 1));
    case 'expand':
    case 'reshape': {
      // Axes of one element, or repeated ones, may have come before the windows.
      const moved = source!.shape.length - v.shape.length;
      const same = axes.every((a) => source!.shape[a + moved] === v.shape[a]);
      const last = axes.length === v.shape.length - axes[0]!;
      return (
        last &&
        same &&
        reducesWindows(
          source!,
          axes.map((a) => a + moved),
          depth + 1,
        )
      );
    }
    default:
      return false;
  }
}
