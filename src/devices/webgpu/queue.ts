// Work collected into one encoder, submitted as few, full batches.
//
// A batch is submitted when somebody reads, when it is long, when memory must be given back, or when nothing was added
// for a moment. Batches that are long enough grow from `firstBatch` on, so that an adapter that waits is given work soon. Each batch runs inside an error scope. If it fails, nothing of it was executed: every buffer it should
// have written is marked with the error, and so is whatever later batches computed from those, until it is written anew.

import type { ForgeError } from '../../errors.ts';
import { batchError } from './errors.ts';
import type { GpuBuffer } from './memory.ts';
import type { Compiled } from './pipelines.ts';
import type { ScalarBlock } from './scalars.ts';

/** One enqueued step, remembered until the GPU has accepted its batch. */
export interface QueuedStep {
  readonly name: string;
  readonly reads: readonly GpuBuffer[];
  readonly writes: readonly GpuBuffer[];
  readonly compiled: readonly Compiled[];
  /** Told why what it wanted to read cannot be trusted. */
  readonly onFault?: (error: ForgeError) => void;
}

export interface Batch {
  readonly serial: number;
  readonly steps: QueuedStep[];
  /** Resolves, never rejects, once the GPU has accepted or refused the batch and its steps know. */
  settled: Promise<void>;
  submitted: boolean;
}

/** Told of passes while they are measured. */
export interface PassTimer {
  begins(): GPUComputePassDescriptor;
  dispatched(): void;
}

/** Something that takes part in each submit: fills buffers before it, waits for it after. */
export interface Rider {
  beforeSubmit(encoder: GPUCommandEncoder): void;
  afterSubmit(batch: Batch): void;
}

const mostDispatches = 128;
const idleMs = 1;

export class WorkQueue {
  readonly #device: GPUDevice;
  readonly #id: string;
  readonly #scalars: ScalarBlock;
  readonly #firstBatch: number;
  readonly #riders: Rider[] = [];
  /** Null while nobody measures passes. */
  timer: PassTimer | null = null;
  #encoder: GPUCommandEncoder | null = null;
  #pass: GPUComputePassEncoder | null = null;
  #pipeline: GPUComputePipeline | null = null;
  #dispatches = 0;
  #workgroups = 0;
  /** Dispatches at which the next batch is submitted. */
  #longBatch: number;
  #added = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #batch: Batch;
  #faults = 0;
  #submits = 0;
  #closed = false;

  constructor(device: GPUDevice, id: string, scalars: ScalarBlock, firstBatch: number) {
    this.#firstBatch = this.#longBatch = firstBatch;
    this.#device = device;
    this.#id = id;
    this.#scalars = scalars;
    this.#batch = newBatch(0, Promise.resolve());
  }

  /** How many batches were submitted. */
  get submits(): number {
    return this.#submits;
  }

  /** Of all dispatches so far. */
  get workgroups(): number {
    return this.#workgroups;
  }

  /** Whether anything waits to be submitted. */
  get collecting(): boolean {
    return this.#encoder !== null;
  }

  /** The batch being collected. */
  get current(): Batch {
    return this.#batch;
  }

  addRider(rider: Rider): void {
    this.#riders.push(rider);
  }

  removeRider(rider: Rider): void {
    const at = this.#riders.indexOf(rider);
    if (at >= 0) this.#riders.splice(at, 1);
  }

  /** Remembers what was enqueued, for errors. */
  note(step: QueuedStep): void {
    this.#batch.steps.push(step);
  }

  dispatch(
    pipeline: GPUComputePipeline,
    group: GPUBindGroup,
    scalarOffset: number | null,
    workgroups: readonly [number, number, number],
  ): void {
    if (!this.#pass) {
      const encoder = this.#open();
      this.#pass = this.timer === null ? encoder.beginComputePass() : encoder.beginComputePass(this.timer.begins());
      this.#pipeline = null;
    }
    if (this.#pipeline !== pipeline) {
      this.#pass.setPipeline(pipeline);
      this.#pipeline = pipeline;
    }
    if (scalarOffset === null) this.#pass.setBindGroup(0, group);
    else this.#pass.setBindGroup(0, group, [scalarOffset]);
    this.#pass.dispatchWorkgroups(workgroups[0], workgroups[1], workgroups[2]);
    this.timer?.dispatched();
    this.#workgroups += workgroups[0] * workgroups[1] * workgroups[2];
    this.#dispatches++;
    this.#added++;
  }

