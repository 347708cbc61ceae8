// The one home of results: what a run has made becomes the storage of nodes, all at once.
//
// Nothing is attached before everything is enqueued, and nothing here can fail half-way: a run is all or nothing. Where a
// device could lose the bytes, each node remembers what it can be computed from again: its sources, or the call that made it.

import type { DeviceBuffer } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import { type Node, type Replay, remember, settle, settleMortal } from '../graph/node.ts';
import { type DeferredCheck, Storage, type Storages } from '../graph/storage.ts';

/** A run whose launches are all enqueued. */
export interface Finished {
  readonly place: Place;
  /** Its inputs, and its buffers by number: those of the inputs, then what was made. */
  readonly leaves: readonly Node[];
  readonly buffers: readonly (DeviceBuffer | undefined)[];
  /** What must hold before the results may be handed out. */
  readonly checks: readonly DeferredCheck[] | null;
}

/** Where results came from, for the case that their device is lost. */
export interface Origin {
  /** Of the inputs, the longest. */
  readonly reach: number;
  /** The call that made them; null for nodes of a graph, which have sources. */
  readonly call: Omit<Replay, 'index'> | null;
}

export class Results {
  readonly #storages: Storages;

  constructor(storages: Storages) {
    this.#storages = storages;
  }

  /** One result in a buffer of its own. */
  attachOne(node: Node, place: Place, buffer: DeviceBuffer, reach: number): void {
    const storage = new Storage(place, buffer, this.#storages);
    if (place.mortal) settleMortal(node, storage, reach + 1);
    else settle(node, storage);
  }

  /** The bytes of `nodes[i]` are in the buffer numbered `ids[i]`; numbers below 0 stand for no bytes at all. */
  attach(run: Finished, nodes: readonly Node[], ids: readonly number[], { reach, call }: Origin): void {
    const { place, leaves } = run;
    const storages = this.#storagesOf(run, ids);
    // A result may be an input's own bytes, and attaching one result may let go of that input: its bytes are held meanwhile.
    const held = nodes.length > 1 ? storages.filter((_, i) => isLeaf(ids[i]!, leaves)) : [];
    for (const s of held) s.owners++;
    for (let index = 0; index < nodes.length; index++) {
      const node = nodes[index]!;
      if (!place.mortal) settle(node, storages[index]!);
      else if (!call) settleMortal(node, storages[index]!, reach + 1);
      else {
        settle(node, storages[index]!);
        remember(node, { ...call, index }, reach + 1);
      }
    }
    for (const s of held) s.disown();
  }

  #storagesOf({ place, leaves, buffers, checks }: Finished, ids: readonly number[]): Storage[] {
    const made = new Map<number, Storage>();
    let nothing: DeviceBuffer | undefined;
    try {
      if (ids.some((id) => id < 0)) nothing = place.allocate(0);
    } catch (e) {
      releaseMade(place, buffers, leaves.length);
      throw e;
    }
    return ids.map((id) => {
      if (isLeaf(id, leaves)) return leaves[id]!.storage!;
      let storage = made.get(id);
      if (!storage) {
        storage = new Storage(place, id < 0 ? nothing! : buffers[id]!, this.#storages);
        if (checks?.length) storage.checks = checks;
        made.set(id, storage);
      }
      return storage;
    });
  }
}

const isLeaf = (id: number, leaves: readonly Node[]): boolean => id >= 0 && id < leaves.length;

/** Gives back what a run has made that will not be attached: everything behind the buffers of its inputs. */
export function releaseMade(place: Place, buffers: readonly (DeviceBuffer | undefined)[], leaves: number): void {
  for (let b = leaves; b < buffers.length; b++) {
    const buffer = buffers[b];
    if (buffer) place.release(buffer);
  }
}
