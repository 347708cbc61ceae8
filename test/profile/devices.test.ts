// What devices did: times of their own clocks, booked to the right scope; memory; idle time. On the CPU and on WebGPU.

import { describe, expect, it } from 'vitest';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { Profiler, readProfile } from '../../src/profile/index.ts';
import { sleep } from '../support/time.ts';
import { chain, timedDevices } from '../support/timed.ts';

async function profiled(rt: Runtime, options: { detailed?: boolean } = {}): Promise<Profiler> {
  return new Profiler({ runtimes: [rt], ...options }).ready();
}

describe.each(timedDevices)('on %s', (device, options) => {
  const isGpu = device !== 'cpu';

  it('a product of 512² has device time above 0 and at most its total, on the device that executed', async () => {
    await using rt = await createRuntime(options);
    const profiler = await profiled(rt);
    const a = rt.ones([512, 512]).compute();
    await rt.flush();
    await profiler.profile('product', { device: 'somewhere' }, async () => {
      await a.matmul(a).data();
    });
    const [entry] = (await profiler.collect()).entries;
    const time = isGpu ? entry!.gpuTimeMs : entry!.cpuTimeMs;
    expect(time).toBeGreaterThan(0);
    expect(time).toBeLessThanOrEqual(entry!.durationMs);
    expect(isGpu ? entry!.cpuTimeMs : entry!.gpuTimeMs).toBe(0);
    expect(entry!.device).toBe(device);
    expect(entry!.backend).toBe(device.split(':')[0]);
    expect(entry!.overheadMs).toBeGreaterThanOrEqual(0);
    const known = entry!.gpuTimeMs! + entry!.cpuTimeMs! + entry!.transferTimeMs! + entry!.overheadMs!;
    expect(known).toBeCloseTo(entry!.durationMs, 1);
  });

  it('kernels of known length: the times of 60 calls fill their loop, and nothing starts before it was enqueued', async () => {
    await using rt = await createRuntime(options);
    const x = rt.ones([200_000]).compute();
    const f = rt.compile((a: Tensor) => chain(a, 40));
    await f(x).data();
    const shares: number[] = [];
    // The machine may be busy with something else: a kernel never takes longer than it took, but the loop may.
    for (let attempt = 0; attempt < 25; attempt++) {
      const profiler = await profiled(rt, { detailed: true });
      await rt.flush();
      const start = performance.now();
      for (let i = 0; i < 60; i++) f(x).dispose();
      await rt.flush();
      const wall = performance.now() - start;
      const { kernels, kernelSummary, violations, machine } = await profiler.collect();
      profiler.dispose();
      expect(kernels.length).toBe(60 * f.kernels.length);
      expect(violations).toBe(0);
      const summaries = Object.values(kernelSummary);
      for (const s of summaries) expect(s).toMatchObject({ count: 60, measured: 60, device });
      expect(machine.devices.find((d) => d.id === device)!.clockErrorUs).not.toBe(null);
      shares.push(summaries.reduce((sum, s) => sum + 60 * s.mean!, 0) / wall);
      if (shares.at(-1)! > 0.9) break;
    }
    expect(Math.max(...shares)).toBeGreaterThan(0.9);
    expect(Math.max(...shares)).toBeLessThan(1.05);
  });

  it('work belongs to the scope that made it run, and says which one built it', async () => {
    await using rt = await createRuntime(options);
    const profiler = await profiled(rt);
    const x = rt.ones([1000]).compute();
    const lazy = profiler.profile('build', () => x.mul(3).add(1));
    await profiler.profile('outer', async () => {
      await profiler.profile('read', async () => {
        await lazy.data();
      });
      x.add(5).compute();
    });
    const { entries, kernels } = await profiler.collect();
    const id = (operation: string): number => entries.find((e) => e.operation === operation)!.id;
    const own = kernels.filter((k) => k.entry !== null);
    expect(own.map((k) => [k.entry, k.issuedIn])).toEqual([
      [id('read'), id('build')],
      [id('outer'), null],
    ]);
    expect(entries.find((e) => e.operation === 'read')!.issuedIn).toEqual([id('build')]);
    expect(entries.find((e) => e.operation === 'build')!.device).toBe(null);
    expect(entries.find((e) => e.operation === 'outer')!.device).toBe(device);
  });

  it('an allocation of 2048² f32 is seen in the peak of its scope and of those around, not in others', async () => {
    await using rt = await createRuntime(options);
    const profiler = await profiled(rt);
    const mb = 16;
    let kept: Tensor | undefined;
    profiler.profile('before', () => rt.ones([16]).compute());
    profiler.profile('outer', () => {
      profiler.profile('passing', () => rt.ones([2048, 2048]).compute().dispose());
      profiler.profile('quiet', () => 1);
      profiler.profile('keeping', () => {
        kept = rt.ones([2048, 2048]).compute();
      });
    });
    const peak = Object.fromEntries(profiler.getEntries().map((e) => [e.operation, e]));
    const rise = (name: string): number => peak[name]!.memoryPeakMb! - peak[name]!.memoryBeforeMb!;
    expect(rise('passing')).toBeGreaterThanOrEqual(mb);
    expect(rise('passing')).toBeLessThan(mb + 1);
    expect(peak.passing!.memoryAllocatedMb).toBeLessThan(1);
    expect(rise('keeping')).toBeGreaterThanOrEqual(mb);
    expect(peak.keeping!.memoryAllocatedMb).toBeGreaterThanOrEqual(mb);
    expect(rise('outer')).toBeGreaterThanOrEqual(mb);
    expect(rise('quiet')).toBe(0);
    expect(rise('before')).toBeLessThan(1);
    kept!.dispose();
    const { memory } = profiler.toProfile();
    expect(memory.every((p) => p.device === device && p.reserved >= p.live)).toBe(true);
    expect(Math.max(...memory.map((p) => p.live))).toBeGreaterThanOrEqual(mb * 2 ** 20);
  });

  it('utilisation is busy time over wall time, and idle time has its reasons', async () => {
    await using rt = await createRuntime(options);
    const x = rt.ones([300_000]).compute();
    const f = rt.compile((a: Tensor) => chain(a, 30));
    await f(x).data();
    const profiler = await profiled(rt);
    await profiler.profile('lazy host', async () => {
      f(x).dispose();
      await rt.flush();
      await sleep(60);
      f(x).dispose();
      await rt.flush();
    });
    const { machine, entries, wallMs } = await profiler.collect();
    const time = machine.devices.find((d) => d.id === device)!.time!;
    expect(time.busy + time.idleHost + time.idleTransfer + time.idleUnknown).toBeCloseTo(1, 4);
    expect(time.busy).toBeGreaterThan(0);
    expect((1 - time.busy) * wallMs).toBeGreaterThan(50);
    expect(time.idleHost * wallMs).toBeGreaterThan(50);
    expect(time.longestGapMs).toBeGreaterThan(50);
    if (isGpu) expect(entries[0]!.gpuUtilization).toBeGreaterThan(0);
  });

  it('transfers have their bytes, direction and scope', async () => {
    await using rt = await createRuntime(options);
    const profiler = await profiled(rt);
    await profiler.profile('copy', async () => {
      const t = rt.tensor(new Float32Array(100_000));
      await t.add(1).data();
    });
    const { transfers, entries, waits } = await profiler.collect();
    const up = transfers.find((t) => t.kind === 'upload')!;
    expect(up).toMatchObject({ bytes: 400_000, from: 'host', to: device, entry: entries[0]!.id });
    expect(transfers.some((t) => t.kind === 'download' && t.bytes === 400_000)).toBe(true);
    expect(waits.every((w) => w.entry === entries[0]!.id)).toBe(true);
    expect(entries[0]!.transferTimeMs).toBeGreaterThan(0);
  });

  it('a compiled function is one record, and one for each kernel in detail', async () => {
    await using rt = await createRuntime(options);
    const f = rt.compile((x: Tensor) => chain(x.sub(x.mean()), 2).cumsum(0));
    const x = rt.ones([10_000]).compute();
    await f(x).data();
    const profiler = await profiled(rt, { detailed: true });
    f(x);
    const { kernels, options: made, lanes } = await profiler.collect();
    expect(kernels.map((k) => k.name)).toEqual(f.kernels);
    expect(kernels.every((k) => k.ms !== null && k.replay === kernels[0]!.replay)).toBe(true);
    expect(made.detailed).toBe(true);
    expect(made.slowdown).toBeGreaterThanOrEqual(1);
    expect(lanes).toEqual([]);
  });

  it('a kernel in detail has the line that made it run, which survives the file; else none', async () => {
    await using rt = await createRuntime(options);
    const x = rt.ones([1000]).compute();
    const plain = await profiled(rt);
    await x.add(1).data();
    expect((await plain.collect()).kernels.map((k) => k.line)).toEqual([null]);
    await plain.disable();
    const profiler = await profiled(rt, { detailed: true });
    const [, here] = /:(\d+):\d+\)?$/.exec(new Error().stack!.split('\n')[1]!)!;
    await x.mul(2).data();
    x.mul(3).compute();
    await profiler.collect();
    const { kernels } = readProfile(await profiler.exportJSON());
    const at = (after: number): RegExp => new RegExp(`devices\\.test\\.ts:${Number(here) + after}:`);
    expect(kernels.map((k) => k.line)).toEqual([expect.stringMatching(at(1)), expect.stringMatching(at(2))]);
    profiler.dispose();
  });
});

