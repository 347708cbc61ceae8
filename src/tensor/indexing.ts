// Ops that pick or place elements by index tensors.

import { type DType, dtypeInfo } from '../base/dtype.ts';
import { broadcast, normalizeAxis, type Shape, sameShape, show } from '../base/shape.ts';
import { ArgumentError, DTypeError, IndexError, ShapeError } from '../errors.ts';
import { args, type Combine, type IndexCheck, makeNode, type Node } from '../graph/node.ts';
import { alu, cast, constant, expand, reshape } from './build.ts';
import { TensorCore } from './core.ts';
import { Movement } from './movement.ts';
import type { Tensor } from './tensor.ts';

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
    const at = this.indexNode(indices, this.shape[a]!, 'gather', options.mode);
    const shape = [...this.shape.slice(0, a), ...at.node.shape.values, ...this.shape.slice(a + 1)];
    const node = makeNode('gather', this.dtype, shape, [this.node, at.node], args.axis(a));
    node.check = node.size > 0 ? at.check : null;
    return this.make<D>(node);
  }

  /**
   * For every position of `indices`, the element at that index along an axis; other axes match.
   * @example rt.tensor([[1, 2], [3, 4]]).takeAlongAxis(rt.tensor([[1], [0]], [2, 1], { dtype: 'i32' }), 1) // → [[2], [3]]
   */
  takeAlongAxis(indices: Indices, axis: number, options: IndexOptions = {}): Tensor<D> {
    const a = normalizeAxis(axis, this.rank, 'takeAlongAxis');
    const at = this.indexNode(indices, this.shape[a]!, 'takeAlongAxis', options.mode);
    const { values } = at.node.shape;
    if (values.length !== this.rank) throw mismatch('takeAlongAxis', this.shape, values);
    const others = (shape: Shape) => shape.map((d, i) => (i === a ? 1 : d));
    const common = broadcast(others(this.shape), others(values), 'takeAlongAxis');
    const shape = common.map((d, i) => (i === a ? values[a]! : d));
    const source = expand(
      this.node,
      common.map((d, i) => (i === a ? this.shape[a]! : d)),
    );
    const node = makeNode('takeAlong', this.dtype, shape, [source, expand(at.node, shape)], args.axis(a));
    node.check = node.size > 0 ? at.check : null;
    return this.make<D>(node);
  }

  /**
   * A copy with `updates` placed at `indices` of an axis. Indices of rank 1 select whole slices, as `gather` does; indices of
   * the updates' shape select element by element. Where an index occurs twice, later updates come later.
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
    if (!combine) {
      throw new ArgumentError({
        code: 'BAD_MODE',
        message: `scatter: there is no mode '${String(mode)}'`,
        fix: `Use one of ${Object.keys(combineOf).join(', ')}.`,
        where: 'scatter',
      });
    }
    if (this.dtype === 'bool' && mode !== 'set') {
      throw new DTypeError({
        code: 'UNSUPPORTED_DTYPE',
        message: `scatter: mode '${mode}' is not defined for bool ${show(this.shape)}`,
        fix: "Use mode 'set', or cast to 'i32' first.",
        where: 'scatter',
      });
    }
    const at = this.indexNode(indices, this.shape[a]!, 'scatter', options.bounds);
    const where = at.node.shape.values;
    const target = (count: number) => this.shape.map((d, i) => (i === a ? count : d));
    const perElement = where.length === this.rank && where.length > 1;
    const shape = target(perElement ? where[a]! : (where[0] ?? 1));
    const fits = perElement ? sameShape(where, shape) : where.length <= 1;
    if (!fits || !sameShape(broadcast(updates.shape, shape, 'scatter'), shape)) {
      throw new ShapeError({
        code: 'SHAPE_MISMATCH',
        message: `scatter: indices ${show(where)} and updates ${show(updates.shape)} into ${show(this.shape)} along axis ${a}`,
        fix: `Indices of rank 1 need updates of shape ${show(target(where[0] ?? 1))}; else both need one shape that fits the target.`,
        where: 'scatter',
      });
    }
    this.sibling(updates, 'scatter');
    const values = expand(cast(updates.node, this.dtype), shape);
    if (this.size === 0 || values.size === 0) return this.make<D>(this.node);
    const wrapped = wrapNegative(cast(at.node, 'i32'), this.shape[a]!);
    const node = makeNode(
      'scatter',
      this.dtype,
      this.shape,
      [this.node, wrapped, values],
      args.scatter(combine, a, perElement),
    );
    node.check = at.check;
    return this.make<D>(node);
  }

  private indexNode(
    indices: Indices,
    size: number,
    where: string,
    mode: IndexMode = 'check',
  ): { node: Node; check: IndexCheck | null } {
    if (mode !== 'check' && mode !== 'clip') throw badMode(mode, where);
    if (indices instanceof TensorCore) {
      const node = this.sibling(indices, where).node;
      if (dtypeInfo[node.dtype].class !== 'int') {
        throw new DTypeError({
          code: 'BAD_INDEX_DTYPE',
          message: `${where}: indices are ${node.dtype} ${show(node.shape.values)}`,
          fix: "Indices must be whole numbers: use an integer dtype, or cast with x.cast('i32') if you know they are.",
          where,
        });
      }
      if (mode === 'clip' && size > 0) return { node: clipped(node, size), check: null };
      return { node, check: node.size === 0 ? null : rangeCheck(node, size, where, this.shape) };
    }
    const { flat, shape } = flattenIndices(indices, where);
    if (mode === 'clip' && size > 0)
      flat.forEach((v, i) => {
        if (Number.isInteger(v)) flat[i] = Math.min(Math.max(v, 0), size - 1);
      });
    for (const v of flat) {
      if (!Number.isInteger(v) || v < -size || v >= size) throw outOfRange(where, `index ${v}`, size, this.shape);
    }
    const bytes = new Uint8Array(Int32Array.from(flat).buffer);
    return { node: this.host.upload(bytes, 'i32', shape), check: null };
  }
}

/** Every index as the nearest position of the axis; negative ones as the first, as NumPy's mode 'clip' has it. */
function clipped(indices: Node, size: number): Node {
  const wide = indices.dtype === 'u8' ? cast(indices, 'i32') : indices;
  const { dtype } = wide;
  const low = dtypeInfo[dtype].signed ? alu('max', wide, constant(dtype, 0)) : wide;
  return alu('min', low, constant(dtype, size - 1, true));
}

