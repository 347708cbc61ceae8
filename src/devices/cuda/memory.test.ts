import { describe, expect, it } from 'vitest';
import { type Block, BlockPool, type MemorySource, sizeClass } from './memory.ts';

class FakeSource implements MemorySource {
  readonly live = new Map<number, number>();
  limit = Number.POSITIVE_INFINITY;
  calls = 0;
  #next = 2 ** 20;

  get held(): number {
    return [...this.live.values()].reduce((a, b) => a + b, 0);
  }

  allocate(bytes: number): number {
    this.calls++;
    if (this.held + bytes > this.limit) return 0;
    const address = this.#next;
    this.#next += Math.ceil(bytes / 512) * 512;
    this.live.set(address, bytes);
    return address;
  }

  free(address: number): void {
    if (!this.live.delete(address)) throw new Error(`freed twice: ${address}`);
  }
}

const MiB = 2 ** 20;

describe('size classes', () => {
  it('waste at most a quarter below 1 MiB and less above, and are fixed points', () => {
    for (let bytes = 257; bytes < 200 * MiB; bytes = Math.floor(bytes * 1.37) + 1) {
      const size = sizeClass(bytes);
      expect(size).toBeGreaterThanOrEqual(bytes);
      expect(size - bytes).toBeLessThanOrEqual(Math.max(256, bytes > MiB ? 2 * MiB : bytes / 4, bytes / 8));
      expect(sizeClass(size)).toBe(size);
      expect(size % 256).toBe(0);
    }
  });
});

describe('the block pool', () => {
  it('reuses a released block without asking its source', () => {
    const source = new FakeSource();
    const pool = new BlockPool(source);
    const a = pool.allocate(3 * MiB)!;
    pool.release(a);
    const calls = source.calls;
    expect(pool.allocate(3.5 * MiB)).toBe(a);
    expect(source.calls).toBe(calls);
  });

  it('cuts small blocks from one slab, without overlap', () => {
    const source = new FakeSource();
    const pool = new BlockPool(source);
    const blocks = Array.from({ length: 200 }, (_, i) => pool.allocate(1 + i * 40)!);
    expect(source.calls).toBe(1);
    const sorted = [...blocks].sort((x, y) => x.address - y.address);
    for (let i = 1; i < sorted.length; i++) {
      expect(sorted[i]!.address).toBeGreaterThanOrEqual(sorted[i - 1]!.address + sorted[i - 1]!.bytes);
      expect(sorted[i]!.address % 256).toBe(0);
    }
  });

  it('gives back idle memory on trim, and keeps what is in use', () => {
    const source = new FakeSource();
    const pool = new BlockPool(source);
    const kept = pool.allocate(1000)!;
    const small = Array.from({ length: 100 }, () => pool.allocate(400_000)!);
    const large = pool.allocate(5 * MiB)!;
    for (const b of [...small, large]) pool.release(b);
    pool.trim();
    expect(source.held).toBe(8 * MiB);
    expect(pool.reserved).toBe(8 * MiB);
    pool.release(kept);
    pool.trim();
    expect(source.held).toBe(0);
    expect(pool.reserved).toBe(0);
    expect(pool.inUse).toBe(0);
    // A trimmed slab's blocks must not come back.
    const again = pool.allocate(1000)!;
    expect([...source.live.keys()]).toContain(again.address);
  });

  it('trims by itself when the source has no room, and says null when that does not help', () => {
    const source = new FakeSource();
    source.limit = 20 * MiB;
    const pool = new BlockPool(source);
    const a = pool.allocate(16 * MiB)!;
    expect(pool.allocate(10 * MiB)).toBeNull();
    expect(pool.inUse).toBe(16 * MiB);
    pool.release(a);
    expect(pool.allocate(10 * MiB)).not.toBeNull();
  });

  it('survives a long random life without overlap or loss', () => {
    const source = new FakeSource();
    const pool = new BlockPool(source);
    let seed = 12345;
    const random = (n: number): number => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      return seed % n;
    };
    const live: Block[] = [];
    for (let i = 0; i < 5000; i++) {
      if (live.length > 40 || (live.length > 0 && random(2) === 0))
        pool.release(live.splice(random(live.length), 1)[0]!);
      else live.push(pool.allocate(1 + random(i % 7 === 0 ? 6 * MiB : 90_000))!);
      if (i % 500 === 0) pool.trim();
    }
    const sorted = [...live].sort((x, y) => x.address - y.address);
    for (let i = 1; i < sorted.length; i++) {
      expect(sorted[i]!.address).toBeGreaterThanOrEqual(sorted[i - 1]!.address + sorted[i - 1]!.bytes);
    }
    for (const b of live) pool.release(b);
    expect(pool.inUse).toBe(0);
    pool.trim();
    expect(source.held).toBe(0);
  });
});
