// Changes of type, as `Cast` in kernel/expr.ts defines them.

import type { ScalarType } from '../../../kernel/expr.ts';
import { type AluContext, narrow, roundNarrow, widen } from './alu.ts';
import { f32Literal, f64Literal, isFloatType, kindOf, suffixOf } from './types.ts';

export function emitCast(c: AluContext, from: ScalarType, to: ScalarType, value: string): string {
  if (from === to) return value;
  if (from === 'bool') return fromBool(c, to, value);
  if (to === 'bool') return toBool(c, from, value);
  if (isFloatType(from)) return isFloatType(to) ? floatToFloat(c, from, to, value) : floatToInt(c, from, to, value);
  return isFloatType(to) ? intToFloat(c, from, to, value) : intToInt(c, from, to, value);
}

function fromBool(c: AluContext, to: ScalarType, value: string): string {
  const kind = kindOf(to, c.bits);
  if (kind === 'f') return c.block.def('f', 'selp.f32', f32Literal(1), f32Literal(0), value);
  if (kind === 'g') return c.block.def('g', 'selp.f64', f64Literal(1), f64Literal(0), value);
  return c.block.def(kind, `selp.${kind === 'd' ? 'b64' : 'b32'}`, 1, 0, value);
}

function toBool(c: AluContext, from: ScalarType, value: string): string {
  const suffix = suffixOf(from, c.bits);
  if (!isFloatType(from)) return c.block.def('p', `setp.ne.${suffix}`, value, 0);
  // NaN counts as true.
  return c.block.def('p', `setp.neu.${suffix}`, value, suffix === 'f64' ? f64Literal(0) : f32Literal(0));
}

function floatToInt(c: AluContext, from: ScalarType, to: ScalarType, value: string): string {
  const { block } = c;
  const source = suffixOf(from, c.bits);
  if (to === 'u8') {
    const r = block.def('r', `cvt.rzi.u32.${source}`, value);
    return zeroForNan(c, source, value, block.def('r', 'min.u32', r, 255), 'r');
  }
  const kind = kindOf(to, c.bits);
  const r = block.def(kind, `cvt.rzi.${suffixOf(to, c.bits)}.${source}`, value);
  return zeroForNan(c, source, value, r, kind);
}

/** The hardware gives 0 for NaN only between 32-bit types. */
function zeroForNan(c: AluContext, source: string, value: string, r: string, kind: 'r' | 'd' | string): string {
  if (kind === 'r' && source === 'f32') return r;
  const nan = c.block.def('p', `setp.nan.${source}`, value, value);
  return c.block.def(kind as 'r' | 'd', `selp.${kind === 'd' ? 'b64' : 'b32'}`, 0, r, nan);
}

function intToFloat(c: AluContext, from: ScalarType, to: ScalarType, value: string): string {
  const { block } = c;
  const source = suffixOf(from, c.bits);
  if (to === 'f64') return block.def('g', `cvt.rn.f64.${source}`, value);
  // Integers that f16 can hold are exact in f32, so rounding twice is rounding once; bf16 reaches further.
  if (to === 'bf16' && source.endsWith('64')) {
    const chopped = block.def('f', `cvt.rz.f32.${source}`, value);
    const back = block.def('d', `cvt.rzi.${source}.f32`, chopped);
    return roundNarrow(c, to, stickyBit(c, chopped, block.def('p', `setp.ne.${source}`, back, value)));
  }
  if (to === 'bf16' && from !== 'u8') {
    return floatToFloat(c, 'f64', 'bf16', block.def('g', `cvt.rn.f64.${source}`, value));
  }
  return roundNarrow(c, to, block.def('f', `cvt.rn.f32.${source}`, value));
}

function floatToFloat(c: AluContext, from: ScalarType, to: ScalarType, value: string): string {
  const { block } = c;
  if (to === 'f64') return block.def('g', 'cvt.f64.f32', value);
  if (from !== 'f64') return roundNarrow(c, to, value);
  if (to === 'f32') return block.def('f', 'cvt.rn.f32.f64', value);
  return roundNarrow(c, to, roundToOdd(c, value));
}

/** f64 to f32 so that a second rounding to a narrower type gives what one rounding would: the last bit says 'inexact'. */
function roundToOdd(c: AluContext, value: string): string {
  const { block } = c;
  const chopped = block.def('f', 'cvt.rz.f32.f64', value);
  const back = block.def('g', 'cvt.f64.f32', chopped);
  // Values beyond f32 are chopped to its largest; those must still become infinite, as they do in f16 and bf16.
  return stickyBit(c, chopped, block.def('p', 'setp.ne.f64', back, value));
}

/** A chopped f32 whose last bit is set where something was cut off. */
function stickyBit(c: AluContext, chopped: string, inexact: string): string {
  const { block } = c;
  const bits = block.def('r', 'mov.b32', chopped);
  const odd = block.def('r', 'or.b32', bits, 1);
  return block.def('f', 'mov.b32', block.def('r', 'selp.b32', odd, bits, inexact));
}

function intToInt(c: AluContext, from: ScalarType, to: ScalarType, value: string): string {
  const { block } = c;
  const source = kindOf(from, c.bits);
  const target = kindOf(to, c.bits);
  if (to === 'index' && target === 'r' && from !== 'u8' && from !== 'i32') {
    // Positions that do not fit are clamped, so that a clamp behind this cast still sees a large value.
    if (source === 'r') return block.def('r', 'min.u32', value, 0x7fffffff);
    return block.def('r', `cvt.sat.s32.${suffixOf(from, c.bits)}`, value);
  }
  if (source === target) return to === 'u8' ? block.def('r', 'and.b32', value, 255) : value;
  if (target === 'd') return block.def('d', `cvt.${from === 'i32' || from === 'index' ? 's64.s32' : 'u64.u32'}`, value);
  const low = block.def('r', 'cvt.u32.u64', value);
  return to === 'u8' ? block.def('r', 'and.b32', low, 255) : low;
}

/** The same bits as another type of the same width. */
export function emitBitcast(c: AluContext, from: ScalarType, to: ScalarType, value: string): string {
  if (from === to) return value;
  if (from === 'bool' || to === 'bool') return emitCast(c, from, to, value);
  const source = kindOf(from, c.bits);
  const target = kindOf(to, c.bits);
  if (source === 'f' && target === 'f') return widen(c, to as 'f16', narrow(c, from as 'f16', value));
  if (source === target) return value;
  return c.block.def(target, target === 'd' || target === 'g' ? 'mov.b64' : 'mov.b32', value);
}
