// Inputs that TF.js's suite does not make: empty batches, values at the edge of their types, gradients of gradients, several backends and
// runtimes, memory that runs out, half floats.

import * as layers from '@tensorflow/tfjs-layers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime, type ForgeError, OutOfMemory } from '../../src/index.ts';
import { registerBackend, type TfjsBackend } from '../../src/tfjs/index.ts';
import { batchOf, lenet, mlp, mobilenet } from './models.ts';
import { cpu, difference, forge, same, seeded, tf } from './support.ts';

let backend: TfjsBackend;
beforeAll(async () => {
  backend = await forge({ name: 'forge' });
});
afterAll(() => backend.close());

const random = (shape: number[], seed: number): tf.Tensor => {
  const next = seeded(seed);
  return tf.tensor(Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, next), shape);
};

describe('empty batches', () => {
  const kernel = (shape: number[]) => random(shape, 2) as tf.Tensor4D;
  const images = () => tf.zeros([0, 6, 6, 3]) as tf.Tensor4D;
  const programs: Record<string, () => tf.Tensor | tf.Tensor[]> = {
    conv2d: () => tf.conv2d(images(), kernel([3, 3, 3, 4]), 1, 'same'),
    depthwiseConv2d: () => tf.depthwiseConv2d(images(), kernel([3, 3, 3, 2]), 1, 'valid'),
    'fused conv2d': () =>
      tf.fused.conv2d({ x: images(), filter: kernel([1, 1, 3, 4]), strides: 1, pad: 'same', activation: 'relu' }),
    maxPool: () => tf.maxPool(images(), 2, 2, 'valid'),
    avgPool: () => tf.avgPool(images(), 3, 1, 'same'),
    matMul: () => tf.matMul(tf.zeros([0, 4]), random([4, 3], 1)),
    batchNorm: () => tf.batchNorm(images(), [0, 0, 0], [1, 1, 1], [1, 1, 1], [2, 2, 2]),
    resize: () => tf.image.resizeBilinear(images(), [4, 4]),
    softmax: () => tf.softmax(tf.zeros([0, 5])),
    concat: () => tf.concat([tf.zeros([0, 3]), random([2, 3], 1)]),
    gather: () => tf.gather(random([3, 2], 1), tf.tensor1d([], 'int32')),
    mean: () => tf.mean(tf.zeros([0, 4]), 1),
    topk: () => Object.values(tf.topk(tf.zeros([0, 4]), 2)) as tf.Tensor[],
    cumsum: () => tf.cumsum(tf.zeros([0, 4]), 1),
  };
  it.each(Object.entries(programs))('%s', (_, f) => same(f));
});

