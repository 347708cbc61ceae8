// Views of nodes: the same elements at other positions. What the movement methods and ops made of them are built from.
//
// Arguments are checked before anything is built; `where` names the public call in errors.

import { checkWhole, shown } from '../base/arguments.ts';
import { checkCount, checkShape, type Shape, sameShape, show, sizeOf } from '../base/shape.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import { args } from '../graph/args.ts';
import { makeNode, type Node } from '../graph/node.ts';
import { alu, constant, constantFrom, expand, positionType, reshape, type ScalarInput } from './build.ts';

/** Per axis `[start, stop, step]`, a start alone, or null for the whole axis. Negative positions count from the end. */
export type SliceSpec = readonly (readonly [number | null, (number | null)?, number?] | null)[];

/** Part of each axis, as NumPy's `x[start:stop:step]`. */
export function sliced(x: Node, spec: SliceSpec, where: string): Node {
  const shape = x.shape.quick;
  if (!Array.isArray(spec) || spec.length > shape.length) {
    throw new ShapeError({
      code: 'BAD_AXIS',
      message: `${where}: ${Array.isArray(spec) ? spec.length : String(spec)} ranges for a tensor of shape ${show(shape)}`,
      fix: 'Give an array with at most one range per axis.',
      where,
    });
  }
  const rank = shape.length;
  const starts = new Array<number>(rank);
  const steps = new Array<number>(rank);
  const counts = new Array<number>(rank);
  for (let i = 0; i < rank; i++) {
    const { start, step, count } = sliceAxis(i < spec.length ? spec[i]! : null, shape[i]!, i, where);
    starts[i] = start;
    steps[i] = step;
    counts[i] = count;
  }
  return strided(x, starts, steps, counts);
}

/** `counts` elements of each axis, from `starts` in `steps`. */
export function strided(x: Node, starts: readonly number[], steps: readonly number[], counts: readonly number[]): Node {
  if (sameShape(counts, x.shape.quick) && areOnes(steps)) return x;
  return makeNode('slice', x.dtype, counts, [x], args.slice(starts, steps));
}

function areOnes(steps: readonly number[]): boolean {
  for (let i = 0; i < steps.length; i++) if (steps[i] !== 1) return false;
  return true;
}

/** A border of `value`: `[before, after]` per axis. */
export function padded(
  x: Node,
  widths: readonly (readonly [number, number])[],
  value: ScalarInput,
  where: string,
): Node {
  const shape = x.shape.values;
  const isWidth = (w: unknown): boolean => Number.isSafeInteger(w) && (w as number) >= 0;
  const isPair = (pair: unknown): boolean => Array.isArray(pair) && pair.length === 2 && pair.every(isWidth);
  if (!Array.isArray(widths) || widths.length !== shape.length || !widths.every(isPair)) {
    throw new ShapeError({
      code: 'BAD_PAD',
      message: `${where}: widths ${shown(widths)} for a tensor of shape ${show(shape)}`,
      fix: 'Give [before, after] for every axis, whole numbers of zero or more.',
      where,
    });
  }
  const fill = constantFrom(x.dtype, value, where);
  if (widths.every(([before, after]) => before + after === 0)) return x;
  const grown = checkCount(
    shape.map((d, i) => d + widths[i]![0] + widths[i]![1]),
    where,
  );
  return makeNode('pad', x.dtype, grown, [x, fill], args.list(widths.map((w) => w[0])));
}

/** The whole tensor `reps` times along each axis. */
export function tiled(x: Node, reps: readonly number[], where: string): Node {
  checkShape(reps, where);
  const own = x.shape.values;
  const rank = Math.max(reps.length, own.length);
  const shape = [...new Array<number>(rank - own.length).fill(1), ...own];
  const times = [...new Array<number>(rank - reps.length).fill(1), ...reps];
  const result = checkCount(
    shape.map((d, i) => d * times[i]!),
    where,
  );
  const spread = expand(
    reshape(
      x,
      shape.flatMap((d) => [1, d]),
    ),
    shape.flatMap((d, i) => [times[i]!, d]),
  );
  return reshape(spread, result);
}

/** Each element `times` times along an axis. */
export function repeated(x: Node, times: number, axis: number, where: string): Node {
  checkShape([times], where);
  const shape = x.shape.values;
  const [before, d, after] = [shape.slice(0, axis), shape[axis]!, shape.slice(axis + 1)];
  const result = checkCount([...before, d * times, ...after], where);
  return reshape(expand(reshape(x, [...before, d, 1, ...after]), [...before, d, times, ...after]), result);
}

