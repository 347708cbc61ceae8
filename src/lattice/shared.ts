// What lattices of one shape have in common without a mask, on the host. What nobody writes to is made once for all of them; room to work
// in goes from one that is done to the next. Nothing is kept alive for that: memory that is needed elsewhere is collected.

import type { Grid } from './grid.ts';

/** By what it is and the shape: there are few shapes, so what is gone may leave its name here. */
const known = new Map<string, WeakRef<object>>();

/** What was made of a grid of this shape, or is made now. `what` says which of several things it is. */
export function sharedBy<T extends object>(what: string, grid: Grid, make: (grid: Grid) => T): T {
  const key = `${what} ${grid}`;
  const found = known.get(key)?.deref() as T | undefined;
  if (found) return found;
  const made = make(grid);
  known.set(key, new WeakRef(made));
  return made;
}

const spare = new Map<string, WeakRef<object>[]>();
/** Of one kind and shape: more are seldom used at a time. */
const mostSpare = 32;

/** Room that a lattice of this shape is done with; it is as that one left it. */
export function takeSpare<T extends object>(what: string, grid: Grid): T | undefined {
  const list = spare.get(`${what} ${grid}`);
  while (list && list.length > 0) {
    const found = list.pop()!.deref();
    if (found) return found as T;
  }
  return undefined;
}

/** Nobody else may use it from now on. */
export function giveSpare(what: string, grid: Grid, room: object): void {
  const key = `${what} ${grid}`;
  let list = spare.get(key);
  if (!list) spare.set(key, (list = []));
  if (list.length === mostSpare) list.shift();
  list.push(new WeakRef(room));
}
