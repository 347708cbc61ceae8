// Large pages under the device's memory, where the system gives them only to those who ask: Linux, by `madvise`, through `koffi`.
//
// A processor remembers where some thousand pages are. Of 4 KiB each they are soon too few for work that jumps through memory, as
// transposes, sorts and lookups do; of 2 MiB they are enough. Without `koffi`, or where the system refuses, everything stays as it is.

interface Koffi {
  load(path: null): { func(prototype: string): (...args: readonly unknown[]) => number };
}

/** From now on, and for what is there already. */
const [forAll, atOnce] = [14, 25];

/** Asks for large pages under all of a memory; does nothing where it cannot. */
export function largePages(require: (name: string) => unknown): (bytes: Uint8Array) => void {
  let advise: ((...args: readonly unknown[]) => number) | null | undefined;
  const find = (): typeof advise => {
    try {
      const koffi = require('koffi') as Koffi;
      return koffi.load(null).func('int madvise(void *address, size_t length, int advice)');
    } catch {
      return null;
    }
  };
  return (bytes) => {
    if (advise === undefined) advise = find();
    if (advise?.(bytes, bytes.byteLength, forAll) === 0) advise(bytes, bytes.byteLength, atOnce);
  };
}
