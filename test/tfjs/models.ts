// Models built in code, with weights from a seed: for equal results, equal training curves, and for times.

import type * as core from '@tensorflow/tfjs-core';
import { seeded } from './numbers.ts';

type Tf = typeof core;
type T = core.Tensor;

export interface Model {
  readonly name: string;
  readonly weights: readonly core.Variable[];
  /** The shape of one input, without the batch. */
  readonly input: readonly number[];
  readonly predict: (x: T) => T;
}

/** Makes weights in the order they are asked for: equal seeds give equal models. */
class Weights {
  readonly list: core.Variable[] = [];
  readonly #tf: Tf;
  readonly #next: () => number;

  constructor(tf: Tf, seed: number) {
    this.#tf = tf;
    this.#next = seeded(seed);
  }

  /** Evenly distributed, scaled so that sums keep their size. */
  random(shape: readonly number[], fanIn: number, offset = 0): core.Variable {
    const size = shape.reduce((a, b) => a * b, 1);
    const scale = Math.sqrt(3 / fanIn);
    const values = Float32Array.from({ length: size }, () => offset + this.#next() * scale);
    return this.#keep(values, shape);
  }

  constant(shape: readonly number[], value: number): core.Variable {
    return this.#keep(new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(value), shape);
  }

  #keep(values: Float32Array, shape: readonly number[]): core.Variable {
    const start = this.#tf.tensor(values, [...shape]);
    const v = this.#tf.variable(start);
    start.dispose();
    this.list.push(v);
    return v;
  }
}

/** Fully connected layers with relu between them. */
export function mlp(tf: Tf, sizes: readonly number[] = [784, 512, 512, 10], seed = 1): Model {
  const w = new Weights(tf, seed);
  const layers = sizes
    .slice(1)
    .map((out, i) => ({ w: w.random([sizes[i]!, out], sizes[i]!), b: w.constant([out], 0) }));
  const predict = (x: T): T =>
    layers.reduce<T>((h, { w, b }, i) => {
      const activation = i < layers.length - 1 ? 'relu' : 'linear';
      return tf.fused.matMul({ a: h as core.Tensor2D, b: w as core.Tensor2D, bias: b, activation });
    }, x);
  return { name: 'MLP', weights: w.list, input: [sizes[0]!], predict };
}

export function lenet(tf: Tf, seed = 2): Model {
  const w = new Weights(tf, seed);
  const c1 = w.random([5, 5, 1, 6], 25);
  const c2 = w.random([5, 5, 6, 16], 150);
  const dense = [
    [256, 120],
    [120, 84],
    [84, 10],
  ].map(([a, b]) => ({ w: w.random([a!, b!], a!), b: w.constant([b!], 0) }));
  const predict = (x: T): T => {
    const a = tf.maxPool(tf.relu(tf.conv2d(x as core.Tensor4D, c1 as core.Tensor4D, 1, 'valid')), 2, 2, 'valid');
    const b = tf.maxPool(tf.relu(tf.conv2d(a, c2 as core.Tensor4D, 1, 'valid')), 2, 2, 'valid');
    return dense.reduce<T>(
      (h, { w, b }, i) => {
        const y = tf.add(tf.matMul(h as core.Tensor2D, w as core.Tensor2D), b);
        return i < 2 ? tf.relu(y) : y;
      },
      tf.reshape(b, [-1, 256]),
    );
  };
  return { name: 'LeNet', weights: w.list, input: [28, 28, 1], predict };
}

/** The blocks of MobileNetV1: depthwise stride and output channels. */
export const blocks = [
  [1, 64],
  [2, 128],
  [1, 128],
  [2, 256],
  [1, 256],
  [2, 512],
  [1, 512],
  [1, 512],
  [1, 512],
  [1, 512],
  [1, 512],
  [2, 1024],
  [1, 1024],
] as const;

