// Building blocks of neural networks and signal processing: convolution, pooling, softmax, normalisation.

import { checkFinite } from '../base/arguments.ts';
import { accumulatorFor, type DType, floatFor, intRange, isFloat } from '../base/dtype.ts';
import { axesInOrder, checkShape, normalizeAxes, normalizeAxis, type Shape, sameShape, show } from '../base/shape.ts';
import { ShapeError } from '../errors.ts';
import type { Node } from '../graph/node.ts';
import type { FloatOf, Joined } from './arithmetic.ts';
import { alu, cast, constant, expand, operandsOf, type ScalarInput } from './build.ts';
import { type ConvOptions, convKernelNode, convNode, convTransposeNode } from './conv.ts';
import { Linear } from './linear.ts';
import { meanOf, reduce, varianceOf } from './reductions.ts';
import type { Tensor } from './tensor.ts';
import { folded, type PerAxis, type Sides, windowed, windowing } from './windowing.ts';

export interface PoolOptions {
  /** The window itself if not given. */
  readonly stride?: PerAxis | undefined;
  readonly padding?: PerAxis | undefined;
}

export interface WindowOptions {
  readonly stride?: PerAxis | undefined;
  readonly dilation?: PerAxis | undefined;
  /** Zeros on both sides of each windowed axis, or `[before, after]` for each. */
  readonly padding?: PerAxis | Sides | undefined;
  /** The axes that are windowed, one for each size of the window, in its order. Default: the last ones. */
  readonly axes?: readonly number[] | undefined;
}

export abstract class Network<D extends DType = DType> extends Linear<D> {
  /**
   * 1-d convolution (cross-correlation): [N, C, L] with kernels [O, C / groups, K], or by `layout`.
   * @example rt.tensor([[[1, 2, 3]]]).conv1d(rt.tensor([[[1, 1]]])) // → [[[3, 5]]]
   */
  conv1d<E extends DType>(kernel: Tensor<E>, options: ConvOptions = {}): Tensor<Joined<D, E>> {
    return this.conv(kernel, options, 1);
  }

  /**
   * 2-d convolution (cross-correlation): [N, C, H, W] with kernels [O, C / groups, KH, KW], or by `layout`.
   * @example rt.ones([1, 1, 3, 3]).conv2d(rt.ones([1, 1, 2, 2])) // → [[[[4, 4], [4, 4]]]]
   */
  conv2d<E extends DType>(kernel: Tensor<E>, options: ConvOptions = {}): Tensor<Joined<D, E>> {
    return this.conv(kernel, options, 2);
  }

  /**
   * 3-d convolution (cross-correlation): [N, C, D, H, W] with kernels [O, C / groups, KD, KH, KW], or by `layout`.
   * @example rt.ones([1, 1, 2, 2, 2]).conv3d(rt.ones([1, 1, 2, 2, 2])) // → [[[[[8]]]]]
   */
  conv3d<E extends DType>(kernel: Tensor<E>, options: ConvOptions = {}): Tensor<Joined<D, E>> {
    return this.conv(kernel, options, 3);
  }

  private conv<E extends DType>(kernel: Tensor<E>, options: ConvOptions, spatial: number): Tensor<Joined<D, E>> {
    const where = `conv${spatial}d`;
    return this.make(convNode(this.node, this.sibling(kernel, where).node, options, spatial, where));
  }

  /**
   * Transposed convolution: every element times the kernel, added up where its window lies in a tensor of `shape`. It is the gradient of
   * a convolution with these options by its input, over as many axes as the kernel has beside its channels.
   * @example rt.ones([1, 1, 2]).convTranspose(rt.tensor([[[1, 10]]]), [1, 1, 3]) // → [[[1, 11, 10]]]
   */
  convTranspose<E extends DType>(kernel: Tensor<E>, shape: Shape, options: ConvOptions = {}): Tensor<Joined<D, E>> {
    checkShape(shape, 'convTranspose');
    const node = this.sibling(kernel, 'convTranspose').node;
    return this.make(convTransposeNode(this.node, node, shape, options, kernel.rank - 2, 'convTranspose'));
  }

