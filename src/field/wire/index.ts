// The field server and client, and sensor values as datagrams: for Node. Apart from gpuforge/field, which runs in browsers too.

export { type ClientOptions, FieldClient, FieldWireError } from './client.ts';
export { errorCodes, magic, type WireErrorName } from './frames.ts';
export { capabilities, hardware } from './handshake.ts';
export { type FieldServer, type ServeOptions, serveField } from './server.ts';
export {
  answerTelemetry,
  serveTelemetry,
  type TelemetryOptions,
  type TelemetryServer,
  telemetryRequests,
} from './telemetry.ts';
export {
  receiveSensors,
  type SensorCounts,
  SensorSender,
  type SensorStream,
  type SensorStreamOptions,
  type StalePolicy,
} from './udp.ts';
export type { ClientInfo, CyclePerformance, ServerView, WatchedField } from './watch.ts';
