// What the jax-js sides share, whatever its backend. An array is consumed by use unless `.ref` is taken.

import { jit, numpy as np } from '@jax-js/jax';
import { floats } from './data.mjs';

export const shaped = (data, shape) => np.array(data).reshape(shape);

/** A jitted function over inputs that stay alive; the work is finished when `run` resolves. */
export function job(inputs, f) {
  const compiled = jit(f);
  return kept(inputs, () => compiled(...inputs.map((x) => x.ref)));
}

/** Applies f again and again to its own result, from the same start in every run. */
export function iterated(start, f, times) {
  return kept([start], () => {
    let x = start.ref;
    for (let i = 0; i < times; i++) x = f(x);
    return x;
  });
}

function kept(inputs, make) {
  let last = null;
  return {
    run: async () => {
      last?.dispose();
      last = make();
      await last.blockUntilReady();
    },
    result: () => last.ref.data(),
    drop: () => {
      for (const x of inputs) x.dispose();
      last?.dispose();
    },
  };
}

export const square = (n) =>
  job(
    [0, 1].map((s) => shaped(floats(n * n, s), [n, n])),
    (a, b) => np.matmul(a, b),
  );

export const field = () => shaped(floats(2 ** 21), [32, 32, 32, 64]);

export function fieldStep(f) {
  let around = f.ref.mul(-6);
  for (const axis of [0, 1, 2]) for (const s of [1, -1]) around = around.add(np.roll(f.ref, s, axis));
  return np.tanh(f.mul(0.99).add(around.mul(0.1)));
}

export const chain4m = () => job([np.array(floats(2 ** 22))], (x) => np.tanh(x.ref.mul(0.99).add(0.5).mul(x).sub(0.1)));
