import { afterEach, describe, expect, it } from 'vitest';
import type { DType } from '../base/dtype.ts';
import { createCpuDevice } from '../devices/cpu/device.ts';
import type { Device } from '../devices/device.ts';
import { Aborted, RecoveryExhausted } from '../governor/recovery/errors.ts';
import { type FaultyDevice, withFaults } from '../governor/recovery/faults.ts';
import { createRuntime, type RuntimeOptions } from './create.ts';
import type { Runtime } from './runtime.ts';

const open: Runtime[] = [];
afterEach(async () => {
  for (const rt of open.splice(0)) await rt.close();
});

const always = Number.POSITIVE_INFINITY;

/** A CPU device under the name gpu:0 that can be lost, beside a plain one. */
async function pair(
  options: RuntimeOptions & { readonly back?: () => boolean; readonly without?: DType } = {},
): Promise<{ rt: Runtime; gpu: () => FaultyDevice }> {
  const { back = () => true, without, ...rest } = options;
  let gpu: FaultyDevice | null = null;
  const asGpu = (device: Device): FaultyDevice => {
    gpu = Object.assign(withFaults(device, { faults: [], strict: true }), {
      id: 'gpu:0',
      caps: {
        ...device.caps,
        immortal: false,
        dtypes: new Set([...device.caps.dtypes].filter((d) => d !== without)),
      },
      reopen: async () => {
        if (!back()) throw new Error('unplugged');
        return asGpu(await createCpuDevice({ threads: 1, tinyElements: 0 }));
      },
    });
    return gpu;
  };
  let first = true;
  const rt = await createRuntime({
    devices: ['cpu', 'cpu'],
    cpu: { threads: 1, tinyElements: 0 },
    routing: { mode: 'off' },
    wrap: (device) => {
      if (!first) return device;
      first = false;
      return asGpu(device);
    },
    ...rest,
  });
  open.push(rt);
  return { rt, gpu: () => gpu! };
}

const four = Float32Array.of(1, 2, 3, 4);

describe('an attempt', () => {
  it('runs on its device, returns at once what is done at once, and disposes of the rest', async () => {
    const { rt } = await pair();
    const before = rt.stats().tensors;
    const made = rt.attempt({ device: 'cpu' }, ({ device }) => {
      rt.tensor(four).add(1).compute();
      return { device, kept: rt.tensor(four).mul(2).compute() };
    });
    expect(made).not.toBeInstanceOf(Promise);
    const { device, kept } = await made;
    expect([device, kept.device]).toEqual(['cpu', 'cpu']);
    expect(await kept.data()).toEqual(Float32Array.of(2, 4, 6, 8));
    kept.dispose();
    expect(rt.stats().tensors).toBe(before);
  });

  it('is repeated as a whole, so often and after such waits as it says, and then tells all of it', async () => {
    const { rt, gpu } = await pair();
    const told: unknown[] = [];
    rt.on('retry', ({ what, attempt, reaction, waitMs }) => told.push([what, attempt, reaction, waitMs]));
    gpu().plan({ strict: true, faults: [{ at: 'launch', nth: 1, times: always, as: 'transient' }] });
    let runs = 0;
    const depths = new Set<number>();
    const error = await Promise.resolve(
      rt.attempt({ device: 'gpu:0', what: 'mine', attempts: 4, backoffMs: [1, 2], fallback: false }, () => {
        runs++;
        if (runs > 1) depths.add(new Error().stack!.split('\n').length);
        return rt.tensor(four).add(1).compute();
      }),
    ).catch((e: unknown) => e as RecoveryExhausted);
    expect(error).toBeInstanceOf(RecoveryExhausted);
    expect(runs).toBe(4);
    expect(depths.size).toBe(1);
    expect((error as RecoveryExhausted).attempts).toBe(4);
    expect((error as RecoveryExhausted).history.map((h) => [h.attempt, h.device])).toEqual(
      [1, 2, 3, 4].map((n) => [n, 'gpu:0']),
    );
    expect(told).toEqual([
      ['mine', 1, 'wait', 1],
      ['mine', 2, 'wait', 2],
      ['mine', 3, 'wait', 2],
    ]);
  });

  it('goes to another device after failures; for lack of room only if that is allowed', async () => {
    const { rt, gpu } = await pair();
    const told: string[] = [];
    rt.on('fallback', ({ from, to }) => told.push(`${from} → ${to}`));
    gpu().plan({ strict: true, faults: [{ at: 'launch', nth: 1, times: 2, as: 'kernel' }] });
    const work = () => rt.tensor(four).add(1).compute();
    expect((await rt.attempt({ device: 'gpu:0', backoffMs: [0] }, work)).device).toBe('cpu');
    expect(told).toEqual(['gpu:0 → cpu']);
    const calls = gpu().counters().calls.allocate;
    gpu().plan({ strict: true, faults: [{ at: 'allocate', nth: calls + 1, times: always, as: 'out-of-memory' }] });
    await expect(
      Promise.resolve().then(() => rt.attempt({ device: 'gpu:0', fallback: 'failures' }, work)),
    ).rejects.toMatchObject({ code: 'OUT_OF_MEMORY' });
    expect((await rt.attempt({ device: 'gpu:0' }, work)).device).toBe('cpu');
  });

  it('waits for a lost device that is opened again, and uses another if it is not', async () => {
    let there = true;
    const { rt, gpu } = await pair({ back: () => there });
    const work = () => rt.tensor(four).add(1).compute();
    gpu().lose();
    expect((await rt.attempt({ device: 'gpu:0' }, work)).device).toBe('gpu:0');
    there = false;
    gpu().lose();
    expect((await rt.attempt({ device: 'gpu:0' }, work)).device).toBe('cpu');
    await expect(
      Promise.resolve().then(() => rt.attempt({ device: 'gpu:0', fallback: false }, work)),
    ).rejects.toMatchObject({ code: 'DEVICE_LOST' });
  });

  it('does not begin when the signal is aborted, and does not repeat a bug', async () => {
    const { rt } = await pair();
    expect(() => rt.attempt({ device: 'cpu', signal: AbortSignal.abort() }, () => 1)).toThrow(Aborted);
    let runs = 0;
    const bug = new TypeError('bug');
    await expect(
      Promise.resolve().then(() =>
        rt.attempt({ device: 'cpu' }, () => {
          runs++;
          throw bug;
        }),
      ),
    ).rejects.toBe(bug);
    expect(runs).toBe(1);
  });

  it('computes elsewhere what its device has no dtype for', async () => {
    const { rt } = await pair({ without: 'f64' });
    const made = await rt.attempt({ device: 'gpu:0' }, () => [
      rt.tensor(four).add(1).compute(),
      rt.tensor(Float64Array.of(1, 2)).add(1).compute(),
    ]);
    expect(made.map((t) => t.device)).toEqual(['gpu:0', 'cpu']);
    expect(await made[1]!.data()).toEqual(Float64Array.of(2, 3));
  });
});

