// Single kernels beside TF.js's CPU backend: values that dtypes treat in their own way, and shapes the suite has none of.

import { afterAll, beforeAll, describe, it } from 'vitest';
import type { TfjsBackend } from '../../src/tfjs/index.ts';
import { forge, same, seeded, tf } from './support.ts';

let backend: TfjsBackend;
beforeAll(async () => {
  backend = await forge({ name: 'forge' });
});
afterAll(() => backend.close());

const floats = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  1.5,
  2.5,
  -2.5,
  3.7,
  -3.7,
  1e-8,
  7e9,
  -7e9,
  2147483648,
  4294967296,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
];
const ints = [0, 1, -1, 2, -2, 7, -7, 100, 2147483647, -2147483648];

const random = (shape: number[], seed: number): tf.Tensor => {
  const next = seeded(seed);
  return tf.tensor(Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, next), shape);
};

const casts: [string, () => tf.Tensor | tf.Tensor[]][] = (['float32', 'int32', 'bool'] as const).flatMap((from) =>
  (['float32', 'int32', 'bool', 'complex64'] as const).map((to): [string, () => tf.Tensor] => [
    `${from} → ${to}`,
    () => {
      const x =
        from === 'float32'
          ? tf.tensor(floats)
          : from === 'int32'
            ? tf.tensor(ints, [10], 'int32')
            : tf.tensor([true, false]);
      const y = x.cast(to);
      return to === 'complex64' ? tf.real(y) : y;
    },
  ]),
);

/** Every pair of values through an op, as floats and as whole numbers. */
const pairs = (
  name: string,
  op: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor,
  values: number[],
  dtype: 'float32' | 'int32',
): [string, () => tf.Tensor] => [
  `${name} ${dtype}`,
  () => op(tf.tensor2d(values, [values.length, 1], dtype), tf.tensor2d(values, [1, values.length], dtype)),
];

const small = ints.filter((v) => Math.abs(v) <= 100);
const finite = floats.filter((v) => Number.isFinite(v) && Math.abs(v) < 1e6);

describe('values', () => {
  it.each(casts)('casts %s', (_, f) => same(f));
  it.each([
    pairs('add', tf.add, floats, 'float32'),
    pairs('add', tf.add, ints, 'int32'),
    pairs('sub', tf.sub, ints, 'int32'),
    pairs('mul', tf.mul, small, 'int32'),
    pairs('mul', tf.mul, floats, 'float32'),
    pairs('div', tf.div, floats, 'float32'),
    pairs('div', tf.div, small, 'int32'),
    pairs('floorDiv', tf.floorDiv, finite, 'float32'),
    pairs('floorDiv', tf.floorDiv, ints, 'int32'),
    // 1e-8 mod -7e9 is a matter of rounding.
    pairs(
      'mod',
      tf.mod,
      floats.filter((v) => v !== 1e-8),
      'float32',
    ),
    pairs('mod', tf.mod, small, 'int32'),
    pairs('pow', tf.pow, finite, 'float32'),
    pairs('pow', tf.pow, [0, 1, -1, 2, -2, 7], 'int32'),
    pairs('maximum', tf.maximum, floats, 'float32'),
    pairs('minimum', tf.minimum, floats, 'float32'),
    pairs('equal', tf.equal, floats, 'float32'),
    pairs('notEqual', tf.notEqual, floats, 'float32'),
    pairs('less', tf.less, floats, 'float32'),
    pairs('greaterEqual', tf.greaterEqual, floats, 'float32'),
    pairs('squaredDifference', tf.squaredDifference, small, 'int32'),
    pairs('atan2', tf.atan2, floats, 'float32'),
    pairs('bitwiseAnd', tf.bitwiseAnd, ints, 'int32'),
  ])('%s', (_, f) => same(f));

  const unary: Record<string, (x: tf.Tensor) => tf.Tensor> = {
    abs: tf.abs,
    ceil: tf.ceil,
    floor: tf.floor,
    round: tf.round,
    sign: tf.sign,
    neg: tf.neg,
    relu: tf.relu,
    relu6: tf.relu6,
    elu: tf.elu,
    selu: tf.selu,
    sigmoid: tf.sigmoid,
    softplus: tf.softplus,
    tanh: tf.tanh,
    square: tf.square,
    sqrt: tf.sqrt,
    rsqrt: tf.rsqrt,
    reciprocal: tf.reciprocal,
    step: tf.step,
    isNaN: tf.isNaN,
    isInf: tf.isInf,
    isFinite: tf.isFinite,
    clip: (x) => tf.clipByValue(x, -2, 2),
    leakyRelu: tf.leakyRelu,
    argMax: (x) => tf.argMax(x),
    argMin: (x) => tf.argMin(x),
    cumsum: (x) => tf.cumsum(x, 0, true, true),
    log1p: tf.log1p,
    expm1: tf.expm1,
    logicalNot: (x) => tf.logicalNot(x.cast('bool')),
  };
  it.each(Object.entries(unary))('%s of floats and of whole numbers', async (_, f) => {
    await same(() => f(tf.tensor(floats.slice(0, 12))));
    await same(() => f(tf.tensor(small, [small.length], 'int32')));
  });

  it('sums bools and wraps whole numbers as TF.js does', async () => {
    await same(() => tf.sum(tf.tensor([true, true, false])));
    await same(() => tf.mean(tf.tensor([1, 2, 4], [3], 'int32')));
    await same(() => tf.prod(tf.tensor([3, 5, -7], [3], 'int32')));
    await same(() => tf.max(tf.tensor([1, Number.NaN, 3])));
    await same(() => tf.argMax(tf.tensor([1, Number.NaN, 3])));
  });
});

