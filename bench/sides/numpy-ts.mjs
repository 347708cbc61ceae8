// numpy-ts: eager, WebAssembly SIMD kernels, one thread.

import { createRequire } from 'node:module';
import * as np from 'numpy-ts';
import { floats, fractions, words } from '../lib/data.mjs';
import { serve } from '../lib/side.mjs';

const from = (data, shape) => {
  const x = np.array(data, data instanceof Uint32Array ? 'uint32' : 'float32');
  return shape ? x.reshape(...shape) : x;
};

/** Runs a function of arrays and frees what it made along the way. */
function job(inputs, f) {
  let last = null;
  return {
    run: () => {
      const made = [];
      const keep = (x) => {
        made.push(x);
        return x;
      };
      last?.dispose();
      last = f(keep, ...inputs);
      for (const x of made) if (x !== last) x.dispose();
    },
    result: () => last.data,
  };
}

await serve(
  {
    add5: () => {
      const [a, b] = [from(floats(5)), from(floats(5, 7))];
      let out;
      return {
        run: () => {
          out = a.add(b).data;
        },
        result: () => out,
      };
    },
    xor16m: () => job([from(words(2 ** 24)), from(words(2 ** 24, 7))], (keep, a, b) => keep(a.bitwise_xor(b))),
    chain4m: () =>
      job([from(floats(2 ** 22))], (keep, x) => {
        const t = keep(keep(keep(x.multiply(0.99)).add(0.5)).multiply(x));
        return keep(np.tanh(keep(t.subtract(0.1))));
      }),
    field: () =>
      job([from(floats(2 ** 21), [32, 32, 32, 64])], (keep, f) => {
        let around = keep(f.multiply(-6));
        for (const axis of [0, 1, 2]) for (const s of [1, -1]) around = keep(around.add(keep(np.roll(f, s, axis))));
        return keep(np.tanh(keep(keep(f.multiply(0.99)).add(keep(around.multiply(0.1))))));
      }),
    sum16m: () => {
      const x = from(fractions(2 ** 24));
      let out;
      return {
        run: () => {
          out = x.sum();
        },
        result: () => Float64Array.of(Number(out)),
      };
    },
    matmul1024: () =>
      job(
        [0, 1].map((s) => from(floats(2 ** 20, s), [1024, 1024])),
        (keep, a, b) => keep(np.matmul(a, b)),
      ),
    matmul256x10: () => {
      const inputs = Array.from({ length: 11 }, (_, i) => from(floats(2 ** 16, i), [256, 256]));
      let last = [];
      return {
        run: () => {
          for (const t of last) t.dispose();
          last = inputs.slice(0, 10).map((a) => np.matmul(a, inputs[10]));
        },
        result: () => last[9].data,
      };
    },
  },
  { version: createRequire(import.meta.url)('../node_modules/numpy-ts/package.json').version },
);
