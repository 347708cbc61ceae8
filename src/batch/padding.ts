// Padding: arrays of nearly equal length as one group, filled up with zeros to the length of the longest.
//
// More items share a copy and a launch, for bytes that are copied and computed for nothing. How many of those there may be, of all bytes
// of a group, is the caller's word; zeros are neutral to every operation on lists, and never part of a result.

import { badOption } from './failures.ts';

/** The share of a group that may be padding: a number, or the same in words. */
export type Padding = number | `waste ≤ ${number}`;

/** The share as a number; throws unless it is from 0 to below 1. */
export function wasteOf(where: string, pad: Padding): number {
  const share = typeof pad === 'string' ? Number(/^waste ≤ ([\d.]+)$/.exec(pad)?.[1] ?? Number.NaN) : pad;
  if (typeof share === 'number' && share >= 0 && share < 1) return share;
  throw badOption(where, 'pad', pad, "a share from 0 to below 1, or 'waste ≤ 0.25'");
}

/**
 * The length that each of these lengths is filled up to. Longest first: a length joins the group of the longer ones as long as the
 * padding of the whole group stays within its share.
 */
export function paddedLengths(lengths: readonly number[], waste: number): number[] {
  const counts = new Map<number, number>();
  for (const n of lengths) counts.set(n, (counts.get(n) ?? 0) + 1);
  const target = new Map<number, number>();
  let [longest, items, elements] = [-1, 0, 0];
  for (const length of [...counts.keys()].sort((a, b) => b - a)) {
    const count = counts.get(length)!;
    const room = longest * (items + count);
    const fits = longest >= 0 && length > 0 && room - (elements + length * count) <= waste * room;
    if (!fits) [longest, items, elements] = [length, 0, 0];
    items += count;
    elements += length * count;
    target.set(length, longest);
  }
  return lengths.map((n) => target.get(n)!);
}
