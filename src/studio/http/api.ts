// The data of one process under fixed paths. The same table serves the page of this process and, through a socket, the studio that
// was attached to it.

import { ArgumentError } from '../../index.ts';
import { metricsText, metricsType } from '../metrics.ts';
import type { Hub } from '../watch/hub.ts';
import { type Answer, type ApiRequest, json, problem, problemOf, smallBody } from './reply.ts';
import { liveStream } from './stream.ts';

type Run = (hub: Hub, request: ApiRequest) => Answer | Promise<Answer>;

export interface Route {
  readonly method: 'GET' | 'POST';
  readonly run: Run;
}

const apiRoutes: Readonly<Record<string, Route>> = {
  '/api/snapshot': { method: 'GET', run: (hub) => json(hub.glance().snapshot()) },
  '/api/stream': { method: 'GET', run: stream },
  '/api/history': {
    method: 'GET',
    run: (hub, { query }) => json({ samples: hub.glance().history.after(number(query, 'from', 0)) }),
  },
  '/api/events': { method: 'GET', run: (hub, { query }) => json(hub.ring.after(number(query, 'after', 0))) },
  '/api/events.jsonl': { method: 'GET', run: download },
  '/api/why': { method: 'GET', run: why },
  '/api/field/slice': { method: 'GET', run: slice },
  '/api/field/settings': { method: 'POST', run: fieldSettings },
  '/api/profiling': { method: 'POST', run: profiling },
  '/metrics': {
    method: 'GET',
    run: (hub) => ({ status: 200, type: metricsType, body: metricsText(hub.glance().snapshot(), hub.watches) }),
  },
};

/** Undefined if there is no such path. */
export async function callApi(hub: Hub, request: ApiRequest): Promise<Answer | undefined> {
  const route = Object.hasOwn(apiRoutes, request.path) ? apiRoutes[request.path] : undefined;
  if (!route) return undefined;
  if (route.method !== request.method) return problem(405, `${request.path} takes ${route.method} only.`);
  try {
    return await route.run(hub, request);
  } catch (error) {
    return problemOf(error);
  }
}

function stream(hub: Hub, request: ApiRequest): Answer {
  const asked = number(request.query, 'every', 1000);
  const last = Number(request.header('last-event-id') ?? Number.NaN);
  const after = Number.isSafeInteger(last) ? last : number(request.query, 'after', hub.ring.seq);
  return liveStream(hub, { everyMs: Math.min(60_000, Math.max(250, asked)), after });
}

function download(hub: Hub): Answer {
  const { entries } = hub.ring.after(0);
  const body = entries.map((e) => `${JSON.stringify({ t: new Date(e.time).toISOString(), ...e })}\n`).join('');
  return {
    status: 200,
    type: 'application/x-ndjson; charset=utf-8',
    body,
    headers: { 'content-disposition': 'attachment; filename="gpuforge-events.jsonl"' },
  };
}

/** Where an operation of some size would run, and why there. Changes nothing. */
function why(hub: Hub, { query }: ApiRequest): Answer {
  const name = query.get('runtime');
  const watch = hub.watches.find((w) => w.name === name) ?? hub.watches[0];
  if (!watch) return problem(404, 'No runtime is watched.', 'serveStudio({ runtimes: [rt] })');
  const elements = number(query, 'size', Number.NaN);
  if (!Number.isSafeInteger(elements) || elements < 0)
    throw bad('size', query.get('size'), 'Give a whole number of elements.');
  const at = query.get('at') || undefined;
  return json(watch.runtime.routing.explain(query.get('op') ?? '', elements, at === undefined ? {} : { at }));
}

/** Values of one channel on a slice of a field. Reads the device, and changes nothing. */
async function slice(hub: Hub, { query }: ApiRequest): Promise<Answer> {
  const name = query.get('field');
  const field = hub.fields.find((f) => f.name === name);
  if (!field) return problem(404, `There is no field '${name ?? ''}'.`, 'serveStudio({ fields: [field] })');
  return json(await field.slice(number(query, 'axis', 0), number(query, 'index', 0), number(query, 'channel', 0)));
}

/** Changes settings of a field from its next cycle on. The field checks them. */
async function fieldSettings(hub: Hub, request: ApiRequest): Promise<Answer> {
  if (!hub.control) return onlyLooks('to change settings from the page');
  const { field: name, settings } = await bodyOf(request);
  const field = hub.fields.find((f) => f.name === name);
  if (!field) return problem(404, `There is no field '${String(name)}'.`, 'serveStudio({ fields: [field] })');
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings))
    throw bad('settings', settings, 'Send {"field": NAME, "settings": {"keep": 0.99}}.');
  return json({ settings: await field.configure(settings) });
}

async function profiling(hub: Hub, request: ApiRequest): Promise<Answer> {
  if (!hub.control) return onlyLooks('to switch profiling from the page');
  const { on } = await bodyOf(request);
  if (typeof on !== 'boolean') throw bad('on', on, 'Send {"on": true} or {"on": false}.');
  await hub.profile(on);
  return json({ on });
}

const onlyLooks = (why: string): Answer =>
  problem(403, 'This studio only looks.', `Start it with allowControl: true ${why}.`);

/** What was sent, as an object; empty if it is anything else. */
async function bodyOf(request: ApiRequest): Promise<Readonly<Record<string, unknown>>> {
  const given = parse((await request.body(smallBody)).toString('utf8'));
  return typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {};
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw bad('body', text.slice(0, 80), 'Send JSON.');
  }
}

function number(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name);
  if (text === null || text === '') return otherwise;
  const value = Number(text);
  if (!Number.isFinite(value)) throw bad(name, text, 'Give a number.');
  return value;
}

const bad = (name: string, value: unknown, fix: string): ArgumentError =>
  new ArgumentError({ code: 'BAD_REQUEST', message: `${name}: ${String(value)} cannot be used`, fix, where: 'studio' });
