// What a native kernel is: a function from the tensors of its inputs to tensors.
//
// Kernels are tables of such functions by TF.js's names. A kernel never disposes of anything: what it makes on the way is
// freed when it returns, and what it returns belongs to the backend.

import type { Runtime, Tensor } from '../index.ts';
import { type NumericType, ours } from './convert.ts';
import { stored } from './kernels/types.ts';
import type { Source } from './source.ts';
import type { BackendValues, ComplexPair, KernelInputs, TensorInfo, Tf } from './types.ts';

/** One result: a new tensor, a complex value, or an input's data in another shape. */
export type Out = Tensor | ComplexPair | TensorInfo;

/** A call of a kernel. */
export class Call {
  readonly tf: Tf;
  readonly rt: Runtime;
  readonly inputs: KernelInputs;
  readonly #attrs: unknown;
  readonly #source: Source;

  constructor(source: Source, inputs: KernelInputs, attrs: unknown) {
    this.#source = source;
    this.tf = source.session.tf;
    this.rt = source.session.rt;
    this.inputs = inputs;
    this.#attrs = attrs;
  }

  /** Whether f64 costs no other device. */
  get wide(): boolean {
    return this.#source.session.wide;
  }

  /** The attributes, by the type TF.js has for them. */
  attrs<A>(): A {
    return this.#attrs as A;
  }

  info(name: string): TensorInfo {
    return this.inputs[name]!;
  }

  has(name: string): boolean {
    return this.inputs[name] !== undefined && this.inputs[name] !== null;
  }

  /** An input as a tensor, in its own dtype; floats are f32 however they are stored. */
  x(name: string): Tensor {
    const tensor = this.#source.tensorOf(this.inputs[name]!);
    return tensor.dtype === 'f16' ? tensor.cast('f32') : tensor;
  }

  /** An operand of a product, as it is stored: devices multiply half floats faster, and add in f32. Bools are numbers. */
  operand(name: string): Tensor {
    const tensor = this.#source.tensorOf(this.inputs[name]!);
    return tensor.dtype === 'bool' ? tensor.cast('i32') : tensor;
  }

  /** An input as f32. */
  f(name: string): Tensor {
    return this.x(name).cast('f32');
  }

  /** A result of products in the dtype of an input. */
  asInput(name: string, result: Tensor): Tensor {
    const { dtype } = this.inputs[name]!;
    if (dtype !== 'float32') return stored(this.rt, result, ours[dtype as NumericType]);
    return result.dtype === 'f16' ? result : result.cast('f32');
  }

  /** All inputs of a kernel that takes a list. */
  list(): Tensor[] {
    return Object.keys(this.inputs).map((name) => this.x(name));
  }

  /** An input as a complex value. */
  complex(name: string): ComplexPair {
    return this.#source.partsOf(this.inputs[name]!);
  }

  /** The values of an input if no device has to be asked. */
  host(name: string): ArrayLike<number> | null {
    const values: BackendValues | null = this.#source.hostOf(this.inputs[name]!);
    return values as ArrayLike<number> | null;
  }

  /** An input's own data, in another shape. */
  share(name: string, shape: readonly number[]): TensorInfo {
    return this.#source.share(this.inputs[name]!, shape);
  }
}

/** What to do instead of a native kernel: run TF.js's own on the CPU, for the reason given. */
export class Reroute {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

export type Native = (c: Call) => Out | Out[] | Reroute;

/** Kernels by name; `complex` names those that take complex64 as well. */
export type Kernels = Readonly<Record<string, Native>>;
