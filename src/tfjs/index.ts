// The public surface of gpuforge/tfjs.

export { type BackendReport, TfjsBackend } from './handle.ts';
export type { FlushOptions } from './pending.ts';
export { type BackendOptions, registerBackend } from './register.ts';
export type { RoutedEvent, TfjsEvents } from './session.ts';
export type { Tf, TfCpu, TfTensor } from './types.ts';
