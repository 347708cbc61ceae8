// TensorFlow.js, on its cpu or wasm backend. It has no u32 and no xor.

import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { floats, fractions } from '../lib/data.mjs';
import { serve } from '../lib/side.mjs';

const backend = process.argv[2] === 'wasm' ? 'wasm' : 'cpu';
console.warn = () => {};
const require = createRequire(import.meta.url);
const tf = require('@tensorflow/tfjs');
if (backend === 'wasm') {
  const { setWasmPaths } = require('@tensorflow/tfjs-backend-wasm');
  setWasmPaths(`${dirname(require.resolve('@tensorflow/tfjs-backend-wasm'))}/`);
}
await tf.setBackend(backend);
await tf.ready();

/** A job that keeps its last result until the next one is there. */
function job(inputs, f) {
  let last = null;
  return {
    run: () => {
      last?.dispose();
      last = tf.tidy(() => f(...inputs));
    },
    result: () => last.dataSync(),
    drop: () => {
      for (const t of inputs) t.dispose();
      last?.dispose();
    },
  };
}

const chain = (x) => x.mul(0.99).add(0.5).mul(x).sub(0.1).tanh();
const roll = (x, shift, axis) => {
  const n = x.shape[axis];
  const at = shift > 0 ? n - shift : -shift;
  const [head, tail] = tf.split(x, [at, n - at], axis);
  return tf.concat([tail, head], axis);
};

await serve(
  {
    add5: () => {
      const a = tf.tensor1d(floats(5));
      const b = tf.tensor1d(floats(5, 7));
      let out;
      return {
        run: () => {
          const c = tf.add(a, b);
          out = c.dataSync();
          c.dispose();
        },
        result: () => out,
      };
    },
    chain4m: () => job([tf.tensor1d(floats(2 ** 22))], chain),
    field: () =>
      job([tf.tensor(floats(2 ** 21), [32, 32, 32, 64])], (f) => {
        let around = f.mul(-6);
        for (const axis of [0, 1, 2]) for (const s of [1, -1]) around = around.add(roll(f, s, axis));
        return f.mul(0.99).add(around.mul(0.1)).tanh();
      }),
    sum16m: () => {
      const x = tf.tensor1d(fractions(2 ** 24));
      let out;
      return {
        run: () => {
          const s = x.sum();
          out = s.dataSync();
          s.dispose();
        },
        result: () => out,
        drop: () => x.dispose(),
      };
    },
    matmul1024: () =>
      job(
        [0, 1].map((s) => tf.tensor2d(floats(2 ** 20, s), [1024, 1024])),
        (a, b) => tf.matMul(a, b),
      ),
    matmul256x10: () => {
      const inputs = Array.from({ length: 11 }, (_, i) => tf.tensor2d(floats(2 ** 16, i), [256, 256]));
      let last = [];
      return {
        run: () => {
          for (const t of last) t.dispose();
          last = inputs.slice(0, 10).map((a) => tf.matMul(a, inputs[10]));
        },
        result: () => last[9].dataSync(),
        drop: () => {
          for (const t of [...inputs, ...last]) t.dispose();
        },
      };
    },
  },
  { version: tf.version.tfjs, backend },
);
