// Movement ops: the same elements at other positions. Nothing is copied; what reads the result follows the new positions.

import { checkWhole } from '../base/arguments.ts';
import type { DType } from '../base/dtype.ts';
import { broadcast, checkShape, normalizeAxes, normalizeAxis, type Shape, sameShape, show } from '../base/shape.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import { args } from '../graph/args.ts';
import { makeNode } from '../graph/node.ts';
import { alu, constant, expand, permute, reshape, type ScalarInput } from './build.ts';
import { TensorCore } from './core.ts';
import { Functions } from './functions.ts';
import type { Tensor } from './tensor.ts';
import {
  diagonalOf,
  inferShape,
  lastTwo,
  padded,
  repeated,
  type SliceSpec,
  sliced,
  strided,
  tiled,
  triangleMask,
} from './views.ts';
import { type Position, rolledBy, slicedAt } from './views-at.ts';

const notAList = (shape: Shape): ShapeError =>
  new ShapeError({
    code: 'SHAPE_MISMATCH',
    message: `sliceAt: starts of shape ${show(shape)}`,
    fix: 'Give a tensor of rank 1 with one start per axis, or an array of starts.',
    where: 'sliceAt',
  });

export abstract class Movement<D extends DType = DType> extends Functions<D> {
  /**
   * The same elements in another shape; one size may be -1.
   * @example rt.arange(6).reshape([2, -1]) // → [[0, 1, 2], [3, 4, 5]]
   */
  reshape(shape: Shape): Tensor<D> {
    return this.make<D>(reshape(this.node, inferShape(shape, this.node.shape.quick)));
  }

  /**
   * All elements on one axis.
   * @example rt.tensor([[1, 2], [3, 4]]).flatten() // → [1, 2, 3, 4]
   */
  flatten(): Tensor<D> {
    return this.make<D>(reshape(this.node, [this.size]));
  }

  /**
   * NumPy's name for `flatten`.
   * @example rt.tensor([[1, 2], [3, 4]]).ravel() // → [1, 2, 3, 4]
   */
  ravel(): Tensor<D> {
    return this.flatten();
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
    return order === undefined ? this.make<D>(permute(this.node, reversed(this.rank))) : this.permute(order);
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
    return this.make<D>(sliced(this.node, spec, 'slice'));
  }

  /**
   * Parts of fixed sizes that begin where `starts` says: numbers, integer tensors of one element, or one tensor with a start per
   * axis. In a compiled function all positions share one program. Starts below 0 count from the end; a part that would reach
   * beyond its axis begins as late as it can, as in `jax.lax.dynamic_slice`. Axes that are not named are kept whole.
   * @example rt.arange(6).sliceAt([rt.tensor([2], [1], { dtype: 'i32' })], [3]) // → [2, 3, 4]
   * @example rt.arange(6).sliceAt(rt.tensor([5], [1], { dtype: 'i32' }), [3]) // → [3, 4, 5]
   */
  sliceAt(starts: Tensor | readonly (number | Tensor)[], sizes: readonly number[]): Tensor<D> {
    return this.make<D>(slicedAt(this.node, this.startsOf(starts), sizes, 'sliceAt'));
  }

  private startsOf(starts: Tensor | readonly (number | Tensor)[]): Position[] {
    if (!(starts instanceof TensorCore))
      return (starts as readonly (number | Tensor)[]).map((s) =>
        typeof s === 'number' ? s : this.sibling(s, 'sliceAt').node,
      );
    const { node } = this.sibling(starts, 'sliceAt');
    const { values } = node.shape;
    if (values.length > 1) throw notAList(values);
    return values.length === 0 ? [node] : Array.from({ length: node.size }, (_, i) => strided(node, [i], [1], [1]));
  }

  /**
   * The order of elements reversed along axes (all by default).
   * @example rt.tensor([1, 2, 3]).flip() // → [3, 2, 1]
   */
  flip(axes?: number | readonly number[]): Tensor<D> {
    const flipped = new Set(normalizeAxes(axes, this.rank, 'flip'));
    const shape = this.node.shape.quick;
    const starts = shape.map((d, i) => (flipped.has(i) ? Math.max(0, d - 1) : 0));
    const steps = shape.map((d, i) => (flipped.has(i) && d > 1 ? -1 : 1));
    return this.make<D>(strided(this.node, starts, steps, shape));
  }

