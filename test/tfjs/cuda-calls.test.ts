// What a program that does the same again asks of the CUDA driver, each time: counted with a driver that records its calls and computes nothing.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TfjsBackend } from '../../src/tfjs/index.ts';
import { openMock, passing } from '../support/cuda-device.ts';
import type { MockCuda } from '../support/cuda-mock.ts';
import { batchOf, labelsOf, mlp, mobilenet } from './models.ts';
import { forge, tf } from './support.ts';

let ffi: MockCuda;
let backend: TfjsBackend;

beforeAll(async () => {
  const mock = await openMock((f) => {
    f.capacity = 2 ** 30;
  });
  ffi = mock.ffi;
  backend = await forge({ name: 'mock', runtime: { devices: [passing(mock.device)] } });
});
afterAll(() => backend.close());

/** The calls of a round that come in every round, after some that may learn: by name, how often. Now and then somebody asks how much memory is free. */
async function callsOf(round: () => Promise<unknown>): Promise<Record<string, number>> {
  for (let i = 0; i < 12; i++) await round();
  const rounds = 4;
  ffi.calls.length = 0;
  for (let i = 0; i < rounds; i++) await round();
  const counts: Record<string, number> = {};
  for (const { name } of ffi.calls) counts[name] = (counts[name] ?? 0) + 1 / rounds;
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count >= 1));
}

it('a training step is one graph and one read', async () => {
  const model = mlp(tf, [784, 512, 512, 10]);
  const [x, y] = [batchOf(tf, model, 128), labelsOf(tf, 128, 10)];
  const optimizer = tf.train.adam(0.001);
  const counts = await callsOf(async () => {
    const loss = optimizer.minimize(() => tf.losses.softmaxCrossEntropy(y, model.predict(x)) as tf.Scalar, true)!;
    await loss.data();
    loss.dispose();
  });
  expect(counts).toMatchObject({ cuGraphLaunch: 1, cuMemcpyDtoHAsync_v2: 1 });
  // Nothing is uploaded, assembled or allocated, and the driver is not asked how much memory is free.
  const others = /^cu(GraphLaunch|GraphExecKernelNodeSetParams|MemcpyDtoHAsync_v2|Event(Record|Query))$/;
  expect(Object.keys(counts).filter((name) => !others.test(name))).toEqual([]);
  optimizer.dispose();
  tf.dispose([x, y, ...model.weights]);
});

it('a prediction is three graphs, begun while the rest is put together, and one read', async () => {
  const model = mobilenet(tf, 0.25, 64, 10);
  const x = batchOf(tf, model, 1);
  const counts = await callsOf(async () => {
    const y = tf.tidy(() => model.predict(x));
    await y.data();
    y.dispose();
  });
  expect(counts).toMatchObject({ cuGraphLaunch: 3, cuMemcpyDtoHAsync_v2: 1 });
  const others = /^cu(GraphLaunch|MemcpyDtoHAsync_v2|Event(Record|Query))$/;
  expect(Object.keys(counts).filter((name) => !others.test(name))).toEqual([]);
  tf.dispose([x, ...model.weights]);
});
