// Pools and their gradients, over two or three spatial axes.

import type { Runtime, Tensor } from '../../index.ts';
import type { Call, Kernels, Native } from '../kernel.ts';
import { stored } from './types.ts';
import {
  fold,
  type Geometry,
  geometry2,
  geometry3,
  product,
  seen,
  shiftedInputs,
  windowsOf,
  writtenOut,
} from './windows.ts';

interface PoolAttrs {
  readonly filterSize: number | [number, number];
  readonly strides: number | [number, number];
  readonly pad: 'valid' | 'same' | number;
  readonly dimRoundingMode?: 'floor' | 'round' | 'ceil';
  readonly dilations?: number | [number, number];
  readonly includeBatchInIndex?: boolean;
}

function geometryOf(c: Call, shape: readonly number[]): Geometry {
  const { backend_util, util } = c.tf;
  if (shape.length === 5) return geometry3Of(c, shape);
  const { filterSize, strides, pad, dimRoundingMode } = c.attrs<PoolAttrs>();
  util.assert(
    backend_util.eitherStridesOrDilationsAreOne(strides, 1),
    () => 'Error in pool: Either strides or dilations must be 1.',
  );
  const info = backend_util.computePool2DInfo(
    [...shape] as [number, number, number, number],
    filterSize,
    strides,
    1,
    pad,
    dimRoundingMode,
  );
  return geometry2(info);
}

function geometry3Of(c: Call, shape: readonly number[]): Geometry {
  const { filterSize, strides, pad, dimRoundingMode } = c.attrs<PoolAttrs>() as unknown as {
    filterSize: number | [number, number, number];
    strides: number | [number, number, number];
    pad: 'valid' | 'same' | number;
    dimRoundingMode?: 'floor' | 'round' | 'ceil';
  };
  type Shape5 = [number, number, number, number, number];
  const { backend_util } = c.tf;
  return geometry3(backend_util.computePool3DInfo([...shape] as Shape5, filterSize, strides, 1, pad, dimRoundingMode));
}

/** TF.js's rule: windows of one element, as many as there are elements, whatever stride and border say. */
const isIdentity = (g: Geometry): boolean => g.kernel.every((k, i) => k === 1 && g.input[i] === g.out[i]);

const lowest = Number.NEGATIVE_INFINITY;

/** The largest in each window. NaN is not larger than anything, so it is left out, as TF.js does. */
const maxPool: Native = (c) => {
  const x = c.x('x');
  const g = geometryOf(c, x.shape);
  if (isIdentity(g)) return c.share('x', x.shape);
  return stored(c.rt, largest(c.rt, x.cast('f32'), g).value, x.dtype);
};

/** The largest in each window, and which position of the window it is at: the first of equals, -1 if there is none. */
function largest(rt: Runtime, x: Tensor, g: Geometry): { value: Tensor; at: Tensor } {
  if (product(g.kernel) > writtenOut) return largestByLoop(rt, x, g);
  let value: Tensor = rt.full([], lowest);
  let at: Tensor = rt.full([], -1, { dtype: 'i32' });
  shiftedInputs(x, g, lowest).forEach((v, k) => {
    const better = v.greater(value);
    value = rt.where(better, v, value);
    at = rt.where(better, rt.full([], k, { dtype: 'i32' }), at);
  });
  return { value, at };
}

function largestByLoop(rt: Runtime, x: Tensor, g: Geometry): { value: Tensor; at: Tensor } {
  const numbers = rt.where(x.isnan(), lowest, x);
  const windows = windowsOf(numbers, g, lowest);
  const rows = windows.reshape([...windows.shape.slice(0, -g.kernel.length), product(g.kernel)]);
  const value = rows.max({ axis: -1 });
  const none = rt.full([], -1, { dtype: 'i32' });
  return { value, at: rt.where(value.equal(lowest), none, rows.argmax({ axis: -1 })) };
}

/** The sum of each window. */
function total(x: Tensor, g: Geometry): Tensor {
  if (product(g.kernel) <= writtenOut) return shiftedInputs(x, g, 0).reduce((a, b) => a.add(b));
  const windows = windowsOf(x, g, 0);
  return windows.sum({ axis: g.kernel.map((_, i) => windows.rank - g.kernel.length + i) });
}

