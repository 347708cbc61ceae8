// Building blocks of neural networks and signal processing: convolution, pooling, softmax, normalisation.

import { checkFinite, shown } from '../base/arguments.ts';
import { accumulatorFor, type DType, floatFor, intRange, isFloat, promote } from '../base/dtype.ts';
import { checkCount, normalizeAxes, normalizeAxis, show, sizeOf } from '../base/shape.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import { args, makeNode, type Node } from '../graph/node.ts';
import type { FloatOf, Joined } from './arithmetic.ts';
import { alu, cast, constant, expand, operandsOf, permute, reshape, type ScalarInput } from './build.ts';
import { Linear, matmulNode } from './linear.ts';
import { finite, meanOf, reduce, varianceOf } from './reductions.ts';
import type { Tensor } from './tensor.ts';
import { padded as bordered } from './views.ts';

type PerAxis = number | readonly number[];

export interface ConvOptions {
  readonly stride?: PerAxis | undefined;
  /** On both sides of each spatial axis; 'same' keeps the size for stride 1. */
  readonly padding?: PerAxis | 'same' | undefined;
  readonly dilation?: PerAxis | undefined;
  readonly groups?: number | undefined;
}

export interface PoolOptions {
  /** The window itself if not given. */
  readonly stride?: PerAxis | undefined;
  readonly padding?: PerAxis | undefined;
}

export interface WindowOptions {
  readonly stride?: PerAxis | undefined;
  readonly dilation?: PerAxis | undefined;
  /** Zeros on both sides of each windowed axis. */
  readonly padding?: PerAxis | undefined;
  /** The axes that are windowed, as many as the window has sizes. Default: the last ones. */
  readonly axes?: readonly number[] | undefined;
}

export abstract class Network<D extends DType = DType> extends Linear<D> {
  /**
   * 1-d convolution (cross-correlation): [N, C, L] with kernels [O, C / groups, K].
   * @example rt.tensor([[[1, 2, 3]]]).conv1d(rt.tensor([[[1, 1]]])) // → [[[3, 5]]]
   */
  conv1d<E extends DType>(kernel: Tensor<E>, options: ConvOptions = {}): Tensor<Joined<D, E>> {
    return this.conv(kernel, options, 1);
  }

  /**
   * 2-d convolution (cross-correlation): [N, C, H, W] with kernels [O, C / groups, KH, KW].
   * @example rt.ones([1, 1, 3, 3]).conv2d(rt.ones([1, 1, 2, 2])) // → [[[[4, 4], [4, 4]]]]
   */
  conv2d<E extends DType>(kernel: Tensor<E>, options: ConvOptions = {}): Tensor<Joined<D, E>> {
    return this.conv(kernel, options, 2);
  }

  /**
   * 3-d convolution (cross-correlation): [N, C, D, H, W] with kernels [O, C / groups, KD, KH, KW].
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
   * A view of all windows over the last axes: those axes get the number of windows, and the windows become new last axes.
   * @example rt.tensor([1, 2, 3]).windows([2]) // → [[1, 2], [2, 3]]
   * @example rt.tensor([1, 2, 3, 4, 5]).windows([2], { stride: 2, dilation: 2 }) // → [[1, 3], [3, 5]]
   */
  windows(window: readonly number[], options: WindowOptions = {}): Tensor<D> {
    const axes = options.axes && normalizeAxes(options.axes, this.rank, 'windows');
    return this.make<D>(windowed(this.node, window, options, 0, 'windows', axes));
  }

