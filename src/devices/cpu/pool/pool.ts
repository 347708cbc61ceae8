// The worker pool: runs one job at a time on the calling thread and on workers that share its memory.
//
// Workers start when the first job is worth it and sleep in between. Every wait here ends: a worker that shows no
// progress for `patience` is given up, and the job is reported as incomplete. A given-up worker might still write, so
// `settled` is false until its thread is known to be gone; memory must not be reused before that.

import type { Thread, ThreadHost } from '../host.ts';
import { type CpuMemory, controlAddress } from '../memory.ts';
import { controlWords, maxWorkers, slot, slotWord, state, word } from './control.ts';
import { workerData, workerOffset, workerSource } from './worker.ts';

/** A module that both sides run: `run` is the calling thread's instance. */
export interface Job {
  readonly code: number;
  readonly codeAddress: number;
  readonly codeBytes: number;
  readonly run: (args: number, begin: number, end: number) => void;
  readonly args: number;
  readonly items: number;
  readonly chunkItems: number;
  /** Workers worth waking. */
  readonly helpers: number;
  /** The longest a chunk is thought to take, in ms. */
  readonly chunkMs: number;
}

/** When a worker was at a job, in milliseconds of `performance.now()`. */
export interface LaneTime {
  /** The number of the worker, from 1. */
  readonly lane: number;
  readonly start: number;
  readonly end: number;
}

interface Worker {
  readonly index: number;
  readonly thread: Thread;
  /** Given up: its slot is not looked at again until the thread has ended. */
  lost: boolean;
}

export class WorkerPool {
  readonly #host: ThreadHost;
  readonly #memory: CpuMemory;
  readonly #size: number;
  readonly #patience: number;
  readonly #workers = new Map<number, Worker>();
  readonly #onSettled: () => void;
  #words: Int32Array<ArrayBufferLike>;
  #times: Float64Array<ArrayBufferLike>;
  #lost = 0;
  /** Workers in a row that ended without ever having started. */
  #stillborn = 0;
  #canWait = true;
  #closed = false;

  constructor(host: ThreadHost, memory: CpuMemory, size: number, patience: number, onSettled: () => void) {
    this.#host = host;
    this.#memory = memory;
    this.#size = Math.min(size, maxWorkers);
    this.#patience = patience;
    this.#onSettled = onSettled;
    this.#words = new Int32Array(memory.memory.buffer, controlAddress, controlWords);
    this.#times = new Float64Array(memory.memory.buffer, controlAddress, controlWords / 2);
  }

  /** No given-up worker can still be writing. */
  get settled(): boolean {
    return this.#lost === 0;
  }

  /** Workers that are not given up, started or starting. */
  get size(): number {
    return this.#workers.size - this.#lost;
  }

