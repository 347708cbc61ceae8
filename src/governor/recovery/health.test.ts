import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { ArgumentError } from '../../errors.ts';
import { Breaker, type BreakerState } from './breaker.ts';
import { Health } from './health.ts';
import { resolveRecovery } from './options.ts';

const options = resolveRecovery();

function breaker(): { b: Breaker; clock: ManualClock; seen: BreakerState[] } {
  const clock = new ManualClock();
  const seen: BreakerState[] = [];
  return { b: new Breaker(options, clock, (to) => seen.push(to)), clock, seen };
}

describe('the breaker', () => {
  it('opens after five failures within a minute, and not after five spread out', async () => {
    const { b, clock } = breaker();
    for (let i = 0; i < 8; i++) {
      b.failed();
      await clock.advance(15_000);
    }
    expect(b.state).toBe('closed');
    for (let i = 0; i < 4; i++) b.failed();
    expect([b.state, b.admit()]).toEqual(['open', false]);
  });

  it('lets one probe at a time through after the cool-down, and closes after three good ones', async () => {
    const { b, clock, seen } = breaker();
    for (let i = 0; i < 5; i++) b.failed();
    await clock.advance(999);
    expect(b.admit()).toBe(false);
    await clock.advance(1);
    for (let probe = 0; probe < 3; probe++) {
      expect([b.admits, b.admit(), b.admits, b.admit()]).toEqual([true, true, false, false]);
      b.succeeded();
    }
    expect([b.state, b.recentFailures, seen]).toEqual(['closed', 0, ['open', 'half-open', 'closed']]);
  });

  it('opens again when a probe fails, for twice as long each time', async () => {
    const { b, clock } = breaker();
    for (let i = 0; i < 5; i++) b.failed();
    for (const coolDown of [1000, 2000, 4000]) {
      await clock.advance(coolDown - 1);
      expect(b.state).toBe('open');
      await clock.advance(1);
      expect(b.admit()).toBe(true);
      b.failed();
    }
    await clock.advance(7999);
    expect(b.state).toBe('open');
  });

  it('forgets a probe whose outcome nobody tells', async () => {
    const { b, clock } = breaker();
    b.lost();
    await clock.advance(1000);
    expect([b.admit(), b.admit()]).toEqual([true, false]);
    await clock.advance(1000);
    expect(b.admit()).toBe(true);
  });

  it('allows three resets in ten minutes; the fourth is quarantine, which only a hand ends', async () => {
    const { b, clock } = breaker();
    for (let i = 0; i < 3; i++) {
      b.lost();
      expect(b.reset()).toBe(true);
      b.reborn();
      await clock.advance(60_000);
    }
    b.lost();
    expect([b.reset(), b.state, b.admit()]).toEqual([false, 'quarantined', false]);
    await clock.advance(3_600_000);
    b.reborn();
    expect([b.reset(), b.state]).toEqual([false, 'quarantined']);
    b.release();
    expect([b.state, b.reset()]).toEqual(['closed', true]);
  });

  it('allows any number of resets that lie far apart', async () => {
    const { b, clock } = breaker();
    for (let i = 0; i < 20; i++) {
      b.lost();
      expect(b.reset()).toBe(true);
      b.reborn();
      await clock.advance(240_000);
    }
  });
});

