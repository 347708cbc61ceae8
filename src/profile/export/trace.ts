// A profile as Trace Event JSON, which Perfetto, chrome://tracing and speedscope read: a lane for each thread of the host and
// for each stream of a device, arrows from the call to the kernel, curves of memory and of the length of the queue.

import type { KernelCall, ProfileFile } from '../file/types.ts';

export interface TraceEvent {
  readonly ph: 'X' | 'M' | 's' | 'f' | 'C';
  readonly pid: number;
  readonly tid: number;
  readonly name: string;
  readonly cat?: string;
  readonly ts?: number;
  readonly dur?: number;
  readonly id?: number;
  readonly bp?: 'e';
  readonly args?: Readonly<Record<string, unknown>>;
}

const pid = 1;
const us = (ms: number): number => Math.round(ms * 1000);

/** Numbers of lanes, in order of first use. */
class Lanes {
  readonly #known = new Map<string, number>();

  of(name: string): number {
    let tid = this.#known.get(name);
    if (tid === undefined) {
      tid = this.#known.size + 1;
      this.#known.set(name, tid);
    }
    return tid;
  }

  names(): [string, number][] {
    return [...this.#known];
  }
}

export function* traceEvents(profile: ProfileFile): Generator<TraceEvent> {
  const lanes = new Lanes();
  yield { ph: 'M', pid, tid: 0, name: 'process_name', args: { name: `gpuforge ${profile.gpuforge}` } };
  // Scopes that overlap without being inside each other cannot share a lane: each gets the first that is free.
  const placed = placeScopes(profile.entries);
  for (const [e, row] of placed) {
    const lane = row === 0 ? `${e.thread}` : `${e.thread} (concurrent ${row})`;
    yield {
      ph: 'X',
      pid,
      tid: lanes.of(lane),
      cat: 'scope',
      name: e.operation,
      ts: us(e.startMs),
      dur: us(e.durationMs),
      args: withoutNull({
        device: e.device,
        selfMs: e.selfMs,
        gpuTimeMs: e.gpuTimeMs,
        memoryPeakMb: e.memoryPeakMb,
        failed: e.failed || null,
        ...e.metadata,
      }),
    };
  }
  for (const k of profile.kernels) yield* kernelEvents(k, lanes);
  for (const t of profile.transfers) {
    const device = t.kind === 'download' ? t.from : t.to;
    const gbs = t.ms > 0 ? t.bytes / t.ms / 1e6 : null;
    const args = withoutNull({ bytes: t.bytes, gbs, from: t.from, to: t.to, pinned: t.pinned });
    const place = { ph: 'X', pid, tid: lanes.of(`${device} copy`), cat: 'transfer' } as const;
    yield { ...place, name: t.kind, ts: us(t.start), dur: us(t.ms), args };
  }
  for (const w of profile.waits) {
    const args = withoutNull({ device: w.device, line: w.line || null });
    const place = { ph: 'X', pid, tid: lanes.of('host waits'), cat: 'wait' } as const;
    yield { ...place, name: `wait (${w.why})`, ts: us(w.start), dur: us(w.ms), args };
  }
  for (const l of profile.lanes) {
    const place = { ph: 'X', pid, tid: lanes.of(`${l.device} worker ${l.lane}`), cat: 'kernel' } as const;
    yield { ...place, name: l.name, ts: us(l.start), dur: us(l.ms) };
  }
  for (const m of profile.memory) {
    const args = { live: m.live, reserved: m.reserved };
    yield { ph: 'C', pid, tid: 0, name: `memory of ${m.device}`, ts: us(m.t), args };
  }
  yield* queueLengths(profile.kernels);
  for (const [name, tid] of lanes.names()) yield { ph: 'M', pid, tid, name: 'thread_name', args: { name } };
}

function* kernelEvents(k: KernelCall, lanes: Lanes): Generator<TraceEvent> {
  const ms = k.ms ?? k.passMs;
  const gbs = k.ms && k.bytes !== null ? k.bytes / k.ms / 1e6 : null;
  const args = withoutNull({
    bytes: k.bytes,
    flops: k.flops,
    gbs,
    kernels: k.kernels > 1 ? k.kernels : null,
    line: k.line,
  });
  const host = { pid, tid: lanes.of('host calls') };
  const call = { ...host, cat: 'launch', name: k.name, ts: us(k.enqueued), dur: us(k.hostMs) };
  yield { ph: 'X', ...call, args: withoutNull({ device: k.device, measured: ms === null ? false : null }) };
  if (ms === null || (k.pass !== null && k.pass !== k.id)) return;
  const device = { pid, tid: lanes.of(`${k.device} compute`) };
  yield { ph: 'X', ...device, cat: 'kernel', name: onDevice(k), ts: us(k.start), dur: us(ms), args };
  yield { ph: 's', ...host, cat: 'launch', name: 'launch', id: k.id, ts: us(k.enqueued) };
  yield { ph: 'f', bp: 'e', ...device, cat: 'launch', name: 'launch', id: k.id, ts: us(k.start) };
}

/** What stands in a device's lane: kernels that were measured together are one. */
export const onDevice = ({ name, pass }: KernelCall): string => (pass === null ? name : `${name} and others`);

/** How many kernels were enqueued and not finished, whenever that changed. */
function* queueLengths(kernels: readonly KernelCall[]): Generator<TraceEvent> {
  const byDevice = new Map<string, { t: number; d: 1 | -1 }[]>();
  for (const k of kernels) {
    const ms = k.ms ?? k.passMs;
    if (ms === null) continue;
    let list = byDevice.get(k.device);
    if (!list) {
      list = [];
      byDevice.set(k.device, list);
    }
    list.push({ t: k.enqueued, d: 1 }, { t: Math.max(k.enqueued, k.start + ms), d: -1 });
  }
  for (const [device, list] of byDevice) {
    list.sort((a, b) => a.t - b.t || b.d - a.d);
    let length = 0;
    for (const { t, d } of list) {
      length += d;
      yield { ph: 'C', pid, tid: 0, name: `queue of ${device}`, ts: us(t), args: { kernels: length } };
    }
  }
}

function withoutNull(args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).filter(([, v]) => v !== null && v !== undefined));
}

