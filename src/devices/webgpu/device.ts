// The WebGPU device: the contract of devices/device.ts over one GPUDevice.

import type { DType } from '../../base/dtype.ts';
import { ArgumentError } from '../../errors.ts';
import type { Kernel, Routine } from '../../kernel/kernel.ts';
import type {
  Capabilities,
  ClockReading,
  Device,
  DeviceBuffer,
  DeviceLoss,
  Launch,
  Mark,
  Program,
  Span,
} from '../device.ts';
import { checkFit } from '../fit.ts';
import { released } from './errors.ts';
import { Launcher } from './launcher.ts';
import { Life } from './loss.ts';
import { Marks } from './marks.ts';
import { GpuBuffer, Pool } from './memory.ts';
import { Pipelines } from './pipelines.ts';
import type { Traits } from './plan.ts';
import { WebGpuProgram } from './program.ts';
import { WorkQueue } from './queue.ts';
import { WebGpuRecording } from './recording.ts';
import type { GpuKernels } from './render.ts';
import { patchKernel } from './routines/patch.ts';
import { ScalarBlock } from './scalars.ts';
import { PassSpans } from './spans.ts';
import { Downloads, Uploads } from './transfer.ts';
import type { Waiter } from './wait.ts';

export interface WebGpuSetup {
  readonly id: string;
  readonly gpu: GPUDevice;
  readonly caps: Capabilities;
  readonly traits: Traits;
  /** Kernels for GPUs; null on software adapters. */
  readonly gpuKernels: GpuKernels | null;
  readonly memoryBytes: number;
  readonly timestamps: boolean;
  /** Pipelines that bind alike may share a layout. */
  readonly sharedLayouts: boolean;
  /** How results are awaited, given what counts the workgroups enqueued; null if just so. */
  readonly waiter: ((enqueued: () => number) => Waiter) | null;
  /** A new device in place of this one, after a loss. */
  readonly reopen: () => Promise<WebGpuDevice>;
}

export interface WebGpuStats {
  readonly submits: number;
  readonly pipelines: number;
  readonly layouts: number;
  readonly bindGroups: number;
  readonly usedBytes: number;
  readonly idleBytes: number;
}

export class WebGpuDevice implements Device {
  readonly id: string;
  readonly caps: Capabilities;
  readonly lost: Promise<DeviceLoss>;
  /** The device underneath, for those who share it with their own WebGPU code. */
  readonly gpu: GPUDevice;
  readonly #setup: WebGpuSetup;
  readonly #life: Life;
  readonly #scalars: ScalarBlock;
  readonly #queue: WorkQueue;
  readonly #pool: Pool;
  readonly #pipelines: Pipelines;
  readonly #launcher: Launcher;
  readonly #uploads: Uploads;
  readonly #downloads: Downloads;
  readonly #marks: Marks;
  readonly #programs = new WeakMap<Kernel | Routine, WebGpuProgram>();
  readonly #recordings = new Set<WebGpuRecording>();
  /** Missing where the adapter has no timestamps. */
  readonly spans?: (on: boolean | 'detailed') => void;
  readonly takeSpans?: () => readonly Span[];
  readonly clock?: () => Promise<ClockReading>;
  #spans: PassSpans | null = null;
  readonly #onError: (event: Event) => void;

