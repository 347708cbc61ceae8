// Profiles and learned corrections kept between runs, for each device by everything that decides its speed.
//
// On a disk where there is one (disk-store.ts). Where there is none (browsers) or it cannot be used, what was measured lives in
// memory for as long as the process. A failing disk only means measuring again, never an error.

import { isDenied, isNode } from '../../base/platform.ts';
import { version } from '../../base/version.ts';
import type { Device, DeviceId } from '../../devices/device.ts';
import type { Learned } from './model.ts';
import type { Profile } from './profile.ts';

/** Raised when what is measured, or how it is stored, changes its meaning. */
export const schema = 4;

export interface Known {
  readonly profile: Profile;
  readonly learned: Learned | null;
  /** When it was measured, ms since 1970. */
  readonly measuredAt: number;
}

export interface ProfileStore {
  /** Where it keeps things; null in memory. */
  readonly folder: string | null;
  load(device: Device): Known | null;
  save(device: Device, known: Known): void;
  /** Forgets all devices; returns how many files that were. */
  clear(): number;
}

/** Everything about a device that decides its speed. Details that are computed when asked for are left out. */
export function fingerprintOf(device: Device, host: string): string {
  const details = Object.entries(Object.getOwnPropertyDescriptors(device.caps.details))
    .filter(([, d]) => d.get === undefined)
    .map(([name, d]) => `${name}=${d.value}`)
    .sort();
  return [`schema ${schema}`, version, host, device.id, device.caps.name, ...details].join('\n');
}

/** `cache`: a folder, null for the user's, false for memory only. */
export async function openProfileStore(cache: string | false | null): Promise<ProfileStore> {
  if (cache === false || !isNode()) return new MemoryStore();
  const { openDisk } = await import('./disk-store.ts');
  try {
    return await openDisk(cache);
  } catch (e) {
    // A disk that may not be used is as good as none.
    if (!isDenied(e)) throw e;
    return new MemoryStore();
  }
}

const shared = new Map<string, Known>();

class MemoryStore implements ProfileStore {
  readonly folder = null;

  load(device: Device): Known | null {
    return shared.get(fingerprintOf(device, '')) ?? null;
  }

  save(device: Device, known: Known): void {
    shared.set(fingerprintOf(device, ''), known);
  }

  clear(): number {
    const { size } = shared;
    shared.clear();
    return size;
  }
}

/** Profiles and learned corrections of devices, as far as they are known. */
export function loadAll(
  store: ProfileStore,
  devices: readonly Device[],
): { readonly known: Map<DeviceId, Known>; readonly unknown: Device[] } {
  const known = new Map<DeviceId, Known>();
  const unknown: Device[] = [];
  for (const device of devices) {
    const found = store.load(device);
    if (found) known.set(device.id, found);
    else unknown.push(device);
  }
  return { known, unknown };
}
