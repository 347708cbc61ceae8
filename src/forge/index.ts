// Forge: from a bare machine to a working GPU environment. Detection, doctor, resolution, environments, explanations,
// configuration. Stands alone, without the tensor core.

export type { Config, ConfigPlace } from './config/file.ts';
export type { Backend, Framework, PlatformTag, Tables } from './data/schemas.ts';
export type { LoadedTables } from './data/tables.ts';
export { DETECT_SCHEMA } from './detect/command.ts';
export type { Detection, DetectOptions } from './detect/detect.ts';
export type { Override } from './detect/override.ts';
export type { Score, ScorePart } from './detect/score.ts';
export type { Reading } from './detect/telemetry.ts';
export type { ComputeProbe, DeviceVerdict, DoctorOptions, DoctorReport, Finding, World } from './doctor/types.ts';
export type { EnvPlan, PlanRequest } from './env/plan.ts';
export { type EnvFile, type Format, formats } from './env/writers.ts';
export type { ExplainOptions } from './explain/explain.ts';
export type { Explanation, RepairStep } from './explain/types.ts';
export * from './functions.ts';
export {
  type Access,
  type AmdDriver,
  type Arch,
  type ComputeCapability,
  type Drivers,
  type Fact,
  type Gpu,
  type HostSystem,
  type IntelDriver,
  type IntelFamily,
  type Known,
  type LibraryFile,
  MACHINE_SCHEMA,
  type Machine,
  type MigFacts,
  type MigInstance,
  type Missing,
  type NvidiaDriver,
  type PciFacts,
  type Platform,
  type Probe,
  type Source,
  type Vendor,
  type Visibility,
} from './machine.ts';
export type * from './ports.ts';
export type { NodePortOptions } from './ports-node.ts';
export type { Profile } from './profiles/profiles.ts';
export type { ProfileScore } from './profiles/score.ts';
export type { Choice, ProofStep, Resolution, ResolveRequest, WayOut } from './resolve/types.ts';
