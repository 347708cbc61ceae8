// The tensor-core instructions of Hopper: each warpgroup (four warps) multiplies 64 rows of A with all columns of the tile,
// reading both operands from shared memory through descriptors, asynchronously.
//
// A descriptor names an address, the distance of groups of eight rows (1024 bytes) and the 128-byte swizzle; a step along the depth
// moves the address, the swizzle follows from the address bits. An operand of 16-bit elements may lie turned, with its rows contiguous:
// then its tile is panels of 64 of them, and a step is the next sixteen lines of each panel.

import { type DType, dtypeInfo } from '../../../base/dtype.ts';
import type { Matmul } from '../../../kernel/kernel.ts';
import type { Target } from '../ptx/target.ts';
import { type MakeCore, pieceColumns, pieceRows, rowBytes, type TensorTiles } from './tensor-core.ts';
import { panelBytes } from './tensor-operand.ts';

const stages = 4;

const types: Readonly<Partial<Record<DType, { readonly depth: number; readonly operands: string }>>> = {
  f16: { depth: 16, operands: 'f16.f16' },
  bf16: { depth: 16, operands: 'bf16.bf16' },
  f32: { depth: 8, operands: 'tf32.tf32' },
};

/** Whether an operand may lie with its rows contiguous: the type, and rows of whole 16-byte pieces. */
export const takesTurned = (type: DType, rows: number): boolean => dtypeInfo[type].bytes === 2 && rows % 8 === 0;

function wgmmaTiles(r: Matmul, target: Target): TensorTiles {
  const blocks = (columns: number): number => Math.ceil(r.m / 128) * Math.ceil(r.n / columns) * r.batch;
  // As wide as keeps the device busy: wide tiles read less, and narrow ones are more.
  const columns =
    r.n > 128 && blocks(256) >= target.processors ? 256 : blocks(64) > target.processors && r.n > 64 ? 128 : 64;
  const tiles = { rows: 128, columns, threads: 256 };
  // All of a short depth is fetched at once. Else a stage is overwritten two rounds after it was multiplied: every warpgroup has
  // finished it by then.
  const steps = Math.ceil((r.k * dtypeInfo[r.type].bytes) / rowBytes);
  return steps <= stages ? { ...tiles, stages: steps, ahead: steps } : { ...tiles, stages, ahead: stages - 2 };
}

export function wgmmaCore(
  r: Matmul,
  target: Target,
  turned: { readonly a: boolean; readonly b: boolean } = { a: false, b: false },
): MakeCore {
  return (kit, type, _base, tid) => {
    const { b } = kit;
    const tiles = wgmmaTiles(r, target);
    const { operands, depth } = types[type]!;
    // Both factors as they are; then which of them lie turned, a choice that 16-bit types have.
    const flags = type === 'f32' ? '1, 1' : `1, 1, ${Number(turned.a)}, ${Number(turned.b)}`;
    const warpgroup = b.def('r', 'shr.u32', tid, 7);
    const sums = Array.from({ length: tiles.columns / 2 }, () => b.def('f', 'mov.f32', '0f00000000'));
    const offsetA = b.def('r', 'mul.lo.u32', warpgroup, 64 * rowBytes);
    // Swizzle 128 bytes; 1024 bytes between groups of eight rows; the distance of panels, of which only turned operands have several.
    const fixed = (isTurned: boolean): string =>
      `0x${((1n << 62n) | (64n << 32n) | (isTurned ? BigInt(panelBytes / 16) << 16n : 1n << 16n)).toString(16)}`;
    /** The s-th step along the depth, in units of 16 bytes: 32 bytes of each row, or sixteen lines. */
    const along = (from: string, s: number, isTurned: boolean): string =>
      s === 0 ? from : b.def('d', 'add.u64', from, s * (isTurned ? rowBytes : 2));
    const descriptor = (address: string, isTurned: boolean): string => {
      const bits = b.def('r', 'bfe.u32', address, 4, 14);
      return b.def('d', 'or.b64', kit.wide(bits), fixed(isTurned));
    };
    return {
      tiles,
      begin: () => {},
      multiply: (stage) => {
        const atA = descriptor(b.def('r', 'add.u32', stage, offsetA), turned.a);
        const atB = descriptor(b.def('r', 'add.u32', stage, tiles.rows * rowBytes), turned.b);
        b.emit('wgmma.fence.sync.aligned');
        const accumulate = b.def('p', 'setp.ne.u32', 1, 0);
        for (let s = 0; s < 4; s++) {
          const [x, y] = [along(atA, s, turned.a), along(atB, s, turned.b)];
          b.emit(
            `wgmma.mma_async.sync.aligned.m64n${tiles.columns}k${depth}.f32.${operands} {${sums.join(', ')}}, ${x}, ${y}, ${accumulate}, ${flags}`,
          );
        }
        b.emit('wgmma.commit_group.sync.aligned');
        // The stage before this one is finished; this one goes on while the next is fetched.
        b.emit('wgmma.wait_group.sync.aligned 1');
      },
      end: () => {
        b.emit('wgmma.wait_group.sync.aligned 0');
      },
      pieces: () => {
        // Warps follow each other in steps of 16 rows, through both warpgroups.
        const row = b.def('r', 'mul.lo.u32', b.def('r', 'shr.u32', tid, 5), pieceRows);
        const fours = Array.from({ length: tiles.columns / 8 }, (_, j) => sums.slice(4 * j, 4 * j + 4));
        return Array.from({ length: tiles.columns / pieceColumns }, (_, i) => ({
          row,
          column: i * pieceColumns,
          sums: fours.slice((i * pieceColumns) / 8, ((i + 1) * pieceColumns) / 8),
        }));
      },
    };
  };
}
