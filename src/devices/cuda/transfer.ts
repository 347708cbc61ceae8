// Moving bytes between host and device.
//
// Uploads from ordinary arrays go through a ring of pinned slots: while the device fetches one slot, the host fills the next.
// Uploads from pinned arrays are fetched where they lie. Results of large reads are views of pinned memory that comes from
// a pool and goes back when the view is returned or collected, so that no second copy and no page faults are paid for.

import { Finalizer } from '../../base/finalizer.ts';
import { OutOfMemory } from '../../errors.ts';
import type { Driver } from './driver.ts';
import type { EventPool } from './events.ts';
import { type MemorySource, SegmentArena } from './segments.ts';
import type { Stretch } from './stretches.ts';

interface Slot {
  readonly bytes: Uint8Array;
  readonly address: number;
  used: number;
  /** Recorded when the slot was filled; 0 while it is being filled or idle. */
  event: number;
}

/** A ring of pinned slots in front of one stream. */
export class UploadRing {
  readonly #driver: Driver;
  readonly #events: EventPool;
  readonly #stream: number;
  readonly #slotBytes: number;
  readonly #count: number;
  #slots: Slot[] | null = null;
  #at = 0;

  constructor(driver: Driver, events: EventPool, stream: number, slotBytes: number, count: number) {
    this.#driver = driver;
    this.#events = events;
    this.#stream = stream;
    this.#slotBytes = slotBytes;
    this.#count = count;
  }

  /** Enqueues the copy; the source may change as soon as this returns. */
  upload(target: number, source: Uint8Array): void {
    const { call } = this.#driver;
    let done = 0;
    while (done < source.length) {
      const slot = this.#slot();
      const n = Math.min(source.length - done, slot.bytes.length - slot.used);
      slot.bytes.set(n === source.length ? source : source.subarray(done, done + n), slot.used);
      const code = call.cuMemcpyHtoDAsync_v2(target + done, slot.address + slot.used, n, this.#stream);
      this.#driver.check(code, `upload of ${source.length} bytes`);
      // Later pieces start at a multiple of 64 bytes.
      slot.used = Math.min(slot.bytes.length, Math.ceil((slot.used + n) / 64) * 64);
      done += n;
      if (slot.used === slot.bytes.length) this.#seal(slot);
    }
  }

  close(): void {
    for (const s of this.#slots ?? []) this.#driver.call.cuMemFreeHost(s.address);
    this.#slots = null;
  }

  #seal(slot: Slot): void {
    slot.event = this.#events.record(this.#stream);
    this.#at = (this.#at + 1) % this.#count;
  }

  #slot(): Slot {
    this.#slots ??= Array.from({ length: this.#count }, () => {
      const { address, bytes } = allocatePinned(this.#driver, this.#slotBytes);
      return { bytes: new Uint8Array(bytes), address, used: 0, event: 0 };
    });
    const slot = this.#slots[this.#at]!;
    if (slot.event !== 0) {
      this.#driver.check(this.#driver.call.cuEventSynchronize(slot.event), 'waiting for an upload');
      this.#events.recycle(slot.event);
      slot.event = 0;
      slot.used = 0;
    }
    return slot;
  }
}

// Visible to every context in the process.
const portable = 1;

function allocatePinned(driver: Driver, bytes: number): { address: number; bytes: ArrayBuffer } {
  const code = driver.call.cuMemHostAlloc(driver.outAddress, bytes, portable);
  driver.check(code, `pinned host memory, ${bytes} bytes`);
  const address = driver.u64();
  return { address, bytes: driver.ffi.view(address, bytes) };
}

/** Idle memory that was used so recently stays: it will be needed again, and locking pages takes 0.4 ms a MiB. */
const restMs = 2000;

/**
 * So much of it stays however long it rests, a block of each size: the driver may lock pages only when the device is done with what it
 * was told, and whoever reads then stands still.
 */
const spareBytes = 64 * 2 ** 20;

/** Pinned host memory handed to the user: results of reads, and arrays to upload from. */
export class PinnedPool {
  readonly #driver: Driver;
  readonly #pool: SegmentArena;
  readonly #limit: number;
  readonly #protect: (buffer: ArrayBuffer) => void;
  readonly #lent = new WeakMap<ArrayBufferLike, Stretch>();
  readonly #collected: Finalizer<Stretch>;
  #lastUse = Number.NEGATIVE_INFINITY;
  /** Never given back: small reads find room beside it, whatever becomes of the rest. */
  #first: Stretch | null = null;

  /** `protect` keeps a buffer from being transferred to another thread, where its end would not be seen. */
  constructor(driver: Driver, limit: number, protect: (buffer: ArrayBuffer) => void) {
    this.#driver = driver;
    this.#limit = limit;
    this.#protect = protect;
    const source: MemorySource = {
      allocate: (bytes) => (driver.call.cuMemHostAlloc(driver.outAddress, bytes, portable) === 0 ? driver.u64() : 0),
      free: (address) => {
        driver.call.cuMemFreeHost(address);
      },
    };
    this.#pool = new SegmentArena(source, () => {}, spareBytes);
    this.#collected = new Finalizer((block) => this.#pool.release(block));
  }

  /** Whether results of this size should stay in pinned memory rather than be copied out. */
  lends(bytes: number): boolean {
    return bytes >= 65536 && this.#pool.inUse + bytes <= this.#limit;
  }

  take(bytes: number): Stretch {
    this.#lastUse = performance.now();
    this.#first ??= this.#pool.allocate(1);
    const block = this.#pool.allocate(Math.max(bytes, 1));
    if (block) return block;
    throw new OutOfMemory({
      code: 'PINNED_MEMORY',
      message: `no pinned host memory for ${bytes} bytes`,
      fix: 'Read in smaller pieces, or dispose of earlier results.',
      where: 'read',
      requested: bytes,
      available: 0,
    });
  }

  release(block: Stretch): void {
    this.#pool.release(block);
  }

  /** The block's bytes as a buffer that owns the block until it is taken back or collected. */
  lend(block: Stretch, bytes: number): ArrayBuffer {
    const buffer = this.#driver.ffi.view(block.address, bytes);
    this.#protect(buffer);
    this.#lent.set(buffer, block);
    this.#collected.register(buffer, block, buffer);
    return buffer;
  }

  /** Ends the loan of a buffer that nobody uses any more; anything else that is given here is left alone. */
  takeBack(buffer: ArrayBufferLike): void {
    const block = this.#lent.get(buffer);
    if (!block) return;
    this.#lent.delete(buffer);
    this.#collected.unregister(buffer);
    this.#pool.release(block);
  }

  /** A copy of the block's bytes, in an array that is given or a new one. */
  copyOut(block: Stretch, bytes: number, into: Uint8Array | null): Uint8Array {
    const view = new Uint8Array(this.#driver.ffi.view(block.address, bytes));
    if (!into) return view.slice();
    into.set(view);
    return into;
  }

  /** Where these bytes lie, if they are pinned. */
  addressOf(bytes: Uint8Array): number | undefined {
    const block = this.#lent.get(bytes.buffer);
    return block === undefined ? undefined : block.address + bytes.byteOffset;
  }

  trim(): void {
    if (performance.now() - this.#lastUse >= restMs) this.#pool.trim();
  }

  /** Gives back what nobody holds. Buffers that were lent stay valid. */
  close(): void {
    if (this.#first) this.#pool.release(this.#first);
    this.#first = null;
    this.#pool.close();
  }
}
