// Elementwise ops of the fuzzer's evaluator: the value from the definition of the scalar op, the bound from the ends of the
// operands' intervals.

import { type DType, dtypeInfo, floatFor, isFloat, promote } from '../../src/base/dtype.ts';
import { broadcast } from '../../src/base/shape.ts';
import type { AluOp } from '../../src/kernel/ops.ts';
import { castValue, meaning, roundTo, type Value } from '../../src/kernel/semantics.ts';
import { type Bounded, broadcastIndex, exactly, fill, interval, rounded, undecided, whole, zeroOf } from './value.ts';

/**
 * How an op treats the ends of an interval: its extremes are there (monotone), its slope is at most 1, or it has poles, so that it is
 * only decided where the operand is exact.
 */
type Shape = 'monotone' | 'lipschitz' | 'step' | 'poles';

interface UnaryRow {
  readonly op: AluOp | ((x: number) => number);
  readonly shape: Shape;
  readonly ulps: number;
}

const steep = (op: AluOp | ((x: number) => number), ulps: number): UnaryRow => ({ op, shape: 'monotone', ulps });

/** Float functions: where the extremes of an interval lie, and the rounding error of a device (WGSL's division: 2.5 ulp). */
export const floatUnary: Readonly<Record<string, UnaryRow>> = {
  neg: steep('neg', 0),
  abs: { op: 'abs', shape: 'lipschitz', ulps: 0 },
  sqrt: steep('sqrt', 3),
  rsqrt: steep((x) => 1 / Math.sqrt(x), 4),
  reciprocal: steep((x) => 1 / x, 3),
  exp: steep('exp', 4),
  exp2: steep('exp2', 4),
  expm1: steep('expm1', 4),
  log: steep('log', 4),
  log2: steep('log2', 4),
  log10: steep('log10', 4),
  log1p: steep('log1p', 4),
  sin: { op: 'sin', shape: 'lipschitz', ulps: 4 },
  cos: { op: 'cos', shape: 'lipschitz', ulps: 4 },
  tan: { op: 'tan', shape: 'poles', ulps: 8 },
  cosh: steep('cosh', 6),
  asin: steep('asin', 4),
  acos: steep('acos', 4),
  atan: steep('atan', 4),
  sinh: steep('sinh', 6),
  tanh: steep('tanh', 6),
  asinh: steep('asinh', 6),
  acosh: steep('acosh', 6),
  atanh: steep('atanh', 6),
  // The evaluator's own erf is up to seven units off where it is steep; devices are within two.
  erf: steep('erf', 9),
  sigmoid: steep((x) => 1 / (1 + Math.exp(-x)), 8),
  relu: steep((x) => Math.max(x, 0), 0),
  floor: { op: 'floor', shape: 'step', ulps: 0 },
  ceil: { op: 'ceil', shape: 'step', ulps: 0 },
  trunc: { op: 'trunc', shape: 'step', ulps: 0 },
  round: { op: 'round', shape: 'step', ulps: 0 },
  sign: { op: (x) => (Number.isNaN(x) ? x : x > 0 ? 1 : x < 0 ? -1 : 0), shape: 'step', ulps: 0 },
};

/** Functions that keep integers as they are, or wrap around. */
const intUnary: Readonly<Record<string, (x: Value) => Value>> = {
  neg: (x) => -x,
  abs: (x) => (x < 0 ? -x : x),
  square: (x) => (typeof x === 'bigint' ? x * x : Number(BigInt.asIntN(32, BigInt(x) * BigInt(x)))),
  floor: (x) => x,
  ceil: (x) => x,
  trunc: (x) => x,
  round: (x) => x,
  sign: (x) => (typeof x === 'bigint' ? (x > 0n ? 1n : x < 0n ? -1n : 0n) : Math.sign(x)),
  relu: (x) => (x < 0 ? (typeof x === 'bigint' ? 0n : 0) : x),
  bitwiseNot: (x) => ~(x as number),
};

