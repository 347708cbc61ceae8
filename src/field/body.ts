// What a field is between two cycles, and what one cycle does to it: the tensors on the device, and the numbers that the host carries.
//
// `begin` says what a cycle is told and changes nothing; `advance` takes over what came of it. Who runs the cycle in between is in
// `run.ts`; who may call when is the field's own business.

import type { DeviceId, Runtime, Tensor } from '../index.ts';
import type { Statistics } from './cycle/record.ts';
import type { Store } from './full/attractors.ts';
import { attractorCapacity } from './full/mind.ts';
import type { CheckedInput } from './input.ts';
import { type Mind, mindOf, type Thought } from './mind.ts';
import { finishMotors } from './motors.ts';
import type { ResolvedField } from './options.ts';
import { featureVector, judge, predictFrom, Recent, type Trained } from './predictor.ts';
import { type HeldProgram, holdProgram, type StateTensors } from './program.ts';
import { allKeys } from './random.ts';
import { Stack, type Transfers } from './stack.ts';
import { startTensors, withTail } from './start.ts';
import { type Carried, carryEcho, carryOn, contentMeans, type FieldState, startCarried, stateOf } from './state.ts';

export interface StepResult {
  /** Always `motorDim` values, each from −1 to 1. */
  readonly motors: Float32Array;
  readonly state: FieldState;
  /** The part of the motors that is noise; null unless `settings.exploration` asks for some. */
  readonly exploration: Float32Array | null;
}

/** A cycle that has begun: what the field will carry if it succeeds. */
export interface Begun {
  readonly input: CheckedInput;
  readonly carried: Carried;
  readonly thought: Thought;
}

export class FieldBody {
  readonly rt: Runtime;
  readonly device: DeviceId;
  readonly options: ResolvedField;
  program: HeldProgram;
  stack: Stack;
  /** Its row of the stack. */
  row = 0;
  seed: number;
  carried: Carried = startCarried();
  /** The sums of the last cycle; null before the first one. */
  statistics: Statistics | null = null;
  recent = new Recent();
  trained: Trained = { prediction: null, motors: null };
  features: Float64Array | null = null;
  predicted: Float32Array | null = null;
  mind: Mind;
  /** Of all cycles so far. */
  readonly transfers: Transfers = { up: 0, down: 0 };

  constructor(rt: Runtime, device: DeviceId, options: ResolvedField) {
    this.rt = rt;
    this.device = device;
    this.options = options;
    this.seed = options.seed;
    this.mind = mindOf(options, options.seed);
    this.program = holdProgram(rt, device, options, options.settings.readout === 'trained');
    this.stack = this.#fresh(options.seed);
  }

  /** The tensors of this field, as a stack of one. */
  get tensors(): StateTensors {
    this.alone();
    return this.stack.state;
  }

  /** Bytes of its tensors. */
  get bytes(): number {
    return Object.values(this.stack.state).reduce((n, t) => n + t.nbytes / t.shape[0]!, 0);
  }

  /** What the host knows before a cycle: how good the last prediction was, and what the model makes of it. */
  begin(input: CheckedInput): Begun {
    const carried: Carried = { ...this.carried, echo: [...this.carried.echo] };
    const before = this.recent.vectors[0];
    const error = this.predicted ? judge(carried, this.predicted, input.sensors, before, this.mind.regions) : null;
    return { input, carried, thought: this.mind.think(input, carried, this.statistics, error) };
  }

  /** The field goes on from a cycle that succeeded: `row` is its record. */
  advance(
    row: Float32Array,
    statistics: Statistics,
    { input, carried, thought }: Begun,
    start: number,
    moved: Transfers,
  ): StepResult {
    const { shape, settings } = this.options;
    const means = contentMeans(statistics, shape);
    carried.cycle++;
    carryOn(carried, means, input.active);
    this.carried = carried;
    this.statistics = statistics;
    this.recent.add(input.sensors);
    this.mind.learn(thought, input, carried, row);
    const fromField = row.subarray(this.mind.tailLength);
    this.features = this.program.parts.projection ? featureVector(fromField, this.recent, shape) : null;
    this.think();
    const said = settings.readout === 'trained' && this.trained.motors && this.features;
    const intents = said ? predictFrom(this.trained.motors!, this.features!) : row.subarray(0, shape.motorDim);
    const { motors, exploration } = finishMotors(intents, this.seed, carried, settings);
    carryEcho(carried, motors);
    this.transfers.up += moved.up;
    this.transfers.down += moved.down;
    const state = stateOf({
      shape,
      settings,
      device: this.device,
      statistics,
      means,
      carried,
      predicts: this.predicted !== null,
      active: input.active,
      regions: this.mind.regions,
      saturation: this.mind.saturation,
      transfers: moved,
      milliseconds: performance.now() - start,
    });
    return { motors, state, exploration };
  }

  /** What a cycle puts aside before it begins. */
  storesFor({ store }: Thought): Store[] {
    if (store < 0) return [];
    return [
      {
        row: this.row,
        slot: store,
        content: this.options.shape.layout.content,
        slots: attractorCapacity(this.options),
      },
    ];
  }

  /** What the readouts say of the field as it is now. */
  think(): void {
    const { prediction } = this.trained;
    this.predicted =
      prediction && this.features
        ? predictFrom(prediction, this.features)
        : this.mind.predict(this.recent, this.statistics);
  }

  /** Starts anew. What was trained stays. */
  reset(seed: number): void {
    this.replace(this.#fresh(seed), seed, null);
    this.carried = startCarried();
    this.recent = new Recent();
    this.mind = mindOf(this.options, seed);
    [this.statistics, this.features, this.predicted] = [null, null, null];
  }

  /** A stack of one from tensors, which it takes over; by default for the program of now. */
  stacked(state: StateTensors, seed: number, program = this.program): Stack {
    const { rt, device } = this;
    const words = allKeys(seed);
    const keys: Tensor = rt.tensor(words, [1, words.length]).keep();
    return new Stack({ rt, device, program: program.run, inputLength: this.mind.inputLength }, state, keys);
  }

  replace(stack: Stack, seed: number, program: HeldProgram | null): void {
    this.stack.leave();
    [this.stack, this.row, this.seed] = [stack, 0, seed];
    if (!program) return;
    this.program.release();
    this.program = program;
  }

  /** From now on cycles bring features along. */
  withFeatures(): void {
    if (this.program.parts.projection) return;
    const program = holdProgram(this.rt, this.device, this.options, true);
    const made = this.rt.scope({ device: this.device }, () => {
      const { field, tail: _, ...others } = this.tensors;
      const kept = Object.entries(others).map(([name, t]) => [name, t.clone().keep()] as const);
      const state = { ...Object.fromEntries(kept), ...withTail(this.rt, field!.clone(), program.parts) };
      return this.stacked(state, this.seed, program);
    });
    this.replace(made, this.seed, program);
  }

  /** Takes the field out of a stack that it shares with others. */
  alone(): void {
    if (this.stack.rows === 1) return;
    const own = this.stack.take(this.row);
    this.stack.leave();
    [this.stack, this.row] = [own, 0];
  }

  dispose(): void {
    this.stack.leave();
    this.program.release();
  }

  #fresh(seed: number): Stack {
    return this.rt.scope({ device: this.device }, () =>
      this.stacked(startTensors(this.rt, this.program.parts, this.options, seed), seed),
    );
  }
}

/** Whether two fields can run together. */
export const alike = (a: FieldBody, b: FieldBody): boolean => a.program.key === b.program.key && a.rt === b.rt;
