// GPUForge from dist/, on the CPU: `gpuforge.mjs [threads] [blas]`.

import { createRuntime } from '../../dist/index.js';
import { floats, fractions, words } from '../lib/data.mjs';
import { serve } from '../lib/side.mjs';
import { cpuOptions } from './runtime-options.mjs';

const threads = Number(process.argv[2] ?? 0);
const blas = process.argv[3] === 'blas';
const rt = await createRuntime(cpuOptions({ threads, blas }));

/** A function of tensors whose last result stays until the next is made: its buffer then comes from the pool. */
function job(inputs, f) {
  let last = null;
  return {
    run: () => {
      last?.dispose();
      last = f(...inputs);
      return rt.flush(last);
    },
    result: () => last.data(),
    drop: () => {
      for (const x of inputs) x.dispose();
      last?.dispose();
    },
  };
}

function scalar(input, f) {
  let out;
  return {
    run: () => {
      const y = f(input);
      out = y.dataSync();
      y.dispose();
    },
    result: () => out,
    drop: () => input.dispose(),
  };
}

const chain = (x) => x.mul(0.99).add(0.5).mul(x).sub(0.1).tanh();

await serve(
  {
    add5: () => {
      const [a, b] = [rt.tensor(floats(5)), rt.tensor(floats(5, 7))];
      let out;
      return {
        run: () => {
          out = a.add(b).dataSync();
        },
        result: () => out,
      };
    },
    xor16m: () => job([rt.tensor(words(2 ** 24)), rt.tensor(words(2 ** 24, 7))], (a, b) => a.bitwiseXor(b)),
    chain4m: () => job([rt.tensor(floats(2 ** 22))], chain),
    field: () =>
      job([rt.tensor(floats(2 ** 21), [32, 32, 32, 64])], (f) => {
        let around = f.mul(-6);
        for (const axis of [0, 1, 2]) for (const s of [1, -1]) around = around.add(f.roll(s, axis));
        return f.mul(0.99).add(around.mul(0.1)).tanh();
      }),
    sum16m: () => scalar(rt.tensor(fractions(2 ** 24)), (x) => x.sum()),
    matmul1024: () =>
      job(
        [0, 1].map((s) => rt.tensor(floats(2 ** 20, s), [1024, 1024])),
        (a, b) => a.matmul(b),
      ),
    matmul256x10: () => {
      const inputs = Array.from({ length: 11 }, (_, i) => rt.tensor(floats(2 ** 16, i), [256, 256]));
      let last = [];
      return {
        run: () => {
          for (const t of last) t.dispose();
          last = inputs.slice(0, 10).map((a) => a.matmul(inputs[10]));
          return rt.flush(...last);
        },
        result: () => last[9].data(),
        drop: () => {
          for (const t of [...inputs, ...last]) t.dispose();
        },
      };
    },
    ...Object.fromEntries(
      [100, 1000, 4096, 16_384].map((n) => [`chain${n}`, () => job([rt.tensor(floats(n))], chain)]),
    ),
    sum1000: () => scalar(rt.tensor(fractions(1000)), (x) => x.sum()),
    concat62: () =>
      job(
        Array.from({ length: 62 }, (_, i) => rt.tensor(floats(1e5, i))),
        (...parts) => rt.concat(parts),
      ),
    chain: (n) => job([rt.tensor(floats(n))], chain),
    sum: (n) => scalar(rt.tensor(fractions(n)), (x) => x.sum()),
  },
  { blas, threads },
);
