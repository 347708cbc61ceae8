// Movement ops: the same elements at other positions. Nothing is copied; what reads the result follows the new positions.

import type { DType } from '../base/dtype.ts';
import {
  broadcast,
  checkShape,
  normalizeAxes,
  normalizeAxis,
  type Shape,
  sameShape,
  show,
  sizeOf,
} from '../base/shape.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import { args, makeNode, type Node } from '../graph/node.ts';
import { alu, constant, expand, permute, reshape, type ScalarInput } from './build.ts';
import { Functions } from './functions.ts';
import type { Tensor } from './tensor.ts';

/** Per axis `[start, stop, step]`, a start alone, or null for the whole axis. Negative positions count from the end. */
export type SliceSpec = readonly (readonly [number | null, (number | null)?, number?] | null)[];

export abstract class Movement<D extends DType = DType> extends Functions<D> {
  /**
   * The same elements in another shape; one size may be -1.
   * @example rt.arange(6).reshape([2, -1]) // → [[0, 1, 2], [3, 4, 5]]
   */
  reshape(shape: Shape): Tensor<D> {
    return this.make<D>(reshape(this.node, inferShape(shape, this.shape)));
  }

  /**
   * All elements on one axis.
   * @example rt.tensor([[1, 2], [3, 4]]).flatten() // → [1, 2, 3, 4]
   */
  flatten(): Tensor<D> {
    return this.make<D>(reshape(this.node, [this.size]));
  }

  /**
   * Axes in another order: axis i of the result is axis `order[i]` of this tensor.
   * @example rt.tensor([[1, 2], [3, 4]]).permute([1, 0]) // → [[1, 3], [2, 4]]
   */
  permute(order: readonly number[]): Tensor<D> {
    const axes = order.map((a) => normalizeAxis(a, this.rank, 'permute'));
    if (new Set(axes).size !== this.rank || axes.length !== this.rank) {
      throw new ShapeError({
        code: 'BAD_AXIS',
        message: `permute: order ${show(order)} does not name each axis of ${show(this.shape)} once`,
        fix: `Give a permutation of 0 … ${this.rank - 1}.`,
        where: 'permute',
      });
    }
    return this.make<D>(permute(this.node, axes));
  }

  /**
   * Axes in reverse order, or in the given one.
   * @example rt.tensor([[1, 2], [3, 4]]).transpose() // → [[1, 3], [2, 4]]
   */
  transpose(order?: readonly number[]): Tensor<D> {
    return this.permute(order ?? this.shape.map((_, i) => this.rank - 1 - i));
  }

  /**
   * Two axes exchanged.
   * @example rt.zeros([2, 3, 4]).swapaxes(0, 2).shape // → [4, 3, 2]
   */
  swapaxes(a: number, b: number): Tensor<D> {
    const order = this.shape.map((_, i) => i);
    const [x, y] = [normalizeAxis(a, this.rank, 'swapaxes'), normalizeAxis(b, this.rank, 'swapaxes')];
    [order[x], order[y]] = [order[y]!, order[x]!];
    return this.permute(order);
  }

  /**
   * One axis moved to another place.
   * @example rt.zeros([2, 3, 4]).moveaxis(0, -1).shape // → [3, 4, 2]
   */
  moveaxis(from: number, to: number): Tensor<D> {
    const source = normalizeAxis(from, this.rank, 'moveaxis');
    const order = this.shape.map((_, i) => i).filter((i) => i !== source);
    order.splice(normalizeAxis(to, this.rank, 'moveaxis'), 0, source);
    return this.permute(order);
  }

  /**
   * Repeats axes of size 1 up to a shape, without copying.
   * @example rt.tensor([[1], [2]]).expand([2, 2]) // → [[1, 1], [2, 2]]
   */
  expand(shape: Shape): Tensor<D> {
    checkShape(shape, 'expand');
    if (!sameShape(broadcast(this.shape, shape, 'expand'), shape)) {
      throw new ShapeError({
        code: 'SHAPE_MISMATCH',
        message: `expand: ${show(this.shape)} cannot be expanded to ${show(shape)}`,
        fix: 'Only axes of size 1 can grow, and no axis can be dropped.',
        where: 'expand',
      });
    }
    return this.make<D>(expand(this.node, shape));
  }

