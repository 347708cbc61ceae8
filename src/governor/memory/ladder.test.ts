// The ladder by itself, with a place and a spill that only count.

import { describe, expect, it } from 'vitest';
import type { Place } from '../../devices/place.ts';
import { Ladder } from './ladder.ts';
import type { Spill } from './spill.ts';

interface Setup {
  readonly budget?: number;
  readonly inUse?: number;
  /** Bytes that can leave. */
  readonly spillable?: number;
  readonly shared?: { readonly limit: number; readonly places: readonly Place[] };
}

function bench({ budget = Number.POSITIVE_INFINITY, inUse = 0, spillable = 0, shared }: Setup = {}) {
  const asked: (readonly [bytes: number, from: readonly Place[] | undefined])[] = [];
  let trims = 0;
  let left = spillable;
  const overShared = (bytes: number): number => (shared ? place.inUse + bytes - shared.limit : -1);
  const place = {
    alive: true,
    budget,
    inUse,
    shared: shared ?? null,
    device: { trim: () => trims++ },
    over: (bytes: number) => Math.max(place.inUse + bytes - budget, overShared(bytes)),
    overShared,
  };
  const spill = {
    free: (_: Place, bytes: number, from?: readonly Place[]) => {
      asked.push([bytes, from]);
      const freed = Math.min(left, bytes);
      left -= freed;
      place.inUse -= freed;
      return freed;
    },
  };
  const ladder = new Ladder({ spill: spill as unknown as Spill, holders: () => '', noticed: () => {} });
  return { asked, make: ladder.make.bind(ladder, place as unknown as Place), trims: () => trims };
}

describe('the ladder', () => {
  it('first gives idle blocks back, where the budget has room and the device has none', () => {
    const { asked, make, trims } = bench({ spillable: 1000 });
    expect(make(100, 0)).toBe(true);
    expect([trims(), asked.length]).toEqual([1, 0]);
  });

  it('then spills as much as is asked for, and twice as much at each further attempt: room may be scattered', () => {
    const { asked, make, trims } = bench({ spillable: 1 << 20 });
    for (let attempt = 1; attempt <= 6; attempt++) expect(make(100, attempt), String(attempt)).toBe(true);
    expect(asked.map(([bytes]) => bytes)).toEqual([100, 200, 400, 800, 1600, 3200]);
    // What left is idle: the device gets it back.
    expect(trims()).toBe(6);
    expect(make(100, 7)).toBe(false);
  });

  it('spills what is missing within the budget, and leaves idle blocks alone', () => {
    const { asked, make, trims } = bench({ budget: 1000, inUse: 950, spillable: 500 });
    expect(make(100, 0)).toBe(true);
    expect(asked).toEqual([[50, undefined]]);
    expect(trims()).toBe(0);
  });

  it('moves nothing for what can never fit', () => {
    const own = bench({ budget: 1000, inUse: 900, spillable: 900 });
    expect(own.make(1001, 0)).toBe(false);
    expect(own.asked).toEqual([]);
    const shared = bench({ inUse: 900, spillable: 900, shared: { limit: 1000, places: [] } });
    expect(shared.make(1001, 0)).toBe(false);
    expect(shared.asked).toEqual([]);
  });

  it('makes room for all devices together at any of those that are there', () => {
    const [here, gone] = [{ alive: true } as Place, { alive: false } as Place];
    const { asked, make } = bench({ inUse: 950, spillable: 500, shared: { limit: 1000, places: [here, gone] } });
    expect(make(100, 0)).toBe(true);
    expect(asked).toEqual([[50, [here]]]);
  });

  it('says so when nothing can leave', () => {
    const { make, trims } = bench({ budget: 1000, inUse: 1000 });
    expect(make(100, 0)).toBe(false);
    expect(trims()).toBe(0);
  });
});
