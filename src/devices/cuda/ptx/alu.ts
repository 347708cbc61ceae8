// Arithmetic: each scalar op on each type as PTX instructions.
//
// Float operations carry an explicit `.rn`, so that the assembler never contracts a multiplication and an addition into one
// rounding: results are the same bits as on every device that rounds each op. With `fastMath`, division, square root and
// the transcendental functions use the approximate instructions.

import type { DType } from '../../../base/dtype.ts';
import { atLeast } from '../../../kernel/at-least.ts';
import type { Alu, Expr, ScalarType } from '../../../kernel/expr.ts';
import type { AluOp } from '../../../kernel/ops.ts';
import type { Block } from './code.ts';
import { isLongSum } from './long-sum.ts';
import { rootOf, smallestPlainRoot } from './roots.ts';
import type { Target } from './target.ts';
import { bitsSuffix, f32Literal, type IndexBits, isFloatType, isNarrowFloat, kindOf, suffixOf } from './types.ts';

export interface AluContext {
  readonly block: Block;
  readonly target: Target;
  readonly bits: IndexBits;
  /** The operation as an expression, where there is one: what is known of its operands. */
  readonly of?: Alu;
}

type Emit = (c: AluContext, type: ScalarType, a: string, b: string, d: string) => string;

const simple =
  (op: string): Emit =>
  (c, type, a, b) =>
    c.block.def(kindOf(type, c.bits), `${op}.${suffixOf(type, c.bits)}`, a, b);

const simpleUnary =
  (op: string): Emit =>
  (c, type, a) =>
    c.block.def(kindOf(type, c.bits), `${op}.${suffixOf(type, c.bits)}`, a);

/** Keeps a u8 within its byte after an operation that can leave it. */
const wrap =
  (emit: Emit): Emit =>
  (c, type, a, b, d) => {
    const r = emit(c, type, a, b, d);
    return type === 'u8' ? c.block.def('r', 'and.b32', r, 255) : r;
  };

const bitwise =
  (op: string): Emit =>
  (c, type, a, b) => {
    const kind = kindOf(type, c.bits);
    return c.block.def(kind, `${op}.${kind === 'p' ? 'pred' : bitsSuffix[kind]}`, a, b);
  };

/**
 * Sums of words as products with 1, where the kernel asks for it (`EntryPoint.one`): those are done by the units that multiply, while
 * others shift and combine bits. Left to the assembler, all of it waits for the same units.
 */
const sumOfWords: Emit = (c, type, a, b, d) => {
  const { one } = c.block.entry;
  const mixes = type === 'u32' && one && !isLiteral(a) && !isLiteral(b);
  if (mixes && !(c.of && isLongSum(c.of))) return c.block.def('r', 'mad.lo.u32', a, one, b);
  return wrap(simple('add'))(c, type, a, b, d);
};

const signedSuffix = (c: AluContext, type: ScalarType): string => (kindOf(type, c.bits) === 'd' ? 's64' : 's32');
const isSignedInt = (type: ScalarType): boolean => type === 'i32' || type === 'i64';
const isLiteral = (operand: string): boolean => !operand.startsWith('%');

