// TensorFlow.js on its WebGPU backend over Dawn. Work counts as done when the queue says so.

import * as tf from '@tensorflow/tfjs';
import { floats, fractions } from '../lib/data.mjs';
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
