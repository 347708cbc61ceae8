// Arithmetic and comparisons on vector parts: one instruction where WebAssembly has it, a short exact sequence where not.

import { bounds } from '../../../kernel/bounds.ts';
import type { Alu, Const, Expr } from '../../../kernel/expr.ts';
import type { AluOp } from '../../../kernel/ops.ts';
import type { PlainOp } from '../wasm/ops.ts';
import { emitDivision } from './division.ts';
import type { Emitter } from './emitter.ts';
import { isHalf, roundHalf } from './half.ts';
import { type LaneType, laneType, shapeOf, splatBytes, widthOf } from './lanes.ts';
import type { WasmScope } from './scope.ts';
import { emitShift } from './shifts.ts';

type Direct = Readonly<Partial<Record<AluOp, PlainOp>>>;

const bitOps: Direct = { and: 'v128.and', or: 'v128.or', xor: 'v128.xor', not: 'v128.not' };

const floatOps = <const S extends 'f32x4' | 'f64x2'>(shape: S): Direct => ({
  add: `${shape}.add`,
  sub: `${shape}.sub`,
  mul: `${shape}.mul`,
  div: `${shape}.div`,
  max: `${shape}.max`,
  min: `${shape}.min`,
  neg: `${shape}.neg`,
  abs: `${shape}.abs`,
  floor: `${shape}.floor`,
  ceil: `${shape}.ceil`,
  trunc: `${shape}.trunc`,
  round: `${shape}.nearest`,
  sqrt: `${shape}.sqrt`,
});

const intOps = <const S extends 'i8x16' | 'i32x4' | 'i64x2'>(shape: S): Direct => ({
  ...bitOps,
  add: `${shape}.add`,
  sub: `${shape}.sub`,
  neg: `${shape}.neg`,
});

/** Ops that are one instruction. */
const direct: Readonly<Record<LaneType, Direct>> = {
  u8: { ...intOps('i8x16'), max: 'i8x16.max_u', min: 'i8x16.min_u' },
  i32: { ...intOps('i32x4'), mul: 'i32x4.mul', max: 'i32x4.max_s', min: 'i32x4.min_s', abs: 'i32x4.abs' },
  u32: { ...intOps('i32x4'), mul: 'i32x4.mul', max: 'i32x4.max_u', min: 'i32x4.min_u' },
  i64: { ...intOps('i64x2'), mul: 'i64x2.mul', abs: 'i64x2.abs' },
  u64: { ...intOps('i64x2'), mul: 'i64x2.mul' },
  f32: floatOps('f32x4'),
  f64: floatOps('f64x2'),
};

const inexact = new Set<AluOp>(['add', 'sub', 'mul', 'div', 'sqrt']);

/** Positions beyond 2^31 compare unsigned. */
const effective = (e: Expr): LaneType => (e.type === 'index' && bounds(e).min >= 0 ? 'u32' : laneType(e.type));

/** The one instruction that combines two vectors of a type, or undefined. */
export const directOp = (op: AluOp, type: LaneType): PlainOp | undefined => direct[type][op];

/**
 * What is turned by half a word, as (x shl 16) or (x shr 16): one shuffle of halves. By one byte or three an engine makes the list of the
 * shuffle anew each time, which takes longer than two shifts.
 */
function halfTurned(a: Expr, b: Expr): Expr | null {
  const [left, right] = [a, b].map((e) => (e.kind === 'alu' && e.src[1]?.kind === 'const' ? e : null));
  if (left?.op !== 'shl' || right?.op !== 'shr' || left.src[0] !== right.src[0] || left.type !== 'u32') return null;
  return [left, right].every((e) => Number((e.src[1] as Const).value) === 16) ? left.src[0]! : null;
}

/** Whether all of its bits are 0. */
const isZero = (e: Expr): boolean => e.kind === 'const' && (Object.is(e.value, 0) || e.value === 0n);

