// Making tensors: from data, from values, and from other tensors. What each call builds is in `tensor/`; this checks that the
// operands are tensors of this runtime.

import { byteSize, canonicalBools, type DType } from '../base/dtype.ts';
import { checkShape, type Shape, show, sizeOf } from '../base/shape.ts';
import type { DeviceId } from '../devices/device.ts';
import { ShapeError } from '../errors.ts';
import type { Node } from '../graph/node.ts';
import type { Common, Joined } from '../tensor/arithmetic.ts';
import type { ScalarInput } from '../tensor/build.ts';
import { nodeOf, TensorCore } from '../tensor/core.ts';
import { arange, type DTypeOf, encode, eye, full, iota, linspace, type TensorInput, tri } from '../tensor/create.ts';
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

/** Options that name a dtype. */
type UploadAs<D extends DType> = UploadOptions<D> & { readonly dtype: D };

/** Numbers that may be left out, and options behind them. */
type Rest<D extends DType> = readonly (number | TensorOptions<D> | undefined)[];

/** The numbers, and the options: they come last, in place of the numbers that were left out. */
function optionsLast<D extends DType>(rest: Rest<D>): [numbers: (number | undefined)[], options: TensorOptions<D>] {
  const options = rest.find((r) => typeof r === 'object');
  return [rest.filter((r) => typeof r !== 'object'), options ?? {}];
}

export abstract class TensorMaking {
  /** For the runtime's own parts. */
  protected readonly host: RuntimeHost;

  constructor(host: RuntimeHost) {
    this.host = host;
  }

  /**
   * A tensor from numbers (nested to any depth), a typed array, or rows that are typed arrays. The data is copied. Without a
   * dtype: f32 for numbers, bool for booleans, i64 for bigints, and that of typed arrays.
   * @example rt.tensor([[1, 2], [3, 4]]) // → [[1, 2], [3, 4]]
   * @example rt.tensor([1, 2, 3, 4], [2, 2]) // → [[1, 2], [3, 4]]
   * @example rt.tensor([1, 2], { dtype: 'i32' }) // → [1, 2]
   * @example rt.tensor([new Float32Array([1, 2]), new Float32Array([3, 4])]) // → [[1, 2], [3, 4]]
   */
  tensor<D extends DType>(data: TensorInput, shape: Shape | undefined, options: UploadAs<D>): Tensor<D>;
  tensor<D extends DType>(data: TensorInput, options: UploadAs<D>): Tensor<D>;
  tensor<T extends TensorInput>(
    data: T,
    options: { readonly device: DeviceId; readonly keep?: boolean },
  ): Tensor<DTypeOf<T>>;
  tensor<T extends TensorInput>(data: T, shape?: Shape, options?: Omit<UploadOptions, 'dtype'>): Tensor<DTypeOf<T>>;
  tensor(data: TensorInput, shape?: Shape | UploadOptions, options?: UploadOptions): Tensor;
  tensor(data: TensorInput, second?: Shape | UploadOptions, third?: UploadOptions): Tensor {
    this.host.checkOpen('tensor');
    const shape = Array.isArray(second) ? (second as Shape) : undefined;
    const { dtype: wanted, device, keep } = third ?? (shape ? {} : ((second ?? {}) as UploadOptions));
    const { bytes, dtype, shape: target } = encode(data, shape, wanted);
    const pin = device === undefined ? null : this.host.place(device, 'tensor');
    return new Tensor(this.host, this.host.upload(bytes, dtype, target, pin, keep !== false));
  }

  /**
   * A tensor from elements in storage form (little-endian, row-major), as files hold them.
   * @example rt.fromBytes(new Uint8Array([1, 2]), 'u8', [2]) // → [1, 2]
   */
  fromBytes<D extends DType>(bytes: Uint8Array, dtype: D, shape: Shape): Tensor<D> {
    checkShape(shape, 'fromBytes');
    const need = sizeOf(shape) * byteSize(dtype);
    if (bytes.byteLength !== need) {
      throw new ShapeError({
        code: 'SHAPE_MISMATCH',
        message: `fromBytes: ${bytes.byteLength} bytes for ${dtype} ${show(shape)}, which takes ${need}`,
        fix: 'Give exactly the bytes of the shape.',
        where: 'fromBytes',
      });
    }
    const stored = dtype === 'bool' ? canonicalBools(bytes) : bytes;
    return new Tensor<D>(this.host, this.host.upload(stored, dtype, shape));
  }

