// What the studio tells of a program: snapshots, history, streams, metrics, alerts, logs; and that it tells nothing, and costs nothing, while
// nobody looks.

import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { createBatch } from '../../src/batch/index.ts';
import { GPUCompute } from '../../src/compute/index.ts';
import { ArgumentError, createRuntime, eventNames } from '../../src/index.ts';
import { AlertFile } from '../../src/studio/alert-file.ts';
import { type AlertRule, type AlertSnapshot, Alerts, defaultAlerts } from '../../src/studio/alerts.ts';
import {
  type Alert,
  jsonLines,
  logLevels,
  type Sample,
  type StudioSnapshot,
  serveStudio,
} from '../../src/studio/index.ts';
import { EventRing } from '../../src/studio/watch/ring.ts';
import { login, openStream, served } from './support.ts';

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const latest = (messages: readonly { event: string; data: string }[]): StudioSnapshot =>
  JSON.parse(messages.filter((m) => m.event === 'snapshot').at(-1)!.data);

describe('a snapshot', () => {
  it('has a version, survives JSON, and tells what runs', async () => {
    await using s = await served();
    await s.rt.tensor([1, 2, 3]).add(1).data();
    const got = await s.json<StudioSnapshot>('/api/snapshot');
    expect(got).toMatchObject({
      schema: 'gpuforge.studio/1',
      control: false,
      process: { pid: process.pid },
      runtimes: [{ name: 'runtime', closedAt: null, snapshot: { schema: 'gpuforge.runtime/1' } }],
    });
    expect(got.health.standing).toBe('good');
    expect(got.health.failures.answer).toBe('No');
    expect(got.runtimes[0]!.queue).toBe(null);
    expect(JSON.stringify(got)).not.toMatch(/NaN|Infinity/);
  });

  it('names several runtimes, and never gives two the same name', async () => {
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    await using other = await createRuntime({ devices: ['reference'] });
    await using third = await createRuntime({ devices: ['reference'] });
    await using studio = await serveStudio({ runtimes: [rt, { runtime: other, studioName: 'trainer' }] });
    studio.watch({ runtime: third, studioName: 'trainer' });
    studio.watch(rt);
    expect(studio.snapshot().runtimes.map((r) => r.name)).toEqual(['runtime', 'trainer', 'trainer 2']);
  });

  it('of a runtime that was closed says since when', async () => {
    await using s = await served();
    await s.rt.close();
    const { runtimes, health } = s.studio.snapshot();
    expect(runtimes[0]!.closedAt).toBeGreaterThan(Date.now() - 10_000);
    expect(health).toMatchObject({ standing: 'unknown', line: 'The program has closed its runtime.' });
    expect((await s.get('/metrics')).status).toBe(200);
  });

  it('without any runtime says what to do', async () => {
    await using studio = await serveStudio();
    expect(studio.snapshot().health.line).toContain('serveStudio({ runtimes: [rt] })');
  });
});

describe('while nobody looks', () => {
  it('nothing of the work is timed or listened to; while somebody looks it is', async () => {
    await using s = await served();
    const work = (): void => void s.rt.tensor([1, 2]).add(1).compute();
    work();
    const now = vi.spyOn(performance, 'now');
    try {
      work();
      expect(now).toHaveBeenCalledTimes(0);
      expect(s.studio.looking).toBe(false);
      const stream = await openStream(s.studio.port, await login(s.studio));
      await stream.until((t) => t.messages.some((m) => m.event === 'snapshot'));
      expect(s.studio.looking).toBe(true);
      work();
      await stream.until((t) => t.messages.some((m) => m.event === 'events' && m.data.includes('"launch"')));
      stream.close();
      await s.studio.close();
      expect(s.studio.looking).toBe(false);
      now.mockClear();
      work();
      expect(now).toHaveBeenCalledTimes(0);
    } finally {
      now.mockRestore();
    }
  });

  it('a failure is still known when somebody comes', async () => {
    await using s = await served();
    const stop = s.rt.on('launch', () => {
      throw new Error('my listener <b>broke</b>');
    });
    s.rt.tensor([1]).add(1).dataSync();
    stop();
    expect(s.studio.looking).toBe(false);
    const { entries } = await s.json<{ entries: { kind: string; text: string; level: string }[] }>('/api/events');
    expect(entries).toEqual([
      expect.objectContaining({ kind: 'error', level: 'error', text: expect.stringContaining('<b>broke</b>') }),
    ]);
    expect(s.studio.snapshot().health.failures).toMatchObject({
      standing: 'watch',
      detail: expect.stringContaining('1 error in callbacks'),
    });
  });

  it('the memory of the time before is there: the monitor of the runtime kept it', async () => {
    await using s = await served({}, { memory: { sampleMs: 100, budget: { cpu: 2 ** 26 } } });
    const held = s.rt.zeros([100_000]).add(1).compute();
    await wait(2500);
    held.dispose();
    const { samples } = await s.json<{ samples: Sample[] }>('/api/history');
    expect(samples.length).toBeGreaterThanOrEqual(2);
    const before = samples[0]!.runtimes[0]!.devices[0]!;
    expect(before).toMatchObject({ id: 'cpu', live: 400_000, busy: null, launches: null });
  });
});

