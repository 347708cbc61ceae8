// Binary ops as a table: how operands are converted, and what is computed.

import {
  accumulatorFor,
  type DType,
  dtypeInfo,
  dtypes,
  floatFor,
  is64BitInt,
  isFloat,
  promote,
} from '../base/dtype.ts';
import { broadcast, show } from '../base/shape.ts';
import { DTypeError } from '../errors.ts';
import { type AluRow, aluRows } from '../graph/args.ts';
import { Node } from '../graph/node.ts';
import type { AluOp } from '../kernel/ops.ts';
import { alu, cast, constant, expand, fits, operandsOf, type ScalarInput, weakType } from './build.ts';

export interface BinaryOp {
  readonly build: (a: Node, b: Node | ScalarInput, where: string) => Node;
  /** The single op this is for operands of equal shape and one of the `plain` dtypes, one bit each. */
  readonly op: AluRow | null;
  readonly plain: number;
}

const isNode = (x: Node | ScalarInput): x is Node => x instanceof Node;
const typeOf = (b: Node | ScalarInput, a: Node, where: string): DType =>
  isNode(b) ? b.dtype : weakType(b, a.dtype, where);
const joined = (a: Node, b: Node | ScalarInput, where: string): DType => promote(a.dtype, typeOf(b, a, where));
const bitOf = (dtype: DType): number => 1 << dtypeInfo[dtype].id;
const bitsOf = (list: readonly DType[]): number => list.reduce((bits, t) => bits | bitOf(t), 0);
const ofClass = (...classes: string[]): number => bitsOf(dtypes.filter((t) => classes.includes(dtypeInfo[t].class)));

/** The dtypes whose scalars need no conversion from a number. */
export const floatBits = ofClass('float');

/** Numbers in their common dtype; what bool does instead. */
function arithmetic(op: AluOp, bool: AluOp | null): BinaryOp {
  return {
    op: aluRows[op],
    plain: ofClass('int', 'float'),
    build: (a, b, where) => {
      const dtype = joined(a, b, where);
      if (dtype !== 'bool') return alu(op, ...operandsOf(a, b, where, dtype));
      if (!bool) throw refused(where, a, b, "Use logicalXor, or cast to 'i32' first.");
      return alu(bool, ...operandsOf(a, b, where, dtype));
    },
  };
}

/** In the float dtype of the operands. */
function floating(op: AluOp): BinaryOp {
  return {
    op: aluRows[op],
    plain: ofClass('float'),
    build: (a, b, where) => alu(op, ...operandsOf(a, b, where, floatFor(joined(a, b, where)))),
  };
}

/** One op for integers, another for floats; bool counts as u8. */
function split(int: AluOp, float: (x: Node, y: Node) => Node): BinaryOp {
  return {
    op: aluRows[int],
    plain: ofClass('int'),
    build: (a, b, where) => {
      const common = joined(a, b, where);
      // Divisors and exponents that are known make for much better code.
      const [x, y] = operandsOf(a, b, where, common === 'bool' ? 'u8' : common, !isFloat(common));
      return isFloat(x.dtype) ? float(x, y) : alu(int, x, y);
    },
  };
}

function bitwise(op: AluOp, plain: number): BinaryOp {
  return {
    op: aluRows[op],
    plain,
    build: (a, b, where) => {
      const dtype = joined(a, b, where);
      const usable = dtype === 'bool' && (plain & bitOf('bool')) === 0 ? 'i32' : dtype;
      if ((plain & bitOf(usable)) === 0)
        throw refused(where, a, b, "Cast both operands to an integer dtype first: x.cast('i32').");
      // Shift counts that are known make for much better code.
      return alu(op, ...operandsOf(a, b, where, usable, op === 'shl' || op === 'shr'));
    },
  };
}

function logical(op: AluOp): BinaryOp {
  return {
    op: aluRows[op],
    plain: bitOf('bool'),
    build: (a, b, where) =>
      alu(op, ...operandsOf(cast(a, 'bool'), isNode(b) ? cast(b, 'bool') : constant('bool', b), where, 'bool')),
  };
}

