// Failures on purpose: the device is lost before, during and after each method, allocations and launches fail, for a while and
// for ever. Results are right or the error is typed; nothing hangs; nothing is left behind.

import { describe, expect, it } from 'vitest';
import { facade, fakeGpu, keptFacades, values } from '../../test/support/facade.ts';
import { within } from '../../test/support/time.ts';
import type { DeviceBuffer } from '../devices/device.ts';
import type { FaultKind, FaultSite } from '../governor/recovery/faults.ts';
import { OutOfMemory } from '../index.ts';
import {
  BatchError,
  ComputeError,
  DeviceLostError,
  DisposedError,
  RecoveryExhaustedError,
  TensorLostError,
} from './errors.ts';

const kept = keptFacades();
const make = (...args: Parameters<typeof facade>) => kept(facade(...args));

const always = Number.POSITIVE_INFINITY;
const reference = (d: Float32Array): number => d.reduce((s, v) => s + v * v, 0) / d.length;

describe('a lost device', () => {
  it('is noticed without a call, told, and replaced by the CPU when it stays away', async () => {
    const fake = fakeGpu();
    const { gpu, devices } = make(fake);
    const t = await gpu.transferToGPU(values(100));
    expect(devices.getActiveDevice()).toBe('cuda:0');
    const told = new Promise<string>((resolve) => devices.onDeviceLost((e) => resolve(`${e.device}: ${e.reason}`)));
    const start = performance.now();
    fake.broken = true;
    fake.device().lose('unplugged');
    expect(await told).toBe('cuda:0: unplugged');
    expect(performance.now() - start).toBeLessThan(within(1000));
    expect(devices.getActiveDevice()).toBeNull();
    expect(await gpu.transferFromGPU(t)).toEqual(values(100));
    expect(devices.getActiveDevice()).toBe('cpu');
    // Its copy in host memory was read; what is computed of it is computed on the CPU.
    expect(gpu.deviceOf(t)).toBe('host');
    expect(gpu.deviceOf((await gpu.processBatch([t], 'sum'))[0]!)).toBe('cpu');
    expect(devices.selection).toMatchObject({ kind: 'cpu', device: 'cpu' });
    expect(devices.selection!.rejected.some((r) => /unplugged/.test(r.reason))).toBe(true);
  });

  it('is built anew where it can be, and gives the same bits', async () => {
    const fake = fakeGpu();
    const { gpu, devices } = make(fake);
    const t = await gpu.transferToGPU(values(4000));
    const [before] = await gpu.computeBatch([t]);
    const want = await gpu.transferFromGPU(before!);
    const resets: unknown[] = [];
    devices.on('reset', (e) => resets.push(e));
    fake.device().lose();
    const [after] = await gpu.computeBatch([t]);
    expect(await gpu.transferFromGPU(after!)).toEqual(want);
    expect(devices.getActiveDevice()).toBe('cuda:0');
    expect(fake.opened()).toBe(2);
    expect(resets).toHaveLength(1);
    // The upload was kept, the result is computed again from it.
    expect(resets[0]).toMatchObject({ device: 'cuda:0', restored: 2, lost: 0 });
  });

  it('that comes back by itself costs nothing but time', async () => {
    const fake = fakeGpu();
    const { gpu } = make(fake);
    const t = await gpu.transferToGPU(values(4000));
    const [r] = await gpu.computeBatch([t]);
    const want = await gpu.transferFromGPU(r!);
    fake.device().lose();
    const [again] = await gpu.computeBatch([t]);
    expect(await gpu.transferFromGPU(again!)).toEqual(want);
    // Results were computed again from what was kept.
    expect(await gpu.transferFromGPU(r!)).toEqual(want);
    expect(fake.opened()).toBe(2);
  });

  it('takes what nobody kept with it, and says so instead of giving zeros', async () => {
    const fake = fakeGpu({ recovery: { keep: 'none' } });
    const { gpu } = make(fake);
    const t = await gpu.transferToGPU(values(4000));
    fake.device().lose();
    const error = await gpu.transferFromGPU(t).catch((e) => e);
    expect(error).toBeInstanceOf(TensorLostError);
    expect(error.hint).toMatch(/keep/);
    await expect(gpu.computeBatch([t])).rejects.toBeInstanceOf(BatchError);
    expect(await gpu.transferFromGPU(await gpu.transferToGPU(values(3)))).toEqual(values(3));
  });
});

