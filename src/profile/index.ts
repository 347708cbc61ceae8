// gpuforge/profile: where the time went, measured; reports, exports, comparisons and a gate against regressions.

export { type ExportKind, exporters } from './export/kinds.ts';
export { profilePage } from './export/page.ts';
export { bottleneckReport, kernelReport, textReport } from './export/text.ts';
export type { TraceEvent } from './export/trace.ts';
export { readProfile } from './file/read.ts';
export { save } from './file/save.ts';
export type { EntryStream } from './file/stream.ts';
export {
  type Bound,
  baselineSchema,
  type Compile,
  type DeviceTime,
  type Entry,
  type KernelCall,
  type KernelSummary,
  type Lane,
  type OperationSummary,
  type ProfiledDevice,
  type ProfileFile,
  profileSchema,
  type Roof,
  type Route,
  type Transfer,
  type Wait,
} from './file/types.ts';
export {
  type Baseline,
  type BaselineMachine,
  type BaselineOperation,
  baselineText,
  machineKey,
  readBaseline,
  updateBaseline,
} from './gate/baseline.ts';
export {
  type ChangeClass,
  type ComparedRow,
  type Comparison,
  compareProfiles,
  comparisonText,
} from './gate/compare.ts';
export {
  type GateCase,
  type GateOutcome,
  type GateReport,
  type GateRow,
  gate,
  gateCases,
  gateStatus,
  gateText,
  inTurns,
} from './gate/gate.ts';
export { holm, mannWhitney, medianRatio, type Ratio } from './gate/statistics.ts';
export { type Judged, judge } from './gate/verdict.ts';
export { Profiler } from './profiler.ts';
export type { ProfilerOptions, ScopeInfo, TrackedFigures } from './profiler-options.ts';
export type { MemoryPoint } from './record/memory-curve.ts';
export type { OpenSpan } from './record/span.ts';
export type { ScopeFigures } from './record/tracked.ts';
export type { ProfileDecorator, WrapOptions } from './record/wrap.ts';
export { getProfiler } from './shared-profiler.ts';
export { type RuleName, type Suggestion, suggest } from './suggest/rules.ts';
