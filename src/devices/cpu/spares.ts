// Arrays of reads that were returned, for the next read of the same size: memory that was never touched costs a page fault
// every few KiB, which is as much as the copy itself.

/** Smaller ones are cheap to make. */
const leastBytes = 64 << 10;
const mostArrays = 4;
const mostBytes = 64 << 20;

export class Spares {
  #arrays: Uint8Array[] = [];
  #bytes = 0;

  /** An array of that length with anything in it, or null. */
  take(length: number): Uint8Array | null {
    const at = length < leastBytes ? -1 : this.#arrays.findIndex((a) => a.length === length);
    if (at < 0) return null;
    this.#bytes -= length;
    return this.#arrays.splice(at, 1)[0]!;
  }

  /** Keeps an array that nobody uses any more, unless there are enough, or it is part of something larger. */
  keep(bytes: Uint8Array): void {
    const { length } = bytes;
    if (length < leastBytes || length !== bytes.buffer.byteLength || this.#arrays.includes(bytes)) return;
    if (this.#arrays.length >= mostArrays || this.#bytes + length > mostBytes) return;
    this.#arrays.push(bytes);
    this.#bytes += length;
  }

  clear(): void {
    this.#arrays = [];
    this.#bytes = 0;
  }
}