const sites: readonly FaultSite[] = ['allocate', 'write', 'read', 'prepare', 'launch', 'mark'];
const kinds: readonly FaultKind[] = ['out-of-memory', 'kernel', 'transient', 'lost'];

describe.each(kinds)('a fault of the kind %s', (as) => {
  it.each(sites)('at any %s of a workload ends in the right result', async (at) => {
    for (const nth of [1, 2, 4]) {
      const fake = fakeGpu({ cpu: { threads: 1, tinyElements: 0 } });
      const { gpu, devices } = make(fake);
      await devices.selectDevice();
      const calls = fake.device().counters().calls[at];
      fake.device().plan({ strict: true, faults: [{ at, nth: calls + nth, as }] });
      const data = [values(2000, 1), values(2000, 2), values(3000, 3)];
      const tensors = [];
      for (const d of data) tensors.push(await gpu.transferToGPU(d));
      const results = await gpu.computeBatch(tensors);
      for (const [i, r] of results.entries()) {
        expect(Number((await gpu.transferFromGPU(r))[0])).toBeCloseTo(reference(data[i]!), 5);
      }
      await gpu.dispose();
    }
  });
});

describe('a failure that never goes away', () => {
  it('ends after exactly the attempts that were allowed, with the history and a flat stack', async () => {
    const fake = fakeGpu();
    const { gpu, devices } = make(fake, { fallback: false, manager: { preference: { requireGPU: true } } });
    const t = await gpu.transferToGPU(values(2000));
    fake.device().plan({ strict: true, faults: [{ at: 'launch', nth: 1, times: always, as: 'transient' }] });
    const waits: number[] = [];
    devices.on('retry', (e) => waits.push(e.waitMs));
    const depths: number[] = [];
    const op = (x: typeof t): typeof t => {
      depths.push(new Error().stack!.split('\n').length);
      return x.add(1);
    };
    const error = await gpu.processBatch([t], op).catch((e) => e);
    expect(error).toBeInstanceOf(BatchError);
    const cause = error.cause as RecoveryExhaustedError;
    expect(cause).toBeInstanceOf(RecoveryExhaustedError);
    expect(cause.history.map((h) => h.attempt)).toEqual([1, 2, 3]);
    expect(cause.attempts).toBe(3);
    expect(depths).toHaveLength(3);
    // The first attempt comes from the call, the others from the loop.
    expect(new Set(depths.slice(1)).size).toBe(1);
    expect(waits).toEqual([50, 200]);
  });

  it('moves the work to the next device if that is allowed, and says so', async () => {
    const fake = fakeGpu({ recovery: { failures: 2 } });
    const { gpu, devices } = make(fake);
    const t = await gpu.transferToGPU(values(2000));
    const told: unknown[] = [];
    devices.on('fallback', (e) => told.push(e));
    fake.device().plan({ strict: true, faults: [{ at: 'launch', nth: 1, times: always, as: 'kernel' }] });
    const [r] = await gpu.computeBatch([t]);
    expect(Number((await gpu.transferFromGPU(r!))[0])).toBeCloseTo(reference(values(2000)), 5);
    expect(gpu.deviceOf(r!)).toBe('cpu');
    expect(told).toMatchObject([{ from: 'cuda:0', to: 'cpu' }]);
    expect([...devices.quarantined.keys()]).toEqual(['cuda:0']);
  });

  it('moves tensors along from a device that can only be read by waiting', async () => {
    const fake = fakeGpu({ syncRead: false, recovery: { keep: 'none' } });
    const { gpu } = make(fake);
    const t = await gpu.transferToGPU(values(2000));
    fake.device().plan({ strict: true, faults: [{ at: 'launch', nth: 1, times: always, as: 'kernel' }] });
    const [r] = await gpu.computeBatch([t]);
    expect(gpu.deviceOf(r!)).toBe('cpu');
    expect(Number((await gpu.transferFromGPU(r!))[0])).toBeCloseTo(reference(values(2000)), 5);
    const [s] = await gpu.processBatch([t], (x) => x.mul(2));
    expect((await gpu.transferFromGPU(s!))[7]).toBe(2 * values(2000)[7]!);
    const { results, device } = await gpu.processDataset(values(2000), { recordLength: 500 });
    expect(device).toBe('cpu');
    expect(Number(results[3]![0])).toBeCloseTo(reference(values(2000).subarray(1500)), 5);
    // Inputs stay where they are.
    expect(gpu.deviceOf(t)).toBe('cuda:0');
    expect(await gpu.transferFromGPU(t)).toEqual(values(2000));
  });

  it('of invalid input is not tried again and resets nothing', async () => {
    const fake = fakeGpu();
    const { gpu } = make(fake);
    await gpu.transferToGPU(values(10));
    let calls = 0;
    const bad = await gpu
      .processBatch([await gpu.transferToGPU(values(10))], (x) => {
        calls++;
        return x.reshape([3, 7]);
      })
      .catch((e) => e);
    expect(bad).toBeInstanceOf(BatchError);
    expect(bad.message).toMatch(/reshape/);
    expect(calls).toBe(1);
    expect(fake.opened()).toBe(1);
  });

  it('resets a device three times in ten minutes at most, then leaves it alone', async () => {
    const fake = fakeGpu();
    const { gpu, devices } = make(fake);
    for (let i = 0; i < 3; i++) {
      await gpu.transferToGPU(values(10));
      fake.device().lose();
      await Promise.resolve();
    }
    await gpu.transferToGPU(values(10));
    fake.device().lose();
    await gpu.transferToGPU(values(10));
    expect(devices.getActiveDevice()).toBe('cpu');
    expect([...devices.quarantined.keys()]).toEqual(['cuda:0']);
  });
});