describe('reset', () => {
  it('keeps every tensor of a healthy device, on a new one; callers at the same time share it', async () => {
    const { rt, gpu } = await pair({ recovery: { keep: 'none' } });
    const t = rt.scope({ device: 'gpu:0' }, () => rt.tensor(four));
    const s = rt.scope({ device: 'gpu:0' }, () => t.mul(3).compute());
    const before = gpu();
    const reports = await Promise.all([rt.reset('gpu:0'), rt.reset('gpu:0')]);
    expect(reports[0]).toBe(reports[1]);
    expect(reports[0]).toMatchObject({ device: 'gpu:0', restored: 2 });
    expect(gpu()).not.toBe(before);
    expect([t.device, t.lost]).toEqual([null, false]);
    expect(await s.data()).toEqual(Float32Array.of(3, 6, 9, 12));
    expect(rt.recovery.of('gpu:0').recentResets).toBe(0);
  });

  it('empties a device that cannot be opened twice', async () => {
    const { rt } = await pair();
    const t = rt.scope({ device: 'cpu' }, () => rt.tensor(new Float32Array(5000).fill(2)));
    expect(t.device).toBe('cpu');
    expect(await rt.reset('cpu')).toMatchObject({ restored: 1 });
    expect(t.device).toBeNull();
    expect((await t.data())[4999]).toBe(2);
  });
});

describe('a device that gets no work', () => {
  it('is trusted again after good probes in the background', async () => {
    const { rt, gpu } = await pair({ recovery: { failures: 2, coolDownMs: 5, probeEveryMs: 10, backoffMs: [0] } });
    gpu().plan({ strict: true, faults: [{ at: 'launch', nth: 1, times: 3, as: 'kernel' }] });
    await rt.attempt({ device: 'gpu:0' }, () => rt.tensor(four).add(1).compute());
    expect(rt.recovery.of('gpu:0').state).not.toBe('closed');
    const probes = await new Promise<number>((resolve) => rt.on('return', (e) => resolve(e.probes)));
    // The first probe met the last fault.
    expect(probes).toBe(4);
    expect(rt.recovery.of('gpu:0').state).toBe('closed');
  });

  it('comes back after it was given up, when it has computed right three times in a row', async () => {
    let there = false;
    const { rt, gpu } = await pair({ back: () => there, recovery: { probeEveryMs: 10, backoffMs: [0] } });
    const abandoned = new Promise((resolve) => rt.on('abandoned', resolve));
    gpu().lose();
    await abandoned;
    const back = new Promise<{ attempts: number }>((resolve) => rt.on('reborn', resolve));
    there = true;
    expect((await back).attempts).toBeGreaterThanOrEqual(3);
    const made = await rt.attempt({ device: 'gpu:0' }, () => rt.tensor(four).add(1).compute());
    expect(made.device).toBe('gpu:0');
  });
});
