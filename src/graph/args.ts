// The arguments of ops: tuples of whole numbers, interned, and what they mean.

import type { Compact } from '../kernel/kernel.ts';
import { type AluOp, aluOps, type ReduceOp } from '../kernel/ops.ts';
import { type Ints, internInts } from './intern.ts';

/** The argument of a `const` whose value is part of the program rather than an argument of its launches. */
export const fixedArg: Ints = internInts([1]);

/** The argument of a `const` that is drawn anew whenever a compiled function runs: the key of random numbers. */
export const drawnArg: Ints = internInts([2]);

const reduceOps: readonly ReduceOp[] = ['sum', 'prod', 'max', 'min', 'any', 'all', 'argmax', 'argmin'];
const packings = ['positions', 'values', 'count'] as const;
const combines = ['set', 'sum', 'prod', 'max', 'min'] as const;
const precisions = ['exact', 'tf32', 'bf16'] as const;
/** What a node of random numbers draws; see `draws.ts`. */
export const draws = ['first', 'second', 'unit', 'unit f64', 'normal', 'normal f64', 'below'] as const;

export type Combine = (typeof combines)[number];
export type Precision = (typeof precisions)[number];

const aluNames = Object.keys(aluOps) as AluOp[];

/** What a node of an elementwise op says of it. */
export interface AluRow {
  readonly arg: Ints;
  readonly compares: boolean;
}

export const aluRows = Object.fromEntries(
  aluNames.map((op, i): [AluOp, AluRow] => [op, { arg: internInts([i]), compares: aluOps[op].compares === true }]),
) as Readonly<Record<AluOp, AluRow>>;

/** Arguments that are asked for again and again, by op and axis or rank. */
const perOp = (): Readonly<Record<ReduceOp, Ints[]>> =>
  Object.fromEntries(reduceOps.map((op) => [op, []])) as unknown as Readonly<Record<ReduceOp, Ints[]>>;
const [wholes, singles] = [perOp(), perOp()];

const matmuls = Object.fromEntries(precisions.map((p, i) => [p, internInts([i])])) as Readonly<Record<Precision, Ints>>;

const [upwards, downwards] = [internInts([0]), internInts([1])];

/** Writing and reading op arguments. */
export const args = {
  alu: (op: AluOp): Ints => aluRows[op].arg,
  aluOf: (n: { arg: Ints }): AluOp => aluNames[n.arg.values[0]!]!,
  draw: (draw: (typeof draws)[number], range: number): Ints => internInts([draws.indexOf(draw), range]),
  drawOf: (n: { arg: Ints }): { draw: (typeof draws)[number]; range: number } => ({
    draw: draws[n.arg.values[0]!]!,
    range: n.arg.values[1]!,
  }),
  axis: (axis: number): Ints => internInts([axis]),
  axisOf: (n: { arg: Ints }): number => n.arg.values[0]!,
  list: (values: readonly number[]): Ints => internInts(values),
  listOf: (n: { arg: Ints }): readonly number[] => n.arg.values,
  /** First position and step per axis. */
  slice: (starts: readonly number[], steps: readonly number[]): Ints => {
    const both = new Array<number>(2 * starts.length);
    for (let i = 0; i < starts.length; i++) {
      both[i] = starts[i]!;
      both[starts.length + i] = steps[i]!;
    }
    return internInts(both);
  },
  sliceOf: (n: { arg: Ints }): { starts: readonly number[]; steps: readonly number[] } => {
    const rank = n.arg.values.length / 2;
    return { starts: n.arg.values.slice(0, rank), steps: n.arg.values.slice(rank) };
  },
  reduce: (op: ReduceOp, axes: readonly number[]): Ints =>
    axes.length === 1 ? args.reduceAxis(op, axes[0]!) : internInts([reduceOps.indexOf(op), ...axes]),
  /** Over one axis. */
  reduceAxis: (op: ReduceOp, axis: number): Ints => (singles[op][axis] ??= internInts([reduceOps.indexOf(op), axis])),
  /** Over all axes. */
  reduceAll: (op: ReduceOp, rank: number): Ints => (wholes[op][rank] ??= args.reduce(op, [...Array(rank).keys()])),
  reduceOf: (n: { arg: Ints }): { op: ReduceOp; axes: readonly number[] } => ({
    op: reduceOps[n.arg.values[0]!]!,
    axes: n.arg.values.slice(1),
  }),
  /** Per windowed axis: the axis, its window, stride and dilation. The windows become new last axes. */
  window: (rows: readonly WindowAxis[]): Ints =>
    internInts(rows.flatMap((r) => [r.axis, r.size, r.stride, r.dilation])),
  windowOf: (n: { arg: Ints }): WindowAxis[] => {
    const v = n.arg.values;
    return Array.from({ length: v.length / 4 }, (_, i) => ({
      axis: v[4 * i]!,
      size: v[4 * i + 1]!,
      stride: v[4 * i + 2]!,
      dilation: v[4 * i + 3]!,
    }));
  },
  matmul: (precision: Precision): Ints => matmuls[precision],
  matmulOf: (n: { arg: Ints }): Precision => precisions[n.arg.values[0]!]!,
  scan: (combine: Combine, axis: number, reverse: boolean): Ints =>
    internInts([combines.indexOf(combine), axis, reverse ? 1 : 0]),
  scanOf: (n: { arg: Ints }): { combine: Combine; axis: number; reverse: boolean } => ({
    combine: combines[n.arg.values[0]!]!,
    axis: n.arg.values[1]!,
    reverse: n.arg.values[2] === 1,
  }),
  /** From frequencies back to values. */
  fourierBack: internInts([1]),
  backOf: (n: { arg: Ints }): boolean => n.arg.values[0] === 1,
  sort: (descending: boolean): Ints => (descending ? downwards : upwards),
  sortOf: (n: { arg: Ints }): boolean => n.arg.values[0] === 1,
  /** Of a gather from a row: each place looks at a position of its own, which is computed there and in range. */
  look: internInts([0, 1]),
  compact: (what: Compact['what']): Ints => internInts([packings.indexOf(what)]),
  compactOf: (n: { arg: Ints }): Compact['what'] => packings[n.arg.values[0]!]!,
  scatter: (combine: Combine, axis: number, perElement: boolean, clips = false): Ints =>
    internInts([combines.indexOf(combine), axis, perElement ? 1 : 0, clips ? 1 : 0]),
  /**
   * A `set` of a row in which the updates with true flags go to 0, 1, 2, …, and all others to the last place: positions are a choice
   * (`where`) by the flags. Written by `compact.ts` of `tensor/` alone.
   */
  packing: internInts([0, 0, 0, 0, 1]),
  packs: (n: { arg: Ints }): boolean => n.arg.values[4] === 1,
  scatterOf: (n: { arg: Ints }): { combine: Combine; axis: number; perElement: boolean; clips: boolean } => ({
    combine: combines[n.arg.values[0]!]!,
    axis: n.arg.values[1]!,
    perElement: n.arg.values[2] === 1,
    clips: n.arg.values[3] === 1,
  }),
};

export interface WindowAxis {
  readonly axis: number;
  readonly size: number;
  readonly stride: number;
  readonly dilation: number;
}
