// Short rows with their positions, two at a time: each lane of a vector is a row, as in short-rows.ts.
//
// A key of 32 bits and a position are one number of 64 bits: the key, and the position as its fraction. No two are equal, so a network that
// keeps no order among equals sorts them stably, and a comparison takes the two instructions that it takes without positions.

import type { Sort } from '../../../../kernel/kernel.ts';
import { splatBytes } from '../../render/lanes.ts';
import type { Func, WasmModule } from '../../wasm/module.ts';
import { emitVectorKeys, inVectors, keys } from './keys.ts';
import { comparisons, isShort } from './short-rows.ts';

/** Rows that are sorted at once. */
export const pairRows = 2;
/** Positions are as many fractions. */
const fractions = 64;
/** Rows from which on the engine's time for a network of so many columns is made up for. */
const veryManyRows = 2048;

/** Whether rows are sorted this way. */
export const arePairs = (r: Sort): boolean =>
  keys[r.type].word === 'i32' && inVectors(r.type) && isShort(r, r.rows < veryManyRows ? undefined : fractions);

/** (input, values, positions): sorts that many rows. Values are fetched by their positions, so that -0 and the bits of NaN survive. */
export function sortShortPairs(module: WasmModule, r: Sort): Func {
  const { columns } = r;
  const f = module.func(['i32', 'i32', 'i32']);
  const [input, values, positions] = [0, 1, 2] as const;
  const c = f.code;
  const pairs = Array.from({ length: columns }, () => f.local('v128'));
  const [kept, lost, at] = [f.local('v128'), f.local('v128'), f.local('i32')];
  pairs.forEach((v, column) => {
    c.get(input)
      .get(input)
      .mem('v128.load32_zero', 4 * column);
    c.memLane('v128.load32_lane', 1, 4 * (columns + column)).set(kept);
    emitVectorKeys(c, r, kept, lost);
    c.op('f64x2.convert_low_i32x4_u')
      .v128(splatBytes('f64', column / fractions))
      .op('f64x2.add')
      .set(v);
  });
  for (const [i, j] of comparisons(columns)) {
    const [x, y] = [pairs[i]!, pairs[j]!];
    c.get(x).get(y).op('f64x2.pmin').set(kept).get(x).get(y).op('f64x2.pmax').set(y).get(kept).set(x);
  }
  pairs.forEach((v, column) => {
    c.get(v).get(v).ops('f64x2.floor', 'f64x2.sub').v128(splatBytes('f64', fractions)).op('f64x2.mul');
    c.op('i32x4.trunc_sat_f64x2_u_zero').set(kept);
    for (let row = 0; row < pairRows; row++) {
      const place = 4 * (row * columns + column);
      c.get(positions).get(kept).lane('i32x4.extract_lane', row).tee(at).mem('i32.store', place);
      c.get(values).get(input).get(at).i32(2).ops('i32.shl', 'i32.add');
      c.mem('i32.load', 4 * row * columns).mem('i32.store', place);
    }
  });
  return f;
}
