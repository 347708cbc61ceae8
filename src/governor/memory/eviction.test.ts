import { describe, expect, it } from 'vitest';
import { Storage, Storages } from '../../graph/storage.ts';
import { Eviction } from './eviction.ts';

/** Uses tensors of one size, of which so many fit; counts returns in the last third of the uses. */
function returns(order: (use: number) => number, uses: number, fit: number, eviction: Eviction | null): number {
  const books = new Storages();
  const here = new Map<number, number>();
  const known = new Map<number, Storage>();
  let count = 0;
  for (let now = 1; now <= uses; now++) {
    const id = order(now - 1);
    const storage = known.get(id) ?? new Storage(null, null, books, 1);
    if (!here.has(id)) {
      if (known.has(id)) {
        eviction?.returned(storage, now);
        if (now > (2 / 3) * uses) count++;
      }
      if (here.size >= fit) {
        const choice = eviction?.next(now) ?? 'oldest';
        const sorted = [...here].sort((a, b) => (choice === 'oldest' ? a[1] - b[1] : b[1] - a[1]));
        const [victim] = sorted[0]!;
        here.delete(victim);
        eviction?.left(known.get(victim)!, choice, now);
      }
    }
    known.set(id, storage);
    here.set(id, now);
  }
  return count;
}

/** A generator of numbers below n from a seed. */
function random(seed: number): (n: number) => number {
  let s = seed;
  return (n) => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return Math.floor((s / 2 ** 32) * n);
  };
}

describe('what leaves first', () => {
  it('is what was used longest ago as long as nothing came back', () => {
    const eviction = new Eviction();
    const storage = new Storage(null, null, new Storages(), 1);
    for (let now = 1; now <= 100; now++) {
      expect(eviction.next(now)).toBe('oldest');
      eviction.left(storage, 'oldest', now);
    }
    // It is needed again: from now on the other way is tried now and then.
    eviction.returned(storage, 101);
    const choices = Array.from({ length: 32 }, (_, i) => eviction.next(102 + i));
    expect(choices.filter((c) => c === 'newest')).toHaveLength(2);
  });

  it.each([20, 24, 32, 48])('brings far less back where %i tensors are used in turn and 16 fit', (count) => {
    const order = (use: number): number => use % count;
    const uses = 60 * count;
    // Used longest ago: everything comes back each time. At best all but those that find no room do.
    expect(returns(order, uses, 16, null)).toBe(20 * count);
    const best = 20 * (count - 15);
    expect(returns(order, uses, 16, new Eviction())).toBeLessThan(1.25 * best + 20);
  });

  const local = (use: number): number => Math.floor(use / 40) + (use % 8);
  const mostly = random(7);
  const skewed = Array.from({ length: 3000 }, () => (mostly(10) < 9 ? mostly(14) : 14 + mostly(60)));
  it.each([
    ['works on a few for a while, then on the next', local],
    ['uses some of them most of the time', (use: number) => skewed[use]!],
  ])('is as good as what was used longest ago, but for the tries, for a program that %s', (_, order) => {
    const plain = returns(order, 3000, 16, null);
    expect(returns(order, 3000, 16, new Eviction())).toBeLessThanOrEqual(1.15 * plain + 8);
  });

  it('notices when a program changes its ways', () => {
    const eviction = new Eviction();
    const changing = (use: number): number => (use < 2000 ? use % 24 : local(use));
    const after = returns(changing, 6000, 16, eviction);
    expect(after).toBeLessThanOrEqual(1.15 * returns(changing, 6000, 16, null) + 8);
    expect(eviction.next(6001)).toBe('oldest');
  });
});
