// What a cycle gives back: motors, and the state of the field after it.
//
// The state is put together when it is looked at: of many fields that run together, few are. Until then the result has the numbers that it
// is made of, side by side in one array; the field itself has gone on by then.

import type { DeviceId } from '../index.ts';
import type { Attention } from './cycle/attention.ts';
import { cellsOf, type FieldShape } from './cycle/shape.ts';
import { totalChannels } from './layout.ts';
import type { FieldSettings } from './settings.ts';
import { type FieldState, halfLife, modeOf } from './state.ts';

export interface StepResult {
  /** Always `motorDim` values, each from −1 to 1. */
  readonly motors: Float32Array;
  readonly state: FieldState;
  /** The part of the motors that is noise; null unless `settings.exploration` asks for some. */
  readonly exploration: Float32Array | null;
}

/** What is known of a cycle, for all fields that ran together. */
export interface CycleFacts {
  readonly device: DeviceId;
  /** What the cycle moved between host and device. */
  readonly moved: { readonly up: number; readonly down: number };
  readonly milliseconds: number;
  /** Since 1970. */
  readonly timestamp: number;
}

/** What is known of one field in it: numbers in this order. */
export const stateNumbers = [
  'cycle',
  'information',
  'idle',
  /** NaN where nothing predicts. */
  'confidence',
  'squaredError',
  'squaredChange',
  'largest',
  'squares',
  'sparse',
  'active',
  'regions',
  'saturation',
] as const;

type StateNumbers = Readonly<Record<(typeof stateNumbers)[number], number>>;

const named = (numbers: readonly number[]): StateNumbers =>
  Object.fromEntries(stateNumbers.map((name, i) => [name, numbers[i]!])) as Record<keyof StateNumbers, number>;

export class CycleOutcome implements StepResult {
  readonly motors: Float32Array;
  readonly exploration: Float32Array | null;
  readonly #facts: CycleFacts;
  readonly #shape: FieldShape;
  readonly #settings: FieldSettings;
  readonly #attention: Attention | null;
  readonly #numbers: readonly number[];
  #state: FieldState | null = null;

  constructor(
    motors: Float32Array,
    exploration: Float32Array | null,
    facts: CycleFacts,
    { shape, settings }: { readonly shape: FieldShape; readonly settings: FieldSettings },
    attention: Attention | null,
    numbers: readonly number[],
  ) {
    this.motors = motors;
    this.exploration = exploration;
    this.#facts = facts;
    this.#shape = shape;
    this.#settings = settings;
    this.#attention = attention;
    this.#numbers = numbers;
  }

  get state(): FieldState {
    return (this.#state ??= this.#made());
  }

  #made(): FieldState {
    const { device, moved, milliseconds, timestamp } = this.#facts;
    const shape = this.#shape;
    const n = named(this.#numbers);
    const confidence = Number.isNaN(n.confidence) ? null : n.confidence;
    const skill = confidence !== null && n.squaredChange > 0 ? 1 - n.squaredError / n.squaredChange : null;
    return {
      cycle: n.cycle,
      cycleTimeMs: milliseconds,
      fieldInformation: n.information,
      maxActivation: n.largest,
      predictionConfidence: confidence,
      predictionSkill: skill,
      memorySaturation: n.saturation,
      mode: modeOf(n.information, n.idle, confidence),
      informationState: n.information < 0.3 ? 'low' : n.information > 0.7 ? 'high' : 'medium',
      evolutionState: n.active ? 'imprinting' : 'resting',
      regions: n.regions,
      tensorShape: [...shape.edges, totalChannels(shape.layout)],
      device,
      energy: Math.sqrt(n.squares),
      sparsity: n.sparse / (cellsOf(shape) * shape.layout.content),
      halfLifeCycles: halfLife(this.#settings.keep),
      transfers: moved,
      attention: this.#attention,
      timestamp,
    };
  }
}
