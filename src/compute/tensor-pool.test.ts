import { afterEach, describe, expect, it } from 'vitest';
import type { Tensor } from '../index.ts';
import { DeviceManager } from './device-manager.ts';
import { DeviceUnavailableError, DisposedError, InvalidArgumentError } from './errors.ts';
import { maxShelves } from './pool-stock.ts';
import { type PoolOptions, TensorPool } from './tensor-pool.ts';

const open: DeviceManager[] = [];
afterEach(async () => {
  for (const d of open.splice(0)) await d.dispose();
});

async function pool(options: PoolOptions = {}): Promise<{ pool: TensorPool; devices: DeviceManager }> {
  const devices = DeviceManager.create({ kinds: ['cpu'], runtime: { cpu: { threads: 1 } }, probeElements: 4096 });
  open.push(devices);
  await devices.selectDevice({ preferGPU: false });
  return { pool: TensorPool.create({ devices, predict: false, ...options }), devices };
}

const sumTo = (n: number): number => (n * (n + 1)) / 2;

const rest = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the tensor pool', () => {
  it('reuses by shape, dtype and device, and hands out zeros, fresh or not', async () => {
    const { pool: p } = await pool();
    const a = p.reuseOrCreateTensor([100, 100]);
    const node = a.node;
    p.releaseTensor(a);
    const other = p.reuseOrCreateTensor([100, 100], { dtype: 'f64' });
    expect(other.dtype).toBe('f64');
    const b = p.reuseOrCreateTensor([100, 100]);
    expect(b.node).toBe(node);
    expect((await b.data()).every((v) => v === 0)).toBe(true);
    expect(p.stats()).toMatchObject({ hits: 1, misses: 2, hitRate: 1 / 3, bytesHeld: 0, bytesLent: 120_000 });
  });

  it('gives what was asked for when values of an earlier user are still there', async () => {
    const { pool: p } = await pool();
    const a = p.reuseOrCreateTensor([3], { init: Float32Array.of(1, 2, 3) });
    expect(await a.data()).toEqual(Float32Array.of(1, 2, 3));
    p.releaseTensor(a);
    const b = p.reuseOrCreateTensor([3]);
    expect(await b.data()).toEqual(new Float32Array(3));
    p.releaseTensor(b);
    const c = p.reuseOrCreateTensor([3], { init: Float32Array.of(7, 8, 9) });
    expect(await c.data()).toEqual(Float32Array.of(7, 8, 9));
    expect(p.stats().hits).toBe(2);
  });

  it('shows reads of values nobody set in debug mode', async () => {
    const { pool: p } = await pool({ debug: true });
    expect((await p.reuseOrCreateTensor([4], { init: 'none' }).data()).every(Number.isNaN)).toBe(true);
    expect((await p.reuseOrCreateTensor([4], { init: 'none', dtype: 'i32' }).data())[0]).toBe(-(2 ** 31));
  });

  it('names every misuse of a release, and never lends one memory twice', async () => {
    const { pool: p, devices } = await pool();
    const a = p.reuseOrCreateTensor([1000]);
    p.releaseTensor(a);
    expect(a.disposed).toBe(true);
    const b = p.reuseOrCreateTensor([1000]);
    expect(() => p.releaseTensor(a)).toThrow(/released before/);
    const c = p.reuseOrCreateTensor([1000]);
    expect(c.node).not.toBe(b.node);
    const foreign = devices.station!.runtime.zeros([1000]);
    expect(() => p.releaseTensor(foreign)).toThrow(InvalidArgumentError);
    c.dispose();
    expect(() => p.releaseTensor(c)).toThrow(DisposedError);
    expect(p.stats().bytesLent).toBe(4000);
  });

  it('is not touched by scopes: what was released stays, what is idle belongs to none', async () => {
    const { pool: p, devices } = await pool();
    const { runtime } = devices.station!;
    runtime.scope(() => {
      const a = p.reuseOrCreateTensor([2000]);
      p.releaseTensor(a);
    });
    const b = p.reuseOrCreateTensor([2000]);
    expect(p.stats().hits).toBe(1);
    expect(await b.sum().data()).toEqual(Float32Array.of(0));
    let left: Tensor | null = null;
    runtime.scope(() => {
      left = p.reuseOrCreateTensor([2000]);
    });
    expect(left!.disposed).toBe(true);
    expect(p.stats()).toMatchObject({ bytesLent: 8000 });
  });

  it('holds no more than its limit, and gives up what was used longest ago', async () => {
    const { pool: p } = await pool({ limitBytes: 10_000 });
    const tensors = [1000, 1001, 1002].map((n) => p.reuseOrCreateTensor([n]));
    for (const t of tensors) p.releaseTensor(t);
    expect(p.stats()).toMatchObject({ evictions: 1, bytesHeld: 8012 });
    p.reuseOrCreateTensor([1001]);
    p.reuseOrCreateTensor([1000]);
    expect(p.stats()).toMatchObject({ hits: 1, misses: 4 });
    const large = p.reuseOrCreateTensor([5000]);
    p.releaseTensor(large);
    expect(p.stats().bytesHeld).toBe(4008);
  });

  it('forgets shapes that nobody has asked for in a long time', async () => {
    const { pool: p } = await pool();
    for (let i = 1; i <= maxShelves + 200; i++) p.releaseTensor(p.reuseOrCreateTensor([i]));
    expect(Object.keys(p.stats().keys)).toHaveLength(maxShelves);
    // Totals stay, and bytes are those of what is left.
    expect(p.stats().misses).toBe(maxShelves + 200);
    expect(p.stats().evictions).toBe(200);
    const held = p.stats().bytesHeld;
    expect(held).toBe(4 * sumTo(maxShelves + 200) - 4 * sumTo(200));
    expect(p.trim()).toBe(held);
    expect(p.stats().bytesHeld).toBe(0);
  });

  it('gives back when it is asked, when memory is short, and when the device is reset', async () => {
    const { pool: p, devices } = await pool();
    const fill = (): void => {
      for (const t of [p.reuseOrCreateTensor([5000]), p.reuseOrCreateTensor([6000])]) p.releaseTensor(t);
    };
    fill();
    expect(p.trim(1)).toBe(20_000);
    expect(p.trim()).toBe(24_000);
    fill();
    devices.station!.runtime.memory.cleanupMemory();
    expect(p.stats().bytesHeld).toBe(0);
    fill();
    await devices.reset('test');
    await devices.ready();
    expect(p.stats()).toMatchObject({ bytesHeld: 0, hits: 0 });
    fill();
    expect(p.stats().bytesHeld).toBe(44_000);
  });

  it('hits in at least 99.5 % of the requests of a steady loop', async () => {
    const { pool: p } = await pool();
    const round = (): void => {
      const taken = [64, 128, 5000, 64].map((n) => p.reuseOrCreateTensor([n]));
      for (const t of taken) p.releaseTensor(t);
    };
    round();
    round();
    const { hits, misses } = p.stats();
    for (let i = 0; i < 250; i++) round();
    const after = p.stats();
    expect((after.hits - hits) / (after.hits + after.misses - hits - misses)).toBeGreaterThanOrEqual(0.995);
  });

  it('makes the next tensors of a loop ready, so that from the third round nothing is allocated while a caller waits', async () => {
    const { pool: p } = await pool({ predict: true });
    const shapes = Array.from({ length: 20 }, (_, i) => [1000 + 10 * i]);
    let missesAfterTwo = 0;
    for (let r = 0; r < 5; r++) {
      if (r === 2) missesAfterTwo = p.stats().misses;
      for (const shape of shapes) {
        // Disposed, not released: every round needs new tensors.
        p.reuseOrCreateTensor(shape).dispose();
        await rest();
      }
    }
    expect(p.stats().misses).toBe(missesAfterTwo);
    expect(p.stats().prepared).toBeGreaterThan(0);
  });

  it('keeps wrong predictions within its limit', async () => {
    const { pool: p } = await pool({ predict: true, limitBytes: 20_000 });
    let s = 7;
    for (let i = 0; i < 400; i++) {
      s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
      p.reuseOrCreateTensor([1000 + (s >>> 24)]).dispose();
      await Promise.resolve();
      expect(p.stats().bytesHeld).toBeLessThanOrEqual(20_000);
    }
  });

  it('needs a device and its own life', async () => {
    const devices = DeviceManager.create({ kinds: ['cpu'] });
    open.push(devices);
    const p = TensorPool.create({ devices });
    expect(() => p.reuseOrCreateTensor([2])).toThrow(DeviceUnavailableError);
    p.dispose();
    expect(() => p.reuseOrCreateTensor([2])).toThrow(DisposedError);
    expect(() => TensorPool.create({ devices, limitBytes: -1 })).toThrow(/limitBytes/);
  });

  it('refuses shapes and dtypes that do not exist', async () => {
    const { pool: p } = await pool();
    expect(() => p.reuseOrCreateTensor([-1])).toThrow(InvalidArgumentError);
    expect(() => p.reuseOrCreateTensor([2], { dtype: 'f8' as never })).toThrow(InvalidArgumentError);
    expect(p.stats()).toMatchObject({ hits: 0, misses: 0, bytesLent: 0 });
  });
});
