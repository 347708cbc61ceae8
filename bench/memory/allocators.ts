// The devices' own allocators over simulated memory of a given size: what they take from the driver is counted, nothing is
// touched. Every block of the simulation is checked against its neighbours, so an allocator that overlaps blocks is found.

import { Heap } from '../../src/devices/cpu/heap.ts';
import { type Arena, VirtualArena, type VirtualMemory } from '../../src/devices/cuda/arena.ts';
import { type MemorySource, SegmentArena } from '../../src/devices/cuda/segments.ts';
import { Pool } from '../../src/devices/webgpu/memory.ts';

/** An allocator as the replay sees it. */
export interface Allocator {
  readonly name: string;
  allocate(bytes: number): unknown;
  release(block: unknown): void;
  reserved(): number;
  /** How often the driver was asked so far. */
  calls(): number;
  /** Where a block is, if it has an address. */
  address?(block: unknown): number;
}

const MiB = 2 ** 20;

/** Addresses with memory mapped behind them in granules. */
class SimulatedVirtual implements VirtualMemory {
  readonly granule = 2 * MiB;
  calls = 0;
  readonly #limit: number;
  #held = 0;
  #next = 2 ** 40;

  constructor(limit: number) {
    this.#limit = limit;
  }

  reserve(bytes: number): number {
    const address = this.#next;
    this.#next += bytes;
    return address;
  }

  unreserve(): void {}

  map(_address: number, bytes: number): number {
    this.calls++;
    if (this.#held + bytes > this.#limit) return 0;
    this.#held += bytes;
    return this.calls;
  }

  enable(): boolean {
    return true;
  }

  unmap(_address: number, bytes: number): void {
    this.calls++;
    this.#held -= bytes;
  }
}

class SimulatedSegments implements MemorySource {
  calls = 0;
  readonly #limit: number;
  readonly #live = new Map<number, number>();
  #held = 0;
  #next = 2 ** 40;

  constructor(limit: number) {
    this.#limit = limit;
  }

  allocate(bytes: number): number {
    this.calls++;
    if (this.#held + bytes > this.#limit) return 0;
    const address = this.#next;
    this.#next += bytes;
    this.#held += bytes;
    this.#live.set(address, bytes);
    return address;
  }

  free(address: number): void {
    this.calls++;
    this.#held -= this.#live.get(address)!;
    this.#live.delete(address);
  }
}

type Stretch = NonNullable<ReturnType<Arena['allocate']>>;

function ofArena(name: string, arena: Arena, calls: () => number): Allocator {
  return {
    name,
    allocate: (bytes) => arena.allocate(bytes),
    release: (block) => arena.release(block as Stretch),
    reserved: () => arena.reserved,
    calls,
    address: (block) => (block as Stretch).address,
  };
}

/** Buffers without memory; WebGPU says later whether they could be had, and here always that they could. */
function simulatedGpu(count: () => void): GPUDevice {
  const granted = Promise.resolve(null);
  return {
    pushErrorScope: () => {},
    popErrorScope: () => granted,
    createBuffer: () => {
      count();
      return { destroy: count };
    },
  } as unknown as GPUDevice;
}

/** Fresh allocators for a device of so many bytes. */
export const allocators: Readonly<Record<string, (bytes: number) => Allocator>> = {
  cuda: (bytes) => {
    const memory = new SimulatedVirtual(bytes);
    return ofArena('cuda', VirtualArena.open(memory, { total: bytes, settle: () => {} })!, () => memory.calls);
  },
  'cuda segments': (bytes) => {
    const source = new SimulatedSegments(bytes);
    return ofArena('cuda segments', new SegmentArena(source), () => source.calls);
  },
  webgpu: (bytes) => {
    let calls = 0;
    const pool = new Pool(
      simulatedGpu(() => void calls++),
      'webgpu:0',
      { largest: bytes, budget: bytes },
      () => {},
    );
    return {
      name: 'webgpu',
      allocate: (n) => pool.allocate(n),
      release: (block) => pool.release(block as ReturnType<Pool['allocate']>),
      reserved: () => {
        const { used, idle } = pool.figures();
        return used + idle;
      },
      calls: () => calls,
    };
  },
  cpu: (bytes) => {
    let calls = 0;
    // The memory grows in steps; each is a call to the system.
    let committed = 0;
    const step = 16 * MiB;
    const heap = new Heap({
      base: 0,
      limit: bytes,
      commit: (end) => {
        if (end > committed) {
          calls++;
          committed = Math.max(end, committed + step);
        }
        return true;
      },
    });
    return {
      name: 'cpu',
      allocate: (n) => heap.allocate(n),
      release: (block) => heap.free(block as NonNullable<ReturnType<Heap['allocate']>>),
      reserved: () => heap.held,
      calls: () => calls,
      address: (block) => (block as { address: number }).address,
    };
  },
};
