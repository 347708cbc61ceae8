// Planted anomalies must be found, steady loads must stay silent. All randomness comes from seeds.

import { describe, expect, it } from 'vitest';
import { seededRandom as random } from '../base/seeded.ts';
import { type Anomaly, AnomalyDetector, RateDetector, StepDetector } from './anomaly.ts';

/** A normal deviate. */
const normal = (r: () => number): number => Math.sqrt(-2 * Math.log(1 - r())) * Math.cos(2 * Math.PI * r());

/** Latencies as they are: log-normal noise, now and then a pause of the collector. */
const latency = (r: () => number, base: number): number =>
  base * Math.exp(0.15 * normal(r)) + (r() < 0.02 ? 5 * base * r() : 0);

const hour = 3600;
const trials = 60;

describe('a step in latency', () => {
  it('is found in at least 95 of 100 cases, within 30 samples', () => {
    let found = 0;
    for (let seed = 1; seed <= trials; seed++) {
      const r = random(seed);
      const detector = new StepDetector('op');
      const factor = 1.5 + r();
      for (let i = 0; i < 150; i++) detector.add(latency(r, 2));
      let hit = false;
      for (let i = 0; i < 30 && !hit; i++) hit = detector.add(latency(r, 2 * factor)) !== null;
      if (hit) found++;
    }
    expect(found / trials).toBeGreaterThanOrEqual(0.95);
  });

  it('is one from 1.3 times the usual on, however steady the load is', () => {
    const found = (factor: number): boolean => {
      const detector = new StepDetector('op');
      for (let i = 0; i < 150; i++) detector.add(2);
      return Array.from({ length: 60 }, () => detector.add(2 * factor)).some((a) => a !== null);
    };
    expect([1.25, 1.29, 1.31].map(found)).toEqual([false, false, true]);
  });

  it('is not seen in an hour of steady load, noisy as it is', () => {
    let alarms = 0;
    for (let seed = 1; seed <= 10; seed++) {
      const r = random(1000 + seed);
      const detector = new StepDetector('op');
      for (let i = 0; i < hour; i++) if (detector.add(latency(r, 2))) alarms++;
    }
    expect(alarms).toBeLessThanOrEqual(10);
  });

  it('is told once, and the new level is the usual one afterwards', () => {
    const r = random(5);
    const detector = new StepDetector('op');
    const alarms: Anomaly[] = [];
    const note = (a: Anomaly | null): void => {
      if (a) alarms.push(a);
    };
    for (let i = 0; i < 200; i++) note(detector.add(latency(r, 1)));
    for (let i = 0; i < 400; i++) note(detector.add(latency(r, 3)));
    expect(alarms).toHaveLength(1);
    expect(alarms[0]!.value / alarms[0]!.baseline).toBeGreaterThan(1.5);
    expect(alarms[0]!.message).toMatch(/times the usual time/);
  });
});

describe('rates', () => {
  const detect = (kind: 'errors' | 'hit-rate', usual: number, then: number, count: number, seed: number): boolean => {
    const r = random(seed);
    const detector = new RateDetector(kind);
    for (let i = 0; i < 500; i++) detector.add(r() < usual);
    for (let i = 0; i < count; i++) if (detector.add(r() < then)) return true;
    return false;
  };

  it.each<['errors' | 'hit-rate', number, number]>([
    ['errors', 0.005, 0.3],
    ['errors', 0, 0.3],
    ['hit-rate', 0.99, 0.6],
  ])('of %s that change from %f to %f are found', (kind, usual, then) => {
    let found = 0;
    for (let seed = 1; seed <= trials; seed++) if (detect(kind, usual, then, 80, seed)) found++;
    expect(found / trials).toBeGreaterThanOrEqual(0.95);
  });

  it.each<['errors' | 'hit-rate', number]>([
    ['errors', 0.01],
    ['errors', 0],
    ['hit-rate', 0.97],
    ['hit-rate', 0.5],
  ])('of %s that stay at %f are silent for an hour', (kind, usual) => {
    let alarms = 0;
    for (let seed = 1; seed <= 5; seed++) {
      const r = random(seed);
      const detector = new RateDetector(kind);
      for (let i = 0; i < hour; i++) if (detector.add(r() < usual)) alarms++;
    }
    expect(alarms).toBeLessThanOrEqual(5);
  });
});

it('all detectors together tell what they found', () => {
  const found: string[] = [];
  const detector = new AnomalyDetector((a) => found.push(a.kind));
  const r = random(3);
  for (let i = 0; i < 200; i++) {
    detector.latency('x', latency(r, 1));
    detector.outcome(false);
    detector.request(true);
  }
  for (let i = 0; i < 400; i++) {
    detector.latency('x', latency(r, 4));
    detector.outcome(r() < 0.5);
    detector.request(r() < 0.5);
  }
  detector.memory({
    device: 'cuda:0',
    timestamp: 0,
    windowMs: 60_000,
    fromMb: 10,
    toMb: 20,
    mbPerMinute: 10,
    minutesToFull: null,
    sites: [],
  });
  expect([...new Set(found)].sort()).toEqual(['errors', 'hit-rate', 'latency', 'memory']);
});