/** The elements on a diagonal of the last two axes. */
export function diagonalOf(x: Node, offset: number, where: string): Node {
  checkWhole(offset, 'offset', where);
  const shape = x.shape.quick;
  const [rows, columns] = lastTwo(shape, where);
  const length = Math.max(0, Math.min(rows + Math.min(offset, 0), columns - Math.max(offset, 0)));
  const first = offset >= 0 ? offset : -offset * columns;
  const lead = shape.slice(0, -2);
  const each = (of: number, last: number): number[] => [...lead.map(() => of), last];
  return strided(reshape(x, [...lead, rows * columns]), each(0, first), each(1, columns + 1), [...lead, length]);
}

/** A bool node: column ≤ row + k (lower) or column ≥ row + k (upper) on the last two axes. */
export function triangleMask(shape: Shape, k: number, lower: boolean): Node {
  const [row, column] = rowAndColumn(shape, k);
  return lower ? alu('le', column, row) : alu('le', row, column);
}

/** A bool node: column = row + k on the last two axes. */
export function diagonalMask(shape: Shape, k: number): Node {
  const [row, column] = rowAndColumn(shape, k);
  return alu('eq', column, row);
}

/** The row plus k, and the column, at every position of the last two axes. */
function rowAndColumn(shape: Shape, k: number): [Node, Node] {
  const rank = shape.length;
  const [rows, columns] = [shape[rank - 2]!, shape[rank - 1]!];
  // A diagonal beyond the corners is the same as one just outside: so positions stay small.
  const near = Math.max(-rows, Math.min(columns, k));
  const type = positionType(rows + columns);
  const row = makeNode('iota', type, shape, [], args.axis(rank - 2));
  const column = makeNode('iota', type, shape, [], args.axis(rank - 1));
  return [alu('add', row, constant(type, near)), column];
}

/** The sizes of the last two axes. */
export function lastTwo(shape: Shape, where: string): [number, number] {
  if (shape.length >= 2) return [shape[shape.length - 2]!, shape[shape.length - 1]!];
  throw new ShapeError({
    code: 'BAD_RANK',
    message: `${where}: needs a tensor of rank 2 or more, got ${show(shape)}`,
    fix: 'Reshape it to a matrix first.',
    where,
  });
}

/** Whether sizes are all given, and of so many elements. */
function isShapeOf(shape: Shape, size: number): boolean {
  if (!Array.isArray(shape)) return false;
  let n = 1;
  for (let i = 0; i < shape.length; i++) {
    const d = shape[i];
    if (!Number.isSafeInteger(d) || d < 0) return false;
    n *= d;
  }
  return n === size;
}

/** A shape in which one size may be -1, for the elements of another. */
export function inferShape(shape: Shape, from: Shape): Shape {
  const size = sizeOf(from);
  if (isShapeOf(shape, size)) return shape;
  const known = Array.isArray(shape) ? shape.filter((d) => d !== -1) : shape;
  checkShape(known, 'reshape');
  const rest = sizeOf(known);
  const open = shape.length - known.length;
  // Beside a size of 0 any size would do: there is nothing to infer from.
  const fits = open === 0 ? rest === size : open === 1 && rest > 0 && size % rest === 0;
  if (!fits) {
    throw new ShapeError({
      code: 'SHAPE_MISMATCH',
      message: `reshape: ${size} elements of ${show(from)} do not fit ${show(shape)}`,
      fix: 'The sizes must have the same product; one of them may be -1 if no other is 0.',
      where: 'reshape',
    });
  }
  return shape.map((d) => (d === -1 ? size / rest : d));
}

const clamped = (v: number, size: number, lo: number, hi: number): number =>
  Math.max(lo, Math.min(hi, v < 0 ? v + size : v));

function sliceAxis(
  spec: SliceSpec[number],
  size: number,
  axis: number,
  where: string,
): { start: number; step: number; count: number } {
  if (spec === null || spec === undefined) return { start: 0, step: 1, count: size };
  const from = Array.isArray(spec) ? spec[0] : Number.NaN;
  const to = spec[1];
  const third = spec.length > 2 ? spec[2] : undefined;
  const step = third === undefined ? 1 : third;
  const whole = Number.isSafeInteger(from ?? 0) && Number.isSafeInteger(to ?? 0) && Number.isSafeInteger(step);
  if (!whole || step === 0) {
    throw new ArgumentError({
      code: 'BAD_SLICE',
      message: `${where}: range ${shown(spec)} on axis ${axis}`,
      fix: 'Start, stop and step must be whole numbers, and the step not zero.',
      where,
    });
  }
  // Python's rules: negative positions count from the end, and everything is clamped.
  const [lo, hi] = step > 0 ? [0, size] : [-1, size - 1];
  const start = from === null || from === undefined ? (step > 0 ? lo : hi) : clamped(from, size, lo, hi);
  const stop = to === null || to === undefined ? (step > 0 ? hi : lo) : clamped(to, size, lo, hi);
  const count = Math.max(0, Math.ceil((stop - start) / step));
  return { start: count === 0 ? 0 : start, step: count <= 1 ? 1 : step, count };
}
