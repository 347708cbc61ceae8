import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import fc from '../../../test/support/properties.ts';
import { type CpuDevice, createCpuDevice } from '../../devices/cpu/device.ts';
import type { Device, DeviceBuffer } from '../../devices/device.ts';
import { OutOfMemory } from '../../errors.ts';
import { type Lease, MemoryPool, type PoolOptions, type PoolSource } from './pool.ts';
import { roundSize } from './rounding.ts';

const MB = 2 ** 20;

/** Counts buffers and bytes; `room` is what the device has. */
class CountingSource implements PoolSource {
  readonly id = 'fake';
  generation = 1;
  live = new Map<DeviceBuffer, number>();
  zeroed: DeviceBuffer[] = [];
  allocations = 0;
  room = Number.POSITIVE_INFINITY;

  readonly device = {
    prepare: () => ({ name: 'zero', source: '' }),
    launch: (_: unknown, [buffer]: readonly DeviceBuffer[]) => this.zeroed.push(buffer!),
    write: (buffer: DeviceBuffer) => this.zeroed.push(buffer),
  } as unknown as Device;

  get bytes(): number {
    return [...this.live.values()].reduce((a, b) => a + b, 0);
  }

  allocate(bytes: number): DeviceBuffer {
    if (this.bytes + bytes > this.room) {
      const info = { code: 'OUT_OF_MEMORY', message: 'full', fix: '', where: 'fake' };
      throw new OutOfMemory({ ...info, requested: bytes, available: this.room - this.bytes });
    }
    const buffer = { bytes, collected: false };
    this.allocations++;
    this.live.set(buffer, bytes);
    return buffer;
  }

  release(buffer: DeviceBuffer): void {
    if (!this.live.delete(buffer)) throw new Error('released twice');
  }
}

function setUp(options: PoolOptions = {}) {
  const source = new CountingSource();
  let time = 0;
  const pool = new MemoryPool(source, { now: () => time, ...options });
  return { source, pool, at: (ms: number) => void (time = ms) };
}

describe('reuse', () => {
  it('take A, take B, release A, take C of the same size: C is the buffer of A', () => {
    const { pool, source } = setUp();
    const a = pool.take(5 * MB);
    pool.take(5 * MB);
    pool.release(a);
    const c = pool.take(5 * MB);
    expect(c.buffer).toBe(a.buffer);
    expect(pool.stats()).toMatchObject({ poolHits: 1, poolMisses: 2, totalAllocations: 2, inUseCount: 2 });
    expect(pool.stats().hitRate).toBeCloseTo(33.3, 1);
    expect(source.live.size).toBe(2);
  });

  it('prefers the buffer used last', () => {
    const { pool } = setUp();
    const [a, b] = [pool.take(MB), pool.take(MB)];
    pool.release(b);
    pool.release(a);
    expect(pool.take(MB).buffer).toBe(a.buffer);
    expect(pool.take(MB).buffer).toBe(b.buffer);
  });

  it('takes a larger idle buffer while less than a quarter is wasted', () => {
    const { pool } = setUp({ rounding: 'none' });
    const big = pool.take(1249);
    pool.release(big);
    expect(pool.take(1000).buffer).toBe(big.buffer);
    const other = setUp({ rounding: 'none' }).pool;
    other.release(other.take(1250));
    other.take(1000);
    expect(other.stats()).toMatchObject({ poolHits: 0, poolMisses: 2 });
  });

  it('shows what rounding costs', () => {
    const { pool } = setUp({ rounding: 'table' });
    pool.take(Math.ceil(10.1 * MB));
    expect(pool.stats()).toMatchObject({ requestedBytes: Math.ceil(10.1 * MB), roundedBytes: 20 * MB, uniqueSizes: 1 });
  });

  it('starts with a hit rate of zero', () => {
    expect(setUp().pool.stats()).toMatchObject({ hitRate: 0, utilization: 0, totalSizeMb: 0, maxSizeMb: 2048 });
  });
});

