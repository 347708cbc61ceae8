// Lazy tensors that nobody disposes of: what they were made from is given back when the collector has found the last of their group.
//
// New ones wait for a turn of the event loop, or, where many are made without one, until the next expression begins: by then most
// were disposed of or computed, and the steps of an expression have been used. Those that are left become a group.

import { Finalizer } from '../base/finalizer.ts';
import { nextTurn } from '../base/turn.ts';
import { Group } from '../graph/group.ts';
import type { Node } from '../graph/node.ts';
import type { Handle } from '../tensor/host.ts';

/** Held by every tensor of a group: it lives as long as any of them. */
class Token {
  group: Group | null = null;
}

/** Tensors that wait until an expression begins, and in any case. */
const [many, most] = [256, 4096];

/** Steps that take some tens of megabytes of the JavaScript heap. */
const manySteps = 1 << 16;

export class Lazies {
  /** Tensors in groups. */
  count = 0;
  readonly #finalizer: Finalizer<Group>;
  /** For tensors that hold memory of their own by now, or share a node with another one. */
  readonly #watch: (tensor: Handle, node: Node) => void;
  /** Settles these and those. */
  readonly #settleAll: () => void;
  /** Told when many steps have come into groups. */
  readonly #grown: () => void;
  #steps = 0;
  #waiting: Handle[] = [];
  #scheduled = false;

  constructor(
    watch: (tensor: Handle, node: Node) => void,
    settleAll: () => void,
    release: (group: Group) => void,
    grown: () => void,
  ) {
    this.#watch = watch;
    this.#settleAll = settleAll;
    this.#grown = grown;
    this.#finalizer = new Finalizer((group) => {
      this.count -= group.tensors;
      release(group);
    });
  }

  add(tensor: Handle, node: Node): void {
    const { length } = this.#waiting;
    if (length >= many && (node.depth === 1 || length >= most)) this.settle();
    if (!this.#scheduled) {
      this.#scheduled = true;
      nextTurn(this.#turned);
    }
    this.#waiting.push(tensor);
  }

  /** A tensor was disposed of. False if it is in no group. */
  remove({ guard }: Handle, node: Node): boolean {
    if (!(guard instanceof Token)) return false;
    guard.group!.disposed(node);
    this.count--;
    return true;
  }

  readonly #turned = (): void => {
    this.#scheduled = false;
    this.#settleAll();
  };

  /** Makes a group of what waits. */
  settle(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    const token = new Token();
    const members: Node[] = [];
    for (let i = 0; i < waiting.length; i++) {
      const tensor = waiting[i]!;
      // Disposed of meanwhile, or a state of a recurrence that was given up: nothing to free.
      if (tensor.disposed) continue;
      const { node } = tensor;
      if (node.storage === null && node.sources.length === 0) continue;
      if (node.storage !== null || node.handles !== 1 || node.group !== null) {
        this.#watch(tensor, node);
        continue;
      }
      tensor.guard = token;
      members.push(node);
    }
    const { length } = members;
    if (length === 0) return;
    token.group = new Group(members);
    this.count += length;
    this.#finalizer.register(token, token.group);
    // The group has added the steps below its tensors.
    this.#steps += members.length;
    if (this.#steps < manySteps) return;
    this.#steps = 0;
    this.#grown();
  }
}
