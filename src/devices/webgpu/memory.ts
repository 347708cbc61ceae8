// Buffers of one device: a pool by size classes under a budget.
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

/** Powers of two in quarter steps, at least 256 bytes, never above the largest binding. */
export function sizeClass(bytes: number, largest: number): number {
  if (bytes <= smallest) return smallest;
  const step = 2 ** Math.max(Math.floor(Math.log2(bytes - 1)) - 2, 4);
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
  readonly #idle = new Map<number, Block[]>();
  #budget: number;
  #nextId = 1;
  #used = 0;
  #idleBytes = 0;
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
    const idle = this.#idle.get(size)?.pop();
    if (idle) {
      this.#idleBytes -= size;
      this.#used += size;
      return new GpuBuffer(bytes, idle);
    }
    if (this.#used + this.#idleBytes + size > this.#budget) this.trim();
    if (this.#used + size > this.#budget) throw outOfMemory(this.#id, bytes, Math.max(this.#budget - this.#used, 0));
    const block = this.#create(size);
    this.#used += size;
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
    this.#idleBytes += block.size;
  }

  /** Destroys idle blocks; gives back how many. */
  trim(): number {
    let count = 0;
    if (this.#idleBytes > 0) this.#beforeDestroy();
    for (const list of this.#idle.values()) {
      for (const block of list) block.gpu.destroy();
      count += list.length;
    }
    this.#idle.clear();
    this.#idleBytes = 0;
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
    const idle = this.#idle.get(block.size);
    const at = idle?.indexOf(block) ?? -1;
    if (at >= 0) {
      idle!.splice(at, 1);
      this.#idleBytes -= block.size;
    }
    const held = this.#used + this.#idleBytes - (at >= 0 ? 0 : block.size);
    // Known now: this much more does not fit. Idle blocks go, so that the next attempt has their room.
    this.#budget = Math.min(this.#budget, held + block.size - smallest);
    block.failure = outOfMemory(this.#id, block.size, 0, error);
    this.trim();
  }
}
