// Points on the device's timeline, with the time of the GPU where it can be read.
//
// A timed mark ends the compute pass and, with timestamp queries, writes one from an empty pass. The times of a batch are
// resolved and read back together when it is submitted; a mark is done when they have arrived. Resolving them is another kernel and
// a copy for the GPU. A mark without time costs nothing there: it is done when the queue says that its batch is.

import type { Mark } from '../device.ts';
import { mapMode, usage } from './constants.ts';
import type { Batch, Rider, WorkQueue } from './queue.ts';
import type { Waiter } from './wait.ts';

const slots = 256;

class GpuMark implements Mark {
  readonly #owner: Marks;
  /** Nanoseconds on the GPU's clock, once known. */
  time: bigint | null = null;
  finished = false;
  readonly arrival: Promise<void>;
  finish!: () => void;

  constructor(owner: Marks) {
    this.#owner = owner;
    this.arrival = new Promise((resolve) => {
      this.finish = () => {
        this.finished = true;
        resolve();
      };
    });
  }

  done(): boolean {
    return this.finished;
  }

  async whenDone(): Promise<void> {
    await this.#owner.reach(this);
  }

  since(earlier: Mark): number | null {
    const other = earlier instanceof GpuMark ? earlier.time : null;
    return this.time === null || other === null ? null : Number(this.time - other) / 1e6;
  }
}

export class Marks implements Rider {
  readonly #device: GPUDevice;
  readonly #queue: WorkQueue;
  readonly #awaited: Waiter;
  readonly #ensureAlive: () => void;
  readonly #queries: GPUQuerySet | null;
  readonly #resolved: GPUBuffer | null;
  readonly #idle: GPUBuffer[] = [];
  /** Of the batch that is being collected: all, and those whose time is written. */
  #pending: GpuMark[] = [];
  #timed: GpuMark[] = [];
  #landing: GPUBuffer | null = null;
  #closed = false;

  constructor(device: GPUDevice, queue: WorkQueue, timestamps: boolean, awaited: Waiter, ensureAlive: () => void) {
    this.#device = device;
    this.#queue = queue;
    this.#awaited = awaited;
    this.#ensureAlive = ensureAlive;
    this.#queries = timestamps ? device.createQuerySet({ type: 'timestamp', count: slots }) : null;
    this.#resolved = timestamps
      ? device.createBuffer({ size: slots * 8, usage: usage.queryResolve | usage.copySrc })
      : null;
  }

  mark(timed: boolean): GpuMark {
    const mark = new GpuMark(this);
    if (timed) this.#stamp(mark);
    // Else all of it was submitted before.
    if (timed || this.#queue.collecting) this.#pending.push(mark);
    else this.#whenIdle([mark]);
    return mark;
  }

  async reach(mark: GpuMark): Promise<void> {
    if (!mark.finished) this.#queue.flush();
    await (mark.finished ? mark.arrival : this.#awaited(mark.arrival));
    if (mark.time === null) this.#ensureAlive();
  }

  beforeSubmit(encoder: GPUCommandEncoder): void {
    const n = this.#timed.length;
    if (n === 0) return;
    this.#landing =
      this.#idle.pop() ?? this.#device.createBuffer({ size: slots * 8, usage: usage.mapRead | usage.copyDst });
    encoder.resolveQuerySet(this.#queries!, 0, n, this.#resolved!, 0);
    encoder.copyBufferToBuffer(this.#resolved!, 0, this.#landing, 0, n * 8);
  }

  afterSubmit(_: Batch): void {
    const [marks, timed, landing] = [this.#pending, this.#timed, this.#landing];
    if (marks.length === 0) return;
    this.#pending = [];
    this.#timed = [];
    this.#landing = null;
    if (!landing) {
      this.#whenIdle(marks);
      return;
    }
    const finish = finishing(marks);
    landing.mapAsync(mapMode.read).then(() => {
      const times = new BigUint64Array(landing.getMappedRange(0, timed.length * 8));
      timed.forEach((m, i) => {
        m.time = times[i]!;
      });
      landing.unmap();
      if (this.#closed) landing.destroy();
      else this.#idle.push(landing);
      finish();
    }, finish);
  }

  /** Lets nobody wait for marks that were never submitted. */
  close(): void {
    this.#closed = true;
    finishing(this.#pending)();
    this.#pending = [];
    for (const b of this.#idle) b.destroy();
    this.#queries?.destroy();
    this.#resolved?.destroy();
  }

  /** Writes the time into the next slot of the batch, in a pass of its own. */
  #stamp(mark: GpuMark): void {
    if (this.#timed.length === slots) this.#queue.flush();
    const encoder = this.#queue.endPass();
    if (!this.#queries) return;
    const timestampWrites = { querySet: this.#queries, endOfPassWriteIndex: this.#timed.length };
    encoder.beginComputePass({ timestampWrites }).end();
    this.#timed.push(mark);
  }

  /** Finishes marks when everything submitted so far is done, or the device is gone. */
  #whenIdle(marks: readonly GpuMark[]): void {
    const finish = finishing(marks);
    this.#device.queue.onSubmittedWorkDone().then(finish, finish);
  }
}

const finishing = (marks: readonly GpuMark[]) => (): void => {
  for (const m of marks) m.finish();
};
