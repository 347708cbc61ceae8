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
import { asyncOnly } from './programs.ts';

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
    return storage.on(place) ?? this.#copy(storage, place, () => this.#readSync(node, storage));
  }

  /** As `bring`, waiting for devices that can only be read asynchronously. */
  async bringAsync(node: Node, place: Place, signal?: AbortSignal): Promise<void> {
    const { storage } = node;
    if (!storage || storage.on(place) || storage.host || storage.places.some((p) => p.caps.syncRead)) return;
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
      this.#copy(storage, place, () => ({ bytes, reader: from.device }), start);
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

  /** Room is made first: that may move the bytes, and return what they lay in. */
  #copy(storage: Storage, place: Place, read: () => Read, start = this.#started()): DeviceBuffer {
    const from = storage.place?.id ?? 'host';
    const buffer = place.allocate(storage.bytes);
    let pinned = false;
    try {
      const { bytes, reader } = read();
      pinned = this.#events.heard.move && (place.device.isPinned?.(bytes) ?? false);
      if (bytes.byteLength > 0) place.device.write(buffer, bytes);
      reader?.returnRead?.(bytes);
    } catch (e) {
      place.release(buffer);
      throw e;
    }
    storage.addCopy(place, buffer);
    if (this.#events.heard.move) this.#dispatch.moved('move', from, place.id, storage.bytes, start, pinned);
    return buffer;
  }

  /** The time, if anybody wants to know how long a move takes. */
  #started(): number {
    return this.#events.heard.move ? performance.now() : 0;
  }
}

function notKnownYet(): ForgeError {
  return new ForgeError({
    code: 'VALUE_NOT_KNOWN',
    message: 'a value was read while a function is being compiled',
    fix: 'Read tensors outside of the function given to rt.compile; inside, use ops such as rt.where instead of branches on values.',
    where: 'compile',
  });
}
