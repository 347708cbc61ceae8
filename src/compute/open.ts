// How the facade opens a runtime: one kind of device at a time, with the policies below switched off where the facade has its own.

import type { DeviceKind } from '../runtime/devices.ts';
import { createRuntime, type RuntimeOptions } from '../runtime/runtime.ts';
import type { OpenRuntime } from './select.ts';

export const gpuKinds: readonly DeviceKind[] = ['cuda', 'webgpu'];

/**
 * Opens one kind of device; beside a GPU the CPU too, for dtypes the GPU lacks and for tensors that are computed again when it
 * is lost. The first device is used. Failures are neither tried again nor moved elsewhere below: the facade has a policy
 * of its own, and attempts would multiply.
 */
export function opener(options: Omit<RuntimeOptions, 'devices'>): OpenRuntime {
  return (kind, only) => {
    const ordinal = only === undefined ? Number.NaN : Number(only.split(':')[1]);
    const cuda = kind === 'cuda' && Number.isInteger(ordinal) ? { cuda: { ...options.cuda, ordinals: [ordinal] } } : {};
    // An emulated GPU would come after the CPU.
    const alone = !gpuKinds.includes(kind) || (kind === 'webgpu' && only !== undefined);
    return createRuntime({
      ...options,
      ...cuda,
      routing: { mode: 'off', ...options.routing },
      recovery: { attempts: 1, fallback: false, ...options.recovery },
      devices: alone ? [kind] : [kind, 'cpu'],
    });
  };
}
