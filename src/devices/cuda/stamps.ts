// When launches of our own kernels ran, as they noted it themselves: see `ptx/stamps.ts`.
//
// A ring of slots on the device. A launch takes one for each of its steps, and nothing else is enqueued for it: no event, no copy.
// A fence now and then tells up to where the device is done, and those slots are copied to the host, many at once, on a stream of
// their own.
//
// Times are ns of the device's own clock; `spans.ts` compares it with the clock of events, which other work is measured by.

import { type Driver, status } from './driver.ts';
import { EventPool, isDone } from './events.ts';
import { slotBytes } from './ptx/stamps.ts';
import type { KernelStep } from './step.ts';

/** Slots of the ring. The driver lets a host run about 1,024 launches ahead of the device, so there is room for many fences. */
const slots = 16_384;
const perFence = 128;
/** Slots between two looks at the host's clock. */
const perTime = 8;
/** By how much the clock may differ between multiprocessors. */
const skewNs = 1000;

/** The ring, and one slot behind it for a look at the clock. */
const ringBytes = (slots + 1) * slotBytes;

interface Fence {
  readonly event: number;
  /** The number behind the last slot before it. */
  readonly upTo: number;
}

/**
 * What is known of a launch that was read, one number after the other: its id; when it began and ended, in ns since the first one that
 * was ever read; a time by which the host had enqueued it, by `performance.now()`; and 1 if nothing is between it and the launch before.
 */
export const stamp = { id: 0, start: 1, end: 2, enqueued: 3, linked: 4, numbers: 5 } as const;

export class Stamps {
  readonly #driver: Driver;
  readonly #compute: number;
  readonly #stream: number;
  readonly #events: EventPool;
  /** Where it is on the device, and where its copy on the host is. */
  readonly #ring: number;
  /** The two words of its address. */
  readonly #low: number;
  readonly #high: number;
  readonly #host: number;
  readonly #words: Uint32Array;
  /** By the slot of a launch's first step: whose it is, when it was enqueued, its steps (0 for slots of further ones), whether it is linked. */
  readonly #ids = new Float64Array(slots);
  readonly #times = new Float64Array(slots);
  readonly #counts = new Int32Array(slots);
  readonly #links = new Uint8Array(slots);
  #linked = false;
  /** Slots are numbered on and on; their place is the number modulo the length. Not read yet: from `#first` up to `#next`. */
  #first = 0;
  #next = 0;
  #fenced = 0;
  /** Up to here it is noted when launches were enqueued. */
  #timed = 0;
  readonly #fences: Fence[] = [];
  /** `stamp.numbers` for each launch. */
  #read: number[] = [];
  /** The clock where ns count from, as two words; they are below 2^53 only as a difference. */
  #base: readonly [low: number, high: number] | null = null;
  #lastEnd = Number.NEGATIVE_INFINITY;

  /** Null if there is no memory for it. */
  static open(driver: Driver, compute: number, stream: number): Stamps | null {
    const { call, outAddress } = driver;
    if (call.cuMemAlloc_v2(outAddress, ringBytes) !== status.success) return null;
    const ring = driver.u64();
    if (call.cuMemHostAlloc(outAddress, ringBytes, 0) !== status.success) {
      call.cuMemFree_v2(ring);
      return null;
    }
    return new Stamps(driver, compute, stream, ring, driver.u64());
  }

  private constructor(driver: Driver, compute: number, stream: number, ring: number, host: number) {
    this.#driver = driver;
    this.#compute = compute;
    this.#stream = stream;
    this.#ring = ring;
    this.#low = ring % 2 ** 32;
    this.#high = Math.floor(ring / 2 ** 32);
    this.#host = host;
    this.#events = new EventPool(driver, 'told');
    this.#words = new Uint32Array(driver.ffi.view(host, ringBytes));
  }

