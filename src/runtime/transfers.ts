// Bytes between the host and devices: reads, uploads, moves, and the wait for a device to be done.
//
// Each of them is attempted as `Attempts` says. A read that needs a computation first leaves that to the engine, which has
// attempts of its own: when it fails there, the read has failed.

import { byteSize, type DType, dtypeInfo, type TypedArray } from '../base/dtype.ts';
import { type Shape, show } from '../base/shape.ts';
import type { Device, DeviceBuffer, Mark } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import { DeviceLost, OutOfMemory } from '../errors.ts';
import { lent } from '../governor/memory/errors.ts';
import type { Forgotten } from '../governor/memory/forgotten.ts';
import type { Maybe, Work } from '../governor/recovery/attempt.ts';
import { aborted } from '../governor/recovery/errors.ts';
import type { Recovery } from '../governor/recovery/recovery.ts';
import { addUse, dropUse, settle } from '../graph/holding.ts';
import { internInts, noInts } from '../graph/intern.ts';
import { Node } from '../graph/node.ts';
import { Storage } from '../graph/storage.ts';
import { callerLine } from '../tensor/core.ts';
import { typed } from '../tensor/host-array.ts';
import type { Engine } from './engine.ts';
import type { Emitter } from './events.ts';
import type { Executable } from './executable.ts';
import type { Ledger } from './ledger.ts';
import { asyncOnly } from './placement-errors.ts';
import { anywhere, type Want } from './want.ts';

export interface TransferSettings {
  readonly development: boolean;
  /** Bytes up to which uploads at a place that can be lost stay in host memory too. */
  readonly keepBytes: number;
  /** Bytes up to which they stay even after the tensor was disposed, while results computed from it live. */
  readonly seedBytes: number;
}

export interface TransferParts {
  readonly recovery: Recovery;
  readonly settings: TransferSettings;
  readonly ledger: Ledger;
  readonly events: Emitter;
  readonly forgotten: Forgotten;
  /** Some device can be lost. */
  readonly mortal: boolean;
}

/** Reads of so many bytes are timed on every device: the clock takes no noticeable part of them, as it does of others. */
const timedBytes = 64 << 10;

/** How often bytes may be lost between being computed and being read before a read gives up. */
const mostLosses = 8;

/** For reads without and with a promise: the result goes to the host. */
export const toHost: Want = { ...anywhere, wanted: 'host' };
export const toHostNow: Want = { ...toHost, sync: true };

/** One asynchronous read. */
interface Reading {
  readonly node: Node;
  readonly signal: AbortSignal | undefined;
  readonly into: Uint8Array | undefined;
  /** When it began, -1 if it is not timed, and the line that reads, if somebody wants to know. */
  readonly start: number;
  readonly line: string;
  /** Where the bytes are read, once they are computed. */
  place: Place | null;
  /** What had to be computed first. */
  ran: Executable | null;
}

interface Upload {
  readonly bytes: Uint8Array;
  readonly node: Node;
  /** Where the tensor stays; null if anywhere. */
  readonly at: Place | null;
  /** Whether its bytes may stay in host memory too. */
  readonly keep: boolean;
  readonly now: number;
  place: Place | null;
}

interface Move {
  readonly node: Node;
  readonly to: Place;
  readonly signal: AbortSignal | undefined;
  /** The value is being computed, or there is no other way: what fails has been attempted. */
  computing: boolean;
}

export class Transfers {
  readonly #engine: Engine;
  readonly #recovery: Recovery;
  readonly #settings: TransferSettings;
  readonly #ledger: Ledger;
  readonly #events: Emitter;
  readonly #forgotten: Forgotten;
  readonly #mortal: boolean;
  /** Where a synchronous read is at work; null while it computes. */
  #reading: Place | null = null;
  #ran: Executable | null = null;

  constructor(engine: Engine, parts: TransferParts) {
    const { recovery, settings, ledger, events, forgotten, mortal } = parts;
    this.#mortal = mortal;
    this.#forgotten = forgotten;
    this.#engine = engine;
    this.#recovery = recovery;
    this.#settings = settings;
    this.#ledger = ledger;
    this.#events = events;
  }

  // Reading.

  readonly #readingNow: Work<Node, Want, TypedArray> = {
    what: 'read',
    run: (node, want, failures) => this.#readOnce(node, want, failures),
    blame: (_, node) => (this.#reading ? { place: this.#reading, node } : null),
  };

  readSync(node: Node, want: Want): TypedArray {
    const { feedback } = this.#engine;
    if (!feedback.wanted) return this.#readAttempted(node, want);
    const start = performance.now();
    const data = this.#readAttempted(node, want);
    if (this.#ran) feedback.call(this.#ran, performance.now() - start);
    return data;
  }

  #readAttempted(node: Node, want: Want): TypedArray {
    try {
      return this.#readOnce(node, want, 0);
    } catch (error) {
      return this.#recovery.attempts.failed(this.#readingNow, node, want, error);
    }
  }

