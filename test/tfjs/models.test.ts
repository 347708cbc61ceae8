// Whole models: equal results, equal training curves, nothing left behind, also when the device is lost on the way.

import * as layers from '@tensorflow/tfjs-layers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TfjsBackend } from '../../src/tfjs/index.ts';
import { batchOf, labelsOf, lenet, lstm, type Model, mlp, mobilenet, resnet, transformer } from './models.ts';
import { difference, forge, mortalDevices, tf } from './support.ts';

let backend: TfjsBackend;
beforeAll(async () => {
  backend = await forge({ name: 'forge' });
});
afterAll(() => backend.close());

type Make = () => Model;

async function predictions(name: string, make: Make, count: number): Promise<ArrayLike<number>> {
  await tf.setBackend(name);
  const model = make();
  const x = batchOf(tf, model, count);
  const y = tf.tidy(() => model.predict(x));
  const data = await y.data();
  tf.dispose([y, x, ...model.weights]);
  return data;
}

/** The loss of each step of training with Adam. */
async function curve(
  name: string,
  make: Make,
  steps: number,
  each: (step: number) => unknown = () => {},
): Promise<number[]> {
  await tf.setBackend(name);
  const model = make();
  const x = batchOf(tf, model, 16);
  const y = labelsOf(tf, 16, 10);
  const optimizer = tf.train.adam(0.003);
  const losses: number[] = [];
  for (let i = 0; i < steps; i++) {
    await each(i);
    const loss = optimizer.minimize(() => tf.losses.softmaxCrossEntropy(y, model.predict(x)) as tf.Scalar, true)!;
    losses.push((await loss.data())[0]!);
    loss.dispose();
  }
  optimizer.dispose();
  tf.dispose([x, y, ...model.weights]);
  return losses;
}

const models: [string, Make, number][] = [
  ['MLP', () => mlp(tf), 4],
  ['LeNet', () => lenet(tf), 2],
  // A narrow one of a small image: TF.js's CPU backend takes a minute for the full one.
  ['MobileNetV1', () => mobilenet(tf, 0.25, 64, 20), 1],
  ['ResNet-18', () => resnet(tf, 8), 1],
  ['LSTM', () => lstm(tf, 32, 20), 2],
  ['Transformer', () => transformer(tf, 64, 4, 2, 16), 1],
];

describe('models', () => {
  it.each(models)("%s predicts what TF.js's CPU backend does", async (_, make, count) => {
    const want = await predictions('cpu', make, count);
    const got = await predictions('forge', make, count);
    expect(difference(got, want)).toBeLessThan(1e-4);
  });

  it.each([
    ['MLP', () => mlp(tf, [32, 64, 10])],
    ['LeNet', () => lenet(tf)],
  ] as [string, Make][])('%s learns along the same curve', async (name, make) => {
    const steps = name === 'MLP' ? 100 : 3;
    const want = await curve('cpu', make, steps);
    const got = await curve('forge', make, steps);
    expect(want.at(-1)!).toBeLessThan(want[0]!);
    expect(difference(got, want)).toBeLessThan(1e-3);
  });

  it('trains without a read in constant memory, with one program', async () => {
    await tf.setBackend('forge');
    const model = mlp(tf, [16, 32, 4]);
    const x = batchOf(tf, model, 8);
    const y = labelsOf(tf, 8, 4);
    const optimizer = tf.train.adam(0.001);
    const step = () => void optimizer.minimize(() => tf.losses.softmaxCrossEntropy(y, model.predict(x)) as tf.Scalar);
    const steady = (count: number) => {
      for (let i = 0; i < count; i++) step();
      const { runtime, numDataIds } = backend.report();
      return { bytes: runtime.bytes, programs: runtime.programs, ids: numDataIds, tensors: tf.memory().numTensors };
    };
    const early = steady(100);
    const late = steady(400);
    expect(late).toEqual(early);
    optimizer.dispose();
    tf.dispose([x, y, ...model.weights]);
  });

  it('leaves nothing behind after many predictions inside tidy', async () => {
    await tf.setBackend('forge');
    const model = mobilenet(tf, 0.25, 32, 10);
    const x = batchOf(tf, model, 1);
    const predict = async () => {
      const y = tf.tidy(() => model.predict(x));
      await y.data();
      y.dispose();
      return {
        tensors: tf.memory().numTensors,
        ids: backend.report().numDataIds,
        bytes: backend.report().runtime.bytes,
      };
    };
    const first = await predict();
    for (let i = 0; i < 50; i++) await predict();
    expect(await predict()).toEqual(first);
    tf.dispose([x, ...model.weights]);
  });

  it('learns along the same curve when the device is lost half-way', async () => {
    const { wrap, lose } = mortalDevices();
    const fragile = await forge({
      name: 'fragile',
      runtime: { devices: ['cpu'], wrap },
    });
    const lost: string[] = [];
    fragile.runtime.on('lost', ({ device }) => lost.push(device));
    const make = () => mlp(tf, [32, 64, 10]);
    const want = await curve('fragile', make, 100);
    const got = await curve('fragile', make, 100, async (i) => {
      if (i !== 50) return;
      lose();
      // As a program with one device has to: what is made now has no place to go.
      do await new Promise((r) => setTimeout(r, 5));
      while (!fragile.runtime.devices().some((d) => d.open));
    });
    expect(lost).toEqual(['cpu']);
    expect(difference(got, want)).toBeLessThan(1e-5);
    await fragile.close();
  });
});

