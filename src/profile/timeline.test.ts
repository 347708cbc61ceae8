import { describe, expect, it } from 'vitest';
import { TestClock } from '../../test/support/facade.ts';
import { Timeline } from './timeline.ts';

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