  /**
   * NumPy's name for `expand`.
   * @example rt.tensor([1]).broadcastTo([2]) // → [1, 1]
   */
  broadcastTo(shape: Shape): Tensor<D> {
    return this.expand(shape);
  }

  /**
   * Without axes of size 1 (all of them, or the named ones).
   * @example rt.zeros([1, 2, 1]).squeeze().shape // → [2]
   */
  squeeze(axes?: number | readonly number[]): Tensor<D> {
    const named = axes === undefined ? null : normalizeAxes(axes, this.rank, 'squeeze');
    const bad = named?.find((a) => this.shape[a] !== 1);
    if (bad !== undefined) {
      throw new ShapeError({
        code: 'SHAPE_MISMATCH',
        message: `squeeze: axis ${bad} of ${show(this.shape)} has the size ${this.shape[bad]}`,
        fix: 'Only axes of size 1 can be removed.',
        where: 'squeeze',
      });
    }
    return this.make<D>(
      reshape(
        this.node,
        this.shape.filter((d, i) => (named ? !named.includes(i) : d !== 1)),
      ),
    );
  }

  /**
   * With a new axis of size 1.
   * @example rt.tensor([1, 2]).unsqueeze(1).shape // → [2, 1]
   */
  unsqueeze(axis: number): Tensor<D> {
    const at = normalizeAxis(axis, this.rank + 1, 'unsqueeze');
    return this.make<D>(reshape(this.node, [...this.shape.slice(0, at), 1, ...this.shape.slice(at)]));
  }

  /**
   * NumPy's name for `unsqueeze`.
   * @example rt.tensor([1, 2]).expandDims(0).shape // → [1, 2]
   */
  expandDims(axis: number): Tensor<D> {
    return this.unsqueeze(axis);
  }

  /**
   * Part of each axis, as NumPy's `x[start:stop:step]`; null keeps an axis or an end.
   * @example rt.arange(6).slice([[1, 5, 2]]) // → [1, 3]
   */
  slice(spec: SliceSpec): Tensor<D> {
    if (spec.length > this.rank) {
      throw new ShapeError({
        code: 'BAD_AXIS',
        message: `slice: ${spec.length} ranges for a tensor of shape ${show(this.shape)}`,
        fix: 'Give at most one range per axis.',
        where: 'slice',
      });
    }
    const rows = this.shape.map((size, i) => sliceAxis(spec[i] ?? null, size, i));
    return this.strided(
      rows.map((r) => r.start),
      rows.map((r) => r.step),
      rows.map((r) => r.count),
    );
  }

  private strided(starts: readonly number[], steps: readonly number[], counts: readonly number[]): Tensor<D> {
    if (sameShape(counts, this.shape) && steps.every((s) => s === 1)) return this.make<D>(this.node);
    return this.make<D>(makeNode('slice', this.dtype, counts, [this.node], args.slice(starts, steps)));
  }

  /**
   * The order of elements reversed along axes (all by default).
   * @example rt.tensor([1, 2, 3]).flip() // → [3, 2, 1]
   */
  flip(axes?: number | readonly number[]): Tensor<D> {
    const flipped = new Set(normalizeAxes(axes, this.rank, 'flip'));
    const starts = this.shape.map((d, i) => (flipped.has(i) ? Math.max(0, d - 1) : 0));
    const steps = this.shape.map((d, i) => (flipped.has(i) && d > 1 ? -1 : 1));
    return this.strided(starts, steps, this.shape);
  }

  /**
   * Elements moved along an axis; what leaves at one end enters at the other.
   * @example rt.tensor([1, 2, 3]).roll(1, 0) // → [3, 1, 2]
   */
  roll(shift: number | readonly number[], axis: number | readonly number[]): Tensor<D> {
    const shifts = typeof shift === 'number' ? [shift] : shift;
    const axes = (typeof axis === 'number' ? [axis] : axis).map((a) => normalizeAxis(a, this.rank, 'roll'));
    if (shifts.length !== axes.length || shifts.some((s) => !Number.isSafeInteger(s))) {
      throw new ArgumentError({
        code: 'BAD_SHIFT',
        message: `roll: shifts ${show(shifts)} for axes ${show(axes)}`,
        fix: 'Give one whole number per axis.',
        where: 'roll',
      });
    }
    const total = this.shape.map(() => 0);
    axes.forEach((a, i) => {
      const n = this.shape[a]!;
      if (n > 0) total[a] = (((total[a]! + shifts[i]!) % n) + n) % n;
    });
    if (total.every((s) => s === 0)) return this.make<D>(this.node);
    return this.make<D>(makeNode('roll', this.dtype, this.shape, [this.node], args.list(total)));
  }