/** Floor division or modulus. Index operands are never negative; a zero divisor gives 0. */
function division(want: 'quotient' | 'remainder'): Emit {
  const truncated = want === 'quotient' ? 'div' : 'rem';
  return (c, type, a, b) => {
    const { block } = c;
    const kind = kindOf(type, c.bits);
    const unsigned = kind === 'd' ? 'u64' : 'u32';
    if (type === 'index') return block.def(kind, `${truncated}.${unsigned}`, a, b);
    const bit = bitsSuffix[kind];
    if (!isSignedInt(type)) {
      if (isLiteral(b) && !/^(0|0x0U)$/.test(b)) return block.def(kind, `${truncated}.${unsigned}`, a, b);
      const zero = block.def('p', `setp.eq.${unsigned}`, b, 0);
      const safe = block.def(kind, `selp.${bit}`, 1, b, zero);
      const r = block.def(kind, `${truncated}.${unsigned}`, a, safe);
      return block.def(kind, `selp.${bit}`, 0, r, zero);
    }
    const signed = signedSuffix(c, type);
    if (/^[1-9]\d*$/.test(b)) {
      // Floor: the complement of a negative number is not negative, and its quotient is the complement of what is wanted.
      const sign = block.def(kind, `shr.${signed}`, a, kind === 'd' ? 63 : 31);
      const quotient = block.def(kind, `div.${unsigned}`, block.def(kind, `xor.${bit}`, a, sign), b);
      const floored = block.def(kind, `xor.${bit}`, quotient, sign);
      if (want === 'quotient') return floored;
      return block.def(kind, `sub.${signed}`, a, block.def(kind, `mul.lo.${signed}`, floored, b));
    }
    // Dividing by 0 and the smallest value by -1 are undefined in hardware: both are taken out before the division.
    const zero = block.def('p', `setp.eq.${signed}`, b, 0);
    const minusOne = block.def('p', `setp.eq.${signed}`, b, -1);
    const unsafe = block.def('p', 'or.pred', zero, minusOne);
    const safe = block.def(kind, `selp.${bit}`, 1, b, unsafe);
    const q = block.def(kind, `div.${signed}`, a, safe);
    const product = block.def(kind, `mul.lo.${signed}`, q, safe);
    const r = block.def(kind, `sub.${signed}`, a, product);
    const inexact = block.def('p', `setp.ne.${signed}`, r, 0);
    const mixed = block.def('p', `setp.lt.${signed}`, block.def(kind, `xor.${bit}`, r, safe), 0);
    const adjust = block.def('p', 'and.pred', inexact, mixed);
    if (want === 'remainder') {
      const moved = block.def(kind, `add.${signed}`, r, safe);
      const floored = block.def(kind, `selp.${bit}`, moved, r, adjust);
      return block.def(kind, `selp.${bit}`, 0, floored, unsafe);
    }
    const less = block.def(kind, `sub.${signed}`, q, 1);
    const floored = block.def(kind, `selp.${bit}`, less, q, adjust);
    const negated = block.def(kind, `neg.${signed}`, a);
    const special = block.def(kind, `selp.${bit}`, negated, 0, minusOne);
    return block.def(kind, `selp.${bit}`, special, floored, unsafe);
  };
}

/** PTX clamps shift counts to the width, which is what our shifts mean; 64-bit counts are saturated to 32 bits first. */
function shift(op: 'shl' | 'shr'): Emit {
  return (c, type, a, b) => {
    const kind = kindOf(type, c.bits);
    const suffix = op === 'shl' ? bitsSuffix[kind] : suffixOf(type, c.bits);
    const count = kind === 'd' && !isLiteral(b) ? c.block.def('r', 'cvt.sat.u32.u64', b) : b;
    const literalCount = isLiteral(b) ? `${clampCount(b)}` : count;
    return c.block.def(kind, `${op}.${suffix}`, a, literalCount);
  };
}

function clampCount(text: string): number {
  const v = BigInt(text.replace(/U$/, ''));
  return v < 0n || v > 64n ? 64 : Number(v);
}

function compare(op: 'eq' | 'ne' | 'lt' | 'le'): Emit {
  return (c, type, a, b) => {
    const { block } = c;
    if (type === 'bool') {
      if (op === 'ne') return block.def('p', 'xor.pred', a, b);
      if (op === 'eq') return block.def('p', 'not.pred', block.def('p', 'xor.pred', a, b));
      const not = block.def('p', 'not.pred', a);
      return block.def('p', op === 'lt' ? 'and.pred' : 'or.pred', not, b);
    }
    // Not-equal is true for NaN, the others are false.
    const relation = op === 'ne' && isFloatType(type) ? 'neu' : op;
    return block.def('p', `setp.${relation}.${suffixOf(type, c.bits)}`, a, b);
  };
}

const select: Emit = (c, type, a, b, d) => {
  const { block } = c;
  if (type === 'bool') {
    const yes = block.def('p', 'and.pred', a, b);
    const no = block.def('p', 'and.pred', block.def('p', 'not.pred', a), d);
    return block.def('p', 'or.pred', yes, no);
  }
  const kind = kindOf(type, c.bits);
  return block.def(kind, `selp.${bitsSuffix[kind]}`, b, d, a);
};

const nanOf = (type: ScalarType): string => (type === 'f64' ? '0d7FF8000000000000' : '0f7FC00000');

/**
 * The larger or smaller of two words by a comparison and a choice. From sm_90 on the assembler (13.0) makes one instruction of two maxima
 * in a row, and forgets that an operand was negated: the largest of -x became that of x for some of the elements.
 */
function chosen({ block }: AluContext, op: 'max' | 'min', suffix: string, a: string, b: string): string {
  const first = block.def('p', `setp.${op === 'max' ? 'gt' : 'lt'}.${suffix}`, a, b);
  return block.def('r', 'selp.b32', a, b, first);
}

