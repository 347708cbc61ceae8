// Convolutions and their gradients, in NHWC or NCHW, over two or three spatial axes.
//
// A convolution is a matrix product with a view of all windows; the gradient of its input is a product whose columns are
// folded back onto the input. Depthwise convolutions have no product to gain from: they are sums of shifted inputs.

import type { Tensor } from '../../index.ts';
import type { Call, Kernels } from '../kernel.ts';
import { fused } from './matmul.ts';
import { numbers, stored } from './types.ts';
import { fold, type Geometry, geometry2, geometry3, product, shiftedInputs, taps, windowsOf } from './windows.ts';

type Pads = 'valid' | 'same' | number | [number, number][];

interface ConvAttrs {
  readonly strides: number | [number, number];
  readonly pad: Pads;
  readonly dataFormat?: 'NHWC' | 'NCHW';
  readonly dilations?: number | [number, number];
  readonly dimRoundingMode?: 'floor' | 'round' | 'ceil';
  readonly inputShape?: [number, number, number, number];
  readonly filterShape?: [number, number, number, number];
}

type Shape4 = [number, number, number, number];

function geometryOf(c: Call, x: readonly number[], filter: readonly number[], depthwise = false): Geometry {
  const { backend_util } = c.tf;
  const { strides, pad, dataFormat, dilations, dimRoundingMode } = c.attrs<ConvAttrs>();
  const format = depthwise ? 'channelsLast' : backend_util.convertConv2DDataFormat(dataFormat ?? 'NHWC');
  const steps = dilations ?? 1;
  return geometry2(
    backend_util.computeConv2DInfo(
      [...x] as Shape4,
      [...filter] as Shape4,
      strides,
      steps,
      pad as never,
      dimRoundingMode,
      depthwise,
      format,
    ),
  );
}

const isFirst = (c: Call): boolean => c.attrs<ConvAttrs>().dataFormat === 'NCHW';
const toLast = (x: Tensor): Tensor => x.permute([0, 2, 3, 1]);
const toFirst = (x: Tensor): Tensor => x.permute([0, 3, 1, 2]);
/** Work in NHWC whatever the format is. */
const last = (c: Call, x: Tensor): Tensor => (isFirst(c) ? toLast(x) : x);
const back = (c: Call, y: Tensor): Tensor => (isFirst(c) ? toFirst(y) : y);

/** [N, …out, O] from [N, …in, C] and [...kernel, C, O]. */
export function convolve(x: Tensor, filter: Tensor, g: Geometry): Tensor {
  const [c, o] = filter.shape.slice(-2) as [number, number];
  const n = x.shape[0]!;
  const k = product(g.kernel);
  const rows = n * product(g.out);
  return columns(x, g, rows)
    .matmul(filter.reshape([k * c, o]))
    .reshape([n, ...g.out, o]);
}

/** [N · positions, kernel · C]: a view of the input where windows do not overlap. */
function columns(x: Tensor, g: Geometry, rows: number): Tensor {
  const c = x.shape[x.rank - 1]!;
  if (g.plain) return x.reshape([rows, c]);
  const s = g.kernel.length;
  // [N, …out, C, …kernel] → [N, …out, …kernel, C]
  const windows = windowsOf(x, g, 0);
  const order = [0, ...range(1, s), ...range(s + 2, s), s + 1];
  return windows.permute(order).reshape([rows, product(g.kernel) * c]);
}

/** The gradient of the filter: [...kernel, C, O]. */
export function filterGradient(x: Tensor, dy: Tensor, g: Geometry, shape: readonly number[]): Tensor {
  const o = dy.shape[dy.rank - 1]!;
  const rows = dy.size / o;
  return columns(x, g, rows)
    .swapaxes(0, 1)
    .matmul(dy.reshape([rows, o]))
    .reshape(shape);
}

/** The gradient of the input: [N, …in, C]. */
export function inputGradient(dy: Tensor, filter: Tensor, g: Geometry): Tensor {
  const [c, o] = filter.shape.slice(-2) as [number, number];
  const n = dy.shape[0]!;
  const k = product(g.kernel);
  // TF.js takes a gradient that is larger than the output by its first corner.
  const used = g.out.every((d, i) => d === dy.shape[1 + i])
    ? dy
    : dy.slice([null, ...g.out.map((d) => [0, d] as const)]);
  return spreadBack(used, filter, g, [n, k, c, o]);
}

