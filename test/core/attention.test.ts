// softmax(f(Q·Kᵀ))·V becomes one launch where the device computes it without storing the scores; the reference device follows the same
// plan. What comes out is compared with plain JavaScript in doubles.

import { afterAll, describe, expect, it } from 'vitest';
import { createRuntime, type DType, type Runtime, type Tensor } from '../../src/index.ts';
import fc from '../support/properties.ts';

const rt = await createRuntime({ devices: ['reference'] });
const cpu = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
afterAll(() => Promise.all([rt.close(), cpu.close()]));

interface Shape {
  readonly lead: readonly number[];
  readonly queries: number;
  readonly keys: number;
  readonly depth: number;
  readonly width: number;
}

const usual: Shape = { lead: [2], queries: 12, keys: 20, depth: 16, width: 8 };

function operands(on: Runtime, s: Shape, dtype: DType = 'f32', seed = 1): [Tensor, Tensor, Tensor] {
  const make = (rows: number, columns: number, k: number): Tensor => {
    const shape = [...s.lead, rows, columns];
    const n = shape.reduce((p, d) => p * d, 1);
    // Values that every float type holds.
    return on.tensor(
      Array.from({ length: n }, (_, i) => Math.round(Math.sin(i * 1.7 + k * seed) * 16) / 8),
      shape,
      { dtype },
    );
  };
  return [make(s.queries, s.depth, 1), make(s.keys, s.depth, 2), make(s.keys, s.width, 3)];
}

const turned = (k: Tensor): Tensor => k.swapaxes(-1, -2);

/** The largest difference, where both are numbers; NaN on one side only counts as infinite. */
async function difference(x: Tensor, y: Tensor): Promise<number> {
  const [a, b] = [(await x.cast('f64').data()) as Float64Array, (await y.cast('f64').data()) as Float64Array];
  expect(a.length).toBe(b.length);
  let most = 0;
  for (let i = 0; i < a.length; i++) {
    if (Number.isNaN(a[i]) !== Number.isNaN(b[i]!)) return Number.POSITIVE_INFINITY;
    if (!Number.isNaN(a[i])) most = Math.max(most, Math.abs(a[i]! - b[i]!));
  }
  return most;
}

type Change = (on: Runtime, scores: Tensor, s: Shape) => Tensor;

const causal = (on: Runtime, { queries, keys }: Shape): Tensor =>
  on.arange(queries).reshape([queries, 1]).greaterEqual(on.arange(keys));

/** What may stand between the product and the softmax. */
const changes: Readonly<Record<string, Change>> = {
  nothing: (_, x) => x,
  'a scale': (_, x) => x.mul(0.25),
  'a quotient': (_, x) => x.div(4),
  'a causal mask': (on, x, s) => on.where(causal(on, s), x.mul(0.25), Number.NEGATIVE_INFINITY),
  'a mask to be added': (on, x, { queries, keys }) =>
    x.mul(0.25).add(
      on
        .tensor(
          Array.from({ length: queries * keys }, (_, i) => (i % 7) - 3),
          [queries, keys],
        )
        .cast(x.dtype),
    ),
  'a mask of bools': (on, x, { queries, keys }) =>
    on.where(
      on.tensor(
        Array.from({ length: queries * keys }, (_, i) => i % 3 !== 0),
        [queries, keys],
      ),
      x,
      -1e4,
    ),
  'a mask by key': (on, x, { keys }) => x.add(on.tensor(Array.from({ length: keys }, (_, i) => i % 5)).cast(x.dtype)),
  'a soft limit': (_, x) => x.div(4).tanh().mul(4),
  'a slope by distance': (on, x, { queries, keys }) =>
    x.sub(on.arange(queries).reshape([queries, 1]).sub(on.arange(keys)).abs().cast(x.dtype).mul(0.5)),
};

const attend = (on: Runtime, change: Change, s: Shape, dtype: DType = 'f32', seed = 1): Tensor => {
  const [q, k, v] = operands(on, s, dtype, seed);
  return change(on, q.matmul(turned(k)), s)
    .softmax(-1)
    .matmul(v);
};