const tests: Readonly<Record<string, (x: number) => boolean>> = {
  isnan: Number.isNaN,
  isinf: (x) => x === Infinity || x === -Infinity,
  isfinite: Number.isFinite,
};

/** What makes an op sensitive to the sign of zero: the evaluator does not track it. */
const divides = new Set(['reciprocal', 'rsqrt', 'div', 'atan2']);

export function cast(x: Bounded, dtype: DType): Bounded {
  if (x.dtype === dtype) return x;
  const from = x.dtype;
  return fill(dtype, x.shape, (i) => {
    const v = x.values[i]!;
    const e = x.errors[i]!;
    if (e === undecided) return whole(0, e)[1] === 0 ? [0, 0] : [zeroOf(dtype), undecided];
    if (!isFloat(from)) return isFloat(dtype) ? [castValue(v, from, dtype), 0] : [castValue(v, from, dtype), 0];
    if (isFloat(dtype)) return exactly(dtype, v as number, e);
    if (e === 0) return [castValue(v, from, dtype), 0];
    const [lo, hi] = interval(v as number, e);
    const [a, b] = [castValue(lo, from, dtype), castValue(hi, from, dtype)];
    // A bool also changes inside the interval, where it crosses zero.
    const steady = a === b && !(dtype === 'bool' && lo <= 0 && hi >= 0);
    return steady ? [a, 0] : [zeroOf(dtype), undecided];
  });
}

export function unary(name: string, x: Bounded): Bounded {
  if (name === 'logicalNot') {
    const b = cast(x, 'bool');
    return fill('bool', x.shape, (i) => whole(b.values[i] ? 0 : 1, b.errors[i]!));
  }
  const test = tests[name];
  if (test) {
    return fill('bool', x.shape, (i) =>
      whole(
        isFloat(x.dtype) && test(x.values[i] as number) ? 1 : !isFloat(x.dtype) && name === 'isfinite' ? 1 : 0,
        x.errors[i] === undecided ? undecided : 0,
      ),
    );
  }
  if (name === 'bitwiseNot' && x.dtype === 'bool') return unary('logicalNot', x);
  const exact = intUnary[name];
  if (!isFloat(x.dtype) && exact) {
    return fill(x.dtype, x.shape, (i) => whole(roundTo[x.dtype](exact(x.values[i]!)), x.errors[i]!));
  }
  if (name === 'square') return binary('mul', x, x);
  const row = floatUnary[name]!;
  const y = cast(x, floatFor(x.dtype));
  const f = typeof row.op === 'function' ? row.op : (meaning(row.op, y.dtype) as unknown as (x: number) => number);
  return fill(y.dtype, y.shape, (i) => unaryElement(y.dtype, name, row, f, y.values[i] as number, y.errors[i]!));
}

function unaryElement(
  dtype: DType,
  name: string,
  row: UnaryRow,
  f: (x: number) => number,
  v: number,
  e: number,
): readonly [number, number] {
  if (e === undecided || (divides.has(name) && Math.abs(v) <= e)) return [0, undecided];
  const c = f(v);
  if (e === 0) return row.shape === 'step' || row.ulps === 0 ? [c, 0] : rounded(dtype, c, 0, row.ulps);
  if (row.shape === 'poles') return [0, undecided];
  const [lo, hi] = interval(v, e);
  const [a, b] = [f(lo), f(hi)];
  if (Number.isNaN(a) || Number.isNaN(b) || !Number.isFinite(a) || !Number.isFinite(b)) return [0, undecided];
  if (row.shape === 'step') return a === b ? [c, 0] : [0, undecided];
  const spread = row.shape === 'lipschitz' ? e : Math.max(Math.abs(a - c), Math.abs(b - c));
  return rounded(dtype, c, spread, Math.max(row.ulps, 1));
}

interface BinaryRow {
  readonly float?: AluOp | ((a: number, b: number) => number);
  readonly int?: AluOp;
  readonly bool?: AluOp;
  readonly ulps: number;
  /** The result is in the float dtype of the operands. */
  readonly divides?: true;
  /** Only decided where the operands are exact. */
  readonly brittle?: true;
}

