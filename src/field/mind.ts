// The host's part of a model: what it tells the device before a cycle and what it keeps of the record after one. Model `fused` has
// none to speak of.

import { inputLength } from './cycle/dials.ts';
import { type Statistics, tailLength } from './cycle/record.ts';
import { FullMind } from './full/mind.ts';
import { type CheckedInput, writeInput } from './input.ts';
import type { ResolvedField } from './options.ts';
import type { Recent } from './predictor.ts';
import type { SavedTensor } from './snapshot.ts';
import type { Carried } from './state.ts';

/** What a cycle is told beyond its input; kept only if the cycle succeeds. */
export interface Thought {
  /** The slot that takes the content before this cycle as an attractor; -1 for none. */
  readonly store: number;
}

/** What a field remembers of the cycles before. */
export interface Past {
  readonly recent: Recent;
  /** The sums of the last cycle; null before the first one. */
  readonly statistics: Statistics | null;
}

export interface Mind {
  /** Values of the input of a cycle. */
  readonly inputLength: number;
  /** Values of the tail before the features. */
  readonly tailLength: number;
  readonly regions: number;
  /** The part of the memories that is in use. */
  readonly saturation: number;
  /** Changes nothing: the cycle may fail. `error`: how far the last prediction was off, if there was one. */
  think(input: CheckedInput, carried: Carried, past: Past, error: number | null): Thought;
  /** Writes what a cycle is told into its row, which begins at `at`. */
  write(into: Float32Array, at: number, input: CheckedInput, cycle: number, thought: Thought): void;
  learn(thought: Thought, input: CheckedInput, carried: Carried, tail: Float32Array): void;
  predict(past: Past): Float32Array | null;
  save(): { values: Record<string, unknown>; arrays: Record<string, SavedTensor> };
  restore(values: Record<string, unknown>, arrays: Readonly<Record<string, SavedTensor>>): void;
}

/** What model `fused` thinks. */
const nothing: Thought = { store: -1 };

export function mindOf(options: ResolvedField, seed: number): Mind {
  const { shape } = options;
  if (shape.model === 'full') return new FullMind(options, seed);
  return {
    inputLength: inputLength(shape),
    tailLength: tailLength(shape),
    regions: 0,
    saturation: 0,
    think: () => nothing,
    write: (into, at, input, cycle) => writeInput(into, at, input, cycle, shape, options.settings),
    learn: () => {},
    predict: () => null,
    save: () => ({ values: {}, arrays: {} }),
    restore: () => {},
  };
}
