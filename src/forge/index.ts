// Forge: from a bare machine to a working GPU environment. Detection and doctor here; stands alone, without the tensor core.

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
export * from './machine.ts';
export type * from './ports.ts';
export { type NodePortOptions, nodePorts } from './ports-node.ts';
