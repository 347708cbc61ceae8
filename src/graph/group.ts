// Lazy nodes that the collector watches together without keeping them.
//
// A lazy tensor that nobody disposes of leaves behind that its node uses others. Whoever takes that back later must know of it; but who
// keeps the node keeps everything that it was made from until the next full collection, which costs more than all of it cost to
// make. So a group has a list of what its members use outside of it, and how often, and the members are free to go.
//
// The list says enough as long as nobody but members uses members. Who takes hold of one otherwise makes it leave the group first, with
// all members below it: these are held as every other node is.

import { dropHandle, dropUses } from './holding.ts';
import { isConst, type Node } from './node.ts';

export class Group {
  /** The tensors of all members are gone, and what the members used is given back. */
  released = false;
  /** Tensors that are not disposed of, of members and of those who left. */
  tensors: number;
  /** Nodes outside that members use, and how often. */
  readonly #used = new Map<Node, number>();
  /** Nodes that left while a tensor of the group held them. */
  readonly #left = new Set<Node>();

  /** Takes over a list of lazy nodes with one tensor each; what was built below them and has no tensor joins them. */
  constructor(members: Node[]) {
    this.tensors = members.length;
    for (let i = 0; i < members.length; i++) members[i]!.group = this;
    // The list grows while it is walked.
    for (let i = 0; i < members.length; i++) {
      const { sources, check } = members[i]!;
      for (let k = 0; k < sources.length; k++) {
        const source = sources[k]!;
        // In an expression, nearly always.
        if (source.group === this) source.usedInGroup++;
        else this.#join(source, members);
      }
      if (check !== null) this.#join(check.bad, members);
    }
    for (let i = 0; i < members.length; i++) {
      const n = members[i]!;
      if (n.uses !== n.usedInGroup && n.group === this) this.leave(n);
    }
  }

  #join(source: Node, members: Node[]): void {
    if (source.group === null && source.handles === 0 && source.storage === null && source.sources.length > 0) {
      source.group = this;
      members.push(source);
    }
    if (source.group === this) source.usedInGroup++;
    else this.#use(source, 1);
  }

  /** Somebody takes hold of a member: it is one no longer. */
  leave(node: Node): void {
    const pending = [node];
    for (let n = pending.pop(); n; n = pending.pop()) {
      if (n.group !== this) continue;
      this.remove(n);
      for (const s of n.sources) if (s.group === this) pending.push(s);
      if (n.check?.bad.group === this) pending.push(n.check.bad);
    }
  }

  /** A member is computed or freed, and lets go of its sources next. */
  remove(node: Node): void {
    node.group = null;
    if (node.usedInGroup > 0) this.#use(node, node.usedInGroup);
    node.usedInGroup = 0;
    if (node.handles > 0) this.#left.add(node);
    const { sources, check } = node;
    for (let i = 0; i < sources.length; i++) this.#unuse(sources[i]!);
    if (check) this.#unuse(check.bad);
  }

  /** A tensor of the group was disposed of. */
  disposed(node: Node): void {
    this.tensors--;
    this.#left.delete(node);
  }

  /** The tensors of the group are gone. */
  release(): void {
    this.released = true;
    for (const [node, times] of this.#used) dropUses(node, times);
    for (const node of this.#left) dropHandle(node);
    this.#used.clear();
    this.#left.clear();
  }

  #use(node: Node, times: number): void {
    // Constants hold nothing.
    if (!isConst(node)) this.#used.set(node, (this.#used.get(node) ?? 0) + times);
  }

  #unuse(source: Node): void {
    if (source.group === this) {
      source.usedInGroup--;
      return;
    }
    const times = this.#used.get(source);
    if (times === undefined) return;
    if (times === 1) this.#used.delete(source);
    else this.#used.set(source, times - 1);
  }
}
