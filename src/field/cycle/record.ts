// The record of a cycle: motors and statistics, in the order in which the device writes them. One download brings it.
//
// Behind it, in the same tensor, the next cycle finds where to imprint: 0.8^distance along each axis (`profile`).

import type { FieldShape } from './shape.ts';

/** Sums over the field after the cycle. Content channels unless it says otherwise. */
export const statisticNames = [
  /** Σ |x| over all channels: not finite if anything is not. */
  'absoluteAll',
  'sum',
  'absolute',
  'squares',
  'largest',
  /** Number of values with |x| < 0.01. */
  'sparse',
  /** Σ |x| over the temporal channels; 0 where no readout needs it. */
  'temporal',
  /** Number of values with |x| < 0.1; 0 in model `fused`. */
  'weak',
  /** The cell of the next imprint. */
  'place0',
  'place1',
  'place2',
] as const;

export type StatisticName = (typeof statisticNames)[number];
export type Statistics = Readonly<Record<StatisticName, number>>;

/** Values of the record: motors first. */
export const recordLength = ({ motorDim }: FieldShape): number => motorDim + statisticNames.length;

/** Values of the tensor that holds the record and the profile; features of the field may follow. */
export const tailLength = (shape: FieldShape): number =>
  recordLength(shape) + shape.edges[0] + shape.edges[1] + shape.edges[2];

/** Where the profile of an axis begins. */
export function profileStart(shape: FieldShape, axis: number): number {
  let at = recordLength(shape);
  for (let a = 0; a < axis; a++) at += shape.edges[a]!;
  return at;
}

/** Where each statistic lies behind the motors. */
export const statisticAt = Object.fromEntries(statisticNames.map((name, i) => [name, i])) as Record<
  StatisticName,
  number
>;

/** The statistics of a record that begins with `motorDim` motors. */
export function statisticsOf(record: ArrayLike<number>, motorDim: number): Statistics {
  return Object.fromEntries(statisticNames.map((name, i) => [name, record[motorDim + i]!])) as Record<
    StatisticName,
    number
  >;
}
