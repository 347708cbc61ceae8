// gpuforge/compute: transfers, batches and datasets on whatever device is there, with recovery, measurements and a pool.

export { type ChunkOptions, ChunkSizer } from './adaptive.ts';
export { type Anomaly, AnomalyDetector, type AnomalyKind } from './anomaly.ts';
export type { BatchItem, BatchOptions } from './batch.ts';
export { type Clock, systemClock } from './clock.ts';
export type { DatasetInput, DatasetOptions, DatasetReport, StageTimes } from './dataset.ts';
export { DegradationHandler, type DegradationState } from './degradation.ts';
export { DeviceManager, type DeviceManagerDeps, type DeviceManagerOptions } from './device-manager.ts';
export {
  AbortError,
  BatchError,
  ComputeError,
  DeviceLostError,
  DeviceUnavailableError,
  DisposedError,
  InvalidArgumentError,
  KernelError,
  OutOfMemoryError,
  RecoveryExhaustedError,
  type RecoveryStep,
  TensorLostError,
  TransferError,
} from './errors.ts';
export type { ComputeEvents, ComputeListener, ComputeLogger } from './events.ts';
export { type DatasetResult, GPUCompute, type GPUComputeDeps, type GPUComputeOptions } from './gpu-compute.ts';
export { type Averages, type FieldSummary, type LoggedRecord, type MetricsInput, PerformanceLogger } from './logger.ts';
export { type MonitorDeps, type MonitorOptions, type OperationRecord, PerformanceMonitor } from './monitor.ts';
export type { BatchOp, OpName, TensorOp } from './ops.ts';
export type { RecordArray } from './pipeline.ts';
export type { Estimate } from './resources.ts';
export type { OpenRuntime } from './select.ts';
export { type PoolDeps, type PoolOptions, type PoolRequest, type PoolStats, TensorPool } from './tensor-pool.ts';
export type { TransferOptions } from './transfer.ts';
export type { DevicePreference, DeviceSelection, MemoryUsage, PerformanceMetrics } from './types.ts';
