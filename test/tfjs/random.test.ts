// Random chains of TF.js ops with their gradients, ours beside TF.js's CPU backend: values, shapes, dtypes and refusals.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TfjsBackend } from '../../src/tfjs/index.ts';
import { difference, forge, outcomeOn, seeded, tf } from './support.ts';

let backend: TfjsBackend;
beforeAll(async () => {
  backend = await forge({ name: 'forge' });
});
afterAll(() => backend.close());

type Pick = (n: number) => number;
type Step = (x: tf.Tensor, pick: Pick) => tf.Tensor;

/** Every axis of a tensor as likely as the others; 0 for a scalar. */
const axisOf = (x: tf.Tensor, pick: Pick): number => (x.rank === 0 ? 0 : pick(x.rank));

/** Ops that keep values in a range where rounding does not grow, whatever comes before them. */
const steps: readonly Step[] = [
  (x) => tf.tanh(x),
  (x) => tf.sigmoid(x),
  (x) => tf.sin(x),
  (x) => tf.relu(x),
  (x) => tf.elu(x),
  (x) => tf.softplus(x),
  (x) => tf.leakyRelu(x, 0.1),
  (x) => tf.abs(x),
  (x) => tf.neg(x),
  (x) => tf.mul(x, 0.5),
  (x) => tf.add(x, 0.25),
  (x) => tf.mul(tf.tanh(x), x),
  (x) => tf.div(x, tf.add(tf.square(tf.tanh(x)), 1)),
  (x) => tf.sqrt(tf.add(tf.square(x), 1)),
  (x) => tf.log(tf.add(tf.abs(x), 1)),
  (x) => tf.exp(tf.neg(tf.abs(x))),
  (x) => tf.clipByValue(x, -0.8, 0.9),
  (x) => tf.maximum(x, tf.neg(x)),
  (x) => tf.minimum(x, tf.mul(x, 0.3)),
  (x) => tf.where(tf.greater(x, 0), x, tf.mul(x, -0.5)),
  (x) => tf.squaredDifference(tf.tanh(x), 0.1),
  (x) => tf.reshape(x, [-1]),
  (x) => (x.rank > 1 ? tf.transpose(x) : x),
  (x, pick) => (x.rank > 0 ? tf.reverse(x, axisOf(x, pick)) : x),
  (x, pick) => (x.rank > 0 ? tf.sum(x, axisOf(x, pick), pick(2) === 0) : x),
  (x, pick) => (x.rank > 0 ? tf.mean(x, axisOf(x, pick), pick(2) === 0) : x),
  (x, pick) => (x.rank > 0 ? tf.max(x, axisOf(x, pick)) : x),
  (x) => (x.rank > 0 ? tf.softmax(x) : x),
  (x, pick) => (x.rank > 0 ? tf.cumsum(x, axisOf(x, pick), pick(2) === 0, pick(2) === 0) : x),
  (x) =>
    tf.pad(
      x,
      x.shape.map((): [number, number] => [1, 0]),
    ),
  (x, pick) => (x.rank > 0 ? tf.concat([x, tf.mul(x, 2)], axisOf(x, pick)) : x),
  (x, pick) => (x.rank > 0 && x.rank < 4 ? tf.stack([x, tf.tanh(x)], axisOf(x, pick)) : x),
  (x) =>
    x.rank > 0
      ? tf.tile(
          x,
          x.shape.map((_, i) => (i === 0 ? 2 : 1)),
        )
      : x,
  (x, pick) =>
    x.rank > 0 && x.shape[0]! > 0 ? tf.gather(x, tf.tensor1d([0, x.shape[0]! - 1, pick(x.shape[0]!)], 'int32')) : x,
  (x) =>
    x.rank > 0
      ? tf.slice(
          x,
          x.shape.map(() => 0),
          x.shape.map((d) => Math.max(1, d - 1)),
        )
      : x,
  (x) => (x.rank === 2 ? tf.matMul(x, x, false, true) : x),
  (x) => (x.rank === 2 ? tf.tanh(tf.matMul(x as tf.Tensor2D, tf.ones([x.shape[1]!, 3]))) : x),
  (x) => (x.rank === 3 ? tf.maxPool(tf.tanh(x) as tf.Tensor3D, 2, 1, 'same') : x),
  (x) => (x.rank === 3 ? tf.avgPool(tf.tanh(x) as tf.Tensor3D, 2, 1, 'same') : x),
  (x) => (x.rank === 3 ? tf.conv2d(tf.tanh(x) as tf.Tensor3D, tf.fill([2, 2, x.shape[2]!, 2], 0.1), 1, 'same') : x),
  (x) => tf.expandDims(x, 0),
  (x) => tf.squeeze(x),
  // Not at 0: what is left of x - mean(x) when all elements are equal is rounding.
  (x) => tf.cast(tf.cast(tf.greater(x, 0.001), 'int32'), 'float32'),
  (x) => tf.round(x),
  (x) => tf.sub(x, tf.mean(x)),
  // Refused by both, or by none.
  (x) => (x.rank === 1 ? tf.matMul(x as never, x as never) : x),
];

const sizes: readonly number[][] = [[], [5], [3, 4], [1, 7], [2, 3, 2], [4, 4, 3]];

function chain(seed: number): (x: tf.Tensor) => tf.Tensor {
  return (x) => {
    const next = seeded(seed);
    const pick: Pick = (n) => Math.min(n - 1, Math.floor(((next() + 1) / 2) * n));
    const length = 1 + pick(20);
    let y = x;
    for (let i = 0; i < length && y.size < 5000; i++) y = steps[pick(steps.length)]!(y, pick);
    return y;
  };
}

const input = (seed: number): tf.Tensor => {
  const shape = sizes[seed % sizes.length]!;
  const next = seeded(seed + 7919);
  return tf.tensor(Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, next), shape);
};

const all = process.env.GPUFORGE_TEST_ALL === '1';
const count = all ? 500 : 80;
const timesOf = (seed: number): number => (all || seed % 3 === 0 ? 3 : 1);

it(`${count} random chains and their gradients agree with TF.js's CPU backend`, async () => {
  const wrong: string[] = [];
  let [refused, compared] = [0, 0];
  for (let seed = 1; seed <= count; seed++) {
    const f = chain(seed);
    const programs = { value: () => f(input(seed)), gradient: () => tf.grad((x) => tf.sum(f(x)))(input(seed)) };
    for (const [kind, program] of Object.entries(programs)) {
      const want = await outcomeOn('cpu', program);
      if (want.error !== null) refused++;
      else compared++;
      // From the second time on a turn of calls is a program of its own.
      for (let time = 1; time <= timesOf(seed); time++) {
        const got = await outcomeOn('forge', program);
        const where = `${kind} ${seed}, time ${time}`;
        const like = (o: typeof want) => JSON.stringify([o.error === null, o.values.map((v) => [v.shape, v.dtype])]);
        if (like(got) !== like(want))
          wrong.push(`${where}: ${like(got)} ${got.error}, TF.js ${like(want)} ${want.error}`);
        else if (want.error !== null && !got.error) wrong.push(`${where}: no message`);
        else
          got.values.forEach((v, i) => {
            const d = difference(v.data, want.values[i]!.data);
            if (d > 1e-5) wrong.push(`${where}: off by ${d}`);
          });
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(compared).toBeGreaterThan(count);
  expect(refused).toBeGreaterThan(0);
  expect(backend.report().repeated).toBeGreaterThan(count / 3);
}, 600_000);