describe('values', () => {
  it('NaN and infinities in pools', async () => {
    const x = () =>
      tf.tensor4d(
        [1, Number.NaN, 3, 4, Number.NaN, 6, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 9],
        [1, 3, 3, 1],
      );
    await same(() => tf.maxPool(x(), 2, 1, 'same'));
    await same(() => tf.maxPool(x(), 3, 1, 'same'));
    await same(() => tf.avgPool(x(), 2, 1, 'valid'));
    await same(() => tf.maxPool(tf.fill([1, 2, 2, 1], Number.NaN) as tf.Tensor4D, 2, 1, 'valid'));
  });

  it('NaN and infinities in convolutions', async () => {
    const x = () => tf.tensor4d([1, Number.NaN, 3, 4, 5, 6, Number.POSITIVE_INFINITY, 8, 9], [1, 3, 3, 1]);
    await same(() => tf.conv2d(x(), tf.ones([2, 2, 1, 1]), 1, 'same'));
    await same(() => tf.depthwiseConv2d(x(), tf.ones([2, 2, 1, 1]), 1, 'valid'));
  });

  it('whole numbers that overflow', async () => {
    const big = () => tf.tensor([2147483647, -2147483648, 65536, 3], [4], 'int32');
    await same(() => [tf.add(big(), big()), tf.sub(big(), tf.scalar(5, 'int32')), tf.neg(big())]);
    // TF.js takes whole numbers through float32 here, and loses digits.
    await tf.setBackend('forge');
    expect(Array.from(tf.abs(big()).dataSync())).toEqual([2147483647, -2147483648, 65536, 3]);
    await same(() => [tf.sum(big()), tf.max(big()), tf.min(big()), tf.argMax(big())]);
    await same(() => tf.cumsum(tf.tensor([2147483647, 1, 1], [3], 'int32')));
  });

  it('sums and products of bools', async () => {
    const x = () => tf.tensor2d([true, true, false, true, true, true] as unknown as number[], [2, 3], 'bool');
    await same(() => [
      tf.sum(x()),
      tf.sum(x(), 0),
      tf.mean(x()),
      tf.prod(x()),
      tf.max(x()),
      tf.all(x(), 1),
      tf.any(x(), 0),
    ]);
    await same(() => [tf.matMul(x().cast('int32'), tf.ones([3, 2], 'int32')), tf.cumsum(x().cast('int32'), 1)]);
  });

  it('complex numbers through slices, joins, transforms and other backends', async () => {
    const z = () => tf.complex(random([4, 8], 1), random([4, 8], 2));
    const parts = (t: tf.Tensor) => [tf.real(t), tf.imag(t)];
    await same(() => parts(tf.concat([z(), z()], 1)), 1e-4);
    await same(() => parts(tf.spectral.ifft(tf.spectral.fft(z()))), 1e-4);
    await same(() => tf.abs(z()));
    // TF.js's CPU backend cannot turn or slice them.
    await tf.setBackend('forge');
    expect(tf.real(tf.slice(tf.transpose(z()), [1, 0], [2, 4])).shape).toEqual([2, 4]);
    const before = backend.report().numDataIds;
    tf.tidy(() => void tf.spectral.fft(z()).dataSync());
    expect(backend.report().numDataIds).toBe(before);
  });

  it('strings stay strings', async () => {
    await tf.setBackend('forge');
    const names = tf.tensor(['a', 'bc', '', 'ü€'], [2, 2]);
    expect(await tf.slice(names, [1, 0], [1, 2]).data()).toEqual(['', 'ü€']);
    expect(await tf.concat([names, names]).data()).toHaveLength(8);
    expect(tf.equal(names, tf.tensor(['a', 'x', '', 'ü€'], [2, 2])).dataSync()).toEqual(new Uint8Array([1, 0, 1, 1]));
    await tf.setBackend('cpu');
    expect(tf.reshape(names, [4]).dataSync()).toEqual(['a', 'bc', '', 'ü€']);
    await tf.setBackend('forge');
    names.dispose();
  });
});

describe('gradients of gradients', () => {
  const twice = (f: (x: tf.Tensor) => tf.Tensor) => (x: tf.Tensor) => tf.grad((y) => tf.sum(tf.grad(f)(y)))(x);
  it.each([
    ['a polynomial', (x: tf.Tensor) => tf.sum(tf.pow(x, 3))],
    ['tanh', (x: tf.Tensor) => tf.sum(tf.tanh(x))],
    ['a product', (x: tf.Tensor) => tf.sum(tf.square(tf.matMul(x, x, false, true)))],
    ['softplus of a mean', (x: tf.Tensor) => tf.softplus(tf.mean(tf.square(x)))],
    ['sigmoid and exp', (x: tf.Tensor) => tf.sum(tf.mul(tf.sigmoid(x), tf.exp(x)))],
  ] as [string, (x: tf.Tensor) => tf.Tensor][])('%s', (_, f) => same(() => twice(f)(random([3, 4], 5)), 1e-4));
});

