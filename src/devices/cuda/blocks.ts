// Device memory in the order of the streams.
//
// A released block can be handed out again at once, since whatever uses it next comes later on the compute stream, or waits for
// that; one that a copy stream is still busy with waits until that is done, or until there is no other room.

import { CudaBuffer } from './buffer.ts';
import type { Copies } from './copies.ts';
import type { Driver } from './driver.ts';
import { type EventPool, isDone } from './events.ts';
import type { Progress } from './progress.ts';
import type { Arena } from './split-arena.ts';
import type { Stretch } from './stretches.ts';

/** What the order of the streams is known by. */
interface Order {
  readonly events: EventPool;
  readonly progress: Progress;
  readonly copies: Copies;
  /** Something comes onto the compute stream between two launches. */
  readonly apart: () => void;
}

/** Blocks that are looked at for one that no work is busy with. */
const mostBusy = 4;

export class Blocks {
  readonly #driver: Driver;
  readonly #arena: Arena;
  readonly #order: Order;
  /** Released, but a copy is still under way. */
  #cooling: { readonly block: Stretch; readonly fence: number; readonly on: number }[] = [];

  constructor(driver: Driver, arena: Arena, order: Order) {
    this.#driver = driver;
    this.#arena = arena;
    this.#order = order;
  }

  /** Bytes taken from the driver. */
  get reserved(): number {
    return this.#arena.reserved;
  }

  /** Bytes of blocks handed out. */
  get inUse(): number {
    return this.#arena.inUse;
  }

  /** Null if there is no room even after giving back everything idle. */
  allocate(bytes: number): CudaBuffer | null {
    if (bytes === 0) return new CudaBuffer(0, null);
    if (this.#cooling.length > 0) this.#collect();
    const block = this.#arena.allocate(bytes) ?? (this.#afterCopies() ? this.#arena.allocate(bytes) : null);
    return block && new CudaBuffer(bytes, block);
  }

  release(b: CudaBuffer): void {
    if (b.address < 0) return;
    b.address = -1;
    if (!b.block) return;
    b.block.used = b.used;
    if (b.fence === 0) this.#arena.release(b.block);
    else this.#cooling.push({ block: b.block, fence: b.fence, on: b.fencedOn });
  }

  /**
   * Bytes that are all written anew go where no enqueued work is busy, if there is such a place: else the copy would wait for that work,
   * and with it the host, whose memory for copies is small.
   */
  intoIdle(b: CudaBuffer): void {
    const { done } = this.#order.progress;
    if (b.used <= done || b.fence !== 0 || !b.block) return;
    const busy: Stretch[] = [];
    let idle: Stretch | null = null;
    while (idle === null && busy.length < mostBusy) {
      const block = this.#arena.allocate(b.bytes);
      if (!block) break;
      if (block.used <= done) idle = block;
      else busy.push(block);
    }
    if (idle) {
      b.block.used = b.used;
      busy.push(b.block);
      b.block = idle;
      b.address = idle.address;
      b.used = idle.used;
    }
    for (const block of busy) this.#arena.release(block);
  }

  /** Gives idle memory back to the driver. */
  trim(): void {
    this.#afterCopies();
    this.#arena.trim();
  }

  close(): void {
    this.#arena.close();
  }

  /** Takes back blocks whose copies are done, in the order of each stream. */
  #collect(): void {
    const busy = new Set<number>();
    this.#cooling = this.#cooling.filter(({ block, fence, on }) => {
      if (busy.has(on)) return true;
      if (!isDone(this.#driver, fence)) {
        busy.add(on);
        return true;
      }
      this.#order.events.recycle(fence);
      this.#arena.release(block);
      return false;
    });
  }

  /** Lets the compute stream wait for the copies under way, so that their blocks can be reused; false if there are none. */
  #afterCopies(): boolean {
    if (this.#cooling.length === 0) return false;
    const { progress, copies, apart } = this.#order;
    apart();
    // Copies into them have to wait for that wait.
    const number = progress.next();
    for (const { block, fence } of this.#cooling.splice(0)) {
      copies.await(fence);
      block.used = number;
      this.#arena.release(block);
    }
    return true;
  }
}