describe('a stream', () => {
  it('sends a snapshot at once and every second, and events with ids', async () => {
    await using s = await served();
    const stream = await openStream(s.studio.port, await login(s.studio));
    await stream.until((t) => t.messages.filter((m) => m.event === 'snapshot').length >= 2);
    for (let i = 0; i < 50; i++) s.rt.tensor([i]).add(1).dataSync();
    await stream.until((t) => t.messages.some((m) => m.event === 'events'));
    const { id, data } = stream.messages.find((m) => m.event === 'events')!;
    const { entries } = JSON.parse(data) as { entries: { kind: string; count: number; seq: number }[] };
    // Fifty launches are one entry with a count.
    expect(entries.filter((e) => e.kind === 'launch')).toEqual([expect.objectContaining({ count: 50 })]);
    expect(Number(id)).toBe(Math.max(...entries.map((e) => e.seq)));
    stream.close();
  });

  it('that was cut goes on after the last id, and two clients see the same', async () => {
    await using s = await served();
    const cookie = await login(s.studio);
    const [first, second] = await Promise.all([openStream(s.studio.port, cookie), openStream(s.studio.port, cookie)]);
    s.rt.memory.cleanupMemory();
    const has = (m: { data: string }): boolean => m.data.includes('"cleanup"');
    await Promise.all(
      [first, second].map((c) => c.until((t) => t.messages.some((m) => m.event === 'events' && has(m)))),
    );
    const eventsOf = (t: typeof first): string[] => t.messages.filter((m) => m.event === 'events').map((m) => m.data);
    expect(eventsOf(first)).toEqual(eventsOf(second));
    const last = first.messages.filter((m) => m.id !== null).at(-1)!.id!;
    first.close();
    s.rt.memory.cleanupMemory();
    await second.until((t) => eventsOf(t).length >= 2);
    const again = await openStream(s.studio.port, cookie, '/api/stream', { 'last-event-id': last });
    await again.until((t) => t.messages.some((m) => m.event === 'events' && has(m)));
    const missed = JSON.parse(again.messages.find((m) => m.event === 'events')!.data) as { entries: { seq: number }[] };
    expect(missed.entries.every((e) => e.seq > Number(last))).toBe(true);
    second.close();
    again.close();
  });

  it('sends at most a few messages a second, whatever happens', async () => {
    await using s = await served();
    const stream = await openStream(s.studio.port, await login(s.studio), '/api/stream?every=250');
    const from = performance.now();
    while (performance.now() - from < 1500) {
      for (let i = 0; i < 100; i++) s.rt.tensor([i]).add(1).dataSync();
      await wait(5);
    }
    const seconds = (performance.now() - from) / 1000;
    expect(stream.messages.length / seconds).toBeLessThan(50);
    await stream.until(({ messages }) =>
      messages.some((m) => m.event === 'snapshot' && latest([m]).runtimes[0]!.busy[0]!.launchesPerSecond! > 0),
    );
    stream.close();
  });
});

