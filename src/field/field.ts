// A field: a dynamic field on a grid of cells, driven by sensor values and read out as motor values, cycle after cycle.
//
// One cycle is one upload, one run of a compiled program and one download. A cycle that fails throws a typed error and leaves the
// field as it was. Cycles of one field run one after the other; calls that come early wait for their turn.

import { checked, checkMethods } from '../base/signatures.ts';
import { type DeviceId, DisposedError, type Runtime, type Tensor } from '../index.ts';
import { type Statistics, statisticsOf, tailRow } from './cycle/record.ts';
import type { DeviceChoice } from './device.ts';
import { FieldConfigError } from './errors.ts';
import { decodeSnapshot, encodeSnapshot, readFile, writeFile } from './file.ts';
import { firstNotFinite } from './finite.ts';
import type { Store } from './full/attractors.ts';
import { attractorCapacity } from './full/mind.ts';
import { type CheckedInput, checkInput } from './input.ts';
import { totalChannels } from './layout.ts';
import { type LoopOptions, type LoopReport, runLoop } from './loop.ts';
import { type Mind, mindOf, type Thought } from './mind.ts';
import { finishMotors } from './motors.ts';
import { type FieldPlace, fieldFrom, type MakeField, openField } from './opening.ts';
import type { FieldOptions, ResolvedField } from './options.ts';
import { featureVector, judge, predictFrom, Recent, type Trained } from './predictor.ts';
import { type HeldProgram, holdProgram, type StateTensors } from './program.ts';
import { allKeys } from './random.ts';
import { type FieldReport, reportOf } from './report.ts';
import { fieldKinds, fieldMakers, fieldOptions, fieldSignatures } from './signatures.ts';
import {
  checkFits,
  type FieldSnapshot,
  loadedArray,
  type SavedTensor,
  savedArray,
  savedTensor,
  snapshotSchema,
} from './snapshot.ts';
import { Stack, type Transfers } from './stack.ts';
import { startTensors, withTail } from './start.ts';
import {
  type Carried,
  carryEcho,
  carryOn,
  contentMeans,
  echoPlanes,
  type FieldState,
  startCarried,
  stateOf,
} from './state.ts';
import { type TrainOptions, type TrainRecord, type TrainReport, train } from './train.ts';

export interface StepResult {
  /** Always `motorDim` values, each from −1 to 1. */
  readonly motors: Float32Array;
  readonly state: FieldState;
  /** The part of the motors that is noise; null unless `settings.exploration` asks for some. */
  readonly exploration: Float32Array | null;
}

export type FieldInput = ArrayLike<number>;

/** What lies on the device; everything else of a snapshot is the host's. */
const tensorNames: ReadonlySet<string> = new Set(['field', 'tail', 'activity', 'positions', 'attractors', 'pattern']);

/** A cycle that has begun: what the field will carry if it succeeds. */
interface Begun {
  readonly input: CheckedInput;
  readonly carried: Carried;
  readonly thought: Thought;
}

interface Launched {
  readonly stack: Stack;
  readonly next: StateTensors;
  readonly moved: Transfers;
  readonly begun: readonly Begun[];
  readonly start: number;
}

export class Field implements AsyncDisposable {
  readonly options: ResolvedField;
  /** Which device the field lives on, and why. */
  readonly choice: DeviceChoice;
  readonly runtime: Runtime;
  readonly #ownsRuntime: boolean;
  #program: HeldProgram;
  #stack: Stack;
  #row = 0;
  #carried: Carried = startCarried();
  #statistics: Statistics | null = null;
  #turn: Promise<unknown> | null = null;
  #seed: number;
  #disposed = false;
  #recent = new Recent();
  #trained: Trained = { prediction: null, motors: null };
  #features: Float64Array | null = null;
  #predicted: Float32Array | null = null;
  #mind: Mind;
  readonly #transfers: Transfers = { up: 0, down: 0 };

