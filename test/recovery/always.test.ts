// A device on which one kind of call always fails: the work is done by the other one, and only what cannot be restored is an error.

import { describe, expect, it } from 'vitest';
import { RecoveryExhausted, TransientError } from '../../src/governor/recovery/errors.ts';
import { type FaultSite, type FaultyDevice, withFaults } from '../../src/governor/recovery/faults.ts';
import { createRuntime, type DeviceKind, type Runtime, type RuntimeOptions, type Tensor } from '../../src/index.ts';
import { all } from '../support/extent.ts';
import { needsWebGpu } from '../support/webgpu.ts';
import { difference, forget, sixtyOps } from './program.ts';

interface Bench {
  readonly rt: Runtime;
  readonly faulty: FaultyDevice;
  /** Lets calls of a kind fail from now on: all of them, or the next few. */
  fail(at: FaultSite, times?: number): void;
  /** Nothing fails any more. */
  heal(): void;
}

/** A runtime whose first device can be made to fail. */
async function open(devices: readonly DeviceKind[], options: RuntimeOptions = {}): Promise<Bench> {
  let faulty: FaultyDevice | null = null;
  const rt = await createRuntime({
    devices,
    cpu: { threads: 1 },
    routing: { mode: 'off', cache: false },
    ...options,
    recovery: { backoffMs: [1], coolDownMs: 60_000, ...options.recovery },
    wrap: (device) => {
      if (!device.id.startsWith(devices[0]!)) return device;
      faulty = withFaults(device);
      // A software GPU would come last.
      return Object.assign(faulty, { caps: { ...faulty.caps, details: {} } });
    },
  });
  return {
    rt,
    faulty: faulty!,
    fail: (at, times = Number.POSITIVE_INFINITY) => {
      const nth = faulty!.counters().calls[at] + 1;
      faulty!.plan({ faults: [{ at, nth, times, as: 'transient' }] });
    },
    heal: () => faulty!.plan({ faults: [] }),
  };
}

const pairs = [
  ['reference', 'cpu'],
  ['cpu', 'reference'],
  ['webgpu', 'cpu'],
  ['cpu', 'webgpu'],
] as const satisfies readonly (readonly DeviceKind[])[];

describe.each(pairs)('%s beside %s', (first, second) => {
  const software = first === 'webgpu' || second === 'webgpu';
  if (software) needsWebGpu();
  // A software GPU takes its time: beside one, writes fail as launches do.
  it.each((['read', 'write', 'launch'] as const).filter((at) => all || !software || at !== 'write'))(
    'fails at every %s: results are right, and it gets no more work',
    async (at) => {
      const { rt, faulty, fail } = await open([first, second]);
      const expected = await sixtyOps(rt, 2);
      fail(at);
      expect(difference(await sixtyOps(rt, 2), expected, 1e-4)).toBeNull();
      expect(rt.recovery.of(faulty.id)).toMatchObject({ state: 'open', fallenBack: true });
      const { calls } = faulty.counters();
      if (!software) expect(difference(await sixtyOps(rt, 2), expected, 1e-4)).toBeNull();
      forget(rt);
      expect(faulty.counters()).toMatchObject({ live: 0, calls: { launch: calls.launch, read: calls.read } });
      await rt.close();
    },
  );

  it('cannot be read any more: what is on it is computed again elsewhere', async () => {
    const { rt, faulty, fail } = await open([first, second]);
    const x = rt.tensor([1, 2, 3]);
    const y = x.mul(2).compute();
    const z = y.add(x).compute();
    const step = rt.compile((f: Tensor) => f.mul(0.5).add(1));
    let f: Tensor = rt.zeros([8]);
    for (let i = 0; i < 40; i++) f = step(f);
    fail('read');
    expect(await z.data()).toEqual(new Float32Array([3, 6, 9]));
    expect(await z.add(y).data()).toEqual(new Float32Array([5, 10, 15]));
    expect((await f.data())[3]).toBeCloseTo(2, 6);
    expect((await step(f).data())[3]).toBeCloseTo(2, 6);
    expect(faulty.counters().injected.length).toBeLessThan(20);
    await rt.close();
  });
});

/** Every attempt failed for a reason that might have passed. */
const givenUp = { code: 'RECOVERY_EXHAUSTED', cause: expect.any(TransientError) };

describe('a device that cannot be read', () => {
  it('gives up nothing that could not be restored: the error is typed, and the value there once reads succeed', async () => {
    const { rt, fail, heal } = await open(['cpu', 'reference'], { recovery: { keep: 'none' } });
    const x = rt.tensor([1, 2, 3]);
    const y = x.mul(2).compute();
    fail('read');
    await expect(y.data()).rejects.toMatchObject(givenUp);
    expect(() => y.dataSync()).toThrow(RecoveryExhausted);
    const sum = rt.tensor([1, 1, 1], undefined, { device: 'reference' }).add(y);
    // By now it has failed so often that it is asked only once.
    await expect(sum.data()).rejects.toThrow(TransientError);
    heal();
    expect(await y.data()).toEqual(new Float32Array([2, 4, 6]));
    expect(await x.data()).toEqual(new Float32Array([1, 2, 3]));
    await rt.close();
  });

  it('is left by a tensor that is moved away from it', async () => {
    const { rt, fail } = await open(['cpu', 'reference']);
    const y = rt.tensor([1, 2, 3]).mul(2).compute();
    fail('read');
    await y.to('reference');
    expect(await y.data()).toEqual(new Float32Array([2, 4, 6]));
    await rt.close();
  });

  it('fails a computation that is pinned to it with every attempt', async () => {
    const { rt, fail } = await open(['cpu', 'reference']);
    const x = rt.tensor([1, 2], undefined, { device: 'cpu' });
    fail('launch');
    await expect(x.add(1).data()).rejects.toMatchObject(givenUp);
    await expect(rt.scope({ device: 'cpu' }, () => rt.ones([4]).add(1).data())).rejects.toMatchObject(givenUp);
    await rt.close();
  });
});

describe('a fault that passes', () => {
  needsWebGpu();

  it.each([1, 2])('%i failed reads of an index check are made up for', async (times) => {
    const { rt, faulty, fail } = await open(['webgpu']);
    const x = rt.tensor([10, 20, 30]);
    const picked = x.gather(rt.tensor([2, 0], undefined, { dtype: 'i32' }), 0).compute();
    fail('read', times);
    expect(await picked.data()).toEqual(new Float32Array([30, 10]));
    for (const t of [x, picked]) t.dispose();
    const bad = x.disposed && rt.tensor([1]).gather(rt.tensor([7], undefined, { dtype: 'i32' }), 0);
    await expect((bad as Tensor).data()).rejects.toThrow(/out of range|7/);
    expect(faulty.counters().injected).toHaveLength(times);
    await rt.close();
  });
});