export const binaryRows: Readonly<Record<string, BinaryRow>> = {
  add: { float: 'add', int: 'add', bool: 'or', ulps: 1 },
  sub: { float: 'sub', int: 'sub', ulps: 1 },
  mul: { float: 'mul', int: 'mul', bool: 'and', ulps: 1 },
  maximum: { float: 'max', int: 'max', bool: 'or', ulps: 0 },
  minimum: { float: 'min', int: 'min', bool: 'and', ulps: 0 },
  div: { float: 'div', ulps: 3, divides: true },
  floorDivide: { float: floorQuotient, int: 'idiv', ulps: 1, brittle: true },
  mod: { float: 'mod', int: 'imod', ulps: 1, brittle: true },
  pow: { float: 'pow', int: 'pow', ulps: 6, brittle: true },
  atan2: { float: 'atan2', ulps: 6, divides: true, brittle: true },
  hypot: { float: (a, b) => Math.hypot(a, b), ulps: 6, divides: true },
  bitwiseAnd: { int: 'and', bool: 'and', ulps: 0 },
  bitwiseOr: { int: 'or', bool: 'or', ulps: 0 },
  bitwiseXor: { int: 'xor', bool: 'xor', ulps: 0 },
  leftShift: { int: 'shl', ulps: 0 },
  rightShift: { int: 'shr', ulps: 0 },
};