  /**
   * The gradient of a convolution of this tensor by its kernel, which has the given shape, from the gradient of its result.
   * @example rt.tensor([[[1, 2, 3]]]).convKernelGradient(rt.ones([1, 1, 2]), [1, 1, 2]) // → [[[3, 5]]]
   */
  convKernelGradient<E extends DType>(
    gradient: Tensor<E>,
    shape: Shape,
    options: ConvOptions = {},
  ): Tensor<Joined<D, E>> {
    checkShape(shape, 'convKernelGradient');
    const node = this.sibling(gradient, 'convKernelGradient').node;
    return this.make(convKernelNode(this.node, node, shape, options, shape.length - 2, 'convKernelGradient'));
  }

  /**
   * A view of all windows over the last axes: those axes get the number of windows, and the windows become new last axes.
   * @example rt.tensor([1, 2, 3]).windows([2]) // → [[1, 2], [2, 3]]
   * @example rt.tensor([1, 2, 3, 4, 5]).windows([2], { stride: 2, dilation: 2 }) // → [[1, 3], [3, 5]]
   */
  windows(window: readonly number[], options: WindowOptions = {}): Tensor<D> {
    const axes = options.axes && axesInOrder(options.axes, this.rank, 'windows');
    return this.make<D>(windowed(this.node, windowing(this.shape, window, options, 'windows', axes), 0, 'windows'));
  }

  /**
   * The opposite of `windows`: adds every element of every window where `windows` of a tensor of `shape` takes it from (overlap-add).
   * @example rt.tensor([[1, 2], [3, 4]]).fold([3]) // → [1, 5, 4]
   * @example rt.tensor([[1, 2], [3, 4]]).fold([4], { stride: 2 }) // → [1, 2, 3, 4]
   */
  fold(shape: Shape, options: WindowOptions = {}): Tensor<D> {
    checkShape(shape, 'fold');
    const axes = options.axes && axesInOrder(options.axes, shape.length, 'fold');
    const w = windowing(shape, this.shape.slice(shape.length), options, 'fold', axes);
    const wanted = [...shape.map((d, i) => w.counts[w.axes.indexOf(i)] ?? d), ...w.sizes];
    if (!sameShape(this.shape, wanted)) {
      throw new ShapeError({
        code: 'SHAPE_MISMATCH',
        message: `fold: windows over ${show(shape)} have the shape ${show(wanted)}, not ${show(this.shape)}`,
        fix: 'Give the shape and the options that the windows were made with.',
        where: 'fold',
      });
    }
    return this.make<D>(folded(this.node, shape, w));
  }

  /**
   * The largest value in each window of the last axes (as many as the window has).
   * @example rt.tensor([[1, 2, 3, 4]]).maxPool([2]) // → [[2, 4]]
   */
  maxPool(window: readonly number[], options: PoolOptions = {}): Tensor<D> {
    // Devices compare numbers.
    const x = this.dtype === 'bool' ? cast(this.node, 'u8') : this.node;
    const axes = window.map((_, i) => this.rank - window.length + i);
    const windows = pooled(x, window, options, lowestOf(x.dtype), 'maxPool');
    const top = reduce('max', windows, { axis: axes.map((a) => a + window.length) }, 'maxPool');
    return this.make<D>(cast(top, this.dtype));
  }

  /**
   * The mean of each window of the last axes; padding counts as zeros.
   * @example rt.tensor([[1, 2, 3, 4]]).avgPool([2]) // → [[1.5, 3.5]]
   */
  avgPool(window: readonly number[], options: PoolOptions = {}): Tensor<FloatOf<D>> {
    const axes = window.map((_, i) => this.rank - window.length + i);
    const x = cast(this.node, floatFor(this.dtype));
    const windows = pooled(x, window, options, 0, 'avgPool');
    return this.make(meanOf(windows, { axis: axes.map((a) => a + window.length) }, 'avgPool'));
  }

  /**
   * `exp(x) / sum(exp(x))` along axes, without overflow.
   * @example rt.tensor([0, 0]).softmax() // → [0.5, 0.5]
   */
  softmax(axis: number | readonly number[] = -1): Tensor<FloatOf<D>> {
    const { type, exp, sum } = softmaxParts(this.node, axis, 'softmax');
    return this.make(cast(alu('div', exp, sum), type));
  }

