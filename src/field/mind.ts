// The host's part of a model: what it tells the device before a cycle and what it keeps of the record after one. Model `fused` has
// none to speak of.

import type { Statistics } from './cycle/record.ts';
import { inputLength } from './cycle/shape.ts';
import { type CheckedInput, writeInput } from './input.ts';
import type { ResolvedField } from './options.ts';
import type { Recent } from './predictor.ts';
import type { SavedTensor } from './snapshot.ts';
import type { Carried } from './state.ts';

/** What a cycle is told beyond its input; kept only if the cycle succeeds. */
export type Thought = unknown;

export interface Mind {
  /** Values of the input of a cycle. */
  readonly inputLength: number;
  readonly regions: number;
  /** The part of the memories that is in use. */
  readonly saturation: number;
  /** Changes nothing: the cycle may fail. `error`: how far the last prediction was off, if there was one. */
  think(input: CheckedInput, carried: Carried, before: Statistics | null, error: number | null): Thought;
  write(into: Float32Array, input: CheckedInput, cycle: number, thought: Thought): void;
  learn(thought: Thought, input: CheckedInput, carried: Carried, tail: Float32Array): void;
  predict(recent: Recent, statistics: Statistics | null): Float32Array | null;
  save(): { values: Record<string, unknown>; arrays: Record<string, SavedTensor> };
  restore(values: Record<string, unknown>, arrays: Readonly<Record<string, SavedTensor>>): void;
}

export function mindOf({ shape }: ResolvedField, _seed: number): Mind {
  return {
    inputLength: inputLength(shape),
    regions: 0,
    saturation: 0,
    think: () => null,
    write: (into, input, cycle) => writeInput(into, 0, input, cycle, shape),
    learn: () => {},
    predict: () => null,
    save: () => ({ values: {}, arrays: {} }),
    restore: () => {},
  };
}
