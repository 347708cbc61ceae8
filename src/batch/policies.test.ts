// Pacing, slow-downs and predictions, on simulated time.

import { describe, expect, it } from 'vitest';
import { TestClock } from '../../test/support/facade.ts';
import { Timeline } from '../profile/timeline.ts';
import { CostModel } from './cost-model.ts';
import { Pacer } from './pacer.ts';

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

  it('is met although timers come late', async () => {
    // As Node's do on a busy machine.
    class LateClock extends TestClock {
      override after(ms: number, call: () => void): () => void {
        return super.after(ms + 3, call);
      }
    }
    const clock = new LateClock();
    const timeline = new Timeline(clock);
    const pacer = new Pacer(clock, 0.8);
    const shares: number[] = [];
    while (clock.time < 20_000) {
      clock.time += 8;
      timeline.add({ kind: 'compute', name: 'x', device: 'gpu', ms: 8, bytes: 0, source: 'device', failed: false });
      await pacer.rest(8);
      if (clock.time > 5000) shares.push(timeline.busy('gpu', 5000)!);
    }
    expect(Math.max(...shares)).toBeLessThanOrEqual(0.85);
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(0.75);
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