  /**
   * Zeros.
   * @example rt.zeros([2]) // → [0, 0]
   */
  zeros<D extends DType = 'f32'>(shape: Shape, options: TensorOptions<D> = {}): Tensor<D> {
    return this.filled(shape, 0, options.dtype, 'zeros');
  }

  /**
   * Ones.
   * @example rt.ones([2]) // → [1, 1]
   */
  ones<D extends DType = 'f32'>(shape: Shape, options: TensorOptions<D> = {}): Tensor<D> {
    return this.filled(shape, 1, options.dtype, 'ones');
  }

  /**
   * One value everywhere.
   * @example rt.full([2], 7) // → [7, 7]
   */
  full<D extends DType = 'f32'>(shape: Shape, value: ScalarInput, options: TensorOptions<D> = {}): Tensor<D> {
    return this.filled(shape, value, options.dtype, 'full');
  }

  /**
   * Zeros, of the shape and dtype of another tensor.
   * @example rt.zerosLike(rt.tensor([1, 2])) // → [0, 0]
   */
  zerosLike<D extends DType>(like: Tensor<D>, options: TensorOptions<D> = {}): Tensor<D> {
    return this.filled(like.shape, 0, options.dtype ?? like.dtype, 'zerosLike');
  }

  /**
   * Ones, of the shape and dtype of another tensor.
   * @example rt.onesLike(rt.tensor([1, 2])) // → [1, 1]
   */
  onesLike<D extends DType>(like: Tensor<D>, options: TensorOptions<D> = {}): Tensor<D> {
    return this.filled(like.shape, 1, options.dtype ?? like.dtype, 'onesLike');
  }

  /**
   * One value everywhere, in the shape and dtype of another tensor.
   * @example rt.fullLike(rt.tensor([1, 2]), 7) // → [7, 7]
   */
  fullLike<D extends DType>(like: Tensor<D>, value: ScalarInput, options: TensorOptions<D> = {}): Tensor<D> {
    return this.filled(like.shape, value, options.dtype ?? like.dtype, 'fullLike');
  }

