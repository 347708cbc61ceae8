// The tensor-core instructions of Ampere: each warp multiplies a 64 by 64 piece with `mma.sync`, its operands loaded from
// shared memory with `ldmatrix`.
//
// One step covers 32 bytes of depth: 16 elements of f16 and bf16, 8 of tf32. The fragments of both have the same layout in
// units of 4 bytes, so the same loads serve them.

import type { DType } from '../../../base/dtype.ts';
import type { Matmul } from '../../../kernel/kernel.ts';
import type { Target } from '../ptx/target.ts';
import { type MakeCore, pieceRows, rowBytes, type TensorTiles } from './tensor-core.ts';

const side = 64;

const instruction: Readonly<Partial<Record<DType, string>>> = {
  f16: 'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32',
  bf16: 'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32',
  f32: 'mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32',
};

function mmaTiles(r: Matmul, target: Target, sharedLimit: number): TensorTiles {
  const wide = Math.ceil(r.m / 128) * Math.ceil(r.n / 256) * r.batch >= target.processors;
  const columns = wide && (128 + 256) * rowBytes * 3 <= sharedLimit ? 256 : 128;
  const stages = Math.min(4, Math.floor(sharedLimit / ((128 + columns) * rowBytes)));
  return { rows: 128, columns, threads: (columns / 64) * 2 * 32, stages, ahead: stages - 1 };
}

export function mmaCore(r: Matmul, target: Target, sharedLimit: number): MakeCore {
  return (kit, type, _base, tid) => {
    const { b } = kit;
    const tiles = mmaTiles(r, target, sharedLimit);
    const warpsAcross = tiles.columns / side;
    const laneId = b.def('r', 'and.b32', tid, 31);
    const warp = b.def('r', 'shr.u32', tid, 5);
    const warpRow = b.def('r', 'div.u32', warp, warpsAcross);
    const warpColumn = b.def('r', 'sub.u32', warp, b.def('r', 'mul.lo.u32', warpRow, warpsAcross));
    const zero = '0f00000000';
    // sums[i][j]: rows 16i …, columns 8j …, four registers each.
    const sums = Array.from({ length: side / 16 }, () =>
      Array.from({ length: side / 8 }, () => Array.from({ length: 4 }, () => b.def('f', 'mov.f32', zero))),
    );

    // Lane addresses within a tile: row and 16-byte piece, whose swizzle depends on the row's last three bits only.
    const rowA = b.def('r', 'add.u32', b.def('r', 'mul.lo.u32', warpRow, side), b.def('r', 'and.b32', laneId, 15));
    const pieceA = b.def('r', 'shr.u32', laneId, 4);
    const lowB = b.def('r', 'and.b32', laneId, 7);
    const highB = b.def('r', 'shl.b32', b.def('r', 'shr.u32', laneId, 4), 3);
    const rowB = b.def('r', 'add.u32', b.def('r', 'mul.lo.u32', warpColumn, side), b.def('r', 'add.u32', lowB, highB));
    const pieceB = b.def('r', 'and.b32', b.def('r', 'shr.u32', laneId, 3), 1);
    const turn = b.def('r', 'and.b32', laneId, 7);
    const offsets = (row: string, piece: string, extra: number): string[] =>
      Array.from({ length: 4 }, (_, s) => {
        const swizzled = b.def('r', 'xor.b32', b.def('r', 'add.u32', piece, 2 * s), turn);
        return b.def(
          'r',
          'add.u32',
          b.def('r', 'mad.lo.u32', row, rowBytes, b.def('r', 'shl.b32', swizzled, 4)),
          extra,
        );
      });
    const offsetsA = offsets(rowA, pieceA, 0);
    const offsetsB = offsets(rowB, pieceB, tiles.rows * rowBytes);

    const loadFour = (address: string, offset: number): string[] => {
      const four = Array.from({ length: 4 }, () => kit.entry.reg('r'));
      b.emit(`ldmatrix.sync.aligned.m8n8.x4.shared.b16 {${four.join(', ')}}, [${address}+${offset}]`);
      // The units read tf32 and drop the lower bits: rounding first halves the error.
      return type === 'f32' ? four.map((v) => b.def('r', 'cvt.rna.tf32.f32', b.def('f', 'mov.b32', v))) : four;
    };
    return {
      tiles,
      begin: () => {},
      multiply: (stage) => {
        for (let s = 0; s < 4; s++) {
          const atA = b.def('r', 'add.u32', stage, offsetsA[s]!);
          const atB = b.def('r', 'add.u32', stage, offsetsB[s]!);
          const left = sums.map((_, i) => loadFour(atA, i * 16 * rowBytes));
          const right = Array.from({ length: side / 16 }, (_, j) => loadFour(atB, j * 16 * rowBytes));
          sums.forEach((row, i) => {
            row.forEach((d, j) => {
              const pair = right[j >> 1]!.slice((j & 1) * 2, (j & 1) * 2 + 2);
              b.emit(
                `${instruction[type]} {${d.join(', ')}}, {${left[i]!.join(', ')}}, {${pair.join(', ')}}, {${d.join(', ')}}`,
              );
            });
          });
        }
      },
      end: () => {},
      pieces: () => {
        const row0 = b.def('r', 'mul.lo.u32', warpRow, side);
        const column = b.def('r', 'mul.lo.u32', warpColumn, side);
        return sums.map((line, i) => ({ row: b.def('r', 'add.u32', row0, pieceRows * i), column, sums: line }));
      },
    };
  };
}
