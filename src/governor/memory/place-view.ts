// The runtime's memory as the monitor sees it: figures per place, who holds what, and what a clean-up can do.

import { collectGarbage } from '../../base/garbage.ts';
import type { Place } from '../../devices/place.ts';
import type { Storage, Storages } from '../../graph/storage.ts';
import { siteLine } from '../../tensor/core.ts';
import type { Holder, MemoryView, PlaceFigures } from './view.ts';

export function memoryView(places: readonly Place[], storages: Storages, hostLimit: number): MemoryView {
  const byId = (id: string): Place | undefined => places.find((p) => p.id === id && p.alive);
  const trim = (id: string): void => byId(id)?.device.trim();
  return {
    places: () => places.map(figuresOf),
    *holders() {
      for (const s of storages) yield holderOf(s, storages.time);
    },
    rungs: [
      // What the collector finds is freed in tasks of their own, soon after: what is idle only then is given back then.
      { name: 'unreferenced tensors', run: (id) => void collectGarbage().then(() => trim(id)) },
      { name: 'idle blocks', run: (id) => trim(id) },
    ],
    hostSpilled: () => ({ bytes: storages.hostBytes, limit: hostLimit }),
    resetPeaks: () => {
      for (const place of places) place.peak = place.inUse;
      storages.peakBytes = storages.bytes;
    },
  };
}

const sharedOf = (place: Place): PlaceFigures['shared'] =>
  place.shared ? { inUse: place.overShared(0) + place.shared.limit, limit: place.shared.limit } : undefined;

function figuresOf(place: Place): PlaceFigures {
  const { id, inUse, peak, budget, allocations, releases, failures } = place;
  const counts = { id, inUse, peak, budget, shared: sharedOf(place), allocations, releases, failures };
  if (!place.alive) {
    return {
      ...counts,
      reserved: 0,
      reclaimable: 0,
      total: null,
      free: null,
      others: null,
      source: 'budget',
      lost: true,
    };
  }
  const { total, free, whole } = place.device.memory();
  const pool = place.device.pool?.();
  const reserved = Math.max(pool?.reserved ?? inUse, inUse);
  return {
    ...counts,
    reserved,
    reclaimable: reserved - inUse,
    total,
    free,
    others: whole ? Math.max(0, total - free - reserved) : null,
    source: whole ? 'device' : 'budget',
  };
}

function holderOf(s: Storage, now: number): Holder {
  return {
    bytes: s.bytes,
    device: s.place?.id ?? 'host',
    dtype: s.dtype,
    shape: s.shape,
    site: s.site === null ? '' : siteLine(s.site),
    ageMs: Math.max(0, now - s.born),
    lastUse: s.lastUse,
  };
}
