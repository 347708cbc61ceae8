// A field: a dynamic field on a grid of cells, driven by sensor values and read out as motor values, cycle after cycle.
//
// One cycle is one upload, one run of a compiled program and one download. A cycle that fails throws a typed error and leaves the
// field as it was. Cycles of one field run one after the other; calls that come early wait for their turn.

import { notMade } from '../base/arguments.ts';
import { checked, checkMethods } from '../base/signatures.ts';
import type { DeviceId, Runtime } from '../index.ts';
import { Autosave, type AutosaveOptions } from './autosave.ts';
import type { FieldBody } from './body.ts';
import { FieldCalls } from './calls.ts';
import type { Statistics } from './cycle/record.ts';
import type { DeviceChoice } from './device.ts';
import type { FieldEvents, FieldInput } from './events.ts';
import { decodeSnapshot, readFile } from './file.ts';
import { checkInput } from './input.ts';
import { type LoopOptions, type LoopReport, type LoopTick, runLoop } from './loop.ts';
import { type FieldPlace, fieldFrom, type MakeField, openField } from './opening.ts';
import type { FieldOptions, ResolvedField } from './options.ts';
import type { PatternLibrary } from './patterns.ts';
import type { StateTensors } from './program.ts';
import { type FieldReport, reportOf } from './report.ts';
import type { StepResult } from './result.ts';
import { restoreSnapshot, takeSnapshot } from './saved.ts';
import { changeSettings, type FieldSettings, settingNames } from './settings.ts';
import { fieldKinds, fieldMakers, fieldOptions, fieldSignatures } from './signatures.ts';
import { sliceOf } from './slice.ts';
import type { FieldSnapshot } from './snapshot.ts';
import type { Transfers } from './stack.ts';
import { echoPlanes } from './state.ts';
import { step, stepBatch, stepFeatures, stepSync } from './steps.ts';
import { type TrainOptions, type TrainRecord, type TrainReport, train } from './train.ts';

export type { FieldEvents, FieldInput } from './events.ts';
export type { StepResult } from './result.ts';

export class Field implements AsyncDisposable {
  /** Which device the field lives on, and why. */
  readonly choice: DeviceChoice;
  readonly runtime: Runtime;
  readonly #ownsRuntime: boolean;
  readonly #calls: FieldCalls;

  /** @internal Use `createField`. */
  constructor(
    rt: Runtime,
    options: ResolvedField,
    choice: DeviceChoice = notMade('Field', 'await createField(options)'),
    ownsRuntime = false,
  ) {
    this.runtime = rt;
    this.choice = choice;
    this.#ownsRuntime = ownsRuntime;
    this.#calls = new FieldCalls(rt, choice.device, options);
  }

  toString(): string {
    const { edges, model } = this.options.shape;
    return `Field(${edges.join(' × ')} cells, model ${model}, on ${this.device})`;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  /** What it was made with; `settings` as they are now. */
  get options(): ResolvedField {
    return this.#body.options;
  }

  get device(): DeviceId {
    return this.choice.device;
  }

  /** Cycles that were done. */
  get cycle(): number {
    return this.#body.carried.cycle;
  }

  get seed(): number {
    return this.#body.seed;
  }

  get disposed(): boolean {
    return this.#calls.ended;
  }

  /** The kernels of a cycle, in order; empty before the first one. */
  get kernels(): readonly string[] {
    return this.#body.program.run.kernels;
  }

  /** One cycle: sensor values in, optionally with a reward behind them; motors and state out. */
  step(input: FieldInput): Promise<StepResult> {
    return step(this.#calls, input);
  }

  /** The same without a promise, where the device can be read synchronously: CPU and CUDA. */
  stepSync(input: FieldInput): StepResult {
    return stepSync(this.#calls, input);
  }

  /** One cycle of several fields that are alike, together: as many launches as one field takes. */
  static stepBatch(fields: readonly Field[], inputs: readonly FieldInput[]): Promise<StepResult[]> {
    return stepBatch(
      fields.map((f) => f.#calls),
      inputs,
    );
  }

  /** A control loop at a fixed rate, with deadlines; ends with its ticks or its signal. */
  loop(options: LoopOptions): Promise<LoopReport> {
    this.#calls.check('loop');
    const { events } = this.#calls;
    const told = (tick: LoopTick): void => {
      if (events.heard.tick) events.emit('tick', tick);
    };
    return runLoop((input) => this.step(input), this.options.shape.motorDim, options, undefined, told);
  }

  /**
   * Changes settings from the next cycle on, also while a loop runs: all of the changes, or an error and none. They are told as a `settings`
   * event and saved with the field. What the compiled program or the memory of the field depends on (`readout`, `blur`, `attractorBytes`) is
   * refused.
   */
  configure(changes: Partial<FieldSettings>): Promise<FieldSettings> {
    return this.#calls.next('configure', () => {
      const before = this.options.settings;
      const settings = changeSettings(before, changes, this.options.shape.model, 'configure');
      const names = settingNames.filter((name) => settings[name] !== before[name]);
      if (names.length === 0) return before;
      this.#body.configure(settings);
      const { events } = this.#calls;
      if (events.heard.settings) {
        const changed = Object.fromEntries(names.map((name) => [name, settings[name]]));
        events.emit('settings', { cycle: this.cycle + 1, changed, settings });
      }
      return settings;
    });
  }

  /** Listens to its cycles and the ticks of its loops; returns what ends it. */
  on<K extends keyof FieldEvents & string>(kind: K, listener: (event: FieldEvents[K]) => unknown): () => void {
    return this.#calls.events.on(kind, listener);
  }

  /**
   * Fits a readout to records: of the next sensor vector (`prediction`) or of motors. The records are run through the field. Motors come
   * from it where `settings.readout` is 'trained'.
   */
  async train(records: readonly TrainRecord[], options: TrainOptions): Promise<TrainReport> {
    this.#calls.check('train');
    const { trained } = this.#body;
    const { weights, report } = await train(this, records, options, trained[options.what] ?? null);
    trained[options.what] = weights;
    this.#body.think();
    return report;
  }

  /** The next sensor vector, as far as it can be told; null where nothing was trained. */
  predict(): Promise<Float32Array | null> {
    return this.#calls.next('predict', () => {
      const { predicted } = this.#body;
      return predicted ? Float32Array.from(predicted) : null;
    });
  }

