// Integer division rounding towards minus infinity, and its remainder; by zero both give 0, and the most negative value
// divided by -1 gives itself.
//
// 32-bit lanes divide as doubles: |a| < 2^32 makes the quotient exact enough for its floor to be right, since a quotient that
// is not whole differs from a whole number by at least 1/b. u8 divides as f32, for the same reason. 64-bit lanes
// divide one by one. Positions (never negative) by a constant multiply by the reciprocal in 64 bits.

import { bounds } from '../../../kernel/bounds.ts';
import type { Expr } from '../../../kernel/expr.ts';
import type { Emitter } from './emitter.ts';
import { type LaneType, shuffleOf, splatBytes } from './lanes.ts';
import type { WasmScope } from './scope.ts';

export function emitDivision(
  em: Emitter,
  op: 'idiv' | 'imod',
  type: LaneType,
  a: Expr,
  b: Expr,
  p: number,
  s: WasmScope,
): void {
  const mask = a.type === 'index' && bounds(a).min >= 0 && b.kind === 'const' ? Number(b.value) - 1 : -1;
  if (mask > 0 && Number.isInteger(Math.log2(mask + 1))) {
    em.vec(a, p, s);
    if (op === 'imod') s.code.v128(splatBytes('i32', mask)).op('v128.and');
    else s.code.i32(Math.log2(mask + 1)).op('i32x4.shr_u');
    return;
  }
  const x = em.vecLocal(a, p, s);
  const y = em.vecLocal(b, p, s);
  if (a.type === 'index' && b.kind === 'const' && bounds(a).max < 2 ** 31) reciprocal(x, Number(b.value), s);
  else if (type === 'u8') bytesByFloat(em, x, y, s);
  else if (type === 'i64' || type === 'u64') {
    wide(em, op, type, x, y, s);
    return;
  } else byDouble(x, y, type, s);
  const zero = splatBytes('u8', 0);
  if (op === 'idiv') {
    if (type !== 'u8') s.code.get(y).v128(zero).op('i32x4.ne').op('v128.and');
    else s.code.get(y).v128(zero).op('i8x16.ne').op('v128.and');
    return;
  }
  const q = em.temp();
  s.code.set(q);
  if (type === 'u8') {
    const [lo, hi] = ['low', 'high'] as const;
    s.code.get(x);
    for (const half of [lo, hi]) {
      s.code.get(q).get(y).op(`i16x8.extmul_${half}_i8x16_u`).v128(splatBytes('i32', 0x00ff00ff)).op('v128.and');
    }
    s.code.op('i8x16.narrow_i16x8_u').op('i8x16.sub').get(y).v128(zero).op('i8x16.ne').op('v128.and');
    return;
  }
  s.code.get(x).get(q).get(y).op('i32x4.mul').op('i32x4.sub').get(y).v128(zero).op('i32x4.ne').op('v128.and');
}

// Adding 1.5·2^52 puts the low 32 bits of a whole double into the low word of its mantissa, wrapping as integers do.
const wrapMagic = 1.5 * 2 ** 52;

function byDouble(x: number, y: number, type: LaneType, s: WasmScope): void {
  const convert = type === 'u32' ? 'f64x2.convert_low_i32x4_u' : 'f64x2.convert_low_i32x4_s';
  const high = shuffleOf(64, [1, 1]);
  // A lane divided by zero is masked by the caller; its bits do not matter.
  const half = (top: boolean): void => {
    for (const v of [x, y]) {
      s.code.get(v);
      if (top) s.code.get(v).shuffle(high);
      s.code.op(convert);
    }
    s.code.op('f64x2.div').op('f64x2.floor').v128(splatBytes('f64', wrapMagic)).op('f64x2.add');
  };
  half(false);
  half(true);
  s.code.shuffle(shuffleOf(32, [0, 2, 4, 6]));
}

function bytesByFloat(em: Emitter, x: number, y: number, s: WasmScope): void {
  const words: number[] = [];
  for (const half of ['low', 'high'] as const) {
    const wide = [x, y].map((v) => {
      const t = em.temp();
      s.code.get(v).op(`i16x8.extend_${half}_i8x16_u`).set(t);
      return t;
    });
    for (const quarter of ['low', 'high'] as const) {
      for (const v of wide) s.code.get(v).op(`i32x4.extend_${quarter}_i16x8_u`).op('f32x4.convert_i32x4_u');
      const t = em.temp();
      s.code.op('f32x4.div').op('i32x4.trunc_sat_f32x4_u').set(t);
      words.push(t);
    }
  }
  const [a, b, c, d] = words as [number, number, number, number];
  s.code.get(a).get(b).op('i16x8.narrow_i32x4_u').get(c).get(d).op('i16x8.narrow_i32x4_u').op('i8x16.narrow_i16x8_u');
}

function reciprocal(x: number, divisor: number, s: WasmScope): void {
  // With 2^(k-1) < divisor ≤ 2^k, ⌈2^(31+k) / divisor⌉ fits 32 bits and gives the exact quotient of any x < 2^31.
  const k = Math.ceil(Math.log2(divisor));
  const magic = (2n ** BigInt(31 + k) + BigInt(divisor) - 1n) / BigInt(divisor);
  for (const half of ['low', 'high'] as const) {
    s.code
      .get(x)
      .v128(splatBytes('u32', magic))
      .op(`i64x2.extmul_${half}_i32x4_u`)
      .i32(31 + k)
      .op('i64x2.shr_u');
  }
  s.code.shuffle(shuffleOf(32, [0, 2, 4, 6]));
}

/** Two 64-bit lanes, one after the other. */
function wide(em: Emitter, op: 'idiv' | 'imod', type: LaneType, x: number, y: number, s: WasmScope): void {
  const [a, b, q] = [em.local('i64'), em.local('i64'), em.local('i64')];
  const result = em.temp();
  const c = s.code;
  // Both, even where one would do: a value that is the same for all is computed once, and used by every lane.
  for (let lane = 0; lane < 2; lane++) {
    c.get(result).get(x).lane('i64x2.extract_lane', lane).set(a).get(y).lane('i64x2.extract_lane', lane).tee(b);
    c.op('i64.eqz').if('i64');
    c.i64(0n).else();
    if (type === 'u64')
      c.get(a)
        .get(b)
        .op(op === 'idiv' ? 'i64.div_u' : 'i64.rem_u');
    else {
      // The hardware traps on the most negative value divided by -1.
      c.get(b).i64(-1n).op('i64.eq').if('i64');
      if (op === 'idiv') c.i64(0n).get(a).op('i64.sub');
      else c.i64(0n);
      c.else();
      if (op === 'idiv') {
        // Truncated quotient, less one where there is a remainder and the signs differ.
        c.get(a).get(b).op('i64.div_s').tee(q);
        c.get(a)
          .get(q)
          .get(b)
          .op('i64.mul')
          .op('i64.ne')
          .get(a)
          .get(b)
          .op('i64.xor')
          .i64(0n)
          .op('i64.lt_s')
          .op('i32.and');
        c.op('i64.extend_i32_u').op('i64.sub');
      } else {
        c.get(a).get(b).op('i64.rem_s').tee(q).get(b).i64(0n);
        c.get(q).i64(0n).op('i64.ne').get(q).get(b).op('i64.xor').i64(0n).op('i64.lt_s').op('i32.and');
        c.op('select').op('i64.add');
      }
      c.end();
    }
    c.end();
    c.lane('i64x2.replace_lane', lane).set(result);
  }
  c.get(result);
}
