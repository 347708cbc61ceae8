// Idle blocks of a pool, by size: which one serves a request best, and which ones go first when memory must be given back.
//
// Knows sizes and the order in which blocks became idle, nothing else: who may be lent what, and who is destroyed, is the pool's matter.

export interface IdleBlock {
  readonly size: number;
  /** When it became idle, as a count of such events. */
  since: number;
}

export class IdleBlocks<B extends IdleBlock> {
  /** By size; of equal ones, the one that became idle last is the last. */
  readonly #blocks: B[] = [];
  #bytes = 0;
  #clock = 0;

  /** All of them together. */
  get bytes(): number {
    return this.#bytes;
  }

  put(block: B): void {
    block.since = ++this.#clock;
    this.#insert(block);
  }

  /** The smallest block of at least this size; of equal ones, the one that became idle last. */
  best(size: number): B | undefined {
    const found = this.#blocks[this.#position(size)];
    return found && this.#blocks[this.#position(found.size + 1) - 1];
  }

  /** Takes a block out; false if it is not idle. */
  take(block: B): boolean {
    // Nearly always the last one of its size.
    for (let at = this.#position(block.size + 1) - 1; this.#blocks[at]?.size === block.size; at--) {
      if (this.#blocks[at] !== block) continue;
      this.#remove(at);
      return true;
    }
    return false;
  }

  takeAll(): B[] {
    this.#bytes = 0;
    return this.#blocks.splice(0);
  }

  /** Takes out blocks of so many bytes, or all of them: first those that were many bytes for long, and none needlessly. */
  takeFor(bytes: number): B[] {
    const taken: B[] = [];
    let left = bytes;
    while (left > 0 && this.#blocks.length > 0) {
      const block = this.#remove(this.#heaviest());
      taken.push(block);
      left -= block.size;
    }
    return taken.filter((b) => {
      // What went before a large one may not have been needed.
      const needless = b.size <= -left;
      if (needless) {
        left += b.size;
        this.#insert(b);
      }
      return !needless;
    });
  }

  #heaviest(): number {
    let [at, most] = [0, 0];
    for (let i = 0; i < this.#blocks.length; i++) {
      const { since, size } = this.#blocks[i]!;
      const weight = (this.#clock + 1 - since) * size;
      if (weight > most) [at, most] = [i, weight];
    }
    return at;
  }

  #insert(block: B): void {
    let at = this.#position(block.size + 1);
    while (at > 0 && this.#blocks[at - 1]!.size === block.size && this.#blocks[at - 1]!.since > block.since) at--;
    this.#blocks.splice(at, 0, block);
    this.#bytes += block.size;
  }

  #remove(at: number): B {
    const [block] = this.#blocks.splice(at, 1);
    this.#bytes -= block!.size;
    return block!;
  }

  /** Where the first block of at least this size is. */
  #position(size: number): number {
    let [low, high] = [0, this.#blocks.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#blocks[middle]!.size < size) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
