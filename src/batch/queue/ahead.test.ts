import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Ahead } from './ahead.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** One with so many chunks at once, and what it asked to be fetched. */
function ahead(concurrency: number): { of: Ahead; asked: number[] } {
  const asked: number[] = [];
  return { of: new Ahead(concurrency, (chunks) => asked.push(chunks)), asked };
}

describe('chunks that are fetched ahead', () => {
  it('run as many at once as the worker was told, in the order they came', async () => {
    const { of } = ahead(2);
    expect([of.enter(), of.enter()]).toEqual([true, true]);
    const started: number[] = [];
    const waiting = [0, 1, 2].map(async (i) => {
      if (await of.enter()) started.push(i);
    });
    await vi.advanceTimersByTimeAsync(1);
    expect(started).toEqual([]);
    of.left(1);
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toEqual([0]);
    of.left(1);
    of.left(1);
    await Promise.all(waiting);
    expect(started).toEqual([0, 1, 2]);
  });

  it('are more, the shorter they are; none before two have shown it, and none of long ones', () => {
    const { of, asked } = ahead(1);
    const took = (...times: readonly number[]): number | undefined => {
      for (const ms of times) {
        of.enter();
        of.left(ms);
      }
      return asked.at(-1);
    };
    expect(took(20)).toBeUndefined();
    expect(took(20)).toBe(2);
    expect(took(1, 1, 1, 1)).toBe(7);
    expect(took(0, 0, 0, 0)).toBe(17);
    expect(took(51)).toBe(1);
    expect(took(0, 0, 0)).toBe(1);
    expect(took(0)).toBe(17);
  });

  it('go back to the queue if one before them takes long, and no more are fetched', async () => {
    const { of, asked } = ahead(1);
    for (const ms of [1, 1]) {
      of.enter();
      of.left(ms);
    }
    expect(of.enter()).toBe(true);
    const next = of.enter();
    await vi.advanceTimersByTimeAsync(99);
    expect(asked.at(-1)).toBeGreaterThan(1);
    await vi.advanceTimersByTimeAsync(2);
    expect(await next).toBe(false);
    expect(asked.at(-1)).toBe(1);
    of.left(5000);
    expect(of.enter()).toBe(true);
    of.left(1);
  });

  it('of a parcel are kept if they will have run in a moment, else as many as would have been fetched', () => {
    const { of, asked } = ahead(2);
    // Nobody knows how long they take: as many as there are free places.
    expect(of.keeps(20)).toBe(2);
    of.enter();
    expect(of.keeps(20)).toBe(1);
    of.left(1);
    of.enter();
    of.left(1);
    expect(of.keeps(20)).toBe(20);
    expect(of.keeps(50)).toBe(8);
    of.carried(20);
    expect(asked.at(-1)).toBe(2);
    of.carried(1);
    expect(asked.at(-1)).toBe(8);
    for (const ms of [60, 60]) {
      of.enter();
      of.left(ms);
    }
    of.enter();
    of.enter();
    expect(of.keeps(20)).toBe(0);
    of.close();
    expect(of.keeps(1)).toBe(0);
  });

  it('go back to the queue when the worker closes, also those that come later', async () => {
    const { of, asked } = ahead(1);
    for (const ms of [1, 1]) {
      of.enter();
      of.left(ms);
    }
    of.enter();
    const next = of.enter();
    of.close();
    expect(await next).toBe(false);
    expect(await of.enter()).toBe(false);
    expect(asked.at(-1)).toBe(1);
    of.left(1);
    of.left(1);
    expect(asked.at(-1)).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
