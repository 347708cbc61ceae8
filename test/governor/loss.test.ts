// A device disappears: what was in flight, what was alive, and how the work goes on.

import { describe, expect, it } from 'vitest';
import { createCpuDevice } from '../../src/devices/cpu/device.ts';
import { TensorLost } from '../../src/governor/recovery/errors.ts';
import { type FaultyDevice, withFaults } from '../../src/governor/recovery/faults.ts';
import {
  createRuntime,
  DeviceLost,
  type Events,
  type Runtime,
  type RuntimeOptions,
  type Tensor,
} from '../../src/index.ts';

interface Bench {
  readonly rt: Runtime;
  /** The device that can be lost: the CPU, wrapped. */
  readonly gpu: () => FaultyDevice;
  readonly seen: string[];
}

/** A runtime whose first device can be lost and comes back, or not. */
async function bench(options: RuntimeOptions, comesBack = false): Promise<Bench> {
  let current: FaultyDevice | null = null;
  const mortal = (device: FaultyDevice): FaultyDevice => {
    current = device;
    return Object.assign(device, {
      caps: { ...device.caps, immortal: false },
      reopen: comesBack
        ? async () => mortal(withFaults(await createCpuDevice({ threads: 1 }), { faults: [], strict: true }))
        : undefined,
    });
  };
  const rt = await createRuntime({
    cpu: { threads: 1 },
    wrap: (device) => (device.id === 'cpu' ? mortal(withFaults(device, { faults: [], strict: true })) : device),
    ...options,
  });
  const seen: string[] = [];
  for (const kind of ['lost', 'reborn', 'fallback', 'return', 'abandoned'] as const satisfies (keyof Events)[])
    rt.on(kind, () => seen.push(kind));
  return { rt, gpu: () => current!, seen };
}

const withFallback: RuntimeOptions = { devices: ['cpu', 'reference'], routing: { mode: 'off' } };

