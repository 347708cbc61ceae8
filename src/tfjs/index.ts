// The public surface of gpuforge/tfjs.

export type { FlushOptions } from './pending.ts';
export { type BackendOptions, type BackendReport, registerBackend, TfjsBackend } from './register.ts';
export type { RoutedEvent, TfjsEvents } from './session.ts';
export type { Tf, TfCpu, TfTensor } from './types.ts';
