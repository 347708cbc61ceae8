// A device on probation: it gets one piece of work at a time until its results are good, whatever it costs elsewhere.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createRuntime, type FaultyDevice, withFaults } from '../../src/index.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';

const never = Number.POSITIVE_INFINITY;

/** A runtime that prefers its first device, which fails as it is told. */
async function make(): Promise<{ rt: Runtime; first: () => FaultyDevice; launches: () => number }> {
  let faulty: FaultyDevice | null = null;
  const rt = await createRuntime({
    devices: ['cpu', 'reference'],
    cpu: { threads: 1 },
    routing: { mode: 'off' },
    recovery: { attempts: 1, failures: 1, coolDownMs: 500, backoffMs: [0] },
    wrap: (device) => (device.id === 'cpu' ? (faulty = withFaults(device)) : device),
  });
  return { rt, first: () => faulty!, launches: () => faulty!.counters().calls.launch };
}

const fail = (device: FaultyDevice, times = 1): void =>
  device.plan({ faults: [{ at: 'launch', nth: device.counters().calls.launch + 1, times, as: 'transient' }] });

// Time goes on only when it is told to: a slow machine must not end a pause early.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

async function probation(rt: Runtime): Promise<void> {
  for (let waited = 0; waited < 10_000 && rt.recovery.of('cpu').state !== 'half-open'; waited += 100)
    await vi.advanceTimersByTimeAsync(100);
  expect(rt.recovery.of('cpu').state).toBe('half-open');
}

it('gets one of many calls at once, eager or compiled, and all of them once it is trusted', async () => {
  const { rt, first, launches } = await make();
  const x = rt.ones([64]).compute();
  const step = rt.compile((t: typeof x) => t.mul(3));
  const eager = (k: number) => x.add(k).data();
  const compiled = () => step(x).data();
  await eager(0);
  await compiled();
  for (const many of [() => [1, 2, 3, 4, 5, 6].map(eager), () => [1, 2, 3, 4, 5, 6].map(compiled)]) {
    fail(first());
    await Promise.all(many());
    expect(rt.recovery.of('cpu').state).toBe('open');
    await probation(rt);
    for (let probe = 0; probe < 3; probe++) {
      const before = launches();
      const results = await Promise.all(many());
      expect(new Set(results.map((r) => r.length))).toEqual(new Set([64]));
      expect([probe, launches() - before]).toEqual([probe, 1]);
    }
    expect(rt.recovery.of('cpu').state).toBe('closed');
    const before = launches();
    await Promise.all(many());
    expect(launches() - before).toBe(6);
  }
  await rt.close();
});

it('is trusted by what is read synchronously too', async () => {
  const { rt, first, launches } = await make();
  const x = rt.ones([64]).compute();
  fail(first());
  expect(x.add(1).dataSync()[0]).toBe(2);
  await probation(rt);
  for (let probe = 0; probe < 3; probe++) {
    expect(x.add(2).dataSync()[0]).toBe(3);
    // Its end is noticed in the next turn.
    await undefined;
  }
  expect(rt.recovery.of('cpu').state).toBe('closed');
  const before = launches();
  expect(x.add(3).dataSync()[0]).toBe(4);
  expect(launches() - before).toBe(1);
  await rt.close();
});

it('is trusted by work that is only waited for, but not by results from before or by having nothing to do', async () => {
  const { rt, first, launches } = await make();
  const x = rt.ones([64]).compute();
  const step = rt.compile((t: typeof x) => t.mul(2));
  step(x);
  fail(first());
  await step(x).data();
  await probation(rt);
  for (let i = 0; i < 4; i++) {
    await rt.flush();
    await x.data();
  }
  expect(rt.recovery.of('cpu').state).toBe('half-open');
  for (let probe = 0; probe < 3; probe++) {
    const before = launches();
    for (let i = 0; i < 4; i++) step(x);
    expect(launches() - before).toBe(1);
    await rt.flush();
  }
  expect(rt.recovery.of('cpu').state).toBe('closed');
  await rt.close();
});

it('that fails its probe costs one try, and waits longer for the next one', async () => {
  const { rt, first, launches } = await make();
  const x = rt.ones([64]).compute();
  fail(first(), never);
  await x.add(1).data();
  for (let round = 0; round < 2; round++) {
    await probation(rt);
    const before = launches();
    const results = await Promise.all([1, 2, 3, 4, 5].map((k) => x.add(k).data()));
    expect(results.map((r) => r[0])).toEqual([2, 3, 4, 5, 6]);
    expect([launches() - before, rt.recovery.of('cpu').state]).toEqual([1, 'open']);
  }
  await rt.close();
});
