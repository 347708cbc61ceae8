// Rows of an operand in shared memory: panels of 128 bytes of each row, in which 16-byte pieces are swizzled (piece xor row mod 8).
//
// The tensor cores of both kinds read this layout without conflicts. Rows beyond the end, and what pads a row to a whole step of
// the tensor cores, are zeros.

import type { Kit } from '../kit.ts';
import { rowBytes } from '../tensor-core.ts';

/** Elements of 2 bytes in one panel's row. */
export const panelWidth = rowBytes / 2;

export interface Panels {
  /** Elements of a row in global memory: a multiple of 8. */
  readonly width: number;
  /** Rows of a tile. */
  readonly rows: number;
  /** Rows that there are. */
  readonly extent: number;
  /** The first byte of the operand in global memory. */
  readonly from: string;
}

/** Pieces of 16 bytes that a row has in shared memory: whole steps of 16 elements. */
const piecesOf = (width: number): number => 2 * Math.ceil(width / 16);

export const panelBytes = (rows: number): number => rows * rowBytes;

export const tileBytes = ({ width, rows }: Pick<Panels, 'width' | 'rows'>): number =>
  Math.ceil(width / panelWidth) * panelBytes(rows);

/** Emits asynchronous copies of the tile that begins at a row to an address in shared memory. */
export function panelCopier(kit: Kit, p: Panels, tid: string, threads: number): (first: string, to: string) => void {
  const { b } = kit;
  const pieces = piecesOf(p.width);
  const count = p.rows * pieces;
  const rounds = Math.ceil(count / threads);
  const rowsEven = p.extent % p.rows === 0;
  const padded = pieces * 8 !== p.width;
  const placeOf = (index: string) => {
    const row = b.def('r', 'div.u32', index, pieces);
    const piece = b.def('r', 'sub.u32', index, b.def('r', 'mul.lo.u32', row, pieces));
    const turned = b.def('r', 'xor.b32', b.def('r', 'and.b32', piece, 7), b.def('r', 'and.b32', row, 7));
    const inPanel = b.def('r', 'mad.lo.u32', row, rowBytes, b.def('r', 'shl.b32', turned, 4));
    const panel = b.def('r', 'shr.u32', piece, 3);
    return {
      row,
      shared: b.def('r', 'mad.lo.u32', panel, panelBytes(p.rows), inPanel),
      global: b.def('d', 'mad.wide.u32', row, p.width * 2, kit.wide(b.def('r', 'shl.b32', piece, 4))),
      inRow: padded ? b.def('p', 'setp.lt.u32', piece, p.width / 8) : null,
    };
  };
  // Where every round has the same pieces of later rows, eights of rows further on, one place serves them all.
  const step = threads / pieces;
  const regular = step % 8 === 0;
  const own = regular ? placeOf(tid) : null;
  const places = Array.from({ length: rounds }, (_, i) => {
    const index = i === 0 ? tid : b.def('r', 'add.u32', tid, i * threads);
    return {
      ...(own ?? placeOf(index)),
      further: own ? i * step : 0,
      // Threads beyond the last piece, in the last round.
      takesPart: (i + 1) * threads > count ? b.def('p', 'setp.lt.u32', index, count) : null,
    };
  });
  return (first, to) => {
    const base = b.def('d', 'mad.wide.u32', first, p.width * 2, p.from);
    for (const { row, shared, global, inRow, further, takesPart } of places) {
      const rowInside = (): string =>
        b.def('p', 'setp.lt.u32', b.def('r', 'add.u32', b.def('r', 'add.u32', first, row), further), p.extent);
      const gates = [rowsEven ? null : rowInside(), inRow].filter((g) => g !== null);
      const inside = gates.length === 2 ? b.def('p', 'and.pred', gates[0]!, gates[1]!) : gates[0];
      const source = b.def('d', 'add.u64', b.def('d', 'add.u64', base, global), further * p.width * 2);
      // Outside places read nothing and write zeros; their address must still be a valid one.
      const [address, bytes] = inside
        ? [b.def('d', 'selp.b64', source, p.from, inside), b.def('r', 'selp.b32', 16, 0, inside)]
        : [source, 16];
      const at = b.def('r', 'add.u32', to, shared);
      const gate = takesPart ? `@${takesPart} ` : '';
      b.emit(`${gate}cp.async.cg.shared.global [${at}+${further * rowBytes}], [${address}], 16, ${bytes}`);
    }
  };
}
