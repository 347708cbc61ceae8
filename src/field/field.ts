// A field: a dynamic field on a grid of cells, driven by sensor values and read out as motor values, cycle after cycle.
//
// One cycle is one upload, one run of a compiled program and one download. A cycle that fails throws a typed error and leaves the
// field as it was. Cycles of one field run one after the other; calls that come early wait for their turn.

import { notMade } from '../base/arguments.ts';
import { checked, checkMethods } from '../base/signatures.ts';
import { type BusEvents, type DeviceId, DisposedError, EventBus, type Runtime } from '../index.ts';
import { Autosave, type AutosaveOptions } from './autosave.ts';
import { FieldBody } from './body.ts';
import type { Statistics } from './cycle/record.ts';
import type { DeviceChoice } from './device.ts';
import { FieldBusyError, FieldConfigError } from './errors.ts';
import { decodeSnapshot, encodeSnapshot, readFile, writeFile } from './file.ts';
import { type CheckedInput, checkInput } from './input.ts';
import { type LoopOptions, type LoopReport, type LoopTick, runLoop } from './loop.ts';
import { type FieldPlace, fieldFrom, type MakeField, openField } from './opening.ts';
import type { FieldOptions, ResolvedField } from './options.ts';
import type { PatternLibrary } from './patterns.ts';
import type { StateTensors } from './program.ts';
import { type FieldReport, reportOf } from './report.ts';
import type { StepResult } from './result.ts';
import { checkAlike, cycleLater, cycleSync, share } from './run.ts';
import { restoreSnapshot, takeSnapshot } from './saved.ts';
import { changeSettings, type FieldSettings, settingNames } from './settings.ts';
import { fieldKinds, fieldMakers, fieldOptions, fieldSignatures } from './signatures.ts';
import { sliceOf } from './slice.ts';
import type { FieldSnapshot } from './snapshot.ts';
import type { Transfers } from './stack.ts';
import { echoPlanes, type FieldState } from './state.ts';
import { type TrainOptions, type TrainRecord, type TrainReport, train } from './train.ts';
import { Turn } from './turns.ts';

export type { StepResult } from './result.ts';

export type FieldInput = ArrayLike<number>;

/** What a field tells those who listen. Without a listener nothing is built. */
export interface FieldEvents extends BusEvents {
  /** A cycle was done. */
  readonly cycle: { readonly sensors: Float32Array; readonly motors: Float32Array; readonly state: FieldState };
  /** A tick of a loop has ended. */
  readonly tick: LoopTick;
  /** Settings were changed: from this cycle on they hold. */
  readonly settings: {
    readonly cycle: number;
    readonly changed: Partial<FieldSettings>;
    readonly settings: FieldSettings;
  };
}

