// Pacing, slow-downs and predictions, on simulated time.

import { describe, expect, it } from 'vitest';
import { TestClock } from '../../test/support/facade.ts';
import { CostModel } from './cost-model.ts';
import { Pacer } from './pacer.ts';
import { Timeline } from './timeline.ts';

describe('the utilisation ceiling', () => {
  it.each([0.8, 0.5, 0.2])('of %f holds over any 5 s window, whatever the pieces of work are', async (ceiling) => {
    const clock = new TestClock();
    const timeline = new Timeline(clock);
    const pacer = new Pacer(clock, ceiling);
    const shares: number[] = [];
    let s = 1;
    while (clock.time < 30_000) {
      s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
      const ms = 1 + (s >>> 16) / 1000;
      clock.time += ms;
      timeline.add({ kind: 'compute', name: 'x', device: 'gpu', ms, bytes: 0, source: 'device', failed: false });
      await pacer.rest(ms);
      if (clock.time > 5000) shares.push(timeline.busy('gpu', 5000)!);
    }
    expect(Math.max(...shares)).toBeLessThanOrEqual(ceiling + 0.05);
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(ceiling - 0.05);
  });

  it('counts pauses between calls, and does not save them up', async () => {
    const clock = new TestClock();
    const pacer = new Pacer(clock, 0.5);
    clock.time += 10;
    await pacer.rest(10);
    expect(clock.slept).toEqual([10]);
    // A long pause, then work again: the rest is for the new work only.
    clock.time += 1000;
    await pacer.rest(20);
    expect(clock.slept).toEqual([10, 20]);
  });

  it('does nothing without a ceiling', async () => {
    const clock = new TestClock();
    await new Pacer(clock, null).rest(100);
    expect(clock.slept).toEqual([]);
  });
});

describe('the cost model', () => {
  it('finds the fixed part and the part per byte behind noise and outliers', () => {
    const model = new CostModel();
    let s = 9;
    for (let i = 0; i < 100; i++) {
      s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
      const bytes = 2 ** (10 + (s >>> 28));
      const noise = 1 + 0.06 * (((s >>> 8) & 0xffff) / 2 ** 16 - 0.5);
      model.add(bytes, (0.05 + bytes * 1e-7) * noise * (i % 25 === 24 ? 8 : 1));
    }
    for (const bytes of [1024, 65536, 2 ** 24]) {
      const { ms, error } = model.predict(bytes)!;
      expect(ms / (0.05 + bytes * 1e-7)).toBeCloseTo(1, 1);
      expect(error).toBeLessThan(0.1);
    }
  });

  it('knows nothing before it was told, and copes with one size', () => {
    const model = new CostModel();
    expect(model.predict(5)).toBeNull();
    for (let i = 0; i < 5; i++) model.add(1000, 2);
    expect(model.predict(1000)!.ms).toBeCloseTo(2, 6);
  });
});

describe('the timeline', () => {
  it('keeps the newest spans and all totals', () => {
    const clock = new TestClock();
    const timeline = new Timeline(clock);
    for (let i = 0; i < 5000; i++) {
      const kind = (['upload', 'download', 'compute'] as const)[i % 3]!;
      timeline.add({ kind, name: `${i}`, device: 'x', ms: 1, bytes: 2, source: 'host', failed: i % 100 === 0 });
    }
    expect(timeline.recent()).toHaveLength(1024);
    expect(timeline.recent(2).map((s) => s.name)).toEqual(['4998', '4999']);
    expect(timeline.totals()).toEqual({
      computeMs: 1666,
      transferMs: 3334,
      uploadedBytes: 3334,
      downloadedBytes: 3334,
      operations: 5000,
      failures: 50,
    });
  });

  it('counts overlapping work once, and host times not at all', () => {
    const clock = new TestClock();
    const timeline = new Timeline(clock);
    const span = { kind: 'compute', name: 'x', device: 'd', bytes: 0, failed: false } as const;
    expect(timeline.busy('d', 1000)).toBeNull();
    clock.time = 100;
    timeline.add({ ...span, ms: 100, source: 'device' });
    clock.time = 150;
    timeline.add({ ...span, ms: 100, source: 'device' });
    timeline.add({ ...span, ms: 100, source: 'host' });
    clock.time = 995;
    expect(timeline.busy('d', 1000)).toBeCloseTo(0.15);
    clock.time = 1095;
    expect(timeline.busy('d', 1000)).toBeCloseTo(0.05);
    clock.time = 60_000;
    expect(timeline.busy('d', 1000)).toBe(0);
  });
});
