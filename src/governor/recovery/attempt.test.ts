import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { Place } from '../../devices/place.ts';
import { createReferenceDevice } from '../../devices/reference/device.ts';
import { DeviceLost, ForgeError, KernelError, OutOfMemory, ShapeError } from '../../errors.ts';
import type { Ladder } from '../memory/ladder.ts';
import { type Asked, Attempts, asked, type Maybe } from './attempt.ts';
import { Aborted, RecoveryExhausted, TransientError } from './errors.ts';
import { Health } from './health.ts';
import type { Losses } from './loss.ts';
import { type RecoveryOptions, resolveRecovery } from './options.ts';

const info = { code: 'X', message: 'it failed', fix: 'none', where: 'test' };
const transient = new TransientError(info);
const kernel = new KernelError({ ...info, source: '' });
const noRoom = new OutOfMemory({ ...info, requested: 1, available: 0 });
const lost = new DeviceLost(info);

interface Setting {
  readonly places?: number;
  readonly options?: RecoveryOptions;
  readonly clock?: ManualClock;
  /** What becomes of a lack of memory, and of a lost device. */
  readonly room?: boolean;
  readonly back?: boolean;
}

function setUp({ places: count = 1, options = {}, clock = new ManualClock(), room = false, back = false }: Setting) {
  const places = Array.from({ length: count }, (_, i) => new Place({ ...createReferenceDevice(), id: `d${i}` }, i));
  const told: string[] = [];
  const health = new Health(resolveRecovery(options), new ManualClock());
  const attempts = new Attempts({
    places,
    clock,
    options: resolveRecovery(options),
    health,
    ladder: { makeAsync: async () => room } as unknown as Ladder,
    losses: {
      lost: (place: Place) => void told.push(`lost ${place.id}`),
      back: async () => back,
    } as unknown as Losses,
    fellBack: ({ from, to }) => told.push(`${from} to ${to}`),
  });
  return { attempts, places, told, clock, health };
}

/** Fails with each error in turn, then tells which places were ruled out. Blames the first place that is not. */
function failing(places: readonly Place[], ...errors: unknown[]) {
  let at: Place | null = null;
  const seen = { calls: 0 };
  const work = {
    what: 'op',
    run: (_: null, { excluded }: Asked): Maybe<number> => {
      at = places.find((p) => (p.bit & excluded) === 0) ?? null;
      const error = errors[seen.calls++];
      if (error !== undefined) throw error;
      return excluded;
    },
    blame: () => ({ place: at, node: null }),
  };
  return { work, seen };
}

describe('the place of work', () => {
  it('is another one while the preferred device rests or is in quarantine', async () => {
    for (const ruin of [
      (health: Health) => health.failed('d0', transient),
      (health: Health) => void (health.reset('d0') || expect(health.of('d0').state).toBe('quarantined')),
    ]) {
      const { attempts, places, told, health } = setUp({ places: 2, options: { failures: 1, resets: 0 } });
      const want = { ...asked, prefer: places[0]! };
      expect(attempts.placeNow(want)).toBe(places[0]);
      ruin(health);
      expect(attempts.placeNow(want)).toBeNull();
      expect(await attempts.place(want)).toBe(places[1]);
      expect(told).toEqual(['d0 to d1']);
    }
  });
});

