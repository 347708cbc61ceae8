// Device buffers of the CPU: small ones on the JavaScript heap, the rest in the WebAssembly memory.
//
// Small buffers need no release: the garbage collector frees them. The smallest share slabs, as an ArrayBuffer of their
// own would cost more than the work done on them; a slab lives as long as any buffer in it.

import type { DeviceBuffer } from '../device.ts';
import type { Block } from './heap.ts';
import { Views } from './views.ts';

/** Buffers up to this size live on the JavaScript heap. */
export const smallBytes = 4096;
const sharedBytes = 512;
const slabBytes = 8192;

export class CpuBuffer implements DeviceBuffer {
  readonly bytes: number;
  readonly collected: boolean;
  /** Storage of a small buffer; null for those in the WebAssembly memory. */
  readonly small: Views | null;
  /** Where the bytes begin, in `small` or in the WebAssembly memory. */
  readonly address: number;
  /** Null once released, and for small buffers. */
  block: Block | null;
  released = false;

  constructor(bytes: number, small: Views | null, address: number, block: Block | null) {
    this.bytes = bytes;
    this.collected = small !== null;
    this.small = small;
    this.address = address;
    this.block = block;
  }
}

/** Hands out small buffers. */
export class SmallBuffers {
  #slab = new Views(new ArrayBuffer(slabBytes));
  #next = 0;

  make(bytes: number): CpuBuffer {
    if (bytes > sharedBytes) return new CpuBuffer(bytes, new Views(new ArrayBuffer((bytes + 7) & ~7)), 0, null);
    let at = this.#next;
    if (at + bytes > slabBytes) {
      this.#slab = new Views(new ArrayBuffer(slabBytes));
      at = 0;
    }
    this.#next = (at + bytes + 7) & ~7;
    return new CpuBuffer(bytes, this.#slab, at, null);
  }
}