/** The mean of what each window sees of the input. */
const avgPool: Native = (c) => {
  const x = c.x('x');
  const g = geometryOf(c, x.shape);
  if (isIdentity(g)) return c.share('x', x.shape);
  const sum = total(x.cast('f32'), g);
  return stored(c.rt, sum.div(countsOf(c.rt, g)), x.rank === 5 ? 'f32' : x.dtype);
};

/** How many elements of the input each window sees, in a shape that broadcasts. */
function countsOf(rt: Runtime, g: Geometry): Tensor {
  const whole = product(g.kernel);
  const axes = g.out.map((_, i) => seen(g, i));
  if (axes.every((list, i) => list.every((n) => n === g.kernel[i]))) return rt.full([], whole);
  return axes
    .map((list, i) =>
      rt.tensor(
        Float32Array.from(list, (n) => (g.out.length === 3 ? Math.max(n, 1) : n)),
        [...g.out.map((_, j) => (i === j ? list.length : 1)), 1],
      ),
    )
    .reduce((a, b) => a.mul(b));
}

/** The gradient goes in equal parts to the whole window. */
const avgPoolGrad: Native = (c) => {
  const dy = c.f('dy');
  const g = geometryOf(c, c.info('input').shape);
  const [n, channels] = [dy.shape[0]!, dy.shape[dy.rank - 1]!];
  const ones = g.kernel.map(() => 1);
  const share = dy.div(product(g.kernel)).reshape([n, ...g.out, ...ones, channels]);
  return fold(share.expand([n, ...g.out, ...g.kernel, channels]), g);
};

/** [N, …out, …kernel, C]: the gradient of each window at the position it chose, 0 at the others. */
export function sharesOf(rt: Runtime, at: Tensor, dy: Tensor, g: Geometry): Tensor {
  const wide = (t: Tensor) => t.reshape([t.shape[0]!, ...g.out, ...g.kernel.map(() => 1), t.shape[t.rank - 1]!]);
  const numbers = rt.arange(0, product(g.kernel), 1, { dtype: 'i32' }).reshape([...g.kernel, 1]);
  return rt.where(wide(at).equal(numbers), wide(dy), 0);
}

/** The gradient goes to the largest element of each window. */
const maxPoolGrad: Native = (c) => {
  const [dy, x] = [c.f('dy'), c.f('input')];
  const g = geometryOf(c, x.shape);
  return fold(sharesOf(c.rt, largest(c.rt, x, g).at, dy, g), g);
};

/** The largest, and where it is in the flattened input. */
const withArgmax: Native = (c) => {
  const x = c.f('x');
  const g = geometryOf(c, x.shape);
  const { value, at } = largest(c.rt, x, g);
  const [kw, dilation] = [g.kernel[1]!, g.dilation];
  const [channels, i32] = [x.shape[3]!, { dtype: 'i32' as const }];
  const shape = value.shape;
  const row = at
    .floorDivide(kw)
    .mul(dilation[0]!)
    .add(c.rt.iota(shape, 1, i32).mul(g.stride[0]!).sub(g.before[0]!));
  const column = at
    .mod(kw)
    .mul(dilation[1]!)
    .add(c.rt.iota(shape, 2, i32).mul(g.stride[1]!).sub(g.before[1]!));
  const position = row
    .mul(g.input[1]!)
    .add(column)
    .mul(channels)
    .add(c.rt.iota(shape, 3, i32));
  const batch = c.rt.iota(shape, 0, i32).mul(product(g.input) * channels);
  const { includeBatchInIndex } = c.attrs<PoolAttrs>();
  return [stored(c.rt, value, c.x('x').dtype), includeBatchInIndex ? position.add(batch) : position];
};

export const pool: Kernels = {
  AvgPool: avgPool,
  AvgPool3D: avgPool,
  AvgPool3DGrad: avgPoolGrad,
  AvgPoolGrad: avgPoolGrad,
  MaxPool: maxPool,
  MaxPool3D: maxPool,
  MaxPool3DGrad: maxPoolGrad,
  MaxPoolGrad: maxPoolGrad,
  MaxPoolWithArgmax: withArgmax,
};
