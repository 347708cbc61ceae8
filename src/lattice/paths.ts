// Paths and distances: by closed forms where there are any, else by a search on the host or, one kernel per level, on a device.

import { throwIfAborted } from '../index.ts';
import { type AllPathsOptions, PathIterator } from './all-paths.ts';
import { kindOf } from './arrays.ts';
import { LatticeBase } from './base.ts';
import type { BatchOption } from './batch.ts';
import { invalidArgument, oneOf, PathNotFoundError, wholeNumber } from './errors.ts';
import type { Reach } from './grid.ts';
import { GridSearch } from './grid-search.ts';
import { type SearchStart, searchBytes, searchLevels } from './levels.ts';
import { look } from './look.ts';
import type { Mask } from './mask.ts';
import { bitLayout, searchBits } from './on-device/bits.ts';
import { countPaths } from './search.ts';

export interface PathResult {
  /** Both ends included. */
  readonly path: readonly number[];
  /** Steps. */
  readonly length: number;
  /** What this call took. */
  readonly ms: number;
  readonly cached: boolean;
}

const searchMethods = ['auto', 'closed', 'search', 'levels'] as const;

export interface SearchOptions extends BatchOption {
  /**
   * `closed`: arithmetic, only without a mask. `search`: on the host from a queue, or on a GPU level by level. `levels`: level by
   * level on whatever device. `auto`: closed form where there is one, else a search.
   */
  readonly method?: (typeof searchMethods)[number] | undefined;
  readonly signal?: AbortSignal | undefined;
}

const reachMethods = ['auto', 'bits'] as const;

export interface ReachOptions extends BatchOption {
  /** Only what is at most so many steps away. */
  readonly within?: number | undefined;
  /** `bits`: level by level on whatever device. `auto`: closed form without a mask, else the host or a device. */
  readonly method?: (typeof reachMethods)[number] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A call for paths: around the mask that there was when it was made. */
interface PathCall {
  readonly mask: Mask | null;
  readonly method: (typeof searchMethods)[number];
  readonly where: string;
  readonly options: SearchOptions;
}

export abstract class LatticePaths extends LatticeBase {
  protected searches = 0;
  protected levels = 0;
  #search: GridSearch | null = null;

  /** Steps from s to t. With a mask it is searched. */
  distance(s: number, t: number): number {
    this.ends(s, t, 'distance');
    if (!this.mask) return this.grid.distance(s, t);
    const found = this.#searched(this.mask, s, t, 'distance').distances[t]!;
    return found < 0 ? this.noPath(s, t, 'distance') : found;
  }

