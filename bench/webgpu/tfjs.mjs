// TensorFlow.js on its WebGPU backend over Dawn. Work counts as done when the queue says so.

import * as tf from '@tensorflow/tfjs';
import { floats, fractions, indices, sizeOf } from '../lib/data.mjs';
import { serve } from '../lib/side.mjs';
import { installDawn } from './dawn.mjs';

console.warn = () => {};
const adapter = await installDawn();
// It looks for WebGPU when it is imported.
await import('@tensorflow/tfjs-backend-webgpu');
await tf.setBackend('webgpu');
await tf.ready();
if (tf.getBackend() !== 'webgpu') throw new Error(`TF.js fell back to ${tf.getBackend()}`);
// Small tensors would otherwise be computed on the CPU.
tf.env().set('WEBGPU_CPU_FORWARD', false);
const backend = tf.backend();

async function done() {
  backend.endComputePassEncoder();
  backend.submitQueue();
  await backend.queue.onSubmittedWorkDone();
}

const roll = (x, shift, axis) => {
  const n = x.shape[axis];
  const at = shift > 0 ? n - shift : -shift;
  const [head, tail] = tf.split(x, [at, n - at], axis);
  return tf.concat([tail, head], axis);
};
const step = (f) => {
  let around = f.mul(-6);
  for (const axis of [0, 1, 2]) for (const s of [1, -1]) around = around.add(roll(f, s, axis));
  return f.mul(0.99).add(around.mul(0.1)).tanh();
};

/** Applies f again and again to its own result, from the same start in every run. */
function iterated(start, f, times) {
  let last = null;
  return {
    run: async () => {
      last?.dispose();
      let x = start.clone();
      for (let i = 0; i < times; i++) {
        const y = tf.tidy(() => f(x));
        x.dispose();
        x = y;
      }
      last = x;
      await done();
    },
    result: () => last.data(),
    drop: () => {
      start.dispose();
      last?.dispose();
    },
  };
}

function job(inputs, f) {
  let last = null;
  return {
    run: async () => {
      last?.dispose();
      last = tf.tidy(() => f(...inputs));
      await done();
    },
    result: () => last.data(),
    drop: () => {
      for (const t of inputs) t.dispose();
      last?.dispose();
    },
  };
}

const square = (n) =>
  job(
    [0, 1].map((s) => tf.tensor2d(floats(n * n, s), [n, n])),
    (a, b) => tf.matMul(a, b),
  );
const random = (shape, seed = 0) => tf.tensor(floats(sizeOf(shape), seed), shape);
const on = (shape, f) => job([random(shape)], f);
const product = (a, b) => job([random(a), random(b, 1)], (x, y) => tf.matMul(x, y));
const conv = (x, kernel) => job([random(x), random(kernel, 1)], (a, k) => tf.conv2d(a, k, 1, 'same'));
const field = (steps) => iterated(tf.tensor(floats(2 ** 21), [32, 32, 32, 64]), step, steps);

await serve(
  {
    tiny200: () => iterated(tf.tensor1d(floats(64)), (x) => x.add(1), 200),
    field100: () => field(100),
    field4: () => field(4),
    matmul512: () => square(512),
    matmul1024: () => square(1024),
    matmul4096: () => square(4096),
    chain4m: () => job([tf.tensor1d(floats(2 ** 22))], (x) => x.mul(0.99).add(0.5).mul(x).sub(0.1).tanh()),
    softmax4096: () => job([tf.tensor2d(floats(2 ** 24), [4096, 4096])], (x) => tf.softmax(x)),
    norm8192: () =>
      job([tf.tensor2d(floats(2 ** 23), [8192, 1024])], (x) => {
        const { mean, variance } = tf.moments(x, 1, true);
        return x.sub(mean).mul(variance.add(1e-5).rsqrt());
      }),
    transpose4096: () => job([tf.tensor2d(floats(2 ** 24), [4096, 4096])], (x) => x.transpose().add(1)),
    cumsum4m: () => job([tf.tensor1d(fractions(2 ** 22))], (x) => x.cumsum(0)),
    attention32: () =>
      job(
        [0, 1, 2].map((s) => tf.tensor3d(floats(2 ** 21, s), [32, 1024, 64])),
        (q, k, v) => tf.matMul(tf.softmax(tf.matMul(q, k, false, true).mul(0.125)), v),
      ),
    softmaxShort: () => on([262144, 64], (x) => tf.softmax(x)),
    softmaxLong: () => on([64, 262144], (x) => tf.softmax(x)),
    sumAll: () => job([tf.tensor1d(fractions(16777213))], (x) => x.sum()),
    sumRows: () => on([4093, 4099], (x) => x.sum(1)),
    sumColumns: () => on([4093, 4099], (x) => x.sum(0)),
    argmaxRows: () => on([4096, 4096], (x) => x.argMax(1)),
    cumsumMiddle: () => on([64, 1024, 256], (x) => x.cumsum(1)),
    matmul64: () => product([64, 64], [64, 64]),
    matmulThin: () => product([4096, 64], [64, 4096]),
    matmulDeep: () => product([64, 65536], [65536, 64]),
    matmulRow: () => product([1, 4096], [4096, 4096]),
    matmulFew: () => product([16, 4096], [4096, 4096]),
    matmulMany: () => product([256, 128, 128], [256, 128, 128]),
    conv3: () => conv([8, 56, 56, 64], [3, 3, 64, 64]),
    conv1: () => conv([8, 56, 56, 64], [1, 1, 64, 256]),
    depthwise3: () =>
      job([random([8, 56, 56, 256]), random([3, 3, 256, 1], 1)], (a, k) => tf.depthwiseConv2d(a, k, 1, 'same')),
    maxPool2: () => on([8, 112, 112, 64], (x) => tf.maxPool(x, 2, 2, 'valid')),
    gatherRows: () =>
      job([random([100000, 16]), tf.tensor1d(indices(2 ** 20, 100000), 'int32')], (table, at) => tf.gather(table, at)),
    topk100: () => on([1024, 4096], (x) => tf.topk(x, 100).values),
    topkOne: () => on([2 ** 20], (x) => tf.topk(x, 1000).values),
    updown10mb: () => {
      const host = floats(10 * 2 ** 18);
      let out;
      return {
        run: async () => {
          const y = tf.tidy(() => tf.tensor1d(host).add(0));
          out = await y.data();
          y.dispose();
        },
        result: () => out,
      };
    },
  },
  { version: tf.version.tfjs, backend: 'webgpu', adapter },
);
