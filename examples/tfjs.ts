// A small network learns to read digits that this program draws itself. Two lines bring it to gpuforge; the rest is plain TF.js.
//
//   npm install gpuforge @tensorflow/tfjs
//   node tfjs.ts              (Node 22.18 or later; older ones take a build step, or `npx tsx tfjs.ts`)
//
// In a clone of the repository: `npm run build` and `npm install --no-save @tensorflow/tfjs` first.

import * as tf from '@tensorflow/tfjs';
import * as cpu from '@tensorflow/tfjs-backend-cpu';
import { registerBackend } from 'gpuforge/tfjs';

const backend = await registerBackend(tf, { cpu });
await tf.setBackend('gpuforge');

// Each digit in seven segments: top, upper left, upper right, middle, lower left, lower right, bottom.
const digits = [
  '1110111',
  '0010010',
  '1011101',
  '1011011',
  '0111010',
  '1101011',
  '1101111',
  '1010010',
  '1111111',
  '1111011',
];
const segments = [
  [0, 1, 2, 6],
  [1, 0, 5, 1],
  [1, 6, 5, 1],
  [5, 1, 2, 6],
  [6, 0, 5, 1],
  [6, 6, 5, 1],
  [10, 1, 2, 6],
] as const;
const size = 16;

let seed = 7;
const random = (): number => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

/** A digit somewhere in a noisy picture. */
function draw(digit: number, picture: Float32Array): void {
  for (let i = 0; i < picture.length; i++) picture[i] = random() * 0.4;
  const [top, left] = [1 + Math.floor(random() * 3), 2 + Math.floor(random() * 4)];
  segments.forEach(([row, column, height, width], k) => {
    if (digits[digit]![k] === '0') return;
    for (let r = 0; r < height; r++) {
      for (let c = 0; c < width; c++) picture[(top + row + r) * size + left + column + c] = 0.6 + random() * 0.4;
    }
  });
}

function batch(count: number): { x: tf.Tensor4D; y: tf.Tensor2D; labels: Int32Array } {
  const pictures = new Float32Array(count * size * size);
  const labels = Int32Array.from({ length: count }, () => Math.floor(random() * 10));
  for (const [i, d] of labels.entries()) draw(d, pictures.subarray(i * size * size, (i + 1) * size * size));
  const y = tf.tidy(() => tf.cast(tf.oneHot(tf.tensor1d(labels, 'int32'), 10), 'float32') as tf.Tensor2D);
  return { x: tf.tensor4d(pictures, [count, size, size, 1]), y, labels };
}

const weight = (shape: number[], fan: number) =>
  tf.variable(tf.randomNormal(shape, 0, Math.sqrt(2 / fan), 'float32', 11));
const filters = weight([3, 3, 1, 8], 9) as tf.Variable<tf.Rank.R4>;
const hidden = weight([8 * 8 * 8, 48], 512) as tf.Variable<tf.Rank.R2>;
const output = weight([48, 10], 48) as tf.Variable<tf.Rank.R2>;

function predict(x: tf.Tensor4D): tf.Tensor2D {
  const seen = tf.maxPool(tf.relu(tf.conv2d(x, filters, 1, 'same')), 2, 2, 'same');
  return tf.matMul(tf.relu(tf.matMul(tf.reshape(seen, [-1, 512]), hidden)), output);
}

const bar = (part: number): string => '█'.repeat(Math.round(part * 24)).padEnd(24, '░');
const steps = 200;
const optimizer = tf.train.adam(0.004);
for (let step = 1; step <= steps; step++) {
  const { x, y } = batch(64);
  const loss = optimizer.minimize(() => tf.losses.softmaxCrossEntropy(y, predict(x)) as tf.Scalar, true)!;
  if (step % 20 === 0) console.log(`${bar(step / steps)} step ${step}: loss ${(await loss.data())[0]!.toFixed(3)}`);
  tf.dispose([x, y, loss]);
}

const { x, labels } = batch(200);
const answers = await tf.tidy(() => tf.argMax(predict(x), 1)).data();
const right = labels.filter((d, i) => d === answers[i]).length;
const { device, native, routed } = backend.report();
console.log(
  `${right} of ${labels.length} new digits read, on ${device}; ${native} native kernels, ${Object.keys(routed).length} routed.`,
);
await backend.close();
