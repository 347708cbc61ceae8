// The bytes of computed tensors: shared by every node that is the same elements in another shape. They never change, so
// they may be at several places at once, or in host memory alone; all copies are equal.

import type { DType } from '../base/dtype.ts';
import type { Device, DeviceBuffer } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import type { Kernel, Routine } from '../kernel/kernel.ts';

/** An index check whose flag has not been read yet; fails if an index was out of range. */
export interface DeferredCheck {
  verify(): Promise<void>;
}

interface Copy {
  readonly place: Place;
  readonly buffer: DeviceBuffer;
}

/** Where a tensor was made: a line, or an error whose stack is looked at only if somebody asks. */
export type Site = string | Error;

/** The kernels that computed bytes, for those who ask later. */
export interface MadeBy {
  /** What the user calls them; null if they go by what they do. */
  readonly name: string | null;
  readonly steps: readonly { readonly fused: Kernel | Routine }[];
}

/** What few storages have: the others pay for one empty field. */
interface Rare {
  checks: readonly DeferredCheck[] | null;
  host: Uint8Array | null;
  hostKept: boolean;
  pin: Place | null;
  lent: 'lent' | 'corrupt' | null;
  site: Site | null;
  spare: { used: boolean } | null;
  below: number;
  /** Copies behind the first. */
  others: readonly Copy[] | null;
  /** The device that what is in host memory was read from, if it wants that back. */
  reader: Device | null;
}

const noSizes: readonly number[] = [];

const nothingRare: Readonly<Rare> = {
  checks: null,
  host: null,
  hostKept: false,
  pin: null,
  lent: null,
  site: null,
  spare: null,
  below: Number.POSITIVE_INFINITY,
  others: null,
  reader: null,
};

// Made for every result: a field more here is a measurable part of a small op.
export class Storage {
  readonly bytes: number;
  /** Nodes that hold these bytes. */
  owners = 0;
  /** Of the first node that held them. */
  dtype: DType = 'u8';
  shape: readonly number[] = noSizes;
  /** Places that hold a copy, as a mask. */
  mask = 0;
  /** Number of the last run that used them. */
  lastUse = 0;
  /** When they came to be, by the clock of the books. */
  born = 0;
  /** Null for bytes from outside. */
  by: MadeBy | null = null;
  /** Neighbours in the list of living storages. */
  previous: Storage | null = null;
  next: Storage | null = null;
  readonly #books: Storages;
  #place: Place | null;
  #buffer: DeviceBuffer | null;
  #rare: Rare | null = null;
  #listed = false;

  constructor(place: Place | null, buffer: DeviceBuffer | null, books: Storages, bytes = buffer?.bytes ?? 0) {
    this.#place = place;
    this.#buffer = buffer;
    this.#books = books;
    this.bytes = bytes;
    if (place) this.mask = place.bit;
    // What can be lost must be found when that happens, even if the collector would free it.
    if (!buffer?.collected || place?.mortal) this.#list(buffer && !buffer.collected ? buffer.bytes : 0);
  }

  /** Nothing is to be thought of but the bytes at a place: they are not pinned, lent, checked, spare or in host memory. */
  get plain(): boolean {
    return this.#rare === null;
  }

  /** What must hold before these bytes may be handed out. */
  get checks(): readonly DeferredCheck[] | null {
    return this.#rare === null ? null : this.#rare.checks;
  }

  set checks(checks: readonly DeferredCheck[] | null) {
    this.#set('checks', checks);
  }

  /** The bytes in host memory: kept from an upload, or spilled. */
  get host(): Uint8Array | null {
    return this.#rare === null ? null : this.#rare.host;
  }

  /** What is in host memory may be dropped when the bytes are at a place too. */
  get hostKept(): boolean {
    return this.#rare?.hostKept === true;
  }

  set hostKept(kept: boolean) {
    this.#set('hostKept', kept);
  }

  /** Programs that read these bytes run at this place; null if anywhere. */
  get pin(): Place | null {
    return this.#rare === null ? null : this.#rare.pin;
  }

  set pin(place: Place | null) {
    this.#set('pin', place);
  }

  /** Lent to somebody who changes them, or not given back as they were: nobody may read, move or free them. */
  get lent(): Rare['lent'] {
    return this.#rare === null ? null : this.#rare.lent;
  }

  set lent(lent: Rare['lent']) {
    this.#set('lent', lent);
  }

  /** Where the tensor that first held them was made, if somebody wants to know. */
  get site(): Site | null {
    return this.#rare === null ? null : this.#rare.site;
  }

  set site(site: Site | null) {
    this.#set('site', site);
  }

  /** Set for bytes that a program kept although nobody had asked for them: whether any such bytes of it were used. */
  get spare(): Rare['spare'] {
    return this.#rare === null ? null : this.#rare.spare;
  }

  set spare(spare: Rare['spare']) {
    this.#set('spare', spare);
  }

