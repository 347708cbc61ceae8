// A profile as the rules look at it: calls by operation, and what belongs to each call.

import { isHost } from '../analyse/entry-times.ts';
import { lengthOf, subtract, union } from '../analyse/intervals.ts';
import type { Entry, KernelCall, ProfiledDevice, ProfileFile, Route, Wait } from '../file/types.ts';

export interface Call {
  readonly entry: Entry;
  readonly kernels: readonly KernelCall[];
  readonly waits: readonly Wait[];
  readonly routes: readonly Route[];
}

export class Facts {
  readonly profile: ProfileFile;
  /** Calls of each operation, in order. */
  readonly operations: ReadonlyMap<string, readonly Call[]>;

  constructor(profile: ProfileFile) {
    this.profile = profile;
    const [kernels, waits, routes] = [
      byEntry(profile.kernels),
      byEntry(profile.waits),
      byEntry(profile.routes),
    ] as const;
    const found = new Map<string, Call[]>();
    for (const entry of profile.entries) {
      const call: Call = {
        entry,
        kernels: kernels.get(entry.id) ?? [],
        waits: waits.get(entry.id) ?? [],
        routes: routes.get(entry.id) ?? [],
      };
      const list = found.get(entry.operation);
      if (list) list.push(call);
      else found.set(entry.operation, [call]);
    }
    this.operations = found;
  }

  get gpus(): readonly ProfiledDevice[] {
    return this.profile.machine.devices.filter((d) => !isHost(d.id));
  }

  /** Time in which copies ran and no device worked; null if the devices' times are not known. */
  get copyMs(): number | null {
    const { kernels, transfers } = this.profile;
    if (kernels.some((k) => k.ms === null && k.passMs === null)) return null;
    const busy = union(kernels.flatMap((k) => [k.start, k.start + (k.ms ?? k.passMs ?? 0)]));
    return lengthOf(subtract(union(transfers.flatMap((t) => [t.start, t.start + t.ms])), busy));
  }
}

function byEntry<T extends { readonly entry: number | null }>(list: readonly T[]): Map<number, T[]> {
  const found = new Map<number, T[]>();
  for (const item of list) {
    if (item.entry === null) continue;
    const known = found.get(item.entry);
    if (known) known.push(item);
    else found.set(item.entry, [item]);
  }
  return found;
}

export const onHost = (device: string | null): boolean => device?.split('+').every(isHost) ?? false;
export const onGpu = (device: string | null): boolean => device?.split('+').some((d) => !isHost(d)) ?? false;
