// What is known of a GPU before it is opened, and what follows from it.

import { type DType, dtypes } from '../../base/dtype.ts';
import type { AluOp } from '../../kernel/ops.ts';
import type { Capabilities } from '../device.ts';
import { VirtualArena } from './arena.ts';
import type { Driver } from './driver.ts';
import { ExactArena } from './exact.ts';
import { coarseOps, nativeOps } from './ptx/alu.ts';
import type { Target } from './ptx/target.ts';
import { attentionHeads } from './routines/attention/index.ts';
import type { Libraries } from './routines/index.ts';
import { SegmentArena } from './segments.ts';
import type { Arena } from './split-arena.ts';
import { virtualMemory } from './virtual.ts';

export interface CudaDeviceInfo {
  readonly id: string;
  readonly ordinal: number;
  readonly context: number;
  readonly name: string;
  readonly target: Target;
  readonly totalBytes: number;
  /** Other GPUs of this process that reach this one's memory directly. */
  readonly peers: readonly number[];
  /** False: every buffer is an allocation of its own, for memory checkers. */
  readonly pooled: boolean;
  readonly details: Readonly<Record<string, string | number | boolean>>;
}

export function capabilities(info: CudaDeviceInfo, libraries: Libraries): Capabilities {
  const native: Partial<Record<DType, ReadonlySet<AluOp>>> = {};
  for (const t of dtypes) native[t] = nativeOps(t, info.target);
  return {
    name: info.name,
    dtypes: new Set(dtypes),
    native,
    coarse: coarseOps,
    routines: new Set(['matmul', 'products', 'attention', 'sort', 'topk', 'scan', 'scatter', 'rows', 'fourier', 'raw']),
    // A block of threads holds a row in registers; where rows lie side by side, a warp does.
    rows: { bytes: 208 * 1024, columnBytes: 8 * 1024 },
    attention: attentionHeads(info.target),
    raw: 'ptx',
    matmulEpilogue: true,
    maxBuffers: 128,
    maxBufferBytes: info.totalBytes,
    syncRead: true,
    details: { ...info.details, cublas: libraries.cublasLt !== null ? 'if installed' : 'off' },
  };
}

/** Virtual memory where the driver has it, else segments; no pool for memory checkers. */
export function openArena(driver: Driver, info: CudaDeviceInfo): Arena {
  const settle = (): void => driver.check(driver.call.cuCtxSynchronize(), 'giving memory back');
  const allocate = (bytes: number): number =>
    driver.call.cuMemAlloc_v2(driver.outAddress, bytes) === 0 ? driver.u64() : 0;
  const free = (address: number): void => {
    driver.call.cuMemFree_v2(address);
  };
  if (!info.pooled) return new ExactArena({ allocate, free });
  const memory = virtualMemory(driver, info.ordinal, info.peers);
  const arena = memory && VirtualArena.open(memory, { total: info.totalBytes, settle });
  return arena ?? new SegmentArena({ allocate, free }, settle);
}
