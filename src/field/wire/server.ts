// A field behind a TCP port: sensor values in, motors out, by the frames of frames.ts.
//
// Loopback only, unless a host is given, and then with a token. Each connection has a field of its own, or joins a shared one by
// name. Connections do not wait for each other: one that never reads fills its own buffer and is closed.

import { createServer, type Server } from 'node:net';
import { checked, checkMethods } from '../../base/signatures.ts';
import { FieldConfigError } from '../errors.ts';
import { Connection, type Served, type ServeOptions } from './connection.ts';
import { serverSignatures, serveSignature, wireKinds } from './signatures.ts';
import { type ServerView, WatchedField } from './watch.ts';

export type { ServeOptions } from './connection.ts';

export interface FieldServer {
  readonly port: number;
  readonly host: string;
  readonly connections: number;
  /** Cycles done for all clients. */
  readonly cycles: number;
  /** Fields, clients and connections as they are now; `serveTelemetry` tells of them. */
  view(): ServerView;
  close(): Promise<void>;
}

const loopback = new Set(['127.0.0.1', '::1', 'localhost']);

/** Serves fields on a port: of this machine only, unless there is a token. */
export const serveField: (options?: ServeOptions) => Promise<FieldServer> = checked(
  'serveField',
  serveSignature,
  serve,
  wireKinds,
);

async function serve(options: ServeOptions = {}): Promise<FieldServer> {
  const host = options.host ?? '127.0.0.1';
  if (!loopback.has(host) && !options.token)
    throw new FieldConfigError({
      where: 'serveField',
      problem: `the host ${host} can be reached from other machines, and there is no token`,
      fix: 'Give a token, or leave the host out.',
    });
  const open = new Set<Connection>();
  const shared = Object.entries(options.shared ?? {}).map(
    ([name, field]) => [name, new WatchedField(name, field)] as const,
  );
  const state: Served = {
    cycles: 0,
    closing: false,
    accepted: 0,
    refused: 0,
    bytesIn: 0,
    bytesOut: 0,
    errors: {},
    shared: new Map(shared),
  };
  const most = options.connections ?? 64;
  const server: Server = createServer({ noDelay: true }, (socket) => {
    const connection = new Connection(`client-${++state.accepted}`, socket, options, state, () =>
      open.delete(connection),
    );
    if (open.size >= most) {
      state.refused++;
      connection.fail('serverFull', `${open.size} connections are open`, 0);
      connection.end();
      return;
    }
    open.add(connection);
  });
  await new Promise<void>((resolve, reject) => {
    const port = options.port ?? 9999;
    server.once('error', (e) =>
      reject(
        new FieldConfigError({
          where: 'serveField',
          problem: `port ${port} of ${host} cannot be had: ${e.message}`,
          fix: 'Give another port, or 0 for a free one.',
        }),
      ),
    );
    server.listen(port, host, () => resolve());
  });
  const address = server.address();
  const served: FieldServer = {
    port: typeof address === 'object' && address ? address.port : 0,
    host,
    get connections() {
      return open.size;
    },
    get cycles() {
      return state.cycles;
    },
    view: () => {
      const own = [...open].flatMap((c) => (c.own ? [c.own] : []));
      const { accepted, refused, bytesIn, bytesOut, errors } = state;
      return {
        fields: [...state.shared.values(), ...own],
        clients: [...open].flatMap((c) => (c.info ? [c.info] : [])),
        connections: { open: open.size, most, accepted, refused, bytesIn, bytesOut, errors: { ...errors } },
      };
    },
    close: async () => {
      state.closing = true;
      for (const c of open) c.fail('shuttingDown', 'the server ends', 0);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all([...open].map((c) => c.end()));
      await closed;
    },
  };
  checkMethods(served, serverSignatures);
  return served;
}
