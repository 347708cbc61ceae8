// What waits to be computed, and when it is: the flush policy.
//
// A lazy program that is never read must neither grow nor stall. Results that wait are computed together
//   - when more than `results` were made since the last time, also such that are disposed of by now: lazy work that is too
//     deep would be cut by the runtime value by value, and steps that several values share computed again for each. From three
//     quarters of that on before the next product: a loop of layers is then cut at the same point every time, so it is planned once,
//   - when a variable is assigned again more than `assigns` times without having been computed: a training step is then
//     one program, cut at the same point every time, so it is planned once,
//   - when inputs that only wait for this work hold more than a quarter of the memory that is free,
//   - in a microtask after the last op of a turn.
// Where the device works beside the host, layers of convolutions are computed as far as they are known every few layers: the device
// begins while the rest of the program is put together.
// A flush that fails changes nothing: the error comes again where the value is read.

import type { Runtime, Tensor } from '../index.ts';
import type { Entry } from './store.ts';

export interface FlushOptions {
  /** Compute in a microtask after the last op of a turn. Default true. */
  readonly auto?: boolean | undefined;
  /** Results that may be made without being computed. Default 128. */
  readonly results?: number | undefined;
  /** How often a variable may be assigned without being computed. Default 1. */
  readonly assigns?: number | undefined;
}

const now = Promise.resolve();
const defaults = { auto: true, results: 128, assigns: 1 };

/** Of the results that may wait, from how many on a product is a good place to cut. */
const ripeShare = 3 / 4;

/** Results after which the device is given what a convolution reads. */
const startAfter = 6;

/** Of the free memory, what disposed inputs of waiting work may hold. */
const heldShare = 1 / 4;

/** Less than this is not worth asking how much is free. */
const fewBytes = 1 << 22;
const unknownFree = 1 << 30;

/** Flushes for which that answer is good enough: a driver takes longer to give it than a small program runs. */
const answerLasts = 64;

export class Pending {
  readonly #rt: Runtime;
  readonly #options: { readonly auto: boolean; readonly results: number; readonly assigns: number };
  /** Also such that are gone by now; those that are not say so themselves, and are counted. */
  #list: Entry[] = [];
  #waiting = 0;
  /** Told before everything that waits is computed: what was put off becomes tensors. */
  onFlush: () => void = () => {};
  #scheduled = false;
  /** Results since the last flush. */
  #made = 0;
  /** Results since the device was given something. */
  #unstarted = 0;
  /** Bytes of inputs that are gone and may be held by what waits. */
  #heldBytes = 0;
  /** What they may be; 0 if the device is to be asked. */
  #heldLimit = 0;
  /** Flushes since it was asked. */
  #flushes = 0;

  constructor(rt: Runtime, options: FlushOptions = {}) {
    this.#rt = rt;
    this.#options = { ...defaults, ...Object.fromEntries(Object.entries(options).filter(([, v]) => v !== undefined)) };
  }

  get size(): number {
    return this.#waiting;
  }

  /** The results of a call. */
  add(results: readonly Entry[]): void {
    for (let i = 0; i < results.length; i++) this.wait(results[i]!);
    this.counted(results.length);
  }

  /** A call has made so many results. Everything that waits may be computed by now. */
  counted(count: number): void {
    if (count === 0) return;
    this.#unstarted += count;
    this.#made += count;
    if (this.#made > this.#options.results) this.flush();
    else if (!this.#scheduled && this.#options.auto) {
      this.#scheduled = true;
      // As a microtask of its own, at half the price.
      now.then(this.#turnEnded);
    }
  }

  /** A result of a call waits; the call is counted when all of its results do. */
  wait(entry: Entry): void {
    if (entry.waits || !entry.lazy) return;
    entry.waits = true;
    this.#waiting++;
    this.#list.push(entry);
  }

  /** Nothing waits any more. */
  #forget(): void {
    for (let i = 0; i < this.#list.length; i++) this.#list[i]!.waits = false;
    this.#list = [];
    this.#waiting = 0;
  }

  /** A kernel that multiplies matrices comes next. */
  beforeProduct(): void {
    if (this.#made > this.#options.results * ripeShare) this.flush();
  }

  /** A convolution reads this tensor next. Only that is computed: what else waits may be disposed of before anybody needs it. */
  beforeConvolution(input: Tensor): void {
    if (this.#unstarted < startAfter || input.computed) return;
    this.#unstarted = 0;
    try {
      this.#rt.compute(input);
    } catch {
      // Whoever reads the value is told.
    }
  }

  /** An entry is gone. Its bytes may be held by what waits. */
  delete(entry: Entry): void {
    if (entry.waits) {
      entry.waits = false;
      this.#waiting--;
      return;
    }
    if (this.#waiting === 0 || !entry.tensor?.computed) return;
    this.#heldBytes += entry.tensor.nbytes;
    if (this.#heldBytes < fewBytes) return;
    this.#heldLimit ||= this.#freeBytes() * heldShare;
    if (this.#heldBytes > this.#heldLimit) this.flush();
  }

  /** A variable takes a value, in place of one that had been assigned `age` times in a row without being computed. */
  assigned(entry: Entry, age: number): void {
    entry.age = entry.lazy ? age + 1 : 0;
    if (entry.age > this.#options.assigns) this.flush();
  }

  /** Computes everything that waits, together. */
  flush(): void {
    this.onFlush();
    if (this.#waiting > 0) {
      const open = this.#list.flatMap(({ waits, tensor }) => (waits && tensor && !tensor.computed ? [tensor] : []));
      if (open.length > 0) this.#rt.compute(...open);
    }
    this.#forget();
    this.#made = 0;
    this.#unstarted = 0;
    this.#heldBytes = 0;
    if (++this.#flushes === answerLasts) this.#flushes = this.#heldLimit = 0;
  }

  /** Forgets what waits without computing it. */
  clear(): void {
    this.#forget();
  }

  readonly #turnEnded = (): void => {
    this.#scheduled = false;
    try {
      this.flush();
    } catch {
      // Whoever reads the value is told; nobody could be told here.
      this.#forget();
    }
  };

  #freeBytes(): number {
    const open = this.#rt.devices().find((d) => d.open);
    const free = open ? this.#rt.device(open.id).memory().free : 0;
    return free > 0 ? free : unknownFree;
  }
}
