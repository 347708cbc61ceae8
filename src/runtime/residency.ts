// Where bytes are: brings inputs to the place that needs them, out of host memory or from another place.

import type { Device, DeviceBuffer } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import { ForgeError } from '../errors.ts';
import { lent } from '../governor/memory/errors.ts';
import type { Recovery } from '../governor/recovery/recovery.ts';
import type { Node } from '../graph/node.ts';
import type { Storage } from '../graph/storage.ts';
import type { Dispatch } from './dispatch.ts';
import type { Emitter } from './events.ts';
import { asyncOnly } from './placement-errors.ts';

/** An input and the place it could not be read from. */
export interface FailedRead {
  readonly node: Node;
  readonly place: Place;
}

/** Bytes on their way, and the device that takes them back when they have arrived. */
interface Read {
  readonly bytes: Uint8Array;
  readonly reader: Device | null;
}

export class Residency {
  readonly #recovery: Recovery;
  readonly #events: Emitter;
  readonly #dispatch: Dispatch;
  readonly #failed = new WeakMap<object, FailedRead>();

  constructor(recovery: Recovery, events: Emitter, dispatch: Dispatch) {
    this.#recovery = recovery;
    this.#events = events;
    this.#dispatch = dispatch;
  }

  /** What an error of `bring` speaks of, if it came from reading and not from the place the bytes were brought to. */
  failedRead(error: unknown): FailedRead | null {
    return this.#failed.get(error as object) ?? null;
  }

  /** The bytes of a computed node at a place, copied there if need be. */
  bring(node: Node, place: Place): DeviceBuffer {
    const { storage } = node;
    if (!storage) throw notKnownYet();
    if (storage.lent) throw lent(node);
    return storage.on(place) ?? this.#copy(node, storage, place, () => this.#readSync(node, storage));
  }

  /**
   * As `bring`, for inputs that have to be waited for. What can be copied directly, is in host memory or costs no wait to read is left
   * to `bring`; what can be read at once by blocking is, too, unless `patient`.
   */
  async bringAsync(node: Node, place: Place, signal?: AbortSignal, patient = false): Promise<void> {
    const { storage } = node;
    const now = (p: Place): boolean => (patient ? p.caps.host === true : p.caps.syncRead);
    if (!storage || storage.on(place) || storage.host || storage.places.some(now) || peerOf(storage, place)) return;
    if (storage.lent) throw lent(node);
    const from = storage.place!;
    const start = this.#started();
    let bytes: Uint8Array;
    try {
      const what = `read of ${storage.bytes} bytes (${from.id})`;
      bytes = await this.#recovery.within(from.device.read(storage.buffer!), what, signal);
    } catch (e) {
      throw this.#blame(e, node, from);
    }
    if (storage.owners > 0 && !storage.on(place))
      this.#copy(node, storage, place, () => ({ bytes, reader: from.device }), start);
  }

  /** The bytes, from host memory or any device that can be read at once. Not to be changed. */
  #readSync(node: Node, storage: Storage): Read {
    if (storage.host) return { bytes: storage.host, reader: null };
    const from = storage.places.find((p) => p.caps.syncRead);
    if (!from) throw asyncOnly(storage.place?.id ?? 'the device');
    try {
      return { bytes: from.device.readSync!(storage.on(from)!, 0, storage.bytes), reader: from.device };
    } catch (e) {
      throw this.#blame(e, node, from);
    }
  }

  #blame(error: unknown, node: Node, place: Place): unknown {
    if (error instanceof Error) this.#failed.set(error, { node, place });
    return error;
  }

  /**
   * Room is made first: that may move the bytes, and return what they lay in. Then they come straight from a device that this one
   * reaches, which nobody waits for, or as `read` gives them.
   */
  #copy(node: Node, storage: Storage, place: Place, read: () => Read, start = this.#started()): DeviceBuffer {
    const buffer = place.allocate(storage.bytes);
    const { device } = place;
    const peer = peerOf(storage, place);
    const from = peer?.id ?? storage.place?.id ?? 'host';
    let pinned = false;
    try {
      if (peer) this.#direct(node, peer, () => device.copyFrom!(peer.device, storage.on(peer)!, buffer));
      else {
        const { bytes, reader } = read();
        pinned = this.#events.heard.move && (device.isPinned?.(bytes) ?? false);
        if (bytes.byteLength > 0) device.write(buffer, bytes);
        reader?.returnRead?.(bytes);
      }
    } catch (e) {
      place.release(buffer);
      throw e;
    }
    storage.addCopy(place, buffer);
    if (this.#events.heard.move) this.#dispatch.moved('move', from, place.id, storage.bytes, start, pinned);
    return buffer;
  }

  /** An error that names the place the bytes come from is that place's. */
  #direct(node: Node, from: Place, copy: () => void): void {
    try {
      copy();
    } catch (e) {
      throw e instanceof ForgeError && e.where === from.id ? this.#blame(e, node, from) : e;
    }
  }

  /** The time, if anybody wants to know how long a move takes. */
  #started(): number {
    return this.#events.heard.move ? performance.now() : 0;
  }
}

/** A place that holds the bytes and from which they can be copied to another one directly. */
const peerOf = (storage: Storage, place: Place): Place | undefined =>
  place.device.reaches ? storage.places.find((p) => place.device.reaches!(p.device)) : undefined;

function notKnownYet(): ForgeError {
  return new ForgeError({
    code: 'VALUE_NOT_KNOWN',
    message: 'a value was read while a function is being compiled',
    fix: 'Read tensors outside of the function given to rt.compile; inside, use ops such as rt.where instead of branches on values.',
    where: 'compile',
  });
}
