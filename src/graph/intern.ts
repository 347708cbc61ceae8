// Tuples of whole numbers as one object each: equal content is the same object with the same small id.
//
// Shapes and op arguments are interned when they are made, so that comparing two of them, or building a cache key from
// them, never looks at their content again.

export interface Ints {
  readonly id: number;
  readonly values: readonly number[];
  /** The same for loops within the library: nobody outside may see it, as it is not frozen. Engines do not compile reads of frozen arrays. */
  readonly quick: readonly number[];
  /** Of a shape: its number of elements. */
  readonly product: number;
}

interface Branch {
  ints: Ints | null;
  next: Map<number, Branch> | null;
}

/** Tuples kept: those used last, and at most as many again. One that was forgotten gets another id when it comes back. */
const most = 1 << 15;
let young: Branch = { ints: null, next: null };
let old: Branch = { ints: null, next: null };
let held = 0;
let count = 0;

/** The empty tuple is always the same: values of rank 0 are told by it. */
export const noInts: Ints = { id: count++, values: Object.freeze([]), quick: [], product: 1 };

/**
 * Two tuples of equal content are the same object unless tens of thousands of others were made in between. So identity is a
 * fast way to see that they are equal, and never the only one.
 */
export function internInts(values: readonly number[]): Ints {
  if (values.length === 0) return noInts;
  let at = young;
  for (let i = 0; i < values.length; i++) {
    at.next ??= new Map();
    let next = at.next.get(values[i]!);
    if (!next) at.next.set(values[i]!, (next = { ints: null, next: null }));
    at = next;
  }
  if (at.ints) return at.ints;
  const ints = recall(values) ?? {
    id: count++,
    values: Object.freeze([...values]),
    quick: [...values],
    product: values.reduce((n, v) => n * v, 1),
  };
  at.ints = ints;
  if (++held >= most) {
    old = young;
    young = { ints: null, next: null };
    held = 0;
  }
  return ints;
}

/** A tuple that was not used for a while. */
function recall(values: readonly number[]): Ints | null {
  let at: Branch | undefined = old;
  for (let i = 0; at && i < values.length; i++) at = at.next?.get(values[i]!);
  return at?.ints ?? null;
}
