// Convolutions and their gradients, over any number of spatial axes, with the channels first or last.
//
// A convolution is a matrix product with a view of all windows. Where every channel has kernels of its own (depthwise) there is no
// product to gain from: it is the sum of each window times its kernel, which is fused with what follows. Inside, shapes are those with the
// channels last: inputs [N, …in, C], kernels […kernel, C / groups, O], results [N, …out, O].

import { accumulatorFor, promote } from '../base/dtype.ts';
import { type Shape, sameShape, show, sizeOf } from '../base/shape.ts';
import { ShapeError } from '../errors.ts';
import type { Node } from '../graph/node.ts';
import { alu, cast, expand, permute, reshape } from './build.ts';
import { matmulNode } from './linear.ts';
import { reduce } from './reductions.ts';
import { folded, type Windowing, type WindowSettings, windowed, windowing } from './windowing.ts';

export interface ConvOptions extends WindowSettings {
  readonly groups?: number | undefined;
  /**
   * `'channelsFirst'` (the default): [N, C, …] with kernels [O, C / groups, …]. `'channelsLast'`: [N, …, C] with kernels
   * […, C / groups, O].
   */
  readonly layout?: 'channelsFirst' | 'channelsLast' | undefined;
}

/** A convolution that fits. Channels are those of one group. */
interface Conv {
  readonly first: boolean;
  readonly batch: number;
  readonly groups: number;
  readonly inputs: number;
  readonly outputs: number;
  readonly window: Windowing;
  /** Every channel has kernels of its own; or there is one channel, with a few kernels. */
  readonly depthwise: boolean;
}

/** Kernels of a single channel that are summed up one by one: a product of so few columns gains nothing. */
const fewKernels = 4;

/**
 * Of images with fewer positions the product is one for all of them: tensor cores would have too little to do with one (32 images of 14²:
 * in bf16 77 µs on an H200, as one product 38). The result is turned then.
 */
const fewPositions = 1024;

const isHalf = ({ dtype }: Node): boolean => dtype === 'f16' || dtype === 'bf16';

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => from + i);

/** What an input and a kernel of these shapes give; refuses those that do not fit. */
function convOf(input: Shape, kernel: Shape, options: ConvOptions, spatial: number, where: string): Conv {
  const { groups = 1, layout = 'channelsFirst' } = options;
  const first = layout === 'channelsFirst';
  const rank = spatial + 2;
  const x = first ? toLast(input) : input;
  const k = first ? kernelToLast(kernel) : kernel;
  const [c, inputs, o] = [x[rank - 1]!, k[rank - 2]!, k[rank - 1]!];
  const ranks = spatial >= 1 && input.length === rank && kernel.length === rank;
  if (!ranks || !Number.isInteger(groups) || groups < 1 || inputs * groups !== c || o % groups !== 0) {
    const axes = spatial >= 1 ? `…${spatial} axes` : '…';
    throw new ShapeError({
      code: 'SHAPE_MISMATCH',
      message: `${where}: input ${show(input)} and kernel ${show(kernel)} with ${groups} groups`,
      fix: first
        ? `Input is [N, C, ${axes}], kernel [O, C / groups, ${axes}], and groups divides both C and O.`
        : `Input is [N, ${axes}, C], kernel [${axes}, C / groups, O], and groups divides both C and O.`,
      where,
    });
  }
  const window = windowing(x, k.slice(0, spatial), options, where, range(1, spatial));
  const depthwise = inputs === 1 && (groups > 1 || o <= fewKernels);
  return { first, batch: x[0]!, groups, inputs, outputs: o / groups, window, depthwise };
}

// Layouts.

const toLast = <T>(list: readonly T[]): T[] => [list[0]!, ...list.slice(2), list[1]!];
const kernelToLast = <T>(list: readonly T[]): T[] => [...list.slice(2), list[1]!, list[0]!];

const axesOf = (x: Node): number[] => [...x.shape.values.keys()];
const inLast = (x: Node, c: Conv): Node => (c.first ? permute(x, toLast(axesOf(x))) : x);
const kernelInLast = (k: Node, c: Conv): Node => (c.first ? permute(k, kernelToLast(axesOf(k))) : k);

function fromLast(y: Node, c: Conv): Node {
  const rank = y.shape.values.length;
  return c.first ? permute(y, [0, rank - 1, ...range(1, rank - 2)]) : y;
}

function kernelFromLast(k: Node, c: Conv): Node {
  const rank = k.shape.values.length;
  return c.first ? permute(k, [rank - 1, rank - 2, ...range(0, rank - 2)]) : k;
}

/** Windows of one element that leave nothing out: every position is its own window. */
const isPlain = ({ window: w }: Conv): boolean =>
  w.sizes.every((size, i) => size === 1 && w.strides[i] === 1 && w.sides[i]![0] + w.sides[i]![1] === 0);