describe.each(['f32', 'f16', 'bf16'] as const)('in %s', (dtype) => {
  it.each(Object.keys(changes))('is one launch with %s', async (name) => {
    const y = attend(rt, changes[name]!, usual, dtype);
    const { kernels } = rt.explain(y);
    expect(kernels.map((k) => k.name)).toEqual([expect.stringMatching(/^attention_/)]);
    expect(kernels[0]!.body).toContain('scores stay on the chip');
    // Narrow scores are rounded where they are stored: the CPU is compared in f32.
    const same = attend(cpu, changes[name]!, usual);
    expect(await difference(y, same)).toBeLessThan(dtype === 'f32' ? 2e-6 : dtype === 'f16' ? 2e-3 : 1.6e-2);
  });
});

it('takes leading axes, shared operands and lengths that fit no tile', async () => {
  const shape = fc.record({
    lead: fc.constantFrom<readonly number[]>([], [1], [3], [2, 3]),
    queries: fc.integer({ min: 1, max: 20 }),
    keys: fc.integer({ min: 1, max: 20 }),
    depth: fc.constantFrom(8, 16, 24),
    width: fc.constantFrom(8, 16, 40),
  });
  await fc.assert(
    fc.asyncProperty(shape, fc.constantFrom(...Object.keys(changes)), fc.boolean(), async (s, name, shared) => {
      const make = (on: Runtime): Tensor => {
        const [q, , v] = operands(on, s);
        const k = operands(on, shared ? { ...s, lead: [] } : s)[1];
        return changes[name]!(on, q.matmul(turned(k)), s)
          .softmax(-1)
          .matmul(v);
      };
      const y = make(rt);
      expect(rt.explain(y).kernels).toHaveLength(1);
      expect(await difference(y, make(cpu))).toBeLessThan(2e-6);
    }),
    { numRuns: 30 },
  );
});

it('gives NaN for rows without a key, as a softmax of −∞ is, and for those only', async () => {
  const make = (on: Runtime): Tensor => {
    const [q, k, v] = operands(on, usual);
    // The first query sees no key.
    const seen = on.arange(usual.queries).reshape([-1, 1]).greater(on.arange(usual.keys));
    return on
      .where(seen, q.matmul(turned(k)), Number.NEGATIVE_INFINITY)
      .softmax(-1)
      .matmul(v);
  };
  const y = make(rt);
  expect(rt.explain(y).kernels).toHaveLength(1);
  const data = (await y.data()) as Float32Array;
  const { queries, width } = usual;
  data.forEach((x, i) => {
    expect(Number.isNaN(x)).toBe(Math.floor(i / width) % queries === 0);
  });
  expect(await difference(make(rt), make(cpu))).toBeLessThan(2e-6);
});

it('scores that are rounded on the way stay rounded', async () => {
  const make = (on: Runtime): Tensor => {
    const [q, k, v] = operands(on, usual);
    return q.matmul(turned(k)).mul(0.3).cast('bf16').cast('f32').softmax(-1).matmul(v);
  };
  const y = make(rt);
  expect(rt.explain(y).kernels).toHaveLength(1);
  expect(await difference(y, make(cpu))).toBeLessThan(2e-6);
});

it('takes heads that are split and joined by other shapes', async () => {
  const make = (on: Runtime): Tensor => {
    const [q, k, v] = operands(on, { ...usual, lead: [6] });
    const { queries, keys } = usual;
    const scores = q.matmul(turned(k)).reshape([2, 3, queries, keys]).mul(0.25);
    return scores.softmax(-1).reshape([6, queries, keys]).matmul(v);
  };
  const y = make(rt);
  expect(rt.explain(y).kernels).toHaveLength(1);
  expect(await difference(y, make(cpu))).toBeLessThan(2e-6);
});

