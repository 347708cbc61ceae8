// Forge: from a bare machine to a working GPU environment. Detection, doctor, resolution, environments, explanations,
// configuration. Stands alone, without the tensor core.

export { type Config, type ConfigPlace, changeConfig, configPath, loadConfig } from './config/file.ts';
export type { Backend, Framework, PlatformTag, Tables } from './data/schemas.ts';
export { type LoadedTables, loadTables } from './data/tables.ts';
export { clearCache, describeCache } from './detect/cache.ts';
export { DETECT_SCHEMA, detectJson } from './detect/command.ts';
export { type Detection, type DetectOptions, detect } from './detect/detect.ts';
export { gpuFromText, type Override } from './detect/override.ts';
export { rankGpus, type Score, type ScorePart, scoreGpu } from './detect/score.ts';
export { joinReadings, type Reading } from './detect/telemetry.ts';
export { examine } from './doctor/doctor.ts';
export { buildReport, reportMarkdown } from './doctor/report.ts';
export type { ComputeProbe, DeviceVerdict, DoctorOptions, DoctorReport, Finding, World } from './doctor/types.ts';
export { nodeWorld } from './doctor/world-node.ts';
export { type EnvPlan, type PlanRequest, planEnvironment } from './env/plan.ts';
export { type EnvFile, type Format, formats, render as renderEnvironment } from './env/writers.ts';
export { type ExplainOptions, explain } from './explain/explain.ts';
export type { Explanation, RepairStep } from './explain/types.ts';
export * from './machine.ts';
export type * from './ports.ts';
export { type NodePortOptions, nodePorts } from './ports-node.ts';
export { allProfiles, findProfile, type Profile } from './profiles/profiles.ts';
export { type ProfileScore, scoreProfiles } from './profiles/score.ts';
export { listBuilds, resolve } from './resolve/resolve.ts';
export type { Choice, ProofStep, Resolution, ResolveRequest, WayOut } from './resolve/types.ts';