export function emitAlu(em: Emitter, e: Alu, p: number, s: WasmScope): void {
  const type = e.src.every((x) => effective(x) === 'u32') ? 'u32' : laneType(e.type);
  const [a, b] = e.src as [Expr, Expr, Expr];
  if (e.op === 'where') {
    const w = widthOf(e.type);
    if (em.isRare(a, s)) {
      em.vec(e.src[2]!, p, s);
      return;
    }
    em.computeArms(a, s);
    if (em.isKnown(e, p, s)) {
      em.vec(e, p, s);
      return;
    }
    const other = e.src[2]!;
    const nearer = chosenByOrder(e, type);
    if (nearer) {
      em.vec(other, p, s);
      em.vec(b, p, s);
      s.code.op(nearer);
      return;
    }
    if (isZero(other)) {
      // The mask alone clears the other lanes.
      em.vec(b, p, s);
      em.mask(a, p, w, s);
      s.code.op('v128.and');
      return;
    }
    if (isZero(b)) {
      em.vec(other, p, s);
      em.mask(a, p, w, s);
      s.code.op('v128.andnot');
      return;
    }
    em.vec(b, p, s);
    em.vec(other, p, s);
    em.mask(a, p, w, s);
    em.select(s, w);
    return;
  }
  if (e.op === 'shl' || e.op === 'shr') {
    emitShift(em, e.op, type, a, b, p, s);
    return;
  }
  if (e.op === 'idiv' || e.op === 'imod') {
    emitDivision(em, e.op, type, a, b, p, s);
    return;
  }
  const cheap = limitOp(e.op, type, b);
  if (cheap) {
    em.vec(a, p, s);
    em.vec(b, p, s);
    s.code.op(cheap);
    // The comparison lets -0 pass a limit of +0; adding +0 makes it +0 and changes nothing else.
    if (e.op === 'max' && Object.is((b as Const).value, 0))
      s.code.v128(splatBytes(e.type, 0)).op(`${shapeOf[type] as 'f32x4'}.add`);
    return;
  }
  if ((e.op === 'max' || e.op === 'min') && (type === 'f32' || type === 'f64')) {
    const limit = e.src.find((x) => !em.info(x).varying);
    if (limit) {
      emitLimit(em, e.op, type, limit === a ? b : a, limit, p, s);
      return;
    }
  }
  const turned = e.op === 'or' && widthOf(e.type) === 32 ? halfTurned(a, b) : null;
  if (turned) {
    const v = em.vecLocal(turned, p, s);
    s.code
      .get(v)
      .get(v)
      .shuffle(Array.from({ length: 16 }, (_, i) => i ^ 2));
    return;
  }
  const bits = signBits(e.op, type);
  if (bits) {
    em.vec(a, p, s);
    s.code.v128(bits.mask).op(bits.op);
    return;
  }
  const op = direct[type][e.op];
  if (op) {
    for (const x of e.src) em.vec(x, p, s);
    s.code.op(op);
    if (isHalf(e.type) && inexact.has(e.op)) roundHalf(s.code, e.type, em.temp);
    return;
  }
  if (e.op === 'mul' && type === 'u8') {
    const [x, y] = [em.vecLocal(a, p, s), em.vecLocal(b, p, s)];
    for (const half of ['low', 'high'] as const) {
      s.code.get(x).get(y).op(`i16x8.extmul_${half}_i8x16_u`).v128(splatBytes('i32', 0x00ff00ff)).op('v128.and');
    }
    s.code.op('i8x16.narrow_i16x8_u');
    return;
  }
  if (e.op === 'max' || e.op === 'min') {
    const [x, y] = [em.vecLocal(a, p, s), em.vecLocal(b, p, s)];
    const [first, second] = e.op === 'max' ? [y, x] : [x, y];
    s.code.get(x).get(y).get(first);
    flipped(s, type);
    s.code.get(second);
    flipped(s, type);
    s.code.op('i64x2.lt_s').op('v128.bitselect');
    return;
  }
  // abs of an unsigned type: its value.
  if (e.op === 'abs') {
    em.vec(a, p, s);
    return;
  }
  throw new Error(`cpu: ${e.op} on ${e.type} has no instruction`);
}

/**
 * max and min with a constant as one comparison: pmax(x, c) is x < c ? c : x, so a NaN in x stays. Processors have that as an
 * instruction, while the full max must look for NaN on both sides. min with -0 is not among them: it would let +0 pass.
 */
function limitOp(op: AluOp, type: LaneType, limit: Expr | undefined): PlainOp | undefined {
  if (type !== 'f32' && type !== 'f64') return undefined;
  if ((op !== 'max' && op !== 'min') || limit?.kind !== 'const' || Number.isNaN(limit.value)) return undefined;
  if (op === 'min' && Object.is(limit.value, -0)) return undefined;
  return `${type === 'f32' ? 'f32x4' : 'f64x2'}.${op === 'max' ? 'pmax' : 'pmin'}`;
}

