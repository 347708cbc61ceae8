// The public surface of gpuforge.

export { type DType, dtypes, type HostArrays } from './base/dtype.ts';
export type { Shape } from './base/shape.ts';
export type { Capabilities, Device, DeviceId } from './devices/device.ts';
export * from './errors.ts';
export type { Compiled } from './runtime/compile.ts';
export type { DeviceKind, DeviceReport } from './runtime/devices.ts';
export type { Events } from './runtime/events.ts';
export type { Explanation } from './runtime/explain.ts';
export type { KernelValue } from './runtime/kernel.ts';
export type { Stats } from './runtime/ledger.ts';
export { createRuntime, type Runtime, type RuntimeOptions, type TensorOptions } from './runtime/runtime.ts';
export type { ScalarInput } from './tensor/build.ts';
export type { Nested } from './tensor/core.ts';
export type { NestedInput, TensorInput } from './tensor/create.ts';
export { Tensor } from './tensor/tensor.ts';
