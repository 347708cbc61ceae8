// The sizes of a field, and what a cycle is built from.

import type { Tensor } from '../../index.ts';
import { type ChannelLayout, totalChannels } from '../layout.ts';
import type { Model } from '../settings.ts';
import type { CyclePlan } from './dials.ts';
import type { Edges, Neighbours } from './grid.ts';

export interface FieldShape {
  readonly edges: Edges;
  readonly layout: ChannelLayout;
  readonly sensorDim: number;
  readonly motorDim: number;
  readonly precision: 'f32' | 'f16';
  readonly model: Model;
}

export const cellsOf = ({ edges }: FieldShape): number => edges[0] * edges[1] * edges[2];
export const valuesOf = (shape: FieldShape): number => cellsOf(shape) * totalChannels(shape.layout);

/** What a cycle is built from. */
export interface CycleParts {
  readonly shape: FieldShape;
  readonly plan: CyclePlan;
  readonly near: Neighbours;
  /** The matrix that features for trained readouts are projected by; null where none are wanted. */
  readonly projection: Tensor | null;
  /** Whether attention is measured too. */
  readonly attention: boolean;
}

/** f32 holds whole numbers up to this exactly: the cycle travels as two of them. */
export const cycleBase = 2 ** 24;
