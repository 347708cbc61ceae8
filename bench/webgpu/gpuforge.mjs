// GPUForge on its WebGPU device, through the public interface.

import { createRuntime } from '../../dist/index.js';
import { floats, fractions, indices, sizeOf } from '../lib/data.mjs';
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
const random = (shape, seed = 0) => rt.tensor(floats(sizeOf(shape), seed), shape);
const on = (shape, f) => job([random(shape)], f);
const product = (a, b) => job([random(a), random(b, 1)], (x, y) => x.matmul(y));
const conv = (x, kernel, groups = 1) =>
  job([random(x), random(kernel, 1)], (a, k) => a.conv2d(k, { padding: 'same', layout: 'channelsLast', groups }));
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
    softmaxShort: () => on([262144, 64], (x) => x.softmax(1)),
    softmaxLong: () => on([64, 262144], (x) => x.softmax(1)),
    sumAll: () => job([rt.tensor(fractions(16777213))], (x) => x.sum()),
    sumRows: () => on([4093, 4099], (x) => x.sum({ axis: 1 })),
    sumColumns: () => on([4093, 4099], (x) => x.sum({ axis: 0 })),
    argmaxRows: () => on([4096, 4096], (x) => x.argmax({ axis: 1 })),
    cumsumMiddle: () => on([64, 1024, 256], (x) => x.cumsum(1)),
    matmul64: () => product([64, 64], [64, 64]),
    matmulThin: () => product([4096, 64], [64, 4096]),
    matmulDeep: () => product([64, 65536], [65536, 64]),
    matmulRow: () => product([1, 4096], [4096, 4096]),
    matmulFew: () => product([16, 4096], [4096, 4096]),
    matmulMany: () => product([256, 128, 128], [256, 128, 128]),
    conv3: () => conv([8, 56, 56, 64], [3, 3, 64, 64]),
    conv1: () => conv([8, 56, 56, 64], [1, 1, 64, 256]),
    depthwise3: () => conv([8, 56, 56, 256], [3, 3, 1, 256], 256),
    maxPool2: () => on([8, 112, 112, 64], (x) => x.permute([0, 3, 1, 2]).maxPool([2, 2]).permute([0, 2, 3, 1])),
    gatherRows: () =>
      job([random([100000, 16]), rt.tensor(indices(2 ** 20, 100000))], (table, at) => table.take(at, 0)),
    topk100: () => on([1024, 4096], (x) => x.topk(100).values),
    topkOne: () => on([2 ** 20], (x) => x.topk(1000).values),
    sortRows: () => on([4096, 1024], (x) => x.sort(1)),
    sortOne: () => on([2 ** 20], (x) => x.sort()),
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