function spreadBack(dy: Tensor, filter: Tensor, g: Geometry, [n, k, c, o]: [number, number, number, number]): Tensor {
  const spread = dy.reshape([dy.size / o, o]).matmul(filter.reshape([k * c, o]).swapaxes(0, 1));
  if (g.plain) return spread.reshape([n, ...g.input, c]);
  return fold(spread.reshape([n, ...g.out, ...g.kernel, c]), g);
}

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => from + i);

function conv2d(c: Call): Tensor {
  const [x, filter] = [numbers(c.x('x')), numbers(c.x('filter'))];
  const g = geometryOf(c, x.shape, filter.shape);
  return stored(c.rt, back(c, convolve(last(c, x), filter, g)), c.x('x').dtype);
}

/** In NCHW a bias is one number a channel. */
function fusedConv2d(c: Call): Tensor {
  const [x, filter] = [numbers(c.x('x')), numbers(c.x('filter'))];
  const g = geometryOf(c, x.shape, filter.shape);
  const y = convolve(last(c, x), filter, g);
  if (!isFirst(c)) return fused(c, y);
  const bias = c.has('bias') ? c.x('bias') : null;
  const perChannel = bias && bias.rank === 1 && bias.size > 1 ? bias.reshape([bias.size, 1, 1]) : bias;
  if (c.has('preluActivationWeights')) return fusedFirst(c, toFirst(y), perChannel);
  return fused(c, toFirst(y), perChannel);
}

/** As TF.js has it: weights of rank 1 count per channel. */
function fusedFirst(c: Call, y: Tensor, bias: Tensor | null): Tensor {
  const weights = c.f('preluActivationWeights');
  const alpha = weights.rank === 1 && weights.size > 1 ? weights.reshape([weights.size, 1, 1]) : weights;
  const sum = bias ? y.add(bias) : y;
  return c.rt.where(sum.less(0), sum.mul(alpha), sum);
}

function conv2dFilter(c: Call): Tensor {
  const [x, dy] = [c.f('x'), c.f('dy')];
  const { filterShape } = c.attrs<ConvAttrs>();
  const g = geometryOf(c, x.shape, filterShape!);
  return filterGradient(last(c, x), last(c, dy), g, filterShape!);
}

function conv2dInput(c: Call): Tensor {
  const [dy, filter] = [c.f('dy'), c.f('filter')];
  const { inputShape } = c.attrs<ConvAttrs>();
  const g = geometryOf(c, inputShape!, filter.shape);
  return back(c, inputGradient(last(c, dy), filter, g));
}

// Depthwise: every channel has filters of its own, [...kernel, C, M].

function depthwise(c: Call): Tensor {
  const [x, filter] = [numbers(c.x('x')), numbers(c.x('filter'))];
  const { strides, dilations } = c.attrs<ConvAttrs>();
  c.tf.util.assert(
    c.tf.backend_util.eitherStridesOrDilationsAreOne(strides, dilations ?? [1, 1]),
    () =>
      `Error in depthwiseConv2d: Either strides or dilations must be 1. Got strides ${strides} and dilations '${dilations}'`,
  );
  const g = geometryOf(c, x.shape, filter.shape, true);
  const [channels, m] = filter.shape.slice(-2) as [number, number];
  const n = x.shape[0]!;
  const sum = product(g.kernel) <= mostWeights ? shiftedSum(x, filter, g) : windowSum(x, filter, g);
  return stored(c.rt, sum.reshape([n, ...g.out, channels * m]), c.x('x').dtype);
}

/** Up to 5 × 5 the products of a depthwise filter are written out. */
const mostWeights = 25;

function shiftedSum(x: Tensor, filter: Tensor, g: Geometry): Tensor {
  const [channels, m] = filter.shape.slice(-2) as [number, number];
  const weights = taps(filter.reshape([...g.kernel, channels * m]), 0, g.kernel);
  return shiftedInputs(x, g, 0)
    .map((v, i) => (m === 1 ? v : repeatChannels(v, m)).mul(weights[i]!))
    .reduce((a, b) => a.add(b));
}

