// What a field is between two cycles, and what one cycle does to it: the tensors on the device, and the numbers that the host carries.
//
// `begin` says what a cycle is told and changes nothing; `advance` takes over what came of it. Who runs the cycle in between is in
// `run.ts`; who may call when is the field's own business.

import type { DeviceId, Runtime, Tensor } from '../index.ts';
import { attentionLength, readAttention } from './cycle/attention.ts';
import { statisticAt as at, recordLength, type Statistics, statisticNames, statisticsOf } from './cycle/record.ts';
import { FieldConfigError } from './errors.ts';
import type { Store } from './full/attractors.ts';
import { attractorCapacity } from './full/mind.ts';
import { type CheckedInput, emptyInput } from './input.ts';
import { type Mind, mindOf, type Thought } from './mind.ts';
import { finishMotors } from './motors.ts';
import type { ResolvedField } from './options.ts';
import { contextLength, PatternLibrary } from './patterns.ts';
import { featureVector, judge, predictFrom, Recent, type Trained } from './predictor.ts';
import { type HeldProgram, holdProgram, type StateTensors } from './program.ts';
import { allKeys } from './random.ts';
import { type CycleFacts, CycleOutcome, type StepResult } from './result.ts';
import type { FieldSettings } from './settings.ts';
import { Stack, type Transfers } from './stack.ts';
import { startTensors, withTail } from './start.ts';
import { type Carried, carryEcho, carryOn, informationOf, startCarried } from './state.ts';

/** A cycle that has begun: what the field will carry if it succeeds. */
export interface Begun {
  readonly input: CheckedInput;
  readonly carried: Carried;
  readonly thought: Thought;
  /** The strategic pattern of the cycle, if it is another one than that of the cycle before. */
  readonly strategy: { readonly id: number; readonly pattern: Tensor } | null;
}

/** Options of which the settings change while the field runs. */
type LiveField = Omit<ResolvedField, 'settings'> & { settings: FieldSettings };

/** Sensor vectors that a strategic pattern is chosen by. */
const contextVectors = 8;

export class FieldBody {
  readonly rt: Runtime;
  readonly device: DeviceId;
  /** `settings` are those of the next cycle. */
  readonly options: LiveField;
  program: HeldProgram;
  stack: Stack;
  /** Its row of the stack. */
  row = 0;
  seed: number;
  /** Changed in place, by cycles that succeed. */
  carried: Carried = startCarried();
  /** The input of the cycle that runs. */
  readonly input: CheckedInput;
  /** The record of the last cycle; nothing before the first one. */
  readonly #record: Float32Array;
  #recorded = false;
  recent = new Recent();
  trained: Trained = { prediction: null, motors: null };
  features: Float64Array | null = null;
  predicted: Float32Array | null = null;
  mind: Mind;
  /** Strategic patterns, and which of them the field has now; null before there are any. */
  library: PatternLibrary | null = null;
  strategy: number | null = null;
  /** Of all cycles so far. */
  readonly transfers: Transfers = { up: 0, down: 0 };

  constructor(rt: Runtime, device: DeviceId, options: ResolvedField) {
    this.rt = rt;
    this.device = device;
    this.options = { ...options };
    this.seed = options.seed;
    this.input = emptyInput(options.shape);
    this.#record = new Float32Array(recordLength(options.shape));
    this.mind = mindOf(this.options, options.seed);
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

  /** The sums of the last cycle; null before the first one. */
  get statistics(): Statistics | null {
    return this.#recorded ? statisticsOf(this.#record, this.options.shape.motorDim) : null;
  }

  set statistics(s: Statistics | null) {
    this.#recorded = s !== null;
    if (s)
      this.#record.set(
        statisticNames.map((name) => s[name]),
        this.options.shape.motorDim,
      );
  }

  /** What the host knows before a cycle: how good the last prediction was, and what the model makes of it. */
  begin(input: CheckedInput): Begun {
    const { predicted, mind } = this;
    // Judging changes it, and the cycle may fail.
    const carried: Carried = predicted ? { ...this.carried, echo: [...this.carried.echo] } : this.carried;
    const error = predicted ? judge(carried, predicted, input.sensors, this.recent.vectors[0], mind.regions) : null;
    return { input, carried, thought: mind.think(input, carried, this, error), strategy: this.#strategy() };
  }

  /** The library of strategic patterns, made when it is first asked for. */
  patterns(where: string): PatternLibrary {
    const { edges, layout, model } = this.options.shape;
    if (model !== 'full' || layout.temporal === 0)
      throw new FieldConfigError({
        where,
        problem: `model '${model}' with ${layout.temporal} temporal channels has no strategic patterns`,
        fix: "Use model: 'full' with temporal channels.",
      });
    return (this.library ??= new PatternLibrary({
      runtime: this.rt,
      device: this.device,
      shape: [...edges, layout.temporal],
    }));
  }

  /** The best pattern for the last sensor vectors, if the field does not have it yet. */
  #strategy(): Begun['strategy'] {
    if (!this.library?.size) return null;
    const vectors = this.recent.vectors.slice(0, contextVectors);
    const context = vectors.flatMap((v) => [...v]).slice(0, contextLength);
    // A context of zeros is like nothing: what was chosen stays.
    if (context.every((v) => v === 0)) return null;
    const { pattern, parts } = this.library.find(context, { k: 1 });
    const { id } = parts[0]!;
    if (id !== this.strategy) return { id, pattern: pattern! };
    pattern!.dispose();
    return null;
  }

