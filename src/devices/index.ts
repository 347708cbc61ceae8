// The devices by themselves, for those who build on the contract: `gpuforge/devices`.

export { type CpuOptions, createCpuDevice } from './cpu/device.ts';
export { openCudaDevices } from './cuda/discover.ts';
export type * from './device.ts';
export { createReferenceDevice } from './reference/device.ts';
export { openWebGpuDevices } from './webgpu/open.ts';
