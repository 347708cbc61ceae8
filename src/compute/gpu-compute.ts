// GPUCompute: data to the device and back, batches, datasets, reset. Everything it does on the device goes through one
// runtime, opened by the device manager and pinned to the device that was selected; everything it measures is in one timeline.

import { notMade } from '../base/arguments.ts';
import { checkMethods } from '../base/signatures.ts';
import type { BatchOp } from '../batch/ops.ts';
import { type BatchProcessor, createBatch } from '../batch/processor.ts';
import type { BatchSettings } from '../batch/settings.ts';
import type { BatchCounts } from '../batch/stats.ts';
import type { DType, HostArrays, Runtime, Tensor } from '../index.ts';
import type { PerformanceMetrics } from '../profile/metrics.ts';
import { checkOptions, flag, type Rule } from '../profile/options.ts';
import { Shared } from '../profile/shared.ts';
import { type BatchItem, type BatchOptions, runBatch } from './batch.ts';
import { Context, type ContextOptions } from './context.ts';
import { type DatasetInput, type DatasetOptions, type DatasetReport, runDataset } from './dataset.ts';
import { DeviceManager } from './device-manager.ts';
import type { ComputeEvents, ComputeListener } from './events.ts';
import { PerformanceMonitor } from './monitor.ts';
import { type Estimate, ResourcePredictor } from './resources.ts';
import { computeKinds, computeMakers, computeSignatures } from './signatures.ts';
import { TensorPool } from './tensor-pool.ts';
import { type TransferOptions, transferFrom, transferTo } from './transfer.ts';

export type GPUComputeOptions = ContextOptions;

export interface GPUComputeDeps extends GPUComputeOptions {
  readonly devices?: DeviceManager | undefined;
  readonly monitor?: PerformanceMonitor | undefined;
  readonly pool?: TensorPool | undefined;
  /** Dispose the given parts too. */
  readonly owned?: boolean | undefined;
}

export interface DatasetResult extends DatasetReport {
  readonly metrics: PerformanceMetrics;
}

const shared = new Shared<GPUCompute, GPUComputeOptions>('GPUCompute', (options) =>
  GPUCompute.create({
    ...options,
    devices: DeviceManager.getInstance(),
    monitor: PerformanceMonitor.getInstance(),
    pool: TensorPool.getInstance(),
    owned: true,
  }),
);

export class GPUCompute {
  readonly devices: DeviceManager;
  readonly monitor: PerformanceMonitor;
  readonly pool: TensorPool;
  readonly #ctx: Context;
  readonly #resources: ResourcePredictor;
  /** What this instance made for itself, and so disposes. */
  readonly #own: readonly { dispose(): void | Promise<void> }[];
  readonly #leave: () => void;

  /** The instance shared by the whole process; made anew after `dispose()`. */
  static getInstance(options?: GPUComputeOptions): GPUCompute {
    return shared.get(options);
  }

  /** An instance of one's own. Parts that are not given are made, and disposed with it. */
  static create(deps: GPUComputeDeps = {}): GPUCompute {
    return new GPUCompute(deps);
  }

