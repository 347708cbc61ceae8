// What an op costs the host, by what can be counted: bytes on the JavaScript heap. Time follows from it, and depends on the machine.

import { describe, expect, it } from 'vitest';
import { findCollector } from '../../src/base/garbage.ts';
import type { Tensor } from '../../src/index.ts';
import { fixture } from './support.ts';

const runtime = fixture();
const count = 20_000;

/** Bytes of heap that one result of `make` holds. */
async function held(make: () => Tensor): Promise<number> {
  const collect = await findCollector();
  const kept = new Array<Tensor | null>(count).fill(null);
  for (let i = 0; i < 2000; i++) make();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < count; i++) kept[i] = make();
  collect();
  const bytes = process.memoryUsage().heapUsed - before;
  for (const t of kept) t!.dispose();
  return bytes / count;
}

describe('a lazy op', () => {
  const ops: Readonly<Record<string, { readonly most: number; readonly of: (x: Tensor) => Tensor }>> = {
    'with a number': { most: 520, of: (x) => x.mul(0.99) },
    'with a tensor': { most: 340, of: (x) => x.mul(x) },
    'with one operand': { most: 320, of: (x) => x.tanh() },
  };
  it.each(Object.keys(ops))('holds a few hundred bytes of heap: %s', async (name) => {
    const { most, of } = ops[name]!;
    const rt = await runtime();
    const x = rt.tensor(new Float32Array(64)).compute();
    expect(await held(() => of(x))).toBeLessThan(most);
  });
});
