// Which results a thread computes: threads of a tile numbered so that a warp reads shared memory in the fewest passes.
//
// A 16-byte read takes a warp four passes, but two if threads whose numbers differ in bit 0, or all that differ in bit 1, read
// the same place. Rows are therefore taken from bit 0 and columns from bit 1 of the number: both operands are read in two.

import type { Kit } from './kit.ts';

/** Row and column of a thread in a grid `across` threads wide, made of warps of 4 by 8: more than one of them down. */
export function crossed(kit: Kit, thread: string, across: number): { row: string; column: string } {
  const { b } = kit;
  const bits = (from: string, first: number, count: number): string => {
    const shifted = first === 0 ? from : b.def('r', 'shr.u32', from, first);
    return b.def('r', 'and.b32', shifted, 2 ** count - 1);
  };
  const join = (low: string, high: string, at: number): string =>
    b.def('r', 'or.b32', low, b.def('r', 'shl.b32', high, at));
  const rowOfWarp = join(bits(thread, 0, 1), bits(thread, 3, 1), 1);
  const columnOfWarp = join(bits(thread, 1, 2), bits(thread, 4, 1), 2);
  const warpsAcross = across / 8;
  const warp = b.def('r', 'shr.u32', thread, 5);
  const row = join(rowOfWarp, b.def('r', 'shr.u32', warp, Math.log2(warpsAcross)), 2);
  const warpColumn = b.def('r', 'and.b32', warp, warpsAcross - 1);
  return { row, column: warpsAcross === 1 ? columnOfWarp : join(columnOfWarp, warpColumn, 3) };
}
