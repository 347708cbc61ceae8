// How operands of a product on tensor cores come to shared memory: asynchronous copies of 16-byte pieces, zeros beyond the ends.
//
// Where the depth is contiguous a tile has a row of 128 bytes for each of its rows. Where it is turned, the rows are contiguous: a
// tile is panels of 64 of them, each with a line of 128 bytes for every element of depth. Either way pieces are swizzled (piece xor
// line mod 8), so that no access conflicts.

import type { Kit } from './kit.ts';
import { rowBytes } from './tensor-core.ts';

export interface OperandTile {
  /** Bytes of an element. */
  readonly size: number;
  /** Rows there are, and elements of depth. */
  readonly rows: number;
  readonly depth: number;
  readonly turned: boolean;
  /** The first byte of the operand. */
  readonly from: string;
  /** Rows of a tile, and the first one of this tile. */
  readonly tile: number;
  readonly start: string;
}

interface Threads {
  readonly tid: string;
  readonly threads: number;
}

/** Emits the copies of the tile at a depth `k` to a shared address. */
export type TileCopier = (to: string, k: string) => void;

/** Elements of depth in a stage of a turned operand, which has 2 bytes for each: as many as in a row of the other kind. */
const turnedDepth = rowBytes / 2;

/** Bytes of 64 rows of a turned operand. */
export const panelBytes = turnedDepth * rowBytes;

/** Where the copies of a thread come from and go to; they follow each other in equal distances. */
interface Places {
  readonly rounds: number;
  readonly shared: string;
  readonly sharedStep: number;
  /** The address of the first piece at a depth. */
  readonly global: (k: string) => string;
  readonly globalStep: number;
  /** Conditions for the i-th to be inside; what need not be asked is left out. */
  readonly gates: (k: string, i: number) => readonly string[];
}

export function tileCopier(kit: Kit, t: OperandTile, threads: Threads): TileCopier {
  const { b } = kit;
  const places = t.turned ? turnedPlaces(kit, t, threads) : alongPlaces(kit, t, threads);
  return (to, k) => {
    const at = b.def('r', 'add.u32', to, places.shared);
    const first = places.global(k);
    for (let i = 0; i < places.rounds; i++) {
      const gates = places.gates(k, i);
      const source = i === 0 ? first : b.def('d', 'add.u64', first, i * places.globalStep);
      let [address, bytes] = [source, '16'];
      if (gates.length > 0) {
        const inside = gates.length === 1 ? gates[0]! : b.def('p', 'and.pred', gates[0]!, gates[1]!);
        // What is outside reads nothing and writes zeros; its address must still be a valid one.
        bytes = b.def('r', 'selp.b32', 16, 0, inside);
        address = b.def('d', 'selp.b64', source, t.from, inside);
      }
      b.emit(`cp.async.cg.shared.global [${at}+${i * places.sharedStep}], [${address}], 16, ${bytes}`);
    }
  };
}

/** A thread copies the same piece of every (threads/8)-th row. */
function alongPlaces(kit: Kit, t: OperandTile, { tid, threads }: Threads): Places {
  const { b } = kit;
  const piece = b.def('r', 'and.b32', tid, 7);
  const line = b.def('r', 'shr.u32', tid, 3);
  const lines = threads / 8;
  const rounds = t.tile / lines;
  const pieceStart = b.def('r', 'mul.lo.u32', piece, 16 / t.size);
  const first = b.def('r', 'add.u32', t.start, line);
  const element = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', first, t.depth), kit.wide(pieceStart));
  const source = b.def('d', 'mad.lo.u64', element, t.size, t.from);
  const inside = Array.from({ length: rounds }, (_, i) =>
    t.rows % t.tile === 0 ? [] : [b.def('p', 'setp.lt.u32', b.def('r', 'add.u32', first, i * lines), t.rows)],
  );
  const depthEven = t.depth % (rowBytes / t.size) === 0;
  return {
    rounds,
    shared: b.def('r', 'mad.lo.u32', line, rowBytes, swizzled(kit, piece, line)),
    sharedStep: lines * rowBytes,
    global: (k) => b.def('d', 'mad.wide.u32', k, t.size, source),
    globalStep: lines * t.depth * t.size,
    gates: (k, i) =>
      depthEven
        ? inside[i]!
        : [...inside[i]!, b.def('p', 'setp.lt.u32', b.def('r', 'add.u32', k, pieceStart), t.depth)],
  };
}

/** A thread copies the same piece of some lines: eights of lines apart, so that their swizzle is the same. */
function turnedPlaces(kit: Kit, t: OperandTile, { tid, threads }: Threads): Places {
  const { b } = kit;
  const pieces = t.tile / 8;
  const lines = threads / pieces;
  const line = b.def('r', 'div.u32', tid, pieces);
  const piece = b.def('r', 'sub.u32', tid, b.def('r', 'mul.lo.u32', line, pieces));
  const panel = b.def('r', 'mad.lo.u32', b.def('r', 'shr.u32', piece, 3), panelBytes, swizzled(kit, piece, line));
  const first = b.def('r', 'mad.lo.u32', piece, 8, t.start);
  const columns = t.rows % t.tile === 0 ? [] : [b.def('p', 'setp.lt.u32', first, t.rows)];
  const source = b.def('d', 'mad.wide.u32', first, 2, t.from);
  return {
    rounds: turnedDepth / lines,
    shared: b.def('r', 'mad.lo.u32', line, rowBytes, panel),
    sharedStep: lines * rowBytes,
    global: (k) => b.def('d', 'mad.wide.u32', b.def('r', 'add.u32', k, line), 2 * t.rows, source),
    globalStep: lines * t.rows * 2,
    gates: (k, i) => {
      if (t.depth % turnedDepth === 0) return columns;
      const at = b.def('r', 'add.u32', b.def('r', 'add.u32', k, line), i * lines);
      return [...columns, b.def('p', 'setp.lt.u32', at, t.depth)];
    },
  };
}

/** The place of a piece within its line, in bytes. */
function swizzled({ b }: Kit, piece: string, line: string): string {
  const turned = b.def('r', 'xor.b32', b.def('r', 'and.b32', piece, 7), b.def('r', 'and.b32', line, 7));
  return b.def('r', 'shl.b32', turned, 4);
}
