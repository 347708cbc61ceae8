// One attached runtime: its events become records, booked to the span in which they happened.
//
// The runtime tells its listeners while the work is enqueued, in the caller's own context, so the span around is the current
// one. Times of the devices come later and are matched by id.

import type { Events, Runtime } from '../../index.ts';
import { kernel as col, type DeviceLog } from './log.ts';
import { ProfileSpan } from './span.ts';
import type { OpenSpans } from './spans.ts';

/** Ids of events are counted per runtime; records have numbers of their own. */
type Row = number;

/** Replays from which the cost of measuring kernels one by one is told. */
const slowdownReplays = 100;
/** Sums of large floats are this inexact. */
const roundingMs = 1e-6;
/** Launches that wait for their times, and how long a profile waits for the last of them. */
const mostPending = 65_536;
const patienceMs = 3000;

export class Recorder {
  readonly runtime: Runtime;
  /** Resolves when the devices' clocks were compared. */
  readonly ready: Promise<void>;
  readonly #detailed: boolean;
  readonly #log: DeviceLog;
  readonly #spans: OpenSpans;
  readonly #live = new Map<string, number>();
  readonly #told: (live: Recorder) => void;
  readonly #stops: readonly (() => void)[];
  /** Launches whose times are not known yet. */
  readonly #pending = new Map<number, Row>();
  /** Per replay that was launched step by step: first start, last end, sum. */
  readonly #stepwise = new Map<number, { start: number; end: number; busy: number }>();
  readonly #replayOf = new Map<number, number>();
  #settling = 0;
  #lastMeasured: readonly [id: number, row: Row] = [0, 0];

