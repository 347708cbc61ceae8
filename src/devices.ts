// `gpuforge/devices`: the devices by themselves, and what it takes to write one; see docs/devices.md.

export { byteSize, type DType, dtypes } from './base/dtype.ts';
export { type ClockSample, clockReadings, compareClocks } from './devices/clock.ts';
export { type CpuOptions, createCpuDevice } from './devices/cpu/device.ts';
export { openCudaDevices } from './devices/cuda/discover.ts';
export type * from './devices/device.ts';
export { createReferenceDevice } from './devices/reference/device.ts';
export { evaluate } from './devices/reference/evaluate.ts';
export { openWebGpuDevices } from './devices/webgpu/open.ts';
export { DeviceLost, DisposedError, ForgeError, KernelError, OutOfMemory } from './errors.ts';
export { selfCheck } from './governor/recovery/self-check.ts';
export type * from './kernel/expr.ts';
export type * from './kernel/kernel.ts';
export { type AluOp, aluOps, type ReduceOp } from './kernel/ops.ts';
export { printKernel } from './kernel/print.ts';
export { type ConformanceResult, checkConformance } from './runtime/conformance.ts';