  /** Exact. With a mask, 0 if t cannot be reached. */
  countShortestPaths(s: number, t: number): bigint {
    this.ends(s, t, 'countShortestPaths');
    if (!this.mask) return this.grid.shortestPaths(s, t);
    return countPaths(this.#searched(this.mask, s, -1, 'countShortestPaths'), t);
  }

  /** Simple paths from s to t, each once, shorter ones first. */
  allPaths(s: number, t: number, o: AllPathsOptions = {}): PathIterator {
    const where = 'allPaths';
    this.ends(s, t, where);
    const limit = wholeNumber(where, 'limit', o.limit ?? 10_000, 1);
    if (o.maxLength !== undefined) wholeNumber(where, 'maxLength', o.maxLength);
    const { grid, mask } = this;
    const steps = mask ? this.#searched(mask, t, -1, where).distances.slice() : null;
    const remaining = steps ? (v: number) => steps[v]! : (v: number) => grid.distance(v, t);
    const shortest = remaining(s);
    if (shortest < 0) this.noPath(s, t, where);
    const longest = Math.min(o.maxLength ?? shortest, this.vertices - 1);
    return new PathIterator({
      source: s,
      target: t,
      shortest,
      longest,
      limit,
      neighbors: (v) => {
        this.session.check(where);
        return this.near(v, mask);
      },
      remaining,
    });
  }

  async shortestPath(s: number, t: number, o: SearchOptions = {}): Promise<PathResult> {
    const where = 'shortestPath';
    this.ends(s, t, where);
    this.wanted(where, o);
    return this.#shortest({ mask: this.mask, method: this.#method(where, o), where, options: o }, s, t);
  }

  async #shortest(call: PathCall, s: number, t: number): Promise<PathResult> {
    const start = performance.now();
    const { mask, method, where } = call;
    this.session.check(where);
    // What is remembered are paths around the present mask.
    const known = method === 'auto' && mask === this.mask ? this.cache.get(s, t) : undefined;
    const path = known ?? (await this.#path(call, s, t));
    if (!known && mask === this.mask && !this.session.closed) this.cache.set(s, t, path);
    return { path: [...path], length: path.length - 1, ms: performance.now() - start, cached: known !== undefined };
  }

  /** Many at once: with a mask, one search for all pairs with the same start. */
  async shortestPaths(pairs: readonly (readonly [number, number])[], o: SearchOptions = {}): Promise<PathResult[]> {
    const where = 'shortestPaths';
    this.session.check(where);
    if (!Array.isArray(pairs) || !pairs.every((p) => Array.isArray(p) && p.length === 2)) {
      throw invalidArgument({
        where,
        problem: `the pairs are ${kindOf(pairs)}`,
        fix: 'Give a list of [s, t].',
      });
    }
    for (const [s, t] of pairs) this.ends(s, t, where);
    this.wanted(where, o);
    const call = { mask: this.mask, method: this.#method(where, o), where, options: o };
    const one = ([s, t]: readonly [number, number]): Promise<PathResult> => this.#shortest(call, s, t);
    // In a batch all of them wait for each other; alone, neighbours in the order of their starts share a search.
    if (o.batch) return Promise.all(pairs.map(one));
    const results: PathResult[] = new Array(pairs.length);
    const order = pairs.map((_, i) => i).sort((a, b) => pairs[a]![0] - pairs[b]![0]);
    for (const i of order) {
      await look(where, o.signal);
      results[i] = await one(pairs[i]!);
    }
    return results;
  }

  /** Steps from s to every vertex; -1 where it does not get. */
  async distancesFrom(s: number, o: SearchOptions = {}): Promise<Int32Array> {
    const where = 'distancesFrom';
    this.free(s, where);
    this.wanted(where, o);
    const method = this.#method(where, o);
    const { mask } = this;
    this.addressable(where);
    if (!mask && (method === 'auto' || method === 'closed')) return this.grid.distances(s);
    if (await this.#hostSearch(method, where, o))
      return this.#searched(mask, s, -1, where, method === 'search').distances.slice();
    return this.session.orOnHost(
      where,
      () => this.#byLevels(mask, s, where, o),
      () => this.#searched(mask, s, -1, where).distances.slice(),
    );
  }

  /** Whether a search belongs on the host. In a batch the searches of all its lattices count as one. */
  async #hostSearch(method: string, where: string, { batch }: BatchOption): Promise<boolean> {
    if (method === 'levels') return false;
    return this.session.onHost('path_finding', this.grid.vertices * (batch?.lattices.length ?? 1), where);
  }

  /**
   * How many vertices a search from s reaches, and how far the last of them is. On a device it takes one bit per vertex, so it works
   * on lattices of up to 2^33 vertices, whose distances would not fit.
   */
  async reach(s: number, o: ReachOptions = {}): Promise<Reach> {
    const where = 'reach';
    this.free(s, where);
    this.wanted(where, o);
    const method = oneOf(where, 'method', o.method ?? 'auto', reachMethods);
    const most = o.within === undefined ? Number.POSITIVE_INFINITY : wholeNumber(where, 'within', o.within);
    const { grid, mask } = this;
    if (!mask && method === 'auto') return grid.reach(s, most);
    if (method === 'auto' && (await this.session.onHost('path_finding', grid.vertices, where)))
      return this.#hostReach(mask, s, most);
    return this.session.orOnHost(
      where,
      () => this.#byBits(mask, s, most, o.signal),
      () => (mask ? this.#hostReach(mask, s, most) : grid.reach(s, most)),
    );
  }

  async #byBits(mask: Mask | null, s: number, most: number, signal: AbortSignal | undefined): Promise<Reach> {
    const where = 'reach';
    const { grid } = this;
    const { words } = bitLayout(grid);
    if (words >= 2 ** 31) throw this.tooManyWords(words, where);
    const rt = await this.session.open(where);
    this.affordable(rt, 16 * words, 'a search with one bit per vertex', where);
    const farthest = mask ? grid.vertices - mask.blocked - 1 : grid.farthest(s);
    return searchBits(rt, this.session.scoped(rt, 'path_finding', where), {
      grid,
      mask,
      source: s,
      most: Math.min(most, farthest),
      signal,
      onLevel: () => {
        this.levels++;
      },
    });
  }

  #hostReach(mask: Mask | null, s: number, most: number): Reach {
    const { distances, order, reached } = this.#searched(mask, s, -1, 'reach');
    let count = reached;
    while (distances[order[count - 1]!]! > most) count--;
    return { reached: count, levels: distances[order[count - 1]!]! };
  }

  #method(where: string, o: SearchOptions): (typeof searchMethods)[number] {
    const method = oneOf(where, 'method', o.method ?? 'auto', searchMethods);
    if (method !== 'closed' || !this.mask) return method;
    throw invalidArgument({
      where,
      problem: 'there is no closed form with a mask',
      fix: "Use method: 'auto' or 'search'.",
    });
  }

