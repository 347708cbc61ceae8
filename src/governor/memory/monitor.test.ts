import { describe, expect, it } from 'vitest';
import { FakeClock, FakeView, holder } from '../../../test/support/memory.ts';
import { within } from '../../../test/support/time.ts';
import { MemoryMonitor } from './monitor.ts';
import { type MemoryOptions, memorySettings } from './options.ts';
import { systemClock } from './view.ts';

function setUp(options: MemoryOptions = {}, ...ids: string[]) {
  const view = new FakeView(...ids);
  const clock = new FakeClock();
  const errors: string[] = [];
  const onError = (error: unknown, where: string): void => void errors.push(`${where}: ${(error as Error).message}`);
  const monitor = new MemoryMonitor(view, memorySettings(options), { clock, onError });
  return { view, clock, monitor, errors };
}

describe('snapshots', () => {
  it('show live, reserved, available, others and where the figures come from', () => {
    const { view, monitor } = setUp();
    view.first.others = 100 * 2 ** 20;
    view.hold(300, 200);
    view.spilled = 7 * 2 ** 20;
    expect(monitor.snapshot()).toMatchObject({
      deviceId: 'cuda:0',
      backend: 'cuda',
      allocatedMb: 300,
      reservedMb: 500,
      totalMb: 1000,
      availableMb: 600,
      otherProcessesMb: 100,
      utilization: 60,
      pressure: 'moderate',
      source: 'device',
      spilledMb: 7,
    });
  });

  it('measure against the budget where the platform does not tell, or where the budget is the tighter one', () => {
    const { view, monitor } = setUp();
    Object.assign(view.first, { total: null, free: null, others: null, source: 'budget', budget: 200 * 2 ** 20 });
    view.hold(100, 20);
    expect(monitor.snapshot()).toMatchObject({
      utilization: 60,
      source: 'budget',
      totalMb: 200,
      availableMb: 100,
      otherProcessesMb: null,
    });
    Object.assign(view.first, { total: 1000 * 2 ** 20, source: 'device', free: 880 * 2 ** 20 });
    expect(monitor.snapshot()).toMatchObject({ utilization: 60, source: 'budget', totalMb: 200, availableMb: 100 });
    Object.assign(view.first, { free: 50 * 2 ** 20, others: 830 * 2 ** 20 });
    expect(monitor.snapshot()).toMatchObject({ utilization: 95, source: 'device', availableMb: 70 });
  });

  it('know nothing to divide by without total and budget', () => {
    const { view, monitor } = setUp();
    Object.assign(view.first, { total: null, free: null, others: null, source: 'budget' });
    view.hold(100);
    expect(monitor.snapshot()).toMatchObject({ utilization: 0, totalMb: null, availableMb: null, pressure: 'low' });
    expect(monitor.canAllocate(1e6)).toBe(true);
    expect(monitor.isLowMemory()).toBe(false);
  });

  it('are kept in order, the last thousand of each device', () => {
    const { view, clock, monitor } = setUp({ sampleMs: false }, 'cuda:0', 'cpu');
    for (let i = 1; i <= 5; i++) {
      view.hold(i);
      monitor.recordSnapshot();
      clock.advance(10);
    }
    expect(monitor.getSnapshotHistory().map((s) => s.allocatedMb)).toEqual([1, 2, 3, 4, 5]);
    expect(monitor.getSnapshotHistory(2).map((s) => s.allocatedMb)).toEqual([4, 5]);
    expect(monitor.getSnapshotHistory(99, 'cpu').map((s) => s.deviceId)).toEqual(Array(5).fill('cpu'));
    for (let i = 6; i <= 1500; i++) {
      view.hold(i / 10);
      monitor.recordSnapshot();
    }
    const history = monitor.getSnapshotHistory();
    expect(history.length).toBe(1000);
    expect([history[0]!.allocatedMb, history[999]!.allocatedMb]).toEqual([50.1, 150]);
    const times = history.map((s) => s.timestamp);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  it('are refused for a device that is not open', () => {
    const { monitor } = setUp();
    expect(() => monitor.snapshot('cuda:7')).toThrow(/'cuda:7' is not open\n.*Open devices are cuda:0/);
    expect(() => monitor.recordSnapshot('cuda:7')).toThrow(/not open/);
  });
});

describe('room', () => {
  it('is available bytes against the size with its margin', () => {
    const { view, monitor } = setUp({ cleanupAt: false });
    view.hold(700, 190);
    expect(monitor.snapshot().availableMb).toBe(300);
    expect(monitor.canAllocate(272)).toBe(true);
    expect(monitor.canAllocate(273)).toBe(false);
    expect(monitor.canAllocate(300, 0)).toBe(true);
    expect(monitor.isLowMemory()).toBe(true);
    expect(monitor.isLowMemory(300)).toBe(false);
  });
});

describe('pressure', () => {
  it('tells of ten scripted level changes, each once, with the right levels', () => {
    const { view, monitor } = setUp({ cleanupAt: false });
    const seen: string[] = [];
    monitor.onPressure('any', (e) => seen.push(`${e.from}→${e.to}`));
    const high: number[] = [];
    monitor.onPressure('high', (e) => high.push(e.snapshot.utilization));
    for (const percent of [10, 60, 61, 59, 80, 90, 89, 85, 95, 70, 79, 81, 50, 100, 0]) {
      view.hold(percent * 10);
      monitor.recordSnapshot();
      monitor.recordSnapshot();
    }
    expect(seen).toEqual([
      'low→moderate',
      'moderate→high',
      'high→critical',
      'critical→high',
      'high→critical',
      'critical→moderate',
      'moderate→high',
      'high→low',
      'low→critical',
      'critical→low',
    ]);
    expect(high).toEqual([80, 85, 81]);
    expect(monitor.stats().pressureEvents).toEqual({ low: 2, moderate: 2, high: 3, critical: 3 });
  });

  it('is watched per device', () => {
    const { view, monitor } = setUp({ cleanupAt: false }, 'cuda:0', 'cpu');
    const seen: string[] = [];
    monitor.onPressure('critical', (e) => seen.push(e.device));
    view.hold(950, 0, view.list[1]);
    monitor.recordSnapshot();
    expect(seen).toEqual(['cpu']);
    expect([monitor.snapshot().pressure, monitor.snapshot('cpu').pressure]).toEqual(['low', 'critical']);
  });

  it('reports a callback that throws or rejects, and still calls the others', async () => {
    const { view, monitor, errors } = setUp();
    let called = 0;
    monitor.onPressure('moderate', () => {
      throw new Error('first');
    });
    monitor.onPressure('moderate', async () => {
      throw new Error('second');
    });
    const stop = monitor.onPressure('moderate', () => called++);
    view.hold(700);
    monitor.recordSnapshot();
    await Promise.resolve();
    expect(called).toBe(1);
    expect(errors).toEqual(['memory.onPressure: first', 'memory.onPressure: second']);
    stop();
    view.hold(0);
    monitor.recordSnapshot();
    view.hold(700);
    monitor.recordSnapshot();
    expect(called).toBe(1);
  });

  it('refuses a level that does not exist', () => {
    const { monitor } = setUp();
    expect(() => monitor.onPressure('extreme' as 'high', () => {})).toThrow(/level.* 'extreme'/);
  });
});

describe('clean-up', () => {
  it('reports reserved memory before and after, and what each step gave back', () => {
    const { view, monitor } = setUp();
    const order: string[] = [];
    view.rungs = [{ name: 'caches', run: () => order.push('caches') }, view.trim];
    monitor.registerCleanupCallback((id) => order.push(`mine ${id}`));
    const reports: number[] = [];
    monitor.onCleanup((r) => reports.push(r.freedMb));
    view.hold(400, 300);
    expect(monitor.cleanupMemory()).toMatchObject({
      device: 'cuda:0',
      trigger: 'request',
      beforeMb: 700,
      afterMb: 400,
      freedMb: 300,
      beforeUtil: 70,
      afterUtil: 40,
      steps: [
        { name: 'callbacks', freedMb: 0 },
        { name: 'caches', freedMb: 0 },
        { name: 'trim', freedMb: 300 },
      ],
    });
    expect(order).toEqual(['mine cuda:0', 'caches']);
    expect(reports).toEqual([300]);
  });

  it('happens exactly once when 85 % is crossed, and lowers the level', () => {
    const { view, monitor, clock } = setUp({ sampleMs: false });
    view.rungs = [view.trim];
    const seen: string[] = [];
    monitor.onPressure('any', (e) => seen.push(e.to));
    view.hold(500, 349);
    monitor.recordSnapshot();
    expect(monitor.stats().cleanups).toBe(0);
    view.hold(500, 350);
    monitor.recordSnapshot();
    expect(monitor.stats()).toMatchObject({ cleanups: 1, lastCleanupTime: clock.time });
    for (let i = 0; i < 20; i++) {
      clock.advance(500);
      monitor.recordSnapshot();
    }
    expect(monitor.stats().cleanups).toBe(1);
    expect(seen).toEqual(['high', 'low']);
  });

  it('is not repeated while it has nothing to give, until use rises or has fallen', () => {
    const { view, monitor, clock } = setUp({ sampleMs: false });
    view.rungs = [view.trim];
    const sample = (mb: number): number => {
      view.hold(mb);
      clock.advance(2000);
      monitor.recordSnapshot();
      return monitor.stats().cleanups;
    };
    expect([860, 860, 865, 870, 871, 800, 860].map(sample)).toEqual([1, 1, 1, 2, 2, 2, 3]);
  });

  it('runs at most once a second, unless memory is critical', () => {
    const { view, monitor, clock } = setUp({ sampleMs: false });
    view.rungs = [view.trim];
    const sample = (idle: number, ms: number): number => {
      view.hold(500, idle);
      clock.advance(ms);
      monitor.recordSnapshot();
      return monitor.stats().cleanups;
    };
    expect(sample(360, 0)).toBe(1);
    expect(sample(360, 400)).toBe(1);
    expect(sample(450, 0)).toBe(2);
    expect(sample(360, 999)).toBe(2);
    expect(sample(360, 1)).toBe(3);
  });

  it('does not follow every allocation of a load that lives at its limit', () => {
    const { view, monitor, clock } = setUp({ sampleMs: false });
    view.rungs = [view.trim];
    // Always critical, always a little idle: each clean-up gives something, and none helps.
    for (let i = 0; i < 1000; i++) {
      view.hold(930, 20 + (i % 40));
      clock.advance(10);
      monitor.recordSnapshot();
    }
    expect(monitor.stats().cleanups).toBe(10);
  });

  it('is not fooled by idle memory that cannot be given back', () => {
    const { view, monitor, clock } = setUp({ sampleMs: false });
    // A heap with something live at its end: all of it stays reserved.
    for (let i = 0; i < 500; i++) {
      view.hold(900 - i, i);
      clock.advance(1);
      monitor.recordSnapshot();
    }
    // Not at each of the 500: only when much has become idle since the last one.
    expect(monitor.stats().cleanups).toBeLessThanOrEqual(10);
  });

  it('leaves a budget free of idle memory that could not be given back', () => {
    const { view, monitor } = setUp({ sampleMs: false });
    Object.assign(view.first, { total: null, free: null, others: null, source: 'budget', budget: 1000 * 2 ** 20 });
    view.hold(950);
    expect(monitor.recordSnapshot().pressure).toBe('critical');
    view.hold(50, 900);
    monitor.recordSnapshot();
    expect(monitor.snapshot()).toMatchObject({ utilization: 5, pressure: 'low', reservedMb: 950, availableMb: 950 });
    // Used again, it counts again.
    view.hold(800, 150);
    expect(monitor.snapshot()).toMatchObject({ utilization: 80, pressure: 'high' });
  });

  it('can be switched off', () => {
    const { view, monitor } = setUp({ cleanupAt: false });
    view.rungs = [view.trim];
    view.hold(0, 990);
    monitor.recordSnapshot();
    expect(monitor.stats().cleanups).toBe(0);
  });

  it('goes on after a step that throws', () => {
    const { view, monitor, errors } = setUp();
    view.rungs = [
      {
        name: 'broken',
        run: () => {
          throw new Error('no');
        },
      },
      view.trim,
    ];
    view.hold(1, 9);
    expect(monitor.cleanupMemory().freedMb).toBe(9);
    expect(errors).toEqual(['memory clean-up: broken: no']);
  });

  const limit = 5000;
  const triggers: [string, (s: ReturnType<typeof setUp>, again: () => void) => void][] = [
    ['a pressure callback', ({ monitor }, again) => void monitor.onPressure('any', again)],
    ['a clean-up callback', ({ monitor }, again) => void monitor.registerCleanupCallback(again)],
    ['a report of a clean-up', ({ monitor }, again) => void monitor.onCleanup(again)],
    ['a step of a clean-up', ({ view }, again) => void view.rungs.unshift({ name: 'again', run: again })],
    ['a leak report', ({ monitor }, again) => void monitor.onLeak(again)],
  ];
  it.each(triggers)(
    'neither recurses nor waits when %s records, allocates and cleans up',
    (_, install) => {
      const all = setUp({ sampleMs: false, leaks: { windowMs: 300_000 } });
      const { view, monitor, clock, errors } = all;
      view.rungs = [view.trim];
      let calls = 0;
      let depth = 0;
      let deepest = 0;
      install(all, () => {
        calls++;
        deepest = Math.max(deepest, ++depth);
        // Swings through the levels from within: must not become an endless exchange of events.
        view.hold(calls % 2 ? 100 : 700, 250);
        monitor.noticed({ index: 0, inUse: view.first.inUse });
        monitor.recordSnapshot();
        const report = monitor.cleanupMemory();
        expect(report.freedMb).toBeGreaterThanOrEqual(0);
        depth--;
      });
      for (let i = 0; i < 30; i++) {
        clock.advance(10_000);
        view.hold(600 + 10 * i, 30);
        monitor.noticed({ index: 0, inUse: view.first.inUse });
        monitor.recordSnapshot();
      }
      expect(calls).toBeGreaterThan(0);
      expect(calls).toBeLessThan(200);
      expect(deepest).toBeLessThanOrEqual(2);
      expect(errors).toEqual([]);
    },
    limit,
  );

  it('lets an allocation loop finish that would not fit without it', () => {
    const { view, monitor } = setUp({ sampleMs: false });
    view.rungs = [view.trim];
    let refused = 0;
    for (let i = 0; i < 100; i++) {
      // Ten megabytes made and given up each round: they stay as idle blocks until somebody trims.
      if (view.first.free! < 10 * 2 ** 20) refused++;
      view.hold(10, view.first.reclaimable / 2 ** 20 + 10);
      monitor.noticed({ index: 0, inUse: 1000 * 2 ** 20 });
    }
    expect(refused).toBe(0);
    expect(monitor.stats().cleanups).toBeGreaterThanOrEqual(1);
  });
});

describe('sampling', () => {
  it('goes by the timer, which close stops', () => {
    const { monitor, clock } = setUp();
    clock.advance(5000);
    expect(monitor.getSnapshotHistory().length).toBe(5);
    monitor.close();
    clock.advance(5000);
    expect([monitor.getSnapshotHistory().length, clock.timers]).toEqual([5, 0]);
  });

  it('uses a timer that does not keep the process alive', async () => {
    const keeping = (): number => process.getActiveResourcesInfo().filter((r) => r === 'Timeout').length;
    const before = keeping();
    let ticks = 0;
    const stop = systemClock.every(1, () => ticks++);
    expect(keeping()).toBe(before);
    while (ticks < 2) await new Promise((resolve) => setTimeout(resolve, 2));
    stop();
  });

  it('goes by allocations too: every level is seen on the way up', () => {
    const { view, monitor } = setUp({ sampleMs: false, cleanupAt: false });
    const seen: string[] = [];
    monitor.onPressure('any', (e) => seen.push(`${e.to} ${Math.floor(e.snapshot.utilization)}`));
    for (let mb = 0; mb <= 1000; mb += 0.5) {
      view.hold(mb);
      monitor.noticed({ index: 0, inUse: view.first.inUse });
    }
    expect(seen).toEqual(['moderate 60', 'high 80', 'critical 90']);
    // And not at each of the 2,000.
    expect(monitor.getSnapshotHistory().length).toBeLessThan(120);
  });

  it('costs next to nothing per allocation while nothing is due', () => {
    const { view, monitor } = setUp({ sampleMs: false });
    view.hold(100);
    const place = { index: 0, inUse: view.first.inUse };
    monitor.noticed(place);
    const before = monitor.getSnapshotHistory().length;
    const rounds = 2_000_000;
    let best = Number.POSITIVE_INFINITY;
    for (let r = 0; r < 5; r++) {
      const start = performance.now();
      for (let i = 0; i < rounds; i++) monitor.noticed(place);
      best = Math.min(best, ((performance.now() - start) / rounds) * 1e6);
    }
    expect(monitor.getSnapshotHistory().length).toBe(before);
    expect(best).toBeLessThan(within(50));
  });

  it('reports an error of the view instead of failing the allocation or the timer', () => {
    const { view, monitor, clock, errors } = setUp();
    view.places = () => {
      throw new Error('gone');
    };
    monitor.noticed({ index: 0, inUse: 1 });
    clock.advance(1000);
    expect(errors).toEqual(['memory monitor: gone', 'memory monitor: gone']);
  });
});

describe('statistics', () => {
  it('count from the places, and anew after a reset', () => {
    const { view, monitor } = setUp({ cleanupAt: false, sampleMs: false });
    view.hold(300, 100);
    monitor.recordSnapshot();
    view.hold(100, 100);
    Object.assign(view.first, { allocations: 12, releases: 9, failures: 2 });
    monitor.recordSnapshot();
    expect(monitor.stats()).toMatchObject({
      peakAllocatedMb: 300,
      peakReservedMb: 400,
      totalAllocations: 12,
      totalDeallocations: 9,
      allocationFailures: 2,
      cleanups: 0,
      lastCleanupTime: null,
      avgUtilization: 30,
      leakReports: [],
    });
    expect(monitor.memoryStats()).toMatchObject({
      'allocation.all.current': 3,
      'allocated_bytes.all.peak': 300 * 2 ** 20,
      'reserved_bytes.all.current': 200 * 2 ** 20,
      'inactive_bytes.all.current': 100 * 2 ** 20,
      num_ooms: 2,
    });
    monitor.resetStats();
    view.first.allocations += 1;
    expect(monitor.stats()).toMatchObject({
      peakAllocatedMb: 100,
      peakReservedMb: 200,
      totalAllocations: 1,
      totalDeallocations: 0,
      allocationFailures: 0,
    });
  });

  it('keep the leak reports: fifteen samples on a ramp give one', () => {
    const { view, monitor, clock } = setUp({ sampleMs: false });
    const told: number[] = [];
    monitor.onLeak((r) => told.push(r.mbPerMinute));
    for (let i = 0; i < 15; i++) {
      view.hold(100 + 10 * i);
      view.held.push(holder(10 * 2 ** 20, 'app.ts:7'));
      monitor.recordSnapshot();
      clock.advance(5000);
    }
    expect(told.length).toBe(1);
    expect(told[0]).toBeCloseTo(120, 0);
    const [report] = monitor.stats().leakReports;
    expect(report!.sites[0]).toMatchObject({ site: 'app.ts:7' });
  });
});
