// The public surface of gpuforge/field.

export type { DeviceChoice } from './device.ts';
export * from './errors.ts';
export { createField } from './factory.ts';
export { Field, type FieldInput, type StepResult } from './field.ts';
export type { ChannelLayout } from './layout.ts';
export type { DeadlinePolicy, LatencyFigures, LoopOptions, LoopReport } from './loop.ts';
export {
  type EvolutionOptions,
  extractGradient,
  fusedEvolution,
  type GradientOptions,
  type GradientResult,
} from './ops.ts';
export type { FieldOptions } from './options.ts';
export type { FieldReport } from './report.ts';
export type { Boundary, FieldSettings, Model, Readout } from './settings.ts';
export type { FieldState, Mode } from './state.ts';
