// serveStudio: the hub, the door and the page as one thing that is started and closed.

import { plainKinds } from '../base/kinds.ts';
import { checked, checkMethods } from '../base/signatures.ts';
import { type BusEvents, EventBus, type Runtime } from '../index.ts';
import { AlertFile } from './alert-file.ts';
import { defaultAlerts } from './alerts.ts';
import type { ForgeApi } from './forge-api.ts';
import { Access } from './http/access.ts';
import { Front } from './http/app.ts';
import { type Backend, localBackend } from './http/backend.ts';
import { allowedHosts } from './http/guard.ts';
import { type Listening, listen } from './http/listen.ts';
import { type Answer, type ApiRequest, json, problem } from './http/reply.ts';
import { checkRuntime, type NamedRuntime, type StudioOptions, type StudioSettings, studioSettings } from './options.ts';
import type { Alert, StudioSnapshot } from './types.ts';
import { BatchWatch } from './watch/batches.ts';
import type { FieldWatch } from './watch/fields.ts';
import { Hub } from './watch/hub.ts';
import { QueueWatch } from './watch/queues.ts';

export interface StudioEvents extends BusEvents {
  /** An alert fired, or cleared. */
  readonly alert: Alert;
}

/** What the command line adds to a studio. */
export interface StudioParts {
  readonly forge?: ForgeApi | undefined;
  /** Programs in place of this one. */
  readonly programs?: readonly Backend[] | undefined;
  readonly name?: string | undefined;
}

export class Studio {
  /** Opens the page, once. `link()` makes another. */
  readonly url: string;
  /** For programs, sent as `Authorization: Bearer`: scrapers of `/metrics`. */
  readonly token: string;
  readonly port: number;
  readonly #hub: Hub;
  readonly #front: Front;
  readonly #access: Access;
  readonly #listening: Listening;
  readonly #events: EventBus<StudioEvents>;
  readonly #stopAlerts: () => void;
  #closed = false;

  /** @internal Use `serveStudio`. */
  constructor(
    hub: Hub,
    front: Front,
    access: Access,
    listening: Listening,
    events: EventBus<StudioEvents>,
    stopAlerts: () => void,
  ) {
    this.#hub = hub;
    this.#front = front;
    this.#access = access;
    this.#listening = listening;
    this.#events = events;
    this.#stopAlerts = stopAlerts;
    this.port = listening.port;
    this.token = access.token;
    this.url = this.link();
  }

