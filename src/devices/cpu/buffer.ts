// Device buffers of the CPU: small ones on the JavaScript heap, the rest in the WebAssembly memory.
//
// Small buffers need no release: the garbage collector frees them. They share slabs, as an ArrayBuffer of their own would cost
// more than the work done on them. A slab lives as long as any buffer in it, so the smallest have smaller slabs: one that is kept
// keeps sixteen times its size at most, or 8 KiB.

import type { DeviceBuffer } from '../device.ts';
import type { Block } from './heap.ts';
import { Views } from './views.ts';

/** Buffers up to this size live on the JavaScript heap. */
export const smallBytes = 4096;
const tinyBytes = 512;
/** Of the smallest buffers, and of the others. */
const [tinySlab, smallSlab] = [16 * tinyBytes, 16 * smallBytes];

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
  readonly #tiny = new Slabs(tinySlab);
  readonly #small = new Slabs(smallSlab);

  make(bytes: number): CpuBuffer {
    return bytes <= tinyBytes ? this.#tiny.make(bytes) : this.#small.make(bytes);
  }
}

/** Cuts buffers from one slab after the other. */
class Slabs {
  readonly #bytes: number;
  #slab = new Views(new ArrayBuffer(0));
  #next: number;

  constructor(bytes: number) {
    this.#bytes = bytes;
    this.#next = Number.POSITIVE_INFINITY;
  }

  make(bytes: number): CpuBuffer {
    let at = this.#next;
    if (at + bytes > this.#bytes) {
      this.#slab = new Views(new ArrayBuffer(this.#bytes));
      at = 0;
    }
    this.#next = (at + bytes + 7) & ~7;
    return new CpuBuffer(bytes, this.#slab, at, null);
  }
}
