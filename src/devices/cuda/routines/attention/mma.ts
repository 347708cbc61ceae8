// Attention's products on Ampere and later: `mma.sync` with operands loaded by `ldmatrix`; the queries stay in registers.

import { rowBytes } from '../tensor-core.ts';
import { type Fragment, type MakeAttentionCore, zeroFragments } from './core.ts';
import { panelBytes, panelWidth } from './panels.ts';

const pieces = panelWidth / 8;

export const mmaAttention: MakeAttentionCore = (kit, { type, depth, width, tiles, queries, tid }) => {
  const { b } = kit;
  const { keys, rows, slabs } = tiles;
  const lane = b.def('r', 'and.b32', tid, 31);
  const warp = b.def('r', 'shr.u32', tid, 5);
  const firstRow = b.def('r', 'mul.lo.u32', warp, 16 * slabs);
  const steps = Math.ceil(depth / 16);
  const turn = b.def('r', 'and.b32', lane, 7);
  /** Where a lane reads: a row, and of the pieces of 16 bytes the n-th pair's first or second. */
  const places = (row: string, second: string, tileRows: number, pairs: number): string[] =>
    Array.from({ length: pairs }, (_, s) => {
      const panel = Math.floor((2 * s) / pieces);
      const swizzled = b.def('r', 'xor.b32', b.def('r', 'add.u32', second, (2 * s) % pieces), turn);
      const at = b.def('r', 'mad.lo.u32', row, rowBytes, b.def('r', 'shl.b32', swizzled, 4));
      return panel === 0 ? at : b.def('r', 'add.u32', at, panel * panelBytes(tileRows));
    });
  const low = b.def('r', 'and.b32', lane, 15);
  const high = b.def('r', 'shr.u32', lane, 4);
  // Right operands lie as rows of keys: eight keys by two pieces of their depth, then the next eight keys.
  const keyRow = b.def('r', 'mad.lo.u32', high, 8, turn);
  const keyPiece = b.def('r', 'and.b32', b.def('r', 'shr.u32', lane, 3), 1);
  const keyPlaces = places(keyRow, keyPiece, keys, steps);
  const valuePlaces = places(low, high, keys, Math.ceil(width / 16));
  const load = (address: string, offset: number, turned: boolean): string[] => {
    const four = Array.from({ length: 4 }, () => kit.entry.reg('r'));
    b.emit(
      `ldmatrix.sync.aligned.m8n8.x4${turned ? '.trans' : ''}.shared.b16 {${four.join(', ')}}, [${address}+${offset}]`,
    );
    return four;
  };
  const instruction = `mma.sync.aligned.m16n8k16.row.col.f32.${type}.${type}.f32`;
  const multiply = (d: Fragment, left: Fragment, right: Fragment, from: Fragment): void =>
    b.emit(`${instruction} {${d.join(', ')}}, {${left.join(', ')}}, {${right.join(', ')}}, {${from.join(', ')}}`);
  const results = zeroFragments(kit, slabs, 16 * Math.ceil(width / 16));
  const left: Fragment[][] = [];
  const zeros = Array.from({ length: 4 }, () => '0f00000000');
  return {
    firstRow,
    results,
    begin: () => {
      const row = b.def('r', 'add.u32', firstRow, low);
      const at = places(row, high, rows, steps).map((p) => b.def('r', 'add.u32', queries, p));
      for (let i = 0; i < slabs; i++) left.push(at.map((p) => load(p, i * 16 * rowBytes, false)));
    },
    scores: (stage) => {
      const sums = Array.from({ length: slabs }, () =>
        Array.from({ length: keys / 8 }, () => Array.from({ length: 4 }, () => kit.entry.reg('f'))),
      );
      for (let s = 0; s < steps; s++) {
        const at = b.def('r', 'add.u32', stage, keyPlaces[s]!);
        for (let j = 0; j < keys / 8; j += 2) {
          const right = load(at, j * 8 * rowBytes, false);
          sums.forEach((line, i) => {
            for (const h of [0, 1]) {
              const d = line[j + h]!;
              multiply(d, left[i]![s]!, right.slice(2 * h, 2 * h + 2), s === 0 ? zeros : d);
            }
          });
        }
      }
      return sums;
    },
    accumulate: (weights, stage) => {
      valuePlaces.forEach((place, c) => {
        const at = b.def('r', 'add.u32', stage, place);
        for (let t = 0; t < keys / 16; t++) {
          const right = load(at, t * 16 * rowBytes, true);
          results.forEach((line, i) => {
            for (const h of [0, 1]) {
              const d = line[2 * c + h]!;
              multiply(d, weights[i]![t]!, right.slice(2 * h, 2 * h + 2), d);
            }
          });
        }
      });
    },
    end: () => {},
  };
};
