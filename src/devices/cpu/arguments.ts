// The argument block of a launch: pointers of the buffers, scratch, scalars, as render/module.ts lays them out.
//
// Small buffers are copied into the staging area before the launch and out of it afterwards; one that is bound twice has
// one copy. Launches run one at a time, so one block and one staging area serve them all.

import { byteSize, type DType } from '../../base/dtype.ts';
import { castValue } from '../../kernel/semantics.ts';
import type { CpuBuffer } from './buffer.ts';
import type { CpuMemory } from './memory.ts';
import type { Views } from './views.ts';

/** Buffers that one launch can bind. */
export const maxBuffers = 64;

/** Writes the pointers of buffers that are all in the memory, with those of scratch and table behind them; false if one is not. */
export function point(memory: CpuMemory, buffers: readonly CpuBuffer[], scratch: number, table: number): boolean {
  const { u32 } = memory.views;
  const at = memory.args >>> 2;
  for (let i = 0; i < buffers.length; i++) {
    const b = buffers[i]!;
    if (b.small !== null) return false;
    u32[at + i] = b.address;
  }
  u32[at + buffers.length] = scratch;
  if (table > 0) u32[at + buffers.length + 1] = table;
  return true;
}

/** A pointer for each buffer; the first `inputs` of them are copied in where they are small. */
export function stage(memory: CpuMemory, buffers: readonly CpuBuffer[], inputs: number, pointers: number[]): void {
  let next = memory.staging;
  const { views } = memory;
  for (let i = 0; i < buffers.length; i++) {
    const b = buffers[i]!;
    if (!b.small) {
      pointers[i] = b.address;
      continue;
    }
    const earlier = i === 0 ? 0 : buffers.indexOf(b);
    if (earlier < i) {
      pointers[i] = pointers[earlier]!;
      continue;
    }
    pointers[i] = next;
    if (i < inputs) copy(b.small, b.address, views, next, b.bytes);
    next += (b.bytes + 63) & ~63;
  }
}

/** Brings small outputs back. */
export function unstage(memory: CpuMemory, buffers: readonly CpuBuffer[], inputs: number, pointers: number[]): void {
  const { views } = memory;
  for (let i = inputs; i < buffers.length; i++) {
    const b = buffers[i]!;
    if (b.small) copy(views, pointers[i]!, b.small, b.address, b.bytes);
  }
}

/** Bytes up to which a loop over words is faster than a call that copies. */
const loopBytes = 512;

/** Both addresses are multiples of 8, and so are the stretches that belong to them: the last word may be copied whole. */
function copy(from: Views, at: number, to: Views, into: number, bytes: number): void {
  if (bytes > loopBytes) {
    to.u8.set(from.u8.subarray(at, at + bytes), into);
    return;
  }
  const [source, target] = [from.i32, to.i32];
  const words = (bytes + 3) >>> 2;
  const [first, base] = [at >>> 2, into >>> 2];
  for (let i = 0; i < words; i++) target[base + i] = source[first + i]!;
}

export function writePointers(
  memory: CpuMemory,
  pointers: readonly number[],
  count: number,
  scratch: number,
  table = 0,
): void {
  const { u32 } = memory.views;
  const at = memory.args >>> 2;
  for (let i = 0; i < count; i++) u32[at + i] = pointers[i]!;
  u32[at + count] = scratch;
  if (table > 0) u32[at + count + 1] = table;
}

const scalarWriters: Readonly<Record<DType, (m: CpuMemory, at: number, v: number | bigint) => void>> = {
  bool: (m, at, v) => (m.views.i32[at >>> 2] = Number(v)),
  u8: (m, at, v) => (m.views.i32[at >>> 2] = Number(v)),
  i32: (m, at, v) => (m.views.i32[at >>> 2] = Number(v)),
  u32: (m, at, v) => (m.views.u32[at >>> 2] = Number(v)),
  i64: (m, at, v) => (m.views.i64[at / 8] = BigInt(v)),
  u64: (m, at, v) => (m.views.u64[at / 8] = BigInt(v)),
  f16: (m, at, v) => (m.views.f32[at >>> 2] = Number(v)),
  bf16: (m, at, v) => (m.views.f32[at >>> 2] = Number(v)),
  f32: (m, at, v) => (m.views.f32[at >>> 2] = Number(v)),
  f64: (m, at, v) => (m.views.f64[at / 8] = Number(v)),
};

/** `offset` is from the start of the block. */
export function writeScalars(
  memory: CpuMemory,
  offset: number,
  types: readonly DType[],
  values: readonly number[],
): void {
  const { f32 } = memory.views;
  const at = (memory.args + offset) >>> 2;
  for (let i = 0; i < types.length; i++) {
    const type = types[i]!;
    // The most common by far, and stored as what it is rounded to.
    if (type === 'f32') f32[at + 2 * i] = values[i]!;
    else scalarWriters[type](memory, memory.args + offset + 8 * i, castValue(values[i]!, 'f64', type));
  }
}

/** Whether an output shares its memory with an input. */
export function overlaps(buffers: readonly CpuBuffer[], inputs: number): boolean {
  for (let i = inputs; i < buffers.length; i++) {
    const b = buffers[i]!;
    for (let k = 0; k < inputs; k++) if (buffers[k] === b) return true;
  }
  return false;
}

export const bytesOf = (type: DType, elements: number): number => byteSize(type) * elements;
