// Kernels of two or three tensors, element by element, with broadcasting.

import type { Runtime, Tensor } from '../../index.ts';
import type { Call, Kernels, Native } from '../kernel.ts';
import { numbers, stored, toInt } from './types.ts';

/** Arithmetic in the dtype of the first operand. */
const arithmetic =
  (f: (a: Tensor, b: Tensor, rt: Runtime) => Tensor): Native =>
  (c) => {
    const [a, b] = [c.x('a'), c.x('b')];
    const result = f(numbers(a), numbers(b), c.rt);
    return stored(c.rt, result, a.dtype);
  };

/** Computed in f32, stored in the dtype of the first operand. */
const real =
  (f: (a: Tensor, b: Tensor) => Tensor): Native =>
  (c) =>
    stored(c.rt, f(c.f('a'), c.f('b')), c.x('a').dtype);

const compared =
  (f: (a: Tensor, b: Tensor) => Tensor): Native =>
  (c) =>
    f(c.x('a'), c.x('b'));

const logical =
  (f: (a: Tensor, b: Tensor) => Tensor): Native =>
  (c) =>
    f(c.x('a').cast('bool'), c.x('b').cast('bool'));

/** Whole powers are exact; those with a negative exponent are fractions, of which the whole part is kept. */
function power(a: Tensor, b: Tensor, rt: Runtime): Tensor {
  if (a.dtype === 'f32' || b.dtype === 'f32') return a.cast('f32').pow(b.cast('f32'));
  const fraction = toInt(rt, a.cast('f32').pow(b.cast('f32')));
  return rt.where(b.less(0), fraction, a.pow(b.maximum(0)));
}

function floorDiv(c: Call): Tensor {
  const [a, b] = [numbers(c.x('a')), numbers(c.x('b'))];
  if (a.dtype !== 'f32' && b.dtype !== 'f32') return a.floorDivide(b);
  return toInt(c.rt, a.cast('f32').div(b.cast('f32')).floor());
}

/** The sign of the divisor, as Python has it; what JavaScript's % does with infinities is kept. */
function modulo(a: Tensor, b: Tensor, rt: Runtime): Tensor {
  if (a.dtype !== 'f32') return a.mod(b);
  const differ = a.less(0).logicalXor(b.less(0)).logicalAnd(b.isinf());
  return rt.where(differ, Number.NaN, a.mod(b));
}

function select(c: Call): Tensor {
  const [condition, t, e] = [c.x('condition'), c.x('t'), c.x('e')];
  // A condition of rank 1 chooses rows.
  const rows = condition.rank === 1 && t.rank > 1;
  const at = rows ? condition.reshape([condition.size, ...new Array<number>(t.rank - 1).fill(1)]) : condition;
  return stored(
    c.rt,
    c.rt.where(at, numbers(t), numbers(e)),
    t.dtype === 'bool' && e.dtype === 'bool' ? 'bool' : t.dtype,
  );
}

function prelu(c: Call): Tensor {
  return preluOf(c.rt, c.f('x'), c.f('alpha'));
}

export const preluOf = (rt: Runtime, x: Tensor, alpha: Tensor): Tensor => rt.where(x.less(0), x.mul(alpha), x);

export const binary: Kernels = {
  Add: arithmetic((a, b) => a.add(b)),
  AddN: (c) => {
    const [first, ...rest] = c.list();
    return stored(
      c.rt,
      rest.reduce((sum, x) => sum.add(numbers(x)), numbers(first!)),
      first!.dtype,
    );
  },
  Atan2: real((a, b) => a.atan2(b)),
  BitwiseAnd: arithmetic((a, b) => a.bitwiseAnd(b)),
  EluGrad: (c) => {
    const [dy, y] = [c.f('dy'), c.f('y')];
    return c.rt.where(y.greaterEqual(0), dy, dy.mul(y.add(1)));
  },
  Equal: compared((a, b) => a.equal(b)),
  FloorDiv: floorDiv,
  Greater: compared((a, b) => a.greater(b)),
  GreaterEqual: compared((a, b) => a.greaterEqual(b)),
  Less: compared((a, b) => a.less(b)),
  LessEqual: compared((a, b) => a.lessEqual(b)),
  LogicalAnd: logical((a, b) => a.logicalAnd(b)),
  LogicalOr: logical((a, b) => a.logicalOr(b)),
  Maximum: arithmetic((a, b) => a.maximum(b)),
  Minimum: arithmetic((a, b) => a.minimum(b)),
  Mod: arithmetic(modulo),
  Multiply: arithmetic((a, b) => a.mul(b)),
  NotEqual: compared((a, b) => a.notEqual(b)),
  Pow: arithmetic(power),
  Prelu: prelu,
  RealDiv: real((a, b) => a.div(b)),
  Select: select,
  SquaredDifference: arithmetic((a, b) => {
    const d = a.sub(b);
    return d.mul(d);
  }),
  Sub: arithmetic((a, b) => a.sub(b)),
};

export interface DirectBinary {
  readonly f: (a: Tensor, b: Tensor | number) => Tensor;
  /** The operands may change places. */
  readonly either: boolean;
}

/** Those that are one op of ours on f32. */
export const directBinary: Readonly<Record<string, DirectBinary>> = {
  Add: { f: (a, b) => a.add(b), either: true },
  Maximum: { f: (a, b) => a.maximum(b), either: true },
  Minimum: { f: (a, b) => a.minimum(b), either: true },
  Multiply: { f: (a, b) => a.mul(b), either: true },
  RealDiv: { f: (a, b) => a.div(b), either: false },
  Sub: { f: (a, b) => a.sub(b), either: false },
};
