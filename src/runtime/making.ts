// Making tensors: from data, from values, and from other tensors.

import { byteSize, type DType } from '../base/dtype.ts';
import { broadcast, normalizeAxis, type Shape, sameShape, show } from '../base/shape.ts';
import type { DeviceId } from '../devices/device.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import { args, makeNode, Node } from '../graph/node.ts';
import { alu, cast, constant, expand, operandsOf, type ScalarInput } from '../tensor/build.ts';
import { TensorCore } from '../tensor/core.ts';
import { arange, checkDType, encode, eye, full, linspace, type TensorInput, tri } from '../tensor/create.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { RuntimeHost } from './host.ts';

export interface TensorOptions<D extends DType = DType> {
  readonly dtype?: D | undefined;
}

export interface UploadOptions<D extends DType = DType> extends TensorOptions<D> {
  /** The device the tensor and what is computed from it stay on. Default: where it is expected to be used best. */
  readonly device?: DeviceId | undefined;
}

export abstract class TensorMaking {
  /** For the runtime's own parts. */
  protected readonly host: RuntimeHost;

  constructor(host: RuntimeHost) {
    this.host = host;
  }

  /**
   * A tensor from numbers (nested to any depth) or a typed array. The data is copied.
   * @example rt.tensor([[1, 2], [3, 4]]) // → [[1, 2], [3, 4]]
   */
  tensor<D extends DType = DType>(
    data: TensorInput,
    shape?: Shape | undefined,
    options: UploadOptions<D> = {},
  ): Tensor<D> {
    this.host.checkOpen('tensor');
    const { bytes, dtype, shape: target } = encode(data, shape, options.dtype);
    const pin = options.device === undefined ? null : this.host.place(options.device, 'tensor');
    return new Tensor<D>(this.host, this.host.upload(bytes, dtype, target, pin));
  }

  /**
   * A tensor from elements in storage form (little-endian, row-major), as files hold them.
   * @example rt.fromBytes(new Uint8Array([1, 2]), 'u8', [2]) // → [1, 2]
   */
  fromBytes<D extends DType>(bytes: Uint8Array, dtype: D, shape: Shape): Tensor<D> {
    checkDType(dtype, 'fromBytes');
    const { bytes: checked } = encode(bytes, [bytes.byteLength], 'u8');
    const need = shape.reduce((n, d) => n * d, 1) * byteSize(dtype);
    if (checked.byteLength !== need) {
      throw new ShapeError({
        code: 'SHAPE_MISMATCH',
        message: `fromBytes: ${bytes.byteLength} bytes for ${dtype} ${show(shape)}, which takes ${need}`,
        fix: 'Give exactly the bytes of the shape.',
        where: 'fromBytes',
      });
    }
    return new Tensor<D>(this.host, this.host.upload(bytes, dtype, shape));
  }

  /**
   * Zeros.
   * @example rt.zeros([2]) // → [0, 0]
   */
  zeros<D extends DType = 'f32'>(shape: Shape, options: TensorOptions<D> = {}): Tensor<D> {
    return this.full(shape, 0, options);
  }

  /**
   * Ones.
   * @example rt.ones([2]) // → [1, 1]
   */
  ones<D extends DType = 'f32'>(shape: Shape, options: TensorOptions<D> = {}): Tensor<D> {
    return this.full(shape, 1, options);
  }

  /**
   * One value everywhere.
   * @example rt.full([2], 7) // → [7, 7]
   */
  full<D extends DType = 'f32'>(shape: Shape, value: ScalarInput, options: TensorOptions<D> = {}): Tensor<D> {
    return this.made(full(shape, value, options.dtype ?? ('f32' as D), 'full'));
  }

  /**
   * Evenly spaced values below `stop`; i32 if all of them are whole numbers, else f32.
   * @example rt.arange(1, 4) // → [1, 2, 3]
   */
  arange<D extends DType = DType>(start: number, stop?: number, step = 1, options: TensorOptions<D> = {}): Tensor<D> {
    const [from, to] = stop === undefined ? [0, start] : [start, stop];
    const whole = Number.isInteger(from) && Number.isInteger(step);
    return this.made(arange(from, to, step, options.dtype ?? (whole ? 'i32' : 'f32')));
  }

  /**
   * `count` values from start to stop, both included.
   * @example rt.linspace(0, 1, 3) // → [0, 0.5, 1]
   */
  linspace<D extends DType = 'f32'>(
    start: number,
    stop: number,
    count: number,
    options: TensorOptions<D> = {},
  ): Tensor<D> {
    return this.made(linspace(start, stop, count, options.dtype ?? 'f32'));
  }

  /**
   * Ones on diagonal k.
   * @example rt.eye(2) // → [[1, 0], [0, 1]]
   */
  eye<D extends DType = 'f32'>(rows: number, columns = rows, k = 0, options: TensorOptions<D> = {}): Tensor<D> {
    return this.made(eye(rows, columns, k, options.dtype ?? 'f32'));
  }

