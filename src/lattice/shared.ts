// What all lattices of one shape have in common without a mask, on the host: made once, and there for as long as somebody holds it or
// memory is not needed. Nobody writes to it.

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
