// The front door: every request passes Host, rate, method, secret and origin before any code of the studio sees it. Paths are keys of
// tables; none is ever a file.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Rate } from '../../base/rate.ts';
import type { Access } from './access.ts';
import { crossSite, hostAllowed, originAllowed } from './guard.ts';
import { type Answer, type ApiRequest, problem, problemOf, type Reply, readBody, send } from './reply.ts';

/** What is behind the door. */
export interface App {
  /** The page and what it loads: fixed texts. */
  readonly files: ReadonlyMap<string, Reply>;
  /** Data; undefined if there is no such path. */
  readonly api: (request: ApiRequest) => Promise<Answer | undefined>;
}

export interface Door {
  readonly access: Access;
  readonly hosts: () => ReadonlySet<string>;
  /** Cookies are shared by all ports of a host: the name tells whose it is. */
  readonly cookie: () => string;
}

const mostStreams = 32;
const methods = new Set(['GET', 'HEAD', 'POST']);

export class Front {
  readonly #app: App;
  readonly #door: Door;
  /** Requests a second; a page asks for much when it starts. */
  readonly #rate = new Rate(100, 300);
  readonly #streams = new Set<ServerResponse>();

  constructor(app: App, door: Door) {
    this.#app = app;
    this.#door = door;
  }

  /** Never throws. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    // A client that goes away in the middle is its own business.
    request.on('error', () => {});
    response.on('error', () => {});
    this.#answer(request, response).catch((error) => send(response, problemOf(error)));
  }

  /** Ends every stream. */
  close(): void {
    for (const response of this.#streams) response.destroy();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const withBody = request.method !== 'HEAD';
    const refused = this.#refuse(request);
    if (refused) {
      send(response, refused, withBody);
      // What was sent along is not read.
      request.resume();
      return;
    }
    const url = parseUrl(request.url ?? '/');
    if (!url) return send(response, problem(400, 'This is no address.'), withBody);
    const cookie = this.#login(request, url);
    if (cookie === null) return this.#unknown(response, request);
    const reply = await this.#route(request, url);
    if ('stream' in reply) return this.#stream(response, reply.stream);
    const headers = cookie === '' ? reply.headers : { ...reply.headers, 'set-cookie': cookie };
    send(response, { ...reply, headers }, withBody);
  }

  #refuse(request: IncomingMessage): Reply | null {
    const hosts = this.#door.hosts();
    if (!hostAllowed(request, hosts))
      return problem(421, 'This server does not go by that name.', `Use one of ${[...hosts].join(', ')}.`);
    if (!this.#rate.take()) return problem(429, 'Too many requests.', 'Wait a second.');
    if (!methods.has(request.method ?? '')) return problem(405, `${request.method} is not taken here.`);
    if (crossSite(request)) return problem(403, 'Pages of other sites may not ask.');
    const reading = request.method === 'GET' || request.method === 'HEAD';
    if (
      !reading &&
      !originAllowed(request, hosts) &&
      !(request.headers.origin === undefined && bearerOf(request) !== null)
    )
      return problem(
        403,
        'Only the studio page itself may do this.',
        'Programs send Authorization: Bearer TOKEN and no Origin.',
      );
    return null;
  }

  /** The cookie to set, '' if the request needs none, null if it may not come in. */
  #login(request: IncomingMessage, url: URL): string | null {
    const { access } = this.#door;
    const name = this.#door.cookie();
    const session = cookieOf(request, name);
    if (session !== null && access.isSession(session)) return '';
    const bearer = bearerOf(request);
    if (bearer !== null && access.isToken(bearer)) return '';
    const link = url.pathname === '/' && request.method === 'GET' ? url.searchParams.get('token') : null;
    const opened = link === null ? null : access.redeem(link);
    return opened === null ? null : `${name}=${opened}; HttpOnly; SameSite=Strict; Path=/`;
  }

  /** Says how to get in. Guessing gets slow. */
  #unknown(response: ServerResponse, request: IncomingMessage): void {
    const tried =
      /[?&]token=/.test(request.url ?? '') || bearerOf(request) !== null || request.headers.cookie !== undefined;
    const wait = tried ? this.#door.access.wrong() : 0;
    const answer = (): void => send(response, refusalPage, request.method !== 'HEAD');
    request.resume();
    if (wait === 0) answer();
    else setTimeout(answer, wait).unref();
  }

  async #route(request: IncomingMessage, url: URL): Promise<Answer> {
    const path = url.pathname;
    const file = this.#app.files.get(path);
    if (file) return request.method === 'POST' ? problem(405, `${path} is only for reading.`) : file;
    const found = await this.#app.api({
      method: request.method === 'HEAD' ? 'GET' : request.method!,
      path,
      query: url.searchParams,
      header: (name) => [request.headers[name]].flat()[0],
      body: (most) => readBody(request, most),
    });
    return found ?? problem(404, 'There is nothing here.', 'The page is at /.');
  }

  #stream(response: ServerResponse, start: (response: ServerResponse) => () => void): void {
    if (this.#streams.size >= mostStreams) {
      send(response, problem(503, 'Too many pages look at once.', 'Close some of them.'));
      return;
    }
    this.#streams.add(response);
    const stop = start(response);
    response.on('close', () => {
      this.#streams.delete(response);
      stop();
    });
  }
}

function parseUrl(text: string): URL | null {
  try {
    return new URL(text, 'http://studio');
  } catch {
    return null;
  }
}

function bearerOf({ headers: { authorization } }: IncomingMessage): string | null {
  return /^Bearer (\S{1,1024})$/.exec(authorization ?? '')?.[1] ?? null;
}

function cookieOf({ headers: { cookie } }: IncomingMessage, name: string): string | null {
  const found = (cookie ?? '').split(';').find((c) => c.trim().startsWith(`${name}=`));
  return found === undefined ? null : found.trim().slice(name.length + 1);
}

const refusalPage: Reply = {
  status: 401,
  type: 'text/html; charset=utf-8',
  body: `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>GPUForge Studio</title>
<h1>This link does not open the studio</h1>
<p>Each link works once. Take a new one from the program that runs the studio: <code>studio.link()</code>, or press Enter in the terminal of <code>gpuforge studio</code>.</p></html>`,
};
