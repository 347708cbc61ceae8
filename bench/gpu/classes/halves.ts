// Programs of models in 16 bits: convolutions, attention of other forms, products with what follows them, rows.

import type { Runtime, Tensor } from '../../../src/index.ts';
import { below, type ClassProgram, f, of, program } from './program.ts';

/** Softmax of scores, times values; axes before the last two are a batch. */
function attend(scores: Tensor, v: Tensor): Tensor {
  return scores.softmax(-1).matmul(v);
}

const turned = (k: Tensor): Tensor =>
  k.permute([...k.shape.keys()].slice(0, -2).concat(k.shape.length - 1, k.shape.length - 2));

const causal = (rt: Runtime, n: number, scores: Tensor): Tensor =>
  rt.where(rt.arange(n).reshape([n, 1]).greaterEqual(rt.arange(n)), scores, Number.NEGATIVE_INFINITY);

export const halves: ClassProgram[] = [
  program(
    'convolution 3x3 of 32x64x56x56, 64 out bf16',
    [of('bf16', 32, 64, 56, 56), of('bf16', 64, 64, 3, 3)],
    10,
    (_, x, w) => x.conv2d(w!, { padding: 1 }),
  ),
  program(
    'convolution 3x3 of 32x256x14x14, 256 out bf16',
    [of('bf16', 32, 256, 14, 14), of('bf16', 256, 256, 3, 3)],
    10,
    (_, x, w) => x.conv2d(w!, { padding: 1 }),
  ),
  program(
    'convolution 1x1 of 32x256x56x56, 64 out bf16',
    [of('bf16', 32, 256, 56, 56), of('bf16', 64, 256, 1, 1)],
    10,
    (_, x, w) => x.conv2d(w!),
  ),
  program(
    'convolution 7x7 by 2 of 32x3x224x224, 64 out f16',
    [of('f16', 32, 3, 224, 224), of('f16', 64, 3, 7, 7)],
    10,
    (_, x, w) => x.conv2d(w!, { padding: 3, stride: 2 }),
  ),
  program(
    'convolution of 5, 64x128x4096, 128 out bf16',
    [of('bf16', 64, 128, 4096), of('bf16', 128, 128, 5)],
    10,
    (_, x, w) => x.conv1d(w!, { padding: 2 }),
  ),
  program(
    'attention 8x32x512x128 bf16',
    [of('bf16', 8, 32, 512, 128), of('bf16', 8, 32, 512, 128), of('bf16', 8, 32, 512, 128)],
    10,
    (_, q, k, v) => attend(q.matmul(turned(k!)).mul(128 ** -0.5), v!),
  ),
  program(
    'causal attention 4x16x2048x128 f16',
    [of('f16', 4, 16, 2048, 128), of('f16', 4, 16, 2048, 128), of('f16', 4, 16, 2048, 128)],
    5,
    (rt, q, k, v) => attend(causal(rt, 2048, q.matmul(turned(k!)).mul(128 ** -0.5)), v!),
  ),
  program(
    'attention with a bias 16x12x512x64 bf16',
    [of('bf16', 16, 12, 512, 64), of('bf16', 16, 12, 512, 64), of('bf16', 16, 12, 512, 64), of('bf16', 12, 512, 512)],
    10,
    (_, q, k, v, bias) => attend(q.matmul(turned(k!)).mul(0.125).add(bias!), v!),
  ),
  program(
    'attention of one query 64x32x1x128 to 4096 bf16',
    [of('bf16', 64, 32, 1, 128), of('bf16', 64, 32, 4096, 128), of('bf16', 64, 32, 4096, 128)],
    3,
    (_, q, k, v) => attend(q.matmul(turned(k!)).mul(128 ** -0.5), v!),
  ),
  program(
    'relu(x·w + b) 8192 x 1024 x 1024 f16',
    [of('f16', 8192, 1024), of('f16', 1024, 1024), of('f16', 1024)],
    20,
    (_, x, w, b) => x.matmul(w!).add(b!).relu(),
  ),
  program('x·wᵀ 8192 x 4096 x 1024 bf16', [of('bf16', 8192, 4096), of('bf16', 1024, 4096)], 10, (_, x, w) =>
    x.matmul(w!.permute([1, 0])),
  ),
  program('128 products 1024x64x1024 bf16', [of('bf16', 128, 1024, 64), of('bf16', 128, 64, 1024)], 10, (_, a, b) =>
    a.matmul(b!),
  ),
  program(
    'x + mlp(x) 4096 x 1024 x 4096 bf16',
    [of('bf16', 4096, 1024), of('bf16', 1024, 4096), of('bf16', 4096, 1024)],
    5,
    (_, x, a, b) => x.add(x.matmul(a!).relu().matmul(b!)),
  ),
  program('masked softmax 64x1024x1024 bf16', [of('bf16', 64, 1024, 1024)], 10, (rt, x) =>
    causal(rt, 1024, x).softmax(-1),
  ),
  program('cross entropy 4096 x 32000 bf16', [of('bf16', 4096, 32000), below(32000, 'i32', 4096, 1)], 5, (_, x, t) =>
    x.cast('f32').logSoftmax(1).takeAlongAxis(t!, 1, { mode: 'clip' }).mean().neg(),
  ),
  program(
    'rows of a table 50257 x 1024, 16384 of them, bf16',
    [of('bf16', 50257, 1024), below(50257, 'i32', 16384)],
    10,
    (_, x, i) => x.gather(i!, 0, { mode: 'clip' }),
  ),
  program('topk 50 of each row of 512 x 32000 bf16', [of('bf16', 512, 32000)], 10, (_, x) => x.topk(50).values),
  program('cumsum of rows 8192 x 4096 bf16', [of('bf16', 8192, 4096)], 10, (_, x) => x.cumsum(1)),
  program('max pool 3x3 by 2 of 32x64x112x112 bf16', [of('bf16', 32, 64, 112, 112)], 10, (_, x) =>
    x.maxPool([3, 3], { stride: 2, padding: 1 }),
  ),
  program('group norm 32x256x32x32 bf16, 32 groups', [of('bf16', 32, 256, 32, 32)], 20, (_, x) =>
    x.cast('f32').reshape([32, 32, 8192]).layerNorm(-1).reshape([32, 256, 32, 32]).cast('bf16'),
  ),
  program(
    'bytes times scales, then x·w 64 x 4096 x 4096 bf16',
    [of('bf16', 64, 4096), below(256, 'u8', 4096, 4096), f(4096)],
    10,
    (_, x, w, s) => x.matmul(w!.cast('f32').sub(128).mul(s!).cast('bf16')),
  ),
];