describe('kernels that were measured together', () => {
  it('count for the scope that holds all of them; whose time it was inside is unknown', async () => {
    await using rt = await createRuntime({ devices: ['webgpu'] });
    const x = rt.ones([100_000]).compute();
    await rt.flush();
    const profiler = await profiled(rt);
    await profiler.profile('all', async () => {
      profiler.profile('first', () => chain(x, 3).cumsum(0).compute());
      profiler.profile('second', () => chain(x, 4).cumsum(0).compute());
      await rt.flush();
    });
    const { entries, kernels } = await profiler.collect();
    expect(new Set(kernels.map((k) => k.pass))).toEqual(new Set([kernels[0]!.id]));
    const time = Object.fromEntries(entries.map((e) => [e.operation, e.gpuTimeMs]));
    expect(time).toEqual({ first: null, second: null, all: expect.any(Number) });
    expect(time.all).toBeGreaterThan(0);
  });
});

describe('without a clock', () => {
  it('times of devices are null, never 0 or a share of something', async () => {
    await using rt = await createRuntime({ devices: ['reference'] });
    const profiler = await profiled(rt);
    await profiler.profile('work', async () => {
      await rt.ones([100]).add(1).data();
    });
    const { entries, kernelSummary, machine } = await profiler.collect();
    expect(entries[0]).toMatchObject({ cpuTimeMs: null, overheadMs: null, device: 'reference' });
    const [k] = Object.values(kernelSummary);
    expect(k).toMatchObject({ measured: 0, total: null, mean: null, gbs: null, roofline: null, bound: null });
    expect(machine.devices[0]!.time).toBe(null);
    expect(profiler.clockError('reference')).toBe(null);
  });
});

