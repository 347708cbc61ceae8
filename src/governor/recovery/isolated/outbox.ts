// Records from the child to the parent: sent at once where there is room, kept in order where there is not.

import { aligned, chunkBytes } from './records.ts';
import type { Ring } from './ring.ts';

interface Item {
  readonly head: Uint8Array;
  readonly payload: Uint8Array | null;
}

const padding = new Uint8Array(8);
const encoder = new TextEncoder();

export class Outbox {
  readonly #ring: Ring;
  readonly #waiting: Item[] = [];

  constructor(ring: Ring) {
    this.#ring = ring;
  }

  /** Nothing waits for room. */
  get empty(): boolean {
    return this.#waiting.length === 0;
  }

  /** A record of numbers behind its two words. */
  numbers(op: number, request: number, values: readonly number[] = []): void {
    const head = new Uint8Array(16 + 8 * values.length);
    header(head, op, head.length, request);
    new Float64Array(head.buffer).set(values, 2);
    this.#post({ head, payload: null });
  }

  text(op: number, request: number, text: string): void {
    const payload = encoder.encode(text);
    const head = new Uint8Array(16);
    header(head, op, head.length + payload.length, request);
    this.#post({ head, payload });
  }

  /** Bytes, in as many records as it takes. */
  data(op: number, request: number, bytes: Uint8Array): void {
    for (let at = 0; at === 0 || at < bytes.length; at += chunkBytes) {
      const payload = bytes.subarray(at, at + chunkBytes);
      const head = new Uint8Array(24);
      header(head, op, head.length + payload.length, request);
      new Float64Array(head.buffer)[2] = at;
      this.#post({ head, payload });
    }
  }

  /** Sends what waits, as far as there is room. */
  flush(): void {
    while (this.#waiting.length > 0 && this.#put(this.#waiting[0]!)) this.#waiting.shift();
  }

  #post(item: Item): void {
    if (this.#waiting.length > 0 || !this.#put(item)) this.#waiting.push(item);
  }

  #put({ head, payload }: Item): boolean {
    const bytes = head.length + (payload?.length ?? 0);
    const ring = this.#ring;
    if (ring.room < aligned(bytes)) ring.look();
    if (ring.room < aligned(bytes)) return false;
    if (payload && payload.length < 4096) {
      const whole = new Uint8Array(aligned(bytes));
      whole.set(head);
      whole.set(payload, head.length);
      ring.put(whole, 0, whole.length);
    } else {
      ring.put(head, 0, head.length);
      if (payload) ring.put(payload, 0, payload.length);
      if (aligned(bytes) > bytes) ring.put(padding, 0, aligned(bytes) - bytes);
    }
    ring.announce();
    return true;
  }
}

function header(head: Uint8Array, op: number, bytes: number, request: number): void {
  const words = new Uint32Array(head.buffer);
  words[0] = op;
  words[1] = bytes;
  words[2] = request;
}
