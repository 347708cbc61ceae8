// Where bytes are: brings inputs to the place that needs them, out of host memory or from another place.

import { show } from '../base/shape.ts';
import type { DeviceBuffer } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import { ForgeError } from '../errors.ts';
import type { Node } from '../graph/node.ts';
import type { Storage } from '../graph/storage.ts';
import { refuseLent } from '../memory/errors.ts';
import type { Emitter } from './events.ts';
import { asyncOnly } from './programs.ts';

export class Residency {
  readonly #events: Emitter;

  constructor(events: Emitter) {
    this.#events = events;
  }

  /** The bytes of a computed node at a place, copied there if need be. */
  bring(node: Node, place: Place): DeviceBuffer {
    const { storage } = node;
    if (!storage) throw notKnownYet();
    if (storage.lent) throw lent(node);
    return storage.on(place) ?? this.#copy(storage, place, this.readSync(storage));
  }

  /** As `bring`, waiting for devices that can only be read asynchronously. */
  async bringAsync(node: Node, place: Place): Promise<void> {
    const { storage } = node;
    if (!storage || storage.on(place) || storage.host || storage.places.some((p) => p.caps.syncRead)) return;
    if (storage.lent) throw lent(node);
    const bytes = await storage.place!.device.read(storage.buffer!);
    if (storage.owners > 0 && !storage.on(place)) this.#copy(storage, place, bytes);
  }

  /** The bytes, from host memory or any device that can be read at once. Not to be changed. */
  readSync(storage: Storage): Uint8Array {
    if (storage.host) return storage.host;
    const from = storage.places.find((p) => p.caps.syncRead);
    if (!from) throw asyncOnly(storage.place?.id ?? 'the device');
    return from.device.readSync!(storage.on(from)!, 0, storage.bytes);
  }

  #copy(storage: Storage, place: Place, bytes: Uint8Array): DeviceBuffer {
    const from = storage.place?.id ?? 'host';
    const buffer = place.allocate(bytes.byteLength);
    try {
      if (bytes.byteLength > 0) place.device.write(buffer, bytes);
    } catch (e) {
      place.release(buffer);
      throw e;
    }
    storage.addCopy(place, buffer);
    if (this.#events.has('move')) this.#events.emit('move', { from, to: place.id, bytes: bytes.byteLength });
    return buffer;
  }
}

/** Refuses bytes that are lent out or came back changed. */
export function lent(node: Node, where = 'compute'): ForgeError {
  return refuseLent(`${node.dtype} ${show(node.shape.values)}`, node.storage?.lent ?? 'lent', where);
}

function notKnownYet(): ForgeError {
  return new ForgeError({
    code: 'VALUE_NOT_KNOWN',
    message: 'a value was read while a function is being compiled',
    fix: 'Read tensors outside of the function given to rt.compile; inside, use ops such as rt.where instead of branches on values.',
    where: 'compile',
  });
}
