// Which results a thread computes: threads of a tile numbered so that a warp reads shared memory in the fewest passes.
//
// A 16-byte read takes a warp four passes, but two if threads whose numbers differ in bit 0, or all that differ in bit 1, read
// the same place. Rows are therefore taken from bit 0 and columns from bit 1 of the number: both operands are read in two.

import type { Kit } from './kit.ts';

/** Row and column of a thread in a grid of `down` by `across` threads, made of warps of 4 by 8 or 8 by 4. */
export function crossed(kit: Kit, thread: string, down: number, across: number): { row: string; column: string } {
  const { b } = kit;
  const bits = (from: string, first: number, count: number): string => {
    const shifted = first === 0 ? from : b.def('r', 'shr.u32', from, first);
    return b.def('r', 'and.b32', shifted, 2 ** count - 1);
  };
  const join = (low: string, high: string, at: number): string =>
    b.def('r', 'or.b32', low, b.def('r', 'shl.b32', high, at));
  const wide = across >= 8;
  const row = join(bits(thread, 0, 1), bits(thread, 3, wide ? 1 : 2), 1);
  const column = wide ? join(bits(thread, 1, 2), bits(thread, 4, 1), 2) : bits(thread, 1, 2);
  const warpsAcross = across / (wide ? 8 : 4);
  const warpsDown = down / (wide ? 4 : 8);
  const warp = b.def('r', 'shr.u32', thread, 5);
  const place = (low: string, high: string, at: number, warps: number): string =>
    warps === 1 ? low : join(low, high, at);
  return {
    row: place(row, b.def('r', 'shr.u32', warp, Math.log2(warpsAcross)), wide ? 2 : 3, warpsDown),
    column: place(column, b.def('r', 'and.b32', warp, warpsAcross - 1), wide ? 3 : 2, warpsAcross),
  };
}