  /** Use `createField`. */
  constructor(rt: Runtime, options: ResolvedField, choice: DeviceChoice, ownsRuntime: boolean) {
    this.runtime = rt;
    this.options = options;
    this.choice = choice;
    this.#ownsRuntime = ownsRuntime;
    this.#seed = options.seed;
    this.#mind = mindOf(options, options.seed);
    this.#program = holdProgram(rt, choice.device, options, options.settings.readout === 'trained');
    this.#stack = this.#fresh(options.seed);
  }

  get device(): DeviceId {
    return this.choice.device;
  }

  /** Cycles that were done. */
  get cycle(): number {
    return this.#carried.cycle;
  }

  get seed(): number {
    return this.#seed;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /** The kernels of a cycle, in order; empty before the first one. */
  get kernels(): readonly string[] {
    return this.#program.run.kernels;
  }

  /** One cycle: sensor values in, optionally with a reward behind them; motors and state out. */
  async step(input: FieldInput): Promise<StepResult> {
    while (this.#turn) await this.#turn;
    this.#check('step');
    const checked = checkInput(input, this.options.shape, 'step');
    // Where a read need not wait for a turn of the event loop, the promise is fulfilled at once.
    if (this.#canRunSync) return cycleSync([this], [checked], 'step')[0]!;
    return (await this.#exclusive([this], () => cycleLater([this], [checked], 'step')))[0]!;
  }

  /** The same without a promise, where the device can be read synchronously: CPU and CUDA. */
  stepSync(input: FieldInput): StepResult {
    this.#check('stepSync');
    const refuse = (problem: string, fix: string): never => {
      throw new FieldConfigError({ where: 'stepSync', problem, fix });
    };
    if (this.#turn) refuse('another cycle of this field is under way', 'Await it first.');
    if (!this.#canRunSync) refuse(`${this.device} cannot be read without a promise`, 'Use step().');
    return cycleSync([this], [checkInput(input, this.options.shape, 'stepSync')], 'stepSync')[0]!;
  }

  /** One cycle of several fields that are alike, together: as many launches as one field takes. */
  static async stepBatch(fields: readonly Field[], inputs: readonly FieldInput[]): Promise<StepResult[]> {
    const where = 'stepBatch';
    const [first] = fields;
    checkAlike(fields, inputs, where);
    if (!first) return [];
    for (let busy = fields.find((f) => f.#turn); busy; busy = fields.find((f) => f.#turn)) await busy.#turn;
    for (const f of fields) f.#check(where);
    const checked = inputs.map((input, i) => checkInput(input, fields[i]!.options.shape, where));
    Field.#share(fields);
    if (first.#canRunSync) return cycleSync(fields, checked, where);
    return first.#exclusive(fields, () => cycleLater(fields, checked, where));
  }

  /** A control loop at a fixed rate, with deadlines; ends with its ticks or its signal. */
  loop(options: LoopOptions): Promise<LoopReport> {
    this.#check('loop');
    return runLoop((input) => this.step(input), this.options.shape.motorDim, options);
  }

  /**
   * Fits a readout to records: of the next sensor vector (`prediction`) or of motors. The records are run through the field. Motors come
   * from it where `settings.readout` is 'trained'.
   */
  async train(records: readonly TrainRecord[], options: TrainOptions): Promise<TrainReport> {
    this.#check('train');
    const { weights, report } = await train(this, records, options, this.#trained[options.what] ?? null);
    this.#trained[options.what] = weights;
    this.#think();
    return report;
  }

  /** The next sensor vector, as far as it can be told; null where nothing was trained. */
  async predict(): Promise<Float32Array | null> {
    while (this.#turn) await this.#turn;
    this.#check('predict');
    return this.#predicted ? Float32Array.from(this.#predicted) : null;
  }

  /** Values of one channel on a slice across an axis: row-major over the other two axes. */
  async slice(axis: 0 | 1 | 2, index: number, channel: number): Promise<Float32Array> {
    while (this.#turn) await this.#turn;
    this.#check('slice');
    const { edges, layout } = this.options.shape;
    const within = (v: number, n: number): boolean => Number.isSafeInteger(v) && v >= 0 && v < n;
    if (!within(axis, 3) || !within(index, edges[axis]!) || !within(channel, totalChannels(layout)))
      throw new FieldConfigError({
        where: 'slice',
        problem: `there is no slice ${String(index)} across axis ${String(axis)} of channel ${String(channel)}`,
        fix: `Axes are 0, 1, 2 with ${edges.join(', ')} cells; channels go from 0 to ${totalChannels(layout) - 1}.`,
      });
    using part = this.runtime.scope({ device: this.device }, () => {
      const at = [0, 1, 2].map((a) => (a === axis ? ([index, index + 1] as const) : null));
      const range = [channel, channel + 1] as const;
      return this.tensors
        .field!.slice([null, ...at, range])
        .cast('f32')
        .compute();
    });
    return (await part.data()) as Float32Array;
  }

  /** The two planes of the motors' echo, [height, width] each. */
  echo(): Float32Array[] {
    const [, height, width] = this.options.shape.edges;
    return echoPlanes(this.#carried.echo, height, width);
  }

  /** Everything the field is, between two cycles. Cycles may go on while the bytes are read. */
  async snapshot(): Promise<FieldSnapshot> {
    while (this.#turn) await this.#turn;
    this.#check('snapshot');
    const { values, arrays } = this.#hostState();
    const { cycle } = this.#carried;
    // Tensors never change: holding them is enough.
    const held = Object.entries(this.tensors).map(([name, t]) => [name, t.clone().keep()] as const);
    const tensors: Record<string, SavedTensor> = { ...arrays };
    try {
      for (const [name, t] of held)
        tensors[name] = { dtype: t.dtype, shape: [...t.shape], bytes: Uint8Array.from(await t.bytes()) };
    } finally {
      for (const [, t] of held) t.dispose();
    }
    return { schema: snapshotSchema, options: this.options, seed: this.#seed, cycle, values, tensors };
  }

  /** Takes over a snapshot of a field of the same sizes; on an error the field stays as it is. */
  async restore(snapshot: FieldSnapshot): Promise<void> {
    while (this.#turn) await this.#turn;
    this.#check('restore');
    checkFits(snapshot, this.options, 'restore');
    const features = snapshot.values.features === true;
    const program = holdProgram(this.runtime, this.device, this.options, features);
    try {
      const made = this.runtime.scope({ device: this.device }, () => {
        const names = Object.keys(snapshot.tensors).filter((name) => tensorNames.has(name));
        for (const name of Object.keys(this.tensors)) if (name !== 'attractors') savedTensor(snapshot, name, 'restore');
        const state = names.map((name) => {
          const saved = savedTensor(snapshot, name, 'restore');
          return [name, this.runtime.fromBytes(saved.bytes, saved.dtype, saved.shape).keep()] as const;
        });
        return new Stack(this.runtime, this.device, Object.fromEntries(state), this.#keys(snapshot.seed));
      });
      this.#replace(made, snapshot.seed, program);
    } catch (e) {
      program.release();
      throw e;
    }
    this.#restoreHost(snapshot);
  }

  /** A field from a file that `save` wrote; `options` say where it lives. */
  static async load(file: string, options: FieldPlace = {}): Promise<Field> {
    return fieldFrom(decodeSnapshot(await readFile(file), file), options, makeField);
  }

  /** Writes a snapshot to a file, whole or not at all. */
  async save(file: string): Promise<void> {
    await writeFile(file, encodeSnapshot(await this.snapshot()));
  }

  /** Starts anew, by default from the same seed. What was trained stays. */
  async reset(seed = this.#seed): Promise<void> {
    while (this.#turn) await this.#turn;
    this.#check('reset');
    this.#replace(this.#fresh(seed), seed, null);
    this.#carried = startCarried();
    this.#recent = new Recent();
    this.#mind = mindOf(this.options, seed);
    [this.#statistics, this.#features, this.#predicted] = [null, null, null];
  }

  report(): FieldReport {
    return reportOf(this);
  }

  /** Frees everything. Every later call is refused. */
  async dispose(): Promise<void> {
    while (this.#turn) await this.#turn;
    if (this.#disposed) return;
    this.#disposed = true;
    this.#stack.leave();
    this.#program.release();
    if (this.#ownsRuntime) await this.runtime.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  // For the other parts of the package.

  /** The tensors of this field, as a stack of one. */
  get tensors(): StateTensors {
    this.#alone();
    return this.#stack.state;
  }

  /** Numbers that the host carries from cycle to cycle. */
  get carried(): Readonly<Carried> {
    return this.#carried;
  }

  /** The sums of the last cycle; null before the first one. */
  get statistics(): Statistics | null {
    return this.#statistics;
  }

  /** Uploads and downloads of all cycles so far. */
  get transfers(): Readonly<Transfers> {
    return this.#transfers;
  }

  /** @internal One cycle, and the features of the field after it. */
  async featuresAfter(input: Float32Array): Promise<Float64Array> {
    if (!this.#program.parts.projection) this.#withFeatures();
    await this.step(input);
    return this.#features!;
  }

  /** @internal Enqueues a cycle of fields that share a stack. */
  static launch(fields: readonly Field[], inputs: readonly CheckedInput[]): Launched {
    const start = performance.now();
    const [first] = fields as [Field, ...Field[]];
    if (fields.length === 1) first.#alone();
    const stack = first.#stack;
    const begun = fields.map((f, i) => f.#begin(inputs[i]!));
    const input = new Float32Array(first.#mind.inputLength * stack.rows);
    fields.forEach((f, i) => {
      f.#mind.write(input.subarray(f.#row * f.#mind.inputLength), begun[i]!.input, f.#carried.cycle, begun[i]!.thought);
    });
    const moved: Transfers = { up: 0, down: 0 };
    const stores = fields.flatMap((f, i) => f.#storesFor(begun[i]!.thought));
    return { stack, next: stack.launch(first.#program.run, input, moved, stores), moved, begun, start };
  }

  /** @internal Takes over what a cycle made: the state of all fields at once, or an error and nothing. */
  static finish(
    fields: readonly Field[],
    { stack, next, moved, begun, start }: Launched,
    tail: Float32Array,
    where: string,
  ): StepResult[] {
    const rows = fields.map((f) => tailRow(tail, f.#row, stack.rows));
    const statistics = rows.map((row) => statisticsOf(row, fields[0]!.options.shape));
    const bad = statistics.findIndex((s) => !Number.isFinite(s.absoluteAll));
    if (bad >= 0) throw firstNotFinite(fields[bad]!, next.field!, fields[bad]!.#row, where);
    const results = fields.map((f, i) => f.#advance(rows[i]!, statistics[i]!, begun[i]!, start, moved));
    stack.accept(next);
    return results;
  }

  /** @internal Whether two fields can share a stack. */
  static alike(a: Field, b: Field): boolean {
    return a.#program.key === b.#program.key && a.runtime === b.runtime;
  }

  get #canRunSync(): boolean {
    return this.runtime.device(this.device).caps.syncRead;
  }

  /** What the host knows before a cycle: how good the last prediction was, and what the model makes of it. */
  #begin(input: CheckedInput): Begun {
    const carried: Carried = { ...this.#carried, echo: [...this.#carried.echo] };
    const before = this.#recent.vectors[0];
    const error = this.#predicted ? judge(carried, this.#predicted, input.sensors, before, this.#mind.regions) : null;
    return { input, carried, thought: this.#mind.think(input, carried, this.#statistics, error) };
  }

  #advance(
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
    this.#carried = carried;
    this.#statistics = statistics;
    this.#recent.add(input.sensors);
    this.#mind.learn(thought, input, carried, row);
    const fromField = row.subarray(this.#mind.tailLength);
    this.#features = this.#program.parts.projection ? featureVector(fromField, this.#recent, shape) : null;
    this.#think();
    const said = settings.readout === 'trained' && this.#trained.motors && this.#features;
    const intents = said ? predictFrom(this.#trained.motors!, this.#features!) : row.subarray(0, shape.motorDim);
    const { motors, exploration } = finishMotors(intents, this.#seed, carried, settings);
    carryEcho(carried, motors);
    this.#transfers.up += moved.up;
    this.#transfers.down += moved.down;
    const state = stateOf({
      shape,
      settings,
      device: this.device,
      statistics,
      means,
      carried,
      predicts: this.#predicted !== null,
      active: input.active,
      regions: this.#mind.regions,
      saturation: this.#mind.saturation,
      transfers: moved,
      milliseconds: performance.now() - start,
    });
    return { motors, state, exploration };
  }

  /** What a cycle puts aside before it begins. */
  #storesFor({ store }: Thought): Store[] {
    if (store < 0) return [];
    return [
      {
        row: this.#row,
        slot: store,
        content: this.options.shape.layout.content,
        slots: attractorCapacity(this.options),
      },
    ];
  }

  /** What the readouts say of the field as it is now. */
  #think(): void {
    const { prediction } = this.#trained;
    this.#predicted =
      prediction && this.#features
        ? predictFrom(prediction, this.#features)
        : this.#mind.predict(this.#recent, this.#statistics);
  }

  #keys(seed: number): Tensor {
    const words = allKeys(seed);
    return this.runtime.tensor(words, [1, words.length]).keep();
  }

  #fresh(seed: number): Stack {
    return this.runtime.scope({ device: this.device }, () => {
      const state = startTensors(this.runtime, this.#program.parts, this.options, seed);
      return new Stack(this.runtime, this.device, state, this.#keys(seed));
    });
  }

  #replace(stack: Stack, seed: number, program: HeldProgram | null): void {
    this.#stack.leave();
    [this.#stack, this.#row, this.#seed] = [stack, 0, seed];
    if (!program) return;
    this.#program.release();
    this.#program = program;
  }

  /** From now on cycles bring features along. */
  #withFeatures(): void {
    const program = holdProgram(this.runtime, this.device, this.options, true);
    const made = this.runtime.scope({ device: this.device }, () => {
      const { field, tail: _, ...others } = this.tensors;
      const kept = Object.entries(others).map(([name, t]) => [name, t.clone().keep()] as const);
      const state = { ...Object.fromEntries(kept), ...withTail(this.runtime, field!.clone(), program.parts) };
      return new Stack(this.runtime, this.device, state, this.#keys(this.#seed));
    });
    this.#replace(made, this.#seed, program);
  }

  /** Takes the field out of a stack that it shares with others. */
  #alone(): void {
    if (this.#stack.rows === 1) return;
    const own = this.#stack.take(this.#row);
    this.#stack.leave();
    [this.#stack, this.#row] = [own, 0];
  }

  /** Moves fields into one stack, if they do not share one. */
  static #share(fields: readonly Field[]): void {
    const [first] = fields as [Field, ...Field[]];
    const shared = fields.every((f, i) => f.#stack === first.#stack && f.#row === i);
    if (shared && first.#stack.rows === fields.length) return;
    const parts = fields.map((f) => ({ stack: f.#stack, row: f.#row }));
    const joined = Stack.join(first.runtime, first.device, parts);
    fields.forEach((f, i) => {
      f.#stack.leave();
      [f.#stack, f.#row] = [joined, i];
    });
  }

  /** The host's part of the state. A test lists these names. */
  #hostState(): { values: Record<string, unknown>; arrays: Record<string, SavedTensor> } {
    const { prediction, motors } = this.#trained;
    const mind = this.#mind.save();
    const arrays: Record<string, SavedTensor> = { ...mind.arrays };
    const { sensorDim } = this.options.shape;
    const vectors = this.#recent.vectors;
    arrays.recent = savedArray(Float32Array.from(vectors.flatMap((v) => [...v])), [vectors.length, sensorDim]);
    if (this.#predicted) arrays.predicted = savedArray(this.#predicted);
    if (this.#features) arrays.features = savedArray(this.#features);
    for (const [name, w] of Object.entries({ prediction, motors }))
      if (w) arrays[`trained.${name}`] = savedArray(w.values, [w.outputs, w.inputs]);
    const values = {
      carried: structuredClone(this.#carried),
      statistics: this.#statistics,
      features: this.#program.parts.projection !== null,
      mind: mind.values,
    };
    return { values, arrays };
  }

  #restoreHost({ values, tensors, seed }: FieldSnapshot): void {
    this.#carried = structuredClone(values.carried) as Carried;
    this.#statistics = values.statistics as Statistics | null;
    this.#predicted = tensors.predicted ? loadedArray<Float32Array>(tensors.predicted) : null;
    this.#features = tensors.features ? loadedArray<Float64Array>(tensors.features) : null;
    const { recent } = tensors;
    const flat = loadedArray<Float32Array>(recent!);
    const [count, width] = recent!.shape as [number, number];
    this.#recent.set(Array.from({ length: count }, (_, i) => flat.slice(i * width, (i + 1) * width)));
    for (const what of ['prediction', 'motors'] as const) {
      const saved = tensors[`trained.${what}`];
      const [outputs, inputs] = (saved?.shape ?? []) as [number, number];
      this.#trained[what] = saved ? { inputs, outputs, values: loadedArray<Float64Array>(saved) } : null;
    }
    this.#mind = mindOf(this.options, seed);
    this.#mind.restore(values.mind as Record<string, unknown>, tensors);
  }

  #check(where: string): void {
    if (!this.#disposed) return;
    throw new DisposedError({
      code: 'DISPOSED',
      message: `${where}: the field was disposed`,
      fix: 'Make a new field.',
      where,
    });
  }

  async #exclusive<T>(fields: readonly Field[], work: () => Promise<T>): Promise<T> {
    const running = work();
    const turn = running.then(
      () => {},
      () => {},
    );
    for (const f of fields) f.#turn = turn;
    try {
      return await running;
    } finally {
      for (const f of fields) f.#turn = null;
    }
  }
}

const makeField: MakeField = (rt, options, choice, ownsRuntime) => new Field(rt, options, choice, ownsRuntime);

/**
 * A field on the best device that computes it right.
 *
 * ```ts
 * import { createField } from 'gpuforge/field';
 * await using field = await createField({ resolution: 32 });
 * const { motors, state } = await field.step(new Float32Array(16).fill(0.1));
 * ```
 */
export const createField = checked(
  'createField',
  fieldOptions,
  (options: FieldOptions = {}): Promise<Field> => openField(options, makeField),
  fieldKinds,
);

function cycleSync(fields: readonly Field[], inputs: readonly CheckedInput[], where: string): StepResult[] {
  const launched = Field.launch(fields, inputs);
  try {
    return Field.finish(fields, launched, launched.stack.readSync(launched.next, launched.moved), where);
  } catch (e) {
    launched.stack.reject(launched.next);
    throw e;
  }
}

async function cycleLater(
  fields: readonly Field[],
  inputs: readonly CheckedInput[],
  where: string,
): Promise<StepResult[]> {
  const launched = Field.launch(fields, inputs);
  try {
    return Field.finish(fields, launched, await launched.stack.read(launched.next, launched.moved), where);
  } catch (e) {
    launched.stack.reject(launched.next);
    throw e;
  }
}

function checkAlike(fields: readonly Field[], inputs: readonly FieldInput[], where: string): void {
  const refuse = (problem: string, fix: string): never => {
    throw new FieldConfigError({ where, problem, fix });
  };
  if (fields.length !== inputs.length)
    refuse(`${inputs.length} inputs for ${fields.length} fields`, 'Give one for each field.');
  if (new Set(fields).size !== fields.length) refuse('a field is there twice', 'Give each field once.');
  const other = fields.findIndex((f) => !Field.alike(f, fields[0]!));
  if (other >= 0)
    refuse(
      `field ${other} differs from field 0 in size, settings, device or runtime`,
      'Make fields that run together with the same options and one runtime; seeds may differ.',
    );
}

checkMethods(Field.prototype, fieldSignatures, fieldKinds);
checkMethods(Field, fieldMakers, fieldKinds);