describe('a device that is lost while nobody uses it', () => {
  it('has those resets counted too: four losses in ten minutes are one too many', async () => {
    const fake = fakeGpu();
    const { gpu, devices } = make(fake);
    for (let i = 0; i < 3; i++) {
      await gpu.transferToGPU(values(10));
      const back = new Promise((resolve) => devices.on('reset', resolve));
      fake.device().lose();
      await back;
    }
    await gpu.transferToGPU(values(10));
    expect([devices.getActiveDevice(), fake.opened()]).toEqual(['cuda:0', 4]);
    fake.device().lose();
    await gpu.transferToGPU(values(10));
    expect(devices.getActiveDevice()).toBe('cpu');
    expect([...devices.quarantined.keys()]).toEqual(['cuda:0']);
  });
});

const noRoom = (requested: number): OutOfMemory =>
  new OutOfMemory({ code: 'OUT_OF_MEMORY', message: 'no room', fix: '', where: 'cuda:0', requested, available: 0 });

describe('lack of memory', () => {
  it('makes chunks smaller until they fit, within the attempts that are allowed, and remembers the size', async () => {
    const fake = fakeGpu();
    const { gpu, devices } = make(fake);
    const tensors = [];
    for (let i = 0; i < 100; i++) tensors.push(await gpu.transferToGPU(values(1000, i + 1)));
    const want = [];
    for (const r of await gpu.processBatch(tensors, 'square')) want.push((await gpu.transferFromGPU(r))[7]);
    // Room for twelve results of a chunk at a time.
    const { device } = devices.station!;
    const { allocate, release } = device;
    const taken = new Set<DeviceBuffer>();
    const sizes: number[] = [];
    devices.on('chunk', (e) => {
      sizes.push(e.size);
      taken.clear();
    });
    device.allocate = (bytes) => {
      if (taken.size >= 12) throw noRoom(bytes);
      const buffer = allocate.call(device, bytes);
      taken.add(buffer);
      return buffer;
    };
    device.release = (buffer) => {
      taken.delete(buffer);
      release.call(device, buffer);
    };
    let refused = 0;
    devices.on('retry', () => refused++);
    const results = await gpu.processBatch(tensors, 'square', { chunkSize: 100 });
    // The runtime moves results to host memory first; what it cannot make room for comes up here.
    expect(Math.max(...sizes)).toBeLessThan(100);
    const failed = gpu.monitor.timeline.totals().failures;
    expect(failed).toBeGreaterThanOrEqual(2);
    expect(failed).toBeLessThanOrEqual(Math.log2(100) + 4);
    expect(refused).toBeGreaterThanOrEqual(1);
    expect(refused).toBeLessThanOrEqual(failed);
    for (const [i, r] of results.entries()) expect((await gpu.transferFromGPU(r))[7]).toBe(want[i]);
    const remembered = sizes.at(-2)!;
    sizes.length = 0;
    await gpu.processBatch(tensors, 'square', { chunkSize: 100 });
    expect(sizes[0]).toBe(remembered);
    expect(devices.getActiveDevice()).toBe('cuda:0');
  });

  it('for a single item moves the work to the CPU', async () => {
    const fake = fakeGpu();
    const { gpu, devices } = make(fake);
    const t = await gpu.transferToGPU(values(1000));
    const calls = fake.device().counters().calls.allocate;
    fake
      .device()
      .plan({ strict: true, faults: [{ at: 'allocate', nth: calls + 1, times: always, as: 'out-of-memory' }] });
    const [r] = await gpu.processBatch([t], 'square');
    expect(gpu.deviceOf(r!)).toBe('cpu');
    // The device is well: what fits goes there.
    expect(devices.getActiveDevice()).toBe('cuda:0');
    expect((await gpu.transferFromGPU(r!))[3]).toBe(Math.fround(values(1000)[3]! ** 2));
  });
});

