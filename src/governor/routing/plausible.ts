// What measurements cannot be, whatever the clock said: a busy machine disturbs a calibration of half a second.

import type { Device, DeviceId } from '../../devices/device.ts';
import { at, type Curve } from './curve.ts';
import type { Profile } from './profile.ts';
import type { KernelClass } from './types.ts';

/** Bytes per µs that no host and no GPU of today reaches: 80 GB/s and 12 TB/s. */
const bandwidthRoof = { host: 80_000, gpu: 12_000_000 } as const;

/** The least µs in which a device could pass over so many bytes. */
export const leastTime = (host: boolean, bytes: number): number =>
  bytes / (host ? bandwidthRoof.host : bandwidthRoof.gpu);

/** A launch of next to nothing on the host takes a few µs; more means that something else had the processor. */
const slowestHostLaunch = 60;

/** Whether a profile shows that something disturbed its measurement: good enough for now, not worth keeping. */
export const disturbed = (p: Profile): boolean => p.host && p.launchUs > slowestHostLaunch;

/** A GPU emulated on the host's processor is never faster than the host itself: where it seems to be, the host was disturbed. */
export function levelled(
  profiles: ReadonlyMap<DeviceId, Profile>,
  devices: readonly Device[],
): ReadonlyMap<DeviceId, Profile> {
  const host = [...profiles.values()].find((p) => p.host);
  const software = new Set(devices.filter((d) => d.caps.details.software === true).map((d) => d.id));
  if (!host || software.size === 0) return profiles;
  return new Map([...profiles].map(([id, p]) => [id, software.has(id) ? notFaster(p, host) : p] as const));
}

function notFaster(p: Profile, host: Profile): Profile {
  const classes = Object.fromEntries(
    Object.entries(p.classes).map(([cls, curve]): [string, Curve] => {
      const other = host.classes[cls as KernelClass];
      return [cls, other ? { x: curve.x, y: curve.y.map((y, i) => Math.max(y, at(other, curve.x[i]!))) } : curve];
    }),
  );
  return { ...p, classes, launchUs: Math.max(p.launchUs, host.launchUs) };
}
