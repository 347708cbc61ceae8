// Shortest paths found lately, by their ends: bounded by a count and by the memory of the path elements, least recently used
// out first.

export interface PathCacheStats {
  readonly entries: number;
  readonly limit: number;
  readonly bytes: number;
  readonly hits: number;
  readonly misses: number;
  readonly evictions: number;
}

/** What the elements of all paths together may take, at four bytes each. */
const mostBytes = 64 << 20;

/** An entry's own cost: its key and its place in the list. */
const entryBytes = 16;

export class PathCache {
  readonly limit: number;
  readonly #mostBytes: number;
  /** By start, then by end; JavaScript's maps remember the order of insertion, which is the order of use here. */
  readonly #paths = new Map<string, readonly number[]>();
  #elements = 0;
  #hits = 0;
  #misses = 0;
  #evictions = 0;

  constructor(limit: number, bytes = mostBytes) {
    this.limit = limit;
    this.#mostBytes = bytes;
  }

  get(s: number, t: number): readonly number[] | undefined {
    if (this.limit === 0) return undefined;
    const key = `${s},${t}`;
    const path = this.#paths.get(key);
    if (!path) {
      this.#misses++;
      return undefined;
    }
    this.#hits++;
    this.#paths.delete(key);
    this.#paths.set(key, path);
    return path;
  }

  set(s: number, t: number, path: readonly number[]): void {
    if (this.limit === 0 || 4 * path.length > this.#mostBytes) return;
    const key = `${s},${t}`;
    this.#drop(key);
    this.#paths.set(key, path);
    this.#elements += path.length;
    for (const oldest of this.#paths.keys()) {
      if (this.#paths.size <= this.limit && 4 * this.#elements <= this.#mostBytes) return;
      this.#drop(oldest);
      this.#evictions++;
    }
  }

  clear(): void {
    this.#paths.clear();
    this.#elements = 0;
  }

  stats(): PathCacheStats {
    return {
      entries: this.#paths.size,
      limit: this.limit,
      bytes: this.#paths.size * entryBytes + 4 * this.#elements,
      hits: this.#hits,
      misses: this.#misses,
      evictions: this.#evictions,
    };
  }

  #drop(key: string): void {
    const path = this.#paths.get(key);
    if (!path) return;
    this.#elements -= path.length;
    this.#paths.delete(key);
  }
}
