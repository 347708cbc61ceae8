// All simple paths between two vertices, each once, shorter ones first.
//
// One depth-first search per length, cut where the end is too far away for the steps that are left or cannot be reached in
// their parity. Nothing is kept but the path being built, so the first paths come at once however many there are.

import { notMade } from '../base/arguments.ts';

export interface AllPathsOptions {
  /** The longest paths wanted, in steps. Default: the distance, which gives the shortest paths. */
  readonly maxLength?: number | undefined;
  /** How many paths at most. Default 10,000; `truncated` tells whether there would have been more. */
  readonly limit?: number | undefined;
}

export interface PathSearch {
  readonly source: number;
  readonly target: number;
  /** Lengths to try: from the distance on. */
  readonly shortest: number;
  readonly longest: number;
  readonly limit: number;
  neighbors(vertex: number): readonly number[];
  /** Steps to the target at least; -1 if it cannot be reached. */
  remaining(vertex: number): number;
}

export class PathIterator implements IterableIterator<number[]> {
  readonly #paths: Iterator<number[], void>;
  readonly #limit: number;
  #given = 0;
  #truncated = false;

  /** @internal Made by `lattice.allPaths()`. */
  constructor(search: PathSearch = notMade('PathIterator', 'lattice.allPaths(s, t)')) {
    this.#paths = enumerate(search);
    this.#limit = search.limit;
  }

  /** Whether there are more paths than the limit; known when the iterator has ended. */
  get truncated(): boolean {
    return this.#truncated;
  }

  next(): IteratorResult<number[], undefined> {
    if (this.#truncated) return { done: true, value: undefined };
    const next = this.#paths.next();
    if (next.done) return { done: true, value: undefined };
    if (this.#given < this.#limit) {
      this.#given++;
      return next;
    }
    this.#truncated = true;
    return { done: true, value: undefined };
  }

  return(): IteratorResult<number[], undefined> {
    this.#paths.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.iterator](): this {
    return this;
  }
}

function* enumerate(search: PathSearch): Generator<number[], void> {
  const { source, target } = search;
  if (source === target) {
    yield [source];
    return;
  }
  for (let length = search.shortest; length <= search.longest; length++) yield* ofLength(search, length);
}

interface Frame {
  readonly neighbors: readonly number[];
  next: number;
}

function* ofLength(search: PathSearch, length: number): Generator<number[], void> {
  const { source, target } = search;
  // A grid is bipartite, and so is any part of one.
  if ((length - search.shortest) % 2 !== 0) return;
  const path = [source];
  const onPath = new Set(path);
  const frames: Frame[] = [{ neighbors: search.neighbors(source), next: 0 }];
  while (frames.length > 0) {
    const frame = frames[frames.length - 1]!;
    const v = frame.neighbors[frame.next++];
    if (v === undefined) {
      frames.pop();
      onPath.delete(path.pop()!);
      continue;
    }
    const left = length - path.length;
    if (v === target) {
      if (left === 0) yield [...path, v];
      continue;
    }
    if (left === 0 || onPath.has(v)) continue;
    const remaining = search.remaining(v);
    if (remaining < 0 || remaining > left) continue;
    path.push(v);
    onPath.add(v);
    frames.push({ neighbors: search.neighbors(v), next: 0 });
  }
}
