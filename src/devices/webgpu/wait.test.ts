import { describe, expect, it } from 'vitest';
import { Patience, type Rests } from './wait.ts';

/** A clock that only rests and busy turns move, with turns taken by hand. */
function loop(turnMs: number): { host: Rests; rests: number[]; turn: () => boolean } {
  let [now, next] = [0, null as (() => void) | null];
  const rests: number[] = [];
  const host: Rests = {
    now: () => now,
    nextTurn: (f) => {
      next = f;
    },
    rest: (ms) => {
      rests.push(ms);
      now += ms;
    },
  };
  const turn = (): boolean => {
    const f = next;
    next = null;
    now += turnMs;
    f?.();
    return f !== null;
  };
  return { host, rests, turn };
}

describe('waiting for a software adapter', () => {
  it.each([
    ['at once for long work', 1024, 0.02],
    ['only in long waits for short work', 1023, 0.3],
  ])('rests longer the longer it waits, a twentieth of it and a millisecond at most; %s', (_, workgroups, least) => {
    const { host, rests, turn } = loop(0.05);
    void new Patience(host, () => workgroups).during(new Promise(() => {}));
    for (let i = 0; i < 2000; i++) turn();
    expect(rests[0]).toBeGreaterThanOrEqual(least);
    expect(rests[0]).toBeLessThan(least + 0.01);
    expect(rests).toEqual([...rests].sort((a, b) => a - b));
    expect(rests.at(-1)).toBe(1);
  });

  it('does not rest while the loop has other work', () => {
    const { host, rests, turn } = loop(3);
    void new Patience(host, () => 0).during(new Promise(() => {}));
    for (let i = 0; i < 100; i++) turn();
    expect(rests).toEqual([]);
  });

  it('stops taking turns when nothing is awaited, also after a failure, and begins anew', async () => {
    const { host, rests, turn } = loop(0.05);
    const patience = new Patience(host, () => 0);
    await expect(patience.during(Promise.reject(new Error('lost')))).rejects.toThrow('lost');
    await expect(patience.during(Promise.resolve(7))).resolves.toBe(7);
    turn();
    expect(turn()).toBe(false);
    for (let i = 0; i < 100; i++) turn();
    expect(rests).toEqual([]);
    void patience.during(new Promise(() => {}));
    expect(turn()).toBe(true);
    expect(turn()).toBe(true);
  });

  it('counts only the work since something last arrived', async () => {
    const { host, rests, turn } = loop(0.05);
    let enqueued = 5000;
    const patience = new Patience(host, () => enqueued);
    await patience.during(Promise.resolve());
    enqueued += 1;
    void patience.during(new Promise(() => {}));
    for (let i = 0; i < 60; i++) turn();
    expect(rests).toEqual([]);
  });
});
