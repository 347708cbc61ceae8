// Copies between the host and one GPU, in order with its kernels.
//
// Small ones run on the compute stream itself. Large ones run on streams of their own, one for each direction: they start after the
// work that used their bytes, beside any other (progress.ts), and a buffer remembers the copy (its fence) that the next kernel on
// it has to wait for, and the next copy the other way.

import type { CudaBuffer } from './buffer.ts';
import type { Driver } from './driver.ts';
import type { EventPool } from './events.ts';
import type { Progress } from './progress.ts';
import type { Stretch } from './stretches.ts';
import { type PinnedPool, UploadRing } from './transfer.ts';
import { spinMs, type Waits, whenDone } from './waits.ts';

/** Copies of at least this size go through a stream of their own. */
export const largeCopy = 256 * 1024;

/** Copies up to this size are done before the event loop has turned a few times. */
const quickCopy = 2 ** 20;

export interface Streams {
  readonly compute: number;
  readonly up: number;
  readonly down: number;
}

export class Copies {
  readonly pinned: PinnedPool;
  readonly #driver: Driver;
  readonly #events: EventPool;
  readonly #streams: Streams;
  readonly #progress: Progress;
  readonly #waits: Waits;
  readonly #small: UploadRing;
  readonly #large: UploadRing;
  /** By stream: the end of the last download that is under way there, which never rejects. */
  readonly #ends = new Map<number, Promise<void>>();

  constructor(
    driver: Driver,
    events: EventPool,
    streams: Streams,
    progress: Progress,
    pinned: PinnedPool,
    waits: Waits,
  ) {
    this.#waits = waits;
    this.#driver = driver;
    this.#events = events;
    this.#streams = streams;
    this.#progress = progress;
    this.pinned = pinned;
    this.#small = new UploadRing(driver, events, streams.compute, 256 * 1024, 4);
    this.#large = new UploadRing(driver, events, streams.up, 2 * 2 ** 20, 4);
  }

  /** The bytes may be changed as soon as this returns. */
  upload(b: CudaBuffer, offset: number, bytes: Uint8Array): void {
    const target = b.address + offset;
    const pinned = this.pinned.addressOf(bytes);
    if (pinned === undefined && bytes.length < largeCopy) {
      this.settle(b);
      b.used = this.#progress.next();
      this.#small.upload(target, bytes);
      return;
    }
    const { up } = this.#streams;
    this.#goBehind(b, up);
    if (pinned === undefined) {
      this.#large.upload(target, bytes);
      this.#setFence(b, up);
      return;
    }
    // Fetched where it lies, and it has to have been fetched when this returns.
    const { call } = this.#driver;
    this.#driver.check(call.cuMemcpyHtoDAsync_v2(target, pinned, bytes.length, up), 'upload from pinned memory');
    this.#driver.check(call.cuStreamSynchronize(up), 'upload from pinned memory');
  }

  /** The bytes in `into`, straight if that is pinned; without it in an array of its own. */
  async download(b: CudaBuffer, offset: number, length: number, into: Uint8Array | null): Promise<Uint8Array> {
    const straight = into && this.pinned.addressOf(into);
    const block = straight ? null : this.pinned.take(length);
    const stream = this.#enqueue(b, offset, length, block, straight ?? block!.address);
    const event = this.#events.record(stream);
    const { used } = b;
    try {
      await this.#inTurn(stream, event, length <= quickCopy ? spinMs : 0);
      this.#progress.seen(used);
    } finally {
      this.#events.recycle(event);
    }
    return block ? this.#result(block, length, into) : into!;
  }

  downloadSync(b: CudaBuffer, offset: number, length: number): Uint8Array {
    const block = this.pinned.take(length);
    const stream = this.#enqueue(b, offset, length, block, block.address);
    this.#driver.check(this.#driver.call.cuStreamSynchronize(stream), `read of ${length} bytes`);
    this.#progress.seen(b.used);
    return this.#result(block, length, null);
  }

  /** Makes the next kernel wait for the copy of a buffer that is under way. */
  settle(b: CudaBuffer): void {
    if (b.fence === 0) return;
    this.await(b.fence);
    b.fence = 0;
  }

  /** Makes the next kernel wait for a copy. */
  await(fence: number): void {
    this.#driver.check(this.#driver.call.cuStreamWaitEvent(this.#streams.compute, fence, 0), 'cuStreamWaitEvent');
    this.#events.recycle(fence);
  }

  close(): void {
    this.#small.close();
    this.#large.close();
    this.pinned.close();
  }

  /**
   * Waits for a download, behind those of the same stream before it: they end in this order, so that of many only the oldest is
   * asked about. None of them spins before the caller has enqueued the others.
   */
  #inTurn(stream: number, event: number, spin: number): Promise<void> {
    const before = this.#ends.get(stream);
    const done = (async () => {
      await before;
      await whenDone(this.#driver, event, this.#waits, spin);
    })();
    const end: Promise<void> = done
      .catch(() => {})
      .then(() => {
        if (this.#ends.get(stream) === end) this.#ends.delete(stream);
      });
    this.#ends.set(stream, end);
    return done;
  }

  #setFence(b: CudaBuffer, stream: number): void {
    if (b.fence !== 0) this.#events.recycle(b.fence);
    b.fence = this.#events.record(stream);
    b.fencedOn = stream;
  }

  /** A copy stream goes on only after what used a buffer's bytes before: the copy the other way, and work on the compute stream. */
  #goBehind(b: CudaBuffer, stream: number): void {
    const { call } = this.#driver;
    if (b.fence !== 0 && b.fencedOn !== stream)
      this.#driver.check(call.cuStreamWaitEvent(stream, b.fence, 0), 'cuStreamWaitEvent');
    this.#progress.behind(b.used, (event) =>
      this.#driver.check(call.cuStreamWaitEvent(stream, event, 0), 'cuStreamWaitEvent'),
    );
  }

  /** Enqueues the copy to an address in host memory, of a block that is given back if that fails; returns its stream. */
  #enqueue(b: CudaBuffer, offset: number, length: number, block: Stretch | null, to: number): number {
    const large = length >= largeCopy;
    const stream = large ? this.#streams.down : this.#streams.compute;
    if (large) this.#goBehind(b, stream);
    else {
      this.settle(b);
      b.used = this.#progress.next();
    }
    const code = this.#driver.call.cuMemcpyDtoHAsync_v2(to, b.address + offset, length, stream);
    if (code !== 0) {
      if (block) this.pinned.release(block);
      throw this.#driver.error(code, `read of ${length} bytes`);
    }
    if (large) this.#setFence(b, stream);
    return stream;
  }

  #result(block: Stretch, length: number, into: Uint8Array | null): Uint8Array {
    if (!into && this.pinned.lends(length)) return new Uint8Array(this.pinned.lend(block, length));
    const copy = this.pinned.copyOut(block, length, into);
    this.pinned.release(block);
    return copy;
  }
}
