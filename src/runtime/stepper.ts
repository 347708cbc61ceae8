// createStepper: a compiled recurrence whose state stays where it is, for loops that wait for every step.
//
// A run takes a few values from the host, replays the compiled function on them and the state, and brings one result back. The new state
// lies beside the old one until `accept`: a run that fails, or whose result is refused, changes nothing.
//
// The first runs go the ordinary way: tensors in, tensors out, with everything that recovery can do. Once they are alike the
// buffers are bound for good (`bound-step.ts`), which takes a fraction of the time. Whatever does not fit any more (somebody listens to
// events, a device was lost or is full, a tensor was spilled) goes the ordinary way again.

import { byteSize, type DType, type TypedArray } from '../base/dtype.ts';
import { checkShape, type Shape, show, sizeOf } from '../base/shape.ts';
import { checked, checkMethods } from '../base/signatures.ts';
import type { DeviceId } from '../devices/device.ts';
import { ArgumentError, DisposedError } from '../errors.ts';
import { internInts, noInts } from '../graph/intern.ts';
import { Node } from '../graph/node.ts';
import type { WaitOptions } from '../tensor/core.ts';
import { typed } from '../tensor/host-array.ts';
import { Tensor } from '../tensor/tensor.ts';
import { BoundStep } from './bound-step.ts';
import { type Compiled, lastCall } from './compile.ts';
import type { RuntimeHost } from './host.ts';
import type { Runtime } from './runtime.ts';
import { fits, type Remembered } from './signature.ts';
import { runtimeKinds, stepperSignatures } from './signatures.ts';

/** The tensors of a recurrence, by name. */
export type StepperState = Readonly<Record<string, Tensor>>;

/** `(state, input, ...fixed)`: what it returns under names of the state is the new state; the rest is let go. */
export type StepperFunction = Compiled<[StepperState, Tensor, ...Tensor[]], { readonly [name: string]: Tensor }>;

export interface StepperOptions {
  /** The first state. The stepper takes these tensors over, and disposes of them. */
  readonly state: StepperState;
  /** The values that each run is given. */
  readonly input: { readonly shape: Shape; readonly dtype?: DType | undefined };
  /** The name of the state that each run brings back. */
  readonly reads: string;
  /** Further arguments of the function, the same in every run. They stay yours, and must stay. */
  readonly fixed?: readonly Tensor[] | undefined;
  /** Where it runs. */
  readonly device: DeviceId;
}

/**
 * A recurrence whose state stays on a device: each run uploads a few values, replays `step` and reads one result, as one piece of work
 * where the device can. For loops that wait for every step; docs/compile.md shows one.
 *
 * ```ts
 * import { createRuntime, createStepper } from 'gpuforge';
 * await using rt = await createRuntime();
 * const step = rt.compile((s, x) => ({ sum: s.sum.add(x) }));
 * const stepper = createStepper(rt, step, { state: { sum: rt.zeros([2]) }, input: { shape: [2] }, reads: 'sum', device: 'cpu' });
 * stepper.runSync(Float32Array.of(1, 2)); // Float32Array [1, 2]
 * stepper.accept();
 * ```
 */
export const createStepper = checked(
  'createStepper',
  'rt:runtime step:function options:{state:state!,input:{shape:shape!,dtype:dtype}!,reads:text!,fixed:tensor[],device:text!}',
  (rt: Runtime, step: StepperFunction, options: StepperOptions): Stepper => {
    const tensors = [...Object.values(options.state), ...(options.fixed ?? [])];
    const foreign = tensors.find((t) => !rt.owns(t));
    if (foreign || tensors.length === 0)
      throw refused('a tensor is of another runtime, or there is none', 'Make them with the runtime that is given.');
    return new Stepper(tensors[0]!.host as RuntimeHost, step, options);
  },
  runtimeKinds,
);

/** Runs that were alike before buffers are bound for the next. */
const alikeBefore = 2;

type Pending = 'bound' | Record<string, Tensor> | null;

