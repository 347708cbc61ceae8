import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime, type Runtime, type Tensor } from '../index.ts';
import { canonicalize } from './canonical.ts';
import { endsInHalves } from './halves.ts';
import type { Node } from './node.ts';
import { trace } from './trace.ts';

describe('values that only end in halves', () => {
  let rt: Runtime;
  beforeAll(async () => {
    rt = await createRuntime({ devices: ['reference'] });
  });
  afterAll(() => rt.close());

  /** The ops of those below a result. */
  const found = (...results: Tensor[]): string[] => {
    const nodes = results.map((t) => (t as unknown as { node: Node }).node);
    const ops = [...endsInHalves(canonicalize(trace(nodes), nodes, 8, false))].map((v) => v.op);
    return ops.filter((op) => op === 'alu' || op === 'reduce').sort();
  };
  const x = (): Tensor => rt.tensor([[1, 2, 3]]);

  it('are those of a softmax, but for what is summed up', () => {
    const e = x().exp();
    const sum = e.sum({ axis: 1, keepdims: true });
    const half = e.div(sum).cast('bf16');
    // The quotient and the sum. The exponential is summed up, too: its kernel says whether that may be.
    expect(found(half)).toEqual(['alu', 'reduce']);
    expect(found(half, sum)).toEqual(['alu']);
  });

  it('are none that are asked for, or read in another way', () => {
    const product = x().mul(3);
    expect(found(product.cast('f16'))).toEqual(['alu']);
    expect(found(product.cast('f16'), product)).toEqual([]);
    expect(found(product.cast('f16'), product.add(1))).toEqual([]);
    expect(found(product.add(1).cast('f16'))).toEqual(['alu']);
    expect(found(product.sub(1).mul(2).cast('f32'))).toEqual([]);
    expect(found(product.cast('f16').cast('f32').mul(2))).toEqual(['alu']);
  });
});
