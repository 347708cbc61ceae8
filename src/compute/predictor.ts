// What will be asked for next, from the order in which things were asked for. The longest stretch of the recent past that has
// occurred before tells what followed it; loops of any period are learned after they went round once.

/** How much of the past is compared, at most and at least. */
const longest = 16;
const shortest = 2;
const historyLimit = 512;

export class SequencePredictor {
  readonly #history: string[] = [];
  /** Positions in the history, by the key that stands there. */
  #offset = 0;
  readonly #positions = new Map<string, number[]>();

  add(key: string): void {
    const at = this.#offset + this.#history.length;
    this.#history.push(key);
    const list = this.#positions.get(key);
    if (list) list.push(at);
    else this.#positions.set(key, [at]);
    if (this.#history.length > historyLimit) this.#forget(historyLimit / 4);
  }

  /** The next keys, most imminent first; none if the recent past was never seen before. */
  next(count: number): string[] {
    const match = this.#match();
    if (match === null) return [];
    const out: string[] = [];
    const { length } = this.#history;
    // What followed then; where that reaches the present, the loop goes on from its start.
    const period = length - match;
    for (let i = 0; i < count; i++) out.push(this.#history[match + (i % period)]!);
    return out;
  }

  /** How many requests away each key is; keys that are not expected are missing. */
  distances(count: number): Map<string, number> {
    const found = new Map<string, number>();
    this.next(count).forEach((key, i) => {
      if (!found.has(key)) found.set(key, i);
    });
    return found;
  }

  /** The index after the latest earlier occurrence of the longest recent stretch. */
  #match(): number | null {
    const h = this.#history;
    const last = h.length - 1;
    if (last < shortest) return null;
    let best: { at: number; length: number } | null = null;
    const list = this.#positions.get(h[last]!)!;
    for (let i = list.length - 2; i >= 0; i--) {
      const at = list[i]! - this.#offset;
      if (at < 0) break;
      let length = 1;
      while (length < longest && at - length >= 0 && h[at - length] === h[last - length]) length++;
      if (length > (best?.length ?? shortest - 1)) best = { at, length };
      if (length === longest) break;
    }
    return best ? best.at + 1 : null;
  }

  #forget(count: number): void {
    this.#history.splice(0, count);
    this.#offset += count;
    for (const [key, list] of this.#positions) {
      const kept = list.filter((p) => p >= this.#offset);
      if (kept.length === 0) this.#positions.delete(key);
      else this.#positions.set(key, kept);
    }
  }
}
