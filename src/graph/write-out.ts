// Short reductions, written out: a sum over nine neighbours becomes eight additions.
//
// A reduction of small windows is a stencil; one of a few values that are computed from smaller ones, such as the square of the distance between
// any two points, is an expression of these. As a loop it would be a kernel with a pass of its own; written out it is elementwise work like any
// other: it fuses with what it reads and with what follows, and devices read what neighbouring positions have in common once.

import { type DType, isFloat } from '../base/dtype.ts';
import { sizeOf } from '../base/shape.ts';
import type { AluOp } from '../kernel/ops.ts';
import { args } from './args.ts';
import type { Described, Vertex } from './canonical.ts';
import { noInts } from './intern.ts';
import { codeWeight } from './regions.ts';

/** Larger windows are looped over. */
const mostTerms = 25;

/** How much code a reduction that is no window may become. */
const mostWeight = 128;

const ops: Readonly<Partial<Record<string, AluOp>>> = { sum: 'add', prod: 'mul', max: 'max', min: 'min' };

/** Types that a reduction adds up in themselves; those of 16 bits are added up in f32. */
const plain: ReadonlySet<DType> = new Set(['f32', 'f64', 'i32', 'u32', 'i64', 'u64']);
const isHalf = (dtype: DType): boolean => dtype === 'f16' || dtype === 'bf16';

/** The last vertex of what takes the place of a reduction, the others added; the reduction itself where it stays one. */
export function writtenOut(reduction: Described, add: (what: Described) => Vertex): Described {
  const { op, axes } = args.reduceOf(reduction);
  const [source] = reduction.sources as [Vertex];
  const alu = ops[op];
  const terms = sizeOf(axes.map((a) => source.shape[a]!));
  const half = isHalf(source.dtype);
  const fits = alu !== undefined && (half || plain.has(source.dtype)) && terms > 1 && terms <= mostTerms;
  if (!fits || reduction.size === 0) return reduction;
  if (!reducesWindows(source, axes) && !(spreadWeight(source) * terms <= mostWeight)) return reduction;
  const { shape, size } = reduction;
  const dtype = half ? 'f32' : reduction.dtype;
  const view = { dtype: source.dtype, slot: -1, value: 0 };
  const cast = (to: DType, of: Vertex): Described => ({
    op: 'cast',
    dtype: to,
    shape,
    size,
    arg: noInts,
    slot: -1,
    value: 0,
    sources: [of],
  });
  const kept = source.shape.map((d, i) => (axes.includes(i) ? 1 : d));
  const ones = source.shape.map(() => 1);
  const parts = positions(source.shape, axes).map((starts) => {
    const slice = add({ ...view, op: 'slice', shape: kept, size, arg: args.slice(starts, ones), sources: [source] });
    const part = add({ ...view, op: 'reshape', shape, size, arg: noInts, sources: [slice] });
    return half ? add(cast(dtype, part)) : part;
  });
  const join = (a: Vertex, b: Vertex): Described => ({
    ...view,
    op: 'alu',
    dtype,
    shape,
    size,
    arg: args.alu(alu),
    sources: [a, b],
  });
  // A sum of negative zeros is 0: it begins with that, as the loop does.
  if (op === 'sum' && isFloat(dtype))
    parts.unshift(add({ ...view, op: 'const', dtype, shape: [], size: 1, arg: noInts, sources: [] }));
  const last = parts.pop()!;
  const whole = join(
    parts.reduce((sum, part) => add(join(sum, part))),
    last,
  );
  return half ? cast(reduction.dtype, add(whole)) : whole;
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

/** How far below a reduction is looked. */
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

/** The code of a value that is computed from smaller ones only, each of them needed at several positions; endless for any other. */
function spreadWeight(v: Vertex, depth = 0): number {
  if (v.size === 1) return 0;
  switch (v.op) {
    case 'expand': {
      const from = v.sources[0]!.size;
      return from > 1 && 2 * from <= v.size ? 0 : Number.POSITIVE_INFINITY;
    }
    case 'alu':
    case 'cast':
      return depth > deepest
        ? Number.POSITIVE_INFINITY
        : v.sources.reduce((sum, s) => sum + spreadWeight(s, depth + 1), codeWeight(v));
    default:
      return Number.POSITIVE_INFINITY;
  }
}
