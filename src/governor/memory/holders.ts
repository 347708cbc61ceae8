// Who holds the memory: the largest live tensors, for OutOfMemory messages and reports.

import { formatBytes } from '../../base/format.ts';
import { show } from '../../base/shape.ts';
import type { DeviceId } from '../../devices/device.ts';
import type { Holder } from './view.ts';

/** The `count` largest, largest first; of equal ones the older first. One pass, no sort of the whole. */
export function largestHolders(holders: Iterable<Holder>, count = 5, device?: DeviceId): Holder[] {
  const top: Holder[] = [];
  if (!(count >= 1)) return top;
  for (const h of holders) {
    if (device !== undefined && h.device !== device) continue;
    if (top.length === count && !before(h, top[count - 1]!)) continue;
    let at = top.length;
    while (at > 0 && before(h, top[at - 1]!)) at--;
    top.splice(at, 0, h);
    if (top.length > count) top.pop();
  }
  return top;
}

const before = (a: Holder, b: Holder): boolean => a.bytes > b.bytes || (a.bytes === b.bytes && a.ageMs > b.ageMs);

/** The five largest, at a device or at any, as lines of a message, or '' if nothing is held. */
export function describeHolders(holders: Iterable<Holder>, device?: DeviceId): string {
  const top = largestHolders(holders, 5, device);
  if (top.length === 0) return '';
  const at = (h: Holder): string => (device === undefined ? ` on ${h.device}` : '');
  const lines = top.map((h) => `    ${formatBytes(h.bytes).padStart(9)}${at(h)}  ${describe(h)}`);
  return `  largest holders${device === undefined ? '' : ` on ${device}`}:\n${lines.join('\n')}`;
}

function describe(h: Holder): string {
  const made = h.site === '' ? '' : `, made at ${h.site}`;
  return `${h.dtype} ${show(h.shape)}${made}, ${formatAge(h.ageMs)} old`;
}

function formatAge(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 100) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = seconds / 60;
  return minutes < 100 ? `${minutes.toFixed(0)} min` : `${(minutes / 60).toFixed(1)} h`;
}
