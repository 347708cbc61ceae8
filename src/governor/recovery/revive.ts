// Makes tensors computable again whose bytes went with a device.
//
// A value that a device could lose remembers what it was made from (`Node.lineage`). Reviving turns computed nodes back into
// lazy ones, down to data that still exists: uploads kept in host memory, tensors at other places, constants. All or nothing:
// if some of that data is gone too, nothing changes and the error says so.

import { show } from '../../base/shape.ts';
import type { Place } from '../../devices/place.ts';
import { addUse, dropUse, settle } from '../../graph/holding.ts';
import type { Node, Replay } from '../../graph/node.ts';
import { Storage, type Storages } from '../../graph/storage.ts';
import { TensorLost } from './errors.ts';

const isReplay = (lineage: Node['lineage']): lineage is Replay => lineage !== null && 'run' in lineage;

/**
 * Revives everything below nodes that is needed to compute or read them. What had been computed by itself is computed by itself
 * again (`compute`), so that its last bits are the same; what had been fused into something stays lazy. Copies at places in
 * the mask `without` are given up too if nothing needs them.
 */
export function revive(nodes: readonly Node[], books: Storages, compute: (node: Node) => void, without = 0): void {
  const avoided = without !== 0 && missing(nodes, without) === null ? without : 0;
  const lost = avoided === 0 ? missing(nodes, 0) : null;
  if (lost) throw gone(lost);
  // Sources come before their users in the order of insertion below.
  const order: Node[] = [];
  const visited = new Set<Node>();
  for (const node of nodes) arrange(node, avoided, visited, order);
  // Held until the last user is restored: computing the first one lets go of what a later one needs too.
  for (const node of order) addUse(node);
  try {
    for (const node of order) {
      restore(node, avoided, books);
      // The nodes asked for are computed by the caller.
      if (node.reach > 0 && !node.storage && !nodes.includes(node)) compute(node);
    }
  } finally {
    for (const node of order) dropUse(node);
  }
}

/** Whether the value of a node can be had without the copies at places in a mask. */
export const restorable = (node: Node, without: number): boolean => missing([node], without) === null;

/**
 * Gives up a node's bytes at a place from which they cannot be read, if they are elsewhere too or can be computed again from what
 * is. False if they cannot be had any other way.
 */
export function leave(node: Node, place: Place | null, unreadable: number): boolean {
  const { storage } = node;
  if (!storage || !place || (unreadable & place.bit) === 0) return true;
  if (!restorable(node, place.bit)) return false;
  storage.dropCopy(place);
  return true;
}

function present({ storage }: Node, without: number): boolean {
  return storage !== null && (storage.host !== null || (storage.mask & ~without) !== 0);
}

/** What a node needs to be computed; null if it needs nothing. */
function below(node: Node, without: number): readonly Node[] | null {
  if (present(node, without) || node.seed) return null;
  if (!node.storage && node.sources.length > 0) return node.sources;
  const { lineage } = node;
  return lineage === null ? null : isReplay(lineage) ? lineage.inputs : lineage;
}

/** Something that nodes are made from and that is nowhere any more; null if there is no such thing. */
function missing(nodes: readonly Node[], without: number): Node | null {
  const seen = new Set<Node>();
  const pending = [...nodes];
  for (let n = pending.pop(); n; n = pending.pop()) {
    if (seen.has(n)) continue;
    seen.add(n);
    const needs = below(n, without);
    if (needs) pending.push(...needs);
    else if (!present(n, without) && !n.seed && n.op !== 'const' && n.op !== 'iota') return n;
  }
  return null;
}

// A stack, not recursion: what a value is computed from may go back through thousands of nodes.
function arrange(root: Node, without: number, visited: Set<Node>, order: Node[]): void {
  const stack: { readonly node: Node; readonly needs: readonly Node[]; at: number }[] = [];
  const enter = (node: Node): void => {
    if (visited.has(node)) return;
    visited.add(node);
    stack.push({ node, needs: below(node, without) ?? [], at: 0 });
  };
  enter(root);
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    if (top.at < top.needs.length) enter(top.needs[top.at++]!);
    else {
      stack.pop();
      if (!present(top.node, without)) order.push(top.node);
    }
  }
}

function restore(node: Node, without: number, books: Storages): void {
  const { lineage, seed } = node;
  // Still lazy, or made again below.
  if (present(node, without) || (!node.storage && node.sources.length > 0) || (lineage === null && !seed)) return;
  const old = node.storage;
  node.storage = null;
  if (seed) {
    const storage = new Storage(null, null, books, seed.byteLength);
    storage.keepOnHost(seed);
    storage.hostKept = true;
    settle(node, storage);
  } else if (isReplay(lineage)) {
    const made = lineage.run(lineage.inputs);
    settle(node, made[lineage.index]!.storage!);
    // The call's own nodes have done their work.
    for (const n of made) {
      addUse(n);
      dropUse(n);
    }
  } else {
    node.sources = lineage!;
    for (const s of lineage!) addUse(s);
  }
  old?.disown();
}

function gone(node: Node): TensorLost {
  const site = typeof node.site === 'string' && node.site ? `, made at ${node.site}` : '';
  return new TensorLost({
    code: 'TENSOR_LOST',
    message: `the bytes of a tensor (${node.dtype} ${show(node.shape.values)}${site}) were lost with their device, and what they came from is gone too`,
    fix: "Make it again from its data. createRuntime({ recovery: { keep: 'all' } }) keeps a copy of uploaded data in host memory, so that tensors survive.",
    where: 'recovery',
  });
}