  /** A new link that opens the page, once. */
  link(): string {
    return linkTo(this.#listening, this.#access);
  }

  /** Watches one more runtime. */
  watch(runtime: Runtime | NamedRuntime): void {
    checkRuntime(runtime);
    add(this.#hub, runtime);
  }

  /** What the page is told, as data. */
  snapshot(): StudioSnapshot {
    return this.#hub.snapshot();
  }

  /** Whether anything is collected at the moment: only while somebody looks. */
  get looking(): boolean {
    return this.#hub.looking;
  }

  on<K extends keyof StudioEvents & string>(kind: K, listener: (event: StudioEvents[K]) => unknown): () => void {
    const off = this.#events.on(kind, listener);
    if (kind !== 'alert') return off;
    // Alerts are looked for as long as somebody wants to hear of them.
    const rest = this.#hub.onAlert(() => {});
    return () => {
      off();
      rest();
    };
  }

  /** Ends the server and the watching; the program goes on as before. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopAlerts();
    this.#front.close();
    this.#hub.close();
    await this.#listening.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

checkMethods(Studio.prototype, {
  'link snapshot': '',
  watch: 'runtime:own',
  on: 'kind:own listener:own',
  close: 'async',
});

const studioKinds = {
  ...plainKinds,
  compute: {
    is: (v: unknown) => typeof (v as { on?: unknown } | null)?.on === 'function',
    words: 'a GPUCompute',
  },
};

/**
 * Serves a page that shows what runtimes do: devices, memory, routing, work, failures. It only listens; closing it, or its page,
 * does nothing to the program, and it does not keep the process alive.
 *
 * ```ts
 * import { createRuntime } from 'gpuforge';
 * import { serveStudio } from 'gpuforge/studio';
 * const rt = await createRuntime({ devices: ['cpu'] });
 * const studio = await serveStudio({ runtimes: [rt] });
 * console.log(studio.url.startsWith('http://127.0.0.1:')); // → true
 * await studio.close();
 * await rt.close();
 * ```
 */
export const serveStudio = checked(
  'serveStudio',
  'async options:{runtimes:object[],compute:compute,batches:object,queues:object,fields:object[],profilers:object[],profiles:text[],port:number,host:text,tokenFile:text,open:flag,history:number,allowControl:flag,alerts:object[],alertFile:text}?',
  (options: StudioOptions = {}): Promise<Studio> => startStudio(options, {}),
  studioKinds,
);

export async function startStudio(options: StudioOptions, parts: StudioParts): Promise<Studio> {
  const settings = studioSettings(options);
  const hub = hubOf(options, settings, parts, await watchFields(options));
  const access = new Access(settings.token);
  const { files } = await import('./assets.ts');
  let hosts: ReadonlySet<string> = new Set();
  let listening: Listening | null = null;
  const programs = parts.programs ?? [localBackend('self', parts.name ?? programName(), hub)];
  let forge = parts.forge ?? null;
  const { Profiles } = await import('./profiles.ts');
  const profiles = new Profiles(options.profiles ?? [], options.profilers ?? []);
  const api = async (request: ApiRequest): Promise<Answer | undefined> => {
    const { path, query } = request;
    if (path === '/api/programs') return json({ programs: programs.map(({ id, name }) => ({ id, name })) });
    if (path === '/api/link')
      return request.method === 'POST' ? json({ url: linkTo(listening!, access) }) : problem(405, 'Send POST.');
    if (path.startsWith('/api/forge/')) {
      forge ??= (await import('./forge-api.ts')).createForgeApi();
      return forge.call(request);
    }
    if (path.startsWith('/api/profiles') || path.startsWith('/profile/')) return profiles.call(request);
    const id = query.get('program');
    const program = id === null ? programs[0] : programs.find((p) => p.id === id);
    return program ? program.call(request) : problem(404, 'There is no such program.', 'GET /api/programs lists them.');
  };
  const front = new Front(
    { files, api },
    { access, hosts: () => hosts, cookie: () => `gpuforge_studio_${listening!.port}` },
  );
  listening = await listen((request, response) => front.handle(request, response), settings);
  hosts = allowedHosts(settings.names, listening.port);
  const events = new EventBus<StudioEvents>(['alert', 'error'], 'studio.on');
  const stops = [hub.quietly((alert) => events.emit('alert', alert))];
  if (options.alertFile !== undefined) {
    const file = new AlertFile(options.alertFile, (error) => events.emit('error', { error, where: 'the alert file' }));
    stops.push(hub.onAlert((alert) => file.write(alert)));
  }
  const studio = new Studio(hub, front, access, listening, events, () => stops.forEach((stop) => void stop()));
  if (options.open) await openBrowser(studio.url);
  return studio;
}

/** What watches fields is loaded where there are some. */
async function watchFields({ fields = [] }: StudioOptions): Promise<readonly FieldWatch[]> {
  if (fields.length === 0) return [];
  const { FieldWatch } = await import('./watch/fields.ts');
  return fields.map((given, i) => {
    if ('studioName' in given) return new FieldWatch(given.studioName, given.field);
    return new FieldWatch(i === 0 ? 'field' : `field ${i + 1}`, given);
  });
}

function hubOf(
  options: StudioOptions,
  settings: StudioSettings,
  parts: StudioParts,
  fields: readonly FieldWatch[],
): Hub {
  const { compute, alerts = defaultAlerts, allowControl = false } = options;
  const name = parts.name ?? programName();
  const batches = Object.entries(options.batches ?? {}).map(([of, source]) => new BatchWatch(of, source));
  const queues = Object.entries(options.queues ?? {}).map(([of, source]) => new QueueWatch(of, source));
  const { history } = settings;
  const hub = new Hub({ name, history, alerts, control: allowControl, compute, batches, queues, fields });
  for (const runtime of options.runtimes ?? []) add(hub, runtime);
  if (compute?.runtime) hub.add(compute.runtime, 'compute');
  return hub;
}

function add(hub: Hub, given: Runtime | NamedRuntime): void {
  if ('studioName' in given) hub.add(given.runtime, given.studioName);
  else hub.add(given, hub.watches.length === 0 ? 'runtime' : `runtime ${hub.watches.length + 1}`);
}

/** The script that runs, else the number of the process. */
export function programName(): string {
  const script = process.argv[1]?.split(/[\\/]/).at(-1);
  return script ? script : `process ${process.pid}`;
}

function linkTo({ port, addresses }: Listening, access: Access): string {
  const host = addresses[0]!.includes(':') ? `[${addresses[0]}]` : addresses[0]!;
  const shown = host === '0.0.0.0' || host === '[::]' ? '127.0.0.1' : host;
  return `http://${shown}:${port}/?token=${access.newLink()}`;
}

const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
  linux: ['xdg-open'],
};

/** Where there is no browser, the link that is printed is enough. */
export async function openBrowser(url: string): Promise<void> {
  const [command, ...args] = openers[process.platform] ?? openers.linux!;
  const { spawn } = await import('node:child_process');
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
