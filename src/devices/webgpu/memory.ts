// Buffers of one device: a pool of whole blocks that holds little more than was ever asked for at once.
//
// A block is a buffer of its own, since WebGPU has no pointers into buffers: blocks cannot be split or joined. A request takes
// the smallest idle block that holds it, also a much larger one, as long as all blocks in use together are larger than
// what was asked for by no more than `waste`. A new block is made only if there is none, and then idle ones go first, large and
// long idle ones before others, where the pool would hold more than `slack` beyond the most that was ever asked for at once.
// A loop whose sizes come back may need more: see regrets.ts.
//
// WebGPU runs everything in the order of submission, so a block may be handed out again as soon as it is released. The
// standard tells nobody how much memory a GPU has: the budget is given, assumed, or learned from the first allocation
// the GPU refuses. That refusal arrives later than `allocate` returns; until then the block is only presumed good, and
// what was computed with it fails with OutOfMemory (see queue.ts).

import type { ForgeError, OutOfMemory } from '../../errors.ts';
import type { DeviceBuffer } from '../device.ts';
import { IdleBlocks } from '../idle.ts';
import { Regrets } from '../regrets.ts';
import { usage } from './constants.ts';
import { outOfMemory, tooLarge } from './errors.ts';

/** A buffer of the GPU, in use or idle. */
export interface Block {
  readonly id: number;
  readonly gpu: GPUBuffer;
  readonly size: number;
  /** When it was given back: see idle.ts. */
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

/** The most that may be kept beyond that for loops, as a share of the most that was ever asked for at once. */
const mostLearned = 0.4;

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
  readonly #idle = new IdleBlocks<Block>();
  readonly #regrets = new Regrets(mostLearned);
  #budget: number;
  #nextId = 1;
  /** Bytes of blocks in use, and of what was asked for. */
  #used = 0;
  #asked = 0;
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
    if (!block.failure) this.#idle.put(block);
  }

  /** Destroys everything idle, and forgets how much was ever in use. */
  trim(): void {
    this.#destroy(this.#idle.takeAll());
    this.#peak = this.#asked;
    this.#regrets.clear();
  }

  figures(): { total: number; free: number; used: number; idle: number; learned: boolean } {
    return {
      total: this.#budget,
      free: Math.max(this.#budget - this.#used, 0),
      used: this.#used,
      idle: this.#idle.bytes,
      learned: this.#learned,
    };
  }

  #sizeFor(bytes: number): number {
    return Math.min(Math.max(1, Math.ceil(bytes / unit)) * unit, this.#largest);
  }

  #reuse(size: number): Block | undefined {
    const block = this.#idle.best(size);
    if (!block) return undefined;
    if (block.size > size) {
      const usual = Math.max(waste * this.#peak, leastSlack) + this.#regrets.allowance;
      // What was in use at once before must still fit into the budget.
      const allowed = Math.min(usual, this.#budget - this.#peak);
      if (block.size > oversize * size || this.#used - this.#asked + block.size - size > allowed) return undefined;
    }
    this.#idle.take(block);
    return block;
  }

  #make(size: number, bytes: number): Block {
    if (this.#used + size > this.#budget) {
      this.trim();
      throw outOfMemory(this.#id, bytes, Math.max(this.#budget - this.#used, 0));
    }
    const peak = Math.max(this.#peak, this.#asked + size);
    this.#regrets.made(size, peak);
    const allowed = Math.min(this.#budget, peak + Math.max(slack * peak, leastSlack) + this.#regrets.allowance);
    const gone = this.#idle.takeFor(this.#used + this.#idle.bytes + size - allowed);
    this.#destroy(gone);
    for (const b of gone) this.#regrets.destroyed(b.size, peak);
    return this.#create(size);
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
    const idle = this.#idle.take(block);
    const held = this.#used + this.#idle.bytes - (idle ? 0 : block.size);
    // Known now: this much more does not fit. Idle blocks go, so that the next attempt has their room.
    this.#budget = Math.min(this.#budget, held + block.size - unit);
    block.failure = outOfMemory(this.#id, block.size, 0, error);
    this.trim();
  }
}