/** MobileNetV1 of a width and an image size, with the normalisation folded into weights and biases. */
export function mobilenet(tf: Tf, width = 1, size = 224, classes = 1000, seed = 3): Model {
  const w = new Weights(tf, seed);
  const of = (c: number) => Math.max(8, Math.round(c * width));
  const first = { w: w.random([3, 3, 3, of(32)], 27), b: w.constant([of(32)], 0.1) };
  let channels = of(32);
  const layers = blocks.map(([stride, out]) => {
    const layer = {
      stride,
      dw: w.random([3, 3, channels, 1], 9),
      db: w.constant([channels], 0.1),
      pw: w.random([1, 1, channels, of(out)], channels),
      pb: w.constant([of(out)], 0.1),
    };
    channels = of(out);
    return layer;
  });
  const head = { w: w.random([channels, classes], channels), b: w.constant([classes], 0) };
  const predict = (x: T): T => {
    const start = tf.fused.conv2d({
      x: x as core.Tensor4D,
      filter: first.w as core.Tensor4D,
      strides: 2,
      pad: 'same',
      bias: first.b,
      activation: 'relu6',
    });
    const last = layers.reduce<core.Tensor4D>((h, l) => {
      const d = tf.fused.depthwiseConv2d({
        x: h,
        filter: l.dw as core.Tensor4D,
        strides: l.stride,
        pad: 'same',
        bias: l.db,
        activation: 'relu6',
      });
      return tf.fused.conv2d({
        x: d,
        filter: l.pw as core.Tensor4D,
        strides: 1,
        pad: 'same',
        bias: l.pb,
        activation: 'relu6',
      });
    }, start);
    const pooled = tf.mean(last, [1, 2]) as core.Tensor2D;
    return tf.softmax(tf.add(tf.matMul(pooled, head.w as core.Tensor2D), head.b));
  };
  return { name: 'MobileNetV1', weights: w.list, input: [size, size, 3], predict };
}

/** ResNet-18's shape at a smaller width: four stages of two blocks, with batch normalisation. */
export function resnet(tf: Tf, width = 16, classes = 10, seed = 4): Model {
  const w = new Weights(tf, seed);
  const unit = (k: number, cin: number, cout: number) => ({
    w: w.random([k, k, cin, cout], k * k * cin),
    mean: w.random([cout], 100),
    variance: w.constant([cout], 1),
    scale: w.constant([cout], 1),
    offset: w.constant([cout], 0),
  });
  const apply = (x: core.Tensor4D, u: ReturnType<typeof unit>, stride: number): core.Tensor4D =>
    tf.batchNorm(
      tf.conv2d(x, u.w as core.Tensor4D, stride, 'same'),
      u.mean as core.Tensor1D,
      u.variance as core.Tensor1D,
      u.offset as core.Tensor1D,
      u.scale as core.Tensor1D,
    ) as core.Tensor4D;
  const stem = unit(3, 3, width);
  let channels = width;
  const stages = [1, 2, 4, 8].flatMap((factor, stage) =>
    [0, 1].map((i) => {
      const out = width * factor;
      const stride = stage > 0 && i === 0 ? 2 : 1;
      const block = {
        stride,
        a: unit(3, channels, out),
        b: unit(3, out, out),
        short: channels === out ? null : unit(1, channels, out),
      };
      channels = out;
      return block;
    }),
  );
  const head = { w: w.random([channels, classes], channels), b: w.constant([classes], 0) };
  const predict = (x: T): T => {
    const last = stages.reduce<core.Tensor4D>(
      (h, s) => {
        const y = apply(tf.relu(apply(h, s.a, s.stride)), s.b, 1);
        return tf.relu(tf.add(y, s.short ? apply(h, s.short, s.stride) : h));
      },
      tf.relu(apply(x as core.Tensor4D, stem, 1)),
    );
    return tf.add(tf.matMul(tf.mean(last, [1, 2]) as core.Tensor2D, head.w as core.Tensor2D), head.b);
  };
  return { name: 'ResNet-18', weights: w.list, input: [32, 32, 3], predict };
}