/** `swap` turns > and ≥ into < and ≤. */
function comparison(op: AluOp, swap: boolean): BinaryOp {
  return {
    op: swap ? null : aluRows[op],
    plain: swap ? 0 : bitsOf(dtypes),
    build: (a, b, where) => {
      // Bools compare with numbers as the whole numbers 0 and 1.
      if (!isNode(b) && typeof b !== 'boolean' && !isFloat(a.dtype))
        return compareNumber(op, a.dtype === 'bool' ? cast(a, 'i32') : a, b, swap);
      const mixed = isNode(b) && is64BitInt(a.dtype) && is64BitInt(b.dtype) && a.dtype !== b.dtype;
      const [p, q] = mixed ? spread(a, b, where) : operandsOf(a, b, where, joined(a, b, where));
      const [x, y] = swap ? [q, p] : [p, q];
      return mixed ? compareSigns(op, x, y) : alu(op, x, y);
    },
  };
}

/**
 * Integers against a number, which need not be one of their dtype: one beyond its range is above or below them all, as in NumPy, and a
 * fraction divides them as the whole number beside it does.
 */
function compareNumber(op: AluOp, a: Node, value: number | bigint, swap: boolean): Node {
  const always = (answer: boolean): Node => expand(constant('bool', answer), a.shape.values);
  const whole = typeof value === 'bigint' || Number.isInteger(value) ? value : besideFraction(op, value, swap);
  if (Number.isNaN(whole)) return always(op === 'ne');
  if (fits(whole, a.dtype)) {
    const b = constant(a.dtype, whole);
    return swap ? alu(op, b, a) : alu(op, a, b);
  }
  const above = whole > 0;
  return always(op === 'ne' || (op !== 'eq' && above !== swap));
}

/** The whole number, or infinity, that integers compare with as they do with a fraction; NaN if they are neither equal to it nor on a side of it. */
function besideFraction(op: AluOp, value: number, swap: boolean): number {
  if (!Number.isFinite(value)) return value;
  if (op === 'eq' || op === 'ne') return Number.NaN;
  // a < 1.5 is a < 2, and a ≤ 1.5 is a ≤ 1; the other way round, 1.5 < a is 1 < a, and 1.5 ≤ a is 2 ≤ a.
  return (op === 'lt') === swap ? Math.floor(value) : Math.ceil(value);
}

function spread(a: Node, b: Node, where: string): [Node, Node] {
  const shape = broadcast(a.shape.values, b.shape.values, where);
  return [expand(a, shape), expand(b, shape)];
}

/** i64 against u64: their common dtype is f64, which has not enough digits. A negative number is below every u64. */
function compareSigns(op: AluOp, x: Node, y: Node): Node {
  const signed = x.dtype === 'i64' ? x : y;
  const negative = alu('lt', signed, constant('i64', 0));
  const unsigned = alu(op, cast(x, 'u64'), cast(y, 'u64'));
  const whenNegative = op === 'ne' || (op !== 'eq' && signed === x);
  return whenNegative ? alu('or', negative, unsigned) : alu('and', alu('not', negative), unsigned);
}

// The larger side is factored out, so that squares of large values do not overflow and of small ones do not vanish.
const hypot: BinaryOp = {
  op: null,
  plain: 0,
  build: (a, b, where) => {
    const [x, y] = operandsOf(a, b, where, floatFor(joined(a, b, where))).map((s) => alu('abs', s)) as [Node, Node];
    const hi = alu('max', x, y);
    const lo = alu('min', x, y);
    const ratio = alu('div', lo, hi);
    const one = constant(hi.dtype, 1);
    const length = alu('mul', hi, alu('sqrt', alu('add', alu('mul', ratio, ratio), one)));
    const infinity = constant(hi.dtype, Number.POSITIVE_INFINITY);
    const either = alu('or', alu('eq', x, infinity), alu('eq', y, infinity));
    return alu('where', either, infinity, alu('where', alu('eq', hi, constant(hi.dtype, 0)), hi, length));
  },
};

