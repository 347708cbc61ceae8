// A device that is short of memory or failed lately costs more, at once and also for work it has done before: explain() shows it.

import { afterEach, expect, it, vi } from 'vitest';
import { type FaultyDevice, withFaults } from '../../src/governor/recovery/faults.ts';
import { createRuntime, type Runtime } from '../../src/index.ts';

const MiB = 2 ** 20;

afterEach(() => {
  vi.useRealTimers();
});

/** What the router makes of the CPU for a piece of work that it has seen before. */
function penaltyOf(rt: Runtime): { penalty: number; text: string } {
  const explained = rt.explain(rt.ones([4096]).add(1).tanh());
  const found = explained.predictions.find((p) => p.device === 'cpu');
  return { penalty: found?.penalty ?? Number.POSITIVE_INFINITY, text: explained.toString() };
}

it('memory pressure makes a device dearer, until it has passed', async () => {
  await using rt = await createRuntime({
    devices: ['cpu', 'reference'],
    cpu: { threads: 1 },
    routing: { cache: false },
    memory: { budget: { cpu: 32 * MiB }, sampleMs: false, cleanupAt: false },
  });
  expect(penaltyOf(rt).penalty).toBe(1);
  const block = (n: number) => rt.tensor(new Uint8Array(n * MiB), undefined, { device: 'cpu' });
  const most = block(27);
  rt.memory.recordSnapshot();
  expect(penaltyOf(rt)).toMatchObject({
    penalty: 1.5,
    text: expect.stringMatching(/×1\.5 because it is short of memory or failed lately/),
  });
  const rest = block(3);
  rt.memory.recordSnapshot();
  expect(penaltyOf(rt).penalty).toBe(4);
  for (const t of [most, rest]) t.dispose();
  rt.memory.cleanupMemory('cpu');
  rt.memory.recordSnapshot();
  expect(penaltyOf(rt).penalty).toBe(1);
});

it('failures make a device dearer, keep work off it when there are too many, and are forgotten', async () => {
  let faulty: FaultyDevice | null = null;
  await using rt = await createRuntime({
    devices: ['cpu', 'reference'],
    cpu: { threads: 1 },
    routing: { cache: false },
    recovery: { failures: 3, failureWindowMs: 3000, coolDownMs: 500, backoffMs: [0] },
    wrap: (device) => (device.id === 'cpu' ? (faulty = withFaults(device)) : device),
  });
  // From here on, where devices have been measured, time goes on only when it is told to: on a slow machine failures would be forgotten too soon.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
  const failOnce = async (): Promise<void> => {
    const nth = faulty!.counters().calls.launch + 1;
    faulty!.plan({ faults: [{ at: 'launch', nth, as: 'transient' }] });
    const sum = rt.scope({ device: 'cpu' }, () => rt.ones([64]).add(1).sum().data());
    // The pause before the second attempt.
    await vi.advanceTimersByTimeAsync(1);
    expect((await sum)[0]).toBe(128);
  };
  expect(penaltyOf(rt).penalty).toBe(1);
  await failOnce();
  expect(penaltyOf(rt)).toMatchObject({ penalty: 2, text: expect.stringMatching(/×2\.0 because .* failed lately/) });
  await failOnce();
  expect(penaltyOf(rt).penalty).toBe(3);
  await failOnce();
  expect(rt.recovery.of('cpu').state).toBe('open');
  expect(penaltyOf(rt).penalty).toBe(Number.POSITIVE_INFINITY);
  expect(rt.explain(rt.ones([4096]).add(1).tanh()).device).toBe('reference');
  // Time alone brings it back: first to be tried, then as if nothing had been.
  for (let waited = 0; waited < 10_000 && penaltyOf(rt).penalty !== 1; waited += 100)
    await vi.advanceTimersByTimeAsync(100);
  expect(penaltyOf(rt).penalty).toBe(1);
  expect(rt.recovery.of('cpu').state).toBe('half-open');
  for (let i = 0; i < 3; i++) await rt.scope({ device: 'cpu' }, () => rt.ones([64]).add(1).sum().data());
  expect([penaltyOf(rt).penalty, rt.recovery.of('cpu').state]).toEqual([1, 'closed']);
});
