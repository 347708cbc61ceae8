// Servers on the loopback addresses, with limits on everything a client can do slowly or often. None keeps the process alive, and no
// error of a connection leaves this file.

import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ArgumentError, ForgeError } from '../../index.ts';

const mostConnections = 100;
export const headerBytes = 16 * 2 ** 10;
export const requestMs = 10_000;

export interface Listening {
  readonly port: number;
  readonly addresses: readonly string[];
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly hosts: readonly string[];
  readonly port: number;
  /** For tests: shorter waits. */
  readonly requestMs?: number | undefined;
}

/** Listens at every host that the machine has; at least at the first. With port 0 all share the port that was found for it. */
export async function listen(handle: RequestListener, options: ListenOptions): Promise<Listening> {
  const sockets = new Set<Socket>();
  const servers: Server[] = [];
  const addresses: string[] = [];
  let { port } = options;
  for (const host of options.hosts) {
    const server = create(handle, sockets, options.requestMs ?? requestMs);
    try {
      await opened(server, { host, port });
    } catch (error) {
      // A machine without IPv6 has no ::1.
      if (servers.length > 0) continue;
      throw cannotListen(error, host, port);
    }
    port = (server.address() as AddressInfo).port;
    servers.push(server);
    addresses.push(host);
  }
  return { port, addresses, close: () => closeAll(servers, sockets) };
}

/** Listens on a socket of the file system. */
export async function listenAt(handle: RequestListener, path: string): Promise<{ close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = create(handle, sockets, requestMs);
  await opened(server, { path });
  return { close: () => closeAll([server], sockets) };
}

function create(handle: RequestListener, sockets: Set<Socket>, ms: number): Server {
  const server = createServer(
    {
      maxHeaderSize: headerBytes,
      headersTimeout: ms,
      requestTimeout: ms,
      keepAliveTimeout: 5000,
      connectionsCheckingInterval: Math.min(1000, ms),
    },
    handle,
  );
  server.on('connection', (socket) => {
    if (sockets.size >= mostConnections) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.unref();
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  server.on('upgrade', (_request, socket) => socket.destroy());
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
    if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\n\r\n`);
    else socket.destroy();
  });
  return server;
}

function opened(
  server: Server,
  at: { readonly host: string; readonly port: number } | { readonly path: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...at, exclusive: true }, () => {
      server.removeListener('error', reject);
      server.on('error', () => {});
      server.unref();
      resolve();
    });
  });
}

async function closeAll(servers: readonly Server[], sockets: ReadonlySet<Socket>): Promise<void> {
  const closed = servers.map((s) => new Promise<void>((resolve) => s.close(() => resolve())));
  for (const socket of sockets) socket.destroy();
  await Promise.all(closed);
}

const reasons: Readonly<Record<string, { readonly why: string; readonly fix: string }>> = {
  EADDRINUSE: { why: 'the port is in use', fix: 'Use another port, or 0 for any that is free.' },
  EACCES: {
    why: 'ports below 1024 need rights that this process does not have',
    fix: 'Use a port from 1024 on, or 0.',
  },
  EADDRNOTAVAIL: { why: 'this machine has no such address', fix: 'Use an address of this machine, such as 127.0.0.1.' },
  ENOTFOUND: { why: 'the name is not known', fix: 'Use an address of this machine, such as 127.0.0.1.' },
};

function cannotListen(error: unknown, host: string, port: number): ForgeError {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const known = reasons[code];
  const Class = known ? ArgumentError : ForgeError;
  return new Class({
    code: `STUDIO_${code || 'LISTEN'}`,
    message: `studio: cannot listen at ${host} port ${port}: ${known?.why ?? message}`,
    fix: known?.fix ?? 'Use another port or host.',
    where: 'serveStudio',
    cause: error,
  });
}
