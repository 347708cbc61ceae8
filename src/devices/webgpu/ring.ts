// Transfer buffers kept for reuse, up to a number of bytes; the ones not used for longest go first.

export interface Kept {
  readonly gpu: GPUBuffer;
  readonly size: number;
}

/** Powers of two in sixteenths, at least 4096 bytes: transfers of similar size share buffers. */
export function transferClass(bytes: number): number {
  if (bytes <= smallest) return smallest;
  const step = 2 ** (Math.floor(Math.log2(bytes)) - 4);
  return Math.ceil(bytes / step) * step;
}

const smallest = 4096;

export class BufferRing<T extends Kept> {
  readonly #limit: number;
  /** Least recently used first. */
  #idle: T[] = [];
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The smallest kept buffer that holds `bytes` without wasting more than half of itself. */
  take(bytes: number): T | undefined {
    let best = -1;
    for (let i = 0; i < this.#idle.length; i++) {
      const { size } = this.#idle[i]!;
      if (size >= bytes && size <= Math.max(2 * bytes, 8192) && (best < 0 || size < this.#idle[best]!.size)) best = i;
    }
    if (best < 0) return undefined;
    const [found] = this.#idle.splice(best, 1);
    this.#bytes -= found!.size;
    return found;
  }

  keep(buffer: T): void {
    this.#idle.push(buffer);
    this.#bytes += buffer.size;
    while (this.#bytes > this.#limit && this.#idle.length > 1) {
      const oldest = this.#idle.shift()!;
      this.#bytes -= oldest.size;
      oldest.gpu.destroy();
    }
  }

  trim(): void {
    for (const b of this.#idle) b.gpu.destroy();
    this.#idle = [];
    this.#bytes = 0;
  }
}