describe('with another device', () => {
  it('computes again what goes back through thousands of ops', async () => {
    const { rt, gpu } = await bench(withFallback);
    let x: Tensor = rt.tensor([1, 2]);
    for (let i = 0; i < 40; i++) {
      const before = x;
      for (let k = 0; k < 250; k++) x = x.add(1);
      x.compute();
      before.dispose();
    }
    gpu().lose('unplugged');
    await Promise.resolve();
    expect(await x.data()).toEqual(new Float32Array([10_001, 10_002]));
    await rt.close();
  });

  it('computes results of compiled functions again, tensors from outside and their random numbers included', async () => {
    const { rt, gpu } = await bench(withFallback);
    const bias = rt.tensor([10, 20]);
    const f = rt.compile((x: Tensor, k: number) =>
      x
        .mul(k)
        .add(bias)
        .add(rt.random.uniform([2])),
    );
    const results = [0.5, 3, 3].map((k) => f(rt.tensor([1, 2]), k));
    const right = results.map((r) => [...r.dataSync()]);
    gpu().lose('unplugged');
    await Promise.resolve();
    for (const [i, r] of results.entries()) expect([...(await r.data())]).toEqual(right[i]);
    await rt.close();
  });

  it('goes on there, with uploads restored from their host copies and results computed again', async () => {
    const { rt, gpu, seen } = await bench(withFallback);
    const x = rt.tensor([1, 2, 3]);
    const y = x.mul(2).compute();
    const z = y.add(1).compute();
    y.dispose();
    gpu().lose('unplugged');
    await Promise.resolve();
    expect(await z.data()).toEqual(new Float32Array([3, 5, 7]));
    expect(await x.data()).toEqual(new Float32Array([1, 2, 3]));
    expect(await x.add(z).data()).toEqual(new Float32Array([4, 7, 10]));
    expect(seen).toEqual(['lost']);
    expect(rt.devices().find((d) => d.id === 'cpu')).toMatchObject({ open: false });
    await rt.close();
  });

  it('notices a loss in the middle of a run and repeats it elsewhere', async () => {
    const { rt, gpu, seen } = await bench(withFallback);
    const x = rt.tensor(Float32Array.from({ length: 64 }, (_, i) => 63 - i));
    gpu().plan({ strict: true, faults: [{ at: 'launch', nth: 2, as: 'lost' }] });
    const sorted = x.add(1).sort().mul(2).sum();
    expect((await sorted.data())[0]).toBe((2 * (64 * 65)) / 2);
    expect(seen).toEqual(['lost', 'fallback']);
    await rt.close();
  });

  it('repeats a compiled step, and finds the state of a long loop from its first one', async () => {
    const { rt, gpu } = await bench(withFallback);
    const step = rt.compile((f: Tensor) => f.mul(0.5).add(1));
    let f: Tensor = rt.zeros([16]);
    for (let i = 0; i < 200; i++) f = step(f);
    gpu().lose();
    await Promise.resolve();
    f = step(f);
    expect((await f.data())[3]).toBeCloseTo(2, 6);
    await rt.close();
  });

  it('answers reads that were in flight', async () => {
    const { rt, gpu } = await bench(withFallback);
    const y = rt.tensor([1, 2]).mul(3).compute();
    gpu().plan({ strict: true, faults: [{ at: 'read', nth: 1, as: 'lost' }] });
    expect(await y.data()).toEqual(new Float32Array([3, 6]));
    expect(y.dataSync()).toEqual(new Float32Array([3, 6]));
    await rt.close();
  });

  it('gives up on a device that hangs', async () => {
    const { rt, gpu, seen } = await bench({ ...withFallback, recovery: { timeoutMs: 60 } });
    const y = rt.tensor([1, 2]).mul(3).compute();
    gpu().plan({ strict: true, faults: [{ at: 'read', nth: 1, as: 'hang' }] });
    expect(await y.data()).toEqual(new Float32Array([3, 6]));
    expect(seen[0]).toBe('lost');
    await rt.close();
  });

  it('tells which tensors are gone for good, and never makes up values', async () => {
    const { rt, gpu } = await bench({ ...withFallback, recovery: { keep: 'none' } });
    const x = rt.tensor([1, 2, 3]);
    const y = x.mul(2).compute();
    gpu().lose();
    await Promise.resolve();
    await expect(y.data()).rejects.toThrow(TensorLost);
    await expect(x.data()).rejects.toThrow(/were lost with their device/);
    expect(() => x.add(1).dataSync()).toThrow(TensorLost);
    expect(await rt.tensor([4]).add(1).data()).toEqual(new Float32Array([5]));
    x.dispose();
    y.dispose();
    expect(rt.stats().bytes).toBe(0);
    await rt.close();
  });

  it('stays off a device that keeps failing', async () => {
    const { rt, gpu } = await bench(withFallback);
    gpu().plan({ strict: true, faults: [{ at: 'launch', nth: 1, times: Number.POSITIVE_INFINITY, as: 'kernel' }] });
    for (let i = 0; i < 6; i++) expect((await rt.tensor([i]).add(1).data())[0]).toBe(i + 1);
    const before = gpu().counters().calls.launch;
    for (let i = 0; i < 6; i++) expect((await rt.tensor([i]).add(1).data())[0]).toBe(i + 1);
    expect(gpu().counters().calls.launch).toBe(before);
    expect(rt.recovery.of('cpu')).toMatchObject({ state: 'open', fallenBack: true });
    await rt.close();
  });
});

describe('a device that comes back', () => {
  it('is used again, with its tensors restored', async () => {
    const { rt, gpu, seen } = await bench({ devices: ['cpu'] }, true);
    const x = rt.tensor([1, 2, 3]);
    const y = x.exp().compute();
    gpu().lose();
    const got = await y.data();
    expect(got[1]).toBeCloseTo(Math.exp(2), 5);
    expect(seen).toEqual(['lost', 'reborn']);
    expect(rt.devices()[0]).toMatchObject({ id: 'cpu', open: true });
    await rt.close();
  });

  it('is not opened again more often than allowed', async () => {
    const { rt, gpu } = await bench({ devices: ['cpu'], recovery: { resets: 2, backoffMs: [1] } }, true);
    const x = rt.tensor([1, 2]);
    for (let i = 0; i < 2; i++) {
      gpu().lose();
      expect(await x.add(i).data()).toEqual(new Float32Array([1 + i, 2 + i]));
    }
    gpu().lose();
    await expect(x.add(9).data()).rejects.toThrow(DeviceLost);
    await rt.close();
  });
});

describe('without another device', () => {
  it('fails with DeviceLost at once', async () => {
    const { rt, gpu } = await bench({ devices: ['cpu'] });
    const x = rt.tensor([1, 2]);
    gpu().lose();
    await expect(x.add(1).data()).rejects.toThrow(DeviceLost);
    expect(() => x.add(1).dataSync()).toThrow(DeviceLost);
    expect(() => rt.tensor([1])).toThrow(DeviceLost);
    await rt.close();
  });
});