describe('attempts', () => {
  it('wait 50 and 200 ms between three of them', async () => {
    const { attempts, places, clock } = setUp({});
    const { work, seen } = failing(places, transient, transient);
    const result = attempts.runAsync(work, null, asked);
    await clock.advance(49);
    expect(seen.calls).toBe(1);
    await clock.advance(1);
    expect(seen.calls).toBe(2);
    await clock.advance(199);
    expect(seen.calls).toBe(2);
    await clock.advance(1);
    expect([await result, clock.pending]).toEqual([0, 0]);
  });

  it('give what is known at once at once, as a value', () => {
    const { attempts, places } = setUp({});
    expect(attempts.runAsync(failing(places).work, null, asked)).toBe(0);
  });

  it('end a fault that never goes away after exactly the configured number, without growing the stack', async () => {
    const { attempts, places } = setUp({ options: { attempts: 6, backoffMs: [0], failures: 100 } });
    const depths: number[] = [];
    const work = {
      what: 'op',
      run: (): never => {
        depths.push(new Error().stack!.split('\n').length);
        throw transient;
      },
      blame: () => ({ place: places[0]!, node: null }),
    };
    const error = (() => {
      try {
        return attempts.run(work, null, asked);
      } catch (e) {
        return e;
      }
    })() as RecoveryExhausted;
    expect(error).toBeInstanceOf(RecoveryExhausted);
    expect(error.history.map((a) => [a.attempt, a.error])).toEqual([1, 2, 3, 4, 5, 6].map((n) => [n, transient]));
    expect(error.cause).toBe(transient);
    expect(depths).toHaveLength(6);
    expect(Math.max(...depths.slice(1))).toBe(Math.min(...depths.slice(1)));
  });

  it('are never repeated for a wrong argument or a bug', async () => {
    for (const error of [new ShapeError(info), new TypeError('bug'), new ForgeError(info)]) {
      const { attempts, places } = setUp({ places: 2 });
      const { work, seen } = failing(places, error);
      await expect(attempts.runAsync(work, null, asked)).rejects.toBe(error);
      expect(() => attempts.run(failing(places, error).work, null, asked)).toThrow(error);
      expect(seen.calls).toBe(1);
    }
  });

  it('are over where the work says that it has been attempted often enough', () => {
    const { attempts, places } = setUp({ places: 2 });
    const { work, seen } = failing(places, transient);
    expect(() => attempts.run({ ...work, blame: () => null }, null, asked)).toThrow(transient);
    expect(seen.calls).toBe(1);
  });

  it('are two for a failed kernel', async () => {
    const { attempts, places, clock } = setUp({});
    const { work, seen } = failing(places, kernel, kernel);
    const result = (attempts.runAsync(work, null, asked) as Promise<number>).catch((e: unknown) => e);
    await clock.advance(1000);
    expect(await result).toBeInstanceOf(RecoveryExhausted);
    expect(seen.calls).toBe(2);
  });

  it('go on when room was made, and pass the error on when it was not', async () => {
    const roomy = setUp({ room: true });
    expect(await roomy.attempts.runAsync(failing(roomy.places, noRoom).work, null, asked)).toBe(0);
    const full = setUp({});
    await expect(full.attempts.runAsync(failing(full.places, noRoom).work, null, asked)).rejects.toBe(noRoom);
  });

  it('go on when a lost device is back, and pass the loss on when it is not', async () => {
    const reborn = setUp({ back: true });
    expect(await reborn.attempts.runAsync(failing(reborn.places, lost).work, null, asked)).toBe(0);
    expect(reborn.told).toEqual(['lost d0']);
    const gone = setUp({});
    await expect(gone.attempts.runAsync(failing(gone.places, lost).work, null, asked)).rejects.toBe(lost);
  });

  it('move to another place, and tell that once', () => {
    const { attempts, places, told } = setUp({ places: 2 });
    const three = (): unknown[] => [transient, transient, transient];
    expect(attempts.run(failing(places, ...three()).work, null, asked)).toBe(places[0]!.bit);
    expect(attempts.run(failing(places, ...three()).work, null, asked)).toBe(places[0]!.bit);
    expect(told).toEqual(['d0 to d1']);
  });

  it('stay where the work is pinned, and where no other device may take over', () => {
    const pinned = setUp({ places: 2 });
    const { work } = failing(pinned.places, transient, transient, transient);
    expect(() => pinned.attempts.run(work, null, { ...asked, pinned: true })).toThrow(RecoveryExhausted);
    const alone = setUp({ places: 2, options: { fallback: false } });
    const other = failing(alone.places, transient, transient, transient);
    expect(() => alone.attempts.run(other.work, null, asked)).toThrow(RecoveryExhausted);
  });

  it('stop when they are aborted, also in the middle of a wait', async () => {
    const { attempts, places, clock } = setUp({});
    const stop = new AbortController();
    const { work } = failing(places, transient);
    const result = (attempts.runAsync(work, null, asked, stop.signal) as Promise<number>).catch((e: unknown) => e);
    await clock.advance(10);
    stop.abort('enough');
    const error = await result;
    expect(error).toBeInstanceOf(Aborted);
    expect([(error as Aborted).cause, clock.pending]).toEqual(['enough', 0]);
  });

  it('do not wait in their synchronous form', () => {
    const { attempts, places, clock } = setUp({});
    expect(attempts.run(failing(places, transient, transient).work, null, asked)).toBe(0);
    expect(() => attempts.run(failing(places, lost).work, null, asked)).toThrow(lost);
    expect(clock.pending).toBe(0);
  });
});
