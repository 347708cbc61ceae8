// Random graphs from fast-check choices: small numbers that shrink towards the simplest graph that still fails.

import fc from 'fast-check';
import { type DType, dtypes, intRange, isFloat } from '../../src/base/dtype.ts';
import { seededRandom } from '../../src/base/seeded.ts';
import { sizeOf } from '../../src/base/shape.ts';
import { roundTo, type Value } from '../../src/kernel/semantics.ts';
import type { Dice, Move, Operand, Scene } from './move.ts';
import { admits, rows } from './moves.ts';
import type { Program } from './program.ts';
import { type Bounded, fill, TooLarge } from './value.ts';

/** What fast-check draws; `build` reads it as a graph, whatever the numbers. */
interface Choices {
  readonly seed: number;
  readonly inputs: readonly { readonly dtype: number; readonly sizes: readonly number[]; readonly kind: number }[];
  readonly steps: readonly {
    readonly row: number;
    readonly value: number;
    readonly dice: readonly number[];
    readonly output: boolean;
    readonly compute: boolean;
  }[];
}

/** Sizes of axes, and the most elements of a value. Large values are cut among threads, blocks and passes, small ones are not. */
const extents = {
  small: { sizes: [3, 1, 2, 4, 5, 0, 7, 8, 0, 16, 17, 33, 15, 31, 32, 65, 64], limit: 2000 },
  large: {
    sizes: [
      64, 3, 1000, 129, 1, 4097, 100, 10_000, 5, 1025, 256, 0, 2049, 33, 513, 12_289, 63, 65, 255, 4095, 8193, 15,
    ],
    limit: 60_000,
  },
} as const;

export interface Wishes {
  readonly dtypes: ReadonlySet<DType>;
  readonly maxSteps?: number;
  readonly extent?: keyof typeof extents;
  /** Ops to leave out. */
  readonly without?: ReadonlySet<string>;
}

export function programs(wishes: Wishes): fc.Arbitrary<Program> {
  const { maxSteps = 40, extent = 'small' } = wishes;
  const step = fc.record({
    row: fc.nat(rows.length - 1),
    value: fc.nat(9),
    dice: fc.array(fc.nat(30), { minLength: 8, maxLength: 8 }),
    output: fc.integer({ min: 0, max: 3 }).map((n) => n === 3),
    compute: fc.integer({ min: 0, max: 11 }).map((n) => n === 11),
  });
  const input = fc.record({
    dtype: fc.nat(dtypes.length + 5),
    sizes: fc.array(fc.nat(extents[extent].sizes.length - 1), {
      minLength: extent === 'large' ? 1 : 0,
      maxLength: 4,
    }),
    kind: fc.nat(mostKind),
  });
  return fc
    .record({
      seed: fc.nat(2 ** 31 - 1),
      inputs: fc.array(input, { minLength: 1, maxLength: 4 }),
      steps: fc.array(step, { minLength: 1, maxLength: maxSteps, size: 'max' }),
    })
    .map((choices) => build(choices, wishes));
}

const specialFloats = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  -0,
  0,
  1e-30,
  65504,
  -1,
  3e38,
  -1e20,
];

/** Kinds of values: 0 to 3 small whole numbers, up to 8 ordinary ones, 9 with special ones among them, then those below. */
const mostKind = 15;

/** Floats that are all alike in some way, or of which hardly any is not. */
const floats: Readonly<Record<number, (dtype: DType, random: () => number) => number>> = {
  // Large beside their differences.
  10: (_, random) => 1000 + random(),
  11: (_, random) => -1 - random(),
  12: (_, random) => (random() < 0.5 ? -0 : 0),
  13: (_, random) => (random() < 0.01 ? specialFloats[Math.floor(random() * specialFloats.length)]! : random() - 0.5),
  15: (_, random) =>
    random() < 0.9 ? random() - 0.5 : random() < 0.5 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY,
  // Of all sizes.
  14: (dtype, random) => (random() < 0.5 ? -1 : 1) * 2 ** ((random() - 0.5) * (dtype === 'f16' ? 28 : 120)),
};