  /** Gives each step its slot. They count only once the launch is enqueued: see `commit`. */
  place(steps: readonly KernelStep[]): void {
    if (this.#next + steps.length - this.#first > slots) this.#makeRoom(steps.length);
    for (let i = 0; i < steps.length; i++) this.#stampAt(steps[i]!, (this.#next + i) % slots);
  }

  commit(id: number, steps: number): void {
    for (let i = 0; i < steps; i++) this.#counts[(this.#next + i) % slots] = 0;
    const at = this.#next % slots;
    this.#ids[at] = id;
    this.#counts[at] = steps;
    this.#links[at] = Number(this.#linked);
    this.#linked = true;
    this.#next += steps;
    if (this.#next - this.#timed >= perTime) this.#noteTime();
    if (this.#next - this.#fenced >= perFence) this.#fence();
  }

  /** Something else was enqueued. */
  apart(): void {
    this.#linked = false;
  }

  /** What the device is done with and was not taken yet, in the order of the launches: numbers as `stamp` says. */
  take(): readonly number[] {
    if (this.#next > this.#fenced) this.#fence();
    this.#collect();
    const read = this.#read;
    this.#read = [];
    return read;
  }

  /** For a step that only looks at the clock: see `probed`. */
  placeProbe(step: KernelStep): void {
    this.#stampAt(step, slots);
  }

  /** What that step noted. Only when it is done. */
  probed(): number {
    this.#copy(slots, 1);
    return this.#ns(slots, 0);
  }

  close(): void {
    const { call } = this.#driver;
    this.#events.close();
    // Waits for the launches that still write there.
    call.cuMemFree_v2(this.#ring);
    call.cuMemFreeHost(this.#host);
  }

  #stampAt(step: KernelStep, slot: number): void {
    const low = this.#low + slot * slotBytes;
    if (low < 2 ** 32) step.stampAt(low, this.#high);
    else step.stampAt(low - 2 ** 32, this.#high + 1);
  }

  /** By now all launches so far are enqueued. A little late for most of them: reading the clock costs as much as all the rest. */
  #noteTime(): void {
    const now = performance.now();
    for (; this.#timed < this.#next; this.#timed++) this.#times[this.#timed % slots] = now;
  }

  #fence(): void {
    this.#noteTime();
    this.#fences.push({ event: this.#events.record(this.#compute), upTo: this.#next });
    this.#fenced = this.#next;
    this.#linked = false;
  }

  /** The ring is full: waits for the oldest fence. The driver's own queue is shorter, so a launch would wait for that much anyway. */
  #makeRoom(steps: number): void {
    this.#collect();
    while (this.#next + steps - this.#first > slots) {
      const [oldest] = this.#fences;
      if (!oldest)
        throw new RangeError(`a launch of ${steps} steps is more than the ${slots} that are measured at once`);
      this.#driver.check(this.#driver.call.cuEventSynchronize(oldest.event), 'waiting for times of launches');
      this.#collect();
    }
  }

  #collect(): void {
    let done = this.#first;
    while (this.#fences.length > 0 && isDone(this.#driver, this.#fences[0]!.event)) {
      const fence = this.#fences.shift()!;
      this.#events.recycle(fence.event);
      done = fence.upTo;
    }
    if (done === this.#first) return;
    const [from, count] = [this.#first % slots, done - this.#first];
    this.#copy(from, Math.min(count, slots - from));
    if (from + count > slots) this.#copy(0, from + count - slots);
    for (; this.#first < done; this.#first++) this.#note(this.#first % slots);
  }

  #note(slot: number): void {
    const steps = this.#counts[slot]!;
    if (steps === 0) return;
    const start = this.#ns(slot, 0);
    const end = this.#ns((slot + steps - 1) % slots, 1);
    // Launches of a stream run in their order. What breaks it was not written by this launch, and is no measurement.
    if (start < this.#lastEnd - skewNs || end < start) return;
    this.#lastEnd = end;
    this.#read.push(this.#ids[slot]!, start, end, this.#times[slot]!, this.#links[slot]!);
  }

  #ns(slot: number, word: 0 | 1): number {
    const at = (slot * slotBytes) / 4 + 2 * word;
    const [low, high] = [this.#words[at]!, this.#words[at + 1]!];
    this.#base ??= [low, high];
    return (high - this.#base[1]) * 2 ** 32 + (low - this.#base[0]);
  }

  #copy(slot: number, count: number): void {
    const { call } = this.#driver;
    const offset = slot * slotBytes;
    const code = call.cuMemcpyDtoHAsync_v2(this.#host + offset, this.#ring + offset, count * slotBytes, this.#stream);
    this.#driver.check(code, 'times of launches');
    this.#driver.check(call.cuStreamSynchronize(this.#stream), 'times of launches');
  }
}
