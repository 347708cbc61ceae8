// jax-js on WebGPU over Dawn, with `jit` wherever that is faster.

import { defaultDevice, init, jit, lax, nn, numpy as np } from '@jax-js/jax';
import { floats, fractions, sizeOf } from '../lib/data.mjs';
import { chain4m, field, fieldStep, iterated, job, shaped, square } from '../lib/jax.mjs';
import { serve } from '../lib/side.mjs';
import { installDawn } from './dawn.mjs';

const adapter = await installDawn();
const found = await init('webgpu');
if (!found.includes('webgpu')) throw new Error(`jax-js found only ${found.join(', ')}`);
defaultDevice('webgpu');

const step = jit(fieldStep);
// One jitted op a step: the whole chain under one jit would be one kernel, and no measure of what an op costs.
const plusOne = jit((x) => x.add(1));

const on = (shape, f) => job([shaped(floats(sizeOf(shape)), shape)], f);
const product = (a, b) =>
  job(
    [a, b].map((shape, s) => shaped(floats(sizeOf(shape), s), shape)),
    (x, y) => np.matmul(x, y),
  );
const largest = (x, k) => {
  const [values, positions] = lax.topK(x, k);
  positions.dispose();
  return values;
};

await serve(
  {
    tiny200: () => iterated(np.array(floats(64)), plusOne, 200),
    field100: () => iterated(field(), step, 100),
    field4: () => iterated(field(), step, 4),
    matmul512: () => square(512),
    matmul1024: () => square(1024),
    matmul4096: () => square(4096),
    chain4m,
    softmax4096: () => on([4096, 4096], (x) => nn.softmax(x, -1)),
    transpose4096: () => on([4096, 4096], (x) => x.transpose().add(1)),
    softmaxShort: () => on([262144, 64], (x) => nn.softmax(x, -1)),
    softmaxLong: () => on([64, 262144], (x) => nn.softmax(x, -1)),
    sumAll: () => job([np.array(fractions(16777213))], (x) => np.sum(x)),
    sumRows: () => on([4093, 4099], (x) => np.sum(x, 1)),
    sumColumns: () => on([4093, 4099], (x) => np.sum(x, 0)),
    argmaxRows: () => on([4096, 4096], (x) => np.argmax(x, 1)),
    matmul64: () => product([64, 64], [64, 64]),
    matmulThin: () => product([4096, 64], [64, 4096]),
    matmulDeep: () => product([64, 65536], [65536, 64]),
    matmulRow: () => product([1, 4096], [4096, 4096]),
    matmulFew: () => product([16, 4096], [4096, 4096]),
    matmulMany: () => product([256, 128, 128], [256, 128, 128]),
    topk100: () => on([1024, 4096], (x) => largest(x, 100)),
    topkOne: () => on([2 ** 20], (x) => largest(x, 1000)),
    sortRows: () => on([4096, 1024], (x) => np.sort(x, 1)),
    sortOne: () => on([2 ** 20], (x) => np.sort(x)),
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
