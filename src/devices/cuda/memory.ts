// Byte pool for one kind of memory.
//
// Hands out blocks by size class and takes them back; asks its source only when no free block fits. Small blocks are cut from
// slabs, large ones are allocations of their own. Does not know streams: a block handed back may be handed out at once,
// because work on one stream runs in order; what another stream still does with it travels along as the block's fence.

export interface MemorySource {
  /** The address, or 0 if there is no room. */
  allocate(bytes: number): number;
  free(address: number): void;
}

export interface Block {
  readonly address: number;
  /** The size class: at least what was asked for. */
  readonly bytes: number;
  readonly slab: Slab | null;
  /** An event the next user must wait for; 0 if none. */
  fence: number;
}

interface Slab {
  readonly address: number;
  readonly bytes: number;
  used: number;
  live: number;
}

const MiB = 2 ** 20;
const slabBytes = 8 * MiB;
const largestInSlab = MiB / 2;

/** Rounds a size up to its class: steps of a quarter below 1 MiB, 2 MiB granules above, eighths from 16 MiB on. */
export function sizeClass(bytes: number): number {
  if (bytes <= 256) return 256;
  const power = 2 ** Math.floor(Math.log2(bytes));
  if (bytes <= MiB) return roundUp(bytes, Math.max(256, power / 4));
  return roundUp(bytes, bytes <= 16 * MiB ? 2 * MiB : Math.max(2 * MiB, power / 8));
}

const roundUp = (n: number, step: number): number => Math.ceil(n / step) * step;

export class BlockPool {
  readonly #source: MemorySource;
  readonly #free = new Map<number, Block[]>();
  readonly #slabs = new Set<Slab>();
  #slab: Slab | null = null;
  #reserved = 0;
  #inUse = 0;

  constructor(source: MemorySource) {
    this.#source = source;
  }

  /** Bytes taken from the source. */
  get reserved(): number {
    return this.#reserved;
  }

  /** Bytes of blocks handed out. */
  get inUse(): number {
    return this.#inUse;
  }

  /** Null if there is no room even after giving back everything idle. */
  allocate(bytes: number): Block | null {
    const size = sizeClass(bytes);
    const known = this.#free.get(size)?.pop();
    const block = known ?? (size <= largestInSlab ? this.#cut(size) : this.#whole(size));
    if (!block) return null;
    if (block.slab) block.slab.live++;
    this.#inUse += size;
    return block;
  }

  release(block: Block): void {
    this.#inUse -= block.bytes;
    if (block.slab) block.slab.live--;
    const list = this.#free.get(block.bytes);
    if (list) list.push(block);
    else this.#free.set(block.bytes, [block]);
  }

  /** Gives back to the source every large block and every slab that is not in use. `before` runs once if there is any. */
  trim(before?: () => void): void {
    let told = false;
    const giveBack = (address: number, bytes: number): void => {
      if (!told) before?.();
      told = true;
      this.#source.free(address);
      this.#reserved -= bytes;
    };
    for (const slab of this.#slabs) {
      if (slab.live > 0) continue;
      this.#slabs.delete(slab);
      if (this.#slab === slab) this.#slab = null;
      giveBack(slab.address, slab.bytes);
    }
    for (const [size, list] of this.#free) {
      const kept = list.filter((b) => b.slab && this.#slabs.has(b.slab));
      for (const b of list) if (!b.slab) giveBack(b.address, b.bytes);
      if (kept.length > 0) this.#free.set(size, kept);
      else this.#free.delete(size);
    }
  }

  #cut(size: number): Block | null {
    let slab = this.#slab;
    if (!slab || slab.used + size > slab.bytes) {
      const address = this.#take(slabBytes);
      if (address === 0) return null;
      slab = { address, bytes: slabBytes, used: 0, live: 0 };
      this.#slabs.add(slab);
      this.#slab = slab;
    }
    const block: Block = { address: slab.address + slab.used, bytes: size, slab, fence: 0 };
    slab.used += size;
    return block;
  }

  #whole(size: number): Block | null {
    const address = this.#take(size);
    return address === 0 ? null : { address, bytes: size, slab: null, fence: 0 };
  }

  #take(bytes: number): number {
    let address = this.#source.allocate(bytes);
    if (address === 0) {
      this.trim();
      address = this.#source.allocate(bytes);
    }
    if (address !== 0) this.#reserved += bytes;
    return address;
  }
}
