// Kernels of one tensor, element by element.

import type { Runtime, Tensor } from '../../index.ts';
import type { Call, Kernels, Native } from '../kernel.ts';
import { numbers, stored } from './types.ts';

/** A function of real numbers: other dtypes are converted, and the result is stored in theirs. */
const real =
  (f: (x: Tensor, c: Call) => Tensor, input = 'x'): Native =>
  (c) => {
    const x = c.x(input);
    return x.dtype === 'f32' ? f(x, c) : stored(c.rt, f(x.cast('f32'), c), x.dtype);
  };

/** A function of any numbers in their own dtype. */
const own =
  (f: (x: Tensor, c: Call) => Tensor): Native =>
  (c) => {
    const x = c.x('x');
    return x.dtype === 'bool' ? f(numbers(x), c).cast('bool') : f(x, c);
  };

/** Whole numbers stay as they are. */
const rounding =
  (f: (x: Tensor) => Tensor): Native =>
  (c) =>
    c.info('x').dtype === 'float32' ? f(c.x('x')) : c.share('x', c.info('x').shape);

const asks =
  (f: (x: Tensor) => Tensor): Native =>
  (c) =>
    f(c.f('x'));

/** A constant of a tensor's dtype that broadcasts with it. */
const like = (rt: Runtime, x: Tensor, value: number): Tensor => rt.full([], value, { dtype: x.dtype });

const sign = (x: Tensor, { rt }: Call): Tensor =>
  rt.where(x.less(0), like(rt, x, -1), rt.where(x.greater(0), like(rt, x, 1), like(rt, x, 0)));

// From Klambauer et al., "Self-normalizing neural networks", as TF.js has them.
const [seluAlpha, seluScale] = [1.7580993408473768, 1.0507009873554805];

export const elu = (rt: Runtime, x: Tensor): Tensor => rt.where(x.greaterEqual(0), x, x.expm1());

export const leakyRelu = (rt: Runtime, x: Tensor, alpha: number): Tensor => rt.where(x.less(0), x.mul(alpha), x);

export const relu6 = (x: Tensor): Tensor => x.clip(0, 6);

/** log(1 + exp(x)) without overflow. */
const softplus = (x: Tensor): Tensor => x.maximum(0).add(x.abs().neg().exp().log1p());

function step(x: Tensor, c: Call): Tensor {
  const { alpha } = c.attrs<{ alpha: number }>();
  return c.rt.where(x.isnan(), x, c.rt.where(x.greater(0), 1, alpha));
}

function clip(x: Tensor, c: Call): Tensor {
  const { clipValueMin, clipValueMax } = c.attrs<{ clipValueMin: number; clipValueMax: number }>();
  const top = c.rt.where(x.greater(clipValueMax), like(c.rt, x, clipValueMax), x);
  return c.rt.where(x.less(clipValueMin), like(c.rt, x, clipValueMin), top);
}

/** Near its poles an error in the last place is large in itself: f64, on the device or where the values still are. */
const tan: Native = (c) => {
  const known = c.wide ? null : c.host('x');
  if (!known) return real((x) => (c.wide ? x.cast('f64').tan().cast('f32') : x.tan()))(c);
  const y = c.rt.tensor(Float32Array.from(known, Math.tan), c.info('x').shape);
  return c.info('x').dtype === 'float32' ? y : stored(c.rt, y, c.x('x').dtype);
};

export const unary: Kernels = {
  Abs: own((x) => x.abs()),
  Acos: real((x) => x.acos()),
  Acosh: real((x) => x.acosh()),
  Asin: real((x) => x.asin()),
  Asinh: real((x) => x.asinh()),
  Atan: real((x) => x.atan()),
  Atanh: real((x) => x.atanh()),
  Ceil: rounding((x) => x.ceil()),
  ClipByValue: real(clip),
  Cos: real((x) => x.cos()),
  Cosh: real((x) => x.cosh()),
  Elu: real((x, { rt }) => elu(rt, x)),
  Erf: real((x) => x.erf()),
  Exp: (c) => c.f('x').exp(),
  Expm1: real((x) => x.expm1()),
  Floor: rounding((x) => x.floor()),
  IsFinite: asks((x) => x.isfinite()),
  IsInf: asks((x) => x.isinf()),
  IsNan: asks((x) => x.isnan()),
  LeakyRelu: (c) => leakyRelu(c.rt, c.f('x'), c.attrs<{ alpha: number }>().alpha),
  Log: real((x) => x.log()),
  Log1p: real((x) => x.log1p()),
  LogicalNot: (c) => c.x('x').cast('bool').logicalNot(),
  Neg: own((x) => x.neg()),
  Reciprocal: real((x) => x.reciprocal()),
  Relu: own((x) => x.relu()),
  Relu6: real(relu6),
  Round: rounding((x) => x.round()),
  Rsqrt: real((x) => x.rsqrt()),
  Selu: real((x, { rt }) => rt.where(x.greaterEqual(0), x.mul(seluScale), x.expm1().mul(seluAlpha))),
  Sigmoid: real((x) => x.sigmoid()),
  Sign: own(sign),
  Sin: real((x) => x.sin()),
  Sinh: real((x) => x.sinh()),
  Softplus: real(softplus),
  Sqrt: real((x) => x.sqrt()),
  Square: own((x) => x.mul(x)),
  Step: real(step),
  Tan: tan,
  Tanh: real((x) => x.tanh()),
};

/** Those that are one op of ours on f32. */
export const directUnary: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  Abs: (x) => x.abs(),
  Cos: (x) => x.cos(),
  Exp: (x) => x.exp(),
  Log: (x) => x.log(),
  Neg: (x) => x.neg(),
  Relu: (x) => x.relu(),
  Sigmoid: (x) => x.sigmoid(),
  Sin: (x) => x.sin(),
  Sqrt: (x) => x.sqrt(),
  Square: (x) => x.mul(x),
  Tanh: (x) => x.tanh(),
};
