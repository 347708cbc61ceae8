// Frees what tensors hold when the collector finds that nobody disposed of them.
//
// Telling the collector about a tensor costs more than most ops, and most tensors are disposed of at once or are steps of an
// expression that die together. So new tensors wait for a turn of the event loop, or until there are many; what is left of them then
// is watched: computed ones one by one, since each holds memory of its own, and lazy ones as a group, which is found when
// the last of it is gone.

import { Finalizer } from '../base/finalizer.ts';
import { nextTurn } from '../base/turn.ts';
import type { Node } from '../graph/node.ts';
import type { Handle } from '../tensor/host.ts';

/** What a tensor leaves behind. */
export interface Left {
  readonly node: Node;
  /** The line that made the tensor; empty if lines are not recorded. */
  readonly line: string;
}

interface Watched {
  /** Set while it waits to be watched, and never after: the tensor must not be reachable from here. */
  tensor: Handle | null;
  /** Null once the tensor was disposed of: the finalizer holds this until the collector finds the tensor. */
  node: Node | null;
  readonly line: string;
}

/** As long as the event loop does not turn nothing is collected anyway: those who wait for it lose nothing. */
const mostWaiting = 1024;

export class Backstop {
  /** Tensors that are watched. */
  count = 0;
  readonly #finalizer: Finalizer<readonly Watched[]>;
  #waiting: Watched[] = [];

  constructor(found: (left: Left) => void) {
    this.#finalizer = new Finalizer((group) => {
      for (const { node, line } of group) {
        if (node === null) continue;
        this.count--;
        found({ node, line });
      }
    });
  }

  add(tensor: Handle, node: Node, line: string): void {
    if (this.#waiting.length === 0) nextTurn(this.settle);
    else if (this.#waiting.length >= mostWaiting) this.settle();
    const left: Watched = { tensor, node, line };
    tensor.guard = left;
    this.#waiting.push(left);
  }

  /** A tensor was disposed of. */
  remove({ guard }: Handle): void {
    if (guard === null) return;
    const left = guard instanceof Member ? guard.left : (guard as Watched);
    if (left.node === null) return;
    left.node = null;
    // Those that wait are not counted yet.
    if (left.tensor === null) this.count--;
    left.tensor = null;
  }

  /** Watches what waited for it. */
  readonly settle = (): void => {
    const waiting = this.#waiting;
    this.#waiting = [];
    const lazy: Watched[] = [];
    const group = {};
    for (const left of waiting) {
      const { tensor, node } = left;
      left.tensor = null;
      if (node === null) continue;
      // A state of a recurrence that was given up: nothing to free.
      if (!node.storage && node.sources.length === 0) {
        left.node = null;
        continue;
      }
      this.count++;
      if (node.storage) this.#finalizer.register(tensor!, [left]);
      else {
        lazy.push(left);
        tensor!.guard = new Member(left, group);
      }
    }
    if (lazy.length > 0) this.#finalizer.register(group, lazy);
  };
}

/** What a lazy tensor holds on to: the record of what it leaves, and its group, which lives as long as any member. */
class Member {
  readonly left: Watched;
  readonly group: object;

  constructor(left: Watched, group: object) {
    this.left = left;
    this.group = group;
  }
}
