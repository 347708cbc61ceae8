// Shifts. WebAssembly shifts all lanes by one scalar, modulo the width; ours shift lane by lane, and counts of at least the
// width (or negative ones) give zero, or the sign for shr of signed types.

import type { Expr } from '../../../kernel/expr.ts';
import type { Emitter } from './emitter.ts';
import { type LaneType, shapeOf, splatBytes, widthOf } from './lanes.ts';
import type { WasmScope } from './scope.ts';

export function emitShift(
  em: Emitter,
  op: 'shl' | 'shr',
  type: LaneType,
  a: Expr,
  n: Expr,
  p: number,
  s: WasmScope,
): void {
  const width = widthOf(a.type) as 8 | 32 | 64;
  const shape = shapeOf[type] as 'i8x16' | 'i32x4' | 'i64x2';
  const signed = op === 'shr' && (type === 'i32' || type === 'i64');
  const instruction = op === 'shl' ? 'shl' : signed ? 'shr_s' : 'shr_u';
  if (n.kind === 'const') {
    const given = Number(n.value);
    const outside = given < 0 || given >= width;
    if (outside && !signed) {
      s.code.v128(splatBytes('u8', 0));
      return;
    }
    em.vec(a, p, s);
    s.code.i32(outside ? width - 1 : given).op(`${shape}.${instruction}`);
    return;
  }
  const x = em.vecLocal(a, p, s);
  const count = em.vecLocal(n, p, s);
  const inside = em.temp();
  // Counts from 0 to width-1, as unsigned numbers.
  if (width === 64) s.code.get(count).i32(6).op('i64x2.shr_u').v128(splatBytes('u64', 0)).op('i64x2.eq');
  else
    s.code
      .get(count)
      .v128(splatBytes(width === 8 ? 'u8' : 'u32', width))
      .op(`${shape as 'i8x16' | 'i32x4'}.lt_u`);
  s.code.set(inside);
  if (!em.info(n).varying) {
    s.code.get(x).get(count);
    if (width === 8) s.code.lane('i8x16.extract_lane_u', 0);
    else s.code.lane('i32x4.extract_lane', 0);
    s.code.op(`${shape}.${instruction}`);
  } else {
    const result = em.temp();
    for (let lane = 0; lane < Math.min(s.lanes, 128 / width); lane++) {
      s.code.get(result);
      if (width === 8) {
        s.code.get(x).lane('i8x16.extract_lane_u', lane).get(count).lane('i8x16.extract_lane_u', lane);
        s.code.op(`i32.${op === 'shl' ? 'shl' : 'shr_u'}`).lane('i8x16.replace_lane', lane);
      } else {
        const t = width === 32 ? 'i32' : 'i64';
        const s4 = shape as 'i32x4' | 'i64x2';
        s.code.get(x).lane(`${s4}.extract_lane`, lane).get(count).lane(`${s4}.extract_lane`, lane);
        s.code.op(`${t}.${instruction}`).lane(`${s4}.replace_lane`, lane);
      }
      s.code.set(result);
    }
    s.code.get(result);
  }
  if (signed) {
    s.code
      .get(x)
      .i32(width - 1)
      .op(`${shape}.shr_s`)
      .get(inside)
      .op('v128.bitselect');
  } else {
    s.code.get(inside).op('v128.and');
  }
}
