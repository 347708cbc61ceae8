// Programs of others in the page: each is asked once who it is, and then through its socket only.

import { ForgeError } from '../../index.ts';
import { type Backend, socketBackend } from '../http/backend.ts';
import type { StudioSnapshot } from '../types.ts';
import { socketPath, standingOf } from './folder.ts';

/** Connects to a program; the error says why that cannot be. */
export async function attachTo(pid: number): Promise<Backend> {
  const backend = socketBackend(String(pid), `process ${pid}`, socketPath(pid));
  const answer = await backend.call({
    method: 'GET',
    path: '/api/snapshot',
    query: new URLSearchParams(),
    header: () => undefined,
    body: async () => Buffer.alloc(0),
  });
  if (!answer || !('body' in answer) || answer.status !== 200)
    throw new ForgeError({ ...refusals[standingOf(pid)](pid), where: 'studio attach' });
  const { process } = JSON.parse(String(answer.body)) as StudioSnapshot;
  return { ...backend, name: `${process.name} (${pid})` };
}

const refusals = {
  gone: (pid: number) => ({
    code: 'STUDIO_NO_PROCESS',
    message: `studio: there is no process ${pid}`,
    fix: 'gpuforge studio attach without a number looks at every program that can be looked at.',
  }),
  foreign: (pid: number) => ({
    code: 'STUDIO_NOT_YOURS',
    message: `studio: process ${pid} belongs to another user`,
    fix: 'Attach as the user who started it: nobody else can open its socket.',
  }),
  ours: (pid: number) => ({
    code: 'STUDIO_NOT_OFFERED',
    message: `studio: process ${pid} cannot be looked at`,
    fix: 'Start it with GPUFORGE_STUDIO=1 in its environment, or call serveStudio in it. A program whose event loop is blocked does not answer either.',
  }),
} as const;
