import { describe, expect, it } from 'vitest';
import { ChunkSizer } from './sizer.ts';

/** Runs items through a sizer; `cost` gives the ms of a chunk, or null if it does not fit. */
function simulate(sizer: ChunkSizer, items: number, cost: (size: number) => number | null) {
  const sizes: number[] = [];
  let failures = 0;
  let settledAfter = 0;
  for (let left = items; left > 0; ) {
    const size = sizer.next(left);
    const ms = cost(size);
    if (ms === null) {
      failures++;
      sizer.failed(size);
      continue;
    }
    sizer.succeeded(size, ms);
    sizes.push(size);
    left -= size;
    if (!sizer.settled && sizes.length < 60) settledAfter = sizes.length;
  }
  return { sizes, failures, settledAfter };
}

/** The size of most chunks. */
function usual(sizes: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const n of sizes) counts.set(n, (counts.get(n) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]![0];
}

describe('a chunk sizer', () => {
  it('grows while the throughput rises, and settles within ten chunks', () => {
    const { sizes, settledAfter } = simulate(new ChunkSizer(), 1e6, (n) => 1 + n * 0.001);
    expect(settledAfter).toBeLessThan(10);
    expect(sizes.at(-2)).toBeGreaterThan(1000);
  });

  it('goes down where less is more', () => {
    const { sizes, settledAfter } = simulate(new ChunkSizer({ start: 64 }), 1500, (n) => n * (1 + n / 10));
    expect(settledAfter).toBeLessThanOrEqual(12);
    expect(usual(sizes)).toBeLessThanOrEqual(4);
  });

  it('stays where it is if it was told to, and if nothing helps', () => {
    expect(new Set(simulate(new ChunkSizer({ start: 10, grow: false }), 100, (n) => n).sizes)).toEqual(new Set([10]));
    const { sizes } = simulate(new ChunkSizer({ start: 100 }), 100_000, (n) => n);
    expect(usual(sizes)).toBe(100);
  });

  it('is not led astray by a pause of the machine, and finds back if it was', () => {
    let chunk = 0;
    const slow = new Set([2, 3, 9, 30, 31]);
    const { sizes } = simulate(new ChunkSizer(), 2e6, (n) => (1 + n * 0.001) * (slow.has(chunk++) ? 20 : 1));
    expect(Math.max(...sizes.slice(-40))).toBeGreaterThan(1000);
  });

  it('looks at a size once more before it gives it up', () => {
    const sizer = new ChunkSizer({ start: 100 });
    for (const ms of [100, 100]) sizer.succeeded(100, ms);
    expect(sizer.size).toBe(400);
    // Twice the machine was busy with something else; the third chunk shows what the size is worth.
    for (const ms of [400, 400]) sizer.succeeded(400, ms);
    expect([sizer.size, sizer.settled]).toEqual([400, false]);
    sizer.succeeded(400, 100);
    expect(sizer.size).toBe(1600);
  });

  it('does not take the remainder of a batch for a measurement', () => {
    const sizer = new ChunkSizer({ start: 100 });
    for (let i = 0; i < 10; i++) sizer.succeeded(3, 1);
    expect(sizer.size).toBe(100);
  });

  it.each(Array.from({ length: 100 }, (_, i) => i + 1))(
    'finds a size that fits into room for %i, in few attempts',
    (room) => {
      const sizer = new ChunkSizer({ start: 100 });
      const { failures, sizes } = simulate(sizer, 3000, (n) => (n > room ? null : 1 + n * 0.01));
      expect(failures).toBeLessThanOrEqual(Math.log2(100) + 4);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(room);
      expect(sizer.size).toBeGreaterThanOrEqual(Math.floor(room / 2));
    },
  );

  it('says when nothing is small enough', () => {
    const sizer = new ChunkSizer({ start: 2 });
    expect(sizer.failed(2)).toBe(true);
    expect(sizer.failed(1)).toBe(false);
    expect(sizer.next(5)).toBe(1);
  });
});