/** [N, …out, C, M, …kernel], summed over the kernel. */
function windowSum(x: Tensor, filter: Tensor, g: Geometry): Tensor {
  const s = g.kernel.length;
  const windows = windowsOf(x, g, 0);
  const weights = filter.permute([s, s + 1, ...range(0, s)]);
  const products = windows.unsqueeze(s + 2).mul(weights);
  return products.sum({ axis: range(s + 3, s), ...(x.dtype === 'i32' && { dtype: 'i32' as const }) });
}

/** [..., C] → [..., C·M], each channel M times. */
const repeatChannels = (x: Tensor, m: number): Tensor => x.repeat(m, x.rank - 1);

function depthwiseInput(c: Call): Tensor {
  const [dy, filter] = [c.f('dy'), c.f('filter')];
  const g = geometryOf(c, c.attrs<ConvAttrs>().inputShape!, filter.shape, true);
  const [channels, m] = filter.shape.slice(-2) as [number, number];
  const [n, s] = [dy.shape[0]!, g.kernel.length];
  const ones = new Array<number>(s).fill(1);
  const spread = dy.reshape([n, ...g.out, ...ones, channels, m]).mul(filter);
  return fold(spread.sum({ axis: -1 }), g);
}

function depthwiseFilter(c: Call): Tensor {
  const [x, dy] = [c.f('x'), c.f('dy')];
  const { filterShape } = c.attrs<ConvAttrs>();
  const g = geometryOf(c, x.shape, filterShape!, true);
  const [channels, m] = filterShape!.slice(-2) as [number, number];
  const n = x.shape[0]!;
  const grad = dy.reshape([n, ...g.out, channels, m, 1, 1]);
  // [N, …out, C, 1, …kernel] against [N, …out, C, M, 1, 1], summed over windows: [C, M, …kernel]
  const sums = windowsOf(x, g, 0)
    .unsqueeze(4)
    .mul(grad)
    .sum({ axis: [0, 1, 2] });
  return sums.permute([2, 3, 0, 1]);
}

// Three spatial axes, NDHWC alone, as TF.js's CPU backend.

interface Conv3Attrs {
  readonly strides: number | [number, number, number];
  readonly pad: 'valid' | 'same';
  readonly dilations?: number | [number, number, number];
  readonly inputShape?: [number, number, number, number, number];
  readonly filterShape?: [number, number, number, number, number];
}

function geometry3Of(c: Call, x: readonly number[], filter: readonly number[]): Geometry {
  const { strides, pad, dilations } = c.attrs<Conv3Attrs>();
  type Shape5 = [number, number, number, number, number];
  const info = c.tf.backend_util.computeConv3DInfo(
    [...x] as Shape5,
    [...filter] as Shape5,
    strides,
    dilations ?? 1,
    pad,
  );
  return geometry3(info);
}

export const conv: Kernels = {
  Conv2D: conv2d,
  Conv2DBackpropFilter: conv2dFilter,
  Conv2DBackpropInput: conv2dInput,
  Conv3D: (c) => {
    const [x, filter] = [c.f('x'), c.f('filter')];
    return convolve(x, filter, geometry3Of(c, x.shape, filter.shape));
  },
  Conv3DBackpropFilterV2: (c) => {
    const { filterShape } = c.attrs<Conv3Attrs>();
    const [x, dy] = [c.f('x'), c.f('dy')];
    return filterGradient(x, dy, geometry3Of(c, x.shape, filterShape!), filterShape!);
  },
  Conv3DBackpropInputV2: (c) => {
    const { inputShape } = c.attrs<Conv3Attrs>();
    const [dy, filter] = [c.f('dy'), c.f('filter')];
    return inputGradient(dy, filter, geometry3Of(c, inputShape!, filter.shape));
  },
  DepthwiseConv2dNative: depthwise,
  DepthwiseConv2dNativeBackpropFilter: depthwiseFilter,
  DepthwiseConv2dNativeBackpropInput: depthwiseInput,
  FusedConv2D: fusedConv2d,
  FusedDepthwiseConv2D: (c) => fused(c, depthwise(c)),
};
