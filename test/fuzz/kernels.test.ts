// Random kernels of one's own: neighbours at any offset, also beyond the axis, with every border; scalars that change from call to call;
// several results; kernels that read what other kernels have not computed yet.
//
// Values are small whole numbers and products are clipped, so every result is exact in f32 and i32 and is compared bit for bit with
// plain loops.

import { afterAll, describe, expect, it } from 'vitest';
import { sizeOf } from '../../src/base/shape.ts';
import type { KernelValue, Runtime, Tensor } from '../../src/index.ts';
import { openRuntime, targets } from '../cases/devices.ts';
import { all } from '../support/extent.ts';
import fc from '../support/properties.ts';
import { ravel, unravel } from './value.ts';

type Border = 'wrap' | 'zero' | 'clamp';

/** An expression over inputs at offsets and a scalar. */
type Expression =
  | { readonly kind: 'at'; readonly input: number; readonly offsets: readonly number[] }
  | { readonly kind: 'scalar' }
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: Binary; readonly left: Expression; readonly right: Expression };

const binaries = {
  add: (a: number, b: number) => a + b,
  sub: (a: number, b: number) => a - b,
  clippedMul: (a: number, b: number) => Math.max(-64, Math.min(64, a * b)),
  maximum: Math.max,
  minimum: Math.min,
  /** The left one where it is larger than the right one's opposite. */
  chosen: (a: number, b: number) => (a > -b ? a : b),
};
type Binary = keyof typeof binaries;

interface Trial {
  readonly shape: readonly number[];
  readonly dtype: 'f32' | 'i32';
  readonly border: Border;
  readonly bodies: readonly Expression[];
  /** Scalars of the calls in turn; each call reads the first result of the one before as its first input. */
  readonly scalars: readonly number[];
  /** Compute every result at once, instead of when the last one is read. */
  readonly eager: boolean;
  readonly seed: number;
}

const sizes = [3, 1, 2, 5, 8, 16, 17, 33, 0, 4, 129, 1000, 4099];
const inputs = 2;

const offsets = fc.array(fc.integer({ min: -3, max: 3 }), { maxLength: 3 });
/** Now and then far beyond the axis. */
const reaching = fc.oneof(
  { weight: 6, arbitrary: offsets },
  fc.array(fc.integer({ min: -40, max: 40 }), { maxLength: 3 }),
);

const { expression } = fc.letrec<{ expression: Expression; leaf: Expression }>((tie) => ({
  leaf: fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ kind: fc.constant('at' as const), input: fc.nat(inputs - 1), offsets: reaching }),
    },
    fc.record({ kind: fc.constant('scalar' as const) }),
    fc.record({ kind: fc.constant('number' as const), value: fc.integer({ min: -3, max: 3 }) }),
  ),
  expression: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie('leaf'),
    fc.record({
      kind: fc.constantFrom(...(Object.keys(binaries) as Binary[])),
      left: tie('expression'),
      right: tie('expression'),
    }),
  ),
}));

const trials: fc.Arbitrary<Trial> = fc.record({
  shape: fc
    .array(
      fc.nat(sizes.length - 1).map((i) => sizes[i]!),
      { minLength: 1, maxLength: 3 },
    )
    .map((shape) => (sizeOf(shape) > 20_000 ? shape.slice(-1) : shape)),
  dtype: fc.constantFrom('f32' as const, 'i32' as const),
  border: fc.constantFrom('wrap' as const, 'zero' as const, 'clamp' as const),
  bodies: fc.array(expression, { minLength: 1, maxLength: 2 }),
  scalars: fc.array(fc.integer({ min: -2, max: 2 }), { minLength: 1, maxLength: 3 }),
  eager: fc.boolean(),
  seed: fc.nat(1000),
});

const data = (t: Trial, input: number): number[] =>
  Array.from({ length: sizeOf(t.shape) }, (_, i) => (((i + 1) * 2654435761 + input * 7919 + t.seed * 31) % 9) - 4);

/** Where an element at an offset lies, or -1 where it is zero. */
function place(shape: readonly number[], border: Border, at: readonly number[], moved: readonly number[]): number {
  const own = moved.slice(-shape.length);
  const full = shape.map((_, i) => own[i - (shape.length - own.length)] ?? 0);
  const to = at.map((p, i) => p + full[i]!);
  if (border === 'zero' && to.some((p, i) => p < 0 || p >= shape[i]!)) return -1;
  const inside = to.map((p, i) => {
    const n = shape[i]!;
    return border === 'wrap' ? ((p % n) + n) % n : Math.max(0, Math.min(n - 1, p));
  });
  return ravel(inside, shape);
}

