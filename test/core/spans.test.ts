// When devices were busy: one span per launch on the clock of the host, and as long as the work really took.

import { describe, expect, it } from 'vitest';
import { compareClocks } from '../../src/devices/clock.ts';
import type { Device } from '../../src/devices/device.ts';
import {
  createRuntime,
  type Events,
  type Runtime,
  type RuntimeOptions,
  type Tensor,
  withFaults,
} from '../../src/index.ts';
import { chain, timedDevices } from '../support/timed.ts';

function listen(rt: Runtime): { spans: Events['span'][]; launches: Events['launch'][]; replays: Events['replay'][] } {
  const heard = {
    spans: [] as Events['span'][],
    launches: [] as Events['launch'][],
    replays: [] as Events['replay'][],
  };
  rt.on('span', (e) => heard.spans.push(e));
  rt.on('launch', (e) => heard.launches.push(e));
  rt.on('replay', (e) => heard.replays.push(e));
  return heard;
}

describe.each(timedDevices)('spans on %s', (device, options) => {
  it('come for every launch before a flush returns, not before the call that enqueued it', async () => {
    await using rt = await createRuntime(options);
    const { spans, launches } = listen(rt);
    const x = rt.ones([100_000]).compute();
    await rt.spans(true);
    launches.length = 0;
    for (let i = 0; i < 10; i++) chain(x, 4).cumsum(0).compute();
    await rt.flush();
    const end = performance.now();
    const ids = new Set(spans.flatMap((s) => s.ids));
    expect(ids).toEqual(new Set(launches.map((l) => l.id)));
    for (const span of spans) {
      expect(span.device).toBe(device);
      expect(span.end).toBeGreaterThanOrEqual(span.start);
      const margin = span.errorUs / 1000 + 1e-6;
      const first = launches.find((l) => l.id === span.ids[0])!;
      expect(span.start).toBeGreaterThanOrEqual(first.start - margin);
      expect(span.end).toBeLessThanOrEqual(end + margin);
      expect(Number.isFinite(span.errorUs)).toBe(true);
    }
    const [found] = rt.snapshot().devices;
    expect(found!.clockErrorUs).toBe(spans.at(-1)!.errorUs);
    expect(rt.snapshot().counters).toMatchObject({ spansDropped: 0, spansEarly: 0 });
  });

  it('measure every kernel by itself when they are detailed, compiled functions included', async () => {
    await using rt = await createRuntime(options);
    const { spans, launches, replays } = listen(rt);
    const f = rt.compile((x: Tensor) => chain(x.sub(x.mean()), 2).cumsum(0));
    const x = rt.ones([10_000]).compute();
    await f(x).data();
    await rt.spans('detailed');
    launches.length = replays.length = 0;
    const y = f(x);
    await rt.flush();
    expect(replays.map((r) => r.recorded)).toEqual([false]);
    expect(launches.map((l) => l.name)).toEqual(f.kernels);
    expect(spans.map((s) => s.ids)).toEqual(launches.map((l) => [l.id]));
    const before = await y.data();
    await rt.spans(false);
    expect(await f(x).data()).toEqual(before);
  });

  it('are as long as the work: together they fill the time of a loop', async () => {
    await using rt = await createRuntime(options);
    const { spans } = listen(rt);
    const x = rt.ones([200_000]).compute();
    const f = rt.compile((a: Tensor) => chain(a, 40));
    await f(x).data();
    await rt.spans('detailed');
    const shares: number[] = [];
    // The machine may be busy with something else: a span never takes longer than it took, but the loop may.
    for (let attempt = 0; attempt < 25; attempt++) {
      await rt.flush();
      spans.length = 0;
      const start = performance.now();
      for (let i = 0; i < 60; i++) f(x).dispose();
      await rt.flush();
      const wall = performance.now() - start;
      expect(spans.length).toBe(60 * f.kernels.length);
      shares.push(spans.reduce((sum, s) => sum + s.end - s.start, 0) / wall);
      if (shares.at(-1)! > 0.9) break;
    }
    expect(Math.max(...shares)).toBeGreaterThan(0.9);
    expect(Math.max(...shares)).toBeLessThan(1.05);
  });

  it('end when they are switched off, and go on with a device that came back', async () => {
    let faulty: ReturnType<typeof withFaults> | null = null;
    const wrap: RuntimeOptions['wrap'] = (d) => (faulty = withFaults(d, { faults: [], rebirth: { faults: [] } }));
    await using rt = await createRuntime({ ...options, wrap });
    const { spans } = listen(rt);
    await rt.spans(true);
    await rt.spans(true);
    rt.ones([1000]).add(1).compute();
    await rt.flush();
    expect(spans.length).toBe(1);
    const back = new Promise((resolve) => rt.on('reborn', resolve));
    faulty!.lose();
    await back;
    rt.ones([1000]).add(2).compute();
    await rt.flush();
    expect(spans.length).toBe(2);
    await rt.spans(false);
    rt.ones([1000]).add(3).compute();
    await rt.flush();
    expect(spans.length).toBe(2);
    expect(rt.snapshot().devices[0]!.clockErrorUs).toBe(null);
  });
});