const layouts: Readonly<Record<string, { kernels: number; make: (on: Runtime) => Tensor }>> = {
  'heads beside each other, as a model has them': {
    kernels: 4,
    make: (on) => {
      const [q, k, v] = operands(on, { ...usual, lead: [2, 5], queries: 3, keys: 3 });
      const heads = (x: Tensor): Tensor => x.permute([0, 2, 1, 3]);
      return heads(q)
        .matmul(turned(heads(k)))
        .mul(0.25)
        .softmax(-1)
        .matmul(heads(v));
    },
  },
  'keys turned and moved at once': {
    kernels: 2,
    make: (on) => {
      const [q, , v] = operands(on, { ...usual, lead: [2, 3] });
      const [, k] = operands(on, { ...usual, lead: [2], keys: 20 * 3 });
      return q
        .matmul(k.reshape([2, 20, 3, 16]).permute([0, 2, 3, 1]))
        .softmax(-1)
        .matmul(v);
    },
  },
  'keys that lie turned': {
    kernels: 2,
    make: (on) => {
      const [q, , v] = operands(on, usual);
      const k = operands(on, { ...usual, keys: usual.depth, depth: usual.keys })[1];
      return q.matmul(k).softmax(-1).matmul(v);
    },
  },
  'queries and values that lie turned': {
    kernels: 3,
    make: (on) => {
      const k = operands(on, usual)[1];
      const q = operands(on, { ...usual, queries: usual.depth, depth: usual.queries })[0];
      const v = operands(on, { ...usual, keys: usual.width, width: usual.keys })[2];
      return turned(q).matmul(turned(k)).softmax(-1).matmul(turned(v));
    },
  },
};

it.each(Object.keys(layouts))('takes %s', async (name) => {
  const { kernels, make } = layouts[name]!;
  const y = make(rt);
  const names = rt.explain(y).kernels.map((k) => k.name);
  expect(names).toHaveLength(kernels);
  expect(names.at(-1)).toMatch(/^attention/);
  expect(await difference(y, make(cpu))).toBeLessThan(2e-6);
});

it('takes a softmax that is written out', async () => {
  const make = (on: Runtime): Tensor => {
    const [q, k, v] = operands(on, usual);
    const x = q.matmul(turned(k)).mul(0.5);
    const e = x.sub(x.max({ axis: -1, keepdims: true })).exp();
    return e.div(e.sum({ axis: -1, keepdims: true })).matmul(v);
  };
  const y = make(rt);
  expect(rt.explain(y).kernels).toHaveLength(1);
  expect(await difference(y, make(cpu))).toBeLessThan(2e-6);
});

it('the scale is an argument of the launch, not part of the program', async () => {
  const [q, k, v] = operands(rt, usual);
  const [p, l, w] = operands(cpu, usual);
  for (const scale of [0.5, -0.25, 0, 3]) {
    const y = q.matmul(turned(k)).mul(scale).softmax(-1).matmul(v);
    expect(await difference(y, p.matmul(turned(l)).mul(scale).softmax(-1).matmul(w))).toBeLessThan(2e-6);
  }
});

it('steps that tensors hold can still be read', async () => {
  const [q, k, v] = operands(rt, usual);
  const [p, l, w] = operands(cpu, usual);
  const scores = q.matmul(turned(k)).mul(0.5);
  const weights = scores.softmax(-1);
  const y = weights.matmul(v);
  const plainScores = p.matmul(turned(l)).mul(0.5);
  expect(await difference(y, plainScores.softmax(-1).matmul(w))).toBeLessThan(2e-6);
  expect(await difference(weights, plainScores.softmax(-1))).toBeLessThan(2e-6);
  expect(await difference(scores, plainScores)).toBeLessThan(2e-5);
});

