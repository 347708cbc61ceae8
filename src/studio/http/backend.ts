// Where the data of a process comes from: its own hub, or the socket of another process that was started with GPUFORGE_STUDIO=1.

import { request } from 'node:http';
import type { Hub } from '../watch/hub.ts';
import { callApi } from './api.ts';
import { securityHeaders } from './guard.ts';
import { type Answer, type ApiRequest, problem, smallBody } from './reply.ts';

export interface Backend {
  /** For the page's list of programs. */
  readonly id: string;
  readonly name: string;
  call(request: ApiRequest): Promise<Answer | undefined>;
}

export const localBackend = (id: string, name: string, hub: Hub): Backend => ({
  id,
  name,
  call: (asked) => callApi(hub, asked),
});

/** Passes requests on as they are; what is allowed was checked at our own door. */
export const socketBackend = (id: string, name: string, socketPath: string): Backend => ({
  id,
  name,
  call: async (asked) => {
    const body = asked.method === 'POST' ? await asked.body(smallBody) : null;
    return new Promise((resolve) => {
      const query = new URLSearchParams(asked.query);
      query.delete('program');
      const last = asked.header('last-event-id');
      const out = request({
        socketPath,
        method: asked.method,
        path: `${asked.path}?${query}`,
        headers: { host: 'studio', ...(last === undefined ? {} : { 'last-event-id': last }) },
      });
      out.on('socket', (socket) => socket.unref());
      out.on('error', () =>
        resolve(problem(502, `${name} does not answer any more.`, 'It has ended, or its event loop is blocked.')),
      );
      out.on('response', (answer) => {
        const type = answer.headers['content-type'] ?? 'application/json';
        if (type.startsWith('text/event-stream')) {
          resolve({
            stream: (response) => {
              response.writeHead(answer.statusCode ?? 200, { ...securityHeaders, 'content-type': type });
              answer.pipe(response);
              answer.on('error', () => response.destroy());
              return () => out.destroy();
            },
          });
          return;
        }
        const parts: Buffer[] = [];
        answer.on('data', (part: Buffer) => parts.push(part));
        answer.on('error', () => resolve(problem(502, `${name} went away.`)));
        answer.on('end', () => {
          const disposition = answer.headers['content-disposition'];
          resolve({
            status: answer.statusCode ?? 502,
            type,
            body: Buffer.concat(parts),
            ...(disposition ? { headers: { 'content-disposition': disposition } } : {}),
          });
        });
      });
      out.end(body ?? undefined);
    });
  },
});
