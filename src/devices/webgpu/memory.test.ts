import { describe, expect, it } from 'vitest';
import { DeviceUnavailable, OutOfMemory } from '../../errors.ts';
import { Pool, sizeClass } from './memory.ts';

describe('size classes', () => {
  it('grow in quarter steps, waste at most a quarter, and stop at the largest binding', () => {
    expect(sizeClass(0, 1e9)).toBe(256);
    expect(sizeClass(257, 1e9)).toBe(320);
    expect(sizeClass(1024, 1e9)).toBe(1024);
    expect(sizeClass(1025, 1e9)).toBe(1280);
    expect(sizeClass(1000, 1008)).toBe(1008);
    for (let n = 256; n < 1e6; n += 997) {
      expect(sizeClass(n, 1e9)).toBeGreaterThanOrEqual(n);
      expect(sizeClass(n, 1e9)).toBeLessThanOrEqual(n * 1.26);
      expect(sizeClass(n, 1e9) % 16).toBe(0);
    }
  });
});

/** A device that counts buffers and refuses the ones it is told to. */
function fakeDevice() {
  const live = new Set<object>();
  let refuse = false;
  const device = {
    pushErrorScope: () => {},
    popErrorScope: () => Promise.resolve(refuse ? { message: 'no memory' } : null),
    createBuffer: ({ size }: { size: number }) => {
      const buffer = { size, destroy: () => live.delete(buffer) };
      live.add(buffer);
      return buffer;
    },
  };
  return { device: device as unknown as GPUDevice, live, refuseFromNow: () => (refuse = true) };
}

describe('the pool', () => {
  const limits = { largest: 1 << 16, budget: 100_000 };

  it('hands a released block out again instead of making another', () => {
    const { device, live } = fakeDevice();
    const pool = new Pool(device, 'webgpu:0', limits, () => {});
    const a = pool.allocate(1000);
    const { block } = a;
    pool.release(a);
    pool.release(a);
    expect(pool.allocate(1010).block).toBe(block);
    expect(live.size).toBe(1);
  });

  it('destroys idle blocks to stay within its budget, after telling its owner', () => {
    const { device, live } = fakeDevice();
    let told = 0;
    const pool = new Pool(device, 'webgpu:0', limits, () => told++);
    pool.release(pool.allocate(60_000));
    pool.allocate(50_000);
    expect(told).toBe(1);
    expect(live.size).toBe(1);
    expect(() => pool.allocate(60_000)).toThrow(OutOfMemory);
    expect(pool.figures().used).toBe(sizeClass(50_000, 1 << 16));
  });

  it('refuses what no binding can hold, with both numbers', () => {
    const pool = new Pool(fakeDevice().device, 'webgpu:0', limits, () => {});
    expect(() => pool.allocate(70_000)).toThrow(DeviceUnavailable);
    expect(() => pool.allocate(70_000)).toThrow(/70000.*65536/);
  });

  it('learns its budget from a refusal and does not keep the refused block', async () => {
    const { device, refuseFromNow } = fakeDevice();
    const pool = new Pool(device, 'webgpu:0', limits, () => {});
    pool.allocate(20_000);
    await Promise.resolve();
    refuseFromNow();
    const b = pool.allocate(40_000);
    await new Promise((r) => setTimeout(r));
    expect(b.block?.failure).toBeInstanceOf(OutOfMemory);
    expect(pool.figures().learned).toBe(true);
    expect(pool.figures().total).toBeLessThan(20_480 + 40_960);
    pool.release(b);
    expect(pool.figures().idle).toBe(0);
  });
});
