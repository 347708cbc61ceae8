// Lists of host arrays where every device computes when it is called: done before the call returns, but for the promise of it.
//
// There is no launch to save on such a device, but each call costs a few µs: small items are packed, as many as stay in the cache, and
// what is larger is computed item by item, as a loop would. What goes wrong is left to the loop of chunks (list-run.ts), which runs the
// list again and names the item that fails.

import { type DeviceId, type Maybe, type Runtime, Tensor, type TypedArray, turnIfDue } from '../index.ts';
import { fusedOf } from './fused.ts';
import { type ListCall, type ListSettings, MiB, smallBytes } from './list-call.ts';
import type { ArraysCall, ListOp } from './list-op.ts';
import { type BatchResult, reported } from './list-report.ts';
import { groupBy, positions } from './lists.ts';

/** From this size on, operands and result of an item are not packed on the CPU: copying them takes longer than a call. */
const aloneBytes = 16 << 10;
/** What is packed at once there. */
const packedBytes = 256 << 10;

/** The parts of a group that are computed in one go: all of it where there are copies and launches to save. */
export function partsOf(op: ListOp, at: readonly number[], host: boolean): readonly (readonly number[])[] {
  if (!host || at.length === 1) return [at];
  const bytes = op.bytesOf(at[0]!);
  const most = bytes >= aloneBytes ? 1 : Math.floor(packedBytes / Math.max(1, bytes));
  if (most >= at.length) return [at];
  const parts: (readonly number[])[] = [];
  for (let from = 0; from < at.length; from += most) parts.push(at.slice(from, from + most));
  return parts;
}

type RunPart = (part: readonly number[]) => Maybe<TypedArray[]>;

/** One after the other: the next finds the memory of the last one, still warm. What is done at once is not awaited. */
export function each(parts: readonly (readonly number[])[], run: RunPart): Maybe<TypedArray[]> {
  if (parts.length === 1) return run(parts[0]!);
  const made: TypedArray[] = [];
  for (let i = 0; i < parts.length; i++) {
    const one = run(parts[i]!);
    if (one instanceof Promise) return eachLater(one, parts.slice(i + 1), run, made);
    for (const array of one) made.push(array);
  }
  return made;
}

async function eachLater(
  first: Promise<TypedArray[]>,
  parts: readonly (readonly number[])[],
  run: RunPart,
  made: TypedArray[],
): Promise<TypedArray[]> {
  for (const array of await first) made.push(array);
  for (const part of parts) for (const array of await run(part)) made.push(array);
  return made;
}

/** Null if the list is none of these; `again` runs it the other way if this fails. */
export function runOnHost<R>(
  runtime: Runtime,
  op: ListOp,
  settings: ListSettings,
  call: ListCall,
  again: () => Promise<BatchResult<R>>,
): Promise<BatchResult<R>> | null {
  const { first } = op;
  if (first[0] instanceof Tensor || call.out !== 'arrays' || settings.device !== undefined) return null;
  if (first.length > settings.maxBatchSize || !fusedOf(runtime).host || bytesOf(op) > smallBytes) return null;
  const { clock, stats, mbPerItem } = settings;
  const start = clock.now();
  const ran: Ran = { device: null, launches: 0, groups: 0, mostBytes: 0 };
  let made: TypedArray[];
  try {
    made = computeAll(runtime, op, ran);
  } catch {
    return again();
  }
  stats.ranOn(op.name, ran.device);
  const [items, ms] = [first.length, clock.now() - start];
  stats.done(op.name, items, ms);
  const result = reported<R>(made, {
    items,
    groups: ran.groups,
    launches: ran.launches,
    device: ran.device!,
    moved: [],
    ms,
    perItemMs: ms / items,
    retries: 0,
    memory: 'known',
    mbPerItem:
      mbPerItem === undefined ? { mb: ran.mostBytes / MiB, source: 'planned' } : { mb: mbPerItem, source: 'declared' },
  });
  try {
    call.onProgress?.(items, items);
  } catch (error) {
    return Promise.reject(error);
  }
  // Loops of short batches let timers and signals have their turn too.
  return turnIfDue(performance.now())?.then(() => result) ?? Promise.resolve(result);
}

/** What became of the items. */
interface Ran {
  device: DeviceId | null;
  launches: number;
  groups: number;
  mostBytes: number;
}

/** Of operands and results. */
function bytesOf(op: ListOp): number {
  const { length } = op.first;
  if (op.uniform) return length * op.bytesOf(0);
  let sum = 0;
  for (let i = 0; i < length; i++) sum += op.bytesOf(i);
  return sum;
}

function computeAll(runtime: Runtime, op: ListOp, told: Ran): TypedArray[] {
  const { length } = op.first;
  const groups = op.uniform ? [positions(0, length)] : groupBy(length, (i) => op.keyOf(i));
  const ran = (t: Tensor): void => {
    told.device = t.device ?? told.device;
  };
  const call: ArraysCall = { runtime, host: true, run: (body) => body(), ran };
  told.groups = groups.length;
  const made = new Array<TypedArray>(length);
  for (const at of groups) {
    const parts = partsOf(op, at, true);
    told.launches += parts.length;
    told.mostBytes = Math.max(told.mostBytes, op.bytesOf(at[0]!));
    // Everything is done when it is called.
    const arrays = each(parts, (part) => op.arrays(call, part)) as TypedArray[];
    if (groups.length === 1) return arrays;
    for (let k = 0; k < at.length; k++) made[at[k]!] = arrays[k]!;
  }
  return made;
}
