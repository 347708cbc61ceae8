import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Driver, status } from './driver.ts';
import { Waits, whenDone } from './waits.ts';

/** A clock of its own: looking takes 5 µs, a timer 0.1 ms longer than asked for. */
let time = 0;
/** When the device is done. */
let end = 0;
let [looks, timers, parked] = [0, 0, 0];
let answer: number = status.success;

const driver = {
  call: {
    cuEventQuery: () => {
      looks++;
      return time >= end ? status.success : status.notReady;
    },
    cuEventSynchronize: {
      threaded: async () => {
        parked++;
        if (answer === status.success) time = Math.max(time, end) + 0.4;
        return answer;
      },
    },
  },
  error: (code: number) => new Error(`code ${code}`),
} as unknown as Driver;

/** Waits for something that takes so long; how late its end was told. */
async function late(waits: Waits, ms: number): Promise<number> {
  [looks, timers, parked] = [0, 0, 0];
  end = time + ms;
  await whenDone(driver, 1, waits);
  return time - end;
}

beforeEach(() => {
  answer = status.success;
  vi.spyOn(performance, 'now').mockImplementation(() => (time += 0.005));
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((call: () => void, ms: number) => {
    setImmediate(() => {
      timers++;
      time += ms + 0.1;
      call();
    });
  }) as unknown as typeof setTimeout);
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a wait for the device', () => {
  it('looks between turns of the loop as long as it is short', async () => {
    expect(await late(new Waits(), 1.9)).toBeLessThan(0.05);
    expect(parked + timers).toBe(0);
  });

  it('is left to another thread the first time that it is long', async () => {
    expect(await late(new Waits(), 10)).toBeGreaterThan(0.3);
    expect(parked).toBe(1);
  });

  it.each([3, 10, 30, 90])('is told at once where waits of %i ms follow each other', async (ms) => {
    const waits = new Waits();
    for (let i = 0; i < 6; i++) await late(waits, ms * (1 + 0.02 * Math.sin(i)));
    expect(await late(waits, ms)).toBeLessThan(0.05);
    expect(parked).toBe(0);
    // Mostly asleep: each look took 10 µs at least.
    if (ms > 10) expect(0.01 * looks).toBeLessThan(4 + 0.2 * ms);
  });

  it('is told within a timer where it ends sooner than those before', async () => {
    const waits = new Waits();
    for (let i = 0; i < 4; i++) await late(waits, 50);
    expect(await late(waits, 20)).toBeLessThan(1.2);
    expect(parked).toBe(0);
  });

  it('is left to another thread where it takes longer than those before, or they take very long', async () => {
    const waits = new Waits();
    for (let i = 0; i < 4; i++) await late(waits, 10);
    await late(waits, 500);
    expect(parked).toBe(1);
    expect(0.01 * looks).toBeLessThan(10);
    for (let i = 0; i < 4; i++) await late(waits, 500);
    await late(waits, 500);
    expect([parked, timers]).toEqual([1, 0]);
  });

  it('does not keep looking where waits differ widely', async () => {
    const waits = new Waits();
    for (const ms of [5, 80, 5, 80]) await late(waits, ms);
    await late(waits, 80);
    expect(0.005 * looks).toBeLessThan(2 + 2 + 0.2 * 80);
    expect(parked).toBe(1);
  });

  it('sleeps on another event where there is one, and goes by timers where there is none', async () => {
    const given: number[] = [];
    end = time + 10;
    parked = 0;
    await whenDone(driver, 1, new Waits(), 0, { take: () => 2, giveBack: (e) => given.push(e) });
    expect([parked, given]).toEqual([1, [2]]);
    [end, parked, timers] = [time + 10, 0, 0];
    await whenDone(driver, 1, new Waits(), 0, { take: () => null, giveBack: () => {} });
    expect(time - end).toBeLessThan(1.2);
    expect(parked).toBe(0);
    expect(timers).toBeGreaterThan(5);
  });

  it('goes by timers where the driver wants a context on the other thread, and passes errors on', async () => {
    answer = status.invalidContext;
    expect(await late(new Waits(), 10)).toBeLessThan(1.2);
    expect(timers).toBeGreaterThan(5);
    answer = 700;
    await expect(late(new Waits(), 10)).rejects.toThrow('code 700');
  });
});
