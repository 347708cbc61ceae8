// Ops that pick or place elements by index tensors.

import { shown } from '../base/arguments.ts';
import { type DType, dtypeInfo, intRange } from '../base/dtype.ts';
import { broadcast, checkCount, normalizeAxis, type Shape, sameShape, show } from '../base/shape.ts';
import { ArgumentError, DTypeError, IndexError, ShapeError } from '../errors.ts';
import { args, type Combine } from '../graph/args.ts';
import { type IndexCheck, makeNode, type Node } from '../graph/node.ts';
import { alu, cast, constant, expand, nestedShape, positionType, reshape, tooLong } from './build.ts';
import { TensorCore } from './core.ts';
import { Movement } from './movement.ts';
import type { Tensor } from './tensor.ts';
import { checkIndexDType } from './views-at.ts';

/** Positions along an axis: an integer tensor, or (nested) whole numbers. Negative ones count from the end. */
export type Indices = Tensor | number | NestedNumbers;
type NestedNumbers = readonly (number | NestedNumbers)[];

/** What becomes of indices out of range: an error, or the nearest position, which costs no check. */
export type IndexMode = 'check' | 'clip';

export interface IndexOptions {
  /** Default 'check'. With 'clip', negative indices stand for the first position. */
  readonly mode?: IndexMode | undefined;
}

export type ScatterMode = 'set' | 'add' | 'mul' | 'min' | 'max';

const combineOf: Readonly<Record<ScatterMode, Combine>> = {
  set: 'set',
  add: 'sum',
  mul: 'prod',
  min: 'min',
  max: 'max',
};

export abstract class Indexing<D extends DType = DType> extends Movement<D> {
  /**
   * Elements at the given positions of an axis (NumPy's `take`).
   * @example rt.tensor([10, 20, 30]).gather([2, 0], 0) // → [30, 10]
   * @example rt.tensor([10, 20, 30]).gather(rt.arange(5), 0, { mode: 'clip' }) // → [10, 20, 30, 30, 30]
   */
  gather(indices: Indices, axis: number, options: IndexOptions = {}): Tensor<D> {
    const a = normalizeAxis(axis, this.rank, 'gather');
    const at = this.positions(indices, this.shape[a]!, 'gather', options.mode);
    const shape = checkCount([...this.shape.slice(0, a), ...at.shape, ...this.shape.slice(a + 1)], 'gather');
    const node = makeNode('gather', this.dtype, shape, [this.node, at.node()], args.axis(a));
    if (node.size > 0) node.check = at.check();
    return this.make<D>(node);
  }

  /**
   * NumPy's name for `gather`; without an axis, of the row of all elements.
   * @example rt.tensor([[10, 20], [30, 40]]).take([3, 0]) // → [40, 10]
   */
  take(indices: Indices, axis?: number, options: IndexOptions = {}): Tensor<D> {
    if (axis !== undefined) return this.gather(indices, axis, options);
    using row = this.flatten();
    return row.gather(indices, 0, options);
  }

  /**
   * For every position of `indices`, the element at that index along an axis; other axes match.
   * @example rt.tensor([[1, 2], [3, 4]]).takeAlongAxis(rt.tensor([[1], [0]], [2, 1], { dtype: 'i32' }), 1) // → [[2], [3]]
   */
  takeAlongAxis(indices: Indices, axis: number, options: IndexOptions = {}): Tensor<D> {
    const a = normalizeAxis(axis, this.rank, 'takeAlongAxis');
    const at = this.positions(indices, this.shape[a]!, 'takeAlongAxis', options.mode);
    if (at.shape.length !== this.rank) throw mismatch('takeAlongAxis', this.shape, at.shape);
    const others = (shape: Shape) => shape.map((d, i) => (i === a ? 1 : d));
    const common = broadcast(others(this.shape), others(at.shape), 'takeAlongAxis');
    const along = (size: number): Shape => common.map((d, i) => (i === a ? size : d));
    const shape = checkCount(along(at.shape[a]!), 'takeAlongAxis');
    const source = expand(this.node, checkCount(along(this.shape[a]!), 'takeAlongAxis'));
    const node = makeNode('takeAlong', this.dtype, shape, [source, expand(at.node(), shape)], args.axis(a));
    if (node.size > 0) node.check = at.check();
    return this.make<D>(node);
  }

