// The allocator of the WebAssembly memory: a two-level segregated fit (Masmano et al., TLSF, ECRTS 2004) over addresses.
//
// Hands out 64-byte aligned blocks in constant time and merges free neighbours at once, so fragmentation stays bounded.
// Its bookkeeping is in JavaScript objects: the memory itself holds nothing but data, and a kernel gone wrong cannot
// corrupt the allocator. Freed blocks come first; only then does the top move into memory that was never touched.
// `commit` is asked before the top moves and may refuse; nothing has changed then.

import { FreeLists } from '../../base/free-lists.ts';

const unit = 64;
/** Free memory that is no matter, however little is in use. */
const spareBytes = 32 << 20;

/** A stretch of memory. Owned by the heap; `address` and `bytes` are for its user to read. */
export class Block {
  readonly address: number;
  units: number;
  free = false;
  /** Neighbours in memory. */
  before: Block | null;
  after: Block | null = null;
  /** Neighbours in the free list. */
  previous: Block | null = null;
  next: Block | null = null;

  constructor(address: number, units: number, before: Block | null) {
    this.address = address;
    this.units = units;
    this.before = before;
  }

  /** The room in the block, at least what was asked for. */
  get bytes(): number {
    return this.units * unit;
  }
}

export interface HeapOptions {
  /** First address to hand out, a multiple of 64. */
  readonly base: number;
  /** End of what may be handed out. */
  readonly limit: number;
  /** Makes the memory below this address usable. */
  readonly commit: (end: number) => boolean;
}

export class Heap {
  readonly #lists = new FreeLists<Block>();
  readonly #base: number;
  readonly #limit: number;
  readonly #commit: (end: number) => boolean;
  #top: number;
  #last: Block | null = null;
  #used = 0;

  constructor(options: HeapOptions) {
    this.#base = options.base;
    this.#limit = Math.floor((options.limit - options.base) / unit) * unit + options.base;
    this.#commit = options.commit;
    this.#top = options.base;
  }

  /** Bytes in blocks that are handed out. */
  get used(): number {
    return this.#used;
  }

  /** Bytes below the top: handed out, or free and held for reuse. */
  get held(): number {
    return this.#top - this.#base;
  }

  get capacity(): number {
    return Math.max(0, this.#limit - this.#base);
  }

  /** End of the memory that was ever handed out since the last `trim`. */
  get top(): number {
    return this.#top;
  }

  /** The largest request that would succeed, as far as the limit goes. */
  get largest(): number {
    const above = this.#limit - this.#top + (this.#last?.free ? this.#last.bytes : 0);
    return Math.max(above, this.#lists.largest()?.bytes ?? 0);
  }

  /** A block of at least `bytes`, or null if there is no room. */
  allocate(bytes: number): Block | null {
    const units = Math.max(1, Math.ceil(bytes / unit));
    if (units * unit > this.capacity) return null;
    const found = this.#lists.find(units);
    if (found && (found.units <= 16 * units || !this.#mayExtend(units * unit))) return this.#take(found, units);
    const grown = this.#extend(units);
    if (grown) return grown;
    const last = found ?? this.#lists.search(units);
    return last && this.#take(last, units);
  }

  free(block: Block): void {
    if (block.free) throw new Error('cpu heap: block freed twice');
    this.#used -= block.bytes;
    let merged = block;
    const { before, after } = block;
    if (after?.free) {
      this.#unlink(after);
      this.#absorb(block, after);
    }
    if (before?.free) {
      this.#unlink(before);
      this.#absorb(before, block);
      merged = before;
    }
    this.#link(merged);
  }

  /** Forgets the free block at the top, so that the next growth starts lower. */
  trim(): void {
    const last = this.#last;
    if (!last?.free) return;
    this.#unlink(last);
    this.#top = last.address;
    this.#last = last.before;
    if (last.before) last.before.after = null;
  }

  /** Every block in order of address, for tests and reports. */
  *blocks(): Generator<Block> {
    const list: Block[] = [];
    for (let b = this.#last; b; b = b.before) list.push(b);
    yield* list.reverse();
  }

  #take(block: Block, units: number): Block {
    this.#unlink(block);
    if (block.units > units) {
      const rest = new Block(block.address + units * unit, block.units - units, block);
      rest.after = block.after;
      if (rest.after) rest.after.before = rest;
      else this.#last = rest;
      block.after = rest;
      block.units = units;
      this.#link(rest);
    }
    this.#used += block.bytes;
    return block;
  }

  /**
   * Whether a fresh stretch may be taken although a much larger free block is there. A small piece cut out of that would cost
   * the next user of the large one a fresh stretch; but what is free must not outgrow what is in use for it.
   */
  #mayExtend(bytes: number): boolean {
    return this.#top + bytes <= this.#limit && this.held + bytes <= 1.25 * this.#used + spareBytes;
  }

  /** Moves the top; a free block just below it becomes part of the new one. */
  #extend(units: number): Block | null {
    const last = this.#last;
    const grown = last?.free ? last : null;
    const missing = units - (grown?.units ?? 0);
    const end = this.#top + missing * unit;
    // A free block at the top that already fits is a matter of `take`.
    if (missing <= 0 || end > this.#limit || !this.#commit(end)) return null;
    this.#top = end;
    if (grown) {
      this.#unlink(grown);
      grown.units = units;
      this.#used += grown.bytes;
      return grown;
    }
    const made = new Block(end - units * unit, units, last);
    if (last) last.after = made;
    this.#last = made;
    this.#used += made.bytes;
    return made;
  }

  #absorb(into: Block, gone: Block): void {
    into.units += gone.units;
    into.after = gone.after;
    if (gone.after) gone.after.before = into;
    else this.#last = into;
  }

  #link(block: Block): void {
    block.free = true;
    this.#lists.add(block);
  }

  #unlink(block: Block): void {
    block.free = false;
    this.#lists.remove(block);
  }
}