function plain(t: Trial, e: Expression, given: readonly (readonly number[])[], scalar: number): number[] {
  const value = (x: Expression, at: readonly number[]): number => {
    switch (x.kind) {
      case 'at': {
        const from = place(t.shape, t.border, at, x.offsets);
        return from < 0 ? 0 : given[x.input]![from]!;
      }
      case 'scalar':
        return scalar;
      case 'number':
        return x.value;
      default:
        return binaries[x.kind](value(x.left, at), value(x.right, at));
    }
  };
  // Kept small, so that the next call stays exact.
  const held = (v: number): number => Math.max(-50, Math.min(50, v));
  return Array.from({ length: sizeOf(t.shape) }, (_, i) => held(value(e, unravel(i, t.shape))));
}

type Operand = Tensor | number;

function traced(rt: Runtime, x: Expression, given: readonly KernelValue[], scalar: number, rank: number): Operand {
  switch (x.kind) {
    case 'at':
      return given[x.input]!.at(...x.offsets.slice(-rank));
    case 'scalar':
      return scalar;
    case 'number':
      return x.value;
    default: {
      const [a, b] = [x.left, x.right].map((side) => traced(rt, side, given, scalar, rank)) as [Operand, Operand];
      // Numbers alone are JavaScript's own.
      if (typeof a === 'number' && typeof b === 'number') return binaries[x.kind](a, b);
      return applied(rt, x.kind, a, b);
    }
  }
}

function applied(rt: Runtime, kind: Binary, a: Operand, b: Operand): Tensor {
  const [x, y] = typeof a === 'number' ? [b as Tensor, a] : [a, b];
  const left = typeof a === 'number' ? x.mul(0).add(a) : a;
  switch (kind) {
    case 'clippedMul':
      return x.mul(y).clip(-64, 64);
    case 'chosen': {
      const right = typeof b === 'number' ? left.mul(0).add(b) : b;
      return rt.where(left.greater(right.neg()), left, right);
    }
    case 'sub':
      return left.sub(b);
    default:
      return x[kind](y);
  }
}

async function problem(rt: Runtime, t: Trial): Promise<string | null> {
  const rank = t.shape.length;
  // Two results only where both are of the inputs' shape: a body without any input is a scalar.
  const kernel = rt.kernel(
    (a: KernelValue, b: KernelValue, scalar: number) =>
      t.bodies.map((e) =>
        a
          .mul(0)
          .add(traced(rt, e, [a, b], scalar, rank))
          .clip(-50, 50),
      ),
    { border: t.border },
  );
  let given = Array.from({ length: inputs }, (_, i) => data(t, i));
  let tensors = given.map((v) => rt.tensor(v, [...t.shape], { dtype: t.dtype }) as Tensor);
  const made: Tensor[] = [];
  const expected: number[][] = [];
  for (const scalar of t.scalars) {
    const results = kernel(tensors[0]!, tensors[1]!, scalar) as Tensor[];
    const values = t.bodies.map((e) => plain(t, e, given, scalar));
    if (t.eager) await rt.flush(...results);
    made.push(...results);
    expected.push(...values);
    tensors = [results[0]!, tensors[1]!];
    given = [values[0]!, given[1]!];
  }
  // The last one first: the others are computed on the way, or later.
  for (let k = made.length - 1; k >= 0; k--) {
    const got = Array.from((await made[k]!.data()) as ArrayLike<number>);
    const at = got.findIndex((v, i) => v !== expected[k]![i] && !(v === 0 && expected[k]![i] === 0));
    if (at >= 0 || got.length !== expected[k]!.length)
      return `result ${k}, element ${at} is ${got[at]}, expected ${expected[k]![at]}`;
  }
  kernel.dispose();
  return null;
}

const opened = await Promise.all(
  targets.map(async (t) => ({ name: t.name, share: t.share, rt: await openRuntime(t) })),
);
afterAll(() => Promise.all(opened.map((o) => o.rt.close())));

describe.each(opened)('random kernels of neighbours on $name', ({ rt, share }) => {
  it('give what plain loops give', { timeout: 900_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(trials, async (t) => {
        expect(await rt.scope(() => problem(rt, t))).toBeNull();
      }),
      { numRuns: Math.ceil((all ? 3000 : 120) * share) },
    );
  });
});
