// Large pages under the device's memory, where the system gives them only to those who ask: Linux, by `madvise`, through `koffi`.
//
// A processor remembers where some thousand pages are. Of 4 KiB each they are soon too few for work that jumps through memory, as
// transposes, sorts and lookups do; of 2 MiB they are enough. Without `koffi`, or where the system refuses, everything stays as it is.

interface Koffi {
  load(path: null): { func(prototype: string): (...args: readonly unknown[]) => number };
}

/** For pages that are touched from now on, and for those that were before. */
const [later, atOnce] = [14, 25];

/** Asks for large pages under all of a memory, of which the first bytes are in use already; does nothing where it cannot. */
export function largePages(require: (name: string) => unknown): (memory: Uint8Array, used: number) => void {
  let advise: ((...args: readonly unknown[]) => number) | null | undefined;
  const find = (): typeof advise => {
    try {
      const koffi = require('koffi') as Koffi;
      return koffi.load(null).func('int madvise(void *address, size_t length, int advice)');
    } catch {
      return null;
    }
  };
  return (memory, used) => {
    const first = advise === undefined;
    if (first) advise = find();
    // What was advised before keeps its pages: only the first time is there anything to put together.
    if (advise?.(memory, memory.byteLength, later) === 0 && first) advise(memory, used, atOnce);
  };
}
