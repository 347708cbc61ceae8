// What the page knows, and the connection that keeps it up to date. It never shows old values as new: without news it is stale, and
// says since when. A lost connection is tried again after 1, 2, 5 and then every 10 seconds.

import type { EventEntry, RuntimeView, Sample, StudioSnapshot } from '../types.ts';

export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  | { readonly state: 'stale'; readonly since: number; readonly why: string }
  | { readonly state: 'locked' };

export interface Program {
  readonly id: string;
  readonly name: string;
}

/** What pages are drawn from. */
export interface View {
  readonly snapshot: StudioSnapshot;
  /** The chosen runtime; null if there is none. */
  readonly runtime: RuntimeView | null;
  readonly history: readonly Sample[];
  readonly events: readonly EventEntry[];
  /** By the server's clock. */
  readonly now: number;
}

const waits = [1000, 2000, 5000, 10_000];
const mostSamples = 7200;
const mostEvents = 10_000;
/** ms between two snapshots, as the link asks for; the server keeps it within limits. */
const everyMs = Number(new URLSearchParams(location.search).get('every')) || 1000;
/** The server's history has one sample in this time. */
const sampleMs = 1000;
/** Without a snapshot for this long, values are stale. */
const staleMs = 3500;

export class Store {
  connection: Connection = { state: 'connecting' };
  programs: readonly Program[] = [];
  snapshot: StudioSnapshot | null = null;
  readonly #changed: (what: 'data' | 'connection') => void;
  #history: Sample[] = [];
  #events: EventEntry[] = [];
  #seq = 0;
  #program: string | null = null;
  #runtime: string | null = null;
  #source: EventSource | null = null;
  #failures = 0;
  #heard = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(changed: (what: 'data' | 'connection') => void) {
    this.#changed = changed;
    setInterval(() => this.#checkAge(), 500);
  }

  get program(): string | null {
    return this.#program;
  }

  get view(): View | null {
    const { snapshot } = this;
    if (!snapshot) return null;
    const runtime = snapshot.runtimes.find((r) => r.name === this.#runtime) ?? snapshot.runtimes[0] ?? null;
    return { snapshot, runtime, history: this.#history, events: this.#events, now: snapshot.time };
  }

  choose(program: string, runtime: string): void {
    this.#runtime = runtime;
    if (program !== this.#program) {
      this.#program = program;
      this.snapshot = null;
      this.#history = [];
      this.#events = [];
      this.#seq = 0;
      this.start();
    } else this.#changed('data');
  }

  start(): void {
    this.#source?.close();
    if (this.#timer) clearTimeout(this.#timer);
    if (this.connection.state !== 'stale') this.#become({ state: 'connecting' });
    this.#load().then(
      () => this.#listen(),
      (error: unknown) => this.#failed(error instanceof Error ? error.message : String(error)),
    );
  }

  /** Asks for JSON; a refusal becomes an error with the server's own words. */
  async get<T>(path: string, query: Readonly<Record<string, string>> = {}): Promise<T> {
    return this.#ask<T>(path, query, {});
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    return this.#ask<T>(path, {}, { method: 'POST', body: JSON.stringify(body) });
  }

  /** Sends a file; it is kept in the memory of the studio. */
  async upload<T>(path: string, file: File): Promise<T> {
    return this.#ask<T>(path, { name: file.name }, { method: 'POST', body: file });
  }

  address(path: string, query: Readonly<Record<string, string>> = {}): string {
    const asked = new URLSearchParams(query);
    if (this.#program !== null) asked.set('program', this.#program);
    const text = asked.toString();
    return text ? `${path}?${text}` : path;
  }

  async #ask<T>(path: string, query: Readonly<Record<string, string>>, init: RequestInit): Promise<T> {
    const answer = await fetch(this.address(path, query), { ...init, credentials: 'same-origin' });
    if (answer.status === 401) {
      this.#become({ state: 'locked' });
      throw new Error('This page is locked.');
    }
    const value = (await answer.json()) as T & { readonly error?: string; readonly fix?: string };
    if (!answer.ok) throw new Error([value.error, value.fix].filter(Boolean).join(' '));
    return value;
  }

  async #load(): Promise<void> {
    const { programs } = await this.get<{ programs: readonly Program[] }>('/api/programs');
    this.programs = programs;
    this.#program ??= programs[0]?.id ?? null;
    const from = this.#history.at(-1)?.time ?? 0;
    const [snapshot, { samples }, { entries }] = await Promise.all([
      this.get<StudioSnapshot>('/api/snapshot'),
      this.get<{ samples: Sample[] }>('/api/history', { from: String(from) }),
      this.get<{ entries: EventEntry[] }>('/api/events', { after: String(this.#seq) }),
    ]);
    // Another process has taken the place of the one we knew: its numbers start anew.
    if (this.snapshot && this.snapshot.process.startedAt !== snapshot.process.startedAt) {
      this.#history = [];
      this.#events = [];
    }
    this.#history.push(...samples);
    this.#addEvents(entries);
    this.#take(snapshot);
  }

  #listen(): void {
    const source = new EventSource(this.address('/api/stream', { every: String(everyMs), after: String(this.#seq) }));
    this.#source = source;
    source.addEventListener('snapshot', (m) => {
      if (source !== this.#source) return;
      const snapshot = JSON.parse((m as MessageEvent<string>).data) as StudioSnapshot;
      const last = this.#history.at(-1)?.time ?? 0;
      if (snapshot.sample.time - last > sampleMs / 2) this.#history.push(snapshot.sample);
      if (this.#history.length > mostSamples) this.#history.splice(0, this.#history.length - mostSamples);
      this.#take(snapshot);
    });
    source.addEventListener('events', (m) => {
      if (source !== this.#source) return;
      const { entries } = JSON.parse((m as MessageEvent<string>).data) as { entries: EventEntry[] };
      this.#addEvents(entries);
      this.#changed('data');
    });
    source.onerror = () => {
      if (source === this.#source) this.#failed('The studio does not answer.');
    };
  }

  #take(snapshot: StudioSnapshot): void {
    this.snapshot = snapshot;
    this.#heard = performance.now();
    this.#failures = 0;
    if (this.connection.state !== 'live') this.#become({ state: 'live' });
    this.#changed('data');
  }

  #addEvents(entries: readonly EventEntry[]): void {
    for (const entry of entries) {
      if (entry.seq <= this.#seq) continue;
      this.#events.push(entry);
      this.#seq = entry.seq;
    }
    if (this.#events.length > mostEvents) this.#events.splice(0, this.#events.length - mostEvents);
  }

  #failed(why: string): void {
    this.#source?.close();
    this.#source = null;
    if (this.connection.state === 'locked') return;
    this.#stale(why);
    if (this.#timer) clearTimeout(this.#timer);
    const wait = waits[Math.min(this.#failures++, waits.length - 1)]!;
    this.#timer = setTimeout(() => this.start(), wait);
  }

  #stale(why: string): void {
    if (this.connection.state === 'stale') return;
    this.#become({ state: 'stale', since: this.snapshot?.time ?? Date.now(), why });
  }

  #checkAge(): void {
    if (this.connection.state === 'live' && performance.now() - this.#heard > staleMs)
      this.#stale('No news from the program: it may be busy in one long call.');
  }

  #become(connection: Connection): void {
    this.connection = connection;
    this.#changed('connection');
  }
}
