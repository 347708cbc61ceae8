// A field: a dynamic field on a grid of cells, driven by sensor values and read out as motor values, cycle after cycle.
//
// One cycle is one upload, one run of a compiled program and one download. A cycle that fails throws a typed error and leaves the
// field as it was. Cycles of one field run one after the other; calls that come early wait for their turn.

import { type DeviceId, DisposedError, type Runtime } from '../index.ts';
import { type Statistics, statisticsOf, tailLength } from './cycle/record.ts';
import { inputLength } from './cycle/shape.ts';
import type { DeviceChoice } from './device.ts';
import { FieldConfigError, FieldStateError } from './errors.ts';
import { type CheckedInput, checkInput, writeInput } from './input.ts';
import { totalChannels } from './layout.ts';
import { type LoopOptions, type LoopReport, runLoop } from './loop.ts';
import { finishMotors } from './motors.ts';
import type { ResolvedField } from './options.ts';
import { type HeldProgram, holdProgram, type StateTensors } from './program.ts';
import { allKeys } from './random.ts';
import { type FieldReport, reportOf } from './report.ts';
import { Stack, type Transfers } from './stack.ts';
import { startTensors } from './start.ts';
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

export interface StepResult {
  /** Always `motorDim` values, each from −1 to 1. */
  readonly motors: Float32Array;
  readonly state: FieldState;
  /** The part of the motors that is noise; null unless `settings.exploration` asks for some. */
  readonly exploration: Float32Array | null;
}

