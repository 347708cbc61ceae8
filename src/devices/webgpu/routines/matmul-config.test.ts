import { describe, expect, it } from 'vitest';
import type { Traits } from '../plan.ts';
import { tilesFor } from './matmul-config.ts';

const gpu = { cpu: false, maxInvocations: 1024, workgroupBytes: 49_152 } as Traits;
const least = { ...gpu, maxInvocations: 256, workgroupBytes: 16_384 };
const product = (m: number, k: number, n: number, batch = 1, type: 'f32' | 'bool' = 'f32') => ({
  m,
  k,
  n,
  batch,
  type,
});

describe('tiles of a product', () => {
  it('are whole where there are enough of them', () => {
    for (const w of [product(4096, 4096, 4096), product(1024, 1024, 1024), product(512, 512, 512)])
      expect(tilesFor(w, gpu).cuts).toBe(1);
  });

  it('share their depth where there are few: in few rows, and in small results of long sums', () => {
    expect(tilesFor(product(16, 4096, 4096), gpu)).toMatchObject({ tiles: { rows: 16, columns: 64 }, cuts: 8 });
    expect(tilesFor(product(4096, 4096, 16), gpu)).toMatchObject({ tiles: { rows: 64, columns: 16 }, cuts: 8 });
    expect(tilesFor(product(64, 65_536, 64), gpu)).toMatchObject({ tiles: { rows: 64, columns: 64 }, cuts: 512 });
  });

  it('are never cut on software adapters, nor where sums are of bools', () => {
    expect(tilesFor(product(16, 4096, 4096), { ...gpu, cpu: true }).cuts).toBe(1);
    expect(tilesFor(product(16, 4096, 4096, 1, 'bool'), gpu).cuts).toBe(1);
  });

  it('are not half empty', () => {
    expect(tilesFor(product(25_088, 576, 64), gpu).tiles.columns).toBe(64);
    expect(tilesFor(product(20, 20, 20, 1000), gpu).tiles.rows).toBe(32);
  });

  it.each([
    [4096, 64, 4096],
    [16, 4096, 4096],
    [64, 65_536, 64],
    [3, 2048, 100],
  ])('fit the adapter with the least that WebGPU promises: %i × %i × %i', (m, k, n) => {
    const { tiles: t } = tilesFor(product(m, k, n), least);
    expect((t.rows / t.threadRows) * (t.columns / t.threadColumns)).toBeLessThanOrEqual(least.maxInvocations);
    expect((t.rows + t.columns) * t.depth * 4).toBeLessThanOrEqual(least.workgroupBytes);
  });
});
