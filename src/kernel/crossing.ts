// Kernels without a reduction that read an operand across: it is contiguous along another axis than the output, as in a transpose.
//
// Read element by element such an operand costs a line of memory for each. So GPUs let a block cover a square of the two axes: it reads
// the operand along its own lines into shared memory, and then computes and stores along the output's. Which kernels are worth that, and
// how large a square is, is said here; the devices' renderers say how.

import type { DType } from '../base/dtype.ts';
import { sizeOf } from '../base/shape.ts';
import { strideAlong } from './bounds.ts';
import type { Load } from './expr.ts';
import type { Kernel } from './kernel.ts';
import { below } from './walk.ts';

export interface Crossing {
  /** The axis along which the operands are contiguous. */
  readonly across: number;
  /** The axis along which the output is. */
  readonly along: number;
  readonly loads: readonly Load[];
  /** Positions of a square's edge. */
  readonly edge: number;
}

/** What a device has for squares. */
export interface SquareRoom {
  /** Bytes of shared memory for those of one block. */
  readonly bytes: number;
  /** Large squares that fill the device. */
  readonly enough: number;
  /** Bytes of an element in shared memory. */
  readonly held: (type: DType) => number;
}

const [small, large] = [32, 64];
/** Below this the kernel is over before its memory accesses matter. */
const worthwhile = 2 ** 16;
/** More code than this for the elements of one thread keeps too many registers. */
const mostOperations = 75;

/** Elements of a line in shared memory: an odd number of words, so that neither way of reading meets the same bank twice. */
export const lineOf = (edge: number, bytes: number): number => edge + Math.max(1, 4 / bytes);
export const squareBytes = (edge: number, bytes: number): number => edge * lineOf(edge, bytes) * bytes;

/** What a kernel reads across, if that is worth a square; null otherwise. */
export function crossingOf(kernel: Kernel, { bytes: room, enough, held }: SquareRoom): Crossing | null {
  if (kernel.accumulators.length > 0 || sizeOf(kernel.space) < worthwhile) return null;
  const along = kernel.space.reduce((last, d, i) => (d === 1 ? last : i), -1);
  if (kernel.space[along]! < small) return null;
  const exprs = [...below(kernel.outputs.map((o) => o.value))];
  const candidates = new Map<number, Load[]>();
  for (const e of exprs) {
    if (e.kind !== 'load' || e.gate !== null) continue;
    const stride = strideAlong(e.index, along);
    if (stride === null || Math.abs(stride) < 2) continue;
    const across = kernel.space.findIndex((d, axis) => d >= small && strideAlong(e.index, axis) === 1);
    if (across >= 0) candidates.set(across, [...(candidates.get(across) ?? []), e]);
  }
  const bytesOf = (loads: readonly Load[]): number => loads.reduce((n, l) => n + held(l.type), 0);
  const best = [...candidates].sort(([, a], [, b]) => bytesOf(b) - bytesOf(a))[0];
  if (!best) return null;
  const [across, loads] = best;
  const fits = (edge: number): boolean => loads.reduce((n, l) => n + squareBytes(edge, held(l.type)), 0) <= room;
  if (!fits(small)) return null;
  // Large squares keep more loads in flight, if there are enough of them for the device.
  const roomy =
    Math.min(kernel.space[along]!, kernel.space[across]!) >= large &&
    sizeOf(kernel.space) / large ** 2 >= enough &&
    fits(large) &&
    exprs.length <= mostOperations;
  return { across, along, loads, edge: roomy ? large : small };
}
