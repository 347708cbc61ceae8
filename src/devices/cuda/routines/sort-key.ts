// Values as unsigned keys that sort as they do: signed integers with the sign bit turned, floats with all bits turned if negative and the
// sign bit if not, -0 as 0, NaN above everything in both directions.

import { type DType, dtypeInfo, isFloat, isSigned } from '../../../base/dtype.ts';
import type { Kit } from './kit.ts';

export const keyBytes = (type: DType): 4 | 8 => (dtypeInfo[type].bytes === 8 ? 8 : 4);

/** A value (as its type lives in registers) as an unsigned key. */
export function sortKey(kit: Kit, type: DType, value: string, descending: boolean): string {
  const { b } = kit;
  const wide = keyBytes(type) === 8;
  const [kind, suffix, bits] = wide ? (['d', 'b64', 64] as const) : (['r', 'b32', 32] as const);
  const top = wide ? '0x8000000000000000' : '0x80000000';
  const ones = wide ? '0xffffffffffffffff' : '0xffffffff';
  const turn = (key: string): string => (descending ? b.def(kind, `not.${suffix}`, key) : key);
  if (type === 'bool') return turn(b.def('r', 'selp.b32', 1, 0, value));
  if (!isFloat(type)) return turn(isSigned(type) ? b.def(kind, `xor.${suffix}`, value, top) : value);
  // Adding 0 turns -0 into 0 and changes nothing else.
  const float = wide ? 'f64' : 'f32';
  const zero = wide ? '0d0000000000000000' : '0f00000000';
  const plain = b.def(wide ? 'g' : 'f', `add.rn.${float}`, value, zero);
  const raw = b.def(kind, `mov.${suffix}`, plain);
  const sign = b.def(kind, `shr.s${bits}`, raw, bits - 1);
  const mask = b.def(kind, `or.${suffix}`, sign, top);
  const key = turn(b.def(kind, `xor.${suffix}`, raw, mask));
  const nan = b.def('p', `setp.nan.${float}`, value, value);
  return b.def(kind, `selp.${suffix}`, ones, key, nan);
}
