// What a field server is doing, as JSON over HTTP: seven read-only requests under /field/, on loopback.
//
//   /field/statistics       the state of each field after its last cycle, and what it takes of the machine
//   /field/clients          who is connected, with what sensors and motors
//   /field/connections      connections, bytes and errors so far
//   /field/telemetry/NAME   everything about one field
//   /field/active           the names of the fields
//   /field/performance      latencies of the last cycles of each field
//   /field/prediction       confidence and skill of each field
//
// A field made with `telemetry: 'off'` is not told of. Nothing is computed for it before somebody asks.

import { createServer } from 'node:http';
import { checked, checkMethods } from '../../base/signatures.ts';
import { FieldConfigError } from '../errors.ts';
import type { FieldServer } from './server.ts';
import { answerSignature, telemetrySignature, wireKinds } from './signatures.ts';
import type { ServerView, WatchedField } from './watch.ts';

export interface TelemetryOptions {
  /** Default 9998; 0 takes a free one. */
  readonly port?: number | undefined;
}

export interface TelemetryServer {
  readonly port: number;
  close(): Promise<void>;
}

const statistics = ({ field, last }: WatchedField) => ({ state: last?.state ?? null, report: field.report() });
const prediction = ({ last }: WatchedField) => ({
  confidence: last?.state.predictionConfidence ?? null,
  skill: last?.state.predictionSkill ?? null,
});
const everything = (watched: WatchedField) => ({
  name: watched.name,
  ...statistics(watched),
  motors: watched.last ? [...watched.last.motors] : null,
  attention: watched.last?.state.attention ?? null,
  performance: watched.performance(),
  prediction: prediction(watched),
});

/** Of each field, by name. */
const each =
  (of: (watched: WatchedField) => unknown) =>
  (view: ServerView): unknown =>
    Object.fromEntries(shown(view).map((w) => [w.name, of(w)]));

const shown = ({ fields }: ServerView): WatchedField[] => fields.filter((w) => w.field.options.telemetry !== 'off');

/** By the last part of the path; undefined where there is nothing under a name. */
const requests: Readonly<Record<string, (view: ServerView, name: string | undefined) => unknown>> = {
  statistics: each(statistics),
  clients: ({ clients }) => clients,
  connections: ({ connections }) => connections,
  telemetry: (view, name) => {
    const found = shown(view).find((w) => w.name === name);
    return found && everything(found);
  },
  active: (view) => shown(view).map((w) => w.name),
  performance: each((w) => w.performance()),
  prediction: each(prediction),
};

export const telemetryRequests: readonly string[] = Object.keys(requests);

/** The answer to a path such as `/field/active`; undefined where there is none. */
export const answerTelemetry = checked('answerTelemetry', answerSignature, answer, wireKinds);

function answer(server: FieldServer, path: string): unknown {
  const [, root, request = '', name, more] = path.split('/');
  if (root !== 'field' || more !== undefined || !Object.hasOwn(requests, request)) return undefined;
  if (request !== 'telemetry' && name !== undefined) return undefined;
  return requests[request]!(server.view(), name === undefined ? undefined : decoded(name));
}

/** A page of another site must not read this by a name that it points at this machine. */
const ownHost = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;

/** Answers on a port of this machine, to this machine. */
export const serveTelemetry: (server: FieldServer, options?: TelemetryOptions) => Promise<TelemetryServer> = checked(
  'serveTelemetry',
  telemetrySignature,
  serve,
  wireKinds,
);

async function serve(server: FieldServer, options: TelemetryOptions = {}): Promise<TelemetryServer> {
  const http = createServer((request, reply) => {
    const tell = (status: number, body: unknown): void => {
      reply.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      reply.end(JSON.stringify(body));
    };
    if (!ownHost.test(request.headers.host ?? '')) return tell(403, { error: 'only for this machine' });
    if (request.method !== 'GET') return tell(405, { error: 'read-only: use GET' });
    const found = answer(server, (request.url ?? '').split('?')[0]!);
    if (found === undefined) return tell(404, { error: `there is /field/ with ${telemetryRequests.join(', ')}` });
    return tell(200, found);
  });
  await new Promise<void>((resolve, reject) => {
    http.once('error', (e) =>
      reject(
        new FieldConfigError({
          where: 'serveTelemetry',
          problem: `port ${options.port ?? 9998} cannot be had: ${e.message}`,
          fix: 'Give another port, or 0 for a free one.',
        }),
      ),
    );
    http.listen(options.port ?? 9998, '127.0.0.1', () => resolve());
  });
  const address = http.address();
  const served: TelemetryServer = {
    port: typeof address === 'object' && address ? address.port : 0,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  checkMethods(served, { close: 'async' });
  return served;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