describe('resetDevice', () => {
  it('of a healthy device keeps every tensor, and callers at the same time share one reset', async () => {
    const fake = fakeGpu({ recovery: { keep: 'none' } });
    const { gpu, devices } = make(fake);
    const t = await gpu.transferToGPU(values(5000));
    const [r] = await gpu.computeBatch([t]);
    const want = await gpu.transferFromGPU(r!);
    const resets: { restored: number; lost: number }[] = [];
    devices.on('reset', (e) => resets.push(e));
    await Promise.all([gpu.resetDevice(), gpu.resetDevice(), gpu.resetDevice()]);
    expect(resets).toHaveLength(1);
    expect(resets[0]).toMatchObject({ restored: 2, lost: 0 });
    expect(await gpu.transferFromGPU(r!)).toEqual(want);
    expect(await gpu.transferFromGPU(t)).toEqual(values(5000));
    const [again] = await gpu.computeBatch([t]);
    expect(await gpu.transferFromGPU(again!)).toEqual(want);
  });

  it('waits for work in flight, and frees what a disposed tensor left behind', async () => {
    const fake = fakeGpu();
    const { gpu, devices } = make(fake);
    const t = await gpu.transferToGPU(values(5000));
    const [data] = await Promise.all([gpu.transferFromGPU(t), gpu.resetDevice()]);
    expect(data).toEqual(values(5000));
    // Saved to host memory, and back where it is used.
    expect(gpu.deviceOf(t)).toBe('host');
    (await gpu.processBatch([t], 'sum'))[0]!.dispose();
    expect(gpu.deviceOf(t)).toBe('cuda:0');
    expect(gpu.monitor.getMemoryUsage().numBytes).toBe(20_000);
    t.dispose();
    await devices.selectDevice();
    await gpu.resetDevice();
    expect(gpu.monitor.getMemoryUsage().numBytes).toBe(0);
  });

  it('fails work on a device that does not answer, instead of leaving it pending', async () => {
    const fake = fakeGpu({ recovery: { keep: 'none' } });
    const { gpu } = make(fake, { attempts: 1, fallback: false });
    const t = await gpu.transferToGPU(values(5000));
    fake.device().plan({ strict: true, faults: [{ at: 'read', nth: 1, times: always, as: 'hang' }] });
    const stuck = gpu.transferFromGPU(t).catch((e) => e);
    await new Promise((resolve) => setImmediate(resolve));
    fake.device().lose('given up');
    const error = await stuck;
    expect(error).toBeInstanceOf(ComputeError);
    expect([DeviceLostError.name, TensorLostError.name, RecoveryExhaustedError.name]).toContain(error.name);
  });

  it('does nothing to a facade that was disposed', async () => {
    const { gpu } = make(fakeGpu());
    await gpu.dispose();
    await expect(gpu.resetDevice()).rejects.toThrow(DisposedError);
  });
});

