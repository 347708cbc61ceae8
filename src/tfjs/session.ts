// One registered backend: the runtime behind it, the user's modules, and what was counted.
//
// It outlives the backend objects that TF.js makes and disposes of.

import { type BusEvents, DeviceUnavailable, EventBus, type Runtime, type Tensor, type TypedArray } from '../index.ts';
import type { FloatPrecision } from './convert.ts';
import { StepTree } from './steps.ts';
import type { Tf, TfCpu } from './types.ts';

/** A kernel ran on TF.js's CPU backend for the first time. */
export interface RoutedEvent {
  readonly kernel: string;
  readonly reason: string;
}

export interface TfjsEvents extends BusEvents {
  readonly routed: RoutedEvent;
  readonly warning: { readonly message: string };
}

export interface Counter {
  times: number;
}

export class Session {
  readonly tf: Tf;
  readonly cpu: TfCpu | null;
  readonly rt: Runtime;
  readonly name: string;
  readonly events = new EventBus<TfjsEvents>(['error', 'routed', 'warning'], 'backend.on');
  /** Native kernels, by name: how often each ran. */
  readonly native = new Map<string, Counter>();
  /** Kernels that ran on TF.js's CPU backend, by name. */
  readonly routed = new Map<string, number>();
  /** Kernels that were asked for and that nothing can run. */
  readonly missing = new Set<string>();
  /** What is wrong though it works. */
  readonly warnings: string[] = [];
  /** The calls that the program made so far. */
  readonly steps = new StepTree();
  /** Turns that a program of an earlier one computed. */
  repeated = 0;
  /** Tests switch it off to show that a kernel needs no help. */
  routing = true;

  /** The device that does most of the work computes in f64 too. */
  readonly wide: boolean;

  /** The device that does most of the work computes beside the host. */
  readonly beside: boolean;

  /** Every device can be read without a wait. */
  readonly synchronous: boolean;

  /** The dtype that float32 values are stored in. */
  readonly floats: FloatPrecision;

  constructor(tf: Tf, cpu: TfCpu | null, rt: Runtime, name: string, floats: FloatPrecision = 'f32') {
    this.tf = tf;
    this.cpu = cpu;
    this.rt = rt;
    this.name = name;
    this.floats = floats;
    const open = rt.devices().filter((d) => d.open);
    const caps = open.map(({ id }) => rt.device(id).caps);
    this.wide = caps[0]?.dtypes.has('f64') ?? false;
    this.beside = caps[0]?.host !== true;
    this.synchronous = caps.every((c) => c.syncRead);
  }

  /**
   * The values of a tensor without a wait. Where the device cannot be read at once, but another one can, what is still lazy and
   * rests on data in host memory is computed there.
   */
  readNow(tensor: Tensor): TypedArray {
    try {
      return tensor.dataSync() as TypedArray;
    } catch (e) {
      const other = e instanceof DeviceUnavailable && !tensor.computed ? this.#readable() : null;
      if (!other) throw e;
      return this.rt.scope({ device: other }, () => tensor.dataSync() as TypedArray);
    }
  }

  #readable(): string | null {
    const open = this.rt.devices().filter((d) => d.open);
    return open.find(({ id }) => this.rt.device(id).caps.syncRead)?.id ?? null;
  }

  /** A result of a kernel in the dtype that it is stored in; takes the result over. */
  stored(made: Tensor): Tensor {
    if (made.dtype !== 'f32' || this.floats === 'f32') return made;
    const tensor = made.cast(this.floats);
    made.dispose();
    return tensor;
  }

  /** Counts how often a native kernel runs. */
  counter(kernel: string): Counter {
    let counter = this.native.get(kernel);
    if (!counter) this.native.set(kernel, (counter = { times: 0 }));
    return counter;
  }

  ranRouted(kernel: string, reason: string): void {
    const count = this.routed.get(kernel) ?? 0;
    this.routed.set(kernel, count + 1);
    if (count === 0) this.events.emit('routed', { kernel, reason });
  }
}
