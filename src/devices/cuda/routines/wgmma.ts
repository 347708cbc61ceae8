// The tensor-core instructions of Hopper: each warpgroup (four warps) multiplies 64 rows of A with all columns of the tile,
// reading both operands from shared memory through descriptors, asynchronously.
//
// A descriptor names an address, the distance of groups of eight rows (1024 bytes) and the 128-byte swizzle; stepping 32 bytes
// along the depth moves the address, the swizzle follows from the address bits.

import type { DType } from '../../../base/dtype.ts';
import type { Matmul } from '../../../kernel/kernel.ts';
import type { Target } from '../ptx/target.ts';
import { type MakeCore, rowBytes, type TensorTiles } from './tensor-core.ts';

const stages = 4;

const types: Readonly<
  Partial<Record<DType, { readonly depth: number; readonly operands: string; readonly flags: string }>>
> = {
  f16: { depth: 16, operands: 'f16.f16', flags: '1, 1, 0, 0' },
  bf16: { depth: 16, operands: 'bf16.bf16', flags: '1, 1, 0, 0' },
  f32: { depth: 8, operands: 'tf32.tf32', flags: '1, 1' },
};

export function wgmmaTiles(r: Matmul, target: Target): TensorTiles {
  const wide = Math.ceil(r.m / 128) * Math.ceil(r.n / 256) * r.batch >= target.processors;
  // A stage is overwritten two rounds after it was multiplied: every warpgroup has finished it by then.
  return { rows: 128, columns: wide ? 256 : 128, threads: 256, stages, ahead: stages - 2 };
}

export function wgmmaCore(r: Matmul, target: Target): MakeCore {
  return (kit, type, _base, tid) => {
    const { b } = kit;
    const tiles = wgmmaTiles(r, target);
    const { operands, depth, flags } = types[type]!;
    const warpgroup = b.def('r', 'shr.u32', tid, 7);
    const sums = Array.from({ length: tiles.columns / 2 }, () => b.def('f', 'mov.f32', '0f00000000'));
    const offsetA = b.def('r', 'mul.lo.u32', warpgroup, 64 * rowBytes);
    // Swizzle 128 bytes; 1024 bytes between groups of eight rows; the other distance is not used in this layout.
    const fixed = `0x${((1n << 62n) | (64n << 32n) | (1n << 16n)).toString(16)}`;
    const descriptor = (address: string): string => {
      const bits = b.def('r', 'bfe.u32', address, 4, 14);
      return b.def('d', 'or.b64', kit.wide(bits), fixed);
    };
    return {
      tiles,
      begin: () => {},
      multiply: (stage) => {
        const atA = descriptor(b.def('r', 'add.u32', stage, offsetA));
        const atB = descriptor(b.def('r', 'add.u32', stage, tiles.rows * rowBytes));
        b.emit('wgmma.fence.sync.aligned');
        const accumulate = b.def('p', 'setp.ne.u32', 1, 0);
        for (let s = 0; s < 4; s++) {
          const [x, y] = s === 0 ? [atA, atB] : [b.def('d', 'add.u64', atA, 2 * s), b.def('d', 'add.u64', atB, 2 * s)];
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
      results: (store) => {
        const laneId = b.def('r', 'and.b32', tid, 31);
        const warp = b.def('r', 'shr.u32', tid, 5);
        // Warps follow each other in steps of 16 rows, through both warpgroups.
        const row = b.def('r', 'mad.lo.u32', warp, 16, b.def('r', 'shr.u32', laneId, 2));
        const lower = b.def('r', 'add.u32', row, 8);
        const column0 = b.def('r', 'shl.b32', b.def('r', 'and.b32', laneId, 3), 1);
        for (let j = 0; j < tiles.columns / 8; j++) {
          const column = b.def('r', 'add.u32', column0, 8 * j);
          store(row, column, sums[4 * j]!, sums[4 * j + 1]!);
          store(lower, column, sums[4 * j + 2]!, sums[4 * j + 3]!);
        }
      },
    };
  };
}
