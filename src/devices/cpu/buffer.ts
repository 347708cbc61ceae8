// Device buffers of the CPU: small ones in slots that need no release, the rest in blocks of the heap.
//
// Small buffers are the collector's. Telling it about each would cost more than the work done on them, so they share slabs, and a slab
// is free when no buffer in it is left. The slot of a buffer that is released before that is free at once. Slabs lie in a region of the
// WebAssembly memory that is set aside for them. Where that is full, because the collector is behind, buffers lie in arrays of the
// JavaScript heap instead, which WebAssembly code reaches only by copies.

import { Finalizer } from '../../base/finalizer.ts';
import type { DeviceBuffer } from '../device.ts';
import type { Block } from './heap.ts';
import { type CpuMemory, slabBytes } from './memory.ts';
import { Views } from './views.ts';

/** The most that a buffer in a slot holds. */
export const smallBytes = 4096;
/** The smallest slot. */
const leastBytes = 64;

export class CpuBuffer implements DeviceBuffer {
  readonly bytes: number;
  readonly collected: boolean;
  /** The array it lies in; null for those in the WebAssembly memory. */
  small: Views | null;
  /** Where the bytes begin, in `small` or in the WebAssembly memory. */
  address: number;
  /** The slab of its slot: as long as the buffer lives, so does the slab. */
  slab: Slab | null;
  /** Null once released, and for small buffers. */
  block: Block | null;
  released = false;

  constructor(bytes: number, small: Views | null, address: number, block: Block | null, slab: Slab | null = null) {
    this.bytes = bytes;
    this.collected = block === null;
    this.small = small;
    this.address = address;
    this.block = block;
    this.slab = slab;
  }

  /** Lies where another buffer of its size does from now on. */
  moveTo({ small, address, slab, block }: CpuBuffer): void {
    this.small = small;
    this.address = address;
    this.slab = slab;
    this.block = block;
  }
}

/** A stretch of the region that is cut into slots of one size. It stands for those in use: it is collected with the last of them. */
class Slab {}

/** Hands out small buffers. */
export class SmallBuffers {
  readonly #bySize: readonly Slots[];
  readonly #arrays = [new Arrays(16 * 512), new Arrays(16 * smallBytes)] as const;

  /** `settled`: whether nobody can write any more to where a buffer was. */
  constructor(memory: CpuMemory, settled: () => boolean) {
    const slabs = new Slabs(memory, settled);
    this.#bySize = Array.from({ length: sizeClass(smallBytes) + 1 }, (_, i) => new Slots(leastBytes << i, slabs));
  }

  make(bytes: number): CpuBuffer {
    return this.#bySize[sizeClass(bytes)]!.make(bytes) ?? this.#arrays[bytes <= 512 ? 0 : 1].make(bytes);
  }

  /** The slot of a buffer that nobody uses any more is free. */
  release(buffer: CpuBuffer): void {
    this.#bySize[sizeClass(buffer.bytes)]!.release(buffer);
  }
}

/** Sizes double from one class to the next. */
const sizeClass = (bytes: number): number => (bytes <= leastBytes ? 0 : 32 - Math.clz32((bytes - 1) / leastBytes));

/** The slabs of a memory. */
class Slabs {
  readonly #memory: CpuMemory;
  readonly #settled: () => boolean;
  /** Addresses of those in which nothing lies any more. */
  readonly #idle: number[] = [];
  readonly #finalizer = new Finalizer<number>((address) => this.#idle.push(address));

  constructor(memory: CpuMemory, settled: () => boolean) {
    this.#memory = memory;
    this.#settled = settled;
  }

  /** The address of a slab that is free; null if none is. */
  take(slab: Slab): number | null {
    const address = (this.#settled() ? this.#idle.pop() : undefined) ?? this.#memory.takeSlab();
    if (address !== null) this.#finalizer.register(slab, address);
    return address;
  }
}

/** Slots of one size. */
class Slots {
  readonly #bytes: number;
  readonly #slabs: Slabs;
  /** Slots of released buffers, and the slabs they are in. Two lists: the buffers themselves would be kept from the collector. */
  readonly #free: number[] = [];
  readonly #freeIn: (Slab | null)[] = [];
  /** The slab that is being cut. */
  #slab = new Slab();
  #next = 0;
  #end = 0;

  constructor(bytes: number, slabs: Slabs) {
    this.#bytes = bytes;
    this.#slabs = slabs;
  }

  make(bytes: number): CpuBuffer | null {
    const free = this.#free.pop();
    if (free !== undefined) return new CpuBuffer(bytes, null, free, null, this.#freeIn.pop()!);
    if (this.#next === this.#end && !this.#begin()) return null;
    const at = this.#next;
    this.#next = at + this.#bytes;
    return new CpuBuffer(bytes, null, at, null, this.#slab);
  }

  release(buffer: CpuBuffer): void {
    this.#free.push(buffer.address);
    this.#freeIn.push(buffer.slab);
  }

  /** Goes on in another slab; false if there is none. */
  #begin(): boolean {
    const slab = new Slab();
    const address = this.#slabs.take(slab);
    if (address === null) return false;
    this.#slab = slab;
    this.#next = address;
    this.#end = address + slabBytes;
    return true;
  }
}

/**
 * Cuts buffers from one array after the other. An array lives as long as any buffer in it, so the smallest have smaller ones: a buffer that is
 * kept keeps sixteen times its size at most, or 8 KiB.
 */
class Arrays {
  readonly #bytes: number;
  #array = new Views(new ArrayBuffer(0));
  #next = Number.POSITIVE_INFINITY;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  make(bytes: number): CpuBuffer {
    let at = this.#next;
    if (at + bytes > this.#bytes) {
      this.#array = new Views(new ArrayBuffer(this.#bytes));
      at = 0;
    }
    this.#next = (at + bytes + 7) & ~7;
    return new CpuBuffer(bytes, this.#array, at, null);
  }
}