/** Two LSTM layers over a sequence. */
export function lstm(tf: Tf, units = 128, steps = 100, features = 32, seed = 5): Model {
  const w = new Weights(tf, seed);
  const layers = [features, units].map((inputs) => ({
    w: w.random([inputs + units, 4 * units], inputs + units),
    b: w.constant([4 * units], 0),
  }));
  const forget = tf.scalar(1);
  const head = w.random([units, 1], units);
  const predict = (x: T): T => {
    const batch = x.shape[0]!;
    let states = layers.map(() => ({
      c: tf.zeros([batch, units]) as core.Tensor2D,
      h: tf.zeros([batch, units]) as core.Tensor2D,
    }));
    for (const part of tf.unstack(x, 1)) {
      let input = part as core.Tensor2D;
      states = layers.map((l, i) => {
        const [c, h] = tf.basicLSTMCell(
          forget,
          l.w as core.Tensor2D,
          l.b as core.Tensor1D,
          input,
          states[i]!.c,
          states[i]!.h,
        );
        input = h;
        return { c, h };
      });
    }
    return tf.matMul(states[1]!.h, head as core.Tensor2D);
  };
  return { name: 'LSTM', weights: w.list, input: [steps, features], predict };
}

/** Layers of self-attention and a feed-forward part, each behind a normalisation. */
export function transformer(tf: Tf, d = 256, heads = 4, layers = 2, length = 32, seed = 6): Model {
  const w = new Weights(tf, seed);
  const depth = d / heads;
  const stack = Array.from({ length: layers }, () => ({
    q: w.random([d, d], d),
    k: w.random([d, d], d),
    v: w.random([d, d], d),
    o: w.random([d, d], d),
    up: w.random([d, 4 * d], d),
    down: w.random([4 * d, d], 4 * d),
  }));
  const norm = (x: T): T => {
    const { mean, variance } = tf.moments(x, -1, true);
    return tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5)));
  };
  const times = (x: T, m: core.Variable): T => {
    const rows = tf.reshape(x, [-1, m.shape[0]!]) as core.Tensor2D;
    return tf.reshape(tf.matMul(rows, m as core.Tensor2D), [...x.shape.slice(0, -1), m.shape[1]!]);
  };
  const predict = (x: T): T => {
    const batch = x.shape[0]!;
    const split = (t: T) => tf.transpose(tf.reshape(t, [batch, length, heads, depth]), [0, 2, 1, 3]);
    return stack.reduce<T>((h, l) => {
      const n = norm(h);
      const [q, k, v] = [split(times(n, l.q)), split(times(n, l.k)), split(times(n, l.v))];
      const scores = tf.softmax(tf.div(tf.matMul(q, k, false, true), Math.sqrt(depth)));
      const mixed = tf.reshape(tf.transpose(tf.matMul(scores, v), [0, 2, 1, 3]), [batch, length, d]);
      const a = tf.add(h, times(mixed, l.o));
      return tf.add(a, times(tf.relu(times(norm(a), l.up)), l.down));
    }, x);
  };
  return { name: 'Transformer', weights: w.list, input: [length, d], predict };
}

/** A batch of inputs from a seed. */
export function batchOf(tf: Tf, model: Pick<Model, 'input'>, count: number, seed = 9): T {
  const next = seeded(seed);
  const shape = [count, ...model.input];
  return tf.tensor(Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, next), shape);
}

/** Labels from a seed, one-hot. */
export function labelsOf(tf: Tf, count: number, classes: number, seed = 10): T {
  const next = seeded(seed);
  const labels = Int32Array.from({ length: count }, () => Math.floor(((next() + 1) / 2) * classes));
  return tf.tidy(() => tf.oneHot(tf.tensor1d(labels, 'int32'), classes).cast('float32'));
}