interface Placed {
  readonly id: number;
  readonly parentId: number | null;
  readonly startMs: number;
  readonly durationMs: number;
}

/** Scopes with the row they are drawn in: inside its parent's row if it fits there, else in the first where nothing else is. */
export function placeScopes<T extends Placed>(entries: readonly T[]): [T, number][] {
  const sorted = [...entries].sort((a, b) => a.startMs - b.startMs || b.durationMs - a.durationMs || a.id - b.id);
  /** Per row the scopes that are open, outermost first. */
  const rows: { id: number; end: number }[][] = [];
  const rowOf = new Map<number, number>();
  const fits = (e: T, row: number): boolean => {
    const open = (rows[row] ??= []);
    while (open.length > 0 && open.at(-1)!.end <= e.startMs) open.pop();
    const top = open.at(-1);
    return top === undefined || (top.id === e.parentId && e.startMs + e.durationMs <= top.end);
  };
  return sorted.map((e) => {
    const around = e.parentId === null ? undefined : rowOf.get(e.parentId);
    let row = around !== undefined && fits(e, around) ? around : 0;
    while (!fits(e, row)) row++;
    rows[row]!.push({ id: e.id, end: e.startMs + e.durationMs });
    rowOf.set(e.id, row);
    return [e, row];
  });
}

/** The file, piece by piece. */
export function* traceText(profile: ProfileFile): Generator<string> {
  const meta = {
    schema: profile.schema,
    createdAt: profile.createdAt,
    detailed: profile.options.detailed,
    slowdown: profile.options.slowdown,
    clockErrorUs: Object.fromEntries(profile.machine.devices.map((d) => [d.id, d.clockErrorUs])),
    violations: profile.violations,
    dropped: profile.dropped,
  };
  yield `{"displayTimeUnit":"ms","otherData":${JSON.stringify(meta)},"traceEvents":[\n`;
  let separator = '';
  for (const event of traceEvents(profile)) {
    yield `${separator}${JSON.stringify(event)}`;
    separator = ',\n';
  }
  yield '\n]}\n';
}
