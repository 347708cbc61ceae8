import { describe, expect, it } from 'vitest';
import { asReduction } from './dot.ts';
import type { Matmul } from './kernel.ts';

function product(shape: Partial<Matmul>): Matmul {
  const sizes = { batch: 1, batchA: 1, batchB: 1, m: 64, n: 64, k: 64, transposeA: false, transposeB: false, ...shape };
  const estimate = { flops: 0, bytesRead: 0, bytesWritten: 0 };
  return {
    kind: 'routine',
    op: 'matmul',
    name: 'p',
    type: 'f32',
    precision: 'exact',
    epilogue: null,
    estimate,
    ...sizes,
  };
}

describe('a product as a reduction', () => {
  it('is a few long dot products', () => {
    expect(asReduction(product({ m: 2, n: 3, k: 5000 }), 4096)).toMatchObject({ space: [2, 3], reduced: [5000] });
    expect(asReduction(product({ m: 2, n: 3, k: 4000 }), 4096)).toBeNull();
    expect(asReduction(product({ m: 20, n: 3, k: 5000 }), 4096)).toBeNull();
  });

  it('is a matrix times a vector, where that is asked for', () => {
    expect(asReduction(product({ n: 1 }), 4096)).toBeNull();
    expect(asReduction(product({ n: 1 }), 4096, true)).toMatchObject({ space: [64], reduced: [64] });
    expect(asReduction(product({ m: 1 }), 4096, true)).not.toBeNull();
    expect(asReduction(product({ m: 1, k: 1 }), 4096, true)).toBeNull();
    expect(asReduction(product({ m: 1, type: 'i32' }), 4096, true)).toBeNull();
  });

  it('is not one matrix that many vectors share', () => {
    const many = { batch: 100, batchA: 100, batchB: 100 };
    expect(asReduction(product({ ...many, m: 1 }), 4096, true)).not.toBeNull();
    expect(asReduction(product({ ...many, m: 1, batchB: 1 }), 4096, true)).toBeNull();
    expect(asReduction(product({ ...many, n: 1, batchA: 1 }), 4096, true)).toBeNull();
  });
});