describe('the limit', () => {
  it('of 100 MB: ten times 10 MB taken and released, then 50 MB at once', () => {
    const { pool, source } = setUp({ maxBytes: 100 * MB, rounding: 'table' });
    const ten = Array.from({ length: 10 }, () => pool.take(10 * MB));
    for (const lease of ten) pool.release(lease);
    const large = pool.take(50 * MB);
    expect(large.bytes).toBe(50 * MB);
    expect(pool.stats()).toMatchObject({ evictions: 5, availableCount: 5, totalSizeMb: 100, utilization: 100 });
    // The ones that went were those idle for longest.
    expect(ten.map((l) => source.live.has(l.buffer))).toEqual([...Array(5).fill(false), ...Array(5).fill(true)]);
  });

  it('is an error with sizes when all is lent', () => {
    const { pool } = setUp({ maxBytes: 100 * MB });
    pool.take(80 * MB);
    const kept = pool.take(10 * MB);
    pool.release(kept);
    let error: unknown;
    try {
      pool.take(30 * MB);
    } catch (e) {
      error = e;
    }
    expect(error).toBeInstanceOf(OutOfMemory);
    expect(error).toMatchObject({ code: 'POOL_FULL', requested: 30 * MB, available: 20 * MB });
    expect(pool.stats().inUseCount).toBe(1);
  });

  it('is refused for one request above it without giving anything up', () => {
    const { pool } = setUp({ maxBytes: 10 * MB });
    pool.release(pool.take(MB));
    expect(() => pool.take(11 * MB)).toThrow(OutOfMemory);
    expect(pool.stats()).toMatchObject({ availableCount: 1, evictions: 0 });
  });

  it('of the device itself makes idle buffers go too', () => {
    const { pool, source } = setUp();
    source.room = 100 * MB;
    for (const lease of [10, 20, 30, 40].map((mb) => pool.take(mb * MB))) pool.release(lease);
    expect(pool.take(60 * MB).bytes).toBe(60 * MB);
    expect(pool.stats().evictions).toBe(3);
    expect(() => pool.take(90 * MB)).toThrow(/full/);
  });
});

describe('time', () => {
  it('lets idle buffers go after 300 s, when trimmed or at a miss', () => {
    const { pool, at } = setUp();
    pool.release(pool.take(MB));
    at(200_000);
    pool.release(pool.take(2 * MB));
    at(299_999);
    expect(pool.trim()).toBe(0);
    at(300_000);
    expect(pool.trim()).toBe(MB);
    at(500_000);
    pool.take(8 * MB);
    expect(pool.stats()).toMatchObject({ availableCount: 0, evictions: 2 });
  });
});

describe('leases', () => {
  it('go back once, to the pool they came from, also after a clear', () => {
    const { pool, source } = setUp();
    const other = setUp().pool;
    const [a, b] = [pool.take(MB), pool.take(MB)];
    pool.release(a);
    expect(() => pool.release(a)).toThrow(/given back before/);
    expect(() => other.release(b)).toThrow(/not from this pool/);
    expect(pool.clear()).toBe(MB);
    expect(() => pool.release(a)).toThrow(/given back before/);
    expect(pool.stats()).toMatchObject({ inUseCount: 1, availableCount: 0 });
    pool.release(b);
    expect(source.live.size).toBe(1);
    pool.close();
    expect(source.live.size).toBe(0);
    expect(() => pool.take(1)).toThrow(/closed/);
  });

  it('of a closed pool are freed with it', () => {
    const { pool, source } = setUp();
    pool.take(MB);
    pool.close();
    pool.close();
    expect(source.live.size).toBe(0);
  });

  it('of a device that was lost are forgotten, not released to the new one', () => {
    const { pool, source } = setUp();
    const a = pool.take(MB);
    pool.release(pool.take(2 * MB));
    source.live.clear();
    source.generation = 2;
    const b = pool.take(2 * MB);
    expect(pool.stats()).toMatchObject({ poolHits: 0, availableCount: 0, totalSizeMb: 2 });
    pool.release(a);
    pool.release(b);
    expect(pool.stats()).toMatchObject({ inUseCount: 0, availableCount: 1 });
    pool.close();
    expect(source.live.size).toBe(0);
  });

  it('are refused for sizes that are no sizes', () => {
    const { pool } = setUp();
    for (const bad of [-1, 1.5, Number.NaN]) expect(() => pool.take(bad)).toThrow(/bytes/);
    expect(() => setUp({ maxBytes: 0 })).toThrow(/maxBytes/);
    expect(() => setUp({ rounding: 'coarse' as 'fine' })).toThrow(/no rounding 'coarse'/);
  });

  it('are lost to nobody when zeroing fails', () => {
    const { pool, source } = setUp();
    const { launch } = source.device;
    source.device.launch = () => {
      throw new Error('no');
    };
    expect(() => pool.take(MB)).toThrow('no');
    source.device.launch = launch;
    expect(pool.stats()).toMatchObject({ inUseCount: 0, availableCount: 1, poolHits: 0, poolMisses: 0 });
    expect(pool.take(MB).bytes).toBe(MB);
  });
});

