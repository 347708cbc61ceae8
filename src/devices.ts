// `gpuforge/devices`: the devices by themselves, and what it takes to write one; see docs/devices.md.

export { type DType, dtypes } from './base/dtype.ts';
export { type ClockSample, clockReadings } from './devices/clock.ts';
export type { CpuOptions } from './devices/cpu/device.ts';
export type * from './devices/device.ts';
export { DeviceLost, DisposedError, ForgeError, KernelError, OutOfMemory } from './errors.ts';
export type * from './kernel/expr.ts';
export type * from './kernel/kernel.ts';
export { type AluOp, aluOps, type ReduceOp } from './kernel/ops.ts';
export type { ConformanceResult } from './runtime/conformance.ts';
export * from './runtime/device-functions.ts';
export { byteSize } from './runtime/functions.ts';
