// gpuforge/batch: many pieces of work at once, on this machine or on many.

export { type HostTensor, readBlob, writeBlob } from './blobs.ts';
export { chunkIdOf } from './chunk-id.ts';
export type { ChunkOptions, Outcome } from './chunk-work.ts';
export type { SizeCurve, SizePoint } from './curve.ts';
export type { ElementwiseName } from './elementwise.ts';
export { BatchOperationError } from './failures.ts';
export type { ItemFunction, Parallel } from './function-run.ts';
export type { BatchReport, BatchResult } from './list-report.ts';
export type { BatchInput } from './lists.ts';
export { type LocalOptions, localTransport } from './local.ts';
export { openTransport } from './open-transport.ts';
export {
  type BatchOpOptions,
  batchElementwise,
  batchMatmul,
  batchXor,
  batchXorWithNewKeys,
  type MatmulOptions,
  type PadOptions,
  type XorOptions,
} from './operations.ts';
export type { Padding } from './padding.ts';
export {
  BatchProcessor,
  type BatchStats,
  createBatch,
  type OptimizeOptions,
  type ParallelOptions,
} from './processor.ts';
export type { Precision, ProductShape } from './products.ts';
export type { QueuedWork } from './queued.ts';
export {
  type HandlerOptions,
  handlerOf,
  type WireAnswer,
  type WireCall,
  type WireOp,
  type WireOps,
} from './registry.ts';
export type { BatchSettings } from './settings.ts';
export { type BatchCounts, type BatchEvent, BatchStatistics, type OperationCounts } from './stats.ts';
export type { ModuleFunction } from './threads.ts';
export * from './transport.ts';
