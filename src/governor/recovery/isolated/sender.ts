// The parent's commands to a device's process: collected in a batch, sent when it is large, when somebody waits, and at the end of
// the current turn of the event loop. Who sends never waits for an answer here, only for room in the shared file.

import { aligned, Batch } from './records.ts';
import type { Ring } from './ring.ts';

/** Commands beyond this many bytes go out at once; a device should not idle while the parent collects. */
const batchBytes = 8 * 1024;
/** Payloads from this size on are not copied into the batch. */
const directBytes = 4 * 1024;

const encoder = new TextEncoder();
const zeros = new Uint8Array(8);

export class Sender {
  readonly batch = new Batch();
  readonly #ring: () => Ring;
  readonly #waitForRoom: (bytes: number) => void;
  #flushing = false;
  #closed = false;

  /** `waitForRoom` returns when the ring has room for so many bytes, or throws. */
  constructor(ring: () => Ring, waitForRoom: (bytes: number) => void) {
    this.#ring = ring;
    this.#waitForRoom = waitForRoom;
  }

  /** Nobody is there any more to read what is sent. */
  close(): void {
    this.#closed = true;
  }

  /** Begins a record in the batch. */
  begin(op: number, bytes: number): number {
    const { batch } = this;
    if (batch.used + aligned(bytes) > batchBytes && batch.used > 0) this.flush();
    if (batch.used + aligned(bytes) > batch.capacity) batch.grow(aligned(bytes));
    if (!this.#flushing) {
      this.#flushing = true;
      queueMicrotask(this.#flushLater);
    }
    return batch.begin(op, bytes);
  }

  /** A command with one number. */
  word(op: number, first: number): void {
    const at = this.begin(op, 16);
    this.batch.words[at + 2] = first;
    this.batch.words[at + 3] = 0;
  }

  text(op: number, first: number, text: string, second = 0): void {
    const bytes = encoder.encode(text);
    const at = this.begin(op, 16 + bytes.length);
    this.batch.words[at + 2] = first;
    this.batch.words[at + 3] = second;
    this.batch.bytes.set(bytes, 4 * at + 16);
  }

  /** Data with a place: large data goes into the ring without being copied here. */
  payload(op: number, first: number, second: number, offset: number, data: Uint8Array): void {
    const bytes = 24 + data.length;
    const direct = data.length >= directBytes;
    const at = this.begin(op, direct ? 24 : bytes);
    const { words, doubles } = this.batch;
    words[at + 1] = bytes;
    words[at + 2] = first;
    words[at + 3] = second;
    doubles[(at >> 1) + 2] = offset;
    if (direct) this.#send(data, aligned(bytes) - bytes);
    else this.batch.bytes.set(data, 4 * at + 24);
  }

  flush(): void {
    if (this.batch.used > 0 && !this.#closed) this.#send(null, 0);
  }

  readonly #flushLater = (): void => {
    this.#flushing = false;
    try {
      this.flush();
    } catch {
      // Lost meanwhile: whoever uses the device next is told.
    }
  };

  /** Sends the batch, and data with its padding behind it. */
  #send(data: Uint8Array | null, padding: number): void {
    const { batch } = this;
    const ring = this.#ring();
    const bytes = batch.used + (data?.length ?? 0) + padding;
    if (ring.room < bytes) ring.look();
    if (ring.room < bytes) this.#waitForRoom(bytes);
    ring.put(batch.bytes, 0, batch.used);
    batch.used = 0;
    if (data) ring.put(data, 0, data.length);
    if (padding > 0) ring.put(zeros, 0, padding);
    ring.announce();
  }
}
