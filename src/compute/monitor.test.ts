import { describe, expect, it } from 'vitest';
import { facade, fakeGpu, keptFacades, TestClock, values } from '../../test/support/facade.ts';
import { ArgumentError, type LeakReport, type Runtime } from '../index.ts';
import { Profiler } from '../profile/index.ts';
import type { OpenRuntime } from './device-manager.ts';
import { DisposedError } from './errors.ts';
import { PerformanceMonitor } from './monitor.ts';

const kept = keptFacades();
const make = (...args: Parameters<typeof facade>) => kept(facade(...args));

describe('the performance monitor', () => {
  it("tells tensors and bytes from the runtime's books", async () => {
    const { gpu, devices } = make(fakeGpu());
    expect(gpu.monitor.getMemoryUsage()).toEqual({ numTensors: 0, numBytes: 0, unreliable: false, reasons: [] });
    const t = await gpu.transferToGPU(values(5000));
    const usage = gpu.monitor.getMemoryUsage();
    expect(usage).toMatchObject({ numTensors: 1, numBytes: 20_000 });
    expect(usage.numBytes).toBe(devices.station!.runtime.stats().bytes);
    t.dispose();
    expect(gpu.monitor.getMemoryUsage()).toMatchObject({ numTensors: 0, numBytes: 0 });
  });

  it('says which memory it cannot see', async () => {
    const { gpu, devices } = make(fakeGpu());
    await devices.selectDevice({ preferGPU: false });
    const { unreliable, reasons } = gpu.monitor.getMemoryUsage();
    expect(unreliable).toBe(true);
    expect(reasons[0]).toMatch(/JavaScript heap/);
  });

  it('returns the duration, or the result with it, and records name, outcome, times and bytes', async () => {
    const { gpu } = make(fakeGpu());
    const t = await gpu.transferToGPU(values(5000));
    const ms = await gpu.monitor.trackOperation('load', async () => {
      await gpu.transferFromGPU(t);
    });
    expect(ms).toBeGreaterThan(0);
    const { result, duration } = await gpu.monitor.trackOperation('sum', () => t.sum().compute(), { result: true });
    expect(await result.data()).toHaveLength(1);
    expect(duration).toBeGreaterThan(0);
    expect(gpu.monitor.operations).toMatchObject([
      { name: 'load', outcome: 'ok', hostMs: ms, bytes: 20_000, device: 'cuda:0', concurrent: false },
      { name: 'sum', outcome: 'ok', hostMs: duration, bytes: 0, transferMs: 0 },
    ]);
    expect(gpu.monitor.operations[1]!.deviceMs).toBeGreaterThan(0);
  });

  it('reads everything from a profiler that listens to the runtime: one source', async () => {
    const { gpu, devices } = make(fakeGpu());
    const { runtime } = await devices.ready();
    const profiler = await new Profiler({ runtimes: [runtime] }).ready();
    const t = await gpu.transferToGPU(values(5000));
    const ms = await gpu.monitor.trackOperation('load and sum', async () => {
      await gpu.transferFromGPU(t);
      t.sum().compute();
    });
    const boom = new Error('boom');
    await expect(gpu.monitor.trackOperation('bad', () => Promise.reject(boom))).rejects.toBe(boom);
    const { entries } = await profiler.collect();
    const entry = entries.find((e) => e.operation === 'load and sum')!;
    const [tracked, failed] = gpu.monitor.operations;
    expect(tracked!.hostMs).toBe(ms);
    expect(entry.durationMs).toBeCloseTo(ms, 2);
    expect(tracked).toMatchObject({ outcome: 'ok', bytes: 20_000, concurrent: false });
    expect(tracked!.deviceMs).toBeCloseTo((entry.gpuTimeMs ?? 0) + (entry.cpuTimeMs ?? 0), 2);
    expect(failed).toMatchObject({ name: 'bad', outcome: 'failed', error: boom, deviceMs: null });
    expect(entries.find((e) => e.operation === 'bad')!.failed).toBe(true);
    // The facade's own pieces of work are scopes, and the timeline has their times.
    const upload = entries.find((e) => e.operation === 'upload')!;
    const spans = gpu.monitor.timeline.recent();
    expect(spans.find((s) => s.kind === 'upload')!.ms).toBeCloseTo(upload.durationMs, 2);
    expect(entries.find((e) => e.operation === 'download')!.parentId).toBe(entry.id);
    profiler.dispose();
    await gpu.monitor.trackOperation('after', () => {});
    expect(gpu.monitor.operations.length).toBe(3);
  });

  it('records what fails, and throws it on', async () => {
    const { gpu } = make(fakeGpu());
    const boom = new Error('boom');
    await expect(gpu.monitor.trackOperation('bad', () => Promise.reject(boom))).rejects.toBe(boom);
    expect(gpu.monitor.operations).toMatchObject([{ name: 'bad', outcome: 'failed', error: boom, deviceMs: null }]);
  });

  it('marks operations that ran at the same time', async () => {
    const { gpu } = make(fakeGpu());
    const t = await gpu.transferToGPU(values(10));
    const read = (): Promise<unknown> => gpu.transferFromGPU(t);
    await Promise.all([gpu.monitor.trackOperation('a', read), gpu.monitor.trackOperation('b', read)]);
    expect(gpu.monitor.operations.map((o) => o.concurrent)).toEqual([true, true]);
  });

  it('reads the utilisation from the device, else from its timestamps, else not at all', async () => {
    const fake = fakeGpu();
    const { gpu, devices } = make(fake);
    expect(await gpu.monitor.getGPUUtilization()).toBeNull();
    const t = await gpu.transferToGPU(values(200_000));
    expect(await gpu.monitor.getGPUUtilization()).toBeNull();
    await gpu.computeBatch([t]);
    const busy = await gpu.monitor.getGPUUtilization();
    expect(gpu.monitor.utilizationSource).toBe('timestamps');
    expect(busy).toBeGreaterThan(0);
    expect(busy).toBeLessThanOrEqual(100);
    Object.assign(fake.device(), { telemetry: () => ({ utilization: 0.42 }) });
    expect(await gpu.monitor.getGPUUtilization()).toBeCloseTo(42);
    expect(gpu.monitor.utilizationSource).toBe('device');
    await devices.selectDevice({ preferGPU: false });
    expect(await gpu.monitor.getGPUUtilization()).toBeNull();
  });

  it('totals times since the previous call, with the interval', async () => {
    const { gpu, devices } = make(fakeGpu());
    const clock = devices.clock as TestClock;
    const t = await gpu.transferToGPU(values(50_000));
    await gpu.computeBatch([t]);
    const first = await gpu.monitor.getDetailedMetrics();
    expect(first.transferTime).toBeGreaterThan(0);
    expect(first.computeTime).toBeGreaterThan(0);
    clock.time += 500;
    const second = await gpu.monitor.getDetailedMetrics();
    expect(second).toMatchObject({ transferTime: 0, computeTime: 0 });
    expect(second.interval).toBeGreaterThanOrEqual(500);
  });

  it('of one device manager all see the same work, each with its own times since the last call', async () => {
    const { gpu, devices } = make(fakeGpu());
    using other = PerformanceMonitor.create({ devices });
    const t = await gpu.transferToGPU(values(50_000));
    await gpu.computeBatch([t]);
    const first = await gpu.monitor.getDetailedMetrics();
    const second = await other.getDetailedMetrics();
    expect(first.computeTime).toBeGreaterThan(0);
    expect(second.computeTime).toBe(first.computeTime);
    expect(second.transferTime).toBe(first.transferTime);
    expect(await other.getDetailedMetrics()).toMatchObject({ computeTime: 0, transferTime: 0 });
  });

  it('by hand, on a timer and for datasets take no times away from one another', async () => {
    const { gpu } = make(fakeGpu());
    await gpu.computeBatch([await gpu.transferToGPU(values(50_000))]);
    const sampled = await gpu.monitor.sample();
    const { metrics } = await gpu.processDataset(values(4000), { recordLength: 100 });
    const byHand = await gpu.monitor.getDetailedMetrics();
    expect(byHand.computeTime).toBeCloseTo(sampled.computeTime + metrics.computeTime, 9);
    expect(byHand.transferTime).toBeCloseTo(sampled.transferTime + metrics.transferTime, 9);
    expect(metrics.computeTime).toBeGreaterThan(0);
  });

  it('tells of memory that grows, as the runtime found it', async () => {
    const fake = fakeGpu();
    let growth: ((report: LeakReport) => unknown) | null = null;
    const open: OpenRuntime = async (options) => {
      const rt = (await fake.open(options)) as Runtime;
      const on = rt.on.bind(rt);
      rt.on = (kind, listener) => {
        if (kind === 'growth') growth = listener as typeof growth;
        return on(kind, listener);
      };
      return rt;
    };
    const { gpu, devices } = make(fake, { manager: { open } });
    const found: unknown[] = [];
    devices.on('anomaly', ({ kind, value, baseline }) => found.push([kind, value, baseline]));
    await devices.selectDevice();
    const report = { device: 'cuda:0', timestamp: 0, windowMs: 6e4, mbPerMinute: 5, minutesToFull: null, sites: [] };
    growth!({ ...report, fromMb: 10, toMb: 15 });
    expect(found).toEqual([['memory', 15 * 2 ** 20, 10 * 2 ** 20]]);
    gpu.monitor.dispose();
    growth!({ ...report, fromMb: 15, toMb: 20 });
    expect(found).toHaveLength(1);
  });

  it('logs both shapes of metrics, and tells whoever listens', async () => {
    const { gpu } = make(fakeGpu());
    const heard: unknown[] = [];
    const off = gpu.monitor.onMetrics((m) => heard.push(m));
    gpu.monitor.logMetrics({ computeTime: 3 });
    gpu.monitor.logMetrics(await gpu.monitor.getDetailedMetrics());
    off();
    gpu.monitor.logMetrics({ computeTime: 4 });
    expect(heard).toHaveLength(2);
    expect(gpu.monitor.logger.size).toBe(3);
    expect(gpu.monitor.logger.getAverages()!.fields.computeTime!.max).toBe(4);
  });

  it('samples on a timer until it is stopped', async () => {
    const clock = new TestClock();
    const { gpu } = make(fakeGpu(), { manager: { clock } });
    const stop = gpu.monitor.start(1000);
    clock.pass(3000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(gpu.monitor.logger.size).toBe(3);
    stop();
    expect(clock.timers).toBe(0);
    // A timer would take these for 1 ms.
    for (const everyMs of [Number.NaN, 0, -1, 2 ** 31, Number.POSITIVE_INFINITY])
      expect(() => gpu.monitor.start(everyMs)).toThrow(ArgumentError);
  });

  it('tells a step in latency of real work', async () => {
    const { gpu, devices } = make(fakeGpu());
    const found: string[] = [];
    devices.on('anomaly', (e) => found.push(e.kind));
    const add = (ms: number): void =>
      gpu.monitor.timeline.add({
        kind: 'compute',
        name: 'op',
        device: 'cuda:0',
        ms,
        bytes: 1000,
        source: 'device',
        failed: false,
      });
    for (let i = 0; i < 100; i++) add(1 + (i % 5) / 100);
    for (let i = 0; i < 40; i++) add(2 + (i % 5) / 100);
    expect(found).toEqual(['latency']);
  });

  it('cannot be used after its disposal', () => {
    const monitor = PerformanceMonitor.create();
    monitor.dispose();
    expect(() => monitor.getMemoryUsage()).toThrow(DisposedError);
  });
});