  protected noPath(s: number, t: number, where: string): never {
    throw new PathNotFoundError({
      where,
      problem: `there is no path from ${s} to ${t}: blocked vertices separate them`,
      fix: 'Unblock vertices between them with setBlocked(), or ask distancesFrom() what can be reached.',
    });
  }

  async #path({ mask, method, where, options }: PathCall, s: number, t: number): Promise<readonly number[]> {
    if (!mask && (method === 'auto' || method === 'closed')) return this.grid.path(s, t);
    const onHost = (): readonly number[] => {
      const search = this.#searched(mask, s, method === 'auto' ? -1 : t, where);
      return search.distances[t]! < 0 ? this.noPath(s, t, where) : search.pathTo(t);
    };
    if (await this.#hostSearch(method, where, options)) return onHost();
    const distances = await this.session.orOnHost(
      where,
      () => this.#byLevels(mask, s, where, options),
      () => null,
    );
    if (!distances) return onHost();
    if (distances[t]! < 0) this.noPath(s, t, where);
    const path = [t];
    for (let v = t; v !== s; path.push(v)) v = this.near(v, mask).find((u) => distances[u] === distances[v]! - 1)!;
    return path.reverse();
  }

  async #byLevels(mask: Mask | null, s: number, where: string, { batch, signal }: SearchOptions): Promise<Int32Array> {
    const start: SearchStart = { mask, source: s };
    const together = (starts: readonly SearchStart[], stop?: AbortSignal): Promise<Int32Array[]> =>
      this.#searchTogether(starts, where, stop);
    if (!batch) return (await together([start], signal))[0]!;
    throwIfAborted(signal, where);
    return batch.join('levels', start, together);
  }

  async #searchTogether(starts: readonly SearchStart[], where: string, signal?: AbortSignal): Promise<Int32Array[]> {
    const rt = await this.session.open(where);
    this.affordable(rt, searchBytes * this.grid.vertices * starts.length, 'a search', where);
    return searchLevels(rt, this.session.scoped(rt, 'path_finding', where), {
      grid: this.grid,
      starts,
      signal,
      onLevel: () => {
        this.levels++;
      },
    });
  }

  /** A search from s on the host: the last one, if it went all the way from there and need not be fresh. */
  #searched(mask: Mask | null, s: number, t: number, where: string, fresh = false): GridSearch {
    this.session.check(where);
    this.addressable(where);
    if (mask !== this.mask) {
      this.searches++;
      return new GridSearch(this.grid, mask).from(s, t);
    }
    this.#search ??= GridSearch.of(this.grid, mask);
    if (!fresh && this.#search.whole && this.#search.source === s && t === -1) return this.#search;
    this.searches++;
    return this.#search.from(s, t);
  }

  protected override forget(): void {
    super.forget();
    this.#search?.end(this.grid);
    this.#search = null;
  }
}
