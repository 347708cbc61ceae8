// gpuforge/studio: a local page that shows what runtimes do, metrics, alerts and logs.

export { type AlertRule, type AlertSnapshot, defaultAlerts } from './alerts.ts';
export { offerStudio } from './attach/offer.ts';
export {
  type JsonLinesLogger,
  type JsonLinesOptions,
  jsonLines,
  type LineTarget,
  type LogLevel,
  logLevels,
} from './json-lines.ts';
export type { NamedField, NamedRuntime, StudioOptions } from './options.ts';
export { type Studio, type StudioEvents, serveStudio } from './serve.ts';
export type * from './types.ts';
export type { BatchSource } from './watch/batches.ts';
export type { QueueSource } from './watch/queues.ts';