describe('worker threads', () => {
  it('have lanes of their own when spans are detailed, within the span of the launch', async () => {
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 3, blas: false } });
    const { spans, launches } = listen(rt);
    const x = rt.ones([400_000]).compute();
    await rt.spans('detailed');
    // Workers take a while to start, and on a busy machine one may come too late for a launch.
    for (let i = 0; i < 200 && new Set(spans.map((s) => s.lane)).size < 3; i++) {
      chain(x, 30).compute().dispose();
      await rt.flush();
    }
    expect([...new Set(spans.map((s) => s.lane))].sort()).toEqual([0, 1, 2]);
    const wholes = new Map(spans.filter((s) => s.lane === 0).map((s) => [s.id, s]));
    expect(wholes.size).toBe(launches.filter((l) => wholes.has(l.id)).length);
    for (const { id, start, end, lane } of spans) {
      const whole = wholes.get(id)!;
      expect(end).toBeGreaterThanOrEqual(start);
      // The threads share a clock; reading it in another one is exact to some microseconds.
      expect(start).toBeGreaterThan(whole.start - 0.05);
      expect(end).toBeLessThan(whole.end + 0.05);
      expect(spans.filter((s) => s.id === id && s.lane === lane).length).toBeGreaterThan(0);
    }
    spans.length = 0;
    await rt.spans(true);
    for (let i = 0; i < 5; i++) chain(x, 30).compute().dispose();
    await rt.flush();
    expect(new Set(spans.map((s) => s.lane))).toEqual(new Set([0]));
  });
});

describe('spans that cannot be', () => {
  it('are counted: one that begins before its launch was enqueued', async () => {
    const early = (d: Device): Device =>
      new Proxy(d, {
        get: (target, key) => {
          if (key === 'takeSpans') return () => target.takeSpans!().map((s) => ({ ...s, start: s.start - 1e6 }));
          const value = Reflect.get(target, key, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, wrap: early });
    const { spans } = listen(rt);
    await rt.spans(true);
    rt.ones([1000]).add(1).compute();
    await rt.flush();
    expect(spans.length).toBe(1);
    expect(rt.snapshot().counters.spansEarly).toBe(1);
  });
});

describe('a recorded replay', () => {
  it('is one span, with the id of the replay', async () => {
    await using rt = await createRuntime({ devices: ['webgpu'] });
    const { spans, launches, replays } = listen(rt);
    const f = rt.compile((x: Tensor) => chain(x.sub(x.mean()), 2).cumsum(0));
    const x = rt.ones([10_000]).compute();
    await f(x).data();
    await rt.spans(true);
    launches.length = replays.length = 0;
    f(x);
    await rt.flush();
    expect(launches).toEqual([]);
    expect(replays.map((r) => r.recorded)).toEqual([true]);
    expect(spans.flatMap((s) => s.ids)).toEqual([replays[0]!.id]);
  });
});

describe('rt.spans', () => {
  it('refuses what it does not know, and a runtime that is closed', async () => {
    const rt = await createRuntime({ devices: ['cpu'] });
    await expect(rt.spans('all' as never)).rejects.toThrow(/'detailed'/);
    await rt.spans(true);
    await rt.close();
    await expect(rt.spans(true)).rejects.toThrow(/closed/);
  });

  it('works without devices that have a clock: there are no spans', async () => {
    await using rt = await createRuntime({ devices: ['reference'] });
    const { spans, launches } = listen(rt);
    await rt.spans(true);
    rt.ones([10]).add(1).compute();
    await rt.flush();
    expect(launches.length).toBe(1);
    expect(spans).toEqual([]);
  });
});

describe('compared clocks', () => {
  it('are as exact as all readings together allow', () => {
    // The device is 100 ms ahead; one reading is late at its start, another at its end.
    const reading = compareClocks([
      { before: 0, after: 3, device: 102.9 },
      { before: 10, after: 13, device: 110.1 },
    ]);
    expect(reading.host - reading.device).toBeCloseTo(-100, 6);
    expect(reading.errorUs).toBeCloseTo(100, 6);
  });

  it('believe the tightest reading where they contradict each other', () => {
    const reading = compareClocks([
      { before: 0, after: 1, device: 50 },
      { before: 10, after: 10.2, device: 70 },
    ]);
    expect(reading.host - reading.device).toBeCloseTo(-59.9, 6);
    expect(reading.errorUs).toBeCloseTo(100, 6);
  });
});