const refusals: Readonly<Record<string, (on: Runtime) => readonly Tensor[]>> = {
  'whose weights are a result too': (on) => {
    const [q, k, v] = operands(on, usual);
    const weights = q.matmul(turned(k)).softmax(-1);
    return [weights.matmul(v), weights];
  },
  'whose scores somebody else reads': (on) => {
    const [q, k, v] = operands(on, usual);
    const scores = q.matmul(turned(k));
    return [scores.softmax(-1).matmul(v), scores.sum()];
  },
  'along the queries': (on) => {
    const [q, k, v] = operands(on, usual);
    return [q.matmul(turned(k)).softmax(-2).matmul(v)];
  },
  'without its largest score taken off': (on) => {
    const [q, k, v] = operands(on, usual);
    const e = q.matmul(turned(k)).mul(0.01).exp();
    return [e.div(e.sum({ axis: -1, keepdims: true })).matmul(v)];
  },
  'with heads of an odd size': (on) => {
    const [q, k, v] = operands(on, { ...usual, depth: 12 });
    return [q.matmul(turned(k)).softmax(-1).matmul(v)];
  },
  'of doubles': (on) => {
    const [q, k, v] = operands(on, usual, 'f64');
    return [q.matmul(turned(k)).softmax(-1).matmul(v)];
  },
  'whose weights are rounded': (on) => {
    const [q, k, v] = operands(on, usual);
    return [q.matmul(turned(k)).softmax(-1).mul(8).cast('i32').cast('f32').matmul(v)];
  },
  'whose weights go through a narrow type': (on) => {
    const [q, k, v] = operands(on, usual);
    return [q.matmul(turned(k)).softmax(-1).cast('bf16').cast('f32').matmul(v)];
  },
  'whose largest scores are taken off along the wrong axis': (on) => {
    const square = { ...usual, lead: [1], queries: 16, keys: 16 };
    const [q, k, v] = operands(on, square);
    const x = q.matmul(turned(k)).mul(0.125);
    const e = x.sub(x.max({ axis: -1 }).reshape([1, 1, 16])).exp();
    return [e.div(e.sum({ axis: -1, keepdims: true })).matmul(v)];
  },
  'whose sums are spread along the wrong axis': (on) => {
    const square = { ...usual, lead: [1], queries: 16, keys: 16 };
    const [q, k, v] = operands(on, square);
    const x = q.matmul(turned(k)).mul(0.125);
    const e = x.sub(x.max({ axis: -1, keepdims: true })).exp();
    return [e.div(e.sum({ axis: -1 }).reshape([1, 1, 16])).matmul(v)];
  },
  'whose rows are dealt out to other values': (on) => {
    const [q, k] = operands(on, { ...usual, lead: [2], queries: 6 });
    const v = operands(on, { ...usual, lead: [3] })[2];
    return [q.matmul(turned(k)).softmax(-1).reshape([3, 4, usual.keys]).matmul(v)];
  },
  'whose weights many values share': (on) => {
    const [q, k] = operands(on, { ...usual, lead: [] });
    return [
      q
        .matmul(turned(k))
        .softmax(-1)
        .matmul(operands(on, { ...usual, lead: [3] })[2]),
    ];
  },
  'whose scores are turned': (on) => {
    const [q, k] = operands(on, usual);
    return [
      turned(q.matmul(turned(k)))
        .softmax(-1)
        .matmul(operands(on, { ...usual, keys: usual.queries })[2]),
    ];
  },
  'in which products may be rounded': (on) => {
    const [q, k, v] = operands(on, usual);
    return [q.matmul(turned(k), { precision: 'tf32' }).softmax(-1).matmul(v)];
  },
};

it.each(Object.keys(refusals))('is left as it is: a softmax %s', async (name) => {
  const made = refusals[name]!(rt);
  const known = refusals[name]!(cpu);
  const seen: string[] = [];
  const off = rt.on('launch', (e) => seen.push(e.name));
  await rt.flush(...made);
  off();
  expect(seen.length).toBeGreaterThan(1);
  expect(seen.filter((n) => n.startsWith('attention'))).toEqual([]);
  for (const [i, y] of made.entries()) expect(await difference(y, known[i]!)).toBeLessThan(2e-5);
});