  /**
   * Evenly spaced values below `stop`. Without a dtype: i32 if that holds all of them, i64 if they are other whole numbers,
   * else f32. With an integer dtype fractions are dropped as NumPy does: from the first two values, whose distance is the step.
   * @example rt.arange(1, 4) // → [1, 2, 3]
   * @example rt.arange(2, { dtype: 'f32' }) // → [0, 1]
   */
  arange<D extends DType = 'i32' | 'f32'>(
    start: number,
    stop?: number,
    step?: number,
    options?: TensorOptions<D>,
  ): Tensor<D>;
  arange<D extends DType>(start: number, stop: number, options: TensorOptions<D>): Tensor<D>;
  arange<D extends DType>(stop: number, options: TensorOptions<D>): Tensor<D>;
  arange<D extends DType>(start: number, ...rest: Rest<D>): Tensor<D> {
    const [[stop, step = 1], { dtype }] = optionsLast(rest);
    const [from, to] = stop === undefined ? [0, start] : [start, stop];
    return this.made(arange(from, to, step, dtype));
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
  eye<D extends DType = 'f32'>(rows: number, columns?: number, k?: number, options?: TensorOptions<D>): Tensor<D>;
  eye<D extends DType>(rows: number, columns: number, options: TensorOptions<D>): Tensor<D>;
  eye<D extends DType>(rows: number, options: TensorOptions<D>): Tensor<D>;
  eye<D extends DType>(rows: number, ...rest: Rest<D>): Tensor<D> {
    const [[columns = rows, k = 0], { dtype = 'f32' as D }] = optionsLast(rest);
    return this.made(eye(rows, columns, k, dtype));
  }

  /**
   * Ones on and below diagonal k.
   * @example rt.tri(2) // → [[1, 0], [1, 1]]
   */
  tri<D extends DType = 'f32'>(rows: number, columns?: number, k?: number, options?: TensorOptions<D>): Tensor<D>;
  tri<D extends DType>(rows: number, columns: number, options: TensorOptions<D>): Tensor<D>;
  tri<D extends DType>(rows: number, options: TensorOptions<D>): Tensor<D>;
  tri<D extends DType>(rows: number, ...rest: Rest<D>): Tensor<D> {
    const [[columns = rows, k = 0], { dtype = 'f32' as D }] = optionsLast(rest);
    return this.made(tri(rows, columns, k, dtype));
  }

  /**
   * The position along an axis, at every position of a shape.
   * @example rt.iota([2, 2], 1) // → [[0, 1], [0, 1]]
   */
  iota<D extends DType = 'i32'>(shape: Shape, axis?: number, options?: TensorOptions<D>): Tensor<D>;
  iota<D extends DType>(shape: Shape, options: TensorOptions<D>): Tensor<D>;
  iota<D extends DType>(shape: Shape, ...rest: Rest<D>): Tensor<D> {
    const [[axis = 0], { dtype = 'i32' as D }] = optionsLast(rest);
    return this.made(iota(shape, axis, dtype));
  }

  /**
   * Elements of `a` where the condition holds, of `b` elsewhere; all three broadcast.
   * @example rt.where(rt.tensor([true, false]), 1, rt.tensor([5, 6])) // → [1, 6]
   */
  where<A extends DType, B extends DType>(condition: Tensor, a: Tensor<A>, b: Tensor<B>): Tensor<Joined<A, B>>;
  where<D extends DType>(condition: Tensor, a: Tensor<D>, b: ScalarInput): Tensor<D>;
  where<D extends DType>(condition: Tensor, a: ScalarInput, b: Tensor<D>): Tensor<D>;
  where(condition: Tensor, a: number, b: number): Tensor<'f32'>;
  where(condition: Tensor, a: Tensor | ScalarInput, b: Tensor | ScalarInput): Tensor;
  where(condition: Tensor, a: Tensor | ScalarInput, b: Tensor | ScalarInput): Tensor {
    const [p, q] = [this.operand(a, 'where'), this.operand(b, 'where')];
    return this.made(where(nodeOf(condition, this.host, 'where'), p, q));
  }

  /**
   * Tensors one behind the other along an axis.
   * @example rt.concat([rt.tensor([1]), rt.tensor([2, 3])], 0) // → [1, 2, 3]
   */
  concat<D extends DType>(tensors: readonly Tensor<D>[], axis = 0): Tensor<Common<D>> {
    return this.made(concat(this.nodesOf(tensors, 'concat'), axis));
  }

  /**
   * NumPy's name for `concat`.
   * @example rt.concatenate([rt.tensor([1]), rt.tensor([2, 3])]) // → [1, 2, 3]
   */
  concatenate<D extends DType>(tensors: readonly Tensor<D>[], axis = 0): Tensor<Common<D>> {
    return this.concat(tensors, axis);
  }

  /**
   * Tensors of one shape along a new axis.
   * @example rt.stack([rt.tensor([1, 2]), rt.tensor([3, 4])], 1) // → [[1, 3], [2, 4]]
   */
  stack<D extends DType>(tensors: readonly Tensor<D>[], axis = 0): Tensor<Common<D>> {
    return this.made(stack(this.nodesOf(tensors, 'stack'), axis));
  }

  /**
   * Einstein summation.
   * @example rt.einsum('ij,jk->ik', rt.ones([2, 3]), rt.ones([3, 2])) // → [[3, 3], [3, 3]]
   */
  einsum<D extends DType>(spec: string, ...operands: readonly [Tensor<D>, ...Tensor<D>[]]): Tensor<Common<D>> {
    return this.made(einsumNode(spec, this.nodesOf(operands, 'einsum'), matmulNode));
  }

  private made<D extends DType>(node: Node): Tensor<D> {
    this.host.checkOpen('runtime');
    return new Tensor<D>(this.host, node);
  }

  private filled<D extends DType>(shape: Shape, value: ScalarInput, dtype: DType | undefined, call: string): Tensor<D> {
    return this.made(full(shape, value, dtype ?? 'f32', call));
  }

  private nodesOf(tensors: readonly Tensor[], call: string): Node[] {
    return tensors.map((t) => nodeOf(t, this.host, call));
  }

  private operand(value: Tensor | ScalarInput, call: string): Node | ScalarInput {
    return value instanceof TensorCore ? nodeOf(value, this.host, call) : value;
  }
}
