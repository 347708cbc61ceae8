// Buffers of one device: a pool by size classes under a budget.
//
// A block is a buffer of its own, since WebGPU has no pointers into buffers. A request takes an idle block of its class, or a
// somewhat larger one; a new block is made only if there is none, and then idle ones that were not used for longest go first
// where the pool would hold more than `slack` beyond the most that was ever in use. Blocks cannot be split or joined, so a
// program whose sizes come back needs more at times: when blocks of a size are made again and again that were destroyed a short
// while ago, the pool may hold as much more.
//
// WebGPU runs everything in the order of submission, so a block may be handed out again as soon as it is released. The
// standard tells nobody how much memory a GPU has: the budget is given, assumed, or learned from the first allocation
// the GPU refuses. That refusal arrives later than `allocate` returns; until then the block is only presumed good, and
// what was computed with it fails with OutOfMemory (see queue.ts).

import type { ForgeError, OutOfMemory } from '../../errors.ts';
import type { DeviceBuffer } from '../device.ts';
import { usage } from './constants.ts';
import { outOfMemory, tooLarge } from './errors.ts';

/** A buffer of the GPU, in use or idle. */
export interface Block {
  readonly id: number;
  readonly gpu: GPUBuffer;
  readonly size: number;
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

const smallest = 256;

/** Blocks from this size on are worth a submit of their own until the GPU has confirmed them. */
const unsureBytes = 16 << 20;

/** Idle memory that is kept when a new block has to be made, as a share of the largest use so far. */
const slack = 0.08;

/** Below this, keeping idle blocks is no question. */
const leastSlack = 8 << 20;

/** The most that may be kept for sizes that come back, as a share of the largest use so far. */
const mostSlack = 0.5;

/** Destroyed blocks that are remembered, to know whether they should have been kept. */
const remembered = 64;

/** How much larger than its class an idle block may be for a request to take it. */
const oversize = 1.5;

/** Powers of two in sixteenths, at least 256 bytes, never above the largest binding. */
export function sizeClass(bytes: number, largest: number): number {
  if (bytes <= smallest) return smallest;
  const step = 2 ** Math.max(Math.floor(Math.log2(bytes)) - 4, 4);
  return Math.min(Math.ceil(bytes / step) * step, largest);
}

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
  /** By size, the one released last at the end. */
  readonly #idle = new Map<number, Block[]>();
  /** All idle blocks, the one that is idle for longest first. */
  readonly #oldest = new Set<Block>();
  #budget: number;
  #nextId = 1;
  #used = 0;
  #idleBytes = 0;
  #peak = 0;
  /** Sizes of blocks that were destroyed to make room, the earliest first. */
  #destroyed: number[] = [];
  /** How often blocks had to be made anew, by size in quarter steps of powers of two. */
  readonly #regrets = new Map<number, number>();
  /** What may be kept beyond `slack`. */
  #regretted = 0;
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
    const size = sizeClass(bytes, this.#largest);
    const block = this.#reuse(size) ?? this.#make(size, bytes);
    this.#used += block.size;
    if (this.#used > this.#peak) this.#peak = this.#used;
    return new GpuBuffer(bytes, block);
  }

  release(buffer: GpuBuffer): void {
    const block = buffer.block;
    if (!block) return;
    buffer.block = null;
    buffer.fault = null;
    this.#used -= block.size;
    if (block.failure) return;
    const list = this.#idle.get(block.size);
    if (list) list.push(block);
    else this.#idle.set(block.size, [block]);
    this.#oldest.add(block);
    this.#idleBytes += block.size;
  }

  /** Destroys idle blocks, those idle for longest first, until at most `most` bytes are idle; gives back how many. */
  trim(most = 0): number {
    if (most === 0) {
      this.#peak = this.#used;
      this.#regretted = 0;
      this.#regrets.clear();
      this.#destroyed = [];
    }
    if (this.#idleBytes <= most) return 0;
    this.#beforeDestroy();
    let count = 0;
    for (const block of this.#oldest) {
      if (this.#idleBytes <= most) break;
      this.#forget(block);
      block.gpu.destroy();
      this.#destroyed.push(block.size);
      count++;
    }
    if (this.#destroyed.length > remembered) this.#destroyed.splice(0, this.#destroyed.length - remembered);
    return count;
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

  /** An idle block of the class, or of one of the next. */
  #reuse(size: number): Block | undefined {
    if (this.#idleBytes < size) return undefined;
    for (let s = size; s <= oversize * size; s = sizeClass(s + 1, this.#largest)) {
      const block = this.#idle.get(s)?.at(-1);
      if (block) {
        this.#forget(block);
        return block;
      }
      if (s === this.#largest) break;
    }
    return undefined;
  }

  #make(size: number, bytes: number): Block {
    const peak = Math.max(this.#peak, this.#used + size);
    this.#regret(size, peak);
    const allowed = peak + Math.max(slack * peak, leastSlack) + this.#regretted;
    if (this.#used + this.#idleBytes + size > allowed) this.trim(Math.max(allowed - this.#used - size, 1));
    if (this.#used + this.#idleBytes + size > this.#budget) this.trim();
    if (this.#used + size > this.#budget) throw outOfMemory(this.#id, bytes, Math.max(this.#budget - this.#used, 0));
    return this.#create(size);
  }

  /** Learns from a block of this size having to be made although one was destroyed recently: once may be chance. */
  #regret(size: number, peak: number): void {
    const again = this.#destroyed.findIndex((d) => d >= size && d <= oversize * size);
    if (again < 0) return;
    this.#destroyed.splice(again, 1);
    const kind = Math.floor(4 * Math.log2(size));
    const times = (this.#regrets.get(kind) ?? 0) + 1;
    this.#regrets.set(kind, times);
    if (times > 1) this.#regretted = Math.min(this.#regretted + size, mostSlack * peak);
  }

  /** Takes a block out of the idle ones. */
  #forget(block: Block): void {
    const list = this.#idle.get(block.size)!;
    // Nearly always the first or the last one.
    if (list.at(-1) === block) list.pop();
    else list.splice(list.indexOf(block), 1);
    if (list.length === 0) this.#idle.delete(block.size);
    this.#oldest.delete(block);
    this.#idleBytes -= block.size;
  }

  #create(size: number): Block {
    const id = this.#nextId++;
    this.#device.pushErrorScope('out-of-memory');
    const gpu = this.#device.createBuffer({ size, usage: usage.storage | usage.copySrc | usage.copyDst });
    const block: Block = { id, gpu, size, failure: null, unsure: size >= unsureBytes };
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
    const idle = this.#oldest.has(block);
    if (idle) this.#forget(block);
    const held = this.#used + this.#idleBytes - (idle ? 0 : block.size);
    // Known now: this much more does not fit. Idle blocks go, so that the next attempt has their room.
    this.#budget = Math.min(this.#budget, held + block.size - smallest);
    block.failure = outOfMemory(this.#id, block.size, 0, error);
    this.trim();
  }
}