describe('shapes', () => {
  it('reductions of nothing', async () => {
    await same(() => tf.sum(tf.zeros([0, 3]), 0));
    await same(() => tf.mean(tf.zeros([2, 0]), 0));
    await same(() => tf.concat([tf.zeros([0, 2]), tf.ones([2, 2])]));
    await same(() => tf.matMul(tf.zeros([0, 2]), tf.ones([2, 3])));
  });

  it('convolutions of odd sizes, strides, dilations and borders', async () => {
    for (const [stride, pad, dilation] of [
      [1, 'same', 1],
      [2, 'same', 1],
      [2, 'valid', 1],
      [3, 1, 1],
      [1, 'valid', 2],
      [1, 'same', 3],
    ] as const) {
      const f = (x: tf.Tensor, w: tf.Tensor) =>
        tf.conv2d(x as tf.Tensor4D, w as tf.Tensor4D, stride, pad, 'NHWC', dilation);
      await same(() => f(random([2, 9, 11, 3], 1), random([3, 2, 3, 4], 2)));
      await same(() => tf.grads(f)([random([2, 9, 11, 3], 1), random([3, 2, 3, 4], 2)]), 1e-4);
      const d = (x: tf.Tensor, w: tf.Tensor) =>
        tf.depthwiseConv2d(x as tf.Tensor4D, w as tf.Tensor4D, stride, pad, 'NHWC', dilation);
      await same(() => d(random([2, 9, 11, 3], 3), random([3, 2, 3, 2], 4)));
      if (dilation === 1) await same(() => tf.grads(d)([random([2, 9, 11, 3], 3), random([3, 2, 3, 2], 4)]), 1e-4);
    }
    const large = (x: tf.Tensor, w: tf.Tensor) => tf.conv2d(x as tf.Tensor4D, w as tf.Tensor4D, 2, 'same');
    await same(() => tf.grads(large)([random([1, 12, 10, 2], 5), random([7, 5, 2, 3], 6)]), 1e-4);
    await same(() =>
      tf.conv2d(random([1, 3, 8, 8], 5) as tf.Tensor4D, random([3, 3, 3, 2], 6) as tf.Tensor4D, 1, 'same', 'NCHW'),
    );
  });

  it('pools and their gradients, ties and borders among them', async () => {
    for (const [size, stride, pad] of [
      [2, 2, 'valid'],
      [3, 2, 'same'],
      [3, 1, 'same'],
      [2, 3, 'valid'],
    ] as const) {
      const x = () => tf.round(random([2, 7, 6, 3], 7).mul(3)) as tf.Tensor4D;
      await same(() => [tf.maxPool(x(), size, stride, pad), tf.avgPool(x(), size, stride, pad)]);
      await same(() => tf.grad((t) => tf.maxPool(t as tf.Tensor4D, size, stride, pad))(x()));
      await same(() => tf.grad((t) => tf.avgPool(t as tf.Tensor4D, size, stride, pad))(x()));
      await same(() => {
        const { result, indexes } = tf.maxPoolWithArgmax(x(), size, stride, pad, true);
        return [result!, indexes!];
      });
    }
  });

  it('images: rotation, resizing between odd sizes, crops', async () => {
    const x = () => random([2, 5, 7, 3], 8) as tf.Tensor4D;
    await same(() => tf.image.rotateWithOffset(x(), 0.7, 0.25, [0.3, 0.6]));
    await same(() => tf.image.rotateWithOffset(x(), -2, [1, 2, 3], 0.5));
    for (const corners of [true, false]) {
      await same(() => tf.image.resizeBilinear(x(), [9, 4], corners));
      await same(() => tf.image.resizeNearestNeighbor(x(), [3, 11], corners));
      await same(() => tf.grad((t) => tf.image.resizeNearestNeighbor(t as tf.Tensor4D, [8, 5], corners))(x()));
    }
    await same(() => tf.grad((t) => tf.image.resizeBilinear(t as tf.Tensor4D, [8, 8]))(random([1, 5, 5, 2], 8)));
    await same(() =>
      tf.image.cropAndResize(
        x(),
        tf.tensor2d([
          [0, 0, 1, 1],
          [0.1, 0.2, 0.9, 1.3],
        ]),
        [1, 0],
        [4, 6],
      ),
    );
  });

  it('Fourier transforms of any length: powers of two, odd ones, large primes', async () => {
    for (const n of [1, 2, 8, 30, 64, 97, 128, 131, 210, 1021, 1024]) {
      const f = (inverse: boolean) => () => {
        const z = tf.complex(random([2, n], n), random([2, n], n + 1));
        const y = inverse ? tf.spectral.ifft(z) : tf.spectral.fft(z);
        return [tf.real(y), tf.imag(y)];
      };
      await same(f(false), 1e-4);
      await same(f(true), 1e-4);
    }
  });

  it('refuses what TF.js refuses', async () => {
    await same(() => tf.gather([1, 2, 3], tf.tensor1d([3], 'int32')));
    await same(() => tf.gatherND([1, 2, 3], tf.tensor2d([[5]], [1, 1], 'int32')));
    await same(() => tf.matMul(tf.ones([2, 3]), tf.ones([2, 3])));
    await same(() => tf.reshape(tf.ones([4]), [3]));
    await same(() => tf.topk(tf.ones([3]), 4).values);
  });
});
