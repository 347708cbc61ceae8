// What `tf.memory()` tells of devices: the runtime's books, in TF.js's words.

import type { Runtime } from '../index.ts';

export interface DeviceMemory {
  unreliable: boolean;
  reasons: string[];
  numBytesInGPU: number;
  numBytesInGPUAllocated: number;
  numBytesInGPUFree: number;
}

const mib = 2 ** 20;

/** `waiting`: results that were not computed yet. */
export function memoryOf(rt: Runtime, waiting: number): DeviceMemory {
  const { allocatedMb, reservedMb } = rt.memory.snapshot();
  const [live, reserved] = [allocatedMb * mib, reservedMb * mib];
  const reasons = waiting > 0 ? ['Results that were not computed yet take no memory.'] : [];
  return {
    unreliable: reasons.length > 0,
    reasons,
    numBytesInGPU: live,
    numBytesInGPUAllocated: reserved,
    numBytesInGPUFree: Math.max(0, reserved - live),
  };
}
