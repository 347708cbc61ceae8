import { describe, expect, it } from 'vitest';
import { dataframe, play, randomSource, type TraceEvent, training } from '../../../test/support/traces.ts';
import { type MemorySource, SegmentArena } from './segments.ts';
import type { Stretch } from './stretches.ts';

const MiB = 2 ** 20;

class FakeSource implements MemorySource {
  readonly live = new Map<number, number>();
  limit = Number.POSITIVE_INFINITY;
  calls = 0;
  held = 0;
  #next = 2 ** 20;

  allocate(bytes: number): number {
    this.calls++;
    if (this.held + bytes > this.limit) return 0;
    const address = this.#next;
    this.#next += bytes + 512;
    this.live.set(address, bytes);
    this.held += bytes;
    return address;
  }

  free(address: number): void {
    this.calls++;
    this.held -= this.live.get(address)!;
    if (!this.live.delete(address)) throw new Error(`freed twice: ${address}`);
  }
}

describe('memory in segments', () => {
  it('splits and merges within a segment, and asks only when nothing fits', () => {
    const source = new FakeSource();
    const arena = new SegmentArena(source);
    const a = arena.allocate(20 * MiB)!;
    const { address } = a;
    arena.release(a);
    const calls = source.calls;
    const [b, c] = [arena.allocate(12 * MiB)!, arena.allocate(8 * MiB)!];
    expect(source.calls).toBe(calls);
    arena.release(b);
    arena.release(c);
    expect(arena.allocate(20 * MiB)!.address).toBe(address);
    expect(source.calls).toBe(calls);
  });

  it('cuts small blocks from one slab, aligned and without overlap', () => {
    const source = new FakeSource();
    const arena = new SegmentArena(source);
    const blocks = Array.from({ length: 200 }, (_, i) => arena.allocate(1 + i * 40)!);
    expect(source.calls).toBe(1);
    const sorted = [...blocks].sort((x, y) => x.address - y.address);
    for (let i = 1; i < sorted.length; i++) {
      expect(sorted[i]!.address).toBeGreaterThanOrEqual(sorted[i - 1]!.end);
      expect(sorted[i]!.bytes % 256).toBe(0);
    }
  });

  const playOn = (trace: readonly TraceEvent[], warmUp = 0) => {
    const source = new FakeSource();
    const arena = new SegmentArena(source);
    const played = play(
      trace,
      { allocate: (n) => arena.allocate(n), release: (b: Stretch) => arena.release(b), reserved: () => arena.reserved },
      () => source.calls,
      warmUp,
    );
    expect(source.held).toBe(arena.reserved);
    return { ratio: played.reserved / played.peak, hits: played.hits };
  };

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('reserve at most 1.08 times the live peak on a 73 GiB trace (seed %i)', (seed) => {
    const { ratio, hits } = playOn(dataframe(seed));
    expect(ratio).toBeLessThanOrEqual(1.08);
    expect(hits).toBeGreaterThanOrEqual(0.85);
  });

  // In the loops of seeds 3 and 6, idle segments used to be given back in every round.
  it.each([
    [0, 0.995],
    [0.2, 0.95],
  ])('answers loops with sizes jittered by %f from its segments in a share of at least %f', (jitter, least) => {
    for (let seed = 1; seed <= 8; seed++) {
      const { trace, perRound } = training(100, jitter, seed);
      const { ratio, hits } = playOn(trace, trace.length - 98 * perRound);
      expect(hits, `seed ${seed}`).toBeGreaterThanOrEqual(least);
      expect(ratio, `seed ${seed}`).toBeLessThanOrEqual(1.4);
    }
  });

  it('does not cut a small block from a large idle segment, which it would keep, but from one in use', () => {
    const source = new FakeSource();
    const arena = new SegmentArena(source);
    const [a, b] = [arena.allocate(500 * MiB)!, arena.allocate(300 * MiB)!];
    arena.release(a);
    expect(arena.allocate(40 * MiB)!.address).not.toBe(a.address);
    expect(source.calls).toBe(3);
    // 32 MiB of 800 may be left over.
    const c = arena.allocate(470 * MiB)!;
    expect(c.address).toBe(a.address);
    expect(arena.allocate(25 * MiB)!.address).toBe(c.end);
    expect(source.calls).toBe(3);
    arena.release(b);
    arena.trim();
    expect([...source.live.values()]).toEqual([500 * MiB, 40 * MiB]);
  });

  it('joins idle segments into one when a loop would give them back and take them again', () => {
    const source = new FakeSource();
    const arena = new SegmentArena(source);
    const sizes = [100, 210, 330, 120, 90, 260, 150, 180];
    arena.allocate(400 * MiB);
    const calls: number[] = [];
    for (let round = 0; round < 10; round++) {
      const before = source.calls;
      for (const n of sizes) arena.release(arena.allocate(n * MiB)!);
      calls.push(source.calls - before);
    }
    expect(calls[1]).toBeGreaterThan(0);
    expect(calls.slice(5)).toEqual([0, 0, 0, 0, 0]);
    expect(arena.reserved).toBeLessThanOrEqual(1.25 * (400 + 330) * MiB);
  });

  it('hands out memory that is there, never twice, over a long random life with trims and refusals', () => {
    const source = new FakeSource();
    source.limit = 200 * MiB;
    const order: string[] = [];
    const arena = new SegmentArena(source, () => order.push('settle'));
    const random = randomSource(4711);
    const live: Stretch[] = [];
    let refusals = 0;
    for (let i = 0; i < 6000; i++) {
      if (random() < 0.45 && live.length > 0) arena.release(live.splice(Math.floor(random() * live.length), 1)[0]!);
      else {
        const block = arena.allocate(Math.ceil(2 ** (random() * 26)));
        if (block) live.push(block);
        else refusals++;
      }
      if (i % 1000 === 999) arena.trim();
      if (i % 50 !== 0) continue;
      const sorted = [...live].sort((a, b) => a.address - b.address);
      sorted.forEach((b, k) => {
        const [start, bytes] = [...source.live].find(([at, n]) => at <= b.address && b.address < at + n)!;
        expect(b.end).toBeLessThanOrEqual(start + bytes);
        if (k > 0) expect(b.address).toBeGreaterThanOrEqual(sorted[k - 1]!.end);
      });
      expect(arena.inUse).toBe(live.reduce((sum, b) => sum + b.bytes, 0));
      expect(arena.reserved).toBe(source.held);
    }
    expect(refusals).toBeGreaterThan(10);
    expect(order.length).toBeGreaterThan(0);
    for (const b of live) arena.release(b);
    arena.close();
    expect(source.held).toBe(0);
  });

  it('gives idle segments back on trim and when there is no room, and says null when that does not help', () => {
    const source = new FakeSource();
    source.limit = 20 * MiB;
    const arena = new SegmentArena(source);
    const a = arena.allocate(16 * MiB)!;
    expect(arena.allocate(10 * MiB)).toBeNull();
    expect(arena.inUse).toBe(16 * MiB);
    arena.release(a);
    const b = arena.allocate(18 * MiB)!;
    expect(source.live.size).toBe(1);
    const kept = arena.allocate(1000);
    expect(kept).toBeNull();
    arena.release(b);
    arena.trim();
    expect(source.held).toBe(0);
    expect(arena.reserved).toBe(0);
  });
});
