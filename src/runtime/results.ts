// The one home of results: what a run has made becomes the storage of nodes, all at once.
//
// Nothing is attached before everything is enqueued, and nothing here can fail half-way: a run is all or nothing. Where a
// device could lose the bytes, each node remembers what it can be computed from again: its sources, or the call that made it.

import type { DeviceBuffer } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import { remember, settle, settleMortal } from '../graph/holding.ts';
import type { Node, Replay } from '../graph/node.ts';
import { type DeferredCheck, type MadeBy, Storage, type Storages } from '../graph/storage.ts';

/** A run whose launches are all enqueued. */
export interface Finished {
  readonly place: Place;
  /** Its inputs, and its buffers by number: those of the inputs, then what was made. */
  readonly leaves: readonly Node[];
  readonly buffers: readonly (DeviceBuffer | undefined)[];
  /** What must hold before the results may be handed out. */
  readonly checks: readonly DeferredCheck[] | null;
  readonly by: MadeBy;
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

  /** One result in a buffer of its own. `call`: how it is computed again, instead of from its sources. */
  attachOne(node: Node, place: Place, buffer: DeviceBuffer, reach: number, by: MadeBy, call?: Replay | null): void {
    const storage = new Storage(place, buffer, this.#storages);
    storage.by = by;
    if (!place.mortal) settle(node, storage);
    else if (!call) settleMortal(node, storage, reach + 1);
    else {
      settle(node, storage);
      remember(node, call, reach + 1);
    }
  }

  /** The bytes of `nodes[i]` are in the buffer numbered `ids[i]`; numbers below 0 stand for no bytes at all. */
  attach(run: Finished, nodes: readonly Node[], ids: readonly number[], origin: Origin): void {
    if (nodes.length === 1) {
      this.#settle(nodes[0]!, this.#storage(run, ids[0]!), run.place, origin, 0);
      return;
    }
    // Most runs make a buffer for each result: nothing is shared, and nothing can be let go of on the way.
    if (areOwn(ids, run.leaves.length)) {
      for (let i = 0; i < nodes.length; i++) this.#settle(nodes[i]!, this.#storage(run, ids[i]!), run.place, origin, i);
      return;
    }
    const storages = this.#storagesOf(run, ids);
    // A result may be an input's own bytes, and attaching one result may let go of that input: its bytes are held meanwhile.
    const held = storages.filter((_, i) => isLeaf(ids[i]!, run.leaves));
    for (const s of held) s.owners++;
    for (let i = 0; i < nodes.length; i++) this.#settle(nodes[i]!, storages[i]!, run.place, origin, i);
    for (const s of held) s.disown();
  }

  #settle(node: Node, storage: Storage, place: Place, { reach, call }: Origin, index: number): void {
    if (!place.mortal) settle(node, storage);
    else if (!call) settleMortal(node, storage, reach + 1);
    else {
      settle(node, storage);
      remember(node, { inputs: call.inputs, run: call.run, index }, reach + 1);
    }
  }

  /** The bytes of one result: an input's own, or those in its buffer. */
  #storage({ place, leaves, buffers, checks, by }: Finished, id: number): Storage {
    if (isLeaf(id, leaves)) return leaves[id]!.storage!;
    const storage = new Storage(place, id < 0 ? nothing(place, buffers, leaves) : buffers[id]!, this.#storages);
    if (checks?.length) storage.checks = checks;
    storage.by = by;
    return storage;
  }

  #storagesOf(run: Finished, ids: readonly number[]): Storage[] {
    const made = new Map<number, Storage>();
    // First what may fail: nothing else is attached to anything yet.
    const empty = ids.find((id) => id < 0);
    if (empty !== undefined) made.set(empty, this.#storage(run, empty));
    return ids.map((id) => {
      let storage = made.get(id);
      if (!storage) made.set(id, (storage = this.#storage(run, id)));
      return storage;
    });
  }
}

/** A buffer without bytes; if there is none to be had, nothing that was made is kept. */
function nothing(place: Place, buffers: readonly (DeviceBuffer | undefined)[], leaves: readonly Node[]): DeviceBuffer {
  try {
    return place.allocate(0);
  } catch (e) {
    releaseMade(place, buffers, leaves.length);
    throw e;
  }
}

/** Whether buffers were made by the run, each for one result. Plans number them in the order of their results. */
function areOwn(ids: readonly number[], leaves: number): boolean {
  let last = leaves - 1;
  for (let i = 0; i < ids.length; i++) {
    if (ids[i]! <= last) return false;
    last = ids[i]!;
  }
  return true;
}

const isLeaf = (id: number, leaves: readonly Node[]): boolean => id >= 0 && id < leaves.length;

/** Gives back what a run has made that will not be attached: everything behind the buffers of its inputs. */
export function releaseMade(place: Place, buffers: readonly (DeviceBuffer | undefined)[], leaves: number): void {
  for (let b = leaves; b < buffers.length; b++) {
    const buffer = buffers[b];
    if (buffer) place.release(buffer);
  }
}