/** Integers as parts of their range: its upper end, its lower end, 0 and 1, hardly any but 0, all bits. */
const wholes: Readonly<Record<number, (range: readonly [bigint, bigint], random: () => number) => bigint>> = {
  9: ([lo, hi], random) => lo + (BigInt(Math.floor(random() * 2 ** 32)) * (hi - lo + 1n)) / 2n ** 32n,
  10: ([, hi], random) => hi - BigInt(Math.floor(random() * 3)),
  11: ([lo], random) => lo + BigInt(Math.floor(random() * 3)),
  12: (_, random) => (random() < 0.5 ? 1n : 0n),
  13: ([, hi], random) => (random() < 0.002 ? hi : 0n),
  14: ([lo, hi], random) => [lo, hi, 0n, 1n, lo + 1n, hi >> 1n][Math.floor(random() * 6)]!,
};

/** How many of the flags are true. */
const flags: Readonly<Record<number, number>> = { 10: 1, 11: 0, 12: 0.002, 13: 0.998 };

function element(dtype: DType, kind: number, random: () => number): Value {
  if (dtype === 'bool') return random() < (flags[kind] ?? 0.5) ? 1 : 0;
  if (isFloat(dtype)) {
    if (floats[kind]) return roundTo[dtype](floats[kind](dtype, random));
    if (kind === 9 && random() < 0.25)
      return roundTo[dtype](specialFloats[Math.floor(random() * specialFloats.length)]!);
    if (kind <= 3) return Math.floor(random() * 9) - 4;
    return roundTo[dtype]((random() + random() + random() - 1.5) * 4);
  }
  const big = dtype === 'i64' || dtype === 'u64';
  const v = wholes[kind]
    ? wholes[kind](intRange[dtype as keyof typeof intRange], random)
    : BigInt(Math.floor(random() * 19) - (dtype.startsWith('u') ? 0 : 9));
  return big ? v : Number(v);
}

/** A move, or null where its results would be too large. */
function affordable(make: () => Move | null): Move | null {
  try {
    return make();
  } catch (e) {
    if (e instanceof TooLarge) return null;
    throw e;
  }
}

function build(choices: Choices, { dtypes: has, extent = 'small', without = new Set() }: Wishes): Program {
  const { sizes, limit } = extents[extent];
  const random = seededRandom(choices.seed);
  const usable = dtypes.filter((t) => has.has(t));
  const items: Program['items'][number][] = [];
  const values: Bounded[] = [];
  const outputs: number[] = [];
  const addInput = (value: Bounded): number => {
    items.push({ kind: 'input', value });
    return values.push(value) - 1;
  };
  const made = (dtype: DType, shape: readonly number[], kind: number): Bounded =>
    fill(dtype, shape, () => [element(dtype, kind, random), 0]);
  for (const i of choices.inputs) {
    // f32 first, and more often than the rest.
    const dtype = i.dtype < 6 && has.has('f32') ? 'f32' : usable[i.dtype % usable.length]!;
    let shape: number[] = i.sizes.map((s) => sizes[s]!);
    while (sizeOf(shape) > limit / 4) shape = shape.slice(1);
    addInput(made(dtype, shape, i.kind));
  }
  const scene: Scene = {
    values,
    fresh: (dtype, shape, kind = 'any') => made(dtype, shape, kind === 'whole' ? 0 : 5),
    indices: (shape, n) => fill('i32', shape, () => [Math.floor(random() * n), 0]),
  };
  for (const s of choices.steps) {
    const x = values[values.length - 1 - (s.value % values.length)]!;
    let next = 0;
    const dice: Dice = (sides) => (sides <= 1 ? 0 : s.dice[next++ % s.dice.length]! % sides);
    const move = affordable(() => rows[s.row]!(x, dice, scene));
    if (!move || without.has(move.op) || !admits(move, limit, has)) continue;
    const number = (o: Operand): number => (typeof o === 'number' ? o : addInput(o));
    const others = move.others.map(number);
    const inputs = move.alone ? others : [values.lastIndexOf(x), ...others];
    items.push({ kind: 'step', op: move.op, inputs, args: move.args, results: move.results, compute: s.compute });
    for (const r of move.results) {
      values.push(r);
      if (s.output) outputs.push(values.length - 1);
    }
  }
  if (!outputs.includes(values.length - 1)) outputs.push(values.length - 1);
  return { items, outputs };
}
