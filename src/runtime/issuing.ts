// Where tensors are made: which named scopes are open, and which piece of work a layer above says is in progress.
//
// Lazy work runs when somebody reads it, often far from the code that asked for it. So a tensor notes where it was made while
// anybody cares, and the launches that compute it say so (`issuedIn`). While no scope has a name and nobody has called
// `rt.attribute`, nothing is noted.

import { promiseOf } from '../base/callbacks.ts';
import type { Node } from '../graph/node.ts';
import type { Emitter } from './events.ts';
import type { Scopes } from './scopes.ts';

/** Of work whose origin nobody asked for. */
export const nowhere: readonly unknown[] = Object.freeze([]);

export class Issuing {
  readonly #scopes: Scopes;
  readonly #events: Emitter;
  #asked: readonly (() => unknown)[] = [];
  /** The body of a compiled function is being traced: its tensors stand for those of any call. */
  tracing = false;
  /** What was said last: most tensors are made where the one before was. */
  #last: readonly unknown[] = nowhere;
  /** There may be nodes that know where they were made. */
  #noted = false;

  constructor(scopes: Scopes, events: Emitter) {
    this.#scopes = scopes;
    this.#events = events;
  }

  /** Whether tensors note where they are made. */
  get on(): boolean {
    return (this.#asked.length > 0 || this.#scopes.named > 0) && !this.tracing;
  }

  /** From now on `current` is asked too; returns what ends that. */
  ask(current: () => unknown): () => void {
    const asked = (): unknown => current();
    this.#asked = [...this.#asked, asked];
    return () => {
      this.#asked = this.#asked.filter((a) => a !== asked);
      this.#last = nowhere;
    };
  }

  /** Notes where a lazy node is made. */
  note(node: Node): void {
    node.issuedIn ??= this.now();
    this.#noted = true;
  }

  /** Where the caller is. The same list as long as it is the same place. */
  now(): readonly unknown[] {
    if (!this.on) return nowhere;
    const found: unknown[] = [];
    const name = this.#scopes.named > 0 ? (this.#scopes.current()?.name ?? null) : null;
    if (name !== null) found.push(name);
    for (const current of this.#asked) {
      try {
        const said = current();
        promiseOf(said)?.catch((error) => this.#events.emit('error', { error, where: 'rt.attribute' }));
        if (said !== null && said !== undefined) found.push(said);
      } catch (error) {
        this.#events.emit('error', { error, where: 'rt.attribute' });
      }
    }
    const last = this.#last;
    if (found.length === last.length && found.every((f, i) => f === last[i])) return last;
    return (this.#last = found.length === 0 ? nowhere : Object.freeze(found));
  }

  /** Whether launches tell where all of what they compute was made. */
  get told(): boolean {
    return this.#noted && this.#events.heard.launch;
  }

  /** Where the lazy ones among some nodes were made, if anybody listens. */
  of(nodes: readonly Node[]): readonly unknown[] {
    if (!this.told) return nowhere;
    let only = nowhere;
    let all: Set<unknown> | null = null;
    for (const { issuedIn, storage } of nodes) {
      if (storage || issuedIn === null || issuedIn === only) continue;
      if (only === nowhere) only = issuedIn;
      else {
        all ??= new Set(only);
        for (const place of issuedIn) all.add(place);
      }
    }
    return all ? [...all] : only;
  }
}