  /**
   * The largest value in each window of the last axes (as many as the window has).
   * @example rt.tensor([[1, 2, 3, 4]]).maxPool([2]) // → [[2, 4]]
   */
  maxPool(window: readonly number[], options: PoolOptions = {}): Tensor<D> {
    // Devices compare numbers.
    const x = this.dtype === 'bool' ? cast(this.node, 'u8') : this.node;
    const axes = window.map((_, i) => this.rank - window.length + i);
    const windows = windowed(x, window, { ...options, stride: options.stride ?? window }, lowestOf(x.dtype), 'maxPool');
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
    const windows = windowed(x, window, { ...options, stride: options.stride ?? window }, 0, 'avgPool');
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
   * The cosine of the angle between vectors along an axis; at least `eps` stands for each length.
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
  const top = finite(reduce('max', x, options, where));
  const shifted = alu('sub', x, expand(top, shape));
  const exp = alu('exp', shifted);
  return { type, shifted, exp, sum: expand(reduce('sum', exp, options, where), shape) };
}

function lowestOf(t: DType): ScalarInput {
  if (isFloat(t)) return Number.NEGATIVE_INFINITY;
  const [lo] = intRange[t as keyof typeof intRange];
  return t === 'i64' || t === 'u64' ? lo : Number(lo);
}

function perAxis(value: PerAxis, count: number, name: string, least: number, where: string): readonly number[] {
  const list = typeof value === 'number' ? new Array<number>(count).fill(value) : value;
  if (!Array.isArray(list) || list.length !== count || list.some((v) => !Number.isInteger(v) || v < least)) {
    throw new ArgumentError({
      code: 'BAD_OPTION',
      message: `${where}: ${name} is ${shown(value)}`,
      fix: `Give a whole number of at least ${least}, or one for each of the ${count} axes.`,
      where,
    });
  }
  return list;
}

/** The windows over some axes, by default the last: they get the number of windows, and the windows become new last axes. */
function windowed(
  x: Node,
  window: readonly number[],
  options: { stride?: PerAxis | undefined; padding?: PerAxis | 'same' | undefined; dilation?: PerAxis | undefined },
  fill: ScalarInput,
  where: string,
  axes: readonly number[] = window.map((_, i) => x.shape.values.length - window.length + i),
): Node {
  const count = window.length;
  const shape = x.shape.values;
  if (count > shape.length || axes.length !== count) {
    throw new ShapeError({
      code: 'BAD_RANK',
      message: `${where}: a window ${show(window)} over a tensor of shape ${show(shape)}`,
      fix: 'Give one size for each windowed axis: [2, 2].',
      where,
    });
  }
  const sizes = perAxis(window, count, 'the window', 1, where);
  const strides = perAxis(options.stride ?? 1, count, 'stride', 1, where);
  const dilations = perAxis(options.dilation ?? 1, count, 'dilation', 1, where);
  const reach = sizes.map((k, i) => (k - 1) * dilations[i]! + 1);
  const same = options.padding === 'same';
  const sides: [number, number][] = same
    ? reach.map((r) => [Math.floor((r - 1) / 2), Math.ceil((r - 1) / 2)])
    : perAxis((options.padding ?? 0) as PerAxis, count, 'padding', 0, where).map((p) => [p, p]);
  const widths: [number, number][] = shape.map((_, i) => sides[axes.indexOf(i)] ?? [0, 0]);
  const padded = bordered(x, widths, fill, where);
  const counts = sizes.map((_, i) => {
    const length = padded.shape.values[axes[i]!]!;
    const n = Math.floor((length - reach[i]!) / strides[i]!) + 1;
    if (n < 1) {
      throw new ShapeError({
        code: 'SHAPE_MISMATCH',
        message: `${where}: a window of ${sizes[i]} (reaching over ${reach[i]}) does not fit axis ${axes[i]} of ${show(shape)}`,
        fix: 'Use a smaller window or more padding.',
        where,
      });
    }
    return n;
  });
  const rows = sizes.map((size, i) => ({ axis: axes[i]!, size, stride: strides[i]!, dilation: dilations[i]! }));
  const kept = shape.map((d, i) => counts[axes.indexOf(i)] ?? d);
  const result = checkCount([...kept, ...sizes], where);
  return makeNode('window', x.dtype, result, [padded], args.window(rows));
}

// As a matrix product: kernels [groups, O/g, C/g·K] times windows [N, groups, C/g·K, positions].
function convNode(x: Node, kernel: Node, options: ConvOptions, spatial: number, where: string): Node {
  const dtype = promote(x.dtype, kernel.dtype);
  const [xs, ks] = [x.shape.values, kernel.shape.values];
  const { groups = 1 } = options;
  const fits = xs.length === spatial + 2 && ks.length === spatial + 2 && Number.isInteger(groups) && groups >= 1;
  const [n, c, o] = [xs[0]!, xs[1]!, ks[0]!];
  if (!fits || ks[1]! * groups !== c || o % groups !== 0) {
    throw new ShapeError({
      code: 'SHAPE_MISMATCH',
      message: `${where}: input ${show(xs)} and kernel ${show(ks)} with ${groups} groups`,
      fix: `Input is [N, C, …${spatial} axes], kernel [O, C / groups, …${spatial} axes], and groups divides both C and O.`,
      where,
    });
  }
  const k = ks.slice(2);
  const windows = windowed(cast(x, dtype), k, options, 0, where);
  const out = windows.shape.values.slice(2, 2 + spatial);
  const axes = Array.from({ length: spatial }, (_, i) => i);
  const order = [0, 1, ...axes.map((i) => 2 + spatial + i), ...axes.map((i) => 2 + i)];
  const depth = (c / groups) * sizeOf(k);
  const columns = reshape(
    permute(windows, order),
    groups === 1 ? [n, depth, sizeOf(out)] : [n, groups, depth, sizeOf(out)],
  );
  const rows = reshape(cast(kernel, dtype), groups === 1 ? [1, o, depth] : [1, groups, o / groups, depth]);
  return reshape(matmulNode(rows, columns, 'exact'), [n, o, ...out]);
}
