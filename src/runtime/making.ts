// Making tensors: from data, from values, and from other tensors. What each call builds is in `tensor/`; this checks that the
// operands are tensors of this runtime.

import { checkOptions } from '../base/arguments.ts';
import { byteSize, canonicalBools, type DType } from '../base/dtype.ts';
import { checkShape, type Shape, show, sizeOf } from '../base/shape.ts';
import type { DeviceId } from '../devices/device.ts';
import { ShapeError } from '../errors.ts';
import type { Node } from '../graph/node.ts';
import { checkDType, checkScalar, notAnOperand, type ScalarInput } from '../tensor/build.ts';
import { foreign, TensorCore } from '../tensor/core.ts';
import { arange, encode, eye, full, iota, linspace, type TensorInput, tri } from '../tensor/create.ts';
import { einsumNode } from '../tensor/einsum.ts';
import { concat, stack, where } from '../tensor/joining.ts';
import { matmulNode } from '../tensor/linear.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { RuntimeHost } from './host.ts';

export interface TensorOptions<D extends DType = DType> {
  readonly dtype?: D | undefined;
}

export interface UploadOptions<D extends DType = DType> extends TensorOptions<D> {
  /** The device the tensor and what is computed from it stay on. Default: where it is expected to be used best. */
  readonly device?: DeviceId | undefined;
  /** False: no copy of a small array stays in host memory. If its device is lost, so is the tensor. For data that you still have. */
  readonly keep?: boolean | undefined;
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
    checkOptions(options, ['dtype', 'device', 'keep'], 'tensor');
    const { bytes, dtype, shape: target } = encode(data, shape, options.dtype);
    const pin = options.device === undefined ? null : this.host.place(options.device, 'tensor');
    return new Tensor<D>(this.host, this.host.upload(bytes, dtype, target, pin, options.keep !== false));
  }

  /**
   * A tensor from elements in storage form (little-endian, row-major), as files hold them.
   * @example rt.fromBytes(new Uint8Array([1, 2]), 'u8', [2]) // → [1, 2]
   */
  fromBytes<D extends DType>(bytes: Uint8Array, dtype: D, shape: Shape): Tensor<D> {
    checkDType(dtype, 'fromBytes');
    checkShape(shape, 'fromBytes');
    const { bytes: checked } = encode(bytes, [bytes.byteLength], 'u8');
    const need = sizeOf(shape) * byteSize(dtype);
    if (checked.byteLength !== need) {
      throw new ShapeError({
        code: 'SHAPE_MISMATCH',
        message: `fromBytes: ${bytes.byteLength} bytes for ${dtype} ${show(shape)}, which takes ${need}`,
        fix: 'Give exactly the bytes of the shape.',
        where: 'fromBytes',
      });
    }
    const stored = dtype === 'bool' ? canonicalBools(checked) : checked;
    return new Tensor<D>(this.host, this.host.upload(stored, dtype, shape));
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
    checkOptions(options, ['dtype'], 'full');
    return this.made(full(shape, value, options.dtype ?? 'f32', 'full'));
  }

  /**
   * Evenly spaced values below `stop`. Without a dtype: i32 if that holds all of them, i64 if they are other whole numbers,
   * else f32.
   * @example rt.arange(1, 4) // → [1, 2, 3]
   */
  arange<D extends DType = DType>(start: number, stop?: number, step = 1, options: TensorOptions<D> = {}): Tensor<D> {
    checkOptions(options, ['dtype'], 'arange');
    const [from, to] = stop === undefined ? [0, start] : [start, stop];
    return this.made(arange(from, to, step, options.dtype));
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
    checkOptions(options, ['dtype'], 'linspace');
    return this.made(linspace(start, stop, count, options.dtype ?? 'f32'));
  }

  /**
   * Ones on diagonal k.
   * @example rt.eye(2) // → [[1, 0], [0, 1]]
   */
  eye<D extends DType = 'f32'>(rows: number, columns = rows, k = 0, options: TensorOptions<D> = {}): Tensor<D> {
    checkOptions(options, ['dtype'], 'eye');
    return this.made(eye(rows, columns, k, options.dtype ?? 'f32'));
  }

  /**
   * Ones on and below diagonal k.
   * @example rt.tri(2) // → [[1, 0], [1, 1]]
   */
  tri<D extends DType = 'f32'>(rows: number, columns = rows, k = 0, options: TensorOptions<D> = {}): Tensor<D> {
    checkOptions(options, ['dtype'], 'tri');
    return this.made(tri(rows, columns, k, options.dtype ?? 'f32'));
  }

  /**
   * The position along an axis, at every position of a shape.
   * @example rt.iota([2, 2], 1) // → [[0, 1], [0, 1]]
   */
  iota<D extends DType = 'i32'>(shape: Shape, axis = 0, options: TensorOptions<D> = {}): Tensor<D> {
    checkOptions(options, ['dtype'], 'iota');
    return this.made(iota(shape, axis, options.dtype ?? 'i32'));
  }

  /**
   * Elements of `a` where the condition holds, of `b` elsewhere; all three broadcast.
   * @example rt.where(rt.tensor([true, false]), 1, rt.tensor([5, 6])) // → [1, 6]
   */
  where(condition: Tensor, a: Tensor | ScalarInput, b: Tensor | ScalarInput): Tensor {
    const [p, q] = [this.operand(a, 'where'), this.operand(b, 'where')];
    return this.made(where(this.nodeOf(condition, 'where'), p, q));
  }

  /**
   * Tensors one behind the other along an axis.
   * @example rt.concat([rt.tensor([1]), rt.tensor([2, 3])], 0) // → [1, 2, 3]
   */
  concat(tensors: readonly Tensor[], axis = 0): Tensor {
    return this.made(concat(this.nodesOf(tensors, 'concat'), axis));
  }

  /**
   * Tensors of one shape along a new axis.
   * @example rt.stack([rt.tensor([1, 2]), rt.tensor([3, 4])], 1) // → [[1, 3], [2, 4]]
   */
  stack(tensors: readonly Tensor[], axis = 0): Tensor {
    return this.made(stack(this.nodesOf(tensors, 'stack'), axis));
  }

  /**
   * Einstein summation.
   * @example rt.einsum('ij,jk->ik', rt.ones([2, 3]), rt.ones([3, 2])) // → [[3, 3], [3, 3]]
   */
  einsum(spec: string, ...operands: readonly [Tensor, ...Tensor[]]): Tensor {
    return this.made(einsumNode(spec, this.nodesOf(operands, 'einsum'), matmulNode));
  }

  private made<D extends DType>(node: Node): Tensor<D> {
    this.host.checkOpen('runtime');
    return new Tensor<D>(this.host, node);
  }

  private nodesOf(tensors: readonly Tensor[], call: string): Node[] {
    if (Array.isArray(tensors)) return tensors.map((t) => this.nodeOf(t, call));
    throw notAnOperand(tensors, call);
  }

  /** The node of a tensor of this runtime. */
  private nodeOf(tensor: Tensor, call: string): Node {
    if (!(tensor instanceof TensorCore)) throw notAnOperand(tensor, call);
    if (tensor.host !== this.host) throw foreign(tensor, call);
    return tensor.node;
  }

  private operand(value: Tensor | ScalarInput, call: string): Node | ScalarInput {
    return value instanceof TensorCore ? this.nodeOf(value, call) : checkScalar(value, call);
  }
}
