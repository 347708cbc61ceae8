// The public surface of gpuforge/field.

export {
  type Brain,
  batchedGradientExtraction,
  createBrain,
  fusedFieldEvolution,
  GPUBrainFactory,
  GPUPatternLibrary,
  OptimizationChecker,
  quickPerformanceTest,
  TensorMemoryPool,
} from './aliases.ts';
export type { AutosaveOptions } from './autosave.ts';
export { type BenchmarkReport, quickTest, runBenchmark } from './bench.ts';
export { type CheckReport, checkField, type FieldCheck } from './check.ts';
export type { Attention } from './cycle/attention.ts';
export type { DeviceChoice } from './device.ts';
export * from './errors.ts';
export { createField, Field, type FieldEvents, type FieldInput, type StepResult } from './field.ts';
export type { ChannelLayout } from './layout.ts';
export {
  type DeadlinePolicy,
  type LatencyFigures,
  type LoopOptions,
  type LoopReport,
  type LoopTick,
  latencyHistogram,
} from './loop.ts';
export { type FieldMetrics, fieldMetrics } from './metrics.ts';
export {
  type EvolutionOptions,
  extractGradient,
  fusedEvolution,
  type GradientOptions,
  type GradientResult,
} from './ops.ts';
export type { FieldOptions } from './options.ts';
export { type FindOptions, type Found, PatternLibrary, type PatternOptions } from './patterns.ts';
export type { FieldReport } from './report.ts';
export type {
  Boundary,
  FieldSettings,
  Model,
  Readout,
  SettingKind,
  SettingName,
  SettingView,
} from './settings.ts';
export { settingViews } from './settings.ts';
export type { FieldSnapshot } from './snapshot.ts';
export type { FieldState, Mode } from './state.ts';
export type { TrainOptions, TrainRecord, TrainReport } from './train.ts';