  /**
   * A copy with `updates` placed at `indices` of an axis. Indices of rank 1 select whole slices, as `gather` does; indices of
   * the updates' shape select element by element. Where an index occurs twice, its updates apply in their order.
   * @example rt.zeros([3]).scatter([0, 2, 0], rt.tensor([1, 2, 3]), { mode: 'add' }) // → [4, 0, 2]
   */
  scatter(
    indices: Indices,
    updates: Tensor,
    options: { readonly axis?: number; readonly mode?: ScatterMode; readonly bounds?: IndexMode } = {},
  ): Tensor<D> {
    const { axis = 0, mode = 'set' } = options;
    const a = normalizeAxis(axis, this.rank, 'scatter');
    const combine = combineOf[mode];
    if (this.dtype === 'bool' && mode !== 'set') {
      throw new DTypeError({
        code: 'UNSUPPORTED_DTYPE',
        message: `scatter: mode '${mode}' is not defined for bool ${show(this.shape)}`,
        fix: "Use mode 'set', or cast to 'i32' first.",
        where: 'scatter',
      });
    }
    this.sibling(updates, 'scatter');
    const size = this.shape[a]!;
    if (positionType(size) !== 'i32') throw tooLong('scatter', this.shape, a);
    const at = this.positions(indices, size, 'scatter', options.bounds);
    return this.make<D>(scattered(this.node, at, updates.node, a, combine, 'scatter'));
  }

  /**
   * Indices as they are used on an axis of `whole`. An uploaded list holds memory, so it is made when everything else was checked,
   * and once.
   */
  protected positions(
    indices: Indices,
    size: number,
    where: string,
    mode: IndexMode = 'check',
    whole: Shape = this.shape,
  ): Positions {
    if (indices instanceof TensorCore) {
      const node = this.sibling(indices, where).node;
      checkIndexDType(node, where);
      const { values } = node.shape;
      const clips = mode === 'clip' && size > 0;
      return {
        shape: values,
        clips,
        given: () => node,
        node: () => (clips ? clipped(node, size) : node),
        check: () => (clips ? null : rangeCheck(node, size, where, whole)),
      };
    }
    const { flat, shape } = flattenIndices(indices, where);
    if (mode === 'clip' && size > 0)
      flat.forEach((v, i) => {
        if (Number.isInteger(v)) flat[i] = Math.min(Math.max(v, 0), size - 1);
      });
    for (const v of flat) {
      if (!Number.isInteger(v) || v < -size || v >= size) throw outOfRange(where, `index ${shown(v)}`, size, whole);
    }
    const dtype = positionType(size);
    let uploaded: Node | null = null;
    const upload = (): Node => {
      const list = dtype === 'i32' ? Int32Array.from(flat) : BigInt64Array.from(flat, BigInt);
      return this.host.upload(new Uint8Array(list.buffer), dtype, shape);
    };
    const node = (): Node => (uploaded ??= upload());
    return { shape, clips: false, given: node, node, check: () => null };
  }
}

/** Every index as the nearest position of the axis; negative ones as the first, as NumPy's mode 'clip' has it. */
function clipped(indices: Node, size: number): Node {
  const wide = indices.dtype === 'u8' ? cast(indices, 'i32') : indices;
  const { dtype } = wide;
  const low = dtypeInfo[dtype].signed ? alu('max', wide, constant(dtype, 0)) : wide;
  return alu('min', low, constant(dtype, size - 1, true));
}

