// Buffers of one device: a pool of whole blocks that holds little more than was ever asked for at once.
//
// A block is a buffer of its own, since WebGPU has no pointers into buffers: blocks cannot be split or joined. A request takes
// the smallest idle block that holds it, also a much larger one, as long as all blocks in use together are larger than
// what was asked for by no more than `waste`. A new block is made only if there is none, and then idle ones go first, large and
// long idle ones before others, where the pool would hold more than `slack` beyond the most that was ever asked for at once.
// A loop whose sizes come back needs more at times: see regrets.ts.
//
// WebGPU runs everything in the order of submission, so a block may be handed out again as soon as it is released. The
// standard tells nobody how much memory a GPU has: the budget is given, assumed, or learned from the first allocation
// the GPU refuses. That refusal arrives later than `allocate` returns; until then the block is only presumed good, and
// what was computed with it fails with OutOfMemory (see queue.ts).

import type { ForgeError, OutOfMemory } from '../../errors.ts';
import type { DeviceBuffer } from '../device.ts';
import { usage } from './constants.ts';
import { outOfMemory, tooLarge } from './errors.ts';
import { Regrets } from './regrets.ts';

/** A buffer of the GPU, in use or idle. */
export interface Block {
  readonly id: number;
  readonly gpu: GPUBuffer;
  readonly size: number;
  /** When it was given back, as a count of allocations. */
  since: number;
  failure: OutOfMemory | null;
  /** Large, and the GPU has not said yet whether it could be had. */
  unsure: boolean;
}

/** What the runtime holds. `fault` says why its contents cannot be trusted. */
export class GpuBuffer implements DeviceBuffer {
  readonly bytes: number;
  readonly collected = false;
  block: Block | null;
  fault: ForgeError | null = null;

  constructor(bytes: number, block: Block) {
    this.bytes = bytes;
    this.block = block;
  }
}

/** Sizes of blocks are multiples of this. */
const unit = 256;

/** Blocks from this size on are worth a submit of their own until the GPU has confirmed them. */
const unsureBytes = 16 << 20;

/** Memory that is kept beyond the most that was ever asked for at once, as a share of it. */
const slack = 0.075;

/** The part of it that blocks in use may be larger than what was asked for: unlike idle ones, they cannot be given back. */
const waste = 0.06;

/** Below this, neither is a question. */
const leastSlack = 8 << 20;

/** How many times larger than a request a block for it may be. */
const oversize = 8;

export interface PoolLimits {
  /** Largest single buffer. */
  readonly largest: number;
  readonly budget: number;
}

export class Pool {
  readonly #device: GPUDevice;
  readonly #id: string;
  readonly #largest: number;
  /** Called before blocks are destroyed: work that names them must have been submitted. */
  readonly #beforeDestroy: () => void;
  /** By size; of equal ones, the one released last is the last. */
  readonly #idle: Block[] = [];
  readonly #regrets = new Regrets();
  #budget: number;
  #nextId = 1;
  #clock = 0;
  /** Bytes of blocks in use, and of what was asked for. */
  #used = 0;
  #asked = 0;
  #idleBytes = 0;
  /** The most that was asked for at once. */
  #peak = 0;
  #learned = false;

  constructor(device: GPUDevice, id: string, limits: PoolLimits, beforeDestroy: () => void) {
    this.#device = device;
    this.#id = id;
    this.#largest = limits.largest - (limits.largest % 16);
    this.#budget = limits.budget;
    this.#beforeDestroy = beforeDestroy;
  }