/** The larger or the smaller of two floats, written as a choice: pmin(x, y) is y < x ? y : x, and pmax(x, y) is x < y ? y : x. */
function chosenByOrder({ src }: Alu, type: LaneType): PlainOp | undefined {
  const [condition, y, x] = src as [Expr, Expr, Expr];
  if ((type !== 'f32' && type !== 'f64') || condition.kind !== 'alu' || condition.op !== 'lt') return undefined;
  const [less, more] = condition.src;
  const shape = type === 'f32' ? 'f32x4' : 'f64x2';
  if (less === y && more === x) return `${shape}.pmin`;
  return less === x && more === y ? `${shape}.pmax` : undefined;
}

/**
 * max and min with a number that is the same in all lanes: the comparison, and one sum that makes up for what it overlooks. What is added
 * is computed once: NaN if the limit is, else a zero that leaves every value as it is but for the zero that the limit is above.
 * min takes the sum of the negated value, and negates it.
 */
function emitLimit(
  em: Emitter,
  op: 'max' | 'min',
  type: 'f32' | 'f64',
  x: Expr,
  limit: Expr,
  p: number,
  s: WasmScope,
): void {
  const shape = type === 'f32' ? 'f32x4' : 'f64x2';
  const sign = splatBytes(type, -0);
  const made = (): void =>
    em.keep(limit, `${op}${limit.id}`, 'v128', s, true, (t) => {
      const { code } = t;
      const own = em.vecLocal(limit, 0, t);
      code.get(own);
      if (op === 'min') code.v128(sign).op('v128.xor');
      code.v128(sign).get(own).v128(splatBytes(type, 0)).op(`${shape}.eq`).op('v128.bitselect');
      code.get(own).get(own).op(`${shape}.ne`).op('v128.or');
    });
  if (op === 'min') made();
  em.vec(x, p, s);
  em.vec(limit, p, s);
  s.code.op(`${shape}.p${op}`);
  if (op === 'max') {
    made();
    s.code.op(`${shape}.add`);
  } else s.code.op(`${shape}.sub`).v128(sign).op('v128.xor');
}

/** abs and neg of floats by their sign bits. The engine makes the mask anew for each of its own, but keeps a constant. */
function signBits(op: AluOp, type: LaneType): { readonly mask: Uint8Array; readonly op: PlainOp } | undefined {
  if ((type !== 'f32' && type !== 'f64') || (op !== 'abs' && op !== 'neg')) return undefined;
  const sign = splatBytes(type, -0);
  return op === 'neg' ? { mask: sign, op: 'v128.xor' } : { mask: sign.map((byte) => ~byte), op: 'v128.and' };
}

/** Unsigned 64-bit order is signed order with the top bit flipped. */
function flipped(s: WasmScope, type: LaneType): void {
  if (type === 'u64') s.code.v128(splatBytes('u64', 1n << 63n)).op('v128.xor');
}

/** Leaves the mask of a comparison at the width of its operands. */
export function emitCompare(em: Emitter, e: Alu, p: number, s: WasmScope): void {
  const [a, b] = e.src as [Expr, Expr];
  const type = effective(a) === 'u32' && effective(b) === 'u32' ? 'u32' : laneType(a.type);
  for (const x of [a, b]) {
    em.vec(x, p, s);
    if (e.op === 'lt' || e.op === 'le') flipped(s, type);
  }
  s.code.op(compareOp(e.op, type));
}

/** The comparison of two vectors; u64 operands must have their top bit flipped. */
export function compareOp(op: AluOp, type: LaneType): PlainOp {
  const shape = shapeOf[type];
  switch (op) {
    case 'eq':
    case 'ne':
      return `${shape}.${op}`;
    case 'lt':
    case 'le':
      if (shape === 'f32x4' || shape === 'f64x2') return `${shape}.${op}`;
      if (shape === 'i64x2') return `i64x2.${op}_s`;
      return `${shape}.${op}_${type === 'i32' ? 's' : 'u'}`;
    default:
      throw new Error(`cpu: ${op} is no comparison`);
  }
}
