// Does calls again, on other tensors: as lazy ops now, or as the body of a compiled function.

import type { Tensor } from '../index.ts';
import { type NumericType, ours } from './convert.ts';
import { evaluator } from './evaluate.ts';
import type { Session } from './session.ts';
import { type Source, shaped } from './source.ts';
import type { Given, Step } from './steps.ts';
import type { ComplexPair, TensorInfo } from './types.ts';

/** Does steps in turn. `values` holds the tensors that are there, by number, and gets those that are missing. */
export function perform(session: Session, steps: readonly Step[], values: Tensor[]): void {
  const source = new Numbered(session, values);
  for (const { kernel, inputs, attrs, results } of steps) {
    if (results.every((r) => r.of !== null || values[r.value])) continue;
    const out = [evaluator(kernel)(source, inputs, attrs)].flat();
    results.forEach((r, i) => {
      if (r.of === null) values[r.value] ??= session.stored(out[i] as Tensor);
    });
  }
}

/** The program of a turn: from the tensors it began with, whose numbers are `leaves`, to the results that are wanted. */
export function program(
  session: Session,
  steps: readonly Step[],
  leaves: readonly number[],
  wanted: readonly number[],
): (...given: Tensor[]) => Tensor[] {
  return session.rt.compile((...given: Tensor[]) => {
    const values: Tensor[] = [];
    leaves.forEach((n, i) => {
      values[n] = given[i]!;
    });
    perform(session, steps, values);
    return wanted.map((n) => values[n]!);
  });
}

const isOne = (shape: readonly number[]): boolean => shape.every((d) => d === 1);

/** Values by their numbers. Steps name them so (`Given`). */
class Numbered implements Source {
  readonly session: Session;
  readonly #values: readonly Tensor[];

  constructor(session: Session, values: readonly Tensor[]) {
    this.session = session;
    this.#values = values;
  }

  tensorOf(x: TensorInfo): Tensor {
    const { value, constant } = x as Given;
    return constant === null ? shaped(this.#values[value]!, x.shape) : this.#full(x, constant);
  }

  #full({ shape, dtype }: TensorInfo, constant: number): Tensor {
    const { rt, floats } = this.session;
    return rt.full(shape, constant, { dtype: dtype === 'float32' ? floats : ours[dtype as NumericType] });
  }

  floats(x: TensorInfo): Tensor | null {
    const { value, constant, dtype, shape } = x as Given;
    if (constant !== null || dtype !== 'float32') return null;
    const tensor = this.#values[value]!;
    return tensor.dtype === 'f32' ? shaped(tensor, shape) : null;
  }

  numberOf(x: TensorInfo): number | null {
    const { constant, dtype, shape } = x as Given;
    return dtype === 'float32' && constant !== null && isOne(shape) ? Math.fround(constant) : null;
  }

  partsOf(x: TensorInfo): ComplexPair {
    return { real: this.tensorOf(x), imag: this.session.rt.zeros(x.shape) };
  }

  /** A call that looked at values in host memory is not done again. */
  hostOf(): null {
    return null;
  }

  share(x: TensorInfo, shape: readonly number[]): TensorInfo {
    return { ...x, shape: [...shape] };
  }
}