  /** Its whole numbers are known to be positions of an axis of this length, or negative ones; infinity if nobody has looked. */
  get below(): number {
    return (this.#rare ?? nothingRare).below;
  }

  set below(size: number) {
    this.#set('below', size);
  }

  #set<K extends keyof Rare>(key: K, value: Rare[K]): void {
    if (this.#rare === null && value === nothingRare[key]) return;
    this.#rare ??= { ...nothingRare };
    this.#rare[key] = value;
  }

  /** A run or a read needs them now. */
  use(now: number): void {
    this.lastUse = now;
    const { spare } = this;
    if (spare !== null) spare.used = true;
  }

  /** The place of the first copy; null if the bytes are in host memory alone. */
  get place(): Place | null {
    return this.#place;
  }

  get buffer(): DeviceBuffer | null {
    return this.#buffer;
  }

  /** The garbage collector alone does not free it. */
  get tracked(): boolean {
    return this.#listed;
  }

  /** Neither at a place nor in host memory: lost with the device that held them. */
  get lost(): boolean {
    return this.#place === null && this.host === null;
  }

  /** The bytes at a place, if they are there. */
  on(place: Place): DeviceBuffer | undefined {
    if (this.#place === place) return this.#buffer!;
    if ((this.mask & place.bit) === 0) return undefined;
    return this.#others.find((c) => c.place === place)!.buffer;
  }

  /** Some of the bytes, without a wait or a note of it; null where they cannot be had so, or may not be handed out yet. */
  peek(from: number, length: number): Uint8Array | null {
    if (this.lent || this.checks) return null;
    if (this.host) return this.host.subarray(from, from + length);
    const place = this.places.find((p) => p.alive && p.device.readSync);
    try {
      return place ? place.device.readSync!(this.on(place)!, from, length) : null;
    } catch {
      // The device is closed, or was lost without anybody having noticed: who looks at a tensor wants no error.
      return null;
    }
  }

  /** The places that hold a copy. */
  get places(): readonly Place[] {
    if (!this.#place) return [];
    return [this.#place, ...this.#others.map((c) => c.place)];
  }

  /** The copies behind the first. */
  get #others(): readonly Copy[] {
    return this.#rare?.others ?? noCopies;
  }

  /** The same bytes are now at another place too. */
  addCopy(place: Place, buffer: DeviceBuffer): void {
    if (this.mask === 0) this.#books.returned(this);
    this.mask |= place.bit;
    if (!buffer.collected || place.mortal) this.#list(buffer.collected ? 0 : buffer.bytes);
    if (!this.#place) {
      this.#place = place;
      this.#buffer = buffer;
      return;
    }
    this.#set('others', [...this.#others, { place, buffer }]);
  }

  /** Gives up the copy at a place. With `gone` the device took the bytes with it, and there is nothing to release. */
  dropCopy(place: Place, gone = false): void {
    const buffer = this.on(place);
    if (!buffer) return;
    this.mask &= ~place.bit;
    if (this.#place === place) {
      const [next, ...rest] = this.#others;
      this.#place = next?.place ?? null;
      this.#buffer = next?.buffer ?? null;
      if (next) this.#set('others', rest);
    } else
      this.#set(
        'others',
        this.#others.filter((c) => c.place !== place),
      );
    if (!buffer.collected) this.#books.bytes -= buffer.bytes;
    if (this.lost) this.#books.lost++;
    if (!gone) place.release(buffer);
  }

  /** The bytes in host memory, from now on; nobody else may hold on to them if they go back to the device they were read from. */
  keepOnHost(bytes: Uint8Array, reader: Device | null = null): void {
    this.dropHost();
    this.#books.hostBytes += bytes.byteLength;
    this.#set('host', bytes);
    this.#set('reader', reader);
    this.#list(0);
  }

  dropHost(): void {
    const rare = this.#rare;
    if (rare === null || rare.host === null) return;
    this.#books.hostBytes -= rare.host.byteLength;
    rare.reader?.returnRead?.(rare.host);
    rare.reader = null;
    rare.host = null;
  }

  disown(): void {
    if (--this.owners > 0) return;
    if (this.lost) this.#books.lost--;
    const place = this.#place;
    const buffer = this.#buffer;
    const rare = this.#rare;
    const others = rare === null ? noCopies : (rare.others ?? noCopies);
    if (rare !== null) {
      this.dropHost();
      rare.others = null;
    }
    this.#place = null;
    this.#buffer = null;
    this.mask = 0;
    if (this.#listed) this.#books.remove(this);
    this.#listed = false;
    // Last, when nothing leads here any more: whoever is told of it may compute.
    if (place) this.#release(place, buffer!);
    for (let i = 0; i < others.length; i++) this.#release(others[i]!.place, others[i]!.buffer);
  }

  #release(place: Place, buffer: DeviceBuffer): void {
    if (!buffer.collected) this.#books.bytes -= buffer.bytes;
    place.release(buffer);
  }

  #list(bytes: number): void {
    const books = this.#books;
    const now = books.bytes + bytes;
    books.bytes = now;
    if (now > books.peakBytes) books.peakBytes = now;
    if (now > books.limit) books.exceeded();
    if (this.#listed) return;
    this.#listed = true;
    this.#books.add(this);
  }
}

const noCopies: readonly Copy[] = [];

/** The living storages of a runtime that the garbage collector does not free by itself, and the sums over them. */
export class Storages {
  /** Bytes at places, and the most there ever were. */
  bytes = 0;
  peakBytes = 0;
  /** Bytes in host memory. */
  hostBytes = 0;
  count = 0;
  /** Storages in the list whose bytes are nowhere any more. */
  lost = 0;
  /** Number of the current run: the clock of `lastUse`. */
  now = 0;
  /** Milliseconds, as coarse as whoever sets it: reading a real clock would cost more than the rest. */
  time = 0;
  /** Told when there are more bytes at places than this. */
  limit = Number.POSITIVE_INFINITY;
  exceeded: () => void = () => {};
  /** Told of bytes that were in host memory alone and are needed at a place. */
  returned: (storage: Storage) => void = () => {};
  #first: Storage | null = null;

  add(storage: Storage): void {
    storage.born = this.time;
    storage.lastUse = this.now;
    storage.next = this.#first;
    if (this.#first) this.#first.previous = storage;
    this.#first = storage;
    this.count++;
  }

  remove(storage: Storage): void {
    const { previous, next } = storage;
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    storage.previous = null;
    storage.next = null;
    this.count--;
  }

  *[Symbol.iterator](): Generator<Storage> {
    for (let s = this.#first; s; s = s.next) yield s;
  }
}