describe('against a plain model', () => {
  it('10,000 random steps agree, nothing overlaps, and everything comes back', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 5000 }), { minLength: 10_000, maxLength: 10_000 });
    fc.assert(
      fc.property(sizes, fc.constantFrom('fine' as const, 'none' as const), (steps, rounding) => {
        const maxBytes = 60_000;
        const { pool, source } = setUp({ maxBytes, rounding });
        const lent: Lease[] = [];
        const model = { idle: [] as number[], lent: 0, hits: 0, misses: 0, refused: 0 };
        for (const [i, step] of steps.entries()) {
          if (step % 5 < 2 && lent.length > 0) {
            const [lease] = lent.splice(step % lent.length, 1);
            const size = lease!.buffer.bytes;
            pool.release(lease!);
            model.lent -= size;
            model.idle.push(size);
            continue;
          }
          const size = roundSize(step, rounding);
          // Of idle buffers that fit, the smallest; the model's list is in the order of release.
          const fits = model.idle.filter((s) => s === size || (s > size && s < step * 1.25));
          let lease: Lease | null = null;
          if (fits.length > 0) {
            const found = Math.min(...fits);
            model.idle.splice(model.idle.lastIndexOf(found), 1);
            model.hits++;
            model.lent += found;
            lease = pool.take(step, { uninitialised: true });
            expect(lease.buffer.bytes).toBe(found);
          } else if (model.lent + size > maxBytes) {
            model.idle = size > maxBytes ? model.idle : [];
            model.refused++;
            expect(() => pool.take(step)).toThrow(OutOfMemory);
          } else {
            const held = (): number => model.lent + model.idle.reduce((a, b) => a + b, 0);
            while (held() + size > maxBytes) model.idle.shift();
            model.misses++;
            model.lent += size;
            lease = pool.take(step, { uninitialised: true });
          }
          if (lease) {
            expect(lent.some((l) => l.buffer === lease!.buffer)).toBe(false);
            lent.push(lease);
          }
          if (i % 500 === 0) {
            expect(source.bytes).toBe(model.lent + model.idle.reduce((a, b) => a + b, 0));
            expect(pool.stats()).toMatchObject({
              poolHits: model.hits,
              poolMisses: model.misses,
              availableCount: model.idle.length,
              inUseCount: lent.length,
            });
          }
        }
        for (const lease of lent) pool.release(lease);
        pool.clear();
        expect(source.live.size).toBe(0);
        expect(pool.stats()).toMatchObject({ totalSizeMb: 0, uniqueSizes: 0, inUseCount: 0, availableCount: 0 });
      }),
      { numRuns: 4 },
    );
  });
});

describe('on a device', () => {
  let device: CpuDevice;
  let pool: MemoryPool;
  beforeAll(async () => {
    device = await createCpuDevice({ threads: 1 });
    pool = new MemoryPool({
      id: 'cpu',
      device,
      allocate: (bytes) => device.allocate(bytes),
      release: (b) => device.release(b),
    });
  });
  afterAll(async () => {
    pool.close();
    await device.close();
  });

  it('f32 and then f64 of the same bytes share a buffer, and the f64 are zero', () => {
    for (const bytes of [64, 8000, 800_000]) {
      const single = pool.take({ dtype: 'f32', shape: [bytes / 4] });
      device.write(single.buffer, new Uint8Array(bytes).fill(255));
      pool.release(single);
      const double = pool.take({ dtype: 'f64', shape: [bytes / 8] });
      expect(double.buffer).toBe(single.buffer);
      expect([double.dtype, double.shape, double.bytes]).toEqual(['f64', [bytes / 8], bytes]);
      const values = device.readTyped(double.buffer, 'f64', 0, bytes / 8) as Float64Array;
      expect(values.length).toBe(bytes / 8);
      expect(values.every((v) => v === 0)).toBe(true);
      pool.release(double);
    }
  });

  it('zeroes fresh buffers too, of any size', () => {
    const dirt = [5001, 70_000].map((n) => device.allocate(n));
    for (const b of dirt) device.write(b, new Uint8Array(b.bytes).fill(7));
    for (const b of dirt) device.release(b);
    const exact = new MemoryPool(
      {
        id: 'cpu',
        device,
        allocate: (n) => device.allocate(n),
        release: (b) => device.release(b),
      },
      { rounding: 'none' },
    );
    for (const n of [0, 1, 3, 5001, 70_000, 2 ** 21 + 1]) {
      const bytes = device.readSync(exact.take(n).buffer);
      expect(bytes.length).toBe(n);
      expect(bytes.every((v) => v === 0)).toBe(true);
    }
    exact.close();
  });

  it('leaves contents alone only when asked to', () => {
    const a = pool.take(6000);
    device.write(a.buffer, new Uint8Array(6000).fill(9));
    pool.release(a);
    const b = pool.take(6000, { uninitialised: true });
    expect(device.readSync(b.buffer, 0, 6000).every((v) => v === 9)).toBe(true);
    pool.release(b);
  });
});
