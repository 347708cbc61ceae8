// The records that a device's process sends to its parent: taken out of the shared file one by one, in order.

import { aligned } from './records.ts';
import type { Ring } from './ring.ts';

const decoder = new TextDecoder();

/** One record. Valid only while it is handled. */
export class Incoming {
  op = 0;
  /** The request it answers. */
  number = 0;
  /** Bytes of the record, without padding. */
  bytes = 0;
  readonly #inbox: Uint8Array;
  readonly #doubles: Float64Array;
  #ring: Ring | null = null;
  #at = 0;
  #inside = true;

  constructor(inbox: Uint8Array) {
    this.#inbox = inbox;
    this.#doubles = new Float64Array(inbox.buffer);
  }

  /** `inside`: it lies in the inbox as a whole; else only its start does, and the ring begins with it. */
  set(ring: Ring, words: Uint32Array, at: number, inside: boolean): void {
    this.#ring = ring;
    this.#at = at;
    this.#inside = inside;
    this.op = words[at >> 2]!;
    this.bytes = words[(at >> 2) + 1]!;
    this.number = words[(at >> 2) + 2]!;
  }

  /** A number behind the head, counted in steps of 8 bytes from the start. */
  double(i: number): number {
    return this.#doubles[(this.#at >> 3) + i]!;
  }

  /** Copies what is behind the first `from` bytes. */
  body(from: number, into: Uint8Array): Uint8Array {
    if (this.#inside) into.set(this.#inbox.subarray(this.#at + from, this.#at + this.bytes));
    else this.#ring!.peek(into, 0, this.bytes - from, from);
    return into;
  }

  text(): string {
    return decoder.decode(this.body(16, new Uint8Array(this.bytes - 16)));
  }
}

export class Inbox {
  readonly #bytes = new Uint8Array(new ArrayBuffer(4096));
  readonly #words = new Uint32Array(this.#bytes.buffer);
  readonly #record = new Incoming(this.#bytes);

  /** Hands over the records that are there. Stops, with nothing more touched, when the handler says that the end has come. */
  take(ring: Ring, handle: (record: Incoming) => void, ended: () => boolean): void {
    while (ring.available > 0 && !ended()) {
      const length = Math.min(ring.available, this.#bytes.length);
      ring.peek(this.#bytes, 0, length);
      let at = 0;
      while (at + 8 <= length && !ended()) {
        const bytes = this.#words[(at >> 2) + 1]!;
        const inside = at + aligned(bytes) <= length;
        if (!inside && at > 0) break;
        this.#record.set(ring, this.#words, at, inside);
        handle(this.#record);
        at += aligned(bytes);
      }
      ring.take(at);
      if (ended()) return;
      ring.settle();
      if (ring.available === 0) ring.look();
    }
  }
}
