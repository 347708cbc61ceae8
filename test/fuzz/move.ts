// What a step of a random graph is made of.

import type { DType } from '../../src/base/dtype.ts';
import type { Bounded } from './value.ts';

/** Small numbers that shrink towards 0, in the order they are asked for. */
export type Dice = (sides: number) => number;

export interface Move {
  readonly op: string;
  readonly others: readonly Operand[];
  readonly args: readonly unknown[];
  readonly results: readonly Bounded[];
  /** The value that the row looked at is no operand, or is one of `others`. */
  readonly alone?: true;
  /** The dtype in which operands meet, where the result does not show it. */
  readonly common?: DType;
}

/** A value of the graph by number, or a fresh input. */
export type Operand = number | Bounded;

export interface Scene {
  readonly values: readonly Bounded[];
  /** A new input. */
  fresh(dtype: DType, shape: readonly number[], kind?: 'any' | 'whole'): Bounded;
  /** Whole numbers from 0 to n-1, as i32. */
  indices(shape: readonly number[], n: number): Bounded;
}

export type Row = (x: Bounded, dice: Dice, scene: Scene) => Move | null;

export const one = (
  op: string,
  result: Bounded,
  args: readonly unknown[] = [],
  others: readonly Operand[] = [],
): Move => ({
  op,
  args,
  others,
  results: [result],
});
/** An axis as its number, or counted from the end. */
export const named = (axis: number, rank: number, dice: Dice): number => (dice(3) === 2 ? axis - rank : axis);

export const pickOf = <T>(list: readonly T[], dice: Dice): T => list[dice(list.length)]!;