  /** Values of one channel on a slice across an axis: row-major over the other two axes. */
  slice(axis: 0 | 1 | 2, index: number, channel: number): Promise<Float32Array> {
    return this.#calls.next('slice', () => sliceOf(this.#body, axis, index, channel));
  }

  /**
   * Strategic patterns of model `full`: [depth, height, width, temporal channels] each, with a context of up to 8 sensor vectors. Once there
   * are some, every cycle blends in the one that fits the last sensor vectors best.
   */
  get patterns(): PatternLibrary {
    this.#calls.check('patterns');
    return this.#body.patterns('patterns');
  }

  /** The two planes of the motors' echo, [height, width] each. */
  echo(): Float32Array[] {
    const [, height, width] = this.options.shape.edges;
    return echoPlanes(this.#body.carried.echo, height, width);
  }

  /** Everything the field is, between two cycles. Cycles may go on while the bytes are read. */
  snapshot(): Promise<FieldSnapshot> {
    return this.#calls.next('snapshot', () => takeSnapshot(this.#body));
  }

  /** Takes over a snapshot of a field of the same sizes; on an error the field stays as it is. */
  restore(snapshot: FieldSnapshot): Promise<void> {
    return this.#calls.next('restore', () => restoreSnapshot(this.#body, snapshot));
  }

  /** A field from a file that `save` wrote; `options` say where it lives. */
  static async load(file: string, options: FieldPlace = {}): Promise<Field> {
    return fieldFrom(decodeSnapshot(await readFile(file), file), options, makeField, file);
  }

  /** Writes a snapshot to a file, whole or not at all. */
  async save(file: string): Promise<void> {
    this.#calls.check('save');
    await this.#calls.write(file);
  }

  /** Saves the field every 1000 cycles and when it is disposed of, and keeps the last 10 files; null ends that. */
  autosave(options: AutosaveOptions | null): void {
    this.#calls.check('autosave');
    // At the end it saves a field that takes no calls any more.
    const calls = this.#calls;
    const report = (error: unknown, where: string): void => calls.events.emit('error', { error, where });
    calls.autosave = options && new Autosave(options, (file) => calls.write(file), report);
  }

  /** Starts anew, by default from the same seed. What was trained stays. */
  reset(seed = this.seed): Promise<void> {
    return this.#calls.next('reset', () => this.#body.reset(seed));
  }

  report(): FieldReport {
    return reportOf(this, this.#body.bytes);
  }

  /** Frees everything, after the cycle that runs. Every later call is refused. */
  dispose(): Promise<void> {
    return this.#calls.end(async () => {
      if (this.#ownsRuntime) await this.runtime.close();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  // For the other parts of the package.

  /** The tensors of this field, as a stack of one. They change hands with the next cycle: clone what is to stay. */
  get tensors(): StateTensors {
    return this.#body.tensors;
  }

  /** Of its tensors; 0 after the end. */
  get bytes(): number {
    return this.disposed ? 0 : this.#body.bytes;
  }

  /** The sums of the last cycle; null before the first one. */
  get statistics(): Statistics | null {
    return this.#body.statistics;
  }

  /** Uploads and downloads of all cycles so far. */
  get transfers(): Readonly<Transfers> {
    return this.#body.transfers;
  }

  /** @internal What the host tells the device in the next cycle, for tests. */
  thoughtOf(input: FieldInput): unknown {
    const { thought, strategy } = this.#body.begin(checkInput(input, this.options.shape, 'thoughtOf'));
    strategy?.pattern.dispose();
    return thought;
  }

  /** @internal One cycle, and the features of the field after it. */
  featuresAfter(input: FieldInput, where: string): Promise<Float64Array> {
    return stepFeatures(this.#calls, input, where);
  }

  get #body(): FieldBody {
    return this.#calls.body;
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

checkMethods(Field.prototype, fieldSignatures, fieldKinds);
checkMethods(Field, fieldMakers, fieldKinds);