/** All windows as rows of a matrix for each group: [groups, N · …out, …kernel · C]; without the first axis if there is one group. */
function columns(x: Node, c: Conv, where: string): Node {
  const { groups, inputs, window: w } = c;
  const rows = c.batch * sizeOf(w.counts);
  if (isPlain(c) && groups === 1) return reshape(x, [rows, inputs]);
  const s = w.sizes.length;
  const windows = windowed(x, w, 0, where);
  const depth = sizeOf(w.sizes) * inputs;
  // [N, …out, C, …kernel] → [N, …out, …kernel, C]
  if (groups === 1) return reshape(permute(windows, [...range(0, s + 1), ...range(s + 2, s), s + 1]), [rows, depth]);
  const split = reshape(windows, [c.batch, ...w.counts, groups, inputs, ...w.sizes]);
  return reshape(permute(split, [s + 1, ...range(0, s + 1), ...range(s + 3, s), s + 2]), [groups, rows, depth]);
}

/** A kernel as matrices: [groups, …kernel · C, O]. */
function matrices(kernel: Node, { groups, inputs, outputs, window: { sizes } }: Conv): Node {
  const depth = sizeOf(sizes) * inputs;
  if (groups === 1) return reshape(kernel, [depth, outputs]);
  return permute(reshape(kernel, [depth, groups, outputs]), [1, 0, 2]);
}

/** Results as matrices: [groups, N · …out, O]. */
function rowsOf(y: Node, { batch, groups, outputs, window }: Conv): Node {
  const rows = batch * sizeOf(window.counts);
  if (groups === 1) return reshape(y, [rows, outputs]);
  return permute(reshape(y, [rows, groups, outputs]), [1, 0, 2]);
}

const product = (a: Node, b: Node, where: string): Node => matmulNode(a, b, 'exact', where);
const swapped = (x: Node): Node => {
  const axes = axesOf(x);
  const [last, before] = [axes.pop()!, axes.pop()!];
  return permute(x, [...axes, last, before]);
};

export function convNode(x: Node, kernel: Node, options: ConvOptions, spatial: number, where: string): Node {
  const c = convOf(x.shape.values, kernel.shape.values, options, spatial, where);
  const dtype = promote(x.dtype, kernel.dtype);
  const [a, k] = [cast(x, dtype), cast(kernel, dtype)];
  if (c.depthwise && dtype !== 'bool') return fromLast(depthwise(inLast(a, c), kernelInLast(k, c), c, where), c);
  if (c.first) return productFirst(a, k, c, where);
  const { batch, groups, outputs, window } = c;
  const y = product(columns(a, c, where), matrices(k, c), where);
  const turned = groups === 1 ? y : permute(y, [1, 0, 2]);
  return reshape(turned, [batch, ...window.counts, groups * outputs]);
}

/** With the channels first: kernels [groups, O, C · kernel] times windows [N, groups, C · kernel, positions], as it is stored then. */
function productFirst(x: Node, kernel: Node, c: Conv, where: string): Node {
  const { batch, groups, inputs, outputs, window: w } = c;
  const s = w.sizes.length;
  const windows = (): Node =>
    permute(windowed(x, { ...w, axes: range(2, s) }, 0, where), [0, 1, ...range(2 + s, s), ...range(2, s)]);
  const depth = inputs * sizeOf(w.sizes);
  if (groups === 1 && batch > 1 && isHalf(x) && sizeOf(w.counts) < fewPositions) {
    // [C · kernel, N · positions], and back from [O, N · positions].
    const all = permute(windowed(x, { ...w, axes: range(2, s) }, 0, where), [1, ...range(2 + s, s), 0, ...range(2, s)]);
    const right = reshape(all, [inputs * sizeOf(w.sizes), batch * sizeOf(w.counts)]);
    const y = product(reshape(kernel, [outputs, inputs * sizeOf(w.sizes)]), right, where);
    return permute(reshape(y, [outputs, batch, ...w.counts]), [1, 0, ...range(2, s)]);
  }
  const grouped = groups === 1 ? [] : [groups];
  const right = reshape(isPlain(c) ? x : windows(), [batch, ...grouped, depth, sizeOf(w.counts)]);
  const left = reshape(kernel, [1, ...grouped, outputs, depth]);
  return reshape(product(left, right, where), [batch, groups * outputs, ...w.counts]);
}

/** A kernel of one channel per group: [groups, O, …kernel]. */
function ownKernels(kernel: Node, { groups, outputs, window: { sizes } }: Conv): Node {
  const s = sizes.length;
  return permute(reshape(kernel, [...sizes, groups, outputs]), [s, s + 1, ...range(0, s)]);
}

/** [N, …out, groups, O, …kernel]: what the windows of a group see, for each of its kernels. */
function ownWindows(x: Node, c: Conv, where: string): { readonly windows: Node; readonly shape: Shape } {
  const { batch, groups, outputs, window: w } = c;
  const shape = [batch, ...w.counts, groups, outputs, ...w.sizes];
  const windows = reshape(windowed(x, w, 0, where), [batch, ...w.counts, groups, 1, ...w.sizes]);
  return { windows: expand(windows, shape), shape };
}

