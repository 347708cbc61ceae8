import { expect, it } from 'vitest';
import { renamed } from '../../../test/support/routing.ts';
import { within } from '../../../test/support/time.ts';
import { createCpuDevice } from '../../devices/cpu/device.ts';
import { calibrate } from './calibrate.ts';
import { launchTime, parseProfile } from './profile.ts';

it('measures a real CPU within its time, and more work takes longer', async () => {
  const device = await createCpuDevice();
  try {
    const told: string[] = [];
    const start = performance.now();
    const profiles = await calibrate([device], { budgetMs: 550, onProgress: (p) => told.push(p.what) });
    const took = performance.now() - start;
    const p = profiles.get('cpu')!;
    expect(parseProfile(JSON.parse(JSON.stringify(p)))).toEqual(p);
    expect(took).toBeLessThan(within(600));
    expect(told.length).toBeGreaterThan(5);
    expect(p.launchUs).toBeGreaterThan(0);
    for (const cls of ['map', 'reduce'] as const) {
      const [small, large] = [launchTime(p, cls, 100, 1000), launchTime(p, cls, 1e8, 1e9)];
      expect(small).toBeGreaterThan(0);
      expect(large).toBeGreaterThan(10 * small);
    }
    expect(device.memory().free).toBe(device.memory().total);
  } finally {
    await device.close();
  }
});

it('keeps to a limit by leaving points out, and counts them', async () => {
  const device = await createCpuDevice({ threads: 1 });
  try {
    let now = 0;
    // Every look at the clock takes 5 ms: nearly everything is too long.
    const profiles = await calibrate([device], { budgetMs: 100, clock: () => (now += 5) });
    const p = profiles.get('cpu')!;
    expect(p.missed).toBeGreaterThan(10);
    expect(p.tookMs).toBeLessThan(300);
    expect(parseProfile(p)).not.toBe(null);
    // Nothing may look free only because there was no time to measure it.
    for (const cls of ['map', 'reduce', 'heavy', 'matmul', 'scan', 'scatter', 'sort'] as const)
      expect(launchTime(p, cls, 1e9, 1e9)).toBeGreaterThan(p.launchUs);
    expect(p.upload.x.length).toBeGreaterThan(0);
    expect(p.download.x.length).toBeGreaterThan(0);
  } finally {
    await device.close();
  }
});

it('ends after a few points by a clock that stands still, whatever they take', async () => {
  const device = await createCpuDevice({ threads: 1 });
  try {
    const told: string[] = [];
    const run = calibrate([device], { clock: () => 7, onProgress: (p) => told.push(p.what) });
    const p = (await run).get('cpu')!;
    // The large sizes, for which a slow device would take hours if nobody saw the time pass.
    expect(p.missed).toBeGreaterThan(10);
    expect(Math.max(...p.upload.x)).toBeLessThan(1 << 26);
    expect(told).toContain('sort of 16384');
    // Times that say nothing are not kept for the next start.
    expect(parseProfile(p)).toBe(null);
  } finally {
    await device.close();
  }
});

it('stops when it is told to, and leaves nothing behind', async () => {
  const device = await createCpuDevice({ threads: 1 });
  try {
    const stop = new AbortController();
    const run = calibrate([device], { signal: stop.signal, onProgress: () => stop.abort(new Error('enough')) });
    await expect(run).rejects.toMatchObject({ code: 'ABORTED', cause: new Error('enough') });
    expect(device.memory().free).toBe(device.memory().total);
  } finally {
    await device.close();
  }
});

it('measures several devices, each under its name', async () => {
  const device = await createCpuDevice({ threads: 1 });
  try {
    const twin = renamed(device, 'cpu:1');
    const profiles = await calibrate([device, twin], { budgetMs: 80 });
    expect([...profiles.keys()].sort()).toEqual(['cpu', 'cpu:1']);
  } finally {
    await device.close();
  }
});