describe('lifetimes', () => {
  const counts = () => ({ tensors: tf.memory().numTensors, ids: backend.report().numDataIds });

  it('tidy in tidy, keep, and tensors of both kinds', async () => {
    await tf.setBackend('forge');
    const before = counts();
    let kept: tf.Tensor | null = null;
    const out = tf.tidy(() => {
      const x = tf.tensor([1, 2, 3]);
      kept = tf.keep(x.mul(10));
      const inner = tf.tidy(() => {
        const ours = backend.toTensor(x.add(1));
        const back = backend.fromTensor(ours.mul(2));
        ours.dispose();
        return back.sub(1);
      });
      return inner.add(x);
    });
    expect(Array.from(out.dataSync())).toEqual([4, 7, 10]);
    expect(Array.from(kept!.dataSync())).toEqual([10, 20, 30]);
    tf.dispose([out, kept!]);
    expect(counts()).toEqual(before);
  });

  it('disposeVariables frees what variables hold, and values made from them stay', async () => {
    await tf.setBackend('forge');
    const before = counts();
    const start = tf.tensor([1, 2]);
    const v = tf.variable(start);
    const y = v.add(1);
    const next = v.mul(100);
    v.assign(next);
    tf.disposeVariables();
    expect(Array.from(y.dataSync())).toEqual([2, 3]);
    // The tensors that the variable took its values from are the caller's.
    expect(Array.from(next.dataSync())).toEqual([100, 200]);
    tf.dispose([start, y, next]);
    expect(counts()).toEqual(before);
  });

  it('two backends on two runtimes, switched in the middle of a program', async () => {
    const other = await forge({ name: 'other' });
    await tf.setBackend('forge');
    const x = tf.tensor([1, 2, 3]);
    const lazy = x.mul(2);
    await tf.setBackend('other');
    const y = lazy.add(x);
    const v = tf.variable(y);
    await tf.setBackend('forge');
    v.assign(v.add(1));
    expect(Array.from(await v.data())).toEqual([4, 7, 10]);
    await tf.setBackend('other');
    expect(Array.from(await tf.add(v, lazy).data())).toEqual([6, 11, 16]);
    tf.dispose([x, lazy, y, v]);
    await tf.setBackend('forge');
    await other.close();
  });

  it('memory that is not there is an error that names it, and the backend goes on', async () => {
    const small = await forge({ name: 'small', runtime: { devices: ['cpu'], memory: { budget: 8 << 20 } } });
    const big = () => tf.tidy(() => tf.ones([3000, 1000]).add(tf.range(0, 1000)).dataSync());
    let error: unknown;
    try {
      big();
    } catch (e) {
      error = e;
    }
    expect(error).toBeInstanceOf(OutOfMemory);
    expect((error as ForgeError).fix.length).toBeGreaterThan(0);
    expect(Array.from(tf.add([1, 2], [3, 4]).dataSync())).toEqual([4, 6]);
    await tf.setBackend('forge');
    await small.close();
  });
});

