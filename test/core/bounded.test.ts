// However many different programs there were, what is kept of them stays the same.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { internInts } from '../../src/graph/intern.ts';
import { KeyedCache } from '../../src/graph/keyed-cache.ts';
import type { Tensor } from '../../src/index.ts';
import { all } from '../support/extent.ts';
import { fixture } from './support.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

const runtime = fixture();

async function heap(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    await new Promise((r) => setTimeout(r, 2));
    gc();
  }
  return process.memoryUsage().heapUsed;
}

it('keeps few programs, signatures and shapes', { timeout: 900_000 }, async () => {
  const rt = await runtime();
  // More than any cache keeps, so that the first half fills them.
  const count = all ? 100_000 : 4_800;
  const f = rt.compile((x: Tensor, n: number) => x.expand([n, 1]).add(1).sum());
  const run = async (from: number, to: number): Promise<void> => {
    for (let n = from; n < to; n++) {
      const x = rt.tensor([n]);
      const y = n % 2 ? x.expand([n, 1]).mul(2).add(1).sum() : f(x, n);
      expect((await y.data())[0]).toBeGreaterThan(0);
      y.dispose();
      x.dispose();
    }
  };
  await run(1, count / 2);
  const before = await heap();
  await run(count / 2, count);
  // Shapes are kept until there are tens of thousands: a few hundred bytes each.
  expect((await heap()) - before).toBeLessThan(8 * 2 ** 20 + 500 * Math.min(count / 2, 1 << 16));
  expect(rt.stats().tensors).toBeLessThan(100);
});

it('keeps the tuples that were used last, and never gives an id twice', () => {
  const seen = new Map<number, string>();
  const usual = internInts([3, 5, 7]);
  let twice = 0;
  for (let i = 0; i < 200_000; i++) {
    const ints = internInts([i, i + 1]);
    if (seen.has(ints.id)) twice++;
    seen.set(ints.id, '');
    if (i % 1000 === 0) expect(internInts([3, 5, 7])).toBe(usual);
  }
  expect(twice).toBe(0);
  expect(internInts([0, 1]).values).toEqual([0, 1]);
  expect(internInts([])).toBe(internInts([]));
});

it('keeps the values that were asked for last', () => {
  const cache = new KeyedCache<number>(100);
  const key = (n: number): Int32Array => new Int32Array([n, 2 * n]);
  cache.set(key(-1), 2, -1);
  for (let n = 0; n < 10_000; n++) {
    cache.set(key(n), 2, n);
    expect(cache.get(key(-1), 2)).toBe(-1);
    expect(cache.get(key(n), 2)).toBe(n);
    expect(cache.size).toBeLessThanOrEqual(201);
  }
  expect(cache.get(key(5), 2)).toBeUndefined();
  expect([...cache.values()]).toContain(9999);
});
