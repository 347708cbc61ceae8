// How the sums of a product on tensor cores leave the registers.
//
// A lane has pairs of neighbours in rows far apart: stored as they are, each instruction touches eight lines of memory and fills a part of
// each. So 16-bit results without anything behind them go through shared memory, 16 rows and 64 columns of a warp at a time, and
// leave in whole lines. Everything else is stored from the registers.

import { type DType, dtypeInfo } from '../../../base/dtype.ts';
import { narrow, narrowPair } from '../ptx/alu.ts';
import type { Kit } from './kit.ts';
import { type Piece, pieceColumns, pieceRows } from './tensor-core.ts';

/** Computes what is behind a product at some neighbours of a row, and stores it. */
export type Finish = (place: readonly [string, string, string], values: readonly string[], address: string) => void;

export interface Destination {
  readonly type: DType;
  /** Rows and columns that there are, and the first ones of this tile. */
  readonly m: number;
  readonly n: number;
  readonly m0: string;
  readonly n0: string;
  readonly batch: string;
  /** The first byte of this product's results, and bytes of an element. */
  readonly base: string;
  readonly bytes: number;
  readonly finish: Finish | null;
  /** Shared memory that nobody reads any more once the block has met. */
  readonly shared: string;
  readonly tid: string;
}

/** Bytes from one row of a piece to the next in shared memory: four banks further, so that no access conflicts. */
const pitch = 2 * pieceColumns + 16;

export function storePieces(kit: Kit, pieces: readonly Piece[], to: Destination): void {
  if (!to.finish && dtypeInfo[to.type].bytes === 2 && to.n % 8 === 0) storeLines(kit, pieces, to);
  else storePairs(kit, pieces, to);
}

function storeLines(kit: Kit, pieces: readonly Piece[], to: Destination): void {
  const { b } = kit;
  const half = to.type as 'f16' | 'bf16';
  const lane = b.def('r', 'and.b32', to.tid, 31);
  const warp = b.def('r', 'shr.u32', to.tid, 5);
  const own = b.def('r', 'mad.lo.u32', warp, pieceRows * pitch, to.shared);
  const { row: writeRow, column: writeColumn } = ownPair(kit, lane);
  const write = b.def('r', 'mad.lo.u32', writeRow, pitch, b.def('r', 'mad.lo.u32', writeColumn, 2, own));
  // Eight lanes read one row.
  const readRow = b.def('r', 'shr.u32', lane, 3);
  const readColumn = b.def('r', 'shl.b32', b.def('r', 'and.b32', lane, 7), 3);
  const read = b.def('r', 'mad.lo.u32', readRow, pitch, b.def('r', 'mad.lo.u32', readColumn, 2, own));
  const rowsAtOnce = 4;
  const meet = (): void => b.emit('bar.warp.sync -1');
  kit.sync();
  pieces.forEach(({ row, column, sums }, i) => {
    if (i > 0) meet();
    sums.forEach(([p, q, r, s], j) => {
      b.emit(`st.shared.b32 [${write}+${16 * j}], ${narrowPair(kit.c, half, p!, q!)}`);
      b.emit(`st.shared.b32 [${write}+${16 * j + 8 * pitch}], ${narrowPair(kit.c, half, r!, s!)}`);
    });
    meet();
    const firstRow = b.def('r', 'add.u32', b.def('r', 'add.u32', to.m0, row), readRow);
    const gc = b.def('r', 'add.u32', b.def('r', 'add.u32', to.n0, column), readColumn);
    const columnInside = b.def('p', 'setp.lt.u32', gc, to.n);
    const element = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', firstRow, to.n), kit.wide(gc));
    const address = b.def('d', 'mad.lo.u64', element, 2, to.base);
    for (let k = 0; k < pieceRows; k += rowsAtOnce) {
      const four = Array.from({ length: 4 }, () => kit.entry.reg('r')).join(', ');
      b.emit(`ld.shared.v4.b32 {${four}}, [${read}+${k * pitch}]`);
      const gr = k === 0 ? firstRow : b.def('r', 'add.u32', firstRow, k);
      const inside = b.def('p', 'and.pred', b.def('p', 'setp.lt.u32', gr, to.m), columnInside);
      const at = k === 0 ? address : b.def('d', 'add.u64', address, 2 * k * to.n);
      b.emit(`@${inside} st.global.v4.b32 [${at}], {${four}}`);
    }
  });
}

function storePairs(kit: Kit, pieces: readonly Piece[], to: Destination): void {
  const { b } = kit;
  const { type, m, n, bytes, finish } = to;
  const pairs = n % 2 === 0;
  const half = type === 'f16' || type === 'bf16' ? type : null;
  const { row: laneRow, column: laneColumn } = ownPair(kit, b.def('r', 'and.b32', to.tid, 31));
  const store = (row: string, column: string, first: string, second: string): void => {
    const gr = b.def('r', 'add.u32', to.m0, row);
    const gc = b.def('r', 'add.u32', to.n0, column);
    const rowInside = b.def('p', 'setp.lt.u32', gr, m);
    const element = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', gr, n), kit.wide(gc));
    const address = b.def('d', 'mad.lo.u64', element, bytes, to.base);
    const inside = (at: string): string => b.def('p', 'and.pred', rowInside, b.def('p', 'setp.lt.u32', at, n));
    const right = (): string => b.def('r', 'add.u32', gc, 1);
    if (finish) {
      const own = (v: string): string => kit.cast('f32', type, v);
      const place = (at: string) => [to.batch, kit.wide(gr), kit.wide(at)] as const;
      if (pairs) kit.when(inside(gc), () => finish(place(gc), [own(first), own(second)], address));
      else {
        kit.when(inside(gc), () => finish(place(gc), [own(first)], address));
        const [beside, next] = [b.def('d', 'add.u64', address, bytes), right()];
        kit.when(inside(next), () => finish(place(next), [own(second)], beside));
      }
      return;
    }
    if (pairs) {
      const ok = inside(gc);
      if (half) b.emit(`@${ok} st.global.b32 [${address}], ${narrowPair(kit.c, half, first, second)}`);
      else b.emit(`@${ok} st.global.v2.f32 [${address}], {${first}, ${second}}`);
      return;
    }
    const [x, y] = half ? [narrow(kit.c, half, first), narrow(kit.c, half, second)] : [first, second];
    const suffix = half ? 'b16' : 'f32';
    b.emit(`@${inside(gc)} st.global.${suffix} [${address}], ${x}`);
    b.emit(`@${inside(right())} st.global.${suffix} [${address}+${bytes}], ${y}`);
  };
  for (const { row, column, sums } of pieces) {
    const upper = b.def('r', 'add.u32', row, laneRow);
    const lower = b.def('r', 'add.u32', upper, 8);
    const left = b.def('r', 'add.u32', laneColumn, column);
    sums.forEach(([p, q, r, s], j) => {
      const at = j === 0 ? left : b.def('r', 'add.u32', left, 8 * j);
      store(upper, at, p!, q!);
      store(lower, at, r!, s!);
    });
  }
}

/** Where in a piece a lane has its first pair of every eight columns. */
function ownPair({ b }: Kit, lane: string): { readonly row: string; readonly column: string } {
  return { row: b.def('r', 'shr.u32', lane, 2), column: b.def('r', 'shl.b32', b.def('r', 'and.b32', lane, 3), 1) };
}