describe('threads of the CPU device', () => {
  it('have lanes of their own in detail', async () => {
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 2 } });
    const x = rt.ones([2_000_000]).compute();
    const f = rt.compile((a: Tensor) => chain(a, 20));
    await f(x).data();
    const profiler = await profiled(rt, { detailed: true });
    for (let i = 0; i < 20; i++) f(x).dispose();
    const { lanes, kernels } = await profiler.collect();
    expect(lanes.length).toBeGreaterThan(0);
    expect(lanes.every((l) => l.device === 'cpu' && l.lane >= 1 && l.name === kernels[0]!.name && l.ms >= 0)).toBe(
      true,
    );
  });
});

describe('two runtimes', () => {
  it('are told apart, and two devices at once never make more than 100 %', async () => {
    await using a = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    await using b = await createRuntime({ devices: ['webgpu'] });
    const [x, y] = [a.ones([100_000]).compute(), b.ones([100_000]).compute()];
    const profiler = await new Profiler({ runtimes: [a, b] }).ready();
    await profiler.profile('both', async () => {
      await Promise.all([chain(x, 20).data(), chain(y, 20).data()]);
    });
    const { kernels, machine, entries } = await profiler.collect();
    expect(new Set(kernels.map((k) => k.device))).toEqual(new Set(['cpu', 'webgpu:0']));
    expect(new Set(kernels.map((k) => k.id)).size).toBe(kernels.length);
    for (const d of machine.devices) expect(d.time!.busy).toBeLessThanOrEqual(1);
    expect(entries[0]!.gpuUtilization).toBeLessThanOrEqual(1);
    expect(entries[0]).toMatchObject({ device: 'cpu+webgpu:0', backend: 'cpu+webgpu' });
  });
});