  /**
   * Ones on and below diagonal k.
   * @example rt.tri(2) // → [[1, 0], [1, 1]]
   */
  tri<D extends DType = 'f32'>(rows: number, columns = rows, k = 0, options: TensorOptions<D> = {}): Tensor<D> {
    return this.made(tri(rows, columns, k, options.dtype ?? 'f32'));
  }

  /**
   * The position along an axis, at every position of a shape.
   * @example rt.iota([2, 2], 1) // → [[0, 1], [0, 1]]
   */
  iota<D extends DType = 'i32'>(shape: Shape, axis = 0, options: TensorOptions<D> = {}): Tensor<D> {
    const a = normalizeAxis(axis, shape.length, 'iota');
    const dtype = options.dtype ?? 'i32';
    return this.made(makeNode('iota', dtype, full(shape, 0, dtype, 'iota').shape.values, [], args.axis(a)));
  }

  /**
   * Elements of `a` where the condition holds, of `b` elsewhere; all three broadcast.
   * @example rt.where(rt.tensor([true, false]), 1, rt.tensor([5, 6])) // → [1, 6]
   */
  where(condition: Tensor, a: Tensor | ScalarInput, b: Tensor | ScalarInput): Tensor {
    const nodeOf = (x: Tensor | ScalarInput): Node | ScalarInput => (x instanceof TensorCore ? x.node : x);
    const [p, q] = [nodeOf(a), nodeOf(b)];
    // Whichever branch is a tensor decides how a scalar in the other is taken.
    const [x, y] =
      p instanceof Node
        ? operandsOf(p, q, 'where')
        : swap(operandsOf(q instanceof Node ? q : scalarNode(q), p, 'where'));
    const c = cast(condition.node, 'bool');
    const shape = [x, y].reduce<Shape>((s, n) => broadcast(s, n.shape.values, 'where'), c.shape.values);
    return this.made(alu('where', expand(c, shape), expand(x, shape), expand(y, shape)));
  }

  /**
   * Tensors one behind the other along an axis.
   * @example rt.concat([rt.tensor([1]), rt.tensor([2, 3])], 0) // → [1, 2, 3]
   */
  concat(tensors: readonly Tensor[], axis = 0): Tensor {
    const [first] = tensors;
    if (!first) {
      throw new ArgumentError({
        code: 'NO_TENSORS',
        message: 'concat: no tensors were given',
        fix: 'Give at least one.',
        where: 'concat',
      });
    }
    const a = normalizeAxis(axis, first.rank, 'concat');
    for (const t of tensors) {
      if (t.rank === first.rank && t.shape.every((d, i) => i === a || d === first.shape[i])) continue;
      throw new ShapeError({
        code: 'SHAPE_MISMATCH',
        message: `concat: ${show(t.shape)} does not fit ${show(first.shape)} along axis ${a}`,
        fix: 'All sizes but that of the axis must be equal.',
        where: 'concat',
      });
    }
    const dtype = tensors
      .map((t) => t.dtype)
      .reduce((p, q) => operandsOf(constant(p, 0), constant(q, 0), 'concat')[0].dtype);
    const nodes = tensors.map((t) => cast(t.node, dtype));
    const shape = first.shape.map((d, i) => (i === a ? tensors.reduce((n, t) => n + t.shape[a]!, 0) : d));
    return this.made(nodes.length === 1 ? nodes[0]! : makeNode('concat', dtype, shape, nodes, args.axis(a)));
  }

  /**
   * Tensors of one shape along a new axis.
   * @example rt.stack([rt.tensor([1, 2]), rt.tensor([3, 4])], 1) // → [[1, 3], [2, 4]]
   */
  stack(tensors: readonly Tensor[], axis = 0): Tensor {
    const bad = tensors.find((t) => !sameShape(t.shape, tensors[0]!.shape));
    if (bad) {
      throw new ShapeError({
        code: 'SHAPE_MISMATCH',
        message: `stack: ${show(bad.shape)} does not fit ${show(tensors[0]!.shape)}`,
        fix: 'All shapes must be equal.',
        where: 'stack',
      });
    }
    return this.concat(
      tensors.map((t) => t.unsqueeze(axis)),
      axis,
    );
  }

  /**
   * Einstein summation.
   * @example rt.einsum('ij,jk->ik', rt.ones([2, 3]), rt.ones([3, 2])) // → [[3, 3], [3, 3]]
   */
  einsum(spec: string, ...operands: readonly [Tensor, ...Tensor[]]): Tensor {
    return Tensor.einsum(spec, operands);
  }

  private made<D extends DType>(node: Node): Tensor<D> {
    this.host.checkOpen('runtime');
    return new Tensor<D>(this.host, node);
  }
}

const swap = ([a, b]: [Node, Node]): [Node, Node] => [b, a];

const scalarNode = (v: ScalarInput): Node =>
  constant(typeof v === 'boolean' ? 'bool' : typeof v === 'bigint' ? 'i64' : 'f32', v);
