// The works that TF.js's backends are compared on. Each makes its own data on the backend that is set.

import type * as core from '@tensorflow/tfjs-core';
import { batchOf, labelsOf, lstm, mlp, mobilenet } from '../../test/tfjs/models.ts';

type Tf = typeof core;

export interface Job {
  /** One time the work, until its result is there. */
  readonly run: () => Promise<unknown>;
  readonly end: () => void;
}

export interface Work {
  readonly name: string;
  readonly unit: 'µs' | 'ms';
  readonly start: (tf: Tf) => Job;
  /** At most this many times the time of a peer. */
  readonly bounds: Readonly<Record<string, number>>;
  /** Too slow on TF.js's CPU backend to be waited for. */
  readonly slowOnCpu?: boolean;
  /** Many calls of small kernels: what TF.js's engine takes for them is told, too. */
  readonly manyCalls?: boolean;
}

/** Predictions of a model, read. */
function predicting(tf: Tf, model: ReturnType<typeof mlp>, count: number): Job {
  const x = batchOf(tf, model, count);
  return {
    run: async () => {
      const y = tf.tidy(() => model.predict(x));
      await y.data();
      y.dispose();
    },
    end: () => tf.dispose([x, ...model.weights]),
  };
}

function training(tf: Tf): Job {
  const model = mlp(tf);
  const [x, y] = [batchOf(tf, model, 128), labelsOf(tf, 128, 10)];
  const optimizer = tf.train.adam(0.001);
  return {
    run: async () => {
      const loss = optimizer.minimize(() => tf.losses.softmaxCrossEntropy(y, model.predict(x)) as core.Scalar, true)!;
      await loss.data();
      loss.dispose();
    },
    end: () => {
      optimizer.dispose();
      tf.dispose([x, y, ...model.weights]);
    },
  };
}

function chain(tf: Tf): Job {
  const x = batchOf(tf, { input: [1024] }, 1024);
  return {
    run: async () => {
      const y = tf.tidy(() => {
        let h: core.Tensor = x;
        for (let i = 0; i < 10; i++) h = tf.tanh(tf.add(tf.mul(h, 0.99), 0.01 * i)) as core.Tensor;
        return h;
      });
      await y.data();
      y.dispose();
    },
    end: () => x.dispose(),
  };
}

export const works: readonly Work[] = [
  {
    name: 'add of 8 floats, dataSync',
    unit: 'µs',
    bounds: { cpu: 1 },
    start: (tf) => {
      const [a, b] = [tf.tensor1d([1, 2, 3, 4, 5, 6, 7, 8]), tf.tensor1d([8, 7, 6, 5, 4, 3, 2, 1])];
      return {
        run: async () => {
          const c = tf.add(a, b);
          c.dataSync();
          c.dispose();
        },
        end: () => tf.dispose([a, b]),
      };
    },
  },
  { name: '30 elementwise ops on 1M, data()', unit: 'ms', bounds: { wasm: 0.15, webgpu: 0.05 }, start: chain },
  {
    name: 'matMul 1024²',
    unit: 'ms',
    slowOnCpu: true,
    bounds: { wasm: 0.8, webgpu: 0.5 },
    start: (tf) => {
      const [a, b] = [batchOf(tf, { input: [1024] }, 1024, 1), batchOf(tf, { input: [1024] }, 1024, 2)];
      return {
        run: async () => {
          const c = tf.matMul(a, b);
          await c.data();
          c.dispose();
        },
        end: () => tf.dispose([a, b]),
      };
    },
  },
  {
    name: 'MobileNetV1 224, batch 1',
    unit: 'ms',
    slowOnCpu: true,
    bounds: { wasm: 0.8, webgpu: 0.3 },
    start: (tf) => predicting(tf, mobilenet(tf), 1),
  },
  {
    name: 'MobileNetV1 224, batch 32',
    unit: 'ms',
    slowOnCpu: true,
    bounds: { wasm: 0.8, webgpu: 0.15 },
    start: (tf) => predicting(tf, mobilenet(tf), 32),
  },
  {
    name: 'MLP 784-512-512-10, training step of 128',
    unit: 'ms',
    slowOnCpu: true,
    bounds: { wasm: 0.5, webgpu: 0.2 },
    start: training,
  },
  {
    name: 'LSTM 2×128, 100 steps',
    unit: 'ms',
    manyCalls: true,
    bounds: { wasm: 0.5, webgpu: 0.2 },
    start: (tf) => predicting(tf, lstm(tf), 1),
  },
];
