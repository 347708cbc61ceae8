// Ops whose shape depends on the values, on what random graphs have not computed yet: positions, masks, unique values, counts.
//
// Expected results are plain loops over what the evaluator says. Only values of which every element is decided are used.

import { afterAll, describe, expect, it } from 'vitest';
import { dtypes, isFloat } from '../../src/base/dtype.ts';
import { ForgeError, type Runtime, type Tensor } from '../../src/index.ts';
import { roundTo, type Value } from '../../src/kernel/semantics.ts';
import { openRuntime, targets } from '../cases/devices.ts';
import { all } from '../support/extent.ts';
import fc from '../support/properties.ts';
import { programs } from './generate.ts';
import { build, type Program, uploads, valuesOf } from './program.ts';
import { type Bounded, unravel } from './value.ts';

type Lists = readonly (readonly Value[])[];

interface Waits {
  /** Whether the op takes such a value; else it must refuse it. */
  readonly takes: (x: Bounded) => boolean;
  readonly expected: (x: Bounded) => Lists;
  readonly run: (x: Tensor) => Promise<readonly Tensor[]>;
}

const byValue = (a: Value, b: Value): number => {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return a < b ? -1 : a > b ? 1 : 0;
};
const same = (a: Value, b: Value): boolean => a === b || (Number.isNaN(a) && Number.isNaN(b));

function distinct(x: Bounded): Value[] {
  const sorted = [...x.values].sort(byValue);
  return sorted.filter((v, i) => i === 0 || !same(v, sorted[i - 1]!));
}

const edges = [-3, -1, 0, 2, 2.5, 100];
const range = [-3, 2] as const;
const evenBins = 17;
const isRow = (x: Bounded): boolean => x.shape.length === 1;
const isWhole = (x: Bounded): boolean => !isFloat(x.dtype) && x.dtype !== 'bool';

const ops: Readonly<Record<string, Waits>> = {
  nonzero: {
    takes: () => true,
    expected: (x) => {
      const at = x.values.flatMap((v, i) => (v || Number.isNaN(v) ? [unravel(i, x.shape)] : []));
      return x.shape.map((_, axis) => at.map((p) => p[axis]!));
    },
    run: (x) => x.nonzero(),
  },
  mask: {
    takes: () => true,
    expected: (x) => [x.values.filter((v) => v > 0)],
    run: async (x) => [await x.mask(x.greater(0))],
  },
  unique: {
    takes: () => true,
    expected: (x) => {
      const values = distinct(x);
      const inverse = x.values.map((v) => values.findIndex((u) => same(u, v)));
      return [values, inverse, values.map((_, i) => inverse.filter((k) => k === i).length)];
    },
    run: async (x) => {
      const { values, inverse, counts } = await x.unique();
      return [values, inverse, counts];
    },
  },
  bincount: {
    takes: (x) => isRow(x) && isWhole(x) && x.values.every((v) => v >= 0 && v < 1000),
    expected: (x) => {
      const length = x.values.reduce((m: number, v) => Math.max(m, Number(v) + 1), 3);
      return [Array.from({ length }, (_, k) => x.values.filter((v) => Number(v) === k).length)];
    },
    run: async (x) => [await x.bincount({ minLength: 3 })],
  },
  histogram: {
    takes: (x) => x.dtype !== 'bool',
    expected: (x) => [counted(x, edges), edges],
    run: async (x) => {
      const { counts, edges: made } = await x.histogram({ bins: edges });
      return [counts, made];
    },
  },
  'histogram of a range': {
    takes: (x) => x.dtype !== 'bool',
    expected: (x) => [counted(x, evenEdges(x)), evenEdges(x)],
    run: async (x) => {
      const { counts, edges: made } = await x.histogram({ bins: evenBins, range });
      return [counts, made];
    },
  },
};

/** As NumPy makes the edges of a given range: in f64, rounded once to the dtype of the elements. */
const evenEdges = (x: Bounded): number[] =>
  Array.from({ length: evenBins + 1 }, (_, i) => {
    const edge = i === evenBins ? range[1] : i * ((range[1] - range[0]) / evenBins) + range[0];
    return isFloat(x.dtype) ? Number(roundTo[x.dtype](edge)) : edge;
  });

const counted = (x: Bounded, between: readonly number[]): number[] =>
  between.slice(1).map((high, k) => {
    const last = k === between.length - 2;
    const inside = (v: Value): boolean => v >= between[k]! && (last ? v <= high : v < high);
    return x.values.filter(inside).length;
  });

/** NumPy's rank 0 has its own rules in some of these. */
const usable = (x: Bounded): boolean => x.shape.length > 0 && x.errors.every((e) => e === 0);

/** A bincount of a huge number is an array of that size, which is not what is tried here. */
const sparse = (name: string, x: Bounded): boolean =>
  name === 'bincount' && isRow(x) && isWhole(x) && x.values.some((v) => v >= 1000);

async function problem(
  rt: Runtime,
  p: Program,
  names: readonly string[],
  tally: Map<string, number>,
): Promise<string | null> {
  const values = valuesOf(p);
  const outputs = build(rt, p, uploads(rt, p));
  for (const [k, t] of outputs.entries()) {
    const x = values[p.outputs[k]!]!;
    if (!usable(x)) continue;
    for (const name of names) {
      const op = ops[name]!;
      if (sparse(name, x)) continue;
      const found = await differences(op, t, x);
      if (found) return `${name} of v${p.outputs[k]} ${x.dtype} [${x.shape}]: ${found}`;
      if (op.takes(x)) tally.set(name, (tally.get(name) ?? 0) + 1);
    }
  }
  return null;
}

async function differences(op: Waits, t: Tensor, x: Bounded): Promise<string | null> {
  let results: readonly Tensor[];
  try {
    results = await op.run(t);
  } catch (e) {
    if (e instanceof ForgeError && !op.takes(x)) return null;
    throw e;
  }
  if (!op.takes(x)) return 'was not refused';
  const expected = op.expected(x);
  if (results.length !== expected.length) return `${results.length} results, expected ${expected.length}`;
  for (const [i, want] of expected.entries()) {
    const got = Array.from((await results[i]!.data()) as ArrayLike<Value>);
    if (got.length !== want.length || got.some((v, k) => !same(v, want[k]!)))
      return `result ${i} is [${got}], expected [${want}] of [${x.values}]`;
  }
  return null;
}

const opened = await Promise.all(
  targets.filter((t) => t.name !== 'cpu compiled').map(async (t) => ({ ...t, rt: await openRuntime(t) })),
);
afterAll(() => Promise.all(opened.map((o) => o.rt.close())));

describe.each(opened)(
  'results whose size depends on the values, of random graphs, on $name',
  ({ rt, share, dtypes: of }) => {
    it('are those of plain loops, or are refused', { timeout: 900_000 }, async () => {
      const tally = new Map<string, number>();
      const has = of(rt);
      // The edges of a histogram are f64.
      const names = Object.keys(ops).filter((name) => !name.startsWith('histogram') || has.has('f64'));
      await fc.assert(
        fc.asyncProperty(programs({ dtypes: new Set(dtypes.filter((d) => has.has(d))), maxSteps: 8 }), async (p) => {
          const found = await rt.scope(() => problem(rt, p, names, tally));
          if (found) throw new Error(found);
        }),
        { numRuns: Math.ceil((all ? 1000 : 60) * share) },
      );
      // A row of small whole numbers is rare: a few graphs may have none.
      for (const name of share === 1 ? names : ['nonzero', 'mask', 'unique'])
        expect(tally.get(name) ?? 0, name).toBeGreaterThan(0);
    });
  },
);