describe('health', () => {
  const make = (): { h: Health; clock: ManualClock } => {
    const clock = new ManualClock();
    return { h: new Health(options, clock), clock };
  };

  it('has no penalty for a device that never failed', () => {
    const { h } = make();
    h.succeeded('cpu');
    expect([h.penalty('cpu'), h.usable('cpu'), h.admit('cpu'), h.of('cpu').state]).toEqual([1, true, false, 'closed']);
  });

  it('makes a failing device costlier, a lost one infinitely so, and forgives with time', async () => {
    const { h, clock } = make();
    h.failed('cuda:0', new Error('launch failed\nsecond line'));
    h.failed('cuda:0', new Error('launch failed'));
    expect(h.penalty('cuda:0')).toBe(3);
    await clock.advance(60_000);
    expect(h.penalty('cuda:0')).toBe(1);
    h.lost('cuda:0', 'sticky error');
    expect([h.penalty('cuda:0'), h.usable('cuda:0'), h.penalty('cuda:1')]).toEqual([
      Number.POSITIVE_INFINITY,
      false,
      1,
    ]);
    expect(h.of('cuda:0')).toMatchObject({ failures: 3, lastError: 'sticky error', state: 'open' });
  });

  it('trusts a device that came back after three good results', () => {
    const { h } = make();
    h.lost('cuda:0', 'gone');
    expect(h.reset('cuda:0')).toBe(true);
    h.reborn('cuda:0', 'process 7');
    for (let probe = 0; probe < 3; probe++) {
      expect([h.penalty('cuda:0'), h.usable('cuda:0'), h.admit('cuda:0')]).toEqual([1, true, true]);
      expect([h.penalty('cuda:0'), h.usable('cuda:0'), h.admit('cuda:0')]).toEqual([
        Number.POSITIVE_INFINITY,
        false,
        false,
      ]);
      h.succeeded('cuda:0');
    }
    expect([h.penalty('cuda:0'), h.of('cuda:0').state]).toEqual([1, 'closed']);
    expect(h.history('cuda:0').map((e) => e.kind)).toEqual(['lost', 'open', 'reset', 'reborn', 'half-open', 'closed']);
  });

  it('lets the next probe start when one is over, without counting it as good, and forgets one that never ends', async () => {
    const clock = new ManualClock();
    let told = 0;
    const h = new Health(options, clock, () => told++);
    h.lost('a', 'gone');
    h.reborn('a');
    for (let probe = 0; probe < 10; probe++) {
      const before = told;
      expect(h.admit('a')).toBe(true);
      h.over('a');
      expect([h.usable('a'), h.of('a').state, told - before]).toEqual([true, 'half-open', 2]);
    }
    h.admit('a');
    const before = told;
    await clock.advance(1000);
    expect([h.usable('a'), told - before]).toEqual([true, 1]);
  });

  it('reports a fallback once, and its end once', () => {
    const { h } = make();
    expect([h.returned('a'), h.fellBack('a', 'cpu'), h.fellBack('a', 'cpu')]).toEqual([false, true, false]);
    expect(h.of('a').fallenBack).toBe(true);
    expect([h.returned('a'), h.returned('a'), h.fellBack('a', 'cpu')]).toEqual([true, false, true]);
  });

  it('does not call it an end while the device is not trusted', () => {
    const { h } = make();
    for (let i = 0; i < 5; i++) h.failed('a', new Error('no'));
    h.fellBack('a', 'cpu');
    expect([h.returned('a'), h.of('a')]).toMatchObject([false, { state: 'open', fallenBack: true }]);
  });

  it('tells of every change of a penalty, also of those that time brings, and leaves no timer', async () => {
    const clock = new ManualClock();
    const seen: number[] = [];
    const h: Health = new Health(options, clock, () => seen.push(h.penalty('a')));
    h.failed('a', new Error('once'));
    await clock.advance(30_000);
    h.failed('a', new Error('twice'));
    await clock.advance(30_000);
    await clock.advance(30_000);
    expect(seen).toEqual([2, 3, 2, 1]);
    expect(clock.pending).toBe(0);
    for (let i = 0; i < 5; i++) h.failed('a', new Error('again'));
    expect([seen.at(-1), clock.pending]).toEqual([Number.POSITIVE_INFINITY, 1]);
    await clock.advance(1000);
    expect(seen.at(-1)).toBe(1);
    h.close();
    expect(clock.pending).toBe(0);
  });

  it('keeps a bounded history', () => {
    const h = new Health(resolveRecovery({ history: 4, failures: 100 }), new ManualClock());
    for (let i = 0; i < 10; i++) h.failed('a', new Error(`${i}`));
    expect(h.history().map((e) => e.detail)).toEqual([6, 7, 8, 9].map((i) => `Error: ${i}`));
  });
});

describe('options of recovery', () => {
  it('have defaults', () => {
    expect(resolveRecovery()).toMatchObject({
      attempts: 3,
      backoffMs: [50, 200],
      resets: 3,
      keep: 'small',
      fallback: true,
    });
    expect(resolveRecovery({ attempts: undefined, timeoutMs: Number.POSITIVE_INFINITY }).attempts).toBe(3);
  });

  it.each([
    [{ attempts: 0 }, 'recovery.attempts: 0 is not'],
    [{ attempts: 2.5 }, 'recovery.attempts: 2.5'],
    [{ backoffMs: [1, -1] }, 'recovery.backoffMs'],
    [{ backoffMs: 50 }, 'recovery.backoffMs'],
    [{ timeoutMs: Number.NaN }, 'recovery.timeoutMs: NaN'],
    [{ keep: 'some' }, "recovery.keep: 'some' is not one of small, all, none"],
    [{ fallback: 1 }, 'recovery.fallback'],
    [{ retries: 3 }, 'recovery.retries: there is no such option'],
  ])('name the bad key: %j', (bad, message) => {
    const call = () => resolveRecovery(bad as never);
    expect(call).toThrow(ArgumentError);
    expect(call).toThrow(message);
  });
});
