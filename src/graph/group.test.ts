import { describe, expect, it } from 'vitest';
import { Random } from '../../test/gpu/data.ts';
import type { Place } from '../devices/place.ts';
import { Group } from './group.ts';
import { addHandle, addUse, dropHandle, dropUse, settle } from './holding.ts';
import { noInts } from './intern.ts';
import { Node } from './node.ts';
import { Storage, Storages } from './storage.ts';

const books = new Storages();
const place = { bit: 1, mortal: false, release: () => {} } as unknown as Place;
const bytes = (): Storage => new Storage(place, { bytes: 4, collected: false }, books);

/** A value with bytes, and one tensor. */
function computed(): Node {
  const node = new Node('leaf', 'f32', noInts, [], noInts);
  settle(node, bytes());
  addHandle(node);
  return node;
}

/** A lazy value with one tensor. */
function lazy(...sources: Node[]): Node {
  const node = new Node('alu', 'f32', noInts, sources, noInts);
  addHandle(node);
  return node;
}

const held = (...nodes: Node[]): boolean[] => nodes.map((n) => n.storage !== null);

describe('a group of lazy nodes', () => {
  it('gives back what its members used when their tensors are gone, and not before', () => {
    const x = computed();
    const a = lazy(x);
    const group = new Group([a, lazy(a, x), lazy(x, x)]);
    dropHandle(x);
    expect(held(x)).toEqual([true]);
    group.release();
    expect(held(x)).toEqual([false]);
  });

  it('counts what members let go of by themselves', () => {
    const [x, y] = [computed(), computed()];
    const [a, b] = [lazy(x), lazy(y)];
    const group = new Group([a, b]);
    dropHandle(x);
    dropHandle(y);
    group.disposed(a);
    dropHandle(a);
    expect(held(x, y)).toEqual([false, true]);
    settle(b, bytes());
    expect(held(y, b)).toEqual([false, true]);
    group.release();
    expect(held(b)).toEqual([false]);
  });

  it('does not take from others what they use, whether they came before it or later', () => {
    const x = computed();
    const [a, b] = [lazy(x), lazy(x)];
    const outside = lazy(a);
    const group = new Group([a, b]);
    const later = lazy(b);
    dropHandle(x);
    group.release();
    expect(held(x)).toEqual([true]);
    settle(outside, bytes());
    expect(held(x)).toEqual([true]);
    settle(later, bytes());
    expect(held(x)).toEqual([false]);
  });

  it('lets a value go that was computed while members used it', () => {
    const x = computed();
    const a = lazy(x);
    const b = lazy(a);
    const group = new Group([a, b]);
    settle(a, bytes());
    group.disposed(a);
    dropHandle(a);
    expect(held(a)).toEqual([true]);
    group.release();
    expect(held(a)).toEqual([false]);
  });

  it('keeps a value that somebody waits for after its tensor was disposed of', () => {
    const x = computed();
    const a = lazy(x);
    const b = lazy(a);
    const group = new Group([a, b]);
    addUse(b);
    group.disposed(b);
    dropHandle(b);
    dropHandle(x);
    group.release();
    expect(held(x)).toEqual([true]);
    settle(b, bytes());
    dropUse(b);
    expect(held(x, b)).toEqual([false, false]);
  });

  it('can be used again by a lineage after it was released', () => {
    const x = computed();
    const a = lazy(x);
    const b = lazy(a);
    new Group([a, b]).release();
    addUse(b);
    dropHandle(x);
    expect(held(x)).toEqual([true]);
    dropUse(b);
    expect(held(x)).toEqual([false]);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('agrees with a model over random steps (%i)', (seed) => {
    for (let round = 0; round < 40; round++) model(new Random(1000 * seed + round));
  });
});

interface Held {
  readonly node: Node;
  group: Group | null;
  /** The user has it. */
  alive: boolean;
  disposed: boolean;
  /** The collector has found it. */
  found: boolean;
}

/** Tensors are made, used, computed, disposed of and forgotten; what a living one needs is there, and in the end nothing is. */
function model(random: Random): void {
  const tensors: Held[] = [];
  const storages: Storage[] = [];
  /** Who waits for a value holds its node without a tensor. */
  const reading: Node[] = [];
  let waiting: Held[] = [];
  let watched: Held[] = [];
  const made = (node: Node): void => {
    addHandle(node);
    const t = { node, group: null, alive: true, disposed: false, found: false };
    tensors.push(t);
    waiting.push(t);
  };
  const give = (node: Node): void => {
    const storage = bytes();
    storages.push(storage);
    settle(node, storage);
  };
  const living = (): Held[] => tensors.filter((t) => t.alive && !t.disposed);
  const one = (): Held | undefined => {
    const list = living();
    return list[random.below(Math.max(1, list.length))];
  };
  const collect = (): void => {
    const groups = new Set(tensors.flatMap((t) => (t.group ? [t.group] : [])));
    for (const g of groups) {
      if (g.released || tensors.some((t) => t.group === g && t.alive && !t.disposed)) continue;
      g.release();
    }
    for (const t of watched) {
      if (t.alive || t.disposed || t.found) continue;
      t.found = true;
      dropHandle(t.node);
    }
  };
  const transfer = (): void => {
    const members: Held[] = [];
    for (const t of waiting) {
      const { node } = t;
      if (t.disposed) continue;
      if (node.storage || node.handles !== 1 || node.group !== null) watched.push(t);
      else members.push(t);
    }
    waiting = [];
    if (members.length === 0) return;
    const group = new Group(members.map((t) => t.node));
    for (const t of members) t.group = group;
  };
  const dispose = (t: Held): void => {
    t.disposed = true;
    t.group?.disposed(t.node);
    dropHandle(t.node);
  };
  const steps: readonly (() => void)[] = [
    () => {
      const node = new Node('leaf', 'f32', noInts, [], noInts);
      give(node);
      made(node);
    },
    ...Array.from({ length: 4 }, () => () => {
      const [a, b] = [one(), one()];
      if (!a || !b) return;
      // With a node in between that no tensor holds.
      const inner = random.below(2) ? new Node('alu', 'f32', noInts, [b.node, b.node], noInts) : b.node;
      made(new Node('alu', 'f32', noInts, [a.node, inner], noInts));
    }),
    () => {
      const t = one();
      if (t) made(t.node);
    },
    () => {
      const t = one();
      if (t && !t.node.storage) give(t.node);
    },
    () => {
      const t = one();
      if (t) dispose(t);
    },
    () => {
      const t = one();
      if (!t) return;
      addUse(t.node);
      reading.push(t.node);
    },
    () => {
      const node = reading.pop();
      if (node) dropUse(node);
    },
    ...Array.from({ length: 2 }, () => () => {
      const t = one();
      if (t) t.alive = false;
    }),
    transfer,
    collect,
  ];
  const check = (): void => {
    const seen = new Set<Node>();
    const pending = [...living().map((t) => t.node), ...reading];
    for (let n = pending.pop(); n; n = pending.pop()) {
      if (seen.has(n)) continue;
      seen.add(n);
      const there = n.storage ? n.storage.place !== null : n.sources.length > 0;
      if (!there) throw new Error('a living tensor lost what it is made from');
      pending.push(...n.sources);
    }
  };
  for (let i = 0; i < 120; i++) {
    steps[random.below(steps.length)]!();
    check();
  }
  for (const t of living()) t.alive = false;
  for (const node of reading.splice(0)) dropUse(node);
  for (let i = 0; i < 3; i++) {
    transfer();
    collect();
  }
  watched = [];
  expect(storages.filter((s) => s.place !== null)).toEqual([]);
}
