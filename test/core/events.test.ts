// What listeners hear: every event with its fields, in order, on one clock; and what a bad listener cannot do.

import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import type { Device, DeviceBuffer, Launch } from '../../src/devices/device.ts';
import {
  ArgumentError,
  createRuntime,
  type EventName,
  type Events,
  eventNames,
  type FaultPlan,
  RecoveryExhausted,
  type Runtime,
  type Tensor,
  withFaults,
} from '../../src/index.ts';

type Heard = { [K in EventName]: { readonly kind: K; readonly event: Events[K] } }[EventName];

const cpu = { devices: ['cpu'], cpu: { threads: 1 } } as const;

/** Everything a runtime says, in order. */
function listen(rt: Runtime, kinds: readonly EventName[] = rt.eventNames): { heard: Heard[]; stop: () => void } {
  const heard: Heard[] = [];
  const stops = kinds.map((kind) => rt.on(kind, (event) => heard.push({ kind, event } as Heard)));
  return { heard, stop: () => stops.forEach((s) => void s()) };
}

const of = <K extends EventName>(heard: readonly Heard[], kind: K): Events[K][] =>
  heard.filter((h) => h.kind === kind).map((h) => h.event as Events[K]);

/** The CPU device with recordings: each replay launches its steps. */
function recording(inner: Device): Device {
  const record = (steps: readonly Launch[]) => ({
    replay: (bindings: readonly DeviceBuffer[], scalars: readonly number[]) => {
      for (const s of steps)
        inner.launch(
          s.program,
          s.buffers.map((b) => bindings[b]!),
          s.scalars.map((i) => scalars[i]!),
        );
    },
    dispose: () => {},
  });
  return new Proxy(inner, {
    get: (target, key) => {
      if (key === 'record') return record;
      const value = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe('events of work', () => {
  it('tell of a computation from upload to download, with ids, start times and programs', async () => {
    await using rt = await createRuntime(cpu);
    const { heard, stop } = listen(rt);
    const before = performance.now();
    await rt.tensor([1, 2, 3]).add(1).data();
    await rt.tensor([1, 2, 3]).add(1).data();
    const after = performance.now();
    stop();
    expect(heard.map((h) => h.kind)).toEqual([
      'upload',
      'compile',
      'launch',
      'download',
      'wait',
      'upload',
      'launch',
      'download',
      'wait',
    ]);
    const [upload] = of(heard, 'upload');
    expect(upload).toMatchObject({ device: 'cpu', from: 'host', to: 'cpu', bytes: 12, pinned: false });
    const [compile] = of(heard, 'compile');
    expect(compile).toMatchObject({ device: 'cpu', kernels: ['add_f32_3'], cached: false });
    const launches = of(heard, 'launch');
    for (const launch of launches)
      expect(launch).toMatchObject({ name: 'add_f32_3', device: 'cpu', program: compile!.id, replay: null });
    expect(launches[0]!.estimate.bytesWritten).toBe(12);
    const [download] = of(heard, 'download');
    expect(download).toMatchObject({ device: 'cpu', from: 'cpu', to: 'host', bytes: 12 });
    const [wait] = of(heard, 'wait');
    expect(wait).toMatchObject({ device: 'cpu', why: 'read' });
    expect(wait!.line).toMatch(/events\.test\.ts/);
    const ids = heard.flatMap(({ event }) => ('id' in event ? [event.id] : []));
    expect(new Set(ids).size).toBe(ids.length);
    expect([...ids].sort((a, b) => a - b)).toEqual(ids);
    for (const { event } of heard) {
      if (!('start' in event)) continue;
      const ms = 'ms' in event ? event.ms : 'hostMs' in event ? event.hostMs : 0;
      expect(event.start).toBeGreaterThanOrEqual(before);
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(event.start + ms).toBeLessThanOrEqual(after + 1e-6);
    }
  });

  it('tell of a compiled function that is launched step by step: its launches name the replay', async () => {
    await using rt = await createRuntime(cpu);
    const f = rt.compile((x: Tensor) => x.sub(x.mean()).tanh());
    const x = rt.ones([64]).compute();
    f(x);
    const { heard, stop } = listen(rt, ['replay', 'launch']);
    f(x);
    stop();
    const [replay] = of(heard, 'replay');
    const launches = of(heard, 'launch');
    expect(replay!.kernels).toEqual(f.kernels);
    expect(replay!.recorded).toBe(false);
    expect(launches.map((l) => l.name)).toEqual(f.kernels);
    for (const l of launches) {
      expect(l.replay).toBe(replay!.id);
      expect(l.program).toBe(replay!.program);
      expect(l.start).toBeGreaterThanOrEqual(replay!.start);
      expect(l.start + l.hostMs).toBeLessThanOrEqual(replay!.start + replay!.hostMs + 1e-6);
    }
  });

  it('tell of a compiled function that runs as one recording', async () => {
    await using rt = await createRuntime({ ...cpu, wrap: recording });
    const f = rt.compile((x: Tensor) => x.sub(x.mean()).tanh());
    const x = rt.ones([64]).compute();
    const { heard, stop } = listen(rt, ['replay', 'launch']);
    const { launches } = rt.stats();
    f(x);
    stop();
    expect(heard.map((h) => h.kind)).toEqual(['replay']);
    expect(of(heard, 'replay')[0]).toMatchObject({ device: 'cpu', recorded: true, kernels: f.kernels });
    expect(rt.stats().launches - launches).toBe(f.kernels.length);
  });

  it('say that nothing was compiled where the device knew every kernel', async () => {
    await using rt = await createRuntime(cpu);
    const { heard } = listen(rt, ['compile']);
    const x = rt.tensor([1, 2, 3]);
    await x.add(1).data();
    // Another program of the same kernel: its result is needed twice.
    const f = rt.compile((a: Tensor) => [a.add(1), a.add(1)]);
    f(x);
    const compiles = of(heard, 'compile');
    expect(compiles.map((c) => c.cached)).toEqual([false, true]);
  });

  it('tell of memory taken and given back, with what is live after it', async () => {
    await using rt = await createRuntime(cpu);
    const { heard, stop } = listen(rt, ['alloc', 'free']);
    const bytes = 4 * 4096;
    const x = rt.zeros([4096]).add(1).compute();
    const y = x.mul(2).compute();
    x.dispose();
    y.dispose();
    stop();
    rt.zeros([4096]).add(1).compute().dispose();
    expect(heard.map((h) => h.kind)).toEqual(['alloc', 'alloc', 'free', 'free']);
    const events = heard.map((h) => h.event as Events['alloc']);
    const first = events[0]!.live - bytes;
    expect(events.map((e) => e.live - first)).toEqual([bytes, 2 * bytes, bytes, 0]);
    for (const e of events) {
      expect(e).toMatchObject({ device: 'cpu', bytes });
      expect(e.reserved).toBeGreaterThanOrEqual(e.live);
    }
  });

  it('tell that a lost device took all of its memory with it', async () => {
    let faulty: ReturnType<typeof withFaults> | null = null;
    await using rt = await createRuntime({
      ...cpu,
      wrap: (d) => (faulty = withFaults(d, { faults: [], rebirth: { faults: [] } })),
    });
    rt.zeros([4096]).add(1).compute();
    const { heard } = listen(rt, ['free', 'lost']);
    const lost = new Promise((resolve) => rt.on('lost', resolve));
    faulty!.lose();
    await lost;
    expect(of(heard, 'free').at(-1)).toMatchObject({ device: 'cpu', live: 0, reserved: 0 });
  });

  it('tell of moves between devices and of waits for a flush', async () => {
    await using rt = await createRuntime({ ...cpu, devices: ['cpu', 'reference'], routing: { mode: 'off' } });
    const x = await rt.tensor([1, 2, 3]).to('cpu');
    const { heard } = listen(rt, ['move', 'wait']);
    await x.to('reference');
    await rt.flush();
    expect(of(heard, 'move')).toEqual([
      expect.objectContaining({ device: 'reference', from: 'cpu', to: 'reference', bytes: 12, pinned: false }),
    ]);
    const waits = of(heard, 'wait').filter((w) => w.why === 'flush');
    expect(waits.map((w) => w.device).sort()).toEqual(['cpu', 'reference']);
  });

  it('tell of a wait for memory when tensors spill', async () => {
    await using rt = await createRuntime({ ...cpu, memory: { budget: 4 << 20 } });
    const { heard } = listen(rt, ['wait', 'spill']);
    const held = Array.from({ length: 6 }, (_, i) => rt.full([1 << 18], i).compute());
    const spilled = of(heard, 'spill').filter((s) => s.moved > 0);
    const waits = of(heard, 'wait').filter((w) => w.why === 'memory');
    expect(spilled.length).toBeGreaterThan(0);
    expect(waits.length).toBe(spilled.length);
    for (const w of waits) {
      expect(w.ms).toBeGreaterThanOrEqual(0);
      expect(w.line).toMatch(/events\.test\.ts/);
    }
    for (const [i, t] of held.entries()) expect((await t.data())[7]).toBe(i);
  });
});

describe('listeners', () => {
  it('that throw become an error event, and the work goes on', async () => {
    await using rt = await createRuntime(cpu);
    const errors: Events['error'][] = [];
    rt.on('error', (e) => errors.push(e));
    const later: string[] = [];
    for (const kind of eventNames) {
      if (kind === 'error') continue;
      rt.on(kind, () => {
        throw new Error(`no ${kind}`);
      });
      rt.on(kind, () => later.push(kind));
    }
    const f = rt.compile((x: Tensor) => x.sub(x.mean()).tanh());
    expect(
      await f(rt.tensor([1, 2, 3]))
        .sum()
        .data(),
    ).toEqual(new Float32Array([0]));
    expect(rt.zeros([4096]).add(1).sum().item()).toBe(4096);
    expect(errors.length).toBe(later.length);
    expect(errors.map((e) => (e.error as Error).message)).toEqual(later.map((k) => `no ${k}`));
    expect(errors[0]!.where).toBe(`a listener of '${later[0]}'`);
    expect(rt.snapshot().counters.listenerFailures).toBe(errors.length);
  });

  it('that return a promise which fails become an error event', async () => {
    await using rt = await createRuntime(cpu);
    const errors: unknown[] = [];
    rt.on('error', (e) => errors.push((e.error as Error).message));
    rt.on('launch', async () => {
      throw new Error('later');
    });
    rt.tensor([1]).add(1).dataSync();
    await new Promise((resolve) => setTimeout(resolve));
    expect(errors).toEqual(['later']);
  });

  it('of errors that throw are counted and go no further', async () => {
    await using rt = await createRuntime(cpu);
    const heard: unknown[] = [];
    rt.on('error', () => {
      throw new Error('twice');
    });
    rt.on('error', (e) => heard.push(e.where));
    rt.on('launch', () => {
      throw new Error('once');
    });
    expect(rt.tensor([1]).add(1).dataSync()[0]).toBe(2);
    expect(heard).toEqual(["a listener of 'launch'"]);
    expect(rt.snapshot().counters.listenerFailures).toBe(2);
  });

  it('that compute, read and dispose do not disturb the work, and do not hear their own', async () => {
    await using rt = await createRuntime({ ...cpu, memory: { budget: 400 << 10 } });
    const inner: number[] = [];
    const disposed: Tensor[] = [];
    for (const kind of ['upload', 'compile', 'launch', 'replay', 'alloc', 'free', 'download', 'wait'] as const)
      rt.on(kind, () => {
        // Larger than what is left: inputs of the work that is reported would be spilled if they could be.
        const t = rt.zeros([3 << 14]).add(inner.length);
        inner.push((t.sum().item() as number) / (3 << 14));
        t.dispose();
        disposed.pop()?.dispose();
      });
    const values = Float32Array.from({ length: 3 << 13 }, (_, i) => i);
    const last = values.length - 1;
    for (let i = 0; i < 10; i++) {
      const y = rt.tensor(values).add(i).mul(2);
      expect(y.dataSync()[last]).toBe((last + i) * 2);
      y.dispose();
    }
    const f = rt.compile((a: Tensor) => a.sub(a.mean()).mul(2).cumsum(0).sub(a));
    const expected = await f(rt.tensor(values)).data();
    for (let i = 0; i < 5; i++) {
      const x = rt.tensor(values);
      disposed.push(x);
      const y = f(x);
      expect(await y.data()).toEqual(expected);
      y.dispose();
    }
    expect(inner.length).toBeGreaterThan(20);
    expect(inner).toEqual(inner.map((_, i) => i));
    expect(rt.snapshot().counters.listenerFailures).toBe(0);
  });

  it('hear the work of a call before it returns, also of one that fails', async () => {
    const plan: FaultPlan = { faults: [{ at: 'launch', nth: 2, times: Number.POSITIVE_INFINITY, as: 'kernel' }] };
    await using rt = await createRuntime({ ...cpu, wrap: (d) => withFaults(d, plan) });
    const { heard } = listen(rt, ['launch', 'alloc', 'free']);
    const y = rt.zeros([4096]).add(1).cumsum(0).mean().add(1);
    expect(() => y.dataSync()).toThrow(RecoveryExhausted);
    expect(of(heard, 'launch').length).toBe(1);
    const bytes = (kind: 'alloc' | 'free') => of(heard, kind).reduce((sum, e) => sum + e.bytes, 0);
    expect(bytes('alloc')).toBeGreaterThan(0);
    expect(bytes('free')).toBe(bytes('alloc'));
  });

  it('can stop twice without silencing others', async () => {
    await using rt = await createRuntime(cpu);
    const heard: string[] = [];
    const stop = rt.on('launch', () => heard.push('first'));
    stop();
    const other = rt.on('launch', () => heard.push('second'));
    stop();
    rt.tensor([1]).add(1).dataSync();
    expect(heard).toEqual(['second']);
    other();
    other();
    rt.tensor([1]).add(1).dataSync();
    expect(heard).toEqual(['second']);
  });

  it('may be the same function twice, and each stops by itself', async () => {
    await using rt = await createRuntime(cpu);
    let count = 0;
    const listener = () => void count++;
    const stop = rt.on('launch', listener);
    rt.on('launch', listener);
    rt.tensor([1]).add(1).dataSync();
    expect(count).toBe(2);
    stop();
    rt.tensor([1]).add(1).dataSync();
    expect(count).toBe(3);
  });

  it('are refused for events that do not exist, and if they are no functions', async () => {
    await using rt = await createRuntime(cpu);
    expect(() => rt.on('launched' as 'launch', () => {})).toThrow(ArgumentError);
    expect(() => rt.on('launched' as 'launch', () => {})).toThrow(/compile, launch, replay/);
    expect(() => rt.on('toString' as 'launch', () => {})).toThrow(ArgumentError);
    expect(() => rt.on('launch', null as never)).toThrow(/listener of 'launch' is null/);
  });

  it('cost nothing when there are none: no clock is read', async () => {
    await using rt = await createRuntime(cpu);
    const f = rt.compile((x: Tensor) => x.sub(x.mean()).tanh());
    const x = rt.tensor(new Float32Array(4096)).compute();
    const work = () => {
      const y = x.add(1);
      const [first] = y.dataSync();
      y.dispose();
      const z = f(x);
      z.dispose();
      rt.tensor(new Float32Array(4096)).dispose();
      return first;
    };
    work();
    const now = vi.spyOn(performance, 'now');
    try {
      for (let i = 0; i < 10; i++) expect(work()).toBe(1);
      expect(now).toHaveBeenCalledTimes(0);
      const stop = rt.on('launch', () => {});
      work();
      expect(now.mock.calls.length).toBeGreaterThan(0);
      stop();
      now.mockClear();
      work();
      expect(now).toHaveBeenCalledTimes(0);
    } finally {
      now.mockRestore();
    }
  });
});

describe('names of events', () => {
  it('are all there at run time, and docs/events.md describes each', () => {
    const page = readFileSync(new URL('../../docs/events.md', import.meta.url), 'utf8');
    const described = [...page.matchAll(/^\| `(\w+)` \|/gm)].map((m) => m[1]);
    expect(described.sort()).toEqual([...eventNames].sort());
  });
});

describe('rt.snapshot()', () => {
  it('is plain data that JSON does not change, before and after close', async () => {
    const rt = await createRuntime({ devices: ['cpu', 'reference'], cpu: { threads: 1 }, development: true });
    rt.tensor([1, 2, 3]).add(1).dataSync();
    rt.zeros([4096]).add(1).compute();
    const open = rt.snapshot();
    expect(JSON.parse(JSON.stringify(open))).toEqual(open);
    expect(open).toMatchObject({
      schema: 'gpuforge.runtime/1',
      closed: false,
      counters: { launches: 2, waits: 1, listenerFailures: 0 },
      programs: { made: 2 },
      recovery: { history: [] },
    });
    expect(open.devices.map((d) => d.id).sort()).toEqual(['cpu', 'reference']);
    expect(open.devices[0]).toMatchObject({ open: true, reason: null, health: { state: 'closed', failures: 0 } });
    expect(open.memory.places[0]!.live).toBeGreaterThanOrEqual(4 * 4096);
    expect(open.memory.places[0]!.budget).toBe(null);
    expect(open.waits[0]!.line).toMatch(/events\.test\.ts/);
    await rt.close();
    const closed = rt.snapshot();
    expect(closed).toMatchObject({ closed: true, devices: [{ open: false }, { open: false }] });
    expect(JSON.parse(JSON.stringify(closed))).toEqual(closed);
  });

  it('tells of a device that was lost', async () => {
    let faulty: ReturnType<typeof withFaults> | null = null;
    await using rt = await createRuntime({ ...cpu, wrap: (d) => (faulty = withFaults(d)) });
    const lost = new Promise((resolve) => rt.on('lost', resolve));
    faulty!.lose('pulled out');
    await lost;
    const { devices, recovery } = rt.snapshot();
    expect(devices[0]).toMatchObject({
      open: false,
      health: { state: 'lost', lastError: 'pulled out' },
      telemetry: null,
    });
    expect(recovery.history.map((h) => h.kind)).toContain('lost');
  });
});
