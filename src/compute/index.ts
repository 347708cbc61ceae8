// gpuforge/compute: transfers, batches and datasets on whatever device is there, with recovery, measurements and a pool.

export type { DegradationState } from '../batch/degradation.ts';
export type { BatchOp, OpName, TensorOp } from '../batch/ops.ts';
export type { RecordArray } from '../batch/reader.ts';
export type { ChunkOptions } from '../batch/sizer.ts';
export type { BatchCounts, OperationCounts } from '../batch/stats.ts';
export type { Anomaly, AnomalyKind } from '../profile/anomaly.ts';
export type { Clock } from '../profile/clock.ts';
export { type Averages, type FieldSummary, type LoggedRecord, PerformanceLogger } from '../profile/logger.ts';
export type { MemoryUsage, MetricsInput, PerformanceMetrics } from '../profile/metrics.ts';
export type { MonitorOptions, OperationRecord, Reading } from '../profile/monitor.ts';
export type { BatchItem, BatchOptions } from './batch.ts';
export type { DatasetInput, DatasetOptions, DatasetReport, StageTimes } from './dataset.ts';
export {
  DeviceManager,
  type DeviceManagerDeps,
  type DeviceManagerOptions,
  type OpenRuntime,
} from './device-manager.ts';
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
export { type MonitorDeps, PerformanceMonitor } from './monitor.ts';
export type { Estimate } from './resources.ts';
export { type PoolDeps, type PoolOptions, type PoolRequest, type PoolStats, TensorPool } from './tensor-pool.ts';
export type { TransferOptions } from './transfer.ts';
export type { DevicePreference, DeviceSelection } from './types.ts';
