// max, min, neg and abs of floats, for devices that lack them or treat NaN and -0 differently; arithmetic and comparisons of
// bools, from logic.

import type { DType } from '../../base/dtype.ts';
import type { Expr } from '../expr.ts';
import type { Float } from './float.ts';
import type { Lowering } from './lowering.ts';

// Equal operands differ at most in the sign of zero, which `and` clears and `or` sets.
const extreme =
  (op: 'max' | 'min') =>
  (f: Float, x: Expr, y: Expr): Expr => {
    const same = f.fromBits(f.b.alu(op === 'max' ? 'and' : 'or', f.bits(x), f.bits(y)));
    const wins = op === 'max' ? f.lt(x, y) : f.lt(y, x);
    // A NaN in x fails every comparison and stays.
    return f.where(f.eq(x, y), same, f.where(f.either(wins, f.ne(y, y)), y, x));
  };

export const floatMax = extreme('max');
export const floatMin = extreme('min');

export const neg = (f: Float, x: Expr): Expr => f.fromBits(f.b.alu('xor', f.bits(x), f.int(f.signBit)));
export const abs = (f: Float, x: Expr): Expr => f.fromBits(f.iand(f.bits(x), f.int(~f.signBit)));

type OnBools = (b: Lowering, type: DType, src: readonly Expr[]) => Expr | undefined;

const bools =
  (build: (b: Lowering, x: Expr, y: Expr) => Expr): OnBools =>
  (b, type, src) =>
    type === 'bool' ? build(b, src[0]!, src[1]!) : undefined;

/** A sum of bools is true if any of them is, a product if all are. */
export const boolSum = bools((b, x, y) => b.alu('or', x, y));
export const boolProduct = bools((b, x, y) => b.alu('and', x, y));

export const eq = bools((b, x, y) => b.alu('not', b.alu('xor', x, y)));
export const ne = bools((b, x, y) => b.alu('xor', x, y));
export const lt = bools((b, x, y) => b.alu('and', b.alu('not', x), y));
export const le = bools((b, x, y) => b.alu('or', b.alu('not', x), y));
