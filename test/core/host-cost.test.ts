// What an op costs the host, by what can be counted: bytes on the JavaScript heap, launches, walks over the graph. Time follows from
// it, and depends on the machine.

import { describe, expect, it } from 'vitest';
import { findCollector } from '../../src/base/garbage.ts';
import { withFaults } from '../../src/governor/recovery/faults.ts';
import type { Node } from '../../src/graph/node.ts';
import { createRuntime, type Tensor } from '../../src/index.ts';
import { countSources, fixture } from './support.ts';

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
    'with a number': { most: 340, of: (x) => x.mul(0.99) },
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

describe('200 ops, each on the result of the one before', () => {
  const chain = (x: Tensor): Tensor[] => {
    const steps: Tensor[] = [];
    for (let i = 0; i < 100; i++) {
      steps.push((steps[2 * i - 1] ?? x).mul(0.99));
      steps.push(steps[2 * i]!.add(0.01));
    }
    return steps;
  };

  it('are one launch of a program that is planned once, and leave no step behind', async () => {
    const rt = await runtime();
    const x = rt.tensor(new Float32Array(64).fill(0.3)).compute();
    const once = (): number[] => {
      const before = rt.stats();
      const steps = chain(x);
      steps.at(-1)!.compute();
      const { launches, programs, programHits } = rt.stats();
      expect(steps.filter((t) => t.computed)).toEqual([steps.at(-1)]);
      return [launches - before.launches, programs - before.programs, programHits - before.programHits];
    };
    expect(once()).toEqual([1, 1, 0]);
    expect(once()).toEqual([1, 0, 1]);
  });

  it('are walked once', async () => {
    const rt = await runtime();
    const x = rt.tensor(new Float32Array(64).fill(0.3)).compute();
    for (let i = 0; i < 2; i++) chain(x).at(-1)!.compute();
    const steps = chain(x);
    const asked = countSources(steps.map((t) => t.node));
    steps.at(-1)!.compute();
    // On the way down whether there are any and which, twice; once on the way up.
    expect(asked()).toBeLessThanOrEqual(4 * 200 + 8);
  });

  it('are no part of what the result holds on to, where that may have to be computed again', async () => {
    await using rt = await createRuntime({
      devices: ['cpu'],
      cpu: { threads: 1 },
      wrap: (device) => withFaults(device, { faults: [] }),
    });
    const x = rt.tensor(new Float32Array(64).fill(0.3)).compute();
    const result = chain(x).at(-1)!.compute();
    const held = new Set<Node>();
    const pending = [result.node];
    for (let n = pending.pop(); n; n = pending.pop()) {
      if (held.has(n)) continue;
      held.add(n);
      pending.push(...n.sources, ...((n.lineage as { inputs?: readonly Node[] } | null)?.inputs ?? []));
      if (Array.isArray(n.lineage)) pending.push(...n.lineage);
    }
    expect([...held]).toEqual([result.node, x.node]);
  });
});
