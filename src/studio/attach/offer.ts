// A program that was started with GPUFORGE_STUDIO=1 offers its data on a socket that only its own user can open. Until somebody
// connects nothing is collected; the socket does not keep the process alive.

import { chmodSync, rmSync } from 'node:fs';
import { checked } from '../../base/signatures.ts';
import type { Runtime } from '../../index.ts';
import { argumentKinds } from '../../index.ts';
import { defaultAlerts } from '../alerts.ts';
import { callApi } from '../http/api.ts';
import { listenAt } from '../http/listen.ts';
import { problem, readBody, send } from '../http/reply.ts';
import { checkRuntime } from '../options.ts';
import { programName } from '../serve.ts';
import { Hub } from '../watch/hub.ts';
import { ensureFolder, socketFolder, socketPath } from './folder.ts';

let offered: Promise<Hub> | null = null;

/** Lets `gpuforge studio attach` look at a runtime of this process. Called by createRuntime if GPUFORGE_STUDIO says so. */
export const offerStudio = checked(
  'offerStudio',
  'async runtime:runtime',
  async (runtime: Runtime): Promise<void> => {
    checkRuntime(runtime);
    offered ??= open();
    const hub = await offered;
    hub.add(runtime, hub.watches.length === 0 ? 'runtime' : `runtime ${hub.watches.length + 1}`);
  },
  argumentKinds,
);

async function open(): Promise<Hub> {
  const control = process.env.GPUFORGE_STUDIO === 'control';
  const name = process.env.GPUFORGE_STUDIO_NAME || programName();
  const hub = new Hub({ name, history: 600, alerts: defaultAlerts, control });
  const folder = socketFolder();
  ensureFolder(folder);
  const path = socketPath(process.pid, folder);
  // Left by a program that had our number before.
  rmSync(path, { force: true });
  await listenAt((request, response) => {
    const url = new URL(request.url ?? '/', 'http://studio');
    response.on('error', () => {});
    callApi(hub, {
      method: request.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      header: (key) => [request.headers[key]].flat()[0],
      body: (most) => readBody(request, most),
    }).then((answer) => {
      const found = answer ?? problem(404, 'There is nothing here.');
      if (!('stream' in found)) return send(response, found);
      response.on('close', found.stream(response));
    });
  }, path);
  // The folder lets nobody else in either.
  if (process.platform !== 'win32') chmodSync(path, 0o600);
  process.once('exit', () => rmSync(path, { force: true }));
  return hub;
}
