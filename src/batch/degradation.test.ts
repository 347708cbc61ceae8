import { describe, expect, it } from 'vitest';
import { TestClock } from '../../test/support/facade.ts';
import { DegradationHandler, type DegradationState } from './degradation.ts';

type Told = DegradationState & { readonly at: number };

interface Load {
  /** How slow the first device is at a time, in seconds. */
  readonly factor: (s: number) => number;
  /** How slow the other one is, against the first in normal times; none without it. */
  readonly other?: (s: number) => number;
  /** Bytes of a chunk at a time. */
  readonly bytes?: (s: number, random: number) => number;
}

/** Ten chunks a second. Tells what was told, and where each chunk ran. */
function run(seconds: number, { factor, other, bytes = (_s, r) => 1e6 * (1 + 3 * r) }: Load) {
  const clock = new TestClock();
  const told: Told[] = [];
  const ran: { device: string; purpose: string; at: number }[] = [];
  const handler = new DegradationHandler(clock, (state) => told.push({ ...state, at: clock.time }));
  let seed = 3;
  const random = (): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  for (let i = 0; i < seconds * 10; i++) {
    const s = i / 10;
    const way = handler.way('gpu', 'op', 1000);
    const size = bytes(s, random()) * way.scale;
    const slowness = way.device === 'gpu' ? factor(s) : other!(s);
    const ms = (0.2 + size / 1e6) * slowness * (1 + 0.1 * (random() - 0.5));
    handler.note(way, size, ms, () => (other ? 'cpu' : undefined));
    ran.push({ device: way.device, purpose: way.purpose, at: clock.time });
    clock.time += 100;
  }
  return { told, ran };
}

describe('a slow-down of a device', () => {
  it('that lasts moves the work to a faster device, is told once, and ends when the first one is well', () => {
    const { told, ran } = run(300, { factor: (s) => (s > 30 && s < 90 ? 4 : 1), other: () => 2 });
    expect(told.map((t) => t.action)).toEqual(['moved', 'ended']);
    expect(told[0]).toMatchObject({ device: 'gpu', operation: 'op', to: 'cpu' });
    expect(told[0]!.slowdown).toBeCloseTo(4, 0);
    expect(told[0]!.at).toBeLessThan(36_000);
    expect(told[1]!.at).toBeGreaterThan(90_000);
    // Tried 10, 30, 70 s after the move: well by the third time.
    expect(told[1]!.at).toBeLessThan(36_000 + 72_000);
    expect(ran.at(-1)).toMatchObject({ device: 'gpu', purpose: 'work' });
  });

  it('costs two chunks per trial, and trials become rare', () => {
    const { told, ran } = run(1800, { factor: (s) => (s > 30 ? 4 : 1), other: () => 2 });
    expect(told.map((t) => t.action)).toEqual(['moved']);
    const trials = ran.filter((r) => r.purpose === 'trial');
    expect(trials.length).toBeGreaterThanOrEqual(12);
    expect(trials.length).toBeLessThanOrEqual(22);
    const away = ran.filter((r) => r.at > told[0]!.at);
    expect(away.filter((r) => r.device === 'gpu')).toHaveLength(trials.length);
  });

  it('makes chunks smaller where no other device is faster, or there is none', () => {
    for (const other of [undefined, () => 20]) {
      const { told, ran } = run(200, { factor: (s) => (s > 30 && s < 90 ? 2.5 : 1), ...(other && { other }) });
      expect(told.map((t) => t.action)).toEqual(['smaller chunks', 'ended']);
      expect(told[0]).toMatchObject({ device: 'gpu', to: 'gpu' });
      // Finding out costs two small chunks.
      expect(ran.filter((r) => r.device === 'cpu')).toHaveLength(other ? 2 : 0);
    }
  });

  it('stays where it is if another device would gain less than a tenth', () => {
    const moves = (other: number): string | undefined =>
      run(60, { factor: (s) => (s > 30 ? 3 : 1), other: () => other }).told[0]?.action;
    expect([1.5, 2.6, 3.5].map(moves)).toEqual(['moved', 'smaller chunks', 'smaller chunks']);
  });

  it('that is short, small, or only larger work, changes nothing', () => {
    const other = () => 0.5;
    expect(run(120, { factor: (s) => (s % 30 < 1 ? 4 : 1), other }).told).toEqual([]);
    expect(run(120, { factor: (s) => (s > 40 ? 1.2 : 1), other }).told).toEqual([]);
    expect(run(120, { factor: () => 1, other, bytes: (s) => (s > 40 ? 1e8 : 1e3) }).told).toEqual([]);
    // A fixed cost that is most of the time says nothing about work a thousand times as large.
    expect(run(120, { factor: () => 1, other, bytes: (s) => (s > 40 ? 1e6 : 1e3) }).told).toEqual([]);
  });

  it('that comes and goes changes something every ten seconds at most', () => {
    for (const period of [4, 7, 11, 20, 33]) {
      const { told } = run(300, { factor: (s) => (s > 20 && s % period < period / 2 ? 3 : 1), other: () => 2 });
      for (const [i, { at }] of told.slice(1).entries()) expect(at - told[i]!.at).toBeGreaterThanOrEqual(10_000);
    }
  });

  it('that stays for good becomes the normal state, and work comes home if the other device becomes slower still', () => {
    expect(run(1500, { factor: (s) => (s > 30 ? 2 : 1) }).told.map((t) => t.action)).toEqual([
      'smaller chunks',
      'ended',
    ]);
    const both = run(600, { factor: (s) => (s > 30 ? 4 : 1), other: (s) => (s > 100 ? 9 : 2) });
    expect(both.told.map((t) => t.action)).toEqual(['moved', 'ended']);
    expect(both.ran.at(-1)!.device).toBe('gpu');
  });
});