  allocate(bytes: number): GpuBuffer {
    if (bytes > this.#largest) throw tooLarge(this.#id, bytes, this.#largest);
    const size = this.#sizeFor(bytes);
    this.#regrets.asked(size);
    const block = this.#reuse(size) ?? this.#make(size, bytes);
    this.#clock++;
    this.#used += block.size;
    this.#asked += size;
    if (this.#asked > this.#peak) this.#peak = this.#asked;
    return new GpuBuffer(bytes, block);
  }

  release(buffer: GpuBuffer): void {
    const block = buffer.block;
    if (!block) return;
    buffer.block = null;
    buffer.fault = null;
    this.#used -= block.size;
    this.#asked -= this.#sizeFor(buffer.bytes);
    if (block.failure) return;
    block.since = this.#clock;
    this.#putIn(block);
  }

  /** Destroys everything idle, and forgets how much was ever in use. */
  trim(): void {
    this.#idleBytes = 0;
    this.#destroy(this.#idle.splice(0));
    this.#peak = this.#asked;
    this.#regrets.clear();
  }

  figures(): { total: number; free: number; used: number; idle: number; learned: boolean } {
    return {
      total: this.#budget,
      free: Math.max(this.#budget - this.#used, 0),
      used: this.#used,
      idle: this.#idleBytes,
      learned: this.#learned,
    };
  }

  #sizeFor(bytes: number): number {
    return Math.min(Math.max(1, Math.ceil(bytes / unit)) * unit, this.#largest);
  }

  /** Where the first idle block of at least this size is. */
  #position(size: number): number {
    let [low, high] = [0, this.#idle.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#idle[middle]!.size < size) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #reuse(size: number): Block | undefined {
    const larger = this.#idle[this.#position(size)]?.size;
    if (larger === undefined) return undefined;
    if (larger > size) {
      const usual = Math.max(waste * this.#peak, leastSlack) + this.#regrets.allowance;
      // What was in use at once before must still fit into the budget.
      const allowed = Math.min(usual, this.#budget - this.#peak);
      if (larger > oversize * size || this.#used - this.#asked + larger - size > allowed) return undefined;
    }
    return this.#takeOut(this.#position(larger + 1) - 1);
  }

  #make(size: number, bytes: number): Block {
    if (this.#used + size > this.#budget) {
      this.trim();
      throw outOfMemory(this.#id, bytes, Math.max(this.#budget - this.#used, 0));
    }
    const peak = Math.max(this.#peak, this.#asked + size);
    this.#regrets.made(size, peak);
    const allowed = Math.min(this.#budget, peak + Math.max(slack * peak, leastSlack) + this.#regrets.allowance);
    this.#makeRoom(this.#used + this.#idleBytes + size - allowed, peak);
    return this.#create(size);
  }

  /** Destroys idle blocks of so many bytes, as far as there are any: first those that were many bytes for long. */
  #makeRoom(bytes: number, peak: number): void {
    const gone: Block[] = [];
    let left = bytes;
    while (left > 0 && this.#idle.length > 0) {
      let [worst, most] = [0, 0];
      for (let i = 0; i < this.#idle.length; i++) {
        const { since, size } = this.#idle[i]!;
        const burden = (this.#clock + 1 - since) * size;
        if (burden > most) [worst, most] = [i, burden];
      }
      const block = this.#takeOut(worst);
      gone.push(block);
      left -= block.size;
    }
    const destroyed: Block[] = [];
    for (const b of gone) {
      // What went before a large one may not have been needed.
      if (b.size <= -left) {
        left += b.size;
        this.#putIn(b);
      } else {
        destroyed.push(b);
        this.#regrets.destroyed(b.size, peak);
      }
    }
    this.#destroy(destroyed);
  }

  #putIn(block: Block): void {
    this.#idle.splice(this.#position(block.size + 1), 0, block);
    this.#idleBytes += block.size;
  }

  #takeOut(at: number): Block {
    const [block] = this.#idle.splice(at, 1);
    this.#idleBytes -= block!.size;
    return block!;
  }

  #destroy(blocks: readonly Block[]): void {
    if (blocks.length > 0) this.#beforeDestroy();
    for (const b of blocks) b.gpu.destroy();
  }

  #create(size: number): Block {
    const id = this.#nextId++;
    this.#device.pushErrorScope('out-of-memory');
    const gpu = this.#device.createBuffer({ size, usage: usage.storage | usage.copySrc | usage.copyDst });
    const block: Block = { id, gpu, size, since: 0, failure: null, unsure: size >= unsureBytes };
    this.#device.popErrorScope().then(
      (error) => {
        block.unsure = false;
        if (error) this.#refused(block, error);
      },
      () => {},
    );
    return block;
  }

  #refused(block: Block, error: unknown): void {
    this.#learned = true;
    const at = this.#idle.indexOf(block);
    if (at >= 0) this.#takeOut(at);
    const held = this.#used + this.#idleBytes - (at >= 0 ? 0 : block.size);
    // Known now: this much more does not fit. Idle blocks go, so that the next attempt has their room.
    this.#budget = Math.min(this.#budget, held + block.size - unit);
    block.failure = outOfMemory(this.#id, block.size, 0, error);
    this.trim();
  }
}
