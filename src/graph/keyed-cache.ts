// Values by keys of whole numbers, as traces give them.

type Bucket<T> = { readonly key: Int32Array; readonly value: T }[];

/** Values by key. A hit compares every word of the key. Holds the `most` values used last, and at most as many again. */
export class KeyedCache<T> {
  readonly #most: number;
  /** What was used lately, and what was used before that; the latter goes when the former is full. */
  #young = new Map<number, Bucket<T>>();
  #old = new Map<number, Bucket<T>>();
  #count = 0;
  #oldCount = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#count + this.#oldCount;
  }

  get(key: Int32Array, length: number): T | undefined {
    const h = hash(key, length);
    const young = this.#young.get(h);
    if (young) for (let i = 0; i < young.length; i++) if (equal(young[i]!.key, key, length)) return young[i]!.value;
    if (this.#oldCount === 0) return undefined;
    const old = this.#old.get(h);
    const at = old ? old.findIndex((e) => equal(e.key, key, length)) : -1;
    if (at < 0) return undefined;
    const [entry] = old!.splice(at, 1);
    this.#oldCount--;
    this.#put(h, entry!);
    return entry!.value;
  }

  set(key: Int32Array, length: number, value: T): void {
    this.#put(hash(key, length), { key: key.slice(0, length), value });
  }

  *values(): Generator<T> {
    for (const buckets of [this.#young, this.#old]) for (const b of buckets.values()) for (const e of b) yield e.value;
  }

  #put(h: number, entry: Bucket<T>[number]): void {
    if (this.#count >= this.#most) {
      [this.#old, this.#oldCount] = [this.#young, this.#count];
      [this.#young, this.#count] = [new Map(), 0];
    }
    const bucket = this.#young.get(h);
    if (bucket) bucket.push(entry);
    else this.#young.set(h, [entry]);
    this.#count++;
  }
}

/** Two sums side by side, which do not wait for each other. */
function hash(key: Int32Array, length: number): number {
  let [a, b] = [length, 0];
  for (let i = 1; i < length; i += 2) {
    a = (Math.imul(a, 31) + key[i - 1]!) | 0;
    b = (Math.imul(b, 37) + key[i]!) | 0;
  }
  if (length % 2 === 1) a = (Math.imul(a, 31) + key[length - 1]!) | 0;
  return (Math.imul(a, 31) + b) | 0;
}

function equal(a: Int32Array, b: Int32Array, length: number): boolean {
  if (a.length !== length) return false;
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return false;
  return true;
}