export class Stepper {
  readonly #step: StepperFunction;
  readonly #host: RuntimeHost;
  readonly #options: StepperOptions;
  readonly #shape: Shape;
  readonly #dtype: DType;
  readonly #bytes: number;
  #state: Record<string, Tensor>;
  #bound: BoundStep | null = null;
  /** The last call, and how many in a row went the ordinary way. */
  #asked: Remembered | null = null;
  #alike = 0;
  #pending: Pending = null;
  /** What was read last. */
  #seen: { readonly bytes: Uint8Array; readonly values: TypedArray } | null = null;
  #running = false;
  #disposed = false;

  /** @internal Use `createStepper`. */
  constructor(host: RuntimeHost, step: StepperFunction, options: StepperOptions) {
    const { input, state, reads } = options;
    const dtype = input.dtype ?? 'f32';
    checkShape(input.shape, where);
    if (!state[reads]) throw refused(`the state has no '${reads}'`, `It has ${Object.keys(state).join(', ')}.`);
    host.place(options.device, where);
    this.#step = step;
    this.#host = host;
    this.#options = options;
    this.#shape = [...input.shape];
    this.#dtype = dtype;
    this.#bytes = sizeOf(input.shape) * byteSize(dtype);
    this.#state = { ...state };
  }

  /** The state as tensors. They belong to the stepper: `clone()` what is to outlive the next run. */
  get state(): StepperState {
    this.#check();
    return this.#bound ? this.#bound.state() : this.#state;
  }

