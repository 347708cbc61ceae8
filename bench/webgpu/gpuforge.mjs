// GPUForge on its WebGPU device, through the public interface.

import { createRuntime } from '../../dist/index.js';
import { floats, fractions } from '../lib/data.mjs';
import { serve } from '../lib/side.mjs';

const rt = await createRuntime({ devices: ['webgpu'] });

/** Applies a compiled f again and again to its own result, from the same start in every run. */
function iterated(start, f, times) {
  let last = start;
  return {
    run: async () => {
      if (last !== start) last.dispose();
      let x = start;
      for (let i = 0; i < times; i++) x = f(x);
      last = x;
      await rt.flush();
    },
    result: () => last.data(),
    drop: () => {
      start.dispose();
      last.dispose();
    },
  };
}

function job(inputs, f) {
  let last = null;
  return {
    run: async () => {
      last?.dispose();
      last = f(...inputs);
      await rt.flush(last);
    },
    result: () => last.data(),
    drop: () => {
      for (const x of inputs) x.dispose();
      last?.dispose();
    },
  };
}

const square = (n) =>
  job(
    [0, 1].map((s) => rt.tensor(floats(n * n, s), [n, n])),
    (a, b) => a.matmul(b),
  );
const step = rt.compile((f) => {
  let around = f.mul(-6);
  for (const axis of [0, 1, 2]) for (const s of [1, -1]) around = around.add(f.roll(s, axis));
  return f.mul(0.99).add(around.mul(0.1)).tanh();
});
const field = (steps) => iterated(rt.tensor(floats(2 ** 21), [32, 32, 32, 64]), step, steps);
// One compiled op a step: the whole chain would be one kernel, and no measure of what an op costs.
const plusOne = rt.compile((x) => x.add(1));

await serve(
  {
    tiny200: () => iterated(rt.tensor(floats(64)), plusOne, 200),
    field100: () => field(100),
    field4: () => field(4),
    matmul512: () => square(512),
    matmul1024: () => square(1024),
    matmul4096: () => square(4096),
    chain4m: () => job([rt.tensor(floats(2 ** 22))], (x) => x.mul(0.99).add(0.5).mul(x).sub(0.1).tanh()),
    softmax4096: () => job([rt.tensor(floats(2 ** 24), [4096, 4096])], (x) => x.softmax(1)),
    norm8192: () => job([rt.tensor(floats(2 ** 23), [8192, 1024])], (x) => x.layerNorm(1, 1e-5)),
    transpose4096: () => job([rt.tensor(floats(2 ** 24), [4096, 4096])], (x) => x.transpose().add(1)),
    cumsum4m: () => job([rt.tensor(fractions(2 ** 22))], (x) => x.cumsum(0)),
    attention32: () =>
      job(
        [0, 1, 2].map((s) => rt.tensor(floats(2 ** 21, s), [32, 1024, 64])),
        (q, k, v) =>
          q
            .matmul(k.permute([0, 2, 1]))
            .mul(0.125)
            .softmax(2)
            .matmul(v),
      ),
    updown10mb: () => {
      const host = floats(10 * 2 ** 18);
      let out;
      return {
        run: async () => {
          const x = rt.tensor(host);
          const y = x.add(0);
          out = await y.data();
          x.dispose();
          y.dispose();
        },
        result: () => out,
      };
    },
  },
  { version: 'this', backend: rt.devices()[0].id, adapter: rt.devices()[0].name },
);
