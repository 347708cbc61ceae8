// The reference device: the oracle of all tests. Plain arrays, one element at a time, everything at once and in order.

import { type DType, dtypes, isFloat } from '../../base/dtype.ts';
import { bindingsOf } from '../../kernel/bindings.ts';
import { withoutEmptiness } from '../../kernel/empty.ts';
import type { Kernel, Routine } from '../../kernel/kernel.ts';
import { type AluOp, aluOps } from '../../kernel/ops.ts';
import type { Capabilities, Device, DeviceBuffer, DeviceLoss, Mark, Program } from '../device.ts';
import { checkFit, needsOf } from '../fit.ts';
import { evaluate } from './evaluate.ts';

interface HostBuffer extends DeviceBuffer {
  readonly data: Uint8Array;
}

interface ReferenceProgram extends Program {
  /** Without anything empty in it; null if that leaves nothing to write. */
  readonly work: Kernel | Routine | null;
  readonly needs: readonly number[];
  readonly types: readonly DType[];
}

/**
 * Ops whose result is defined to the last bit. Functions that are approximated are left out: they are built from these as on every
 * other device, so that results are the same bits.
 */
const exactOps: ReadonlySet<AluOp> = new Set((Object.keys(aluOps) as AluOp[]).filter((op) => !aluOps[op].approximate));
const floatOps: ReadonlySet<AluOp> = new Set([...exactOps].filter((op) => op !== 'pow'));

const caps: Capabilities = {
  name: 'reference interpreter',
  dtypes: new Set(dtypes),
  native: Object.fromEntries(dtypes.map((t) => [t, isFloat(t) ? floatOps : exactOps])),
  routines: new Set([
    'matmul',
    'products',
    'attention',
    'sort',
    'topk',
    'scan',
    'scatter',
    'compact',
    'rows',
    'fourier',
  ]),
  rows: { bytes: 64 * 1024, columnBytes: 8 * 1024 },
  attention: { f32: 256, f16: 256, bf16: 256 },
  matmulEpilogue: true,
  valueSorts: true,
  maxBuffers: 1024,
  maxBufferBytes: 2 ** 32,
  syncRead: true,
  immortal: true,
  host: true,
  details: {},
};

const doneMark: Mark = { done: () => true, whenDone: () => Promise.resolve(), since: () => null };

export function createReferenceDevice(): Device {
  return {
    id: 'reference',
    caps,
    allocate: (bytes): HostBuffer => ({ bytes, collected: true, data: new Uint8Array(bytes) }),
    release: () => {},
    write: (dst, bytes, offset = 0) => (dst as HostBuffer).data.set(bytes, offset),
    read: async (src, offset = 0, length = src.bytes - offset) =>
      (src as HostBuffer).data.slice(offset, offset + length),
    readSync: (src, offset = 0, length = src.bytes - offset) => (src as HostBuffer).data.slice(offset, offset + length),
    prepare: (work): ReferenceProgram => {
      const { inputs, outputs } = bindingsOf(work);
      const types = [...inputs, ...outputs].map((b) => b.type);
      return { name: work.name, source: '', work: withoutEmptiness(work), needs: needsOf(work), types };
    },
    launch: (program, buffers, scalars) => {
      const { name, work, needs, types } = program as ReferenceProgram;
      checkFit('reference', name, needs, buffers);
      if (!work) return;
      evaluate(
        work,
        buffers.map((b) => (b as HostBuffer).data),
        scalars,
        types,
      );
    },
    mark: () => doneMark,
    memory: () => ({ total: Number.POSITIVE_INFINITY, free: Number.POSITIVE_INFINITY }),
    trim: () => {},
    lost: new Promise<DeviceLoss>(() => {}),
    close: async () => {},
  };
}
