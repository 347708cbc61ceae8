// Where a device's time went: busy, or idle because nothing was enqueued, because of a copy, or for reasons nobody measured.

import type { DeviceTime, KernelCall, Transfer, Wait } from '../file/types.ts';
import { clip, lengthOf, subtract, union } from './intervals.ts';

/** Without the times of more than this share of the kernels, nothing can be said. */
const mostUnmeasured = 0.01;

const busyMs = (k: KernelCall): number | null => k.ms ?? k.passMs;

/** The stretches in which a device worked, sorted and apart; null if that was not measured. */
function busyOf(kernels: readonly KernelCall[]): number[] | null {
  const measured = kernels.filter((k) => busyMs(k) !== null);
  if (measured.length === 0 || kernels.length - measured.length > mostUnmeasured * kernels.length) return null;
  return union(measured.flatMap((k) => [k.start, k.start + busyMs(k)!]));
}

export function deviceTime(
  kernels: readonly KernelCall[],
  transfers: readonly Transfer[],
  waits: readonly Wait[],
  from: number,
  to: number,
): DeviceTime | null {
  const all = busyOf(kernels);
  if (!all || !(to > from)) return null;
  const busy = clip(all, from, to);
  const copies = union(transfers.flatMap((t) => [t.start, t.start + t.ms]));
  const starts = kernels
    .filter((k) => busyMs(k) !== null)
    .sort((a, b) => a.start - b.start)
    .map((k) => ({ start: k.start, enqueued: k.enqueued }));
  const gaps = subtract([from, to], busy);
  const notCopying = subtract(gaps, copies);
  let [host, next, longest, longestAt] = [0, 0, 0, null as number | null];
  for (let i = 0; i < notCopying.length; i += 2) {
    const [begin, end] = [notCopying[i]!, notCopying[i + 1]!];
    while (next < starts.length && starts[next]!.start < end) next++;
    // The kernel that ends the gap was not there before it was enqueued; behind the last one there is nothing.
    const enqueued = next < starts.length ? starts[next]!.enqueued : to;
    const waiting = Math.max(0, Math.min(end, enqueued) - begin);
    host += waiting;
    if (waiting > longest) [longest, longestAt] = [waiting, begin];
  }
  const wall = to - from;
  const [idle, free] = [lengthOf(gaps), lengthOf(notCopying)];
  const line = longestAt === null ? null : lineIn(waits, longestAt, longestAt + longest);
  return {
    busy: lengthOf(busy) / wall,
    idleHost: host / wall,
    idleTransfer: (idle - free) / wall,
    idleUnknown: (free - host) / wall,
    longestGapMs: longest,
    longestGapStart: longestAt,
    longestGapLine: line,
  };
}

/** The line that waited last before or in a gap: the host came from there. */
function lineIn(waits: readonly Wait[], from: number, to: number): string | null {
  const touching = waits.filter((w) => w.line !== '' && w.start <= to && w.start + w.ms >= from - 1);
  return touching.at(-1)?.line ?? null;
}