export class Field implements AsyncDisposable {
  /** Which device the field lives on, and why. */
  readonly choice: DeviceChoice;
  readonly runtime: Runtime;
  readonly #ownsRuntime: boolean;
  readonly #body: FieldBody;
  /** The device is read without waiting for a turn of the event loop. */
  readonly #sync: boolean;
  readonly #turn = new Turn();
  #autosave: Autosave | null = null;
  #disposed = false;
  #ended: Promise<void> | null = null;
  readonly #events = new EventBus<FieldEvents>(['cycle', 'tick', 'settings', 'error'], 'field.on');

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
    this.#sync = rt.device(choice.device).caps.syncRead;
    this.#body = new FieldBody(rt, choice.device, options);
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
    return this.#disposed;
  }

  /** The kernels of a cycle, in order; empty before the first one. */
  get kernels(): readonly string[] {
    return this.#body.program.run.kernels;
  }

  /** One cycle: sensor values in, optionally with a reward behind them; motors and state out. */
  async step(input: FieldInput): Promise<StepResult> {
    while (this.#turn.running) await this.#turn.running;
    this.#check('step');
    const checked = this.#checked(input, 'step');
    // Where a read need not wait for a turn of the event loop, the promise is fulfilled at once.
    const [result] = this.#sync
      ? cycleSync([this.#body], [checked], 'step')
      : await Turn.takeAll([this.#turn], () => cycleLater([this.#body], [checked], 'step'));
    return this.#done(checked, result!);
  }

  /** The same without a promise, where the device can be read synchronously: CPU and CUDA. */
  stepSync(input: FieldInput): StepResult {
    this.#check('stepSync');
    const where = 'stepSync';
    if (this.#turn.running)
      throw new FieldBusyError({ where, problem: 'another cycle of this field is under way', fix: 'Await it first.' });
    if (!this.#sync)
      throw new FieldConfigError({
        where,
        problem: `${this.device} cannot be read without a promise`,
        fix: 'Use step().',
      });
    const checked = this.#checked(input, 'stepSync');
    const [result] = cycleSync([this.#body], [checked], 'stepSync');
    return this.#done(checked, result!);
  }

  /** One cycle of several fields that are alike, together: as many launches as one field takes. */
  static async stepBatch(fields: readonly Field[], inputs: readonly FieldInput[]): Promise<StepResult[]> {
    const where = 'stepBatch';
    const [first] = fields;
    const bodies = fields.map((f) => f.#body);
    checkAlike(bodies, inputs.length, where);
    if (!first) return [];
    const turns = fields.map((f) => f.#turn);
    for (let busy = Turn.busy(turns); busy; busy = Turn.busy(turns)) await busy;
    for (const f of fields) f.#check(where);
    const checked = inputs.map((input, i) => fields[i]!.#checked(input, where));
    share(bodies);
    const results = first.#sync
      ? cycleSync(bodies, checked, where)
      : await Turn.takeAll(turns, () => cycleLater(bodies, checked, where));
    return fields.map((f, i) => f.#done(checked[i]!, results[i]!));
  }

  /** A control loop at a fixed rate, with deadlines; ends with its ticks or its signal. */
  loop(options: LoopOptions): Promise<LoopReport> {
    this.#check('loop');
    const told = (tick: LoopTick): void => {
      if (this.#events.heard.tick) this.#events.emit('tick', tick);
    };
    return runLoop((input) => this.step(input), this.options.shape.motorDim, options, undefined, told);
  }

  /**
   * Changes settings from the next cycle on, also while a loop runs: all of the changes, or an error and none. They are told as a `settings`
   * event and saved with the field. What the compiled program or the memory of the field depends on (`readout`, `blur`, `attractorBytes`) is
   * refused.
   */
  async configure(changes: Partial<FieldSettings>): Promise<FieldSettings> {
    while (this.#turn.running) await this.#turn.running;
    this.#check('configure');
    const before = this.options.settings;
    const settings = changeSettings(before, changes, this.options.shape.model, 'configure');
    const names = settingNames.filter((name) => settings[name] !== before[name]);
    if (names.length === 0) return before;
    this.#body.configure(settings);
    if (this.#events.heard.settings) {
      const changed = Object.fromEntries(names.map((name) => [name, settings[name]]));
      this.#events.emit('settings', { cycle: this.cycle + 1, changed, settings });
    }
    return settings;
  }

  /** Listens to its cycles and the ticks of its loops; returns what ends it. */
  on<K extends keyof FieldEvents & string>(kind: K, listener: (event: FieldEvents[K]) => unknown): () => void {
    return this.#events.on(kind, listener);
  }

  /**
   * Fits a readout to records: of the next sensor vector (`prediction`) or of motors. The records are run through the field. Motors come
   * from it where `settings.readout` is 'trained'.
   */
  async train(records: readonly TrainRecord[], options: TrainOptions): Promise<TrainReport> {
    this.#check('train');
    const { trained } = this.#body;
    const { weights, report } = await train(this, records, options, trained[options.what] ?? null);
    trained[options.what] = weights;
    this.#body.think();
    return report;
  }

  /** The next sensor vector, as far as it can be told; null where nothing was trained. */
  async predict(): Promise<Float32Array | null> {
    while (this.#turn.running) await this.#turn.running;
    this.#check('predict');
    const { predicted } = this.#body;
    return predicted ? Float32Array.from(predicted) : null;
  }

  /** Values of one channel on a slice across an axis: row-major over the other two axes. */
  async slice(axis: 0 | 1 | 2, index: number, channel: number): Promise<Float32Array> {
    while (this.#turn.running) await this.#turn.running;
    this.#check('slice');
    return sliceOf(this.#body, axis, index, channel);
  }

  /**
   * Strategic patterns of model `full`: [depth, height, width, temporal channels] each, with a context of up to 8 sensor vectors. Once there
   * are some, every cycle blends in the one that fits the last sensor vectors best.
   */
  get patterns(): PatternLibrary {
    this.#check('patterns');
    return this.#body.patterns('patterns');
  }

  /** The two planes of the motors' echo, [height, width] each. */
  echo(): Float32Array[] {
    const [, height, width] = this.options.shape.edges;
    return echoPlanes(this.#body.carried.echo, height, width);
  }

  /** Everything the field is, between two cycles. Cycles may go on while the bytes are read. */
  async snapshot(): Promise<FieldSnapshot> {
    while (this.#turn.running) await this.#turn.running;
    this.#check('snapshot');
    return takeSnapshot(this.#body);
  }

  /** Takes over a snapshot of a field of the same sizes; on an error the field stays as it is. */
  async restore(snapshot: FieldSnapshot): Promise<void> {
    while (this.#turn.running) await this.#turn.running;
    this.#check('restore');
    restoreSnapshot(this.#body, snapshot);
  }

  /** A field from a file that `save` wrote; `options` say where it lives. */
  static async load(file: string, options: FieldPlace = {}): Promise<Field> {
    return fieldFrom(decodeSnapshot(await readFile(file), file), options, makeField, file);
  }

  /** Writes a snapshot to a file, whole or not at all. */
  async save(file: string): Promise<void> {
    this.#check('save');
    await this.#write(file);
  }

  async #write(file: string): Promise<void> {
    while (this.#turn.running) await this.#turn.running;
    await writeFile(file, encodeSnapshot(await takeSnapshot(this.#body)));
  }

  /** Saves the field every 1000 cycles and when it is disposed of, and keeps the last 10 files; null ends that. */
  autosave(options: AutosaveOptions | null): void {
    this.#check('autosave');
    // At the end it saves a field that takes no calls any more.
    this.#autosave = options && new Autosave(options, (file) => this.#write(file));
  }

  /** Starts anew, by default from the same seed. What was trained stays. */
  async reset(seed = this.seed): Promise<void> {
    while (this.#turn.running) await this.#turn.running;
    this.#check('reset');
    this.#body.reset(seed);
  }

  report(): FieldReport {
    return reportOf(this, this.#body.bytes);
  }

  /** Frees everything, after the cycle that runs. Every later call is refused. */
  dispose(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    this.#disposed = true;
    while (this.#turn.running) await this.#turn.running;
    await this.#autosave?.end(this.cycle);
    this.#autosave = null;
    this.#body.dispose();
    if (this.#ownsRuntime) await this.runtime.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  // For the other parts of the package.

  /** The tensors of this field, as a stack of one. They change hands with the next cycle: clone what is to stay. */
  get tensors(): StateTensors {
    return this.#body.tensors;
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
  async featuresAfter(input: Float32Array): Promise<Float64Array> {
    this.#body.withFeatures();
    await this.step(input);
    return this.#body.features!;
  }

  /** A cycle was done: saves if that is due, and tells who listens. */
  #done({ sensors }: CheckedInput, result: StepResult): StepResult {
    this.#autosave?.noted(this.cycle);
    if (this.#events.heard.cycle)
      this.#events.emit('cycle', { sensors: sensors.slice(), motors: result.motors, state: result.state });
    return result;
  }

  /** An input as the next cycle takes it. */
  #checked(input: FieldInput, where: string): CheckedInput {
    return checkInput(input, this.#body.options.shape, where, this.#body.input);
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
