// Turns in parts: which results of the first calls the rest of a turn needs.

import { multiplies } from './evaluate.ts';
import type { Step } from './steps.ts';

/** Products after which a device that works beside the host is given what it can compute: the rest is put together meanwhile. */
const beginAfter = 9;

/** The values that steps make. */
function madeBy(steps: readonly Step[]): Set<number> {
  const made = new Set<number>();
  for (const { results } of steps) for (const r of results) if (r.of === null) made.add(r.value);
  return made;
}

/** The values that steps read; constants are none. */
function readBy(steps: readonly Step[]): Set<number> {
  const read = new Set<number>();
  for (const { inputs } of steps)
    for (const given of Object.values(inputs)) if (given.constant === null) read.add(given.value);
  return read;
}

/** What the first `count` steps make for the others, for whoever holds it at the end, and for one who reads it now. */
export function neededAfter(
  steps: readonly Step[],
  count: number,
  wanted: readonly number[],
  reads: number | null,
): number[] {
  const later = readBy(steps.slice(count));
  const held = new Set(wanted);
  return [...madeBy(steps.slice(0, count))].filter((n) => later.has(n) || held.has(n) || n === reads);
}

/** Whether steps need nothing but what is there, and make what is wanted. */
export function isWhole(steps: readonly Step[], there: readonly number[], wanted: readonly number[]): boolean {
  const made = madeBy(steps);
  const known = new Set([...there, ...made]);
  return wanted.every((n) => made.has(n)) && [...readBy(steps)].every((n) => known.has(n));
}

/** From the next time on a turn of many products is computed in parts. */
export function beginEarlier(steps: readonly Step[], wanted: readonly number[]): void {
  const products = steps.flatMap(({ kernel }, i) => (multiplies(kernel) ? [i] : []));
  for (let k = beginAfter; k + beginAfter / 2 < products.length; k += beginAfter) {
    const at = products[k]!;
    steps[at - 1]!.needed ??= { read: null, values: neededAfter(steps, at, wanted, null) };
  }
}