  copy(from: GPUBuffer, fromOffset: number, to: GPUBuffer, toOffset: number, bytes: number): void {
    this.endPass().copyBufferToBuffer(from, fromOffset, to, toOffset, bytes);
    this.#added++;
  }

  /** The encoder outside any pass, for copies and timestamps. */
  endPass(): GPUCommandEncoder {
    this.#pass?.end();
    this.#pass = null;
    return this.#open();
  }

  /** Submits if the batch is long; between launches, never within one. */
  breathe(): void {
    if (this.#dispatches < this.#longBatch) return;
    const next = Math.min(this.#longBatch * 2, mostDispatches);
    this.flush();
    this.#longBatch = next;
  }

  /** Submits what was collected. */
  flush(): void {
    const encoder = this.#encoder;
    if (!encoder) return;
    this.#pass?.end();
    const batch = this.#batch;
    for (const rider of this.#riders) rider.beforeSubmit(encoder);
    this.#scalars.submit();
    this.#device.pushErrorScope('validation');
    this.#device.queue.submit([encoder.finish()]);
    const verdict = this.#device.popErrorScope();
    const before = batch.settled;
    batch.settled = this.#settle(batch, before, verdict);
    batch.submitted = true;
    this.#submits++;
    this.#encoder = null;
    this.#pass = null;
    this.#pipeline = null;
    this.#dispatches = 0;
    this.#longBatch = this.#firstBatch;
    this.#batch = newBatch(batch.serial + 1, batch.settled);
    for (const rider of this.#riders) rider.afterSubmit(batch);
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#pass?.end();
    this.#pass = null;
    this.#encoder = null;
  }

  #open(): GPUCommandEncoder {
    if (!this.#encoder) {
      this.#encoder = this.#device.createCommandEncoder();
      this.#watch();
    }
    return this.#encoder;
  }

  // Work nobody reads must still run, but not before more of it has had time to join.
  #watch(): void {
    if (this.#timer !== null) return;
    const seen = this.#added;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#closed || !this.#encoder) return;
      if (this.#added === seen) this.flush();
      else this.#watch();
    }, idleMs);
    if (typeof this.#timer === 'object') this.#timer.unref?.();
  }

  async #settle(batch: Batch, before: Promise<void>, verdict: Promise<GPUError | null>): Promise<void> {
    let error: unknown;
    try {
      error = await verdict;
    } catch (lost) {
      error = lost;
    }
    await before;
    if (error) this.#fail(batch, await this.#explain(batch, error));
    else if (this.#faults > 0) this.#spread(batch);
    batch.steps.length = 0;
  }

  /** The cause behind a refused batch: a shader or an allocation that had failed before, else what the GPU says. */
  async #explain(batch: Batch, error: unknown): Promise<ForgeError> {
    const compiled = new Set(batch.steps.flatMap((s) => s.compiled));
    await Promise.all([...compiled].map((c) => c.checked));
    for (const c of compiled) if (c.failure) return c.failure;
    for (const step of batch.steps) {
      for (const b of [...step.reads, ...step.writes]) if (b.block?.failure) return b.block.failure;
    }
    return batchError(this.#id, error, [...new Set(batch.steps.map((s) => s.name))]);
  }

  #fail(batch: Batch, error: ForgeError): void {
    for (const step of batch.steps) {
      step.onFault?.(error);
      for (const b of step.writes) this.#mark(b, error);
    }
  }

  #spread(batch: Batch): void {
    for (const step of batch.steps) {
      const fault = step.reads.find((b) => b.fault)?.fault ?? null;
      if (fault) step.onFault?.(fault);
      for (const b of step.writes) this.#mark(b, fault);
    }
  }

  #mark(buffer: GpuBuffer, fault: ForgeError | null): void {
    if (!buffer.block) return;
    if (fault && !buffer.fault) this.#faults++;
    buffer.fault = fault;
  }
}

const newBatch = (serial: number, settled: Promise<void>): Batch => ({ serial, steps: [], settled, submitted: false });