  /**
   * Elements moved along an axis; what leaves at one end enters at the other. Without an axis: as one row of all elements. One
   * shift serves several axes. A shift may be an integer tensor of one element.
   * @example rt.tensor([1, 2, 3]).roll(1, 0) // → [3, 1, 2]
   * @example rt.tensor([[1, 2], [3, 4]]).roll(1) // → [[4, 1], [2, 3]]
   * @example rt.tensor([1, 2, 3]).roll(rt.tensor([-1], [1], { dtype: 'i32' }), 0) // → [2, 3, 1]
   */
  roll(shift: number | Tensor | readonly (number | Tensor)[], axis?: number | readonly number[]): Tensor<D> {
    if (axis === undefined) {
      using row = this.flatten();
      using rolled = row.roll(shift, 0);
      return rolled.reshape(this.shape);
    }
    const named = typeof axis === 'number' ? [axis] : axis;
    const each = Array.isArray(shift) ? (shift as readonly (number | Tensor)[]) : [shift as number | Tensor];
    // As NumPy has it, one of them serves all of the other.
    const given = each.length === 1 ? named.map(() => each[0]!) : each;
    const data = given.map((s) => (typeof s === 'number' ? null : this.sibling(s, 'roll').node));
    const shifts = given.map((s) => (typeof s === 'number' ? s : 0));
    const axes = (named.length === 1 ? given.map(() => named[0]!) : named).map((a) =>
      normalizeAxis(a, this.rank, 'roll'),
    );
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
    const still = total.every((s) => s === 0);
    let node = still ? this.node : makeNode('roll', this.dtype, this.shape, [this.node], args.list(total));
    data.forEach((by, i) => {
      if (by) node = rolledBy(node, by, axes[i]!, 'roll');
    });
    return this.make<D>(node);
  }

  /**
   * A border of `value` around the elements: `[before, after]` per axis.
   * @example rt.tensor([1, 2]).pad([[1, 2]]) // → [0, 1, 2, 0, 0]
   */
  pad(widths: readonly (readonly [number, number])[], value: ScalarInput = 0): Tensor<D> {
    return this.make<D>(padded(this.node, widths, value, 'pad'));
  }

  /**
   * The whole tensor repeated along each axis.
   * @example rt.tensor([1, 2]).tile([2]) // → [1, 2, 1, 2]
   */
  tile(reps: readonly number[]): Tensor<D> {
    return this.make<D>(tiled(this.node, reps, 'tile'));
  }

  /**
   * Each element repeated `times` times along an axis; without one, in a row of all elements.
   * @example rt.tensor([1, 2]).repeat(2, 0) // → [1, 1, 2, 2]
   * @example rt.tensor([[1], [2]]).repeat(2) // → [1, 1, 2, 2]
   */
  repeat(times: number, axis?: number): Tensor<D> {
    const x = axis === undefined ? reshape(this.node, [this.size]) : this.node;
    const along = normalizeAxis(axis ?? 0, x.shape.values.length, 'repeat');
    return this.make<D>(repeated(x, times, along, 'repeat'));
  }

  /**
   * Cuts an axis, by default the first, into equal parts, or at the given positions.
   * @example rt.arange(4).split(2, 0)[1] // → [2, 3]
   */
  split(parts: number | readonly number[], axis = 0): Tensor<D>[] {
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
    const cuts = typeof parts === 'number' ? Array.from({ length: parts - 1 }, (_, i) => ((i + 1) * d) / parts) : parts;
    const edges = [0, ...cuts, d];
    const nodes = edges.slice(1).map((end, i) => {
      const spec = this.shape.map((_, j) => (j === a ? ([edges[i]!, end] as const) : null));
      return sliced(this.node, spec, 'split');
    });
    return this.makeAll(nodes) as Tensor<D>[];
  }

  /**
   * The elements on a diagonal of the last two axes.
   * @example rt.tensor([[1, 2], [3, 4]]).diagonal() // → [1, 4]
   */
  diagonal(offset = 0): Tensor<D> {
    return this.make<D>(diagonalOf(this.node, offset, 'diagonal'));
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
    checkWhole(k, 'k', where);
    const inside = triangleMask(this.shape, k, lower);
    return this.make<D>(alu('where', inside, this.node, expand(constant(this.dtype, 0), this.shape)));
  }
}

/** By rank: all axes, the last first. */
const orders: (readonly number[])[] = [];
const reversed = (rank: number): readonly number[] =>
  (orders[rank] ??= Array.from({ length: rank }, (_, i) => rank - 1 - i));
