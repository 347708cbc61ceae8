import { describe, expect, it } from 'vitest';
import { DeviceLost, ForgeError, KernelError, OutOfMemory, ShapeError } from '../../errors.ts';
import { ManualClock } from './clock.ts';
import { withDeadline } from './deadline.ts';
import { Aborted, DeadlineExceeded, RecoveryExhausted, TransientError } from './errors.ts';
import { reactionTo, retry, retrySync } from './retry.ts';

const info = { code: 'X', message: 'it failed', fix: 'none', where: 'test' };
const transient = new TransientError(info);
const kernel = new KernelError({ ...info, source: '' });
const noRoom = new OutOfMemory({ ...info, requested: 1, available: 0 });
const lost = new DeviceLost(info);

/** Fails with each error in turn, then gives 42. */
function failing(...errors: unknown[]): { work: () => number; calls: () => number } {
  let calls = 0;
  return {
    work: () => {
      const error = errors[calls++];
      if (error !== undefined) throw error;
      return 42;
    },
    calls: () => calls,
  };
}

describe('retry', () => {
  it('waits 50 and 200 ms between three attempts', async () => {
    const clock = new ManualClock();
    const { work, calls } = failing(transient, transient);
    const waits: number[] = [];
    const result = retry(work, { what: 'test', clock, onRetry: (_, __, ms) => waits.push(ms) });
    await clock.advance(49);
    expect(calls()).toBe(1);
    await clock.advance(1);
    expect(calls()).toBe(2);
    await clock.advance(199);
    expect(calls()).toBe(2);
    await clock.advance(1);
    expect(await result).toBe(42);
    expect([waits, clock.pending]).toEqual([[50, 200], 0]);
  });

  it('ends a fault that never goes away after exactly the configured attempts, without growing the stack', async () => {
    const depths: number[] = [];
    const work = (): never => {
      depths.push(new Error().stack!.split('\n').length);
      throw transient;
    };
    const error = await retry(work, { what: 'op', attempts: 6, backoffMs: [0] }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(RecoveryExhausted);
    const { attempts, cause } = error as RecoveryExhausted;
    expect(attempts.map((a) => [a.attempt, a.error])).toEqual([1, 2, 3, 4, 5, 6].map((n) => [n, transient]));
    expect(cause).toBe(transient);
    expect(depths).toHaveLength(6);
    expect(Math.max(...depths.slice(1))).toBe(Math.min(...depths.slice(1)));
  });

  it('never retries a wrong argument or a bug', async () => {
    for (const error of [new ShapeError(info), new TypeError('bug'), new ForgeError(info)]) {
      const { work, calls } = failing(error);
      await expect(retry(work, { what: 'test' })).rejects.toBe(error);
      expect(calls()).toBe(1);
    }
  });

  it('tries a failed kernel once more', async () => {
    const clock = new ManualClock();
    const twice = failing(kernel, kernel, undefined);
    const result = retry(twice.work, { what: 'test', clock }).catch((e: unknown) => e);
    await clock.advance(1000);
    expect(await result).toBeInstanceOf(RecoveryExhausted);
    expect(twice.calls()).toBe(2);
  });

  it('makes room where it is told how, and passes the error on where it cannot', async () => {
    const { work } = failing(noRoom);
    expect(await retry(work, { what: 'test', makeRoom: () => true })).toBe(42);
    await expect(retry(failing(noRoom).work, { what: 'test' })).rejects.toBe(noRoom);
    await expect(retry(failing(noRoom).work, { what: 'test', makeRoom: async () => false })).rejects.toBe(noRoom);
  });

  it('resets a device at most once per call', async () => {
    let resets = 0;
    const reset = async (): Promise<boolean> => ++resets > 0;
    expect(await retry(failing(lost).work, { what: 'test', reset })).toBe(42);
    await expect(retry(failing(lost, lost).work, { what: 'test', reset })).rejects.toBe(lost);
    expect(resets).toBe(2);
  });

  it('stops when it is aborted, also in the middle of a wait', async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    const result = retry(failing(transient).work, { what: 'test', clock, signal: stop.signal }).catch(
      (e: unknown) => e,
    );
    await clock.advance(10);
    stop.abort('enough');
    const error = await result;
    expect(error).toBeInstanceOf(Aborted);
    expect([(error as Aborted).cause, clock.pending]).toEqual(['enough', 0]);
    await expect(retry(() => 1, { what: 'test', signal: stop.signal })).rejects.toThrow(Aborted);
  });

  it('has a synchronous form that does not wait', () => {
    expect(retrySync(failing(transient, transient).work, { what: 'test' })).toBe(42);
    expect(() => retrySync(failing(transient, transient, transient).work, { what: 'test' })).toThrow(RecoveryExhausted);
    expect(() => retrySync(failing(lost).work, { what: 'test' })).toThrow(lost);
    expect(retrySync(failing(noRoom).work, { what: 'test', makeRoom: () => true })).toBe(42);
  });
});

describe('what helps against an error', () => {
  it('is decided by its class and code', () => {
    const cuda = new ForgeError({ ...info, code: 'CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES' });
    expect([transient, kernel, noRoom, lost, cuda, new Error('x'), null].map(reactionTo)).toEqual([
      'again',
      'once',
      'make-room',
      'reset',
      'again',
      'never',
      'never',
    ]);
  });
});

describe('withDeadline', () => {
  it('settles as the promise does, and leaves no timer', async () => {
    const clock = new ManualClock();
    expect(await withDeadline(Promise.resolve(1), 100, { what: 'test', clock })).toBe(1);
    await expect(withDeadline(Promise.reject(lost), 100, { what: 'test', clock })).rejects.toBe(lost);
    expect(clock.pending).toBe(0);
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
