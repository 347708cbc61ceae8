// Spilling: tensors that were used longest ago move to host memory, and come back by themselves when they are needed.
//
// Bytes of tensors never change, so a copy that exists elsewhere is as good: it is dropped without being read. Host memory
// is bounded; when it is full, copies there of what is also on a device go first.

import type { Place } from '../devices/place.ts';
import type { Storage, Storages } from '../graph/storage.ts';

/** A tensor's bytes left a device. `bytes` were freed there, `moved` of them had to be read. */
export type OnSpill = (event: { readonly device: string; readonly bytes: number; readonly moved: number }) => void;

export class Spill {
  readonly #storages: Storages;
  readonly #limit: number;
  readonly #told: OnSpill;

  constructor(storages: Storages, hostLimit: number, told: OnSpill) {
    this.#storages = storages;
    this.#limit = hostLimit;
    this.#told = told;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Frees at least `bytes` at a place if that can be done at once; returns how many were freed. */
  free(place: Place, bytes: number): number {
    let freed = 0;
    for (const storage of this.#victims(place)) {
      if (freed >= bytes) break;
      const size = storage.on(place)!.bytes;
      if (elsewhere(storage, place)) {
        this.#drop(storage, place, 0);
      } else {
        if (!place.caps.syncRead || !this.#hostRoom(size)) continue;
        storage.keepOnHost(place.device.readSync!(storage.on(place)!, 0, size));
        this.#drop(storage, place, size);
      }
      freed += size;
    }
    return freed;
  }

  /** As `free`, for devices that can only be read asynchronously. */
  async freeAsync(place: Place, bytes: number): Promise<number> {
    let freed = 0;
    for (const storage of this.#victims(place)) {
      if (freed >= bytes) break;
      const buffer = storage.on(place);
      if (!buffer || storage.lent) continue;
      const size = buffer.bytes;
      if (!elsewhere(storage, place)) {
        if (!this.#hostRoom(size)) continue;
        const read = await place.device.read(buffer, 0, size);
        // Disposed, lost or lent while it was read.
        if (storage.owners === 0 || storage.on(place) !== buffer || storage.lent) continue;
        storage.keepOnHost(read);
        this.#drop(storage, place, size);
      } else this.#drop(storage, place, 0);
      freed += size;
    }
    return freed;
  }

  /** What may leave: nothing that the current run uses, longest unused first, pinned ones last. */
  #victims(place: Place): Storage[] {
    const found: Storage[] = [];
    const { now } = this.#storages;
    for (const s of this.#storages) {
      if ((s.mask & place.bit) === 0 || s.lent || s.lastUse === now || s.on(place)!.collected) continue;
      found.push(s);
    }
    return found.sort((a, b) => Number(a.pin === place) - Number(b.pin === place) || a.lastUse - b.lastUse);
  }

  #drop(storage: Storage, place: Place, moved: number): void {
    const bytes = storage.on(place)!.bytes;
    storage.dropCopy(place);
    this.#told({ device: place.id, bytes, moved });
  }

  #hostRoom(bytes: number): boolean {
    if (this.#storages.hostBytes + bytes <= this.#limit) return true;
    for (const s of this.#storages) {
      if (!s.host || s.mask === 0 || s.hostKept) continue;
      s.dropHost();
      if (this.#storages.hostBytes + bytes <= this.#limit) return true;
    }
    return false;
  }
}

const elsewhere = (s: Storage, place: Place): boolean => s.host !== null || (s.mask & ~place.bit) !== 0;