// NumPy takes `x ** 0.5` for the square root: so does -∞ give NaN, and -0 itself.
const anyPower = split('pow', (x, y) => alu('pow', x, y));
const power: BinaryOp = {
  ...anyPower,
  build: (a, b, where) =>
    b === 0.5 ? alu('sqrt', cast(a, floatFor(joined(a, b, where)))) : anyPower.build(a, b, where),
};

export const binaryOps = {
  add: arithmetic('add', 'or'),
  sub: arithmetic('sub', null),
  mul: arithmetic('mul', 'and'),
  maximum: arithmetic('max', 'or'),
  minimum: arithmetic('min', 'and'),
  div: floating('div'),
  atan2: floating('atan2'),
  hypot,
  floorDivide: split('idiv', (x, y) => floorQuotient(x, y)),
  mod: split('imod', (x, y) => alu('mod', x, y)),
  pow: power,
  bitwiseAnd: bitwise('and', ofClass('bool', 'int')),
  bitwiseOr: bitwise('or', ofClass('bool', 'int')),
  bitwiseXor: bitwise('xor', ofClass('bool', 'int')),
  leftShift: bitwise('shl', ofClass('int')),
  rightShift: bitwise('shr', ofClass('int')),
  logicalAnd: logical('and'),
  logicalOr: logical('or'),
  logicalXor: logical('xor'),
  equal: comparison('eq', false),
  notEqual: comparison('ne', false),
  less: comparison('lt', false),
  lessEqual: comparison('le', false),
  greater: comparison('lt', true),
  greaterEqual: comparison('le', true),
} satisfies Record<string, BinaryOp>;

// NumPy's float floor division: the remainder with the sign of x is taken off before dividing, so that x - remainder stays exact,
// and the quotient rounded to the whole number it stands for; one less where the signs differ. Halves are divided in f32.
// Division by zero keeps what the plain quotient gives; by an infinity it is 0, or -1 if the signs differ.
function floorQuotient(a: Node, b: Node): Node {
  const wide = accumulatorFor(a.dtype);
  if (wide !== a.dtype) return cast(floorQuotient(cast(a, wide), cast(b, wide)), a.dtype);
  const [x, y] = [a, b];
  const value = (v: number) => constant(x.dtype, v);
  const quotient = alu('div', x, y);
  const remainder = alu('mod', x, y);
  const moved = alu('and', alu('ne', remainder, value(0)), alu('xor', alu('lt', x, value(0)), alu('lt', y, value(0))));
  const ofX = alu('where', moved, alu('sub', remainder, y), remainder);
  const exact = alu('div', alu('sub', x, ofX), y);
  const whole = alu('where', moved, alu('sub', exact, value(1)), exact);
  const floor = alu('floor', whole);
  const rounded = alu('where', alu('lt', value(0.5), alu('sub', whole, floor)), alu('add', floor, value(1)), floor);
  // A quotient of zero keeps the sign of a / b.
  const signed = alu('where', alu('eq', rounded, value(0)), alu('mul', quotient, value(0)), rounded);
  const infinity = value(Number.POSITIVE_INFINITY);
  const below = alu('and', alu('lt', x, value(0)), alu('eq', y, infinity));
  const above = alu('and', alu('lt', value(0), x), alu('eq', y, value(Number.NEGATIVE_INFINITY)));
  const differ = alu('and', alu('or', below, above), alu('eq', quotient, quotient));
  const byInfinity = alu('where', differ, value(-1), quotient);
  const special = alu('where', alu('eq', alu('abs', y), infinity), byInfinity, signed);
  return alu('where', alu('eq', y, value(0)), quotient, special);
}

function refused(where: string, a: Node, b: Node | ScalarInput, fix: string): DTypeError {
  const right = isNode(b) ? `${b.dtype} ${show(b.shape.values)}` : `the scalar ${b}`;
  return new DTypeError({
    code: 'UNSUPPORTED_DTYPE',
    message: `${where}: not defined for ${a.dtype} ${show(a.shape.values)} and ${right}`,
    fix,
    where,
  });
}
