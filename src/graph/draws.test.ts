import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime, type Runtime, type Tensor } from '../index.ts';
import { canonicalize } from './canonical.ts';
import type { Node } from './node.ts';
import { trace } from './trace.ts';

describe('random numbers', () => {
  let rt: Runtime;
  beforeAll(async () => {
    rt = await createRuntime({ devices: ['reference'] });
  });
  afterAll(() => rt.close());

  const nodeOf = (t: Tensor): Node => (t as unknown as { node: Node }).node;

  it.each(['uniform', 'normal', 'bernoulli', 'integers'] as const)(
    'of %s are few nodes until they are planned',
    (kind) => {
      const node = nodeOf(kind === 'integers' ? rt.random.integers([1000], { high: 7 }) : rt.random[kind]([1000]));
      const traced = trace([node]);
      expect(traced.nodes.length).toBeLessThanOrEqual(6);
      const { vertices } = canonicalize(traced, [node]);
      expect(vertices.length).toBeGreaterThan(80);
      expect(vertices.map((v) => v.op as string)).not.toContain('draw');
    },
  );

  it('share the steps of draws from one key', () => {
    const key = rt.random.key(3);
    const both = [rt.random.uniform([64], { key }), rt.random.normal([64], { key })].map(nodeOf);
    const count = (nodes: readonly Node[]): number => canonicalize(trace(nodes), nodes).vertices.length;
    expect(count(both)).toBeLessThan(0.8 * (count([both[0]!]) + count([both[1]!])));
  });
});
