// The WebAssembly memory of one CPU device: a fixed region for control and staging, then the heap.
//
//   0          never used, so that a zero pointer is always wrong; no buffer is nearer than `reach` (render/addresses.ts)
//   control    what the worker pool and its workers tell each other (pool/control.ts)
//   args       the argument block of the launch in progress
//   staging    copies of buffers in JavaScript arrays while a launch needs them in this memory; both are left for a block of the heap while a
//              lost worker may still read and write them (`detour`)
//   slabs      small buffers (buffer.ts)
//   heap       everything else
//
// The memory starts small and grows in steps; address space for 4 GiB is reserved, pages cost nothing until touched.
// Shared where threads are wanted and the platform allows it. Growing changes `views`, so nobody may keep them.

import { OutOfMemory } from '../../errors.ts';
import { type Block, Heap } from './heap.ts';
import type { ThreadHost } from './host.ts';
import { Views } from './views.ts';

export const pageBytes = 65536;
export const controlAddress = 64;
const argsAddress = 32768;
export const argsBytes = 8192;
export const stagingAddress = argsAddress + argsBytes;
export const stagingBytes = 64 * 4160;
export const slabBytes = 65536;
const slabsAddress = Math.ceil((stagingAddress + stagingBytes) / pageBytes) * pageBytes;
const heapBase = slabsAddress + 32 * slabBytes;
const stepBytes = 16 << 20;
/** Memories up to this size do well with small pages, and looking for the system's call takes milliseconds. */
const largeBytes = 2 * stepBytes;

/** The most a device holds if nothing else is asked for: 4 GiB less a margin for the regions in front of the heap. */
export const defaultMemoryBytes = 4096 * 2 ** 20 - (16 << 20);

export const canShare = (): boolean =>
  typeof SharedArrayBuffer !== 'undefined' &&
  (globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated !== false;

export class CpuMemory {
  memory!: WebAssembly.Memory;
  heap!: Heap;
  /** The whole memory; replaced when it grows. */
  views!: Views;
  readonly shared: boolean;
  /** The argument block of the launch in progress. */
  args = argsAddress;
  readonly #limit: number;
  readonly #largePages: ThreadHost['largePages'];
  #maximum = 0;
  /** End of the slabs that were ever taken. */
  #slabsEnd = slabsAddress;
  #detour: Block | null = null;

  /** `largePages`: asks for large pages under a memory, once it holds more than a little. */
  constructor(limit: number, shared: boolean, largePages?: ThreadHost['largePages']) {
    this.shared = shared;
    this.#limit = limit;
    this.#largePages = largePages;
    this.renew();
  }

  /** A fresh memory with nothing but the slabs. Only while no block is held in the old one, whose pages go back to the system. */
  renew(): void {
    const wanted = Math.min(65536, Math.ceil((heapBase + this.#limit) / pageBytes));
    const { memory, maximum } = reserve(wanted, this.shared);
    const slabs = this.views?.u8.subarray(slabsAddress, this.#slabsEnd);
    this.memory = memory;
    this.#maximum = maximum * pageBytes;
    this.views = new Views(memory.buffer);
    if (slabs) this.views.u8.set(slabs, slabsAddress);
    this.heap = new Heap({
      base: heapBase,
      limit: Math.min(heapBase + this.#limit, this.#maximum),
      commit: (end) => this.#commit(end),
    });
  }

  /** Lets go of the memory for good. Its pages go back to the system when the collector finds that nothing is bound to it any more. */
  close(): void {
    this.memory = new WebAssembly.Memory({ initial: 0, maximum: 0, shared: this.shared });
    this.views = new Views(this.memory.buffer);
    this.heap = new Heap({ base: 0, limit: 0, commit: () => false });
  }

  /** The staging area. */
  get staging(): number {
    return this.args + argsBytes;
  }

  /** From now on launches have their arguments and their staging area in a block of the heap. */
  detour(where: string): void {
    this.#detour ??= this.take(argsBytes + stagingBytes, where);
    this.args = this.#detour.address;
  }

  /** They have them where they belong again. */
  home(): void {
    this.args = argsAddress;
    if (this.#detour) this.heap.free(this.#detour);
    this.#detour = null;
  }

  /** Bytes taken from the system. */
  get committed(): number {
    return this.views.buffer.byteLength;
  }

  /** A block, or OutOfMemory with nothing changed. */
  take(bytes: number, where: string): Block {
    const block = this.heap.allocate(bytes);
    if (block) return block;
    const available = this.heap.capacity - this.heap.used;
    const scattered = bytes <= available;
    throw new OutOfMemory({
      code: 'OUT_OF_MEMORY',
      message:
        `${where}: ${bytes} bytes do not fit: ${available} of ${this.heap.capacity} are free` +
        `${scattered ? `, the largest stretch has ${this.heap.largest}` : ''} (cpu)`,
      fix: scattered
        ? 'Release tensors that are no longer needed, or work in smaller pieces.'
        : 'Release tensors that are no longer needed, work in smaller pieces, or raise memoryBytes (4 GiB at most).',
      where,
      requested: bytes,
      available,
    });
  }

  /** The address of a slab that nobody had yet; null if there is none left. */
  takeSlab(): number | null {
    const address = this.#slabsEnd;
    if (address === heapBase) return null;
    this.#slabsEnd = address + slabBytes;
    return address;
  }

  #commit(end: number): boolean {
    const have = this.views.buffer.byteLength;
    if (end <= have) return true;
    const step = Math.min(this.#maximum, Math.max(end, have + Math.max(stepBytes, have >>> 2)));
    if (!this.#grow(step) && !this.#grow(end)) return false;
    this.views = new Views(this.memory.buffer);
    if (step > largeBytes) this.#largePages?.(this.views.u8, have);
    return true;
  }

  #grow(end: number): boolean {
    const missing = Math.ceil((end - this.memory.buffer.byteLength) / pageBytes);
    try {
      this.memory.grow(missing);
      return true;
    } catch {
      return false;
    }
  }
}

/** Reserves address space; where that is scarce (32-bit browsers), less of it. */
function reserve(pages: number, shared: boolean): { memory: WebAssembly.Memory; maximum: number } {
  for (let maximum = pages; ; maximum = Math.max(64, maximum >>> 1)) {
    try {
      return { memory: new WebAssembly.Memory({ initial: heapBase / pageBytes, maximum, shared }), maximum };
    } catch (cause) {
      if (maximum > 64) continue;
      throw new OutOfMemory({
        code: 'OUT_OF_MEMORY',
        message: 'cpu: the platform refused to reserve address space for a WebAssembly memory',
        fix: 'Close other pages or runtimes, or lift the limit on virtual memory (ulimit -v).',
        where: 'createCpuDevice',
        requested: maximum * pageBytes,
        available: 0,
        cause,
      });
    }
  }
}