/** NumPy's floor division of floats: the remainder is taken off first, and the quotient rounded to the whole number it stands for. */
function floorQuotient(a: number, b: number): number {
  const remainder = a % b;
  const moved = remainder !== 0 && remainder < 0 !== b < 0;
  const quotient = (a - remainder) / b - (moved ? 1 : 0);
  const floor = Math.floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

/** 2n is 2: integers of 64 bits are compared with numbers, too. */
const isSame = (a: Value, b: Value): boolean => a <= b && a >= b;

const comparisons: Readonly<Record<string, (a: Value, b: Value) => boolean>> = {
  equal: isSame,
  notEqual: (a, b) => !isSame(a, b),
  less: (a, b) => a < b,
  lessEqual: (a, b) => a <= b,
  greater: (a, b) => a > b,
  greaterEqual: (a, b) => a >= b,
};
export const comparisonNames = Object.keys(comparisons);

const logic: Readonly<Record<string, (a: Value, b: Value) => boolean>> = {
  logicalAnd: (a, b) => Boolean(a) && Boolean(b),
  logicalOr: (a, b) => Boolean(a) || Boolean(b),
  logicalXor: (a, b) => Boolean(a) !== Boolean(b),
};
export const logicNames = Object.keys(logic);

/** Whether the op is defined for operands of this common dtype. */
export function binaryAllows(name: string, dtype: DType): boolean {
  if (comparisons[name] || logic[name]) return true;
  const row = binaryRows[name]!;
  const kind = dtypeInfo[dtype].class;
  return kind === 'float' || row.divides
    ? row.float !== undefined
    : (kind === 'int' ? row.int : row.bool) !== undefined;
}

function pairs(
  a: Bounded,
  b: Bounded,
): { shape: readonly number[]; left: (i: number) => number; right: (i: number) => number } {
  const shape = broadcast(a.shape, b.shape, 'fuzz');
  return { shape, left: broadcastIndex(a.shape, shape), right: broadcastIndex(b.shape, shape) };
}

export function binary(name: string, a: Bounded, b: Bounded): Bounded {
  const common = promote(a.dtype, b.dtype);
  const { shape, left, right } = pairs(a, b);
  if (logic[name]) {
    const [x, y] = [cast(a, 'bool'), cast(b, 'bool')];
    return fill('bool', shape, (i) =>
      whole(logic[name]!(x.values[left(i)]!, y.values[right(i)]!) ? 1 : 0, x.errors[left(i)]!, y.errors[right(i)]!),
    );
  }
  // i64 and u64 are compared as what they are: their common dtype, f64, cannot tell all of them apart.
  const bits = (t: Bounded): boolean => t.dtype === 'i64' || t.dtype === 'u64';
  if (comparisons[name])
    return bits(a) && bits(b) ? compare(name, a, b) : compare(name, cast(a, common), cast(b, common));
  const row = binaryRows[name]!;
  const dtype = row.divides ? floatFor(common) : common;
  const [x, y] = [cast(a, dtype), cast(b, dtype)];
  if (isFloat(dtype)) {
    const f =
      typeof row.float === 'function'
        ? row.float
        : (meaning(row.float!, dtype) as unknown as (p: number, q: number) => number);
    return fill(dtype, shape, (i) =>
      binaryElement(
        dtype,
        name,
        row,
        f,
        [x.values[left(i)] as number, x.errors[left(i)]!],
        [y.values[right(i)] as number, y.errors[right(i)]!],
      ),
    );
  }
  const f = meaning((dtype === 'bool' ? row.bool : row.int)!, dtype)!;
  return fill(dtype, shape, (i) =>
    whole(roundTo[dtype](f(x.values[left(i)]!, y.values[right(i)]!, 0)), x.errors[left(i)]!, y.errors[right(i)]!),
  );
}

export function compare(name: string, x: Bounded, y: Bounded): Bounded {
  const { shape, left, right } = pairs(x, y);
  const test = comparisons[name]!;
  return fill('bool', shape, (i) => {
    const [v, e, w, f] = [x.values[left(i)]!, x.errors[left(i)]!, y.values[right(i)]!, y.errors[right(i)]!];
    if (e === undecided || f === undecided) return [0, undecided];
    if (e + f === 0 || Number.isNaN(v) || Number.isNaN(w)) return [test(v, w) ? 1 : 0, 0];
    // Decided if the intervals do not touch.
    return Math.abs((v as number) - (w as number)) > e + f ? [test(v, w) ? 1 : 0, 0] : [0, undecided];
  });
}

function binaryElement(
  dtype: DType,
  name: string,
  row: BinaryRow,
  f: (a: number, b: number) => number,
  [v, e]: readonly [number, number],
  [w, g]: readonly [number, number],
): readonly [number, number] {
  if (e === undecided || g === undecided) return [0, undecided];
  if (name === 'div' && Math.abs(w) <= g) return [0, undecided];
  if (name === 'atan2' && (v === 0 || w === 0)) return [0, undecided];
  // A zero base or an infinite power depends on the sign of zero.
  if (name === 'pow' && (v === 0 || !Number.isFinite(w))) return [0, undecided];
  // Beyond that the quotient is rounded on the way.
  const far = w === 0 || Math.abs(v / w) > 2 ** 20;
  if ((name === 'mod' || name === 'floorDivide') && far) return [0, undecided];
  const c = f(v, w);
  if (e === 0 && g === 0) {
    const [r, bound] = row.ulps === 0 ? [c, 0] : rounded(dtype, c, 0, row.ulps);
    // The remainder of nearly equal operands is small against the rounding of either.
    return [r, name === 'mod' && bound > 0 ? bound + 2 ** -20 * Math.abs(w) : bound];
  }
  if (row.brittle) return [0, undecided];
  const corners = [f(v - e, w - g), f(v - e, w + g), f(v + e, w - g), f(v + e, w + g)];
  if (corners.some((k) => !Number.isFinite(k)) || !Number.isFinite(c)) return [0, undecided];
  const spread = name === 'hypot' ? e + g : Math.max(...corners.map((k) => Math.abs(k - c)));
  return rounded(dtype, c, spread, Math.max(row.ulps, 1));
}

/** The same bits as another type of their width. The sign of zero and the bits of NaN are not tracked. */
export function bitcast(x: Bounded, dtype: DType): Bounded {
  const view = new DataView(new ArrayBuffer(8));
  return fill(dtype, x.shape, (i) => {
    const [v, e] = [x.values[i]!, x.errors[i]!];
    if (e !== 0 || (isFloat(x.dtype) && (v === 0 || Number.isNaN(v)))) return [zeroOf(dtype), undecided];
    stored[x.dtype]!.set(view, v);
    const bits = stored[dtype]!.get(view);
    // A device may flush what is below the normal numbers.
    const small = isFloat(dtype) && Math.abs(bits as number) < (dtype === 'f64' ? 2.3e-308 : 1.2e-38);
    return [small || Number.isNaN(bits) ? 0 : bits, small || Number.isNaN(bits) ? undecided : 0];
  });
}

interface Stored {
  readonly set: (view: DataView, v: Value) => void;
  readonly get: (view: DataView) => Value;
}

const stored: Readonly<Partial<Record<DType, Stored>>> = {
  f32: { set: (d, v) => d.setFloat32(0, v as number), get: (d) => d.getFloat32(0) },
  i32: { set: (d, v) => d.setInt32(0, v as number), get: (d) => d.getInt32(0) },
  u32: { set: (d, v) => d.setUint32(0, v as number), get: (d) => d.getUint32(0) },
  f64: { set: (d, v) => d.setFloat64(0, v as number), get: (d) => d.getFloat64(0) },
  i64: { set: (d, v) => d.setBigInt64(0, v as bigint), get: (d) => d.getBigInt64(0) },
  u64: { set: (d, v) => d.setBigUint64(0, v as bigint), get: (d) => d.getBigUint64(0) },
};

export const bitcastsOf = (dtype: DType): readonly DType[] =>
  [['f32', 'i32', 'u32'] as const, ['f64', 'i64', 'u64'] as const].find((l) =>
    (l as readonly DType[]).includes(dtype),
  ) ?? [];

/** How many elements of a sorted row come before each value; NaN comes last. */
export function searched(sorted: Bounded, values: Bounded, right: boolean): Bounded {
  return fill('i32', values.shape, (i) => {
    const [v, e] = [values.values[i]!, values.errors[i]!];
    if (e === undecided) return [0, undecided];
    const near = sorted.values.some((s) => e > 0 && Math.abs(Number(s) - Number(v)) <= e);
    const before = (s: Value): boolean => {
      if (Number.isNaN(v)) return right || !Number.isNaN(s);
      return right ? s <= v : s < v;
    };
    return near ? [0, undecided] : [sorted.values.filter(before).length, 0];
  });
}

export function where(condition: Bounded, a: Bounded, b: Bounded): Bounded {
  const dtype = promote(a.dtype, b.dtype);
  const [c, x, y] = [cast(condition, 'bool'), cast(a, dtype), cast(b, dtype)];
  const shape = broadcast(broadcast(c.shape, x.shape, 'fuzz'), y.shape, 'fuzz');
  const [at, left, right] = [c, x, y].map((t) => broadcastIndex(t.shape, shape)) as [
    (i: number) => number,
    (i: number) => number,
    (i: number) => number,
  ];
  return fill(dtype, shape, (i) => {
    if (c.errors[at(i)]! > 0) return [zeroOf(dtype), undecided];
    return c.values[at(i)] ? [x.values[left(i)]!, x.errors[left(i)]!] : [y.values[right(i)]!, y.errors[right(i)]!];
  });
}

/** A JavaScript number beside a tensor: whole ones take its dtype, or that of numbers beside a bool; fractions make integers f64. */
export function scalarBeside(x: Bounded, value: number): Bounded {
  const whole = x.dtype !== 'bool' ? x.dtype : Math.abs(value) < 2 ** 31 ? 'i32' : 'i64';
  const dtype: DType = isFloat(x.dtype) ? x.dtype : Number.isInteger(value) ? whole : 'f64';
  const v = dtype === 'i64' || dtype === 'u64' ? BigInt(value) : roundTo[dtype](value);
  return { dtype, shape: [], values: [v], errors: new Float64Array(1) };
}
