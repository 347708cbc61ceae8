import { describe, expect, it } from 'vitest';
import { elementwise } from '../../../test/support/cpu.ts';
import { createCpuDevice } from '../../devices/cpu/device.ts';
import { createReferenceDevice } from '../../devices/reference/device.ts';
import { ArgumentError, DeviceLost, DisposedError, KernelError, OutOfMemory } from '../../errors.ts';
import { DeadlineExceeded, TransientError } from './errors.ts';
import { type FaultPlan, type FaultyDevice, faultSites, randomFaults, withFaults } from './faults.ts';

const double = elementwise(4, ['f32'], 'f32', (b, [x]) => b.alu('add', x!, x!));
const values = new Uint8Array(new Float32Array([1, 2, 3, 4]).buffer);

const faulty = (plan: FaultPlan = { faults: [] }): FaultyDevice => withFaults(createReferenceDevice(), plan);

/** One upload, one kernel, one read. */
async function program(d: FaultyDevice): Promise<number[]> {
  const [x, y] = [d.allocate(16), d.allocate(16)];
  d.write(x, values);
  d.launch(d.prepare(double), [x, y], []);
  const bytes = await d.read(y);
  d.release(x);
  d.release(y);
  return [...new Float32Array(bytes.buffer)];
}

describe('a faulty device', () => {
  it('computes what the device underneath computes, and counts', async () => {
    const d = faulty({ faults: [], strict: true });
    expect(await program(d)).toEqual([2, 4, 6, 8]);
    const { calls, live, liveBytes, peakBytes, injected } = d.counters();
    expect(calls).toMatchObject({ allocate: 2, write: 1, prepare: 1, launch: 1, read: 1, any: 6 });
    expect([live, liveBytes, peakBytes, injected]).toEqual([0, 0, 32, []]);
  });

  it.each([
    ['out-of-memory', OutOfMemory],
    ['kernel', KernelError],
    ['transient', TransientError],
    ['lost', DeviceLost],
  ] as const)('fails the chosen call with %s, once', async (as, type) => {
    const d = faulty({ faults: [{ at: 'launch', nth: 2, as }] });
    await program(d);
    await expect(program(d)).rejects.toThrow(type);
    if (as !== 'lost') expect(await program(d)).toEqual([2, 4, 6, 8]);
    expect(d.counters().injected).toEqual([{ at: 'launch', call: 2, as }]);
  });

  it('fails as often as it is told, and counts calls of any kind together', async () => {
    const d = faulty({ faults: [{ at: 'any', nth: 3, times: 2, as: 'transient' }] });
    d.allocate(4);
    d.allocate(4);
    expect(() => d.allocate(4)).toThrow(TransientError);
    expect(() => d.mark()).toThrow(TransientError);
    expect(() => d.allocate(4)).not.toThrow();
    const always = faulty({
      faults: [{ at: 'allocate', nth: 1, times: Number.POSITIVE_INFINITY, as: 'out-of-memory' }],
    });
    for (let i = 0; i < 5; i++) expect(() => always.allocate(8)).toThrow(OutOfMemory);
  });

  it('refuses every call once it is lost, says so, and has nothing alive', async () => {
    const d = faulty({ faults: [{ at: 'any', nth: 4, as: 'lost' }], strict: true });
    const [x, y] = [d.allocate(16), d.allocate(16)];
    const pending = d.read(x);
    // The read has not been answered yet when the device goes.
    expect(() => d.write(y, values)).toThrow(DeviceLost);
    await expect(pending).rejects.toThrow(DeviceLost);
    expect((await d.lost).reason).toContain('injected at write 1');
    for (const call of [() => d.allocate(1), () => d.prepare(double), () => d.mark(), () => d.memory(), () => d.trim()])
      expect(call).toThrow(DeviceLost);
    await expect(d.read(x)).rejects.toThrow(DeviceLost);
    d.release(x);
    expect(d.counters().live).toBe(0);
    await d.close();
  });

  it('never answers once it hangs, until it is closed', async () => {
    const d = withFaults(await createCpuDevice({ threads: 1 }), { faults: [{ at: 'launch', nth: 1, as: 'hang' }] });
    const [x, y] = [d.allocate(16), d.allocate(16)];
    d.launch(d.prepare(double), [x, y], []);
    const outcome = d.read(y).then(
      () => 'read',
      (e: unknown) => e,
    );
    const mark = d.mark();
    const done = mark.whenDone().catch((e: unknown) => e);
    const early = await Promise.race([outcome, done, new Promise((r) => setImmediate(() => r('silent')))]);
    expect([early, mark.done()]).toEqual(['silent', false]);
    expect(() => d.readSync!(y)).toThrow(DeadlineExceeded);
    await d.close();
    expect(await outcome).toBeInstanceOf(DeviceLost);
    expect(await done).toBeInstanceOf(DeviceLost);
  });

  it('passes on a loss of the device underneath', async () => {
    const inner = faulty();
    const d = withFaults(inner);
    const x = d.allocate(4);
    inner.lose('pulled');
    expect((await d.lost).reason).toBe('pulled');
    await expect(d.read(x)).rejects.toThrow(DeviceLost);
  });

  it('can be born again where the plan says so, with another plan and nothing of its earlier life', async () => {
    const rebirth: FaultPlan = { faults: [{ at: 'write', nth: 2, as: 'transient' }] };
    const d = faulty({ faults: [{ at: 'launch', nth: 1, as: 'lost' }], rebirth });
    const old = d.allocate(16);
    await expect(program(d)).rejects.toThrow(DeviceLost);
    const next = (await d.reopen!()) as FaultyDevice;
    expect(d.successor).toBe(next);
    expect(await program(next)).toEqual([2, 4, 6, 8]);
    await expect(program(next)).rejects.toThrow(TransientError);
    expect(() => next.write(old, values)).toThrow(/earlier life/);
    expect([faulty().reopen, next.reopen, next.caps.immortal]).toEqual([undefined, undefined, false]);
  });

  it('refuses released buffers, and buffers and programs of another device', async () => {
    const [a, b] = [faulty(), faulty()];
    const x = a.allocate(16);
    const y = b.allocate(16);
    expect(() => b.launch(a.prepare(double), [y, y], [])).toThrow(ArgumentError);
    expect(() => a.launch(a.prepare(double), [x, y], [])).toThrow(/earlier life/);
    a.release(x);
    a.release(x);
    expect(() => a.write(x, values)).toThrow(DisposedError);
  });

  it('has exactly the optional parts of the device underneath', async () => {
    const cpu = await createCpuDevice({ threads: 1 });
    const d = withFaults(cpu, { faults: [{ at: 'read', nth: 2, as: 'transient' }] });
    expect([d.readSync, d.readTyped, d.record, d.pinned].map(Boolean)).toEqual([true, true, false, false]);
    const x = d.allocate(16);
    d.write(x, values);
    expect([...d.readTyped!(x, 'f32')]).toEqual([1, 2, 3, 4]);
    expect(() => d.readSync!(x)).toThrow(TransientError);
    await d.close();
  });
});

describe('random plans', () => {
  it('depend on the seed alone, and stay within their bounds', () => {
    expect(randomFaults(7, 100)).toEqual(randomFaults(7, 100));
    const plans = Array.from({ length: 200 }, (_, seed) => randomFaults(seed, 100));
    expect(new Set(plans.map((p) => JSON.stringify(p))).size).toBeGreaterThan(150);
    const faults = plans.flatMap((p) => p.faults);
    expect(faults.every((f) => f.nth >= 1 && f.nth <= 100 && f.times! >= 1)).toBe(true);
    expect(new Set(faults.map((f) => f.at))).toEqual(new Set(['any', ...faultSites]));
  });
});
