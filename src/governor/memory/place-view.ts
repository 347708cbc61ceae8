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

/** One literal for all: spreading one object into another takes six times as long, and batches ask before each of them. */
function figuresOf(place: Place): PlaceFigures {
  const { id, inUse, peak, budget, allocations, releases, failures, alive } = place;
  const { total, free, whole } = alive ? place.device.memory() : nothingKnown;
  const reserved = alive ? Math.max(place.device.pool?.().reserved ?? inUse, inUse) : 0;
  return {
    id,
    inUse,
    peak,
    reserved,
    reclaimable: alive ? reserved - inUse : 0,
    budget,
    shared: sharedOf(place),
    total,
    free,
    others: whole ? Math.max(0, total! - free! - reserved) : null,
    source: whole ? 'device' : 'budget',
    allocations,
    releases,
    failures,
    lost: !alive,
  };
}

/** Of a lost device. */
const nothingKnown = { total: null, free: null, whole: false } as const;

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
