// What a device with injected faults throws.

import type { DeviceId } from '../../devices/device.ts';
import { ArgumentError, DisposedError, type ForgeError, KernelError, OutOfMemory } from '../../errors.ts';
import { TransientError } from './errors.ts';
import type { FaultKind, FaultSite } from './fault-plan.ts';

type Injected = Exclude<FaultKind, 'lost' | 'hang'>;

export const injectedError: Readonly<
  Record<Injected, (id: DeviceId, site: FaultSite, bytes: number, name: string) => ForgeError>
> = {
  'out-of-memory': (id, site, bytes, name) =>
    new OutOfMemory({
      code: 'OUT_OF_MEMORY',
      message: `${id}: no room for ${bytes} bytes (${site}, injected)`,
      fix: 'Injected by withFaults.',
      where: name,
      requested: bytes,
      available: 0,
    }),
  kernel: (id, site, _, name) =>
    new KernelError({
      code: 'INJECTED',
      message: `${id}: ${name} failed (${site}, injected)`,
      fix: 'Injected by withFaults.',
      where: name,
      source: '',
    }),
  transient: (id, site, _, name) =>
    new TransientError({
      code: 'INJECTED',
      message: `${id}: ${name} failed for a moment (${site}, injected)`,
      fix: 'Injected by withFaults.',
      where: name,
    }),
};

export function closedError(id: DeviceId, where: string): DisposedError {
  return new DisposedError({
    code: 'DEVICE_CLOSED',
    message: `${id}: ${where} after close()`,
    fix: 'Open the device again, or close it later.',
    where,
  });
}

export function releasedError(id: DeviceId, where: string, bytes: number): DisposedError {
  return new DisposedError({
    code: 'BUFFER_RELEASED',
    message: `${where}: a buffer of ${bytes} bytes was released (${id})`,
    fix: 'Release a buffer only after its last use.',
    where,
  });
}

export function foreign(id: DeviceId, where: string, what: 'buffer' | 'program'): ArgumentError {
  return new ArgumentError({
    code: 'FOREIGN_OBJECT',
    message: `${where}: a ${what} of another device, or of an earlier life of ${id}, was used on it`,
    fix: 'Use buffers and programs only with the device that made them; after a loss, make them anew.',
    where,
  });
}
