// A studio for tests, and requests as a client sends them that is no browser: any header, any bytes.

import { type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createRuntime, type Runtime, type RuntimeOptions } from '../../src/index.ts';
import { type Studio, type StudioOptions, serveStudio } from '../../src/studio/index.ts';
import { within } from '../support/time.ts';

export interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** As it is, without escaping. */
  readonly path?: string;
}

export function ask(port: number, { method = 'GET', headers = {}, body, path = '/' }: Ask = {}): Promise<Got> {
  return new Promise((resolve, reject) => {
    const out = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (p: Buffer) => parts.push(p));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(parts).toString('utf8') }),
      );
    });
    out.on('error', reject);
    out.end(body);
  });
}

/** The cookie that a link buys. */
export async function login(studio: Studio): Promise<string> {
  const { pathname, search } = new URL(studio.link());
  const { headers } = await ask(studio.port, { path: pathname + search });
  return headers['set-cookie']![0]!.split(';')[0]!;
}

export interface Served {
  readonly rt: Runtime;
  readonly studio: Studio;
  /** Asks with a session. */
  get(path: string): Promise<Got>;
  json<T = Record<string, unknown>>(path: string): Promise<T>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function served(options: StudioOptions = {}, runtime: RuntimeOptions = {}): Promise<Served> {
  const rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, ...runtime });
  const studio = await serveStudio({ runtimes: [rt], ...options });
  const cookie = await login(studio);
  const get = (path: string): Promise<Got> => ask(studio.port, { path, headers: { cookie } });
  return {
    rt,
    studio,
    get,
    json: async (path) => JSON.parse((await get(path)).body),
    [Symbol.asyncDispose]: async () => {
      await studio.close();
      await rt.close();
    },
  };
}

/** A connection that sends exactly this; resolves with all that came back when the other side ends it. */
export function raw(
  port: number,
  ...texts: readonly string[]
): { readonly socket: Socket; readonly ended: Promise<string> } {
  const socket = connect(port, '127.0.0.1');
  for (const text of texts) socket.write(text);
  let got = '';
  socket.on('data', (d) => (got += d.toString('latin1')));
  const ended = new Promise<string>((resolve) => {
    socket.on('error', () => resolve(got));
    socket.on('close', () => resolve(got));
  });
  return { socket, ended };
}

/** Messages of a stream as they come. */
export interface Stream {
  readonly messages: { readonly event: string; readonly id: string | null; readonly data: string }[];
  until(holds: (s: Stream) => boolean, ms?: number): Promise<void>;
  close(): void;
}

export function openStream(
  port: number,
  cookie: string,
  path = '/api/stream',
  headers: Record<string, string> = {},
): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const out = request({ host: '127.0.0.1', port, path, headers: { cookie, ...headers }, agent: false }, (answer) => {
      if (answer.statusCode !== 200) {
        reject(new Error(`status ${answer.statusCode}`));
        return;
      }
      const messages: { event: string; id: string | null; data: string }[] = [];
      let text = '';
      answer.on('error', () => {});
      answer.on('data', (d: Buffer) => {
        text += d.toString('utf8');
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          const field = (name: string, of: string): string | null =>
            of
              .split('\n')
              .find((l) => l.startsWith(`${name}: `))
              ?.slice(name.length + 2) ?? null;
          const block = text.slice(0, end);
          text = text.slice(end + 2);
          const event = field('event', block);
          if (event) messages.push({ event, id: field('id', block), data: field('data', block)! });
        }
      });
      const stream: Stream = {
        messages,
        until: async (holds, ms = within(2000)) => {
          const deadline = Date.now() + ms;
          while (!holds(stream)) {
            if (Date.now() > deadline) throw new Error(`not within ${ms} ms; ${messages.length} messages`);
            await new Promise((r) => setTimeout(r, 20));
          }
        },
        close: () => out.destroy(),
      };
      resolve(stream);
    });
    out.on('error', reject);
    out.end();
  });
}
