// Loads koffi for a few calls, by the shortest way.
//
// koffi's entry wraps the native module of the platform in deprecation warnings, and loading that wrapper takes as long as NVML
// needs to start. The native package has the same functions, so it is asked first, from koffi's own place (package managers that
// keep dependencies apart find it only from there). Whatever is unexpected falls back to koffi itself.

import type { Ffi } from './nvml.ts';

export async function loadFfi(): Promise<Ffi> {
  return (await loadNative()) ?? ((await import('koffi')) as unknown as { default: Ffi }).default;
}

async function loadNative(): Promise<Ffi | undefined> {
  const { createRequire } = await import('node:module');
  try {
    const own = createRequire(import.meta.url);
    const fromKoffi = createRequire(own.resolve('koffi'));
    const native: unknown = fromKoffi(`@koromix/koffi-${process.platform}-${process.arch}`);
    return isFfi(native) ? native : undefined;
  } catch {
    return undefined;
  }
}

function isFfi(value: unknown): value is Ffi {
  return typeof value === 'object' && value !== null && 'load' in value && typeof value.load === 'function';
}