function extreme(op: 'max' | 'min'): Emit {
  return (c, type, a, b) => {
    const { block } = c;
    const kind = kindOf(type, c.bits);
    const suffix = suffixOf(type, c.bits);
    if (!isFloatType(type))
      return c.target.sm < 90 || kind !== 'r' ? block.def(kind, `${op}.${suffix}`, a, b) : chosen(c, op, suffix, a, b);
    if (type !== 'f64' && c.target.sm >= 80) return block.def('f', `${op}.NaN.f32`, a, b);
    const r = block.def(kind, `${op}.${suffix}`, a, b);
    const nan = block.def('p', `setp.nan.${suffix}`, a, b);
    return block.def(kind, `selp.${suffix}`, nanOf(type), r, nan);
  };
}

/** Rounds an f32 register to a narrow float type, keeping it in an f32 register. */
export function roundNarrow(c: AluContext, type: ScalarType, value: string): string {
  if (!isNarrowFloat(type)) return value;
  if (type === 'bf16' && c.target.sm >= 80) {
    // The upper half of a pair whose lower half is 0 is where a bf16 is in an f32.
    return c.block.def('f', 'mov.b32', c.block.def('r', 'cvt.rn.bf16x2.f32', value, '0f00000000'));
  }
  return widen(c, type as DType, narrow(c, type as DType, value));
}

/** An f32 register as the 16 bits of f16 or bf16, rounded to nearest even. */
export function narrow(c: AluContext, type: DType, value: string): string {
  const { block } = c;
  if (type === 'f16') return block.def('h', 'cvt.rn.f16.f32', value);
  if (c.target.sm >= 80) return block.def('h', 'cvt.rn.bf16.f32', value);
  const bits = block.def('r', 'mov.b32', value);
  const odd = block.def('r', 'bfe.u32', bits, 16, 1);
  const rounded = block.def('r', 'add.u32', block.def('r', 'add.u32', bits, 0x7fff), odd);
  const top = block.def('r', 'shr.u32', rounded, 16);
  const nan = block.def('p', 'setp.nan.f32', value, value);
  return block.def('h', 'cvt.u16.u32', block.def('r', 'selp.b32', 0x7fc0, top, nan));
}

/** Two f32 registers as a word of two f16 or bf16, rounded; the first one is the lower half. */
export function narrowPair(c: AluContext, type: 'f16' | 'bf16', first: string, second: string): string {
  if (c.target.sm >= 80) return c.block.def('r', `cvt.rn.${type}x2.f32`, second, first);
  return c.block.def('r', 'mov.b32', `{${narrow(c, type, first)}, ${narrow(c, type, second)}}`);
}

/** The 16 bits of f16 or bf16 as an f32 register. */
export function widen(c: AluContext, type: DType, half: string): string {
  const { block } = c;
  if (type === 'f16') return block.def('f', 'cvt.f32.f16', half);
  const bits = block.def('r', 'shl.b32', block.def('r', 'cvt.u32.u16', half), 16);
  return block.def('f', 'mov.b32', bits);
}

const roundedOp =
  (op: string): Emit =>
  (c, type, a, b) => {
    const kind = kindOf(type, c.bits);
    return roundNarrow(c, type, c.block.def(kind, `${op}.rn.${suffixOf(type, c.bits)}`, a, b));
  };

/** The closest number to 1 / x is the same by either instruction, and one is the shorter. */
const isOne = (e: Expr | undefined): boolean => e?.kind === 'const' && e.value === 1;

const divide: Emit = (c, type, a, b) => {
  const inverts = isOne(c.of?.src[0]);
  if (type === 'f64') return inverts ? c.block.def('g', 'rcp.rn.f64', b) : c.block.def('g', 'div.rn.f64', a, b);
  if (inverts && !c.target.fastMath) return roundNarrow(c, type, c.block.def('f', 'rcp.rn.f32', b));
  return roundNarrow(c, type, c.block.def('f', c.target.fastMath ? 'div.full.f32' : 'div.rn.f32', a, b));
};

const squareRoot: Emit = (c, type, a) => {
  if (type === 'f64') return c.block.def('g', 'sqrt.rn.f64', a);
  const isPlain = c.of !== undefined && atLeast(c.of.src[0]!) >= smallestPlainRoot;
  return roundNarrow(c, type, c.target.fastMath ? c.block.def('f', 'sqrt.approx.f32', a) : rootOf(c.block, a, isPlain));
};

