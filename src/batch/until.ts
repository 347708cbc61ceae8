// Waiting for a device to have done a batch.
//
// What takes a few tens of µs is done before the event loop has turned, and waiting for it by promises takes as long again: so a batch
// is looked at for a short while first. Of many batches that are waited for at once only one is.

import type { DeviceId, Runtime } from '../index.ts';
import type { Clock } from '../profile/clock.ts';
import { endsWithin } from './ends-within.ts';

/** A point on a device's timeline. */
export interface Until {
  done(): boolean;
  whenDone(): Promise<void>;
}

const spinMs = 0.06;
/** Batches that are waited for by promises. */
let waits = 0;

/** Waits for a point. */
export async function reached(until: Until): Promise<void> {
  // Whoever started several batches at once has started the others after this.
  await undefined;
  if (!spun(until)) await told(until);
}

/** Whether a point is reached, or is within a few tens of µs. */
export function spun(until: Until): boolean {
  if (until.done()) return true;
  if (waits > 0) return false;
  for (const end = performance.now() + spinMs; performance.now() < end; ) if (until.done()) return true;
  return false;
}

/** Waits for a point that is some time ahead. */
export async function told(until: Until): Promise<void> {
  waits++;
  try {
    await until.whenDone();
  } finally {
    waits--;
  }
}

/** Whether a device has done all it was told by so many ms. A device that fails is free: whoever uses it next is told. */
export async function isFreeWithin(runtime: Runtime, device: DeviceId, ms: number, clock: Clock): Promise<boolean> {
  try {
    return await endsWithin(ms, told(runtime.device(device).mark(false)), (after, then) => clock.after(after, then));
  } catch {
    return true;
  }
}