  #readOnce(node: Node, want: Want, failures: number): TypedArray {
    this.#reading = null;
    const ran = !node.storage || node.storage.lost ? this.#engine.computeOne(node, want) : null;
    this.#ran = failures === 0 ? ran : null;
    const place = readable(node.storage!);
    this.#reading = place;
    const data = this.#readNow(node, place);
    if (place) this.#recovery.succeeded(place);
    return data;
  }

  #readNow(node: Node, place: Place | null): TypedArray {
    const storage = node.storage!;
    const length = node.size * byteSize(node.dtype);
    if (storage.lent) throw lent(node, 'read');
    if (storage.spare) storage.spare.used = true;
    if (!place) {
      if (storage.host) return typed(storage.host.slice(0, length), node.dtype);
      throw asyncOnly(storage.place?.id ?? 'the device');
    }
    const { device } = place;
    const buffer = storage.on(place)!;
    // A device that is done when a call returns is not waited for; a large copy takes its time all the same.
    const counts = place.mortal || length >= timedBytes;
    if (!counts && !this.#watched) {
      this.#ledger.waits++;
      place.waits++;
      return elements(device, buffer, node);
    }
    const start = performance.now();
    const bytes = device.readSync!(buffer, 0, length);
    this.#waited(place, start, this.#line());
    if (this.#events.heard.download) this.#downloaded(place, bytes, start);
    return typed(bytes, node.dtype);
  }

  readonly #readingLater: Work<Reading, Want, Maybe<TypedArray>> = {
    what: 'read',
    run: (reading, want, failures) => {
      const { node, signal } = reading;
      let computing: Promise<Executable | null> | null = null;
      reading.place = null;
      if (!node.storage || node.storage.lost) {
        const ran = this.#engine.computeAsync([node], want, signal);
        if (ran instanceof Promise) computing = ran;
        else reading.ran = failures === 0 ? ran : null;
      }
      return (computing ? null : this.#readAtOnce(reading)) ?? this.#readComputed(reading, want, failures, computing);
    },
    blame: (error, { node, place }) => {
      if (!place) return null;
      // A device that found out late that it had no room has filled these bytes with nothing.
      if (error instanceof OutOfMemory && place.mortal && node.lineage) node.storage?.dropCopy(place);
      return { place, node };
    },
  };

  /** The elements as stored, or `into`, or a promise of that: what is there at once costs no turn of the queue. */
  read(node: Node, want: Want, signal?: AbortSignal, into?: Uint8Array): Maybe<TypedArray> {
    const line = this.#line();
    const start = this.#isTimed(node) ? performance.now() : -1;
    const reading: Reading = { node, signal, into, line, start, place: null, ran: null };
    // Disposing the tensor while its data is awaited must not pull the bytes away.
    addUse(node);
    if (node.storage?.spare) node.storage.spare.used = true;
    try {
      const data = this.#recovery.attempts.runAsync(this.#readingLater, reading, want, signal);
      const pause = data instanceof Promise ? null : this.#haveRead(reading);
      return data instanceof Promise || pause ? this.#awaited(reading, data, pause) : data;
    } finally {
      dropUse(node);
    }
  }

  /** The rest of a read that has to be waited for. */
  async #awaited(reading: Reading, data: Maybe<TypedArray>, pause: Promise<void> | null): Promise<TypedArray> {
    addUse(reading.node);
    try {
      const read = await data;
      const last = data instanceof Promise ? this.#haveRead(reading) : pause;
      if (last) await last;
      return read;
    } catch (error) {
      // Loops of reads that fail turn the event loop, and leave memory, as others do.
      const last = this.#forgotten.pause(performance.now());
      if (last) await last;
      throw error;
    } finally {
      dropUse(reading.node);
    }
  }

  /** The elements are there; what the call should still wait for. */
  #haveRead({ place, start, line, ran }: Reading): Promise<void> | null {
    if (start < 0) {
      this.#ledger.waits++;
      if (place) place.waits++;
      return this.#forgotten.pauseAfterShort();
    }
    const now = this.#waited(place, start, line);
    if (ran) this.#engine.feedback.call(ran, now - start);
    return this.#forgotten.pause(now);
  }

  /** The elements where nothing has to be waited for and nobody wants to know more; null elsewhere. */
  #readAtOnce(reading: Reading): TypedArray | null {
    const { node, signal, into } = reading;
    const storage = node.storage!;
    const { place, buffer } = storage;
    if (!place || place.mortal || signal || into || storage.checks || storage.lent) return null;
    if (this.#events.heard.download || !place.device.readSync) return null;
    reading.place = place;
    const data = elements(place.device, buffer!, node);
    this.#recovery.succeeded(place);
    return data;
  }

  /** `computing`: the value is on its way. */
  async #readComputed(
    reading: Reading,
    want: Want,
    failures: number,
    computing: Promise<Executable | null> | null,
  ): Promise<TypedArray> {
    const { node, signal, into } = reading;
    let coming = computing;
    for (let losses = 0; ; losses++) {
      reading.place = null;
      if (coming || !node.storage || node.storage.lost) {
        const done = await (coming ?? this.#engine.computeAsync([node], want, signal));
        coming = null;
        reading.ran = failures + losses === 0 ? done : null;
      }
      // Lost again while this was waited for.
      if (!node.storage!.lost || losses >= mostLosses) break;
    }
    const { place } = node.storage!;
    reading.place = place;
    const bytes = await this.#readLater(node, signal, into);
    if (place) this.#recovery.succeeded(place);
    return into ? bytes : typed(bytes, node.dtype);
  }

  async #readLater(node: Node, signal: AbortSignal | undefined, into: Uint8Array | undefined): Promise<Uint8Array> {
    const storage = node.storage!;
    const length = node.size * byteSize(node.dtype);
    if (storage.lent) throw lent(node, 'read');
    const checking = storage.checks && this.#engine.checks.verify(storage);
    // Flags are on their way beside the bytes. The caller's own memory is written only once they are known.
    if (into && checking) await checking;
    else checking?.catch(() => {});
    const { place, buffer } = storage;
    if (storage.lost) throw lostWhileRead(node);
    if (!place) {
      if (checking) await checking;
      return into ? fill(into, storage.host!.subarray(0, length)) : storage.host!.slice(0, length);
    }
    const { device } = place;
    const start = this.#events.heard.download ? performance.now() : 0;
    const reading = device.read(buffer!, 0, length, into);
    const limited = place.mortal || signal !== undefined;
    const bytes = await (limited
      ? this.#recovery.within(reading, `read of ${length} bytes (${place.id})`, signal)
      : reading);
    if (checking) await checking;
    if (start > 0 && this.#events.heard.download) this.#downloaded(place, bytes, start);
    if (!into || bytes === into) return bytes;
    fill(into, bytes);
    device.returnRead?.(bytes);
    return into;
  }

  /** Whether somebody wants to know of every read. */
  get #watched(): boolean {
    return this.#settings.development || this.#events.heard.wait || this.#events.heard.download;
  }

  /** Whether a read takes its time: where no device can be lost, every device is done when a call returns. */
  #isTimed({ size, dtype }: Node): boolean {
    if (this.#mortal || this.#watched || this.#engine.feedback.wanted) return true;
    return size * 8 >= timedBytes && size * byteSize(dtype) >= timedBytes;
  }

  /** The line that reads, if somebody wants to know: finding it takes longer than most reads. */
  #line(): string {
    return this.#settings.development || this.#events.heard.wait ? callerLine() : '';
  }

  /** Notes a wait that ends now, and tells when that is. */
  #waited(place: Place | null, start: number, line: string): number {
    const now = performance.now();
    this.#ledger.waited(line, now - start);
    if (place) place.waits++;
    const device = place?.id ?? 'host';
    if (this.#events.heard.wait) this.#events.emit('wait', { device, start, ms: now - start, line, why: 'read' });
    return now;
  }

  #downloaded(place: Place, bytes: Uint8Array, start: number): void {
    const pinned = place.alive && (place.device.isPinned?.(bytes) ?? false);
    this.#engine.dispatch.moved('download', place.id, 'host', bytes.byteLength, start, pinned);
  }

  // Writing.

  readonly #uploading: Work<Upload, Want, Node> = {
    what: 'upload',
    run: (upload, want) => {
      const { bytes, node, at, keep } = upload;
      upload.place = null;
      const place = this.#engine.programs.home(1 << dtypeInfo[node.dtype].id, bytes.byteLength, want);
      upload.place = place;
      const buffer = place.allocate(bytes.byteLength);
      try {
        this.#engine.dispatch.upload(place, buffer, bytes);
      } catch (e) {
        place.release(buffer);
        throw e;
      }
      const storage = new Storage(place, buffer, this.#ledger.storages);
      if (at) storage.pin = at;
      storage.lastUse = upload.now;
      if (place.mortal && keep) this.#keep(node, storage, bytes);
      settle(node, storage);
      return node;
    },
    blame: (_, { place }) => (place ? { place, node: null } : null),
  };

  /** A computed node from bytes, which are copied: at a place if one is given, where it then stays, else where it suits. */
  upload(bytes: Uint8Array, dtype: DType, shape: Shape, { at, keep }: Pick<Upload, 'at' | 'keep'>, want: Want): Node {
    const node = new Node('leaf', dtype, internInts(shape), [], noInts);
    const now = ++this.#ledger.storages.now;
    const upload: Upload = { bytes, node, at, keep, now, place: null };
    const there = at ? { ...want, pin: at, pinned: true } : want;
    return this.#recovery.attempts.run(this.#uploading, upload, there);
  }

  /** Small uploads stay in host memory too. */
  #keep(node: Node, storage: Storage, bytes: Uint8Array): void {
    const { keepBytes, seedBytes } = this.#settings;
    if (bytes.byteLength > keepBytes) return;
    storage.keepOnHost(bytes.slice());
    storage.hostKept = true;
    if (bytes.byteLength <= seedBytes) node.seed = storage.host;
  }

  // Moving.

  readonly #moving: Work<Move, Want, Promise<void>> = {
    what: 'move',
    run: async (move, want) => {
      const { node, to, signal } = move;
      const { residency } = this.#engine;
      // Nowhere else will do.
      move.computing = (want.excluded & to.bit) !== 0;
      if (move.computing) throw want.failed;
      while (!node.storage?.on(to)) {
        move.computing = true;
        if (!node.storage || node.storage.lost) await this.#engine.computeAsync([node], want, signal);
        move.computing = false;
        const what = `move of ${node.size * byteSize(node.dtype)} bytes to ${to.id}`;
        await this.#recovery.within(residency.bringAsync(node, to, signal, true), what, signal);
        residency.bring(node, to);
      }
    },
    blame: (error, { computing, to }) => {
      if (computing) return null;
      const read = this.#engine.residency.failedRead(error);
      return { place: read?.place ?? to, node: read?.node ?? null };
    },
  };

  /** The bytes go to a place and nowhere else; programs that read the node run there from then on. */
  async move(node: Node, to: Place, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw aborted(`move to ${to.id}`, signal);
    const move: Move = { node, to, signal, computing: false };
    // As with a read: who disposes of the tensor meanwhile does not pull the bytes away.
    addUse(node);
    try {
      await this.#recovery.attempts.runAsync(this.#moving, move, anywhere, signal);
      const storage = node.storage!;
      for (const other of storage.places) if (other !== to) storage.dropCopy(other);
      storage.pin = to;
    } finally {
      dropUse(node);
    }
    const pause = this.#forgotten.pause(performance.now());
    if (pause) await pause;
  }

  /** Waits until devices have finished what was enqueued, within the time limit. */
  finished(places: readonly Place[], signal: AbortSignal | undefined): Promise<unknown> {
    const pause = this.#forgotten.pause(performance.now());
    const done = places.length === 1 ? this.#finished(places[0]!, signal) : this.#allFinished(places, signal);
    return pause ? Promise.all([done, pause]) : done;
  }

  /** Each in an async function: one that throws must not leave the promises of the others to nobody. */
  #allFinished(places: readonly Place[], signal: AbortSignal | undefined): Promise<unknown> {
    return Promise.all(places.map(async (place) => this.#finished(place, signal)));
  }

  #finished(place: Place, signal: AbortSignal | undefined): Promise<void> {
    return place.alive ? this.reached(place, place.device.mark(false), signal) : Promise.resolve();
  }

  /** Waits until a device has finished what was enqueued up to a mark, within the time limit. */
  reached(place: Place, mark: Mark, signal: AbortSignal | undefined): Promise<void> {
    let done = mark.whenDone();
    if (this.#events.heard.wait) done = this.#tellFlush(done, place.id, callerLine());
    if (this.#recovery.doubts(place)) done = done.then(() => this.#recovery.succeeded(place));
    if (!place.mortal && !signal) return done;
    return this.#recovery.within(done, `flush (${place.id})`, signal);
  }

  async #tellFlush(done: Promise<void>, device: string, line: string): Promise<void> {
    const start = performance.now();
    await done;
    const ms = performance.now() - start;
    this.#events.emit('wait', { device, start, ms, line, why: 'flush' });
  }
}

/** What a node holds, from a device that is read synchronously. */
const elements = (device: Device, buffer: DeviceBuffer, { dtype, size }: Node): TypedArray =>
  device.readTyped?.(buffer, dtype, 0, size) ?? typed(device.readSync!(buffer, 0, size * byteSize(dtype)), dtype);

/** The place from which bytes are read synchronously, if there is one. */
function readable(storage: Storage): Place | null {
  const { place } = storage;
  return place?.caps.syncRead ? place : (storage.places.find((p) => p.caps.syncRead) ?? null);
}

function fill(into: Uint8Array, bytes: Uint8Array): Uint8Array {
  into.set(bytes);
  return into;
}

function lostWhileRead(node: Node): DeviceLost {
  return new DeviceLost({
    code: 'DEVICE_LOST',
    message: `read: ${node.dtype} ${show(node.shape.values)} was lost with its device each time it had been computed`,
    fix: 'Use another device: this one is lost again and again.',
    where: 'read',
  });
}
