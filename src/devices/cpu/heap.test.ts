import { describe, expect, it } from 'vitest';
import fc from '../../../test/support/properties.ts';
import { type Block, Heap } from './heap.ts';

const open = (limit: number, commit: (end: number) => boolean = () => true): Heap =>
  new Heap({ base: 1024, limit: 1024 + limit, commit });

/** What the heap says of itself must hold: blocks tile the memory, no two free neighbours, the sums agree. */
function audit(heap: Heap, live: ReadonlySet<Block>): void {
  let at = 1024;
  let used = 0;
  let wasFree = false;
  const seen = new Set<Block>();
  for (const b of heap.blocks()) {
    expect(b.address).toBe(at);
    expect(b.address % 64).toBe(0);
    expect(wasFree && b.free).toBe(false);
    expect(live.has(b)).toBe(!b.free);
    if (!b.free) used += b.bytes;
    seen.add(b);
    wasFree = b.free;
    at += b.bytes;
  }
  expect(at).toBe(heap.top);
  expect(seen.size).toBeGreaterThanOrEqual(live.size);
  expect(heap.used).toBe(used);
}

describe('heap', () => {
  it('does not take fresh memory while much more is free than in use', () => {
    const heap = open(2 ** 32);
    const size = 1 << 20;
    for (let round = 0; round < 20; round++) {
      const blocks = Array.from({ length: 100 }, () => heap.allocate(size)!);
      for (const b of blocks) heap.free(b);
    }
    expect(heap.held).toBeLessThan(200 * size);
  });

  it('agrees with a naive model over random allocations and frees', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('take' as const), bytes: fc.integer({ min: 0, max: 5000 }) }),
      fc.record({ kind: fc.constant('take' as const), bytes: fc.integer({ min: 0, max: 200_000 }) }),
      fc.record({ kind: fc.constant('give' as const), pick: fc.nat() }),
      fc.record({ kind: fc.constant('trim' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const limit = 1 << 20;
        const heap = open(limit);
        const live: Block[] = [];
        for (const s of steps) {
          if (s.kind === 'take') {
            const room = heap.largest;
            const b = heap.allocate(s.bytes);
            // Refused only if no free stretch, counted naively, could hold it.
            if (b === null)
              expect(Math.max(64, Math.ceil(s.bytes / 64) * 64)).toBeGreaterThan(naiveLargest(heap, limit));
            else {
              expect(b.bytes).toBeGreaterThanOrEqual(s.bytes);
              expect(b.bytes).toBeLessThanOrEqual(room);
              live.push(b);
            }
          } else if (s.kind === 'give') {
            if (live.length > 0) heap.free(live.splice(s.pick % live.length, 1)[0]!);
          } else heap.trim();
          audit(heap, new Set(live));
        }
        for (const b of live) heap.free(b);
        audit(heap, new Set());
        expect(heap.used).toBe(0);
        expect(heap.largest).toBe(limit);
      }),
      { numRuns: 300 },
    );
  });

  it('hands the block freed last to the next request of that size, without moving the top', () => {
    const heap = open(1 << 24);
    const a = heap.allocate(100_000)!;
    heap.allocate(64);
    const top = heap.top;
    heap.free(a);
    expect(heap.allocate(100_000)).toBe(a);
    expect(heap.top).toBe(top);
  });

  it('does not cut small pieces out of a large free block while there is fresh room', () => {
    const heap = open(1 << 24);
    const large = heap.allocate(1 << 20)!;
    heap.allocate(64);
    heap.free(large);
    heap.allocate(128);
    expect(heap.allocate(1 << 20)).toBe(large);
  });

  it('grows the last free block instead of leaving it behind', () => {
    const heap = open(1 << 24);
    heap.free(heap.allocate(1 << 20)!);
    const grown = heap.allocate(3 << 20)!;
    expect(grown.address).toBe(1024);
    expect(heap.top).toBe(1024 + (3 << 20));
  });

  it('changes nothing when memory cannot be committed', () => {
    let refuse = false;
    const heap = open(1 << 24, () => !refuse);
    const a = heap.allocate(4096)!;
    const before = { used: heap.used, top: heap.top };
    refuse = true;
    expect(heap.allocate(1 << 20)).toBeNull();
    expect({ used: heap.used, top: heap.top }).toEqual(before);
    heap.free(a);
    expect(heap.allocate(4096)).toBe(a);
  });

  it('handles addresses above 2 GiB and refuses what is beyond the limit', () => {
    const heap = open(2 ** 32 - 2048);
    const low = heap.allocate(3 * 2 ** 30)!;
    const high = heap.allocate(2 ** 29)!;
    expect(high.address).toBe(1024 + 3 * 2 ** 30);
    expect(heap.allocate(2 ** 30)).toBeNull();
    expect(heap.allocate(5 * 2 ** 30)).toBeNull();
    heap.free(low);
    expect(heap.allocate(2 ** 31)!.address).toBe(1024);
  });

  it('refuses to free a block twice', () => {
    const heap = open(1 << 20);
    const a = heap.allocate(10)!;
    heap.free(a);
    expect(() => heap.free(a)).toThrow('twice');
  });
});

function naiveLargest(heap: Heap, limit: number): number {
  let most = 0;
  let last: Block | null = null;
  for (const b of heap.blocks()) {
    if (b.free) most = Math.max(most, b.bytes);
    last = b;
  }
  return Math.max(most, 1024 + limit - heap.top + (last?.free ? last.bytes : 0));
}