/** `base` with `updates` at positions of an axis. */
export function scattered(
  base: Node,
  at: Positions,
  updates: Node,
  axis: number,
  combine: Combine,
  where: string,
): Node {
  const { dtype, shape: whole, size } = base;
  const { shape: indexed } = at;
  const target = (count: number): Shape => whole.values.map((d, i) => (i === axis ? count : d));
  const perElement = indexed.length === whole.values.length && indexed.length > 1;
  const shape = target(perElement ? indexed[axis]! : (indexed[0] ?? 1));
  const fits = perElement ? sameShape(indexed, shape) : indexed.length <= 1;
  const given = updates.shape.values;
  if (!fits || !sameShape(broadcast(given, shape, where), shape)) {
    throw new ShapeError({
      code: 'SHAPE_MISMATCH',
      message: `${where}: indices ${show(indexed)} and updates ${show(given)} into ${show(whole.values)} along axis ${axis}`,
      fix: `Indices of rank 1 need updates of shape ${show(target(indexed[0] ?? 1))}; else both need one shape that fits the target.`,
      where,
    });
  }
  const values = expand(cast(updates, dtype), shape);
  if (size === 0 || values.size === 0) return base;
  // Devices bring positions of i32 into the axis by themselves; others are brought there before they become i32.
  const raw = at.given();
  const direct = raw.dtype === 'i32';
  const places = direct ? raw : cast(at.node(), 'i32');
  const how = args.scatter(combine, axis, perElement, direct && at.clips);
  const node = makeNode('scatter', dtype, whole.values, [base, places, values], how);
  node.check = at.check();
  return node;
}

/** Indices of a call, with the node and the check of their range made on demand. */
export interface Positions {
  readonly shape: Shape;
  /** Indices outside the axis stand for the nearest position. */
  readonly clips: boolean;
  /** As they were given. */
  given(): Node;
  /** As positions, if they clip; from -size on if not. */
  node(): Node;
  check(): IndexCheck | null;
}

/** The dtypes in which indices are held against a size. */
const comparedAs: Readonly<Partial<Record<DType, DType>>> = { u8: 'i32' };

/** A bool scalar that is true if any index lies outside -size … size-1; null if none can. */
function rangeCheck(indices: Node, size: number, where: string, shape: Shape): IndexCheck | null {
  if (indices.storage && indices.storage.below <= size) return null;
  const wide = cast(indices, comparedAs[indices.dtype] ?? indices.dtype);
  const [lo, hi] = intRange[wide.dtype as keyof typeof intRange];
  const tests: Node[] = [];
  if (BigInt(size) <= hi) tests.push(alu('le', constant(wide.dtype, size), wide));
  if (BigInt(-size) > lo) tests.push(alu('lt', wide, constant(wide.dtype, -size)));
  if (tests.length === 0) return null;
  const bad = tests.reduce((a, b) => alu('or', a, b));
  return {
    bad: makeNode('reduce', 'bool', [], [reshape(bad, [bad.size])], args.reduce('any', [0])),
    // An error notes where it is made, which takes longer than work on a thousand values.
    message: () => outOfRange(where, 'an index', size, shape).message,
    indices,
    size,
  };
}

export function outOfRange(where: string, what: string, size: number, shape: Shape): IndexError {
  return new IndexError({
    code: 'INDEX_OUT_OF_RANGE',
    message: `${where}: ${what} is out of range for an axis of size ${size} of ${show(shape)}`,
    fix:
      size === 0 ? 'The axis is empty: there is nothing to select.' : `Use whole numbers from ${-size} to ${size - 1}.`,
    where,
  });
}

function flattenIndices(indices: number | NestedNumbers, where: string): { flat: number[]; shape: number[] } {
  const shape = nestedShape(indices, where);
  const flat: number[] = [];
  const walk = (v: number | NestedNumbers, depth: number): void => {
    const leaf = depth === shape.length;
    if (leaf !== !Array.isArray(v) || (Array.isArray(v) && v.length !== shape[depth])) {
      throw new ArgumentError({
        code: 'RAGGED_ARRAY',
        message: `${where}: the nested index array is ragged at depth ${depth}`,
        fix: 'Every row must have the same length.',
        where,
      });
    }
    if (Array.isArray(v)) for (const x of v) walk(x, depth + 1);
    else flat.push(v as number);
  };
  walk(indices, 0);
  return { flat, shape };
}

function mismatch(where: string, a: Shape, b: Shape): ShapeError {
  return new ShapeError({
    code: 'SHAPE_MISMATCH',
    message: `${where}: indices of shape ${show(b)} for a tensor of shape ${show(a)}`,
    fix: 'Both need the same rank; every axis but the indexed one must match or be 1.',
    where,
  });
}
