// A work of the array benches: its title, its inputs, what is timed; and the usual inputs.
//
// numpy_arrays.py makes the same inputs.

import type { Runtime, Tensor } from '../../src/index.ts';
import { floats, fractions } from '../lib/data.mjs';
import type { Job } from '../lib/side.mjs';

export interface Work {
  readonly title: string;
  /** Makes the inputs; what it returns is timed, and gives a result to wait for or to compute. */
  readonly make: (rt: Runtime) => () => Tensor | Promise<Tensor>;
  /** Only the number of elements is compared: random numbers are not NumPy's. */
  readonly anyValues?: boolean;
}

export const million = 2 ** 20;
export const row = (rt: Runtime, n: number, seed = 0): Tensor => rt.tensor(floats(n, seed));
/** From just above 0 to 1. */
export const positive = (rt: Runtime, n: number, seed = 0): Tensor =>
  rt.tensor(fractions(n, seed).map((v) => v || 0.5));
export const matrix = (rt: Runtime, m: number, n: number, seed = 0): Tensor => rt.tensor(floats(m * n, seed), [m, n]);
/** Whole numbers from 0 to `below` - 1. */
export const whole = (rt: Runtime, n: number, below: number, seed = 0): Tensor =>
  rt.tensor(Int32Array.from(fractions(n, seed), (v) => Math.min(below - 1, Math.floor(v * below))));

/** A copy of a view, which is let go of as soon as it was used: so is NumPy's. */
export function copied(view: Tensor): Tensor {
  const copy = view.clone();
  view.dispose();
  return copy;
}

/** A function of every element of a row. */
export const unary = (title: string, n: number, f: (x: Tensor) => Tensor, from = row): Work => ({
  title,
  make: (rt) => {
    const x = from(rt, n);
    return () => f(x);
  },
});

export const binary = (title: string, n: number, f: (x: Tensor, y: Tensor) => Tensor, from = row): Work => ({
  title,
  make: (rt) => {
    const [x, y] = [from(rt, n), from(rt, n, 7)];
    return () => f(x, y);
  },
});

export const square = (title: string, n: number, f: (x: Tensor) => Tensor | Promise<Tensor>): Work => ({
  title,
  make: (rt) => {
    const x = matrix(rt, n, n);
    return () => f(x);
  },
});

export const product = (title: string, m: number, k: number, n: number): Work => ({
  title,
  make: (rt) => {
    const [a, b] = [matrix(rt, m, k), n === 1 ? row(rt, k, 1) : matrix(rt, k, n, 1)];
    return () => a.matmul(b);
  },
});

export const integers = (title: string, f: (x: Tensor, y: Tensor) => Tensor): Work => ({
  title,
  make: (rt) => {
    const [x, y] = [whole(rt, million, 1000), whole(rt, million, 50, 7).add(1).compute()];
    return () => f(x, y);
  },
});

/** A work as the bench runs it: the last result stays until the next is there, so that its buffer comes from the pool. */
export function job(rt: Runtime, { make, anyValues }: Work): Job {
  const next = make(rt);
  let last: Tensor | null = null;
  const keep = (made: Tensor): void => {
    last?.dispose();
    last = made.compute();
  };
  return {
    run: () => {
      const made = next();
      return made instanceof Promise ? made.then(keep) : keep(made);
    },
    result: () => (anyValues ? [last!.size] : (last!.dataSync() as ArrayLike<number>)),
  };
}
