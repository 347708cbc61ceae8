// Answers to requests as data, and how they are sent. A body is read up to a limit and kept in memory; nothing of a request is ever a
// path on disk.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { ForgeError } from '../../index.ts';
import { securityHeaders } from './guard.ts';

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  header(name: string): string | undefined;
  body(most: number): Promise<Buffer>;
}

export interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** An answer without end: `start` writes to the response until it is told to stop. */
export interface StreamReply {
  readonly stream: (response: ServerResponse) => () => void;
}

export type Answer = Reply | StreamReply;

export const smallBody = 64 * 2 ** 10;
export const profileBody = 64 * 2 ** 20;

export const json = (value: unknown, status = 200): Reply => ({
  status,
  type: 'application/json; charset=utf-8',
  body: JSON.stringify(value),
});

/** What went wrong and what to do about it. */
export const problem = (status: number, error: string, fix = ''): Reply => json({ error, fix }, status);

export const problemOf = (error: unknown): Reply =>
  error instanceof TooLarge
    ? problem(413, error.message, 'Send less.')
    : error instanceof ForgeError
      ? problem(400, error.message.split('\n  fix:')[0]!, error.fix)
      : problem(500, error instanceof Error ? error.message : String(error));

export class TooLarge extends Error {}

/** Reads what was sent, up to `most` bytes. */
export async function readBody(request: IncomingMessage, most: number): Promise<Buffer> {
  const tooLarge = (): TooLarge => new TooLarge(`The request has more than ${most.toLocaleString('en')} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > most) throw tooLarge();
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > most) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts);
}

export function send(response: ServerResponse, { status, type, body, headers }: Reply, withBody = true): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    ...securityHeaders,
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(withBody ? body : undefined);
}
