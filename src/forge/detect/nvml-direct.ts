// What asking NVML in this process takes, in one module: it is loaded only where that is done.

export { loadFfi } from './ffi.ts';
export { startNvml } from './nvml.ts';