export type FieldInput = Float32Array | readonly number[];

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
  readonly #transfers: Transfers = { up: 0, down: 0 };

  /** Use `createField`. */
  constructor(rt: Runtime, options: ResolvedField, choice: DeviceChoice, ownsRuntime: boolean) {
    this.runtime = rt;
    this.options = options;
    this.choice = choice;
    this.#ownsRuntime = ownsRuntime;
    this.#seed = options.seed;
    this.#program = holdProgram(rt, options, false);
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
    return (await this.#exclusive(() => cycleLater([this], [checked], 'step')))[0]!;
  }

  /** The same without a promise, where the device can be read synchronously: CPU and CUDA. */
  stepSync(input: FieldInput): StepResult {
    this.#check('stepSync');
    if (this.#turn)
      throw new FieldConfigError({
        where: 'stepSync',
        problem: 'another cycle of this field is under way',
        fix: 'Await it first.',
      });
    if (!this.#canRunSync)
      throw new FieldConfigError({
        where: 'stepSync',
        problem: `${this.device} cannot be read without a promise`,
        fix: 'Use step().',
      });
    return cycleSync([this], [checkInput(input, this.options.shape, 'stepSync')], 'stepSync')[0]!;
  }

  /** One cycle of several fields that are alike, together: as many launches as one field takes. */
  static async stepBatch(fields: readonly Field[], inputs: readonly FieldInput[]): Promise<StepResult[]> {
    const where = 'stepBatch';
    checkAlike(fields, inputs, where);
    if (fields.length === 0) return [];
    for (let busy = fields.find((f) => f.#turn); busy; busy = fields.find((f) => f.#turn)) await busy.#turn;
    for (const f of fields) f.#check(where);
    const checked = inputs.map((input, i) => checkInput(input, fields[i]!.options.shape, where));
    together(fields);
    const [first] = fields as [Field, ...Field[]];
    if (first.#canRunSync) return cycleSync(fields, checked, where);
    const work = cycleLater(fields, checked, where);
    const turn = work.then(
      () => {},
      () => {},
    );
    for (const f of fields) f.#turn = turn;
    try {
      return await work;
    } finally {
      for (const f of fields) f.#turn = null;
    }
  }

  /** A control loop at a fixed rate, with deadlines; ends with its ticks or its signal. */
  loop(options: LoopOptions): Promise<LoopReport> {
    this.#check('loop');
    return runLoop((input) => this.step(input), this.options.shape.motorDim, options);
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
      return this.tensors
        .field!.slice([null, ...at, [channel, channel + 1]])
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

  /** Starts anew, by default from the same seed. */
  async reset(seed = this.#seed): Promise<void> {
    while (this.#turn) await this.#turn;
    this.#check('reset');
    const made = this.#fresh(seed);
    this.#stack.leave();
    [this.#stack, this.#row, this.#seed] = [made, 0, seed];
    this.#carried = startCarried();
    this.#statistics = null;
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

  get #canRunSync(): boolean {
    return this.runtime.device(this.device).caps.syncRead;
  }

  #fresh(seed: number): Stack {
    return this.runtime.scope({ device: this.device }, () => {
      const state = startTensors(this.runtime, { ...this.options, seed });
      const keys = this.runtime.tensor(allKeys(seed), [1, allKeys(seed).length]).keep();
      return new Stack(this.runtime, this.device, state, keys);
    });
  }

  /** Takes the field out of a stack that it shares with others. */
  #alone(): void {
    if (this.#stack.rows === 1) return;
    const own = this.#stack.take(this.#row);
    this.#stack.leave();
    [this.#stack, this.#row] = [own, 0];
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

  async #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const running = work();
    this.#turn = running.then(
      () => {},
      () => {},
    );
    try {
      return await running;
    } finally {
      this.#turn = null;
    }
  }

  /** Enqueues a cycle of fields that share a stack. */
  static launch(
    fields: readonly Field[],
    inputs: readonly CheckedInput[],
  ): { stack: Stack; next: StateTensors; moved: Transfers } {
    const [first] = fields as [Field, ...Field[]];
    const { shape } = first.options;
    if (fields.length === 1) first.#alone();
    const stack = first.#stack;
    const input = new Float32Array(inputLength(shape) * stack.rows);
    fields.forEach((f, i) => {
      writeInput(input, f.#row, inputs[i]!, f.#carried.cycle, shape);
    });
    const moved: Transfers = { up: 0, down: 0 };
    return { stack, next: stack.launch(first.#program.run, input, moved), moved };
  }

  /** Takes over what a cycle made: the state of all fields at once, or an error and nothing. */
  static finish(
    fields: readonly Field[],
    inputs: readonly CheckedInput[],
    tail: Float32Array,
    milliseconds: number,
    moved: Transfers,
    where: string,
  ): StepResult[] {
    const [first] = fields as [Field, ...Field[]];
    const length = tailLength(first.options.shape);
    const rows = fields.map((f) => tail.subarray(f.#row * length, (f.#row + 1) * length));
    const statistics = rows.map((row) => statisticsOf(row, first.options.shape));
    const bad = statistics.findIndex((s) => !Number.isFinite(s.absoluteAll));
    if (bad >= 0) throw notFinite(fields[bad]!, where);
    return fields.map((f, i) => f.#advance(rows[i]!, statistics[i]!, inputs[i]!, milliseconds, moved));
  }

  #advance(
    row: Float32Array,
    statistics: Statistics,
    input: CheckedInput,
    milliseconds: number,
    moved: Transfers,
  ): StepResult {
    const { shape, settings } = this.options;
    const carried = this.#carried;
    const means = contentMeans(statistics, shape);
    carried.cycle++;
    carryOn(carried, means, input.active);
    const { motors, exploration } = finishMotors(row.subarray(0, shape.motorDim), this.#seed, carried, settings);
    carryEcho(carried, motors);
    this.#statistics = statistics;
    this.#transfers.up += moved.up;
    this.#transfers.down += moved.down;
    const state = stateOf({
      shape,
      settings,
      device: this.device,
      statistics,
      means,
      carried,
      predicts: false,
      active: input.active,
      regions: 0,
      saturation: 0,
      transfers: moved,
      milliseconds,
    });
    return { motors, state, exploration };
  }

  /** Moves fields into one stack, if they do not share one. */
  static share(fields: readonly Field[]): void {
    const [first] = fields as [Field, ...Field[]];
    const ready =
      fields.every((f, i) => f.#stack === first.#stack && f.#row === i) && first.#stack.rows === fields.length;
    if (ready) return;
    const joined = Stack.join(
      first.runtime,
      first.device,
      fields.map((f) => ({ stack: f.#stack, row: f.#row })),
    );
    fields.forEach((f, i) => {
      f.#stack.leave();
      [f.#stack, f.#row] = [joined, i];
    });
  }

  static sameProgram(a: Field, b: Field): boolean {
    return a.#program.key === b.#program.key && a.runtime === b.runtime && a.device === b.device;
  }
}

function cycleSync(fields: readonly Field[], inputs: readonly CheckedInput[], where: string): StepResult[] {
  const start = performance.now();
  const { stack, next, moved } = Field.launch(fields, inputs);
  try {
    const tail = stack.readSync(next, moved);
    const results = Field.finish(fields, inputs, tail, performance.now() - start, moved, where);
    stack.accept(next);
    return results;
  } catch (e) {
    stack.reject(next);
    throw e;
  }
}

async function cycleLater(
  fields: readonly Field[],
  inputs: readonly CheckedInput[],
  where: string,
): Promise<StepResult[]> {
  const start = performance.now();
  const { stack, next, moved } = Field.launch(fields, inputs);
  try {
    const tail = await stack.read(next, moved);
    const results = Field.finish(fields, inputs, tail, performance.now() - start, moved, where);
    stack.accept(next);
    return results;
  } catch (e) {
    stack.reject(next);
    throw e;
  }
}

const together = Field.share;

function checkAlike(fields: readonly Field[], inputs: readonly FieldInput[], where: string): void {
  const refuse = (problem: string, fix: string): never => {
    throw new FieldConfigError({ where, problem, fix });
  };
  if (fields.length !== inputs.length)
    refuse(`${inputs.length} inputs for ${fields.length} fields`, 'Give one for each field.');
  if (new Set(fields).size !== fields.length) refuse('a field is there twice', 'Give each field once.');
  const other = fields.findIndex((f) => !Field.sameProgram(f, fields[0]!));
  if (other >= 0)
    refuse(
      `field ${other} differs from field 0 in size, settings, device or runtime`,
      'Make fields that run together with the same options and one runtime; seeds may differ.',
    );
}

function notFinite(field: Field, where: string): FieldStateError {
  return new FieldStateError({
    where,
    problem: `cycle ${field.cycle + 1} gave values that are no numbers`,
    fix: 'The field is as it was before the cycle. Use smaller settings, or reset it.',
    cycle: field.cycle + 1,
    cell: [],
  });
}
