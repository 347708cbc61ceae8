// Tensors that are made one after the other: all of them, or none. What a call made and does not return would lie there until the next
// collection, and a call often fails just because there is no room.

import { Tensor } from '../index.ts';

/** Lets go of tensors; arrays are the collector's. */
export function freeAll(items: Iterable<unknown>): void {
  for (const item of items) if (item instanceof Tensor) item.dispose();
}

/** What `make` gives for each item; if it throws, what it gave before is freed. */
export function allOrNone<T, R>(items: readonly T[], make: (item: T, index: number) => R): R[] {
  const made: R[] = [];
  try {
    for (const [i, item] of items.entries()) made.push(make(item, i));
    return made;
  } catch (error) {
    freeAll(made);
    throw error;
  }
}