describe('tfjs-layers', () => {
  it('fits XOR and a line', async () => {
    await tf.setBackend('forge');
    const xor = layers.sequential({
      layers: [
        layers.layers.dense({
          units: 8,
          activation: 'tanh',
          inputShape: [2],
          kernelInitializer: layers.initializers.glorotUniform({ seed: 3 }),
        }),
        layers.layers.dense({
          units: 1,
          activation: 'sigmoid',
          kernelInitializer: layers.initializers.glorotUniform({ seed: 4 }),
        }),
      ],
    });
    xor.compile({ optimizer: tf.train.adam(0.1), loss: 'binaryCrossentropy' });
    const x = tf.tensor2d([
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
    ]);
    const y = tf.tensor2d([[0], [1], [1], [0]]);
    await xor.fit(x, y, { epochs: 120, shuffle: false, verbose: 0 });
    const answers = await (xor.predict(x) as tf.Tensor).data();
    expect(Array.from(answers, (v) => Math.round(v))).toEqual([0, 1, 1, 0]);

    const line = layers.sequential({ layers: [layers.layers.dense({ units: 1, inputShape: [1] })] });
    line.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
    await line.fit(tf.tensor2d([[-1], [0], [1], [2]]), tf.tensor2d([[-3], [-1], [1], [3]]), {
      epochs: 250,
      verbose: 0,
    });
    expect((await (line.predict(tf.tensor2d([[10]])) as tf.Tensor).data())[0]).toBeCloseTo(19, 0);
  });

  it('saves a model and loads it again', async () => {
    await tf.setBackend('forge');
    const make = () =>
      layers.sequential({
        layers: [
          layers.layers.conv2d({
            filters: 4,
            kernelSize: 3,
            activation: 'relu',
            inputShape: [8, 8, 1],
            kernelInitializer: layers.initializers.glorotUniform({ seed: 5 }),
          }),
          layers.layers.maxPooling2d({ poolSize: 2 }),
          layers.layers.flatten(),
          layers.layers.dense({ units: 3, activation: 'softmax' }),
        ],
      });
    const model = make();
    let saved: tf.io.ModelArtifacts | null = null;
    await model.save(
      tf.io.withSaveHandler(async (artifacts) => {
        saved = artifacts;
        return { modelArtifactsInfo: { dateSaved: new Date(0), modelTopologyType: 'JSON' } };
      }),
    );
    const json = JSON.parse(JSON.stringify(saved!.modelTopology));
    const loaded = await layers.loadLayersModel(
      tf.io.fromMemory({ modelTopology: json, weightSpecs: saved!.weightSpecs!, weightData: saved!.weightData! }),
    );
    const x = batchOf(tf, { input: [8, 8, 1] }, 2);
    const [a, b] = [await (model.predict(x) as tf.Tensor).data(), await (loaded.predict(x) as tf.Tensor).data()];
    expect(Array.from(b)).toEqual(Array.from(a));
  });
});
