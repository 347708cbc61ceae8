// Compiled functions that are kept for a runtime: making one again takes longer than short work takes on a device. They hold no values.

import type { Runtime } from '../../index.ts';

interface Disposes {
  dispose(): void;
}

const all = new WeakMap<Runtime, Map<string, Disposes>>();

/** Functions that one runtime keeps; those used longest ago go first. */
const most = 32;

/** What was made under this key, or is made now. The key says everything that it depends on. */
export function kept<T extends Disposes>(rt: Runtime, key: string, make: () => T): T {
  const known = all.get(rt) ?? new Map<string, Disposes>();
  all.set(rt, known);
  const found = (known.get(key) as T | undefined) ?? make();
  known.delete(key);
  known.set(key, found);
  if (known.size > most) {
    const [oldest, unused] = known.entries().next().value!;
    known.delete(oldest);
    unused.dispose();
  }
  return found;
}