describe('a quarantined device', () => {
  it('is used again after three good probes, and its tensors are where they are used', async () => {
    // It rests for longer than the test takes to look at it; then a probe fails before three are good.
    const fake = fakeGpu({ recovery: { failures: 2, coolDownMs: 500 } });
    const { gpu, devices } = make(fake, { manager: { probeEveryMs: 20 } });
    const t = await gpu.transferToGPU(values(3000));
    const launches = fake.device().counters().calls.launch;
    fake.device().plan({ strict: true, faults: [{ at: 'launch', nth: launches + 1, times: 3, as: 'kernel' }] });
    const [r] = await gpu.computeBatch([t]);
    expect(gpu.deviceOf(r!)).toBe('cpu');
    expect(devices.getActiveDevice()).toBe('cpu');
    expect([...devices.quarantined.keys()]).toEqual(['cuda:0']);
    expect(devices.selection!.device).toBe('cpu');
    const healed = new Promise<number>((resolve) => devices.on('healed', (e) => resolve(e.probes)));
    expect(await healed).toBe(4);
    expect(devices.getActiveDevice()).toBe('cuda:0');
    expect(devices.selection!.device).toBe('cuda:0');
    expect(devices.quarantined.size).toBe(0);
    expect(Number((await gpu.transferFromGPU(r!))[0])).toBeCloseTo(reference(values(3000)), 5);
    expect(gpu.deviceOf((await gpu.computeBatch([t]))[0]!)).toBe('cuda:0');
  });

  it('that was given up comes back as a new one, when it computes right again', async () => {
    const fake = fakeGpu({ recovery: { backoffMs: [0] } });
    const { gpu, devices } = make(fake, { manager: { probeEveryMs: 20 } });
    const t = await gpu.transferToGPU(values(3000));
    fake.broken = true;
    fake.device().lose('unplugged');
    expect(gpu.deviceOf((await gpu.computeBatch([t]))[0]!)).toBe('cpu');
    expect([...devices.quarantined.keys()]).toEqual(['cuda:0']);
    const healed = new Promise<number>((resolve) => devices.on('healed', (e) => resolve(e.probes)));
    fake.broken = false;
    expect(await healed).toBeGreaterThanOrEqual(3);
    expect(gpu.deviceOf((await gpu.computeBatch([t]))[0]!)).toBe('cuda:0');
    expect(devices.quarantined.size).toBe(0);
  });

  it('is left for good where that is wanted', async () => {
    const fake = fakeGpu({ recovery: { failures: 2, coolDownMs: 10 } });
    const { gpu, devices } = make(fake, { manager: { probeEveryMs: 10, returnWhenHealed: false } });
    const t = await gpu.transferToGPU(values(3000));
    const launches = fake.device().counters().calls.launch;
    fake.device().plan({ strict: true, faults: [{ at: 'launch', nth: launches + 1, times: 2, as: 'kernel' }] });
    const healed = new Promise<number>((resolve) => devices.on('healed', (e) => resolve(e.probes)));
    await gpu.computeBatch([t]);
    await healed;
    expect(devices.getActiveDevice()).toBe('cpu');
    expect(gpu.deviceOf((await gpu.computeBatch([t]))[0]!)).toBe('cpu');
  });
});
