// Who holds a node, and when what it holds is let go.
//
// A node is kept alive by handles (tensors) and by uses (nodes that still need it as a source). When both are gone its
// storage is let go; when it is computed it lets go of its sources. So `x.dispose()` right after `y = x.add(1)` is safe,
// and memory is freed at the earliest moment nobody can ask for it.
//
// A node holds its sources from the moment somebody holds it, not from when it is made (`rooted`). So what an op builds and
// then drops, because it refuses its arguments or finds a shorter way, keeps no memory.

import type { Group } from './group.ts';
import { type Node, noNodes, type Replay } from './node.ts';
import type { Storage } from './storage.ts';

/** How far back a value that a device could lose is remembered to be computed again. */
const maxReach = 64;

/** The node has been computed: it holds its bytes from now on and no longer needs its sources. */
export function settle(node: Node, storage: Storage): void {
  if (storage.owners++ === 0) {
    storage.dtype = node.dtype;
    storage.shape = node.shape.values;
    if (!node.plain) storage.site = node.site;
  }
  if (node.group !== null) outOfGroup(node, node.group);
  node.storage = storage;
  node.tracked = storage.tracked;
  const sources = node.sources;
  node.sources = noNodes;
  if (node.rooted) for (let i = 0; i < sources.length; i++) dropUse(sources[i]!);
  if (node.plain) return;
  if (node.issuedIn !== null) node.issuedIn = null;
  dropCheck(node);
}

/** The check of an index is done, or not needed any more: what it was to be computed from is let go. */
function dropCheck(node: Node): void {
  if (!node.check) return;
  const { bad } = node.check;
  node.check = null;
  if (node.rooted) dropUse(bad);
}

/**
 * As `settle`, for bytes that a device could lose: the sources are remembered, though not kept alive. After `maxReach`
 * steps the chain is cut, so that an endless loop does not remember all of its past.
 */
export function settleMortal(node: Node, storage: Storage, reach: number): void {
  remember(node, node.sources, reach);
  settle(node, storage);
}

/** Notes how a computed node can be computed again. */
export function remember(node: Node, lineage: readonly Node[] | Replay, reach: number): void {
  const cut = reach > maxReach;
  node.lineage = cut ? null : lineage;
  node.reach = cut ? 0 : reach;
}

/** A lazy node is to be computed or freed: its group knows nothing of it any more. */
function outOfGroup(node: Node, group: Group): void {
  if (group.released) beyondGroup(node);
  else group.remove(node);
}

/** Somebody takes hold of a lazy node that was watched with others. */
function takeOut(node: Node, group: Group): void {
  if (group.released) beyondGroup(node);
  else group.leave(node);
}

/** The tensors of its group are gone and its sources given back: it is a node as if new, which a lineage remembers. */
function beyondGroup(node: Node): void {
  node.group = null;
  node.usedInGroup = 0;
  node.handles = 0;
  node.uses = 0;
  node.rooted = false;
}

/** A tensor holds the node from now on. */
export function addHandle(node: Node): void {
  if (node.group !== null) takeOut(node, node.group);
  node.handles++;
  if (!node.rooted) root(node);
}

/** Something that is no tensor holds the node from now on. */
export function addUse(node: Node): void {
  if (node.group !== null) takeOut(node, node.group);
  node.uses++;
  if (!node.rooted) root(node);
}

/** The node, and whatever below it nobody held so far, holds its sources from now on. */
function root(node: Node): void {
  node.rooted = true;
  const { sources } = node;
  // Most nodes stand on held ones and constants: no list is made for them.
  let pending: Node[] | null = null;
  for (let i = 0; i < sources.length; i++) pending = hold(sources[i]!, pending);
  if (!node.plain && node.check) pending = hold(node.check.bad, pending);
  if (pending) rootAll(pending);
}

function rootAll(pending: Node[]): void {
  for (let n = pending.pop(); n; n = pending.pop()) {
    for (const s of n.sources) hold(s, pending);
    if (n.check) hold(n.check.bad, pending);
  }
}

/** Adds a use. A node that nobody held joins the list of those whose sources are held next. */
function hold(node: Node, pending: Node[] | null): Node[] | null {
  if (node.group !== null) takeOut(node, node.group);
  node.uses++;
  if (node.rooted) return pending;
  node.rooted = true;
  if (node.sources.length === 0) return pending;
  if (pending === null) return [node];
  pending.push(node);
  return pending;
}

export function dropHandle(node: Node): void {
  node.handles--;
  if (node.handles <= 0 && node.uses <= 0) free(node);
}

export function dropUse(node: Node): void {
  node.uses--;
  if (node.handles <= 0 && node.uses <= 0) free(node);
}

/** As `dropUse`, several times. */
export function dropUses(node: Node, times: number): void {
  node.uses -= times;
  if (node.handles <= 0 && node.uses <= 0) free(node);
}

/** Nobody holds the node: it lets go of its bytes and its sources, and these of theirs. */
function free(node: Node): void {
  // A list, not recursion: chains of lazy nodes can be long.
  let pending: Node[] | null = null;
  for (let n: Node | undefined = node; n; n = pending?.pop()) {
    if (!n.plain && n.onFree) {
      n.onFree();
      n.onFree = null;
    }
    if (n.group !== null) outOfGroup(n, n.group);
    if (!n.plain) dropCheck(n);
    if (n.storage !== null) {
      n.storage.disown();
      n.storage = null;
    }
    const sources: readonly Node[] = n.sources;
    if (sources.length === 0) continue;
    n.sources = noNodes;
    // Fused into something that may have to be computed again.
    n.lineage = sources;
    if (!n.rooted) continue;
    for (let i = 0; i < sources.length; i++) {
      const s = sources[i]!;
      s.uses--;
      if (s.handles > 0 || s.uses > 0) continue;
      pending ??= [];
      pending.push(s);
    }
  }
}