describe('the list of events', () => {
  it('keeps what matters apart from work, and tells what was left out', () => {
    const ring = new EventRing(10);
    const note = (level: 'work' | 'error', text: string) =>
      ring.add({ kind: 'x', level, runtime: 'r', device: null, text });
    note('error', 'lost');
    for (let i = 0; i < 100; i++) note('work', String(i));
    const { entries } = ring.after(0);
    expect(entries.map((e) => e.text)).toEqual(['lost', '95', '96', '97', '98', '99']);
    expect(ring.after(0, 2)).toMatchObject({ skipped: 4, entries: [{ text: '98' }, { text: '99' }] });
    expect(ring.after(101).entries).toEqual([]);
  });

  it('comes as JSON lines', async () => {
    await using s = await served();
    s.rt.memory.cleanupMemory();
    const { headers, body } = await s.get('/api/events.jsonl');
    expect(headers['content-disposition']).toContain('gpuforge-events.jsonl');
    const lines = body
      .trim()
      .split('\n')
      .map((l) => JSON.parse(l));
    expect(lines.some((l) => l.kind === 'cleanup' && /^\d{4}-\d\d-\d\dT/.test(l.t))).toBe(true);
  });
});

describe('batches', () => {
  it('are counted by their processor, and watched only while somebody looks', async () => {
    const batch = createBatch([1, 2, 3, 4, 5, 6], { maxBatchSize: 3 });
    let listeners = 0;
    const source = {
      stats: () => batch.stats(),
      onBatch: (listener: Parameters<typeof batch.onBatch>[0]) => {
        listeners++;
        const stop = batch.onBatch(listener);
        return () => {
          listeners--;
          stop();
        };
      },
    };
    await using s = await served({ batches: { numbers: source } });
    expect(listeners).toBe(0);
    await batch.executeParallel(async (n) => n + 1);
    const [before] = s.studio.snapshot().batches;
    expect(before).toMatchObject({ name: 'numbers', items: 6, itemsPerSecond: null, recent: [] });
    await s.json('/api/snapshot');
    expect(listeners).toBe(1);
    await batch.executeParallel(async (n) => n + 1);
    await wait(150);
    const [after] = (await s.json<StudioSnapshot>('/api/snapshot')).batches;
    expect(after!.items).toBe(12);
    expect(after!.itemsPerSecond).toBeCloseTo(0.6);
    expect(after!.sizes.reduce((sum, x) => sum + x.items * x.batches, 0)).toBe(6);
    await s.studio.close();
    expect(listeners).toBe(0);
    await batch[Symbol.asyncDispose]();
    await expect(serveStudio({ batches: { wrong: 3 as never } })).rejects.toThrow(ArgumentError);
  });
});

describe('"why there?"', () => {
  it('asks the router of the program, and refuses what is no size', async () => {
    await using s = await served();
    expect(await s.json('/api/why?op=matrix_multiply&size=1048576')).toMatchObject({
      device: 'cpu',
      op: 'matrix_multiply',
    });
    for (const bad of ['', 'size=', 'size=-1', 'size=NaN', 'size=1.5', 'size=1e99'])
      expect((await s.get(`/api/why?${bad}`)).status, bad).toBe(400);
  });
});

describe('profiling from the page', () => {
  it('gives the times of kernels by the device’s own clock, and ends', async () => {
    await using s = await served({ allowControl: true });
    const cookie = await login(s.studio);
    const post = async (body: string): Promise<number> =>
      (
        await fetch(`http://127.0.0.1:${s.studio.port}/api/profiling`, {
          method: 'POST',
          body,
          headers: { cookie, origin: `http://127.0.0.1:${s.studio.port}` },
        })
      ).status;
    expect(await post('{"on":1}')).toBe(400);
    expect(await post('no json')).toBe(400);
    const stream = await openStream(s.studio.port, cookie);
    expect(await post('{"on":true}')).toBe(200);
    for (let i = 0; i < 20; i++) await s.rt.ones([10_000]).mul(i).sum().data();
    await s.rt.flush();
    await stream.until((t) => t.messages.some((m) => m.event === 'snapshot' && m.data.includes('"profiling":true')));
    await stream.until((t) => (latest(t.messages).runtimes[0]!.work.kernels[0]?.deviceMs ?? 0) > 0);
    const { work, queue } = latest(stream.messages).runtimes[0]!;
    expect(work.kernels[0]!.gbPerSecond).toBeGreaterThan(0);
    expect(queue).toBe(0);
    expect(await post('{"on":false}')).toBe(200);
    stream.close();
  });
});