  /** What the last run made, before it is accepted; null if there is nothing. */
  get pending(): StepperState | null {
    if (this.#pending === 'bound') return this.#bound!.state(true);
    return this.#pending && { ...this.#state, ...this.#pending };
  }

  /**
   * Runs the function on values of the host, waits, and returns what it reads: values that are good until the next run. `state` replaces
   * some of the state for this run, and for good if that is accepted.
   */
  runSync(values: TypedArray, state: StepperState = {}): TypedArray {
    const bytes = this.#begin(values);
    const bound = this.#ready(state);
    if (bound) {
      try {
        const read = bound.runSync(bytes);
        this.#pending = 'bound';
        return this.#read(read);
      } catch {
        // The ordinary way tells what is the matter, and may know a way out.
        this.#unbind();
      }
    }
    const made = this.#call(values, state);
    const data = made[this.#options.reads]!.dataSync() as TypedArray;
    this.#alike++;
    return data;
  }

  /** The same for devices that are read by waiting. */
  async run(values: TypedArray, state: StepperState = {}, { signal }: WaitOptions = {}): Promise<TypedArray> {
    const bytes = this.#begin(values);
    this.#running = true;
    try {
      const bound = this.#ready(state);
      if (bound) {
        try {
          const what = `step of ${this.#bytes} bytes (${bound.place.id})`;
          const read = await this.#host.opened().recovery.within(bound.run(bytes), what, signal);
          this.#pending = 'bound';
          return this.#read(read);
        } catch (e) {
          this.#unbind();
          if (signal?.aborted) throw e;
        }
      }
      const made = this.#call(values, state);
      const data = (await made[this.#options.reads]!.data({ signal })) as TypedArray;
      this.#alike++;
      return data;
    } finally {
      this.#running = false;
    }
  }

  /** What the last run made is the state from now on. */
  accept(): void {
    const made = this.#pending;
    this.#pending = null;
    if (made === 'bound') this.#bound!.advance();
    else if (made) {
      for (const name of Object.keys(made)) this.#state[name]?.dispose();
      this.#state = { ...this.#state, ...made };
    }
  }

  /** Forgets what the last run made. The next run does so by itself. */
  drop(): void {
    const made = this.#pending;
    this.#pending = null;
    if (made !== null && made !== 'bound') for (const t of Object.values(made)) t.dispose();
  }

  /** Frees the state and everything else; the fixed arguments and the function stay. */
  dispose(): void {
    if (this.#disposed) return;
    this.#unbind();
    this.drop();
    this.#disposed = true;
    for (const t of Object.values(this.#state)) t.dispose();
  }

  #begin(values: TypedArray): Uint8Array {
    this.#check();
    if (this.#running) throw refused('a run is under way', 'Await it first.');
    if (this.#pending !== null) this.drop();
    if (values.byteLength === this.#bytes) return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    throw refused(
      `the input has ${values.byteLength} bytes, not the ${this.#bytes} of ${this.#dtype} ${show(this.#shape)}`,
      'Give as many values as `input` says.',
    );
  }

  /** Buffers that are bound and as they were; null if this run goes the ordinary way. */
  #ready(state: StepperState): BoundStep | null {
    if (this.#host.opened().engine.dispatch.heard || Object.keys(state).length > 0) {
      this.#unbind();
      return null;
    }
    if (!this.#bound && this.#alike >= alikeBefore) this.#bind();
    if (!this.#bound) return null;
    try {
      if (this.#bound.ready()) return this.#bound;
    } catch {
      // No room for a state of its own.
    }
    this.#unbind();
    return null;
  }

  #bind(): void {
    this.#alike = 0;
    const asked = this.#asked;
    if (!asked) return;
    const host = this.#host;
    const given = new Tensor(host, new Node('leaf', this.#dtype, internInts(this.#shape), [], noInts));
    try {
      const inputs: Node[] = [];
      const { state, reads } = { state: this.#state, reads: this.#options.reads };
      if (!fits(host, asked.pattern, [state, given, ...(this.#options.fixed ?? [])], inputs)) return;
      const numbers = asked.signature.outputs.map((_, i) => i);
      const results = asked.rebuild(numbers) as Record<string, number>;
      this.#bound = BoundStep.make(host, { asked, inputs, given: given.node, state, results, reads });
      if (this.#bound) this.#state = {};
    } catch {
      // No room for a second state: the ordinary way can make some.
    } finally {
      given.dispose();
    }
  }

  #unbind(): void {
    this.#alike = 0;
    if (!this.#bound) return;
    this.#state = this.#bound.release();
    this.#bound = null;
    if (this.#pending === 'bound') this.#pending = null;
  }

  /** The ordinary way. */
  #call(values: TypedArray, state: StepperState): Record<string, Tensor> {
    const host = this.#host;
    const place = host.place(this.#options.device, where);
    let made: Record<string, Tensor>;
    try {
      made = host.scope(() => this.#results(values, state), { place });
    } catch (e) {
      for (const t of Object.values(state)) t.dispose();
      throw e;
    }
    for (const [name, t] of Object.entries(made)) {
      t.keep();
      // What replaced a state that the function returns was for this run alone.
      state[name]?.dispose();
    }
    this.#pending = { ...state, ...made };
    return made;
  }

  #results(values: TypedArray, state: StepperState): Record<string, Tensor> {
    const host = this.#host;
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    const given = new Tensor(host, host.upload(bytes, this.#dtype, this.#shape));
    const results = this.#step({ ...this.#state, ...state }, given, ...(this.#options.fixed ?? []));
    this.#asked = lastCall(this.#step);
    const { reads } = this.#options;
    if (!(results?.[reads] instanceof Tensor))
      throw refused(`the function returns no '${reads}', which is read`, `Return it under that name: { ${reads}: … }.`);
    return Object.fromEntries(Object.entries(results).filter(([name]) => name in this.#state || name in state));
  }

  /** The same bytes as their type. Devices give the same array again, so that there is nothing to make. */
  #read(bytes: Uint8Array): TypedArray {
    if (bytes !== this.#seen?.bytes) this.#seen = { bytes, values: typed(bytes, this.#bound!.readType) };
    return this.#seen.values;
  }

  #check(): void {
    this.#host.checkOpen(where);
    if (!this.#disposed) return;
    throw new DisposedError({
      code: 'USE_AFTER_DISPOSE',
      message: 'a stepper was used after it was disposed',
      fix: 'Dispose it after its last run.',
      where,
    });
  }
}

checkMethods(Stepper.prototype, stepperSignatures, runtimeKinds);

const where = 'stepper';

function refused(problem: string, fix: string): ArgumentError {
  return new ArgumentError({ code: 'BAD_STEPPER', message: `${where}: ${problem}`, fix, where });
}
