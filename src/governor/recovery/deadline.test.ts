import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { DeviceLost } from '../../errors.ts';
import { withDeadline } from './deadline.ts';
import { Aborted, DeadlineExceeded } from './errors.ts';

const lost = new DeviceLost({ code: 'X', message: 'it failed', fix: 'none', where: 'test' });

describe('withDeadline', () => {
  it('settles as the promise does, and leaves no timer', async () => {
    const clock = new ManualClock();
    expect(await withDeadline(Promise.resolve(1), 100, { what: 'test', clock })).toBe(1);
    await expect(withDeadline(Promise.reject(lost), 100, { what: 'test', clock })).rejects.toBe(lost);
    expect(clock.pending).toBe(0);
  });

  it('leaves no listener at a signal that outlives it', async () => {
    const clock = new ManualClock();
    const { signal } = new AbortController();
    const options = { what: 'test', clock, signal };
    await withDeadline(Promise.resolve(1), 100, options);
    await withDeadline(Promise.reject(lost), 100, options).catch(() => {});
    const late = withDeadline(new Promise(() => {}), 100, options).catch(() => {});
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await clock.advance(100);
    await late;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('ends a wait that takes too long, by name', async () => {
    const clock = new ManualClock();
    const result = withDeadline(new Promise(() => {}), 100, { what: 'read (cuda:0)', clock }).catch((e: unknown) => e);
    await clock.advance(100);
    const error = (await result) as DeadlineExceeded;
    expect(error).toBeInstanceOf(DeadlineExceeded);
    expect([error.limitMs, error.message]).toEqual([
      100,
      expect.stringContaining('read (cuda:0): no answer within 100 ms'),
    ]);
    expect(clock.pending).toBe(0);
  });

  it('ends with the signal, and takes its listener away', async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    const result = withDeadline(new Promise(() => {}), 100, { what: 'test', clock, signal: stop.signal });
    stop.abort();
    await expect(result).rejects.toThrow(Aborted);
    await expect(withDeadline(new Promise(() => {}), 9, { what: 't', clock, signal: stop.signal })).rejects.toThrow(
      Aborted,
    );
    expect(clock.pending).toBe(0);
  });

  it('takes no notice of a failure that comes too late', async () => {
    const clock = new ManualClock();
    let fail: (e: unknown) => void = () => {};
    const late = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const result = withDeadline(late, 5, { what: 'test', clock });
    const seen = expect(result).rejects.toThrow(DeadlineExceeded);
    await clock.advance(5);
    fail(lost);
    await seen;
    await new Promise((r) => setImmediate(r));
  });

  it('sets no timer for an infinite limit', async () => {
    const clock = new ManualClock();
    const result = withDeadline(Promise.resolve(3), Number.POSITIVE_INFINITY, { what: 'test', clock });
    expect([clock.pending, await result]).toEqual([0, 3]);
  });
});