  /** Workers that have started and wait for work. */
  get ready(): number {
    let n = 0;
    for (const w of this.#workers.values()) {
      if (!w.lost && Atomics.load(this.#words, slotWord(w.index) + slot.state) === state.asleep) n++;
    }
    return n;
  }

  /** For tests: makes the next worker that claims a chunk end (1), trap (2) or stall (3). */
  /** The next worker that takes a chunk ends (1), traps (2), never comes back (3), or does so once it is told 5 (4). */
  injectFault(kind: 1 | 2 | 3 | 4 | 5): void {
    Atomics.store(this.#words, word.fault, kind);
    Atomics.notify(this.#words, word.fault);
  }

  /** For tests: ends a worker from outside. */
  async terminateOne(): Promise<void> {
    for (const w of this.#workers.values()) return w.thread.terminate();
  }

  /**
   * Runs all chunks. False if some may be missing, because a worker was lost with them or trapped. With `lanes`, the times of the
   * workers that had a part in it are added there.
   */
  run(job: Job, lanes: LaneTime[] | null = null): boolean {
    this.#fill();
    const w = this.#words;
    const chunks = Math.ceil(job.items / job.chunkItems);
    for (const worker of this.#workers.values()) w[slotWord(worker.index) + slot.done] = 0;
    w[word.chunks] = chunks;
    w[word.chunkItems] = job.chunkItems;
    w[word.items] = job.items;
    w[word.args] = job.args;
    w[word.code] = job.code;
    w[word.codeAddress] = job.codeAddress;
    w[word.codeBytes] = job.codeBytes;
    w[word.timed] = lanes ? 1 : 0;
    w[word.rest] = 0;
    Atomics.store(w, word.next, 0);
    Atomics.store(w, word.open, 1);
    Atomics.add(w, word.epoch, 1);
    Atomics.notify(w, word.epoch, job.helpers);
    let done = 0;
    try {
      for (;;) {
        const chunk = Atomics.add(w, word.next, 1);
        if (chunk >= chunks) break;
        job.run(job.args, chunk * job.chunkItems, Math.min(job.items, (chunk + 1) * job.chunkItems));
        done++;
      }
    } finally {
      // Also when this thread's chunk trapped: nobody may still be at work when the caller sees the error.
      Atomics.store(w, word.open, 0);
      Atomics.store(w, word.next, chunks);
      for (const worker of this.#workers.values()) if (!worker.lost) done += this.#wait(worker, job.chunkMs);
    }
    if (lanes) this.#note(lanes);
    return done === chunks;
  }

  /** Until the next job workers sleep: somebody else's threads need their cores. */
  rest(): void {
    Atomics.store(this.#words, word.rest, 1);
  }

  #note(lanes: LaneTime[]): void {
    const offset = workerOffset();
    for (const { index, lost } of this.#workers.values()) {
      const at = slotWord(index);
      if (lost || this.#words[at + slot.done] === 0) continue;
      const start = this.#times[(at + slot.start) / 2]! + offset;
      lanes.push({ lane: index + 1, start, end: this.#times[(at + slot.end) / 2]! + offset });
    }
  }

  /** Ends all workers; resolves when they are gone. */
  async close(): Promise<void> {
    this.#closed = true;
    Atomics.store(this.#words, word.stop, 1);
    Atomics.add(this.#words, word.epoch, 1);
    Atomics.notify(this.#words, word.epoch);
    await Promise.all([...this.#workers.values()].map((w) => w.thread.terminate()));
  }

  /** Starts workers up to the pool's size, in slots that nobody holds, unless the platform keeps refusing. */
  #fill(): void {
    if (this.#stillborn > 2 * this.#size + 2) return;
    for (let index = 0; this.size < this.#size && index < maxWorkers; index++) {
      if (this.#workers.has(index)) continue;
      const at = slotWord(index);
      Atomics.store(this.#words, at + slot.state, state.absent);
      let thread: Thread | null = null;
      try {
        thread = this.#host.spawn(workerSource, workerData(this.#memory.memory, index), () => this.#gone(index));
      } catch {
        // No threads to be had, or a page that forbids workers from blobs: the calling thread does the work.
      }
      if (!thread) {
        this.#stillborn++;
        return;
      }
      this.#workers.set(index, { index, thread, lost: false });
    }
  }

  #gone(index: number): void {
    const worker = this.#workers.get(index);
    if (!worker || this.#closed) return;
    this.#workers.delete(index);
    const started = Atomics.load(this.#words, slotWord(index) + slot.state) !== state.absent;
    this.#stillborn = started ? 0 : this.#stillborn + 1;
    if (!worker.lost) return;
    this.#lost--;
    if (this.#lost === 0) this.#onSettled();
  }

  /** Waits until a worker has left the job; the number of chunks it finished. */
  #wait(worker: Worker, chunkMs: number): number {
    const w = this.#words;
    const at = slotWord(worker.index);
    for (let i = 0; i < 1000; i++) if (Atomics.load(w, at + slot.state) !== state.inside) break;
    let progress = -1;
    let deadline = 0;
    while (Atomics.load(w, at + slot.state) === state.inside) {
      const now = performance.now();
      const finished = Atomics.load(w, at + slot.done);
      if (finished !== progress) {
        progress = finished;
        deadline = now + Math.max(this.#patience, 50 * chunkMs);
      } else if (now > deadline) {
        this.#giveUp(worker);
        return finished;
      }
      this.#pause(at + slot.state, Math.min(50, this.#patience));
    }
    if (Atomics.load(w, at + slot.state) === state.failed) this.#giveUp(worker);
    return Atomics.load(w, at + slot.done);
  }

  #pause(index: number, ms: number): void {
    if (!this.#canWait) return;
    try {
      Atomics.wait(this.#words, index, state.inside, ms);
    } catch {
      // The main thread of a browser may not sleep; it spins instead.
      this.#canWait = false;
    }
  }

  #giveUp(worker: Worker): void {
    worker.lost = true;
    this.#lost++;
    worker.thread.terminate().catch(() => {});
  }
}