const toWhole =
  (mode: 'rmi' | 'rpi' | 'rzi' | 'rni'): Emit =>
  (c, type, a) => {
    const suffix = suffixOf(type, c.bits);
    return c.block.def(kindOf(type, c.bits), `cvt.${mode}.${suffix}.${suffix}`, a);
  };

type Rows = Readonly<Partial<Record<AluOp, Emit>>>;

const shared: Rows = {
  eq: compare('eq'),
  ne: compare('ne'),
  lt: compare('lt'),
  le: compare('le'),
  where: select,
};

const ints: Rows = {
  ...shared,
  add: sumOfWords,
  sub: wrap(simple('sub')),
  mul: wrap(simple('mul.lo')),
  idiv: division('quotient'),
  imod: division('remainder'),
  max: extreme('max'),
  min: extreme('min'),
  and: bitwise('and'),
  or: bitwise('or'),
  xor: bitwise('xor'),
  not: wrap((c, type, a) => {
    const kind = kindOf(type, c.bits);
    return c.block.def(kind, `not.${bitsSuffix[kind]}`, a);
  }),
  shl: wrap(shift('shl')),
  shr: shift('shr'),
  neg: wrap((c, type, a) => c.block.def(kindOf(type, c.bits), `neg.${signedSuffix(c, type)}`, a)),
  abs: (c, type, a) => (isSignedInt(type) ? simpleUnary('abs')(c, type, a, '', '') : a),
};

const floats: Rows = {
  ...shared,
  add: roundedOp('add'),
  sub: roundedOp('sub'),
  mul: roundedOp('mul'),
  div: divide,
  sqrt: squareRoot,
  max: extreme('max'),
  min: extreme('min'),
  neg: simpleUnary('neg'),
  abs: simpleUnary('abs'),
  floor: toWhole('rmi'),
  ceil: toWhole('rpi'),
  trunc: toWhole('rzi'),
  round: toWhole('rni'),
};

const bools: Rows = {
  ...shared,
  and: bitwise('and'),
  or: bitwise('or'),
  xor: bitwise('xor'),
  not: (c, _, a) => c.block.def('p', 'not.pred', a),
};

const approximate =
  (f: (block: Block, a: string) => string): Emit =>
  (c, type, a) =>
    roundNarrow(c, type, f(c.block, a));

const scaled = (op: string, before: number, after: number) =>
  approximate((block, a) => {
    const x = before === 1 ? a : block.def('f', 'mul.f32', a, f32Literal(before));
    const y = block.def('f', op, x);
    return after === 1 ? y : block.def('f', 'mul.f32', y, f32Literal(after));
  });

/** Added by `fastMath` for f32, f16 and bf16. Errors are those of the instructions; `sin` and `cos` need small arguments. */
const approximations: Rows = {
  exp: scaled('ex2.approx.f32', Math.LOG2E, 1),
  exp2: scaled('ex2.approx.f32', 1, 1),
  log: scaled('lg2.approx.f32', 1, Math.LN2),
  log2: scaled('lg2.approx.f32', 1, 1),
  log10: scaled('lg2.approx.f32', 1, Math.LN2 / Math.LN10),
  sin: scaled('sin.approx.f32', 1, 1),
  cos: scaled('cos.approx.f32', 1, 1),
  tanh: scaled('tanh.approx.f32', 1, 1),
};

const float32s = new Set<ScalarType>(['f32', 'f16', 'bf16']);

function rowsFor(type: ScalarType, target: Target): Rows {
  if (type === 'bool') return bools;
  if (!isFloatType(type)) return ints;
  return target.fastMath && target.sm >= 75 && float32s.has(type) ? { ...floats, ...approximations } : floats;
}

/** Functions that are as good as exact for what is rounded to a half: what `caps.coarse` says. Their relative errors are below 2^-17. */
const nearly: Rows = { exp: approximations.exp!, exp2: approximations.exp2! };
export const coarseOps: ReadonlySet<AluOp> = new Set(Object.keys(nearly) as AluOp[]);

/** The ops this renderer expresses for a type: what `caps.native` says. */
export function nativeOps(type: ScalarType, target: Target): ReadonlySet<AluOp> {
  return new Set(Object.keys(rowsFor(type, target)) as AluOp[]);
}

export function emitAlu(c: AluContext, op: AluOp, type: ScalarType, operands: readonly string[]): string {
  const row = rowsFor(type, c.target)[op] ?? (type === 'f32' ? nearly[op] : undefined);
  if (!row) throw new Error(`ptx: ${op} of ${type} was not decomposed`);
  const [a, b, d] = operands;
  return row(c, type, a!, b ?? '', d ?? '');
}
