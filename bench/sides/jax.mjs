// jax-js on WebAssembly, with `jit` for everything: its fastest form. An array is consumed by use unless `.ref` is taken.

import { createRequire } from 'node:module';
import { defaultDevice, init, jit, numpy as np } from '@jax-js/jax';
import { floats, fractions, words } from '../lib/data.mjs';
import { serve } from '../lib/side.mjs';

await init('wasm');
defaultDevice('wasm');

const shaped = (data, shape) => np.array(data).reshape(shape);

/** A jitted function over inputs that stay alive; the work is finished when `run` resolves. */
function job(inputs, f) {
  const compiled = jit(f);
  let last = null;
  return {
    run: async () => {
      last?.dispose();
      last = compiled(...inputs.map((x) => x.ref));
      await last.blockUntilReady();
    },
    result: () => last.ref.dataSync(),
    drop: () => {
      for (const x of inputs) x.dispose();
      last?.dispose();
    },
  };
}

await serve(
  {
    add5: () => {
      const [a, b] = [np.array(floats(5)), np.array(floats(5, 7))];
      const add = jit((x, y) => x.add(y));
      let out;
      return {
        run: () => {
          out = add(a.ref, b.ref).dataSync();
        },
        result: () => out,
      };
    },
    xor16m: () =>
      job([np.array(words(2 ** 24), { dtype: np.uint32 }), np.array(words(2 ** 24, 7), { dtype: np.uint32 })], (a, b) =>
        np.bitwiseXor(a, b),
      ),
    chain4m: () => job([np.array(floats(2 ** 22))], (x) => np.tanh(x.ref.mul(0.99).add(0.5).mul(x).sub(0.1))),
    field: () =>
      job([shaped(floats(2 ** 21), [32, 32, 32, 64])], (f) => {
        let around = f.ref.mul(-6);
        for (const axis of [0, 1, 2]) for (const s of [1, -1]) around = around.add(np.roll(f.ref, s, axis));
        return np.tanh(f.mul(0.99).add(around.mul(0.1)));
      }),
    sum16m: () => job([np.array(fractions(2 ** 24))], (x) => np.sum(x)),
    matmul1024: () =>
      job(
        [0, 1].map((s) => shaped(floats(2 ** 20, s), [1024, 1024])),
        (a, b) => np.matmul(a, b),
      ),
    matmul256x10: () => {
      const inputs = Array.from({ length: 11 }, (_, i) => shaped(floats(2 ** 16, i), [256, 256]));
      const multiply = jit((a, b) => np.matmul(a, b));
      let last = [];
      return {
        run: async () => {
          for (const t of last) t.dispose();
          last = inputs.slice(0, 10).map((a) => multiply(a.ref, inputs[10].ref));
          await Promise.all(last.map((t) => t.blockUntilReady()));
        },
        result: () => last[9].ref.dataSync(),
        drop: () => {
          for (const t of [...inputs, ...last]) t.dispose();
        },
      };
    },
  },
  { version: createRequire(import.meta.url)('../node_modules/@jax-js/jax/package.json').version, backend: 'wasm' },
);