function depthwise(x: Node, kernel: Node, c: Conv, where: string): Node {
  const { batch, groups, outputs, window: w } = c;
  const s = w.sizes.length;
  const wide = accumulatorFor(x.dtype);
  const { windows, shape } = ownWindows(cast(x, wide), c, where);
  const products = alu('mul', windows, expand(ownKernels(cast(kernel, wide), c), shape));
  const sum = reduce('sum', products, { axis: range(s + 3, s) }, where);
  return cast(reshape(sum, [batch, ...w.counts, groups * outputs]), x.dtype);
}

/** The gradient of the input, of shape `input`, from the gradient of the result. */
export function convTransposeNode(
  y: Node,
  kernel: Node,
  input: Shape,
  options: ConvOptions,
  spatial: number,
  where: string,
): Node {
  const c = convOf(input, kernel.shape.values, options, spatial, where);
  const result = resultShape(c);
  if (!sameShape(y.shape.values, result)) throw wrongResult(y.shape.values, result, where);
  const dtype = promote(y.dtype, kernel.dtype);
  // Windows overlap: their sums are rounded to half floats at the end.
  const wide = accumulatorFor(dtype);
  const [dy, k] = [inLast(cast(y, wide), c), kernelInLast(cast(kernel, wide), c)];
  const last = c.first ? toLast(input) : input;
  const spread = c.depthwise ? ownSpread(dy, k, c, where) : productSpread(dy, k, c, where);
  const dx = isPlain(c) ? reshape(spread, last) : folded(spread, last, c.window);
  return fromLast(cast(dx, dtype), c);
}

/** [N, …out, C, …kernel]: what each result gives back to its window. */
function productSpread(dy: Node, kernel: Node, c: Conv, where: string): Node {
  const { batch, groups, inputs, window: w } = c;
  const s = w.sizes.length;
  const rows = product(rowsOf(dy, c), swapped(matrices(kernel, c)), where);
  if (groups === 1) {
    const split = reshape(rows, [batch, ...w.counts, ...w.sizes, inputs]);
    return permute(split, [...range(0, s + 1), 2 * s + 1, ...range(s + 1, s)]);
  }
  const split = reshape(rows, [groups, batch, ...w.counts, ...w.sizes, inputs]);
  const turned = permute(split, [...range(1, s + 1), 0, 2 * s + 2, ...range(s + 2, s)]);
  return reshape(turned, [batch, ...w.counts, groups * inputs, ...w.sizes]);
}

function ownSpread(dy: Node, kernel: Node, c: Conv, where: string): Node {
  const { batch, groups, outputs, window: w } = c;
  const s = w.sizes.length;
  const shape = [batch, ...w.counts, groups, outputs, ...w.sizes];
  const each = reshape(dy, [batch, ...w.counts, groups, outputs, ...w.sizes.map(() => 1)]);
  const products = alu('mul', expand(each, shape), expand(ownKernels(kernel, c), shape));
  const sum = outputs === 1 ? products : reduce('sum', products, { axis: s + 2 }, where);
  return reshape(sum, [batch, ...w.counts, groups, ...w.sizes]);
}

/** The gradient of the kernel, of shape `kernel`, from the gradient of the result. */
export function convKernelNode(
  x: Node,
  y: Node,
  kernel: Shape,
  options: ConvOptions,
  spatial: number,
  where: string,
): Node {
  const c = convOf(x.shape.values, kernel, options, spatial, where);
  const result = resultShape(c);
  if (!sameShape(y.shape.values, result)) throw wrongResult(y.shape.values, result, where);
  const dtype = promote(x.dtype, y.dtype);
  const [a, dy] = [inLast(cast(x, dtype), c), inLast(cast(y, dtype), c)];
  const { groups, inputs, outputs, window: w } = c;
  const s = w.sizes.length;
  const depth = sizeOf(w.sizes) * inputs;
  if (!c.depthwise || dtype === 'bool') {
    const sums = product(swapped(columns(a, c, where)), rowsOf(dy, c), where);
    const turned = groups === 1 ? sums : permute(reshape(sums, [groups, depth, outputs]), [1, 0, 2]);
    return kernelFromLast(reshape(turned, [...w.sizes, inputs, groups * outputs]), c);
  }
  const wide = accumulatorFor(dtype);
  const { windows, shape } = ownWindows(cast(a, wide), c, where);
  const each = reshape(cast(dy, wide), [c.batch, ...w.counts, groups, outputs, ...w.sizes.map(() => 1)]);
  const sums = reduce('sum', alu('mul', windows, expand(each, shape)), { axis: range(0, s + 1) }, where);
  const turned = permute(sums, [...range(2, s), 0, 1]);
  return kernelFromLast(reshape(cast(turned, dtype), [...w.sizes, 1, groups * outputs]), c);
}

function resultShape({ first, batch, groups, outputs, window: { counts } }: Conv): Shape {
  return first ? [batch, groups * outputs, ...counts] : [batch, ...counts, groups * outputs];
}

const wrongResult = (given: Shape, wanted: Shape, where: string): ShapeError =>
  new ShapeError({
    code: 'SHAPE_MISMATCH',
    message: `${where}: a convolution with these options gives ${show(wanted)}, not ${show(given)}`,
    fix: 'Give the shapes and the options of the convolution that made the result.',
    where,
  });
