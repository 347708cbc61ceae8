// Loads koffi for a few calls, by the shortest way.
//
// koffi's entry looks for its native module through two packages, reads the headers of Node's own binary and wraps all of it:
// five times the work of loading the module. So the file is looked for where package managers put it and opened by itself.
// Where it lies elsewhere, or is for another C library, koffi itself finds the right one.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Ffi } from './nvml.ts';

export async function loadFfi(): Promise<Ffi> {
  return loadNative() ?? ((await import('koffi')) as unknown as { default: Ffi }).default;
}

/** The native module alone, at once; undefined where it does not lie where it is expected. */
export function loadNative(): Ffi | undefined {
  const name = `${process.platform}-${process.arch}`;
  const inside = path.join('node_modules', '@koromix', `koffi-${name}`, name.replace('-', '_'), 'koffi.node');
  for (const folder of upwards(path.dirname(fileURLToPath(import.meta.url)))) {
    const file = path.join(folder, inside);
    if (!fs.existsSync(file)) continue;
    try {
      const module: { exports: unknown } = { exports: {} };
      process.dlopen(module, file);
      return isFfi(module.exports) ? module.exports : undefined;
    } catch {
      return undefined;
    }
  }
  return undefined;
}

function* upwards(folder: string): Generator<string> {
  for (let at = folder; ; at = path.dirname(at)) {
    yield at;
    if (at === path.dirname(at)) return;
  }
}

function isFfi(value: unknown): value is Ffi {
  return typeof value === 'object' && value !== null && 'load' in value && typeof value.load === 'function';
}