  /**
   * A border of `value` around the elements: `[before, after]` per axis.
   * @example rt.tensor([1, 2]).pad([[1, 2]]) // → [0, 1, 2, 0, 0]
   */
  pad(widths: readonly (readonly [number, number])[], value: ScalarInput = 0): Tensor<D> {
    const flat = widths.flat();
    if (widths.length !== this.rank || flat.some((w) => !Number.isSafeInteger(w) || w < 0)) {
      throw new ShapeError({
        code: 'BAD_PAD',
        message: `pad: widths ${JSON.stringify(widths)} for a tensor of shape ${show(this.shape)}`,
        fix: 'Give [before, after] for every axis, whole numbers of zero or more.',
        where: 'pad',
      });
    }
    if (flat.every((w) => w === 0)) return this.make<D>(this.node);
    const shape = this.shape.map((d, i) => d + widths[i]![0] + widths[i]![1]);
    const fill = constant(this.dtype, value);
    return this.make<D>(makeNode('pad', this.dtype, shape, [this.node, fill], args.list(widths.map((w) => w[0]))));
  }

  /**
   * The whole tensor repeated along each axis.
   * @example rt.tensor([1, 2]).tile([2]) // → [1, 2, 1, 2]
   */
  tile(reps: readonly number[]): Tensor<D> {
    checkShape(reps, 'tile');
    const rank = Math.max(reps.length, this.rank);
    const shape = [...new Array(rank - this.rank).fill(1), ...this.shape];
    const times = [...new Array(rank - reps.length).fill(1), ...reps];
    const split = shape.flatMap((d) => [1, d]);
    const repeated = shape.flatMap((d, i) => [times[i], d]);
    return this.make<D>(
      reshape(
        expand(reshape(this.node, split), repeated),
        shape.map((d, i) => d * times[i]),
      ),
    );
  }

  /**
   * Each element repeated `times` times along an axis.
   * @example rt.tensor([1, 2]).repeat(2, 0) // → [1, 1, 2, 2]
   */
  repeat(times: number, axis: number): Tensor<D> {
    checkShape([times], 'repeat');
    const a = normalizeAxis(axis, this.rank, 'repeat');
    const [before, after] = [this.shape.slice(0, a), this.shape.slice(a + 1)];
    const d = this.shape[a]!;
    const spread = expand(reshape(this.node, [...before, d, 1, ...after]), [...before, d, times, ...after]);
    return this.make<D>(reshape(spread, [...before, d * times, ...after]));
  }

  /**
   * Cuts an axis into equal parts, or at the given positions.
   * @example rt.arange(4).split(2, 0)[1] // → [2, 3]
   */
  split(parts: number | readonly number[], axis: number): Tensor<D>[] {
    const a = normalizeAxis(axis, this.rank, 'split');
    const d = this.shape[a]!;
    if (typeof parts === 'number' && (!Number.isInteger(parts) || parts < 1 || d % parts !== 0)) {
      throw new ShapeError({
        code: 'BAD_SPLIT',
        message: `split: axis ${a} of ${show(this.shape)} cannot be cut into ${parts} equal parts`,
        fix: 'Use a divisor of the size, or give the positions to cut at.',
        where: 'split',
      });
    }
    const cuts =
      typeof parts === 'number' ? Array.from({ length: parts - 1 }, (_, i) => ((i + 1) * d) / parts) : [...parts];
    const edges = [0, ...cuts, d];
    return edges.slice(1).map((end, i) => {
      const spec = this.shape.map((_, j) => (j === a ? ([edges[i]!, end] as const) : null));
      return this.slice(spec);
    });
  }