function badMode(mode: unknown, where: string): ArgumentError {
  return new ArgumentError({
    code: 'BAD_MODE',
    message: `${where}: indices out of range can be 'check' or 'clip', not '${String(mode)}'`,
    fix: "'check' refuses them; 'clip' takes the nearest position, without a check.",
    where,
  });
}

/** A bool scalar that is true if any index lies outside -size … size-1. */
function rangeCheck(indices: Node, size: number, where: string, shape: Shape): IndexCheck {
  const wide = cast(indices, indices.dtype === 'u64' ? 'u64' : indices.dtype === 'i32' ? 'i32' : 'i64');
  let bad = alu('le', constant(wide.dtype, size), wide);
  if (dtypeInfo[wide.dtype].signed) bad = alu('or', bad, alu('lt', wide, constant(wide.dtype, -size)));
  const flat = reshape(bad, [bad.size]);
  return {
    bad: makeNode('reduce', 'bool', [], [flat], args.reduce('any', [0])),
    message: outOfRange(where, 'an index', size, shape).message,
  };
}

function wrapNegative(indices: Node, size: number): Node {
  const negative = alu('lt', indices, constant('i32', 0));
  const wrapped = alu('where', negative, alu('add', indices, constant('i32', size)), indices);
  // Checked before use; clamped so that a bad index can never touch foreign memory.
  return alu('max', alu('min', wrapped, constant('i32', Math.max(0, size - 1))), constant('i32', 0));
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
  const shape: number[] = [];
  for (let level: number | NestedNumbers | undefined = indices; Array.isArray(level); level = level[0])
    shape.push(level.length);
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