  /** The field goes on from a cycle that succeeded: `row` is its record. */
  advance(row: Float32Array, { input, carried, thought, strategy }: Begun, facts: CycleFacts): StepResult {
    const { shape, settings } = this.options;
    const record = this.#record;
    for (let i = 0; i < record.length; i++) record[i] = row[i]!;
    this.#recorded = true;
    const { motorDim } = shape;
    const [sum, absolute] = [record[motorDim + at.sum]!, record[motorDim + at.absolute]!];
    const squares = record[motorDim + at.squares]!;
    carried.cycle++;
    carryOn(carried, informationOf(sum, absolute, squares, shape), input.active);
    this.carried = carried;
    this.recent.add(input.sensors);
    this.library?.advance();
    if (strategy) this.strategy = strategy.id;
    this.mind.learn(thought, input, carried, row);
    const { projection, attention } = this.program.parts;
    const extras = this.mind.tailLength;
    const features = attention ? extras + attentionLength : extras;
    this.features = projection ? featureVector(row.subarray(features), this.recent, shape) : null;
    this.think();
    const said = settings.readout === 'trained' && this.trained.motors && this.features;
    const intents = said ? predictFrom(this.trained.motors!, this.features!) : row;
    const { motors, exploration } = finishMotors(intents, motorDim, this.seed, carried, settings);
    carryEcho(carried, motors);
    this.transfers.up += facts.moved.up;
    this.transfers.down += facts.moved.down;
    const { mind } = this;
    // In the order of `stateNumbers`.
    const numbers = [
      carried.cycle,
      carried.information,
      carried.idle,
      this.predicted === null ? Number.NaN : carried.confidence,
      carried.squaredError,
      carried.squaredChange,
      record[motorDim + at.largest]!,
      squares,
      record[motorDim + at.sparse]!,
      input.active ? 1 : 0,
      mind.regions,
      mind.saturation,
    ];
    const seen = attention ? readAttention(row.subarray(extras), shape) : null;
    return new CycleOutcome(motors, exploration, facts, this.options, seen, numbers);
  }

  /** What a cycle puts aside before it begins; null if nothing. */
  storeFor({ store }: Thought): Store | null {
    if (store < 0) return null;
    const { content } = this.options.shape.layout;
    return { row: this.row, slot: store, content, slots: attractorCapacity(this.options) };
  }

  /** What the readouts say of the field as it is now. */
  think(): void {
    const { prediction } = this.trained;
    this.predicted = prediction && this.features ? predictFrom(prediction, this.features) : this.mind.predict(this);
  }

  /** Starts anew. What was trained stays. */
  reset(seed: number): void {
    this.replace(this.#fresh(seed), seed, null);
    this.carried = startCarried();
    this.recent = new Recent();
    this.mind = mindOf(this.options, seed);
    this.statistics = null;
    [this.features, this.predicted, this.strategy] = [null, null, null];
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
    this.#reprogram(holdProgram(this.rt, this.device, this.options, true));
  }

  /** From the next cycle on. Another program is made only where noise or spreading begins or ends. */
  configure(settings: FieldSettings): void {
    const features = this.program.parts.projection !== null;
    const program = holdProgram(this.rt, this.device, { ...this.options, settings }, features);
    if (program.key === this.program.key) program.release();
    else this.#reprogram(program);
    this.options.settings = settings;
  }

  /** Goes on with another program, which it takes over. The tail is made anew where the program wants a longer one. */
  #reprogram(program: HeldProgram): void {
    const longer = program.parts.projection !== null && this.program.parts.projection === null;
    try {
      const made = this.rt.scope({ device: this.device }, () => {
        const kept = Object.entries(this.tensors).map(([name, t]) => [name, t.clone().keep()] as const);
        const { field, tail, ...others } = Object.fromEntries(kept);
        if (!longer) return this.stacked({ ...others, field: field!, tail: tail! }, this.seed, program);
        tail!.dispose();
        return this.stacked({ ...others, ...withTail(this.rt, field!, program.parts) }, this.seed, program);
      });
      this.replace(made, this.seed, program);
    } catch (e) {
      program.release();
      throw e;
    }
  }

  /** Takes the field out of a stack that it shares with others. */
  alone(): void {
    if (this.stack.rows === 1) return;
    const own = this.stack.take(this.row);
    this.stack.leave();
    [this.stack, this.row] = [own, 0];
  }

  dispose(): void {
    this.library?.dispose();
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