  /**
   * The elements on a diagonal of the last two axes.
   * @example rt.tensor([[1, 2], [3, 4]]).diagonal() // → [1, 4]
   */
  diagonal(offset = 0): Tensor<D> {
    const [rows, columns] = lastTwo(this.shape, 'diagonal');
    const length = Math.max(0, Math.min(rows + Math.min(offset, 0), columns - Math.max(offset, 0)));
    const first = offset >= 0 ? offset : -offset * columns;
    const lead = this.shape.slice(0, -2);
    const flat = this.reshape([...lead, rows * columns]);
    const whole = lead.map(() => null);
    return flat.slice([
      ...whole,
      length === 0 ? [0, 0] : [first, first + (length - 1) * (columns + 1) + 1, columns + 1],
    ]);
  }

  /**
   * Elements on and below diagonal k of the last two axes; zero elsewhere.
   * @example rt.tensor([[1, 2], [3, 4]]).tril() // → [[1, 0], [3, 4]]
   */
  tril(k = 0): Tensor<D> {
    return this.triangle(k, true, 'tril');
  }

  /**
   * Elements on and above diagonal k of the last two axes; zero elsewhere.
   * @example rt.tensor([[1, 2], [3, 4]]).triu() // → [[1, 2], [0, 4]]
   */
  triu(k = 0): Tensor<D> {
    return this.triangle(k, false, 'triu');
  }

  private triangle(k: number, lower: boolean, where: string): Tensor<D> {
    lastTwo(this.shape, where);
    const inside = triangleMask(this.shape, k, lower);
    return this.make<D>(alu('where', inside, this.node, expand(constant(this.dtype, 0), this.shape)));
  }
}

/** A bool node: column ≤ row + k (lower) or column ≥ row + k (upper) on the last two axes. */
export function triangleMask(shape: Shape, k: number, lower: boolean): Node {
  const rank = shape.length;
  const row = alu('add', makeNode('iota', 'i32', shape, [], args.axis(rank - 2)), constant('i32', k));
  const column = makeNode('iota', 'i32', shape, [], args.axis(rank - 1));
  return lower ? alu('le', column, row) : alu('le', row, column);
}

function lastTwo(shape: Shape, where: string): [number, number] {
  if (shape.length >= 2) return [shape[shape.length - 2]!, shape[shape.length - 1]!];
  throw new ShapeError({
    code: 'BAD_RANK',
    message: `${where}: needs a tensor of rank 2 or more, got ${show(shape)}`,
    fix: 'Reshape it to a matrix first.',
    where,
  });
}

function inferShape(shape: Shape, from: Shape): Shape {
  const size = sizeOf(from);
  const known = shape.filter((d) => d !== -1);
  checkShape(known, 'reshape');
  const rest = sizeOf(known);
  const open = shape.length - known.length;
  const missing = rest === 0 ? 0 : size / rest;
  if (open > 1 || (open === 1 ? !Number.isInteger(missing) || (rest === 0 && size !== 0) : rest !== size)) {
    throw new ShapeError({
      code: 'SHAPE_MISMATCH',
      message: `reshape: ${size} elements of ${show(from)} do not fit ${show(shape)}`,
      fix: 'The sizes must have the same product; one of them may be -1.',
      where: 'reshape',
    });
  }
  return shape.map((d) => (d === -1 ? missing : d));
}

function sliceAxis(
  spec: SliceSpec[number],
  size: number,
  axis: number,
): { start: number; step: number; count: number } {
  const [from, to, step = 1] = spec ?? [null];
  for (const v of [from ?? 0, to ?? 0, step]) {
    if (!Number.isSafeInteger(v) || step === 0) {
      throw new ArgumentError({
        code: 'BAD_SLICE',
        message: `slice: range ${JSON.stringify(spec)} on axis ${axis}`,
        fix: 'Start, stop and step must be whole numbers, and the step not zero.',
        where: 'slice',
      });
    }
  }
  // Python's rules: negative positions count from the end, and everything is clamped.
  const clamp = (v: number, lo: number, hi: number) => Math.max(lo, Math.min(hi, v < 0 ? v + size : v));
  const start =
    from === null || from === undefined
      ? step > 0
        ? 0
        : size - 1
      : step > 0
        ? clamp(from, 0, size)
        : clamp(from, -1, size - 1);
  const stop =
    to === null || to === undefined ? (step > 0 ? size : -1) : step > 0 ? clamp(to, 0, size) : clamp(to, -1, size - 1);
  const count = Math.max(0, Math.ceil((stop - start) / step));
  return { start: count === 0 ? 0 : start, step: count <= 1 ? 1 : step, count };
}