  /** `told` is called when memory has changed. */
  constructor(runtime: Runtime, log: DeviceLog, spans: OpenSpans, detailed: boolean, told: (r: Recorder) => void) {
    this.runtime = runtime;
    this.#log = log;
    this.#spans = spans;
    this.#told = told;
    const { memory } = runtime.snapshot();
    const now = performance.now();
    for (const { device, live, reserved, others } of memory.places) {
      this.#live.set(device, live);
      log.device(device).reserved = reserved;
      log.memory.add({ t: now, device, live, reserved, others });
    }
    this.#stops = [
      runtime.on('launch', (e) => this.#launched(e)),
      runtime.on('replay', (e) => this.#replayed(e)),
      runtime.on('span', (e) => this.#measured(e)),
      runtime.on('upload', (e) => this.#transferred('upload', e)),
      runtime.on('download', (e) => this.#transferred('download', e)),
      runtime.on('move', (e) => this.#transferred('move', e)),
      runtime.on('alloc', (e) => this.#allocated(e, true)),
      runtime.on('free', (e) => this.#allocated(e, false)),
      runtime.on('wait', (e) => this.#waited(e)),
      runtime.on('compile', ({ device, kernels, start, ms, cached }) =>
        log.compiles.push({ entry: this.#entry(), device, kernels, start, ms, cached }),
      ),
      runtime.on('route', ({ op, device, predictions }) =>
        log.routes.push({
          entry: this.#entry(),
          op,
          device,
          start: performance.now(),
          predictions: predictions.map(({ device: d, us, work, samples }) => ({ device: d, us, work, samples })),
        }),
      ),
      runtime.on('cleanup', ({ device }) => {
        log.device(device).cleanups++;
      }),
      runtime.attribute(() => spans.current() ?? null),
    ];
    this.#detailed = detailed;
    this.ready = wantSpans(runtime, detailed, 1);
    // Whoever waits for it is told; nobody has to.
    this.ready.catch(() => {});
  }

  /** Live bytes of all its devices. */
  get live(): number {
    let sum = 0;
    for (const bytes of this.#live.values()) sum += bytes;
    return sum;
  }

  /** How much longer the first replays took because their kernels were measured one by one; null if there were none. */
  get slowdown(): number | null {
    const ratios = [...this.#stepwise.values()].filter((r) => r.busy > 0).map((r) => (r.end - r.start) / r.busy);
    if (ratios.length === 0) return null;
    ratios.sort((a, b) => a - b);
    return Math.max(1, ratios[ratios.length >> 1]!);
  }

  /** Waits until the times of everything that was enqueued are known. */
  async settle(): Promise<void> {
    await this.ready;
    this.#settling++;
    try {
      await this.runtime.flush();
      const until = performance.now() + patienceMs;
      // A busy machine may be late with times that are on their way.
      while (this.#owed() && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 5));
    } finally {
      this.#settling--;
    }
  }

  /** Whether a device that has told times before owes some. */
  #owed(): boolean {
    const { kernels, names } = this.#log;
    for (const row of this.#pending.values()) {
      if (kernels.has(row) && this.#log.device(names.text(kernels.get(col.device, row))).errorUs !== null) return true;
    }
    return false;
  }

  /** Ends it: no listener stays. Resolves when its devices measure no longer. */
  async stop(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#pending.clear();
    // A runtime that was closed has switched its spans off by itself.
    await wantSpans(this.runtime, this.#detailed, -1).catch(() => {});
  }

  #entry(): number {
    return this.#spans.current()?.id ?? 0;
  }

  #launched(e: Events['launch']): void {
    const { bytesRead, bytesWritten, flops } = e.estimate;
    const row = this.#add(e.id, e.name, e.device, e.start, e.hostMs, bytesRead + bytesWritten, flops, 1);
    this.#issued(row, e.issuedIn);
    if (e.line !== '') this.#log.kernels.set(col.line, row, this.#log.names.number(e.line) + 1);
    if (e.replay === null) return;
    this.#log.kernels.set(col.replay, row, e.replay);
    if (this.#stepwise.size < slowdownReplays) this.#replayOf.set(e.id, e.replay);
  }

  #replayed(e: Events['replay']): void {
    // Otherwise its kernels have been told one by one.
    if (!e.recorded) return;
    const row = this.#add(e.id, replayName(e), e.device, e.start, e.hostMs, Number.NaN, Number.NaN, e.kernels.length);
    this.#log.kernels.set(col.replay, row, e.id);
    this.#issued(row, e.issuedIn);
  }

  /** Notes which span built it, if that was another one than the one that makes it run. */
  #issued(row: Row, issuedIn: readonly unknown[]): void {
    if (issuedIn.length === 0) return;
    const by = issuedIn.find((i) => i instanceof ProfileSpan && i.of(this.#spans)) as ProfileSpan | undefined;
    if (by && by.id !== this.#log.kernels.get(col.entry, row)) this.#log.kernels.set(col.issuedIn, row, by.id);
  }

  #add(
    id: number,
    name: string,
    device: string,
    start: number,
    hostMs: number,
    bytes: number,
    flops: number,
    kernels: number,
  ): Row {
    const { kernels: rows, names } = this.#log;
    const row = rows.add();
    const entry = this.#spans.current();
    rows.set(col.entry, row, entry ? entry.id : 0);
    rows.set(col.name, row, names.number(name));
    rows.set(col.device, row, names.number(device));
    rows.set(col.start, row, Number.NaN);
    rows.set(col.ms, row, Number.NaN);
    rows.set(col.passMs, row, Number.NaN);
    rows.set(col.bytes, row, bytes);
    rows.set(col.flops, row, flops);
    rows.set(col.replay, row, 0);
    rows.set(col.enqueued, row, start);
    rows.set(col.hostMs, row, hostMs);
    rows.set(col.issuedIn, row, 0);
    rows.set(col.kernels, row, kernels);
    rows.set(col.pass, row, 0);
    rows.set(col.line, row, 0);
    entry?.tracked?.kernel(row);
    this.#pending.set(id, row);
    // A device without a clock never tells: what is too old is given up.
    if (this.#pending.size > mostPending) this.#pending.delete(this.#pending.keys().next().value!);
    return row;
  }

  #measured({ id, ids, device, start, end, errorUs, quantumUs, lane }: Events['span']): void {
    if (lane > 0) {
      this.#log.lanes.push({ device, lane, name: this.#laneName(id), start, ms: end - start });
      return;
    }
    const known = this.#log.device(device);
    known.errorUs = errorUs;
    known.quantumUs = quantumUs;
    const { kernels } = this.#log;
    let pass = 0;
    for (let i = 0; i < ids.length; i++) {
      const row = this.#pending.get(ids[i]!);
      if (row === undefined) continue;
      this.#pending.delete(ids[i]!);
      if (!kernels.has(row)) continue;
      this.#lastMeasured = [ids[i]!, row];
      kernels.set(col.start, row, start);
      if (ids.length === 1) kernels.set(col.ms, row, end - start);
      else {
        pass ||= row + 1;
        kernels.set(col.passMs, row, end - start);
        kernels.set(col.pass, row, pass);
      }
      if (start + errorUs / 1000 + roundingMs < kernels.get(col.enqueued, row)) this.#log.violations++;
    }
    const replay = this.#replayOf.get(id);
    if (replay !== undefined) this.#stepped(id, replay, start, end);
  }

  /** Threads are told right behind the launch they belong to. */
  #laneName(id: number): string {
    const [last, row] = this.#lastMeasured;
    const { kernels, names } = this.#log;
    return last === id && kernels.has(row) ? names.text(kernels.get(col.name, row)) : '';
  }

  #stepped(id: number, replay: number, start: number, end: number): void {
    this.#replayOf.delete(id);
    const known = this.#stepwise.get(replay);
    if (!known) {
      this.#stepwise.set(replay, { start, end, busy: end - start });
      return;
    }
    known.start = Math.min(known.start, start);
    known.end = Math.max(known.end, end);
    known.busy += end - start;
  }

  #waited({ device, start, ms, line, why }: Events['wait']): void {
    const entry = this.#entry();
    // The profiler's own wait for the devices' times is not the program's.
    if (this.#settling > 0 && why === 'flush' && entry === 0) return;
    this.#log.waits.push({ entry, device, start, ms, line, why });
  }

  #transferred(kind: 'upload' | 'download' | 'move', e: Events['upload']): void {
    const { transfers } = this.#log;
    const { from, to, bytes, start, ms, pinned } = e;
    const id = transfers.size + transfers.dropped + 1;
    const entry = this.#spans.current();
    entry?.tracked?.transfer(ms, bytes);
    transfers.push({ id, entry: entry ? entry.id : 0, kind, from, to, bytes, start, ms, pinned });
  }

  #allocated({ device, start, live, reserved }: Events['alloc'], taken: boolean): void {
    const known = this.#log.device(device);
    if (taken) {
      known.allocations++;
      if (reserved > known.reserved) known.grown++;
    }
    known.reserved = reserved;
    this.#live.set(device, live);
    this.#log.memory.add({ t: start, device, live, reserved, others: null });
    this.#told(this);
  }
}

interface Wanted {
  /** Recorders that want spans, and those of them that want details. */
  all: number;
  detailed: number;
  /** Changes are made one after the other: switching takes a moment, and the last wish must win. */
  changing: Promise<void>;
}

const wanted = new WeakMap<Runtime, Wanted>();

/** Spans stay on as long as any profiler of a runtime wants them, and in detail as long as one wants that. */
function wantSpans(runtime: Runtime, detailed: boolean, change: 1 | -1): Promise<void> {
  const w = wanted.get(runtime) ?? { all: 0, detailed: 0, changing: Promise.resolve() };
  wanted.set(runtime, w);
  w.all += change;
  if (detailed) w.detailed += change;
  const set = (): Promise<void> => runtime.spans(w.detailed > 0 ? 'detailed' : w.all > 0);
  w.changing = w.changing.then(set, set);
  return w.changing;
}

/** A replay by the name of its function, else by what is in it. */
function replayName({ name, kernels }: Events['replay']): string {
  if (name !== '') return name;
  const all = kernels.length === 1 ? kernels[0]! : `replay of ${kernels.length}: ${kernels.join(', ')}`;
  return all.length > 200 ? `${all.slice(0, 199)}…` : all;
}