describe('models', () => {
  it('take batches of any size, one after the other', async () => {
    for (const make of [() => mlp(tf, [12, 8, 3]), () => lenet(tf), () => mobilenet(tf, 0.25, 32, 5)]) {
      const model = make();
      for (const count of [1, 3, 2, 5, 1]) {
        await tf.setBackend('forge');
        const x = batchOf(tf, model, count);
        const got = await tf.tidy(() => model.predict(x)).data();
        await tf.setBackend('cpu');
        const want = await tf.tidy(() => model.predict(x)).data();
        expect(difference(got, want)).toBeLessThan(1e-4);
        x.dispose();
      }
      tf.dispose([...model.weights]);
    }
    await tf.setBackend('forge');
  });

  it('with weights saved as half floats and as bytes', async () => {
    await tf.setBackend('forge');
    const halves = new Uint16Array([0x3c00, 0x4000, 0xc200, 0x3800]); // 1, 2, -3, 0.5
    const bytes = new Uint8Array([0, 128, 255]);
    const data = new Uint8Array(halves.byteLength + bytes.byteLength);
    data.set(new Uint8Array(halves.buffer), 0);
    data.set(bytes, halves.byteLength);
    const weights = tf.io.decodeWeights(data.buffer, [
      {
        name: 'dense/kernel',
        shape: [2, 2],
        dtype: 'float32',
        quantization: { dtype: 'float16' },
      },
      { name: 'dense/bias', shape: [3], dtype: 'float32', quantization: { dtype: 'uint8', scale: 0.5, min: -64 } },
    ]);
    expect(Array.from(await weights['dense/kernel']!.data())).toEqual([1, 2, -3, 0.5]);
    expect(Array.from(await weights['dense/bias']!.mul(2).data())).toEqual([-128, 0, 127]);
    tf.dispose(weights);
  });

  it('of layers with an open batch size predict, evaluate and fit', async () => {
    await tf.setBackend('forge');
    const model = layers.sequential({
      layers: [
        layers.layers.conv2d({ filters: 3, kernelSize: 3, activation: 'relu', inputShape: [8, 8, 1] }),
        layers.layers.batchNormalization(),
        layers.layers.globalAveragePooling2d({}),
        layers.layers.dense({ units: 2, activation: 'softmax' }),
      ],
    });
    model.compile({ optimizer: 'adam', loss: 'categoricalCrossentropy', metrics: ['accuracy'] });
    for (const count of [1, 4, 7]) {
      const x = random([count, 8, 8, 1], count);
      const y = tf.oneHot(tf.range(0, count, 1, 'int32').mod(tf.scalar(2, 'int32')), 2);
      expect((model.predict(x) as tf.Tensor).shape).toEqual([count, 2]);
      await model.fit(x, y, { epochs: 2, batchSize: 3, verbose: 0 });
      const [loss] = model.evaluate(x, y) as tf.Scalar[];
      expect(Number.isFinite((await loss!.data())[0])).toBe(true);
      tf.dispose([x, y]);
    }
    model.dispose();
  });
});

describe("precision: 'f16'", () => {
  it('stores half floats, says so to TF.js, and predicts within their digits', async () => {
    const half = await forge({ name: 'half', precision: 'f16' });
    expect([tf.backend().floatPrecision(), tf.backend().epsilon()]).toEqual([16, 1e-3]);
    const x = tf.tensor([1, 2, 1 / 3]);
    expect(half.toTensor(x).dtype).toBe('f16');
    const y = x.add(1);
    expect(half.toTensor(y).dtype).toBe('f16');
    expect(y.dataSync()).toBeInstanceOf(Float32Array);
    expect(Array.from(y.dataSync())).toEqual([2, 3, 1.3330078125]);
    for (const make of [() => mlp(tf, [64, 32, 10]), () => lenet(tf), () => mobilenet(tf, 0.25, 32, 10)]) {
      const results: ArrayLike<number>[] = [];
      for (const name of ['cpu', 'half']) {
        await tf.setBackend(name);
        const model = make();
        const input = batchOf(tf, model, 2);
        results.push(await tf.tidy(() => model.predict(input)).data());
        tf.dispose([input, ...model.weights]);
      }
      expect(difference(results[1]!, results[0]!)).toBeLessThan(1e-2);
    }
    // Whole numbers, bools and complex values are what they were.
    await tf.setBackend('half');
    expect(Array.from(tf.tensor([100000, 3], [2], 'int32').mul(tf.scalar(2, 'int32')).dataSync())).toEqual([200000, 6]);
    expect(difference(tf.spectral.fft(tf.complex([1, 1], [0, 0])).dataSync(), [2, 0, 0, 0])).toBe(0);
    const g = tf.grad((t) => tf.sum(tf.square(t)))(tf.tensor([1, 2]));
    expect(Array.from(g.dataSync())).toEqual([2, 4]);
    await tf.setBackend('forge');
    await half.close();
  });

  it('is refused where no device has half floats, or where it means nothing', async () => {
    const codes: string[] = [];
    const runtime = await createRuntime({ devices: ['cpu'] });
    for (const precision of ['f8', 'f64'] as unknown as 'f16'[]) {
      await registerBackend(tf, { cpu, runtime, name: 'bad', precision }).catch((e) =>
        codes.push((e as ForgeError).code),
      );
    }
    expect(codes).toEqual(['BAD_OPTION', 'BAD_OPTION']);
    await runtime.close();
  });
});
