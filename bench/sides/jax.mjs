// jax-js on WebAssembly, with `jit` for everything: its fastest form.

import { createRequire } from 'node:module';
import { defaultDevice, init, jit, numpy as np } from '@jax-js/jax';
import { floats, fractions, words } from '../lib/data.mjs';
import { chain4m, field, fieldStep, job, shaped, square } from '../lib/jax.mjs';
import { serve } from '../lib/side.mjs';

await init('wasm');
defaultDevice('wasm');

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
    chain4m,
    field: () => job([field()], fieldStep),
    sum16m: () => job([np.array(fractions(2 ** 24))], (x) => np.sum(x)),
    matmul1024: () => square(1024),
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
