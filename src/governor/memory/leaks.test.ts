import { describe, expect, it } from 'vitest';
import { holder } from '../../../test/support/memory.ts';
import { LeakDetector, type LeakReport } from './leaks.ts';
import { defaultLeaks } from './options.ts';
import type { Holder } from './view.ts';

const MB = 2 ** 20;
const none = (): Iterable<Holder> => [];

/** Feeds `bytes(t)`, t in seconds, and returns the reports with their times. */
function feed(
  bytes: (t: number) => number,
  seconds: number,
  every = 1,
  detector = new LeakDetector('cuda:0', defaultLeaks),
  from = 0,
): (LeakReport & { at: number })[] {
  const reports: (LeakReport & { at: number })[] = [];
  for (let t = from; t < from + seconds; t += every) {
    const report = detector.sample(t * 1000, bytes(t), none, 10_000 * MB - bytes(t));
    if (report) reports.push({ ...report, at: t });
  }
  return reports;
}

/** The same every time: a pseudo-random number in 0 … 1 for each whole number. */
const noise = (i: number): number => {
  let x = Math.imul(Math.floor(i) ^ 0x9e3779b9, 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
};

describe('a leak is found', () => {
  it('on a slow ramp, with its slope and the time until the device is full', () => {
    const [first, ...more] = feed((t) => (100 + t / 2) * MB, 300);
    expect(more).toEqual([]);
    expect(first!.mbPerMinute).toBeCloseTo(30, 6);
    expect(first!.minutesToFull).toBeCloseTo((10_000 - 100 - first!.at / 2) / 30, 6);
    expect(first!.at).toBeLessThanOrEqual(120);
  });

  it('on a ramp from nothing', () => {
    expect(feed((t) => t * 0.1 * MB, 300).length).toBe(1);
    // Nothing for a minute, then growth.
    expect(feed((t) => Math.max(0, t - 60) * MB, 300).length).toBe(1);
  });

  it('on a ramp with noise', () => {
    const found = feed((t) => (200 + t + 60 * noise(t)) * MB, 600);
    expect(found.length).toBeGreaterThanOrEqual(1);
    expect(found[0]!.mbPerMinute).toBeGreaterThan(20);
  });

  it('under a saw-tooth whose floor rises', () => {
    const found = feed((t) => (100 + t + (t % 10) * 20) * MB, 600);
    expect(found.length).toBeGreaterThanOrEqual(1);
  });

  it('again after each further window in which it goes on', () => {
    const found = feed((t) => (100 + t) * MB, 1500);
    expect(found.length).toBeGreaterThanOrEqual(4);
    expect(found.length).toBeLessThanOrEqual(5);
  });

  it('after a short peak at the start that was released', () => {
    const load = (t: number): number => (t < 20 ? 50 * t : 50 + 0.5 * (t - 20)) * MB;
    expect(feed(load, 900).length).toBeGreaterThanOrEqual(1);
  });

  it('with few samples, far apart', () => {
    expect(feed((t) => (10 + t) * MB, 300, 25).length).toBe(1);
  });
});

it('at least 95 of 100 planted leaks are found, with noise on them and from zero', () => {
  let found = 0;
  for (let k = 0; k < 100; k++) {
    const from = k % 3 === 0 ? 0 : 50;
    const slope = 0.1 + 0.2 * ((k % 7) / 7);
    if (feed((t) => (from + slope * t + noise(1000 * k + t)) * MB, 600).length > 0) found++;
  }
  expect(found).toBeGreaterThanOrEqual(95);
});

describe('nothing is said', () => {
  it('of a constant load', () => {
    expect(feed(() => 500 * MB, 3600)).toEqual([]);
    expect(feed(() => 0, 3600)).toEqual([]);
  });

  it('of a saw-tooth', () => {
    for (const period of [5, 17, 30, 60])
      expect(
        feed((t) => (100 + ((t % period) / period) * 400) * MB, 7200),
        `${period} s`,
      ).toEqual([]);
  });

  it('more than once of a saw-tooth that is longer than the window, however often it comes back', () => {
    for (const period of [120, 280, 300, 301, 450, 1800])
      expect(
        feed((t) => (100 + ((t % period) / period) * 400) * MB, 43_200, 2).filter((r) => r.at > period),
        `${period} s`,
      ).toEqual([]);
  });

  it('of a single step, early or late', () => {
    for (const at of [30, 150, 200, 250, 290]) expect(feed((t) => (t < at ? 10 : 200) * MB, 300)).toEqual([]);
  });

  it('of a ramp that has been released again', () => {
    const load = (t: number): number => (t < 50 ? 10 + 10 * t : 10) * MB;
    expect(feed(load, 300)).toEqual([]);
  });

  it('of requests that grow and are given back, while little stays', () => {
    // The mean rises by about 120 MB from the first third to the last, the least by a tenth of that.
    const load = (t: number): number => (100 + t / 16 + (t % 10 < 5 ? 0 : t)) * MB;
    expect(feed(load, 300)).toEqual([]);
    // With as much again that stays, it is a leak.
    expect(feed((t) => load(t) + t * MB, 300)).toHaveLength(1);
  });

  it('of growth below a megabyte', () => {
    expect(feed((t) => 1000 + t * 2000, 300)).toEqual([]);
  });

  it('before ten samples and a minute', () => {
    expect(feed((t) => (1 + t * 10) * MB, 60)).toEqual([]);
    expect(feed((t) => (1 + t) * MB, 270, 30)).toEqual([]);
  });

  it('of a whole day of steady noise, or of a daily rhythm with teeth', () => {
    expect(feed((t) => (1000 + 200 * noise(t)) * MB, 86_400)).toEqual([]);
    // Requests that come and go, half a minute each, more of them by day: slow swings stay below a fifth per window.
    const day = (t: number): number => 2000 + 500 * Math.sin((t / 86_400) * 2 * Math.PI) + ((t % 30) / 30) * 800;
    expect(feed((t) => day(t) * MB, 86_400)).toEqual([]);
  });

  it('of a day of batches of all sizes that are freed', () => {
    // A new batch every twenty seconds, between 10 and 1,000 MB, freed at its end.
    expect(feed((t) => (300 + (t % 20 < 15 ? 10 + 990 * noise(t / 20) : 0)) * MB, 86_400)).toEqual([]);
  });
});

describe('a report', () => {
  it('names the lines that made what stayed, fastest first, with their slopes', () => {
    const detector = new LeakDetector('cuda:0', defaultLeaks);
    const held: Holder[] = [holder(500 * MB, 'model.ts:3')];
    let report: LeakReport | null = null;
    for (let t = 0; t < 200 && !report; t++) {
      held.push(holder(2 * MB, 'cache.ts:10'));
      if (t % 2) held.push(holder(2 * MB, 'log.ts:5'));
      held.push(holder(99 * MB, 'elsewhere.ts:1', { device: 'cpu' }));
      const live = held.filter((h) => h.device === 'cuda:0').reduce((n, h) => n + h.bytes, 0);
      report = detector.sample(t * 1000, live, () => held, null);
    }
    expect(report!.sites.map((s) => s.site)).toEqual(['cache.ts:10', 'log.ts:5']);
    const [cache, log] = report!.sites;
    expect(cache!.mbPerMinute).toBeCloseTo(120, 0);
    expect(log!.mbPerMinute).toBeCloseTo(60, 0);
    expect(cache!.count).toBe(held.filter((h) => h.site === 'cache.ts:10').length);
    expect(report!.minutesToFull).toBeNull();
  });

  it('counts holders rarely: five times a window and once for the report', () => {
    const detector = new LeakDetector('cuda:0', defaultLeaks);
    let counted = 0;
    const count = (): Iterable<Holder> => {
      counted++;
      return [];
    };
    for (let t = 0; t < 600; t++) detector.sample(t * 1000, 5 * MB, count, null);
    expect(counted).toBe(10);
  });
});

describe('time', () => {
  it('that runs backwards starts the window anew', () => {
    const detector = new LeakDetector('cuda:0', defaultLeaks);
    expect(feed((t) => (100 + t) * MB, 50, 1, detector, 1000)).toEqual([]);
    expect(feed((t) => (100 + t) * MB, 50, 1, detector, 0)).toEqual([]);
  });
});
