// f16 and bf16 in f32 lanes: bits to values and back, exact, rounding to nearest even, NaN kept as the canonical NaN.
//
// Each function takes the vector on top of the stack and leaves its result there. `tmp` gives a fresh vector local.
// The f16 sequences follow F. Giesen's published branch-free conversions ("half_to_float_fast5", "float_to_half_fast3_rtne").

import type { Code } from '../wasm/code.ts';
import { splatBytes } from './lanes.ts';

/** Types that are kept in two bytes and computed in f32. */
export const isHalf = (t: string): t is 'f16' | 'bf16' => t === 'f16' || t === 'bf16';

type Temp = () => number;
const i32 = (c: Code, v: number): Code => c.v128(splatBytes('i32', v));

/** i32 lanes holding f16 bits → f32 lanes. */
export function f16ToF32(c: Code, tmp: Temp): void {
  const [h, m] = [tmp(), tmp()];
  c.set(h);
  // Exponent and mantissa in place, then a multiplication corrects the bias; it makes subnormals normal as well.
  i32(c.get(h), 0x7fff).op('v128.and').i32(13).op('i32x4.shl').tee(m);
  c.v128(splatBytes('f32', 2 ** 112)).op('f32x4.mul');
  i32(i32(c.get(m), 0x0f7fffff).op('i32x4.gt_s'), 0x7f800000).ops('v128.and', 'v128.or');
  i32(c.get(h), 0x8000).op('v128.and').i32(16).op('i32x4.shl').op('v128.or');
}

/** f32 lanes → i32 lanes holding f16 bits. */
export function f32ToF16(c: Code, tmp: Temp): void {
  const [x, a] = [tmp(), tmp()];
  c.tee(x);
  i32(c, 0x7fffffff).op('v128.and').tee(a);
  // Subnormal results: adding 0.5 lets the hardware round at the right bit.
  c.v128(splatBytes('f32', 0.5)).op('f32x4.add');
  i32(c, 0x3f000000).op('i32x4.sub');
  // Normal results: re-bias the exponent, round half to even by hand; what rounds past the largest becomes infinity.
  i32(c.get(a), 0xc8000fff).op('i32x4.add');
  i32(c.get(a).i32(13).op('i32x4.shr_u'), 1).ops('v128.and', 'i32x4.add').i32(13).op('i32x4.shr_u');
  i32(c.get(a), 0x38800000).ops('i32x4.lt_s', 'v128.bitselect');
  i32(c, 0x7c00);
  i32(c.get(a), 0x47800000).ops('i32x4.lt_s', 'v128.bitselect');
  i32(c.get(x).i32(16).op('i32x4.shr_u'), 0x8000).ops('v128.and', 'v128.or');
  i32(c, 0x7e00).get(x).get(x).ops('f32x4.eq', 'v128.bitselect');
}

/** i32 lanes holding bf16 bits → f32 lanes. */
export function bf16ToF32(c: Code): void {
  c.i32(16).op('i32x4.shl');
}

/** f32 lanes → f32 lanes rounded to bf16 (the low 16 bits are zero). */
function roundBf16(c: Code, tmp: Temp): void {
  const x = tmp();
  c.set(x);
  i32(c.get(x).get(x).i32(16).op('i32x4.shr_u'), 1).ops('v128.and', 'i32x4.add');
  i32(i32(c, 0x7fff).op('i32x4.add'), 0xffff0000).op('v128.and');
  c.v128(splatBytes('i32', 0x7fc00000)).get(x).get(x).ops('f32x4.eq', 'v128.bitselect');
}

/** f32 lanes → i32 lanes holding bf16 bits. */
export function f32ToBf16(c: Code, tmp: Temp): void {
  roundBf16(c, tmp);
  c.i32(16).op('i32x4.shr_u');
}

/** f32 lanes rounded to what the type can hold. */
export function roundHalf(c: Code, type: 'f16' | 'bf16', tmp: Temp): void {
  if (type === 'bf16') {
    roundBf16(c, tmp);
    return;
  }
  f32ToF16(c, tmp);
  f16ToF32(c, tmp);
}

/**
 * f32 lanes holding doubles rounded to nearest, with the rounding error's sign known: makes them rounded to odd, so that a
 * second rounding to a half type gives what one rounding of the double would. Stack: value; `back` pushes mask lanes saying
 * where the f32 differs from the double, `over` where it is larger in magnitude.
 */
export function roundToOdd(c: Code, inexact: number, over: number): void {
  // Bits minus one where the magnitude was rounded up, then the lowest bit set where anything was lost.
  c.get(over).op('i32x4.add');
  i32(c.get(inexact), 1).ops('v128.and', 'v128.or');
}