  /**
   * `log(softmax(x))`, accurate where softmax vanishes.
   * @example rt.tensor([0, 0]).logSoftmax().exp() // → [0.5, 0.5]
   */
  logSoftmax(axis: number | readonly number[] = -1): Tensor<FloatOf<D>> {
    const { type, shifted, sum } = softmaxParts(this.node, axis, 'logSoftmax');
    return this.make(cast(alu('sub', shifted, alu('log', sum)), type));
  }

  /**
   * Shifted and scaled to mean 0 and variance 1 along axes.
   * @example rt.tensor([1, 3]).layerNorm(-1, 0) // → [-1, 1]
   */
  layerNorm(axis: number | readonly number[] = -1, eps = 1e-5): Tensor<FloatOf<D>> {
    checkFinite(eps, 'eps', 'layerNorm');
    const type = floatFor(this.dtype);
    const wide = accumulatorFor(type);
    const x = cast(this.node, wide);
    const options = { axis: normalizeAxes(axis, this.rank, 'layerNorm'), keepdims: true };
    const mean = expand(meanOf(x, options, 'layerNorm'), this.shape);
    const variance = alu('add', varianceOf(x, options), constant(wide, eps));
    const scale = alu('div', constant(wide, 1), alu('sqrt', variance));
    return this.make(cast(alu('mul', alu('sub', x, mean), expand(scale, this.shape)), type));
  }

  /**
   * The cosine of the angle between vectors along an axis; a length below `eps` counts as `eps`.
   * @example rt.tensor([1, 0]).cosineSimilarity(rt.tensor([0, 1])) // → 0
   */
  cosineSimilarity<E extends DType>(other: Tensor<E>, axis = -1, eps = 1e-8): Tensor<FloatOf<Joined<D, E>>> {
    const [a, b] = operandsOf(this.node, this.sibling(other, 'cosineSimilarity').node, 'cosineSimilarity');
    const type = floatFor(a.dtype);
    const options = { axis: normalizeAxis(axis, Math.max(this.rank, other.rank), 'cosineSimilarity') };
    // Squares leave the range of f16 long before their quotient does, and `eps` is below it.
    const [x, y] = [cast(a, accumulatorFor(type)), cast(b, accumulatorFor(type))];
    const least = constant(x.dtype, checkFinite(eps, 'eps', 'cosineSimilarity'));
    const product = (p: Node, q: Node): Node => reduce('sum', alu('mul', p, q), options, 'cosineSimilarity');
    const length = (v: Node): Node => alu('max', alu('sqrt', product(v, v)), least);
    return this.make(cast(alu('div', product(x, y), alu('mul', length(x), length(y))), type));
  }
}

function softmaxParts(node: Node, axis: number | readonly number[], where: string) {
  const type = floatFor(node.dtype);
  const x = cast(node, accumulatorFor(type));
  const shape = node.shape.values;
  const options = { axis: normalizeAxes(axis, shape.length, where), keepdims: true };
  if (node.size === 0) return { type, shifted: x, exp: x, sum: x };
  // An infinite maximum makes the whole row NaN, as in NumPy and PyTorch.
  const top = reduce('max', x, options, where);
  const shifted = alu('sub', x, expand(top, shape));
  const exp = alu('exp', shifted);
  return { type, shifted, exp, sum: expand(reduce('sum', exp, options, where), shape) };
}

/** Windows that lie side by side unless a stride is given. */
function pooled(x: Node, window: readonly number[], options: PoolOptions, fill: ScalarInput, where: string): Node {
  const settings = { ...options, stride: options.stride ?? window };
  return windowed(x, windowing(x.shape.values, window, settings, where), fill, where);
}

function lowestOf(t: DType): ScalarInput {
  if (isFloat(t)) return Number.NEGATIVE_INFINITY;
  const [lo] = intRange[t as keyof typeof intRange];
  return t === 'i64' || t === 'u64' ? lo : Number(lo);
}
