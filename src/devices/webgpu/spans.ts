// When compute passes ran on the GPU, by a pair of timestamps around each.
//
// A pass holds many launches; they are measured together, and only a detailed measurement gives each launch a pass of its own.
// The times of a batch are resolved and read back together when it is submitted, as those of marks are.

import { isNode } from '../../base/platform.ts';
import { type ClockSample, clockReadings, compareClocks } from '../clock.ts';
import type { ClockReading, Span } from '../device.ts';
import { mapMode, usage } from './constants.ts';
import type { Marks } from './marks.ts';
import type { Batch, Rider, WorkQueue } from './queue.ts';

/** Passes of a batch that can be measured. */
const mostPasses = 512;
const bytes = mostPasses * 16;
/** Browsers let timestamps move in steps, against spying; Dawn in Node is told not to. */
const browserQuantumUs = 100;

export class PassSpans implements Rider {
  /** Passes that went unmeasured because their batch had too many. */
  dropped = 0;
  readonly #device: GPUDevice;
  readonly #queue: WorkQueue;
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #idle: GPUBuffer[] = [];
  readonly #detailed: boolean;
  readonly #quantum: { readonly quantumUs?: number };
  /** The launches of each measured pass of the batch that is being collected. */
  #passes: number[][] = [];
  /** The launch being encoded. */
  #id: number | null = null;
  #landing: GPUBuffer | null = null;
  #known: Span[] = [];
  #closed = false;

  constructor(device: GPUDevice, queue: WorkQueue, detailed: boolean) {
    this.#device = device;
    this.#queue = queue;
    this.#detailed = detailed;
    this.#quantum = isNode() ? {} : { quantumUs: browserQuantumUs };
    this.#queries = device.createQuerySet({ type: 'timestamp', count: 2 * mostPasses });
    this.#resolved = device.createBuffer({ size: bytes, usage: usage.queryResolve | usage.copySrc });
    // What is being encoded was begun unmeasured.
    queue.endPass();
  }

  /** Encodes a launch that is to be measured. */
  during(id: number, encode: () => void): void {
    if (this.#detailed) this.#queue.endPass();
    this.#id = id;
    try {
      encode();
    } finally {
      this.#id = null;
      if (this.#detailed) this.#queue.endPass();
    }
  }

  /** A pass begins; what to begin it with. */
  begins(): GPUComputePassDescriptor {
    if (this.#id === null) return {};
    if (this.#passes.length === mostPasses) {
      this.dropped++;
      return {};
    }
    const at = 2 * this.#passes.length;
    this.#passes.push([]);
    return {
      timestampWrites: { querySet: this.#queries, beginningOfPassWriteIndex: at, endOfPassWriteIndex: at + 1 },
    };
  }

  /** Something was dispatched in the current pass. */
  dispatched(): void {
    const ids = this.#passes.at(-1);
    if (this.#id !== null && ids && ids.at(-1) !== this.#id) ids.push(this.#id);
  }

  beforeSubmit(encoder: GPUCommandEncoder): void {
    const n = this.#passes.length;
    if (n === 0) return;
    this.#landing =
      this.#idle.pop() ?? this.#device.createBuffer({ size: bytes, usage: usage.mapRead | usage.copyDst });
    encoder.resolveQuerySet(this.#queries, 0, 2 * n, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#landing, 0, 16 * n);
  }

  afterSubmit(_: Batch): void {
    const passes = this.#passes;
    const landing = this.#landing;
    if (!landing) return;
    this.#passes = [];
    this.#landing = null;
    landing.mapAsync(mapMode.read).then(
      () => {
        const times = new BigUint64Array(landing.getMappedRange(0, 16 * passes.length));
        passes.forEach((ids, i) => {
          this.#add(ids, times[2 * i]!, times[2 * i + 1]!);
        });
        landing.unmap();
        if (this.#closed) landing.destroy();
        else this.#idle.push(landing);
      },
      // The device is gone, and its times with it.
      () => {},
    );
  }

  take(): readonly Span[] {
    const known = this.#known;
    if (known.length > 0) this.#known = [];
    return known;
  }

  /** What the device is working on is waited for first: a mark behind it would be late. */
  async clock(marks: Marks): Promise<ClockReading> {
    await marks.mark(false).whenDone();
    const samples: ClockSample[] = [];
    for (let i = 0; i < clockReadings; i++) {
      const before = performance.now();
      const mark = marks.mark(true);
      await mark.whenDone();
      const after = performance.now();
      if (mark.time !== null) samples.push({ before, after, device: milliseconds(mark.time) });
    }
    return samples.length > 0 ? compareClocks(samples) : { device: 0, host: 0, errorUs: Number.POSITIVE_INFINITY };
  }

  close(): void {
    this.#closed = true;
    this.#queue.endPass();
    this.#queue.flush();
    for (const b of this.#idle) b.destroy();
    this.#queries.destroy();
    this.#resolved.destroy();
  }

  #add(ids: readonly number[], from: bigint, to: bigint): void {
    const [id] = ids;
    // A pass that something else began and ended; or a GPU that lost count, which some do when they are reset.
    if (id === undefined || to < from) return;
    const last = this.#known.at(-1);
    const [start, end] = [milliseconds(from), milliseconds(to)];
    // A launch that took several passes is one span.
    if (ids.length === 1 && last?.id === id && !last.ids) this.#known[this.#known.length - 1] = { ...last, end };
    else this.#known.push({ id, start, end, ...(ids.length > 1 ? { ids } : {}), ...this.#quantum });
  }
}

const milliseconds = (nanoseconds: bigint): number => Number(nanoseconds) / 1e6;
