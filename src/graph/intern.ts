// Tuples of whole numbers as one object each: equal content is the same object with the same small id.
//
// Shapes and op arguments are interned when they are made, so that comparing two of them, or building a cache key from
// them, never looks at their content again.

export interface Ints {
  readonly id: number;
  readonly values: readonly number[];
  /** Of a shape: its number of elements. */
  readonly product: number;
}

interface Branch {
  ints: Ints | null;
  next: Map<number, Branch> | null;
}

const root: Branch = { ints: null, next: null };
let count = 0;

export function internInts(values: readonly number[]): Ints {
  let at = root;
  for (const v of values) {
    at.next ??= new Map();
    let next = at.next.get(v);
    if (!next) at.next.set(v, (next = { ints: null, next: null }));
    at = next;
  }
  at.ints ??= { id: count++, values: Object.freeze([...values]), product: values.reduce((n, v) => n * v, 1) };
  return at.ints;
}

export const noInts: Ints = internInts([]);
