// What programs with tfjs-layers do beside fitting one input to one output: the same on our backend as on TF.js's CPU backend, run twice
// so that turns of calls come again, and with nothing left behind.

import * as layers from '@tensorflow/tfjs-layers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TfjsBackend } from '../../src/tfjs/index.ts';
import { difference, forge, seeded, tf } from './support.ts';

const { layers: L, initializers } = layers;

let backend: TfjsBackend;
beforeAll(async () => {
  backend = await forge({ name: 'forge' });
});
afterAll(() => backend.close());

const random = (shape: number[], seed: number): tf.Tensor => {
  const size = shape.reduce((a, b) => a * b, 1);
  return tf.tensor(Float32Array.from({ length: size }, seeded(seed)), shape);
};

/** Weights that are the same on every backend: TF.js draws them on the host. */
const drawn = (seed: number) => initializers.glorotUniform({ seed });

/** A program gives the same numbers on both backends, and leaves as many tensors behind. */
async function both(program: () => Promise<number[]>, tolerance = 1e-4): Promise<void> {
  const run = async (name: string): Promise<{ numbers: number[]; left: number }> => {
    await tf.setBackend(name);
    const before = tf.memory().numTensors;
    const numbers = await program();
    return { numbers, left: tf.memory().numTensors - before };
  };
  const want = await run('cpu');
  for (let time = 0; time < 2; time++) {
    const got = await run('forge');
    expect(got.left).toBe(want.left);
    expect(difference(got.numbers, want.numbers)).toBeLessThan(tolerance);
  }
}

const losses = (history: layers.History): number[] => Object.values(history.history).flat() as number[];