/** The text format of Prometheus, as far as it is used: every line must be one of its three kinds. */
function parseMetrics(
  text: string,
): Map<string, { type: string; values: { name: string; labels: Record<string, string>; value: number }[] }> {
  const families = new Map<
    string,
    { type: string; values: { name: string; labels: Record<string, string>; value: number }[] }
  >();
  expect(text.endsWith('\n')).toBe(true);
  for (const line of text.trimEnd().split('\n')) {
    const help = /^# HELP ([a-z_]+) \S.*$/.exec(line);
    const type = /^# TYPE ([a-z_]+) (gauge|counter|histogram)$/.exec(line);
    const value = /^([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.exec(line);
    if (help) continue;
    if (type) {
      expect(families.has(type[1]!), line).toBe(false);
      families.set(type[1]!, { type: type[2]!, values: [] });
    } else if (value) {
      const family = families.get(value[1]!) ?? families.get(value[1]!.replace(/_(bucket|sum|count)$/, ''));
      expect(family, line).toBeDefined();
      const labels = Object.fromEntries(
        [...value[2]!.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map((m) => [m[1]!, m[2]!]),
      );
      family!.values.push({ name: value[1]!, labels, value: Number(value[3]) });
    } else throw new Error(`no line of the format: ${line}`);
  }
  return families;
}

describe('/metrics', () => {
  it('has the documented names, all with a device, and leaves out what is not known', async () => {
    await using rt = await createRuntime({
      devices: ['cpu', 'reference'],
      cpu: { threads: 1 },
      routing: { mode: 'measured', cache: false },
    });
    await using gpu = GPUCompute.create();
    await using studio = await serveStudio({
      runtimes: [{ runtime: rt, studioName: 'a "quoted" \\ name' }],
      compute: gpu,
    });
    const headers = { authorization: `Bearer ${studio.token}` };
    const scrape = async () =>
      parseMetrics(await (await fetch(`http://127.0.0.1:${studio.port}/metrics`, { headers })).text());
    await scrape();
    rt.memory.pool('cpu').release(rt.memory.pool('cpu').take(64));
    for (let i = 0; i < 8; i++) await rt.tensor(new Float32Array(4096)).mul(2).add(i).data();
    await gpu.processBatch([await gpu.transferToGPU(Float32Array.of(1, 2))]);
    const found = await scrape();
    expect([...found.keys()]).toEqual(
      expect.arrayContaining([
        'gpuforge_memory_live_bytes',
        'gpuforge_memory_reserved_bytes',
        'gpuforge_pool_misses_total',
        'gpuforge_launches_total',
        'gpuforge_transfers_bytes_total',
        'gpuforge_waits_total',
        'gpuforge_batch_items_total',
        'gpuforge_op_duration_seconds',
      ]),
    );
    for (const [name, { type, values }] of found) {
      expect(type, name).toBe(name.endsWith('_total') ? 'counter' : name.endsWith('_seconds') ? 'histogram' : 'gauge');
      for (const v of values) expect(v.labels.device, name).toMatch(/\w/);
    }
    const launches = found.get('gpuforge_launches_total')!.values;
    expect(
      launches.find((v) => v.labels.device === 'cpu')!.value +
        launches.find((v) => v.labels.device === 'reference')!.value,
    ).toBe(rt.stats().launches);
    expect(launches[0]!.labels.runtime).toBe('a \\"quoted\\" \\\\ name');
    // How large the reference device is nobody knows: it has no level of pressure.
    const pressure = found.get('gpuforge_memory_pressure_level')?.values ?? [];
    expect(pressure.map((v) => v.labels.device)).not.toContain('reference');
    const buckets = found.get('gpuforge_op_duration_seconds')!.values;
    const counted = buckets.filter((b) => b.name.endsWith('_bucket')).map((b) => b.value);
    expect(counted).toEqual([...counted].sort((a, b) => a - b));
    const total = buckets.find((b) => b.name.endsWith('_count'))!.value;
    expect(buckets.find((b) => b.labels.le === '+Inf')!.value).toBe(total);
    expect(total).toBeGreaterThan(0);
  });
});

/** A snapshot with only what a rule looks at. */
const facts = (time: number, more: Partial<Record<keyof AlertSnapshot, unknown>> = {}): AlertSnapshot =>
  ({
    time,
    runtimes: [],
    compute: null,
    lastMinute: { errors: 0, launches: 0, errorShare: null },
    ...more,
  }) as unknown as AlertSnapshot;

const view = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  name: 'runtime',
  closedAt: null,
  busy: [],
  queue: null,
  memory: { leaks: [] },
  snapshot: { devices: [], memory: { places: [] } },
  ...more,
});

describe('alerts', () => {
  it('fire once after their time, and clear once after theirs', () => {
    let bad = true;
    const rule: AlertRule = { name: 'mine', when: () => (bad ? 'it is bad' : null), forMs: 1000, clearMs: 500 };
    const alerts = new Alerts([rule]);
    const at = (time: number): (readonly [string, boolean])[] =>
      alerts.look(facts(time)).map((a) => [a.name, a.clearedAt !== null] as const);
    expect(at(0)).toEqual([]);
    expect(at(999)).toEqual([]);
    expect(at(1000)).toEqual([['mine', false]]);
    expect(at(2000)).toEqual([]);
    expect(alerts.active).toMatchObject([{ text: 'it is bad', firedAt: 1000 }]);
    bad = false;
    expect(at(2100)).toEqual([]);
    bad = true;
    expect(at(2200)).toEqual([]);
    bad = false;
    expect(at(2300)).toEqual([]);
    expect(at(2800)).toEqual([['mine', true]]);
    expect(at(9000)).toEqual([]);
    expect(alerts.past).toHaveLength(1);
  });

  it('of a rule that throws are silent', () => {
    const alerts = new Alerts([
      {
        name: 'broken',
        when: () => {
          throw new Error('no');
        },
        forMs: 0,
        clearMs: 0,
      },
    ]);
    expect(alerts.look(facts(0))).toEqual([]);
  });

  const state = (name: string) =>
    view({ snapshot: { devices: [{ id: 'cuda:0', health: { state: name } }], memory: { places: [] } } });
  const place = (more: object) =>
    view({
      snapshot: { devices: [], memory: { places: [{ device: 'cpu', live: 1, pressure: 'low', pool: null, ...more }] } },
    });
  it.each([
    ['memory-critical', place({ pressure: 'critical' }), place({ pressure: 'high' })],
    ['device-lost', state('lost'), state('closed')],
    ['quarantine', state('quarantined'), state('half-open')],
    ['leak', view({ memory: { leaks: [{ device: 'cpu', timestamp: 5 }] } }), view()],
    ['stalled', view({ queue: 3, busy: [{ share: 0 }] }), view({ queue: null, busy: [{ share: 0 }] })],
    ['stalled', view({ queue: 3, busy: [{ share: 0 }] }), view({ queue: 3, busy: [{ share: 0 }, { share: 0.1 }] })],
    // Nothing is known of any device.
    ['stalled', view({ queue: 3, busy: [{ share: 0 }] }), view({ queue: 3, busy: [] })],
    ['hit-rate', place({ pool: { hits: 100, misses: 900 } }), place({ pool: { hits: 1, misses: 900 } })],
  ])('%s fires on its cause and not without it', (name, cause, none) => {
    const rule = defaultAlerts.find((r) => r.name === name)!;
    expect(rule.when(facts(10, { runtimes: [cause] }))).toMatch(/\w/);
    expect(rule.when(facts(10, { runtimes: [none] }))).toBe(null);
    expect(rule.when(facts(10, { runtimes: [] }))).toBe(null);
    // A runtime that was closed has no problems any more.
    expect(rule.when(facts(10, { runtimes: [{ ...cause, closedAt: 1 }] }))).toBe(null);
  });

  it('error-rate and anomaly fire on their cause and not without it', () => {
    const rate = defaultAlerts.find((r) => r.name === 'error-rate')!;
    expect(rate.when(facts(0, { lastMinute: { errors: 6, launches: 100, errorShare: 0.06 } }))).toMatch(/6 failures/);
    expect(rate.when(facts(0, { lastMinute: { errors: 4, launches: 10, errorShare: 0.4 } }))).toBe(null);
    expect(rate.when(facts(0, { lastMinute: { errors: 6, launches: 0, errorShare: null } }))).toBe(null);
    const anomaly = defaultAlerts.find((r) => r.name === 'anomaly')!;
    expect(anomaly.when(facts(10, { compute: { anomalies: [{ time: 5, kind: 'latency', text: 'slower' }] } }))).toBe(
      'slower',
    );
    expect(anomaly.when(facts(10))).toBe(null);
    // News of more than a minute ago is none.
    const leak = defaultAlerts.find((r) => r.name === 'leak')!;
    const runtimes = [view({ memory: { leaks: [{ device: 'cpu', timestamp: 5 }] } })];
    const compute = { anomalies: [{ time: 5, kind: 'latency', text: 'slower' }] };
    for (const [time, told] of [
      [60_004, true],
      [60_005, false],
    ] as const) {
      expect(leak.when(facts(time, { runtimes })) !== null, String(time)).toBe(told);
      expect(anomaly.when(facts(time, { compute })) !== null, String(time)).toBe(told);
    }
    expect(defaultAlerts).toHaveLength(8);
  });

  it('are told to listeners and written to a file; without a page open', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gpuforge-alerts-'));
    try {
      let on = false;
      const rule: AlertRule = { name: 'mine', when: () => on, forMs: 0, clearMs: 0 };
      const file = join(folder, 'alerts.jsonl');
      await using s = await served({ alerts: [rule], alertFile: file });
      const told: Alert[] = [];
      s.studio.on('alert', (a) => told.push(a));
      on = true;
      while (told.length < 1) await wait(20);
      on = false;
      while (told.length < 2) await wait(20);
      expect(told.map((a) => a.clearedAt !== null)).toEqual([false, true]);
      const lines = readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((l) => JSON.parse(l));
      expect(lines).toEqual([
        expect.objectContaining({ kind: 'alert', state: 'fired', level: 'warn', name: 'mine' }),
        expect.objectContaining({ kind: 'alert', state: 'cleared', level: 'info', name: 'mine' }),
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('in a file are rotated, and three old files are kept', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gpuforge-alerts-'));
    try {
      const file = join(folder, 'a.jsonl');
      const failed: unknown[] = [];
      const alerts = new AlertFile(file, (e) => failed.push(e), 400);
      for (let i = 0; i < 40; i++)
        alerts.write({ name: `n${i}`, level: 'warn', text: 't', firedAt: i, clearedAt: null });
      for (const name of ['', '.1', '.2', '.3']) expect(statSync(`${file}${name}`).size).toBeLessThanOrEqual(400);
      expect(statSync(`${file}.4`, { throwIfNoEntry: false })).toBe(undefined);
      expect(failed).toEqual([]);
      const nowhere = new AlertFile(join(folder, 'no', 'such', 'file'), (e) => failed.push(e));
      for (let i = 0; i < 3; i++) nowhere.write({ name: 'x', level: 'warn', text: 't', firedAt: i, clearedAt: null });
      expect(failed).toHaveLength(1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('jsonLines', () => {
  const collect = () => {
    const lines: string[] = [];
    return { lines, target: { write: (l: string) => lines.push(l) } };
  };

  it('writes a line for each event of its level, with time, level and kind', async () => {
    const { lines, target } = collect();
    await using rt = await createRuntime({
      devices: ['cpu'],
      cpu: { threads: 1 },
      logger: jsonLines(target, { level: 'debug2' }),
    });
    await rt.tensor([1]).add(1).data();
    rt.memory.cleanupMemory();
    const told = lines.map((l) => JSON.parse(l));
    expect(told.map((l) => l.kind)).toEqual(['launch', 'cleanup']);
    expect(told[0]).toMatchObject({
      level: 'debug2',
      device: 'cpu',
      t: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect(lines.every((l) => l.endsWith('\n') && l.indexOf('\n') === l.length - 1)).toBe(true);
  });

  it('listens to nothing that it does not write', async () => {
    const { target } = collect();
    expect(jsonLines(target).kinds).not.toContain('launch');
    expect(jsonLines(target, { level: 'error' }).kinds).toEqual(['error', 'lost', 'abandoned']);
    expect([...jsonLines(target, { level: 'debug7' }).kinds!].sort()).toEqual([...eventNames].sort());
    expect(logLevels).toHaveLength(10);
  });

  it('takes what JSON cannot hold, and the events of GPUCompute', () => {
    const { lines, target } = collect();
    const log = jsonLines(target);
    log('error', { error: new ArgumentError({ message: 'bad\nthing', fix: '', where: 'x' }), where: 'here' });
    log('anomaly', { value: Number.NaN, big: 10n });
    log('chunk', { size: 1 });
    expect(lines.map((l) => JSON.parse(l))).toEqual([
      expect.objectContaining({
        level: 'error',
        error: { name: 'ArgumentError', message: 'bad\nthing', code: 'INVALID_ARGUMENT' },
      }),
      expect.objectContaining({ level: 'warn', value: 'NaN', big: '10' }),
    ]);
    expect(() => jsonLines(target, { level: 'loud' as never })).toThrow(ArgumentError);
  });
});
