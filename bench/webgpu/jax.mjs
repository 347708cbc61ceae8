// jax-js on WebGPU over Dawn, with `jit` wherever that is faster. An array is consumed by use unless `.ref` is taken.

import { defaultDevice, init, jit, numpy as np } from '@jax-js/jax';
import { floats } from '../lib/data.mjs';
import { serve } from '../lib/side.mjs';
import { installDawn } from './dawn.mjs';

const adapter = await installDawn();
const found = await init('webgpu');
if (!found.includes('webgpu')) throw new Error(`jax-js found only ${found.join(', ')}`);
defaultDevice('webgpu');

const shaped = (data, shape) => np.array(data).reshape(shape);

/** Applies f again and again to its own result, from the same start in every run. */
function iterated(start, f, times) {
  let last = null;
  return {
    run: async () => {
      last?.dispose();
      let x = start.ref;
      for (let i = 0; i < times; i++) x = f(x);
      last = x;
      await last.blockUntilReady();
    },
    result: () => last.ref.data(),
    drop: () => {
      start.dispose();
      last?.dispose();
    },
  };
}

function job(inputs, f) {
  const compiled = jit(f);
  let last = null;
  return {
    run: async () => {
      last?.dispose();
      last = compiled(...inputs.map((x) => x.ref));
      await last.blockUntilReady();
    },
    result: () => last.ref.data(),
    drop: () => {
      for (const x of inputs) x.dispose();
      last?.dispose();
    },
  };
}

const square = (n) =>
  job(
    [0, 1].map((s) => shaped(floats(n * n, s), [n, n])),
    (a, b) => np.matmul(a, b),
  );
const step = jit((f) => {
  let around = f.ref.mul(-6);
  for (const axis of [0, 1, 2]) for (const s of [1, -1]) around = around.add(np.roll(f.ref, s, axis));
  return np.tanh(f.mul(0.99).add(around.mul(0.1)));
});
const field = (steps) => iterated(shaped(floats(2 ** 21), [32, 32, 32, 64]), step, steps);
// One jitted op a step: the whole chain under one jit would be one kernel, and no measure of what an op costs.
const plusOne = jit((x) => x.add(1));

await serve(
  {
    tiny200: () => iterated(np.array(floats(64)), plusOne, 200),
    field100: () => field(100),
    field4: () => field(4),
    matmul512: () => square(512),
    matmul1024: () => square(1024),
    matmul4096: () => square(4096),
    chain4m: () => job([np.array(floats(2 ** 22))], (x) => np.tanh(x.ref.mul(0.99).add(0.5).mul(x).sub(0.1))),
    updown10mb: () => {
      const host = floats(10 * 2 ** 18);
      // As an argument: a constant zero would be folded away, and with it all work.
      const zero = np.array(0);
      const plus = jit((x, y) => x.add(y));
      let out;
      return {
        run: async () => {
          const y = plus(np.array(host), zero.ref);
          out = await y.data();
        },
        result: () => out,
      };
    },
  },
  { version: '0.1.25', backend: 'webgpu', adapter },
);
