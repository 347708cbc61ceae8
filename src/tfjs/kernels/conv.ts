// Convolutions and their gradients, in NHWC or NCHW, over two or three spatial axes: TF.js's attributes as options of ours.

import type { Tensor } from '../../index.ts';
import type { Call, Kernels } from '../kernel.ts';
import { fused } from './matmul.ts';
import { cropped, type Geometry, geometry2, geometry3, geometryFor, grown } from './windows.ts';

type Pads = 'valid' | 'same' | number | [number, number][];

interface ConvAttrs {
  readonly strides: number | [number, number];
  readonly pad: Pads;
  readonly dataFormat?: 'NHWC' | 'NCHW';
  readonly dilations?: number | [number, number];
  readonly dimRoundingMode?: 'floor' | 'round' | 'ceil';
  readonly inputShape?: Shape4;
  readonly filterShape?: Shape4;
}

type Shape4 = [number, number, number, number];
type Shape5 = [number, number, number, number, number];

function geometryOf(c: Call, x: readonly number[], filter: readonly number[], depthwise = false): Geometry {
  const { backend_util } = c.tf;
  const { strides, pad, dataFormat, dilations, dimRoundingMode } = c.attrs<ConvAttrs>();
  const format = depthwise ? 'channelsLast' : backend_util.convertConv2DDataFormat(dataFormat ?? 'NHWC');
  const key = `${x}|${filter}|${strides}|${pad}|${dilations}|${dimRoundingMode}|${format}|${depthwise}`;
  return geometryFor(key, () =>
    geometry2(
      backend_util.computeConv2DInfo(
        [...x] as Shape4,
        [...filter] as Shape4,
        strides,
        dilations ?? 1,
        pad as never,
        dimRoundingMode,
        depthwise,
        format,
      ),
    ),
  );
}

const isFirst = (c: Call): boolean => c.attrs<ConvAttrs>().dataFormat === 'NCHW';
const toFirst = (x: Tensor): Tensor => x.permute([0, 3, 1, 2]);
/** Work in NHWC whatever the format is. */
const last = (c: Call, x: Tensor): Tensor => (isFirst(c) ? x.permute([0, 2, 3, 1]) : x);
const back = (c: Call, y: Tensor): Tensor => (isFirst(c) ? toFirst(y) : y);

/** Of the core's convolutions: TF.js's layout, and windows as they lie. */
const optionsOf = (g: Geometry, groups = 1) => ({ ...g.options, groups, layout: 'channelsLast' as const });

/** [N, …out, O] from [N, …in, C] and [...kernel, C / groups, O]. */
function convolve(x: Tensor, filter: Tensor, g: Geometry, groups = 1): Tensor {
  const [input, options] = [cropped(x, g), optionsOf(g, groups)];
  return g.kernel.length === 2 ? input.conv2d(filter, options) : input.conv3d(filter, options);
}

/** The gradient of the filter. */
function filterGradient(x: Tensor, dy: Tensor, g: Geometry, shape: readonly number[], groups = 1): Tensor {
  return cropped(x, g).convKernelGradient(dy, shape, optionsOf(g, groups));
}

/** The gradient of the input: [N, …in, C]. */
function inputGradient(dy: Tensor, filter: Tensor, g: Geometry, channels: number, groups = 1): Tensor {
  const n = dy.shape[0]!;
  // TF.js takes a gradient that is larger than the output by its first corner.
  const whole = g.out.every((d, i) => d === dy.shape[1 + i]);
  const used = whole ? dy : dy.slice([null, ...g.out.map((d) => [0, d] as const)]);
  return grown(used.convTranspose(filter, [n, ...g.reached, channels], optionsOf(g, groups)), g);
}

function conv2d(c: Call): Tensor {
  const [x, filter] = [c.operand('x'), c.operand('filter')];
  const g = geometryOf(c, x.shape, filter.shape);
  return c.asInput('x', back(c, convolve(last(c, x), filter, g)));
}

/** In NCHW a bias is one number a channel. */
function fusedConv2d(c: Call): Tensor {
  const [x, filter] = [c.operand('x'), c.operand('filter')];
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
  return back(c, inputGradient(last(c, dy), filter, g, filter.shape[2]!));
}

// Depthwise: every channel has filters of its own, [...kernel, C, M]; C groups of one channel each.

/** [...kernel, C, M] as a filter of C groups. */
const grouped = (filter: Tensor): Tensor => {
  const [channels, m] = filter.shape.slice(-2) as [number, number];
  return filter.reshape([...filter.shape.slice(0, -2), 1, channels * m]);
};

/** With one channel there is one group, and the product is the convolution. */
function depthwise(c: Call): Tensor {
  const [x, filter] = [c.operand('x'), c.operand('filter')];
  const { strides, dilations } = c.attrs<ConvAttrs>();
  c.tf.util.assert(
    c.tf.backend_util.eitherStridesOrDilationsAreOne(strides, dilations ?? [1, 1]),
    () =>
      `Error in depthwiseConv2d: Either strides or dilations must be 1. Got strides ${strides} and dilations '${dilations}'`,
  );
  const g = geometryOf(c, x.shape, filter.shape, true);
  return c.asInput('x', convolve(x, grouped(filter), g, filter.shape[2]!));
}

function depthwiseInput(c: Call): Tensor {
  const [dy, filter] = [c.f('dy'), c.f('filter')];
  const channels = filter.shape[2]!;
  const g = geometryOf(c, c.attrs<ConvAttrs>().inputShape!, filter.shape, true);
  return inputGradient(dy, grouped(filter), g, channels, channels);
}

function depthwiseFilter(c: Call): Tensor {
  const [x, dy] = [c.f('x'), c.f('dy')];
  const { filterShape } = c.attrs<ConvAttrs>();
  const g = geometryOf(c, x.shape, filterShape!, true);
  const [channels, m] = filterShape!.slice(-2) as [number, number];
  return filterGradient(x, dy, g, [...g.kernel, 1, channels * m], channels).reshape(filterShape!);
}

// Three spatial axes, NDHWC alone, as TF.js's CPU backend.

interface Conv3Attrs {
  readonly strides: number | [number, number, number];
  readonly pad: 'valid' | 'same';
  readonly dilations?: number | [number, number, number];
  readonly inputShape?: Shape5;
  readonly filterShape?: Shape5;
}

function geometry3Of(c: Call, x: readonly number[], filter: readonly number[]): Geometry {
  const { strides, pad, dilations } = c.attrs<Conv3Attrs>();
  const shapes = [[...x] as Shape5, [...filter] as Shape5] as const;
  return geometry3(c.tf.backend_util.computeConv3DInfo(...shapes, strides, dilations ?? 1, pad));
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
    return inputGradient(dy, filter, geometry3Of(c, inputShape!, filter.shape), filter.shape[3]!);
  },
  DepthwiseConv2dNative: depthwise,
  DepthwiseConv2dNativeBackpropFilter: depthwiseFilter,
  DepthwiseConv2dNativeBackpropInput: depthwiseInput,
  FusedConv2D: fusedConv2d,
  FusedDepthwiseConv2D: (c) => fused(c, depthwise(c)),
};
