// What the browser tests share: builds by Vite, and a server that isolates its pages.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';
import { build, type InlineConfig, type Rolldown } from 'vite';

/** Builds in memory and gives the files. */
export async function bundle(config: InlineConfig): Promise<Rolldown.RolldownOutput['output']> {
  const result = await build({ ...config, logLevel: 'error', build: { ...config.build, write: false } });
  if (!('output' in result)) throw new Error('Vite gave no single output');
  return result.output;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
};

export interface Served {
  readonly url: string;
  /** Paths that were asked for, in order. */
  readonly requests: string[];
  close(): Promise<void>;
}

export interface Serving {
  /** Whether to send the headers that isolate a page. Default: yes. */
  readonly isolated?: boolean;
  /** The page, where the build has none. */
  readonly html?: string;
  /** A Content-Security-Policy for every file. */
  readonly policy?: string;
}

/** Serves built files on the loopback address. */
export async function serve(
  files: Rolldown.RolldownOutput['output'],
  { isolated = true, html, policy }: Serving = {},
): Promise<Served> {
  const contents = new Map(files.map((f) => [`/${f.fileName}`, f.type === 'chunk' ? f.code : f.source]));
  if (html !== undefined) contents.set('/index.html', html);
  const requests: string[] = [];
  const server: Server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://localhost');
    const path = pathname === '/' ? '/index.html' : pathname;
    requests.push(path);
    const found = contents.get(path);
    response.writeHead(found === undefined ? 404 : 200, {
      'content-type': types[extname(path)] ?? 'application/octet-stream',
      ...(isolated
        ? { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' }
        : {}),
      ...(policy ? { 'content-security-policy': policy } : {}),
    });
    response.end(found);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
