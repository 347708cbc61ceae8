// Spilling: tensors that are not needed now (`eviction.ts` chooses) move to host memory, and come back by themselves.
//
// Bytes of tensors never change, so a copy that exists elsewhere is as good: it is dropped without being read. Host memory
// is bounded; when it is full, copies there of what is also on a device go first.

import type { Place } from '../../devices/place.ts';
import type { Storage, Storages } from '../../graph/storage.ts';
import { withDeadline } from '../recovery/deadline.ts';
import { type Choice, Eviction } from './eviction.ts';

/** A tensor's bytes left a device. `bytes` were freed there, `moved` of them had to be read, which took `ms` from `start` on. */
export interface Spilled {
  readonly device: string;
  readonly bytes: number;
  readonly moved: number;
  readonly start: number;
  readonly ms: number;
}

export type OnSpill = (event: Spilled) => void;

/** A copy that may leave its place. */
interface Victim {
  readonly storage: Storage;
  readonly place: Place;
}

export class Spill {
  readonly #storages: Storages;
  readonly #limit: number;
  readonly #told: OnSpill;
  readonly #timeoutMs: number;
  readonly #eviction = new Eviction();

  /** `timeoutMs`: the longest wait for a device. */
  constructor(storages: Storages, hostLimit: number, told: OnSpill, timeoutMs = Number.POSITIVE_INFINITY) {
    this.#timeoutMs = timeoutMs;
    this.#storages = storages;
    this.#limit = hostLimit;
    this.#told = told;
    storages.returned = (storage) => this.#eviction.returned(storage, storages.now);
  }

  get limit(): number {
    return this.#limit;
  }

  /**
   * Frees at least `bytes` for work at a place if that can be done at once, there or at any of several places; returns how many
   * were freed.
   */
  free(place: Place, bytes: number, from: readonly Place[] = [place]): number {
    let freed = 0;
    const choice = this.#eviction.next(this.#storages.now);
    for (const { storage, place: at } of this.#victims(place, from, choice)) {
      if (freed >= bytes) break;
      const size = storage.on(at)!.bytes;
      if (elsewhere(storage, at)) {
        this.#drop(storage, at, 0, choice);
      } else {
        if (!at.caps.syncRead || !this.#hostRoom(size)) continue;
        const { device } = at;
        const start = performance.now();
        storage.keepOnHost(device.readSync!(storage.on(at)!, 0, size), device);
        this.#drop(storage, at, size, choice, start);
      }
      freed += size;
    }
    return freed;
  }

  /** As `free`, for devices that can only be read asynchronously. */
  async freeAsync(place: Place, bytes: number, from: readonly Place[] = [place]): Promise<number> {
    let freed = 0;
    const choice = this.#eviction.next(this.#storages.now);
    for (const { storage, place: at } of this.#victims(place, from, choice)) {
      if (freed >= bytes) break;
      const buffer = storage.on(at);
      if (!buffer || storage.lent) continue;
      const size = buffer.bytes;
      if (!elsewhere(storage, at)) {
        if (!this.#hostRoom(size)) continue;
        const { device } = at;
        const start = performance.now();
        const what = `spill of ${size} bytes (${at.id})`;
        const read = await withDeadline(device.read(buffer, 0, size), this.#timeoutMs, { what });
        // Disposed, lost or lent while it was read.
        if (storage.owners === 0 || storage.on(at) !== buffer || storage.lent) {
          device.returnRead?.(read);
          continue;
        }
        storage.keepOnHost(read, device);
        this.#drop(storage, at, size, choice, start);
      } else this.#drop(storage, at, 0, choice);
      freed += size;
    }
    return freed;
  }

  /** What may leave: nothing that the current run uses at its place, in the order of the choice, pinned ones last. */
  #victims(place: Place, from: readonly Place[], choice: Choice): Victim[] {
    const found: Victim[] = [];
    const { now } = this.#storages;
    for (const storage of this.#storages) {
      if (storage.lent) continue;
      for (const at of from) {
        // Inputs of the run that lie elsewhere are not used there: a copy in host memory will do.
        const used = at === place && storage.lastUse === now;
        if ((storage.mask & at.bit) !== 0 && !used && !storage.on(at)!.collected) found.push({ storage, place: at });
      }
    }
    const pinned = ({ storage, place: at }: Victim): number => Number(storage.pin === at);
    const sign = choice === 'oldest' ? 1 : -1;
    return found.sort((a, b) => pinned(a) - pinned(b) || sign * (a.storage.lastUse - b.storage.lastUse));
  }

  #drop(storage: Storage, place: Place, moved: number, choice: Choice, start = 0): void {
    const bytes = storage.on(place)!.bytes;
    storage.dropCopy(place);
    if (storage.mask === 0) this.#eviction.left(storage, choice, this.#storages.now);
    const ms = moved > 0 ? performance.now() - start : 0;
    this.#told({ device: place.id, bytes, moved, start, ms });
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