describe('models of layers', () => {
  it('with two inputs and two outputs', () =>
    both(async () => {
      const [a, b] = [layers.input({ shape: [4] }), layers.input({ shape: [3] })];
      const joined = L.concatenate().apply([
        L.dense({ units: 5, activation: 'tanh', kernelInitializer: drawn(1) }).apply(a) as layers.SymbolicTensor,
        b,
      ]) as layers.SymbolicTensor;
      const outputs = [
        L.dense({ units: 1, name: 'value', kernelInitializer: drawn(2) }).apply(joined),
        L.dense({ units: 2, activation: 'softmax', name: 'kind', kernelInitializer: drawn(3) }).apply(joined),
      ] as layers.SymbolicTensor[];
      const model = layers.model({ inputs: [a, b], outputs });
      model.compile({ optimizer: tf.train.momentum(0.05, 0.9), loss: ['meanSquaredError', 'categoricalCrossentropy'] });
      const x = [random([12, 4], 1), random([12, 3], 2)];
      const kinds = tf.tidy(() => tf.oneHot(tf.range(0, 12, 1, 'int32').mod(tf.scalar(2, 'int32')), 2).toFloat());
      const y = [random([12, 1], 3), kinds];
      const history = await model.fit(x, y, { epochs: 4, batchSize: 5, shuffle: false, verbose: 0 });
      const made = model.predict(x) as tf.Tensor[];
      const values = (await Promise.all(made.map((t) => t.data()))).flatMap((v) => Array.from(v));
      tf.dispose([...x, ...y, ...made]);
      model.dispose();
      return [...losses(history), ...values];
    }));

  it('that keep their state from one batch to the next, until it is reset', () =>
    both(async () => {
      const model = layers.sequential({
        layers: [
          L.lstm({
            units: 6,
            stateful: true,
            batchInputShape: [2, 5, 3],
            kernelInitializer: drawn(4),
            recurrentInitializer: drawn(5),
          }),
          L.dense({ units: 2, kernelInitializer: drawn(6) }),
        ],
      });
      const found: number[] = [];
      for (let i = 0; i < 8; i++) {
        if (i === 5) model.resetStates();
        const x = random([2, 5, 3], i % 3);
        const y = model.predict(x) as tf.Tensor;
        found.push(...(i % 2 === 0 ? await y.data() : y.dataSync()));
        tf.dispose([x, y]);
      }
      model.dispose();
      return found;
    }));

  it('with masks: steps of padding change nothing', () =>
    both(async () => {
      const model = layers.sequential({
        layers: [
          L.embedding({ inputDim: 9, outputDim: 4, maskZero: true, inputLength: 6, embeddingsInitializer: drawn(7) }),
          L.gru({ units: 5, kernelInitializer: drawn(8), recurrentInitializer: drawn(9) }),
          L.dense({ units: 1, activation: 'sigmoid', kernelInitializer: drawn(10) }),
        ],
      });
      model.compile({ optimizer: tf.train.rmsprop(0.01), loss: 'binaryCrossentropy' });
      const x = tf.tensor2d(
        [
          [3, 1, 4, 0, 0, 0],
          [1, 5, 0, 0, 0, 0],
          [8, 2, 6, 5, 3, 5],
        ],
        [3, 6],
      );
      const y = tf.tensor2d([[1], [0], [1]]);
      const history = await model.fit(x, y, { epochs: 5, shuffle: false, verbose: 0 });
      const p = model.predict(x) as tf.Tensor;
      const values = Array.from(await p.data());
      tf.dispose([x, y, p]);
      model.dispose();
      return [...losses(history), ...values];
    }));

  it('whose training a callback ends', () =>
    both(async () => {
      const model = layers.sequential({
        layers: [L.dense({ units: 1, inputShape: [3], kernelInitializer: drawn(11) })],
      });
      model.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' });
      const [x, y] = [random([20, 3], 5), random([20, 1], 6)];
      const told: number[] = [];
      const first = await model.fit(x, y, {
        epochs: 6,
        batchSize: 4,
        shuffle: false,
        verbose: 0,
        callbacks: {
          onBatchEnd: async (batch, logs) => {
            told.push(logs!.loss as number);
            if (told.length === 8) model.stopTraining = true;
            if (batch === 1) await tf.nextFrame();
          },
        },
      });
      const second = await model.fit(x, y, {
        epochs: 40,
        shuffle: false,
        verbose: 0,
        validationSplit: 0.2,
        callbacks: layers.callbacks.earlyStopping({ monitor: 'val_loss', patience: 1 }),
      });
      tf.dispose([x, y]);
      model.dispose();
      return [first.epoch.length, second.epoch.length, ...told, ...losses(second)];
    }));

  it('that are fed by a data set, one batch after the other', () =>
    both(async () => {
      const model = layers.sequential({
        layers: [
          L.conv2d({
            filters: 2,
            kernelSize: 3,
            activation: 'relu',
            inputShape: [6, 6, 1],
            kernelInitializer: drawn(12),
          }),
          L.batchNormalization(),
          L.flatten(),
          L.dense({ units: 3, activation: 'softmax', kernelInitializer: drawn(13) }),
        ],
      });
      model.compile({ optimizer: tf.train.adam(0.02), loss: 'sparseCategoricalCrossentropy' });
      // What tfjs-data makes: iterators of batches, of which the last is smaller.
      const sizes = [4, 4, 3];
      const dataset = {
        size: sizes.length,
        iterator: async () => {
          let at = 0;
          return {
            next: async () => {
              const size = sizes[at++];
              if (size === undefined) return { done: true, value: null };
              await null;
              return {
                done: false,
                value: { xs: random([size, 6, 6, 1], at), ys: tf.tensor1d([0, 1, 2, 0].slice(0, size)) },
              };
            },
          };
        },
      };
      const history = await model.fitDataset(dataset as never, { epochs: 3, verbose: 0 });
      const found = (await model.evaluateDataset(dataset as never, { verbose: 0 } as never)) as tf.Scalar;
      const [value] = await found.data();
      found.dispose();
      model.dispose();
      return [...losses(history), value!];
    }));

  it('with a layer of one’s own, a gradient of one’s own and a loss of one’s own', () =>
    both(async () => {
      const clipped = tf.customGrad((x, save) => {
        (save as tf.GradSaveFunc)([x as tf.Tensor]);
        return {
          value: tf.clipByValue(x as tf.Tensor, -0.5, 0.5),
          gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => tf.mul(dy, tf.add(tf.abs(saved[0]!), 0.1)),
        };
      });
      class Clip extends L.Layer {
        static className = 'Clip';
        override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
          return tf.tidy(() => clipped([inputs].flat()[0]!));
        }
      }
      const model = layers.sequential({
        layers: [
          L.dense({ units: 4, inputShape: [3], kernelInitializer: drawn(14) }),
          new Clip({}) as never,
          L.dense({ units: 1, kernelInitializer: drawn(15) }),
        ],
      });
      const loss = (y: tf.Tensor, p: tf.Tensor): tf.Tensor => tf.mean(tf.log(tf.cosh(tf.sub(y, p))), -1);
      model.compile({ optimizer: tf.train.adagrad(0.1), loss: loss as never });
      const [x, y] = [random([9, 3], 7), random([9, 1], 8)];
      const found: number[] = [];
      for (let i = 0; i < 6; i++) found.push((await model.trainOnBatch(x, y)) as number);
      tf.dispose([x, y]);
      model.dispose();
      return found;
    }));
});