  constructor(setup: WebGpuSetup) {
    const { gpu, id } = setup;
    this.#setup = setup;
    this.id = id;
    this.caps = setup.caps;
    this.gpu = gpu;
    this.#life = new Life(gpu, id);
    this.lost = this.#life.lost;
    const sizes = batchSizes[setup.traits.cpu ? 'software' : 'gpu'];
    this.#scalars = new ScalarBlock(gpu);
    this.#queue = new WorkQueue(gpu, id, this.#scalars, sizes.firstBatch);
    const limits = { largest: setup.caps.maxBufferBytes, budget: setup.memoryBytes };
    this.#pool = new Pool(gpu, id, limits, () => this.#forgetBlocks());
    this.#pipelines = new Pipelines(gpu, id, this.#scalars.gpu, setup.sharedLayouts);
    this.#launcher = new Launcher(this.#pool, this.#queue, this.#pipelines, this.#scalars);
    this.#uploads = new Uploads(gpu, this.#queue, sizes.piece, (dst, word, mask, value) =>
      this.#patch(dst, word, mask, value),
    );
    const awaited = setup.waiter?.(() => this.#queue.workgroups) ?? ((work) => work);
    this.#downloads = new Downloads(gpu, this.#queue, sizes.piece, awaited, (cause) => this.#life.error('read', cause));
    this.#marks = new Marks(gpu, this.#queue, setup.timestamps, awaited, () => this.#life.check('whenDone'));
    this.#queue.addRider(this.#uploads);
    this.#queue.addRider(this.#marks);
    // What no error scope caught is kept off the console; scopes surround everything that is made or submitted here.
    this.#onError = (event) => event.preventDefault();
    gpu.addEventListener('uncapturederror', this.#onError);
    if (setup.timestamps) {
      this.spans = (on) => this.#measure(on);
      this.takeSpans = () => this.#spans?.take() ?? [];
      this.clock = () => this.#clock();
    }
  }

  /** What its shaders are written for. */
  get traits(): Traits {
    return this.#setup.traits;
  }

  allocate(bytes: number): DeviceBuffer {
    this.#life.check('allocate');
    if (!Number.isSafeInteger(bytes) || bytes < 0) {
      throw new ArgumentError({
        code: 'BAD_SIZE',
        message: `${this.id}: allocate(${bytes})`,
        fix: 'Ask for a whole number of bytes, zero or more.',
        where: 'allocate',
      });
    }
    return this.#pool.allocate(bytes);
  }

  release(buffer: DeviceBuffer): void {
    this.#pool.release(buffer as GpuBuffer);
  }

  write(dst: DeviceBuffer, bytes: Uint8Array, offset = 0): void {
    this.#life.check('write');
    const to = this.#own(dst, 'write');
    this.#checkRange(to, offset, bytes.length, 'write');
    if (bytes.length === 0) return;
    this.#launcher.settleUnsure([to]);
    this.#uploads.write(to, bytes, offset);
    const whole = offset === 0 && bytes.length === to.bytes;
    this.#queue.note({ name: 'write', reads: whole ? [] : [to], writes: [to], compiled: [] });
    if (whole) to.fault = null;
    if (bytes.length >= largeWrite) this.#queue.flush();
  }

  async read(src: DeviceBuffer, offset = 0, length?: number): Promise<Uint8Array> {
    this.#life.check('read');
    const from = this.#own(src, 'read');
    const count = length ?? from.bytes - offset;
    this.#checkRange(from, offset, count, 'read');
    return this.#downloads.read(from, offset, count);
  }

  prepare(work: Kernel | Routine): Program {
    this.#life.check('prepare');
    let known = this.#programs.get(work);
    if (!known) {
      known = new WebGpuProgram(work, this.#setup.traits, this.#setup.gpuKernels, this.#pipelines);
      this.#programs.set(work, known);
    }
    return known;
  }

  launch(program: Program, buffers: readonly DeviceBuffer[], scalars: readonly number[], id?: number): void {
    this.#life.check('launch');
    const p = program as WebGpuProgram;
    this.#checkLaunch(p, buffers as readonly GpuBuffer[]);
    this.#timed(id, () => this.#launcher.launch(p, buffers as readonly GpuBuffer[], scalars));
  }

  #timed(id: number | undefined, encode: () => void): void {
    if (this.#spans === null || id === undefined) encode();
    else this.#spans.during(id, encode);
  }

  #measure(on: boolean | 'detailed'): void {
    this.#life.check('spans');
    const before = this.#spans;
    if (before) {
      before.close();
      this.#queue.removeRider(before);
    }
    this.#spans = on ? new PassSpans(this.gpu, this.#queue, on === 'detailed') : null;
    this.#queue.timer = this.#spans;
    if (this.#spans) this.#queue.addRider(this.#spans);
  }

  async #clock(): Promise<ClockReading> {
    this.#life.check('clock');
    if (this.#spans) return this.#spans.clock(this.#marks);
    throw new ArgumentError({
      code: 'SPANS_OFF',
      message: `${this.id}: the clock is read only while spans are on`,
      fix: 'Call spans(true) first.',
      where: this.id,
    });
  }

  record(steps: readonly Launch[]): WebGpuRecording {
    this.#life.check('record');
    const check = (buffers: readonly GpuBuffer[]): void => {
      this.#life.check('replay');
      for (const b of buffers) this.#own(b, 'replay');
    };
    const timed = (id: number | undefined, encode: () => void): void => this.#timed(id, encode);
    const made = new WebGpuRecording(steps, this.#launcher, this.#pool, check, timed, (r) =>
      this.#recordings.delete(r),
    );
    this.#recordings.add(made);
    return made;
  }

  mark(timed = true): Mark {
    this.#life.check('mark');
    return this.#marks.mark(timed);
  }

  memory(): { readonly total: number; readonly free: number } {
    const { total, free } = this.#pool.figures();
    return { total, free };
  }

  pool(): { readonly reserved: number; readonly inUse: number; readonly idle: number } {
    const { used, idle } = this.#pool.figures();
    return { reserved: used + idle, inUse: used, idle };
  }

  trim(): void {
    if (this.#life.isLost || this.#life.isClosed) return;
    this.#pool.trim();
    this.#uploads.trim();
    this.#downloads.trim();
  }

  /** Submits what was collected without waiting for it. */
  flush(): void {
    if (!this.#life.isLost && !this.#life.isClosed) this.#queue.flush();
  }

  stats(): WebGpuStats {
    const { used, idle } = this.#pool.figures();
    return { submits: this.#queue.submits, ...this.#pipelines.counts, usedBytes: used, idleBytes: idle };
  }

  /** A new device in place of this one. Buffers and programs of the old one are gone with it. */
  async reopen(): Promise<WebGpuDevice> {
    await this.close();
    return this.#setup.reopen();
  }

  async close(): Promise<void> {
    if (this.#life.isClosed) return;
    this.#life.close();
    this.#queue.close();
    this.#marks.close();
    this.#uploads.close();
    this.#downloads.trim();
    this.gpu.destroy();
    await this.gpu.lost;
    this.gpu.removeEventListener('uncapturederror', this.#onError);
  }

  // Destroyed buffers must not be named by work that is still to be submitted, nor kept by bind groups.
  #forgetBlocks(): void {
    this.#queue.flush();
    this.#pipelines.forgetBindGroups();
    for (const r of this.#recordings) r.forget();
  }

  #patch(dst: GpuBuffer, word: number, mask: number, value: number): void {
    this.#launcher.launch(this.prepare(patchKernel) as WebGpuProgram, [dst], [word, mask, value]);
  }

  #own(buffer: DeviceBuffer, where: string): GpuBuffer {
    if (!(buffer instanceof GpuBuffer) || !buffer.block) throw released(this.id, where);
    return buffer;
  }

  #checkLaunch(p: WebGpuProgram, buffers: readonly GpuBuffer[]): void {
    checkFit(this.id, p.name, p.needs, buffers);
    const { plan } = p.plain;
    for (const c of p.plain.compiled) if (c.failure) throw c.failure;
    for (let i = 0; i < buffers.length; i++) {
      const b = this.#own(buffers[i]!, p.name);
      if (i < plan.firstOutput && b.fault) throw b.fault;
      if (b.block!.failure) throw b.block!.failure;
    }
  }

  #checkRange(buffer: GpuBuffer, offset: number, length: number, where: string): void {
    const fits = Number.isSafeInteger(offset) && Number.isSafeInteger(length) && offset >= 0 && length >= 0;
    if (fits && offset + length <= buffer.bytes) return;
    throw new ArgumentError({
      code: 'OUT_OF_RANGE',
      message: `${this.id}: ${where} of ${length} bytes at ${offset} in a buffer of ${buffer.bytes} bytes`,
      fix: 'Keep offset and length within the buffer.',
      where,
    });
  }
}

const largeWrite = 4 << 20;

/**
 * How work is cut for the adapter. `firstBatch`: dispatches after which an idle adapter is given work while more is collected;
 * batches double from there. `piece`: bytes of a transfer that the host copies while the adapter copies the piece before. A submit costs
 * a GPU's driver about 27 µs and a software adapter next to nothing.
 */
const batchSizes = {
  gpu: { firstBatch: 128, piece: 4 << 20 },
  software: { firstBatch: 16, piece: 1 << 20 },
} as const;

/** The element types this adapter can hold. */
export function dtypesOf(f16: boolean): ReadonlySet<DType> {
  return new Set<DType>(f16 ? ['f32', 'f16', 'i32', 'u32', 'u8', 'bool'] : ['f32', 'i32', 'u32', 'u8', 'bool']);
}