  private constructor(deps: GPUComputeDeps = notMade('GPUCompute', 'GPUCompute.create()')) {
    checkOptions('GPUCompute', 'option', deps, optionRules);
    this.devices = deps.devices ?? DeviceManager.create();
    this.monitor = deps.monitor ?? PerformanceMonitor.create({ devices: this.devices });
    this.pool = deps.pool ?? TensorPool.create({ devices: this.devices });
    const own = (given: unknown): boolean => deps.owned === true || given === undefined;
    this.#own = [
      ...(own(deps.pool) ? [this.pool] : []),
      ...(own(deps.monitor) ? [this.monitor] : []),
      ...(own(deps.devices) ? [this.devices] : []),
    ];
    this.#ctx = new Context(this.devices, deps);
    this.#resources = new ResourcePredictor(this.devices.timeline);
    const leaveDevices = this.devices.join(this.#ctx.handles);
    const stopRequests = this.pool.onRequest((hit) => this.monitor.noteRequest(hit));
    this.#leave = () => {
      leaveDevices();
      stopRequests();
      this.#resources.dispose();
    };
  }

  get disposed(): boolean {
    return this.#ctx.disposed;
  }

  /** The runtime in use, for ops of one's own on the tensors; null before the first use. */
  get runtime(): Runtime | null {
    return this.devices.runtime;
  }

  /**
   * Copies a typed array to the device and resolves when it is there.
   * @example
   * ```ts
   * import { GPUCompute } from 'gpuforge/compute';
   * await using gpu = GPUCompute.create();
   * const tensor = await gpu.transferToGPU(Float32Array.of(3, 4));
   * await gpu.transferFromGPU(tensor); // → [3, 4]
   * ```
   */
  transferToGPU(data: ArrayBufferView, options: TransferOptions = {}): Promise<Tensor> {
    return transferTo(this.#ctx, data, options);
  }

  /** The elements of a tensor, in the typed array of its dtype. The tensor stays. */
  transferFromGPU<D extends DType>(tensor: Tensor<D>): Promise<HostArrays[D]> {
    return transferFrom(this.#ctx, tensor);
  }

  /** `processBatch` with the mean of squares as the default operation. */
  computeBatch(
    tensors: readonly Tensor[],
    op?: BatchOp,
    options?: BatchOptions & { onError?: 'throw' },
  ): Promise<Tensor[]>;
  computeBatch(
    tensors: readonly Tensor[],
    op: BatchOp | undefined,
    options: BatchOptions & { onError: 'collect' },
  ): Promise<BatchItem[]>;
  computeBatch(tensors: readonly Tensor[], op: BatchOp = 'meanSquare', options: BatchOptions = {}): Promise<unknown[]> {
    return runBatch(this.#ctx, 'computeBatch', tensors, op, options);
  }

  /** One result per tensor, in their order. Inputs are left untouched; you dispose of the results. */
  processBatch(
    tensors: readonly Tensor[],
    op?: BatchOp,
    options?: BatchOptions & { onError?: 'throw' },
  ): Promise<Tensor[]>;
  processBatch(
    tensors: readonly Tensor[],
    op: BatchOp | undefined,
    options: BatchOptions & { onError: 'collect' },
  ): Promise<BatchItem[]>;
  processBatch(tensors: readonly Tensor[], op: BatchOp = 'meanSquare', options: BatchOptions = {}): Promise<unknown[]> {
    return runBatch(this.#ctx, 'processBatch', tensors, op, options);
  }

  /** Host data through the device and back, record by record, streamed if there is more than fits. */
  async processDataset(data: DatasetInput, options: DatasetOptions = {}): Promise<DatasetResult> {
    const reading = this.monitor.reading();
    const report = await runDataset(this.#ctx, data, options);
    return { ...report, metrics: await this.monitor.getDetailedMetrics(reading) };
  }

  /** Peak memory and time that a batch will take, with error bars, before it runs. Selects a device if there is none. */
  async estimateBatch(
    tensors: readonly Tensor[],
    op: BatchOp = 'meanSquare',
    options: BatchOptions = {},
  ): Promise<Estimate> {
    this.#ctx.checkOpen('estimateBatch');
    const station = await this.devices.ready();
    for (const t of tensors) this.#ctx.checkTensor(t, station, 'estimateBatch');
    return this.#resources.batch(station, tensors, op, options);
  }

  /**
   * A processor over items on this facade's runtime, with its counters: what runs through either is in the statistics of both.
   * Selects a device if there is none.
   */
  async createBatch<T>(items: readonly T[], settings: BatchSettings<T> = {}): Promise<BatchProcessor<T>> {
    this.#ctx.checkOpen('createBatch');
    const { runtime } = await this.devices.ready();
    return createBatch(items, { runtime, statistics: this.#ctx.stats, clock: this.#ctx.clock, ...settings });
  }

  /** Chunks and items of all batches and datasets so far, by operation. */
  batchCounts(): BatchCounts {
    return this.#ctx.stats.counts();
  }

  /** The device that holds a tensor of this facade; 'host' while it is in host memory alone; null if it is not known here. */
  deviceOf(tensor: Tensor): string | null {
    if (tensor.disposed || !this.runtime?.owns(tensor)) return null;
    return tensor.device ?? 'host';
  }

  /** Builds the device anew. Tensors survive if their bytes can be read or were kept; the others say that they are lost. */
  async resetDevice(): Promise<void> {
    this.#ctx.checkOpen('resetDevice');
    await this.devices.reset('resetDevice was called');
  }

  on<K extends keyof ComputeEvents>(kind: K, listener: ComputeListener<K>): () => void {
    return this.devices.on(kind, listener);
  }

  /** Frees every tensor made here, and the parts this instance made for itself. Doing it twice does nothing. */
  async dispose(): Promise<void> {
    if (this.#ctx.disposed) return;
    this.#ctx.disposed = true;
    this.#ctx.handles.clear();
    this.#leave();
    for (const part of this.#own) await part.dispose();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }
}

const optionRules: Readonly<Record<keyof GPUComputeDeps, Rule>> = {
  attempts: [(v) => Number.isSafeInteger(v) && (v as number) > 0, 'a whole number above 0'],
  waits: [(v) => Array.isArray(v) && v.every((w) => typeof w === 'number' && w >= 0), 'a list of times in ms'],
  fallback: flag,
  utilizationCeiling: [(v) => typeof v === 'number' && v > 0 && v <= 1, 'a number above 0, at most 1'],
  handleDegradation: flag,
  devices: [(v) => v instanceof DeviceManager, 'a DeviceManager'],
  monitor: [(v) => v instanceof PerformanceMonitor, 'a PerformanceMonitor'],
  pool: [(v) => v instanceof TensorPool, 'a TensorPool'],
  owned: flag,
};

checkMethods(GPUCompute.prototype, computeSignatures, computeKinds);
checkMethods(GPUCompute, computeMakers, computeKinds);
