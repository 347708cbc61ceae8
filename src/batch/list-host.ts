// Lists of host arrays where every device computes when it is called: done before the call returns, but for the promise of it.
//
// There is no launch to save on such a device, but each call costs a few µs: small items are packed, as many as stay in the cache, and
// what is larger is computed item by item, as a loop would. What goes wrong is left to the loop of chunks (list-run.ts), which runs the
// list again and names the item that fails.

import { type DeviceId, type Maybe, type Runtime, Tensor, type TypedArray } from '../index.ts';
import { fusedOf } from './fused.ts';
import { type ListCall, type ListSettings, mostAtOnce, smallBytes } from './list-call.ts';
import type { ArraysCall, ListOp } from './list-op.ts';
import { fitsAtOnce } from './list-plan.ts';
import { afterTelling, type BatchResult, inTurn, itemSize, reported } from './list-report.ts';
import { groupBy, positions } from './lists.ts';

/** From this size on, operands and result of an item are not packed on the CPU: copying them takes longer than a call. */
const aloneBytes = 16 << 10;
/** Nor are so few items: packing and unpacking takes as long as two calls. */
const fewest = 3;
/** What is packed at once there. */
const packedBytes = 256 << 10;

/** How many items of a group are computed in one go: all of them where there are copies and launches to save. */
function togetherOf(op: ListOp, at: readonly number[], host: boolean): number {
  if (!host) return at.length;
  const bytes = op.bytesOf(at[0]!);
  if (bytes >= aloneBytes || at.length < fewest) return 1;
  return Math.min(at.length, Math.floor(packedBytes / Math.max(1, bytes)));
}

/**
 * The items of a group, in as many parts as it takes. One after the other: the next finds the memory of the last one, still warm. What is
 * done at once is not awaited.
 */
export function computeGroup(
  op: ListOp,
  call: ArraysCall,
  at: readonly number[],
  host: boolean,
): { readonly parts: number; readonly arrays: Maybe<TypedArray[]> } {
  const most = togetherOf(op, at, host);
  const parts = Math.ceil(at.length / most);
  if (most === 1 && call.host) return { parts, arrays: call.run(() => eachAlone(op, call, at)) };
  if (parts === 1) return { parts, arrays: op.arrays(call, at) };
  const made: TypedArray[] = [];
  for (let from = 0; from < at.length; from += most) {
    const one = op.arrays(call, at.slice(from, from + most));
    if (one instanceof Promise) return { parts, arrays: eachLater(op, call, at, most, from + most, one, made) };
    for (const array of one) made.push(array);
  }
  return { parts, arrays: made };
}

function eachAlone(op: ListOp, call: ArraysCall, at: readonly number[]): TypedArray[] {
  const made = new Array<TypedArray>(at.length);
  for (let k = 0; k < at.length; k++) made[k] = op.alone(call, at[k]!);
  return made;
}

async function eachLater(
  op: ListOp,
  call: ArraysCall,
  at: readonly number[],
  most: number,
  next: number,
  first: Promise<TypedArray[]>,
  made: TypedArray[],
): Promise<TypedArray[]> {
  for (const array of await first) made.push(array);
  for (let from = next; from < at.length; from += most)
    for (const array of await op.arrays(call, at.slice(from, from + most))) made.push(array);
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
  if (first.length > Math.min(settings.maxBatchSize, mostAtOnce) || !fusedOf(runtime).host) return null;
  if (op.uniform ? !fitsAtOnce(runtime, op, settings) : bytesOf(op) > smallBytes) return null;
  const { clock, stats, mbPerItem } = settings;
  const start = clock.now();
  const ran = new HostCall(runtime);
  let made: TypedArray[];
  try {
    made = computeAll(op, ran);
  } catch {
    return again();
  }
  const now = clock.now();
  const [items, ms] = [first.length, now - start];
  stats.done(op.name, items, ms, ran.device);
  const result = reported<R>(made, {
    items,
    groups: ran.groups,
    launches: ran.launches,
    device: ran.device!,
    moved: none,
    ms,
    perItemMs: ms / items,
    retries: 0,
    memory: 'known',
    mbPerItem: itemSize(mbPerItem, ran.mostBytes),
  });
  const { onProgress, signal } = call;
  if (!onProgress) return inTurn(clock, now, result);
  const telling = { where: op.name, signal, tell: () => onProgress(items, items), free: () => {} };
  return afterTelling(telling, clock, now, result);
}

const none: readonly never[] = [];

/** One call, and what became of its items. */
class HostCall implements ArraysCall {
  readonly runtime: Runtime;
  readonly host = true;
  device: DeviceId | null = null;
  launches = 0;
  groups = 0;
  mostBytes = 0;

  constructor(runtime: Runtime) {
    this.runtime = runtime;
  }

  run<T>(body: () => T): T {
    return body();
  }

  ran(result: Tensor): void {
    this.device = result.device ?? this.device;
  }
}

/** Of operands and results. */
function bytesOf(op: ListOp): number {
  const { length } = op.first;
  let sum = 0;
  for (let i = 0; i < length; i++) sum += op.bytesOf(i);
  return sum;
}

function computeAll(op: ListOp, call: HostCall): TypedArray[] {
  const { length } = op.first;
  const groups = op.uniform ? [positions(0, length)] : groupBy(length, (i) => op.keyOf(i));
  call.groups = groups.length;
  const made = new Array<TypedArray>(length);
  for (const at of groups) {
    const { parts, arrays } = computeGroup(op, call, at, true);
    call.launches += parts;
    call.mostBytes = Math.max(call.mostBytes, op.bytesOf(at[0]!));
    // Everything is done when it is called.
    if (groups.length === 1) return arrays as TypedArray[];
    for (let k = 0; k < at.length; k++) made[at[k]!] = (arrays as TypedArray[])[k]!;
  }
  return made;
}
