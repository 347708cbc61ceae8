// Ordinary programs of many classes: odd lengths, odd axes, narrow products, moved data, small types.
//
// Each is written here and, under the same name, in classes_torch.py; both make the same inputs (data.ts).

import { grids } from './grids.ts';
import { halves } from './halves.ts';
import { below, type ClassProgram, f, of, program } from './program.ts';

const rows: ClassProgram[] = [
  program('softmax 1024 x 50257 f32', [f(1024, 50257)], 5, (_, x) => x.softmax(1)),
  program('softmax 1M x 64 f32', [f(1 << 20, 64)], 5, (_, x) => x.softmax(1)),
  program('softmax 262144 x 200 f32', [f(262144, 200)], 5, (_, x) => x.softmax(1)),
  program('softmax 8 x 1M f32', [f(8, 1 << 20)], 20, (_, x) => x.softmax(1)),
  program('softmax 8192 x 4096 f16', [of('f16', 8192, 4096)], 10, (_, x) => x.softmax(1)),
  program('logsumexp 1024 x 50257 f32', [f(1024, 50257)], 5, (_, x) => x.logsumexp({ axis: 1 })),
  program('cross entropy 2048 x 50257 f32', [f(2048, 50257), below(50257, 'i32', 2048, 1)], 3, (_, x, t) =>
    x.logSoftmax(1).takeAlongAxis(t!, 1, { mode: 'clip' }).mean().neg(),
  ),
  program('accuracy 16384 x 1000 f32', [f(16384, 1000), below(1000, 'i32', 16384)], 20, (_, x, t) =>
    x.argmax({ axis: 1 }).equal(t!).cast('f32').mean(),
  ),
  program('layer norm 8192 x 4096 bf16', [of('bf16', 8192, 4096)], 10, (_, x) =>
    x.cast('f32').layerNorm(1).cast('bf16'),
  ),
  program('unit rows 65536 x 256 f32', [f(65536, 256)], 20, (_, x) => x.div(x.norm({ axis: 1, keepdims: true }))),
  program('batch norm training 64x256x28x28 f32', [f(64, 256, 28, 28)], 10, (_, x) => {
    const axis = [0, 2, 3];
    const d = x.sub(x.mean({ axis, keepdims: true }));
    return d.mul(d.mul(d).mean({ axis, keepdims: true }).add(1e-5).rsqrt());
  }),
];

const reductions: ClassProgram[] = [
  program('sum of rows 1000 x 3000 f32', [f(1000, 3000)], 50, (_, x) => x.sum({ axis: 1 })),
  program('sum of rows 100000 x 37 f32', [f(100_000, 37)], 50, (_, x) => x.sum({ axis: 1 })),
  program('max of triples 5M x 3 f32', [f(5_000_000, 3)], 20, (_, x) => x.max({ axis: 1 })),
  program('sum over the middle 1000x1000x37 f32', [f(1000, 1000, 37)], 20, (_, x) => x.sum({ axis: 1 })),
  program('max over columns 3000 x 5000 f32', [f(3000, 5000)], 20, (_, x) => x.max({ axis: 0 })),
  program('argmin over columns 4096² f32', [f(4096, 4096)], 20, (_, x) => x.argmin({ axis: 0 })),
  program('product of rows 8192 x 2048 f32', [f(8192, 2048)], 20, (_, x) => x.mul(0.1).add(1).prod({ axis: 1 })),
  program('any of rows 16384 x 4096 bool', [below(2, 'bool', 16384, 4096)], 20, (_, x) => x.any({ axis: 1 })),
  program('channel means 64x256x56x56 f32', [f(64, 256, 56, 56)], 10, (_, x) => x.mean({ axis: [0, 2, 3] })),
  program('means of images 64x256x56x56 f32', [f(64, 256, 56, 56)], 10, (_, x) => x.mean({ axis: [2, 3] })),
  program('standard deviation of 64M f32', [f(64 << 20)], 10, (_, x) => x.std()),
  program('positive ones of 64M f32', [f(64 << 20)], 10, (_, x) => x.greater(0).sum()),
  program('(x - min) / (max - min) 16M f32', [f(16 << 20)], 10, (_, x) => {
    const least = x.min();
    return x.sub(least).div(x.max().sub(least));
  }),
  program('sum of rows 16384 x 4096 bf16', [of('bf16', 16384, 4096)], 20, (_, x) => x.sum({ axis: 1 })),
  program('sum over columns 16384 x 4096 bf16', [of('bf16', 16384, 4096)], 20, (_, x) => x.sum({ axis: 0 })),
  program('sum of 16M f64', [of('f64', 16 << 20)], 10, (_, x) => x.sum()),
  program('softmax 4096 x 1024 f64', [of('f64', 4096, 1024)], 10, (_, x) => x.softmax(1)),
  program('sum of rows 16384 x 4096 u8', [below(200, 'u8', 16384, 4096)], 20, (_, x) =>
    x.sum({ axis: 1, dtype: 'i32' }),
  ),
  program('max of 64M i32', [below(1 << 30, 'i32', 64 << 20)], 10, (_, x) => x.max()),
  program('cumsum over the middle 64x1024x256 f32', [f(64, 1024, 256)], 10, (_, x) => x.cumsum(1)),
  program('cumsum of rows 4096² f32', [f(4096, 4096)], 10, (_, x) => x.cumsum(1)),
  program('cumsum over columns 4096² f32', [f(4096, 4096)], 10, (_, x) => x.cumsum(0)),
];

const products: ClassProgram[] = [
  program('1M x 16 · 16 x 16 f32', [f(1 << 20, 16), f(16, 16)], 20, (_, a, b) => a.matmul(b!)),
  program('16 x 1M · 1M x 16 f32', [f(1 << 20, 16), f(1 << 20, 16)], 20, (_, a, b) => a.transpose().matmul(b!)),
  program('covariance 100000 x 64 f32', [f(100_000, 64)], 20, (_, x) => {
    const d = x.sub(x.mean({ axis: 0 }));
    return d.transpose().matmul(d).div(100_000);
  }),
  program('65536 x 256 · 256 x 10 + b f32', [f(65536, 256), f(256, 10), f(10)], 20, (_, a, b, c) =>
    a.matmul(b!).add(c!),
  ),
  program('matrix 8192² · vector f32', [f(8192, 8192), f(8192)], 10, (_, a, b) => a.matmul(b!)),
  program('vector · matrix 8192² f32', [f(8192), f(8192, 8192)], 10, (_, a, b) => a.matmul(b!)),
  program('matrix 8192² · vector bf16', [of('bf16', 8192, 8192), of('bf16', 8192)], 10, (_, a, b) => a.matmul(b!)),
  program('4096 vectors · matrices 128² f32', [f(4096, 128), f(4096, 128, 128)], 5, (rt, a, b) =>
    rt.einsum('bi,bij->bj', a, b!),
  ),
  program('scores bhqd,bhkd->bhqk 8x16x512x64 f32', [f(8, 16, 512, 64), f(8, 16, 512, 64)], 5, (rt, a, b) =>
    rt.einsum('bhqd,bhkd->bhqk', a, b!),
  ),
  program('einsum ijk,jkl->il 128x256x64, 512 f32', [f(128, 256, 64), f(256, 64, 512)], 10, (rt, a, b) =>
    rt.einsum('ijk,jkl->il', a, b!),
  ),
  program('outer product 8192 f32', [f(8192), f(8192)], 10, (_, a, b) => a.outer(b!)),
  program('32 x 4096 · 4096² bf16', [of('bf16', 32, 4096), of('bf16', 4096, 4096)], 20, (_, a, b) => a.matmul(b!)),
  program('product 4096² bf16', [of('bf16', 4096, 4096), of('bf16', 4096, 4096)], 10, (_, a, b) => a.matmul(b!)),
  program('product 512² f32', [f(512, 512), f(512, 512)], 50, (_, a, b) => a.matmul(b!)),
  program('product 1000² f32', [f(1000, 1000), f(1000, 1000)], 20, (_, a, b) => a.matmul(b!)),
  program('product 1024² f64', [of('f64', 1024, 1024), of('f64', 1024, 1024)], 10, (_, a, b) => a.matmul(b!)),
  program('nearest of 4096 to 4096 points in 3-D f32', [f(4096, 3), f(4096, 3)], 10, (_, a, b) => {
    const d = a.reshape([4096, 1, 3]).sub(b!);
    return d.mul(d).sum({ axis: 2 }).min({ axis: 1 });
  }),
];

const moves: ClassProgram[] = [
  program('concat of 4 x 4096x1024 f32', [f(4096, 1024), f(4096, 1024), f(4096, 1024), f(4096, 1024)], 20, (rt, ...x) =>
    rt.concat(x, 1),
  ),
  program('stack of two 4096² last f32', [f(4096, 4096), f(4096, 4096)], 10, (rt, a, b) => rt.stack([a, b!], 2)),
  program('pad 4096² by 1 f32', [f(4096, 4096)], 20, (_, x) =>
    x.pad([
      [1, 1],
      [1, 1],
    ]),
  ),
  program('difference to the neighbour 8192² f32', [f(8192, 8192)], 10, (_, x) => x.sub(x.roll(1, 1))),
  program('flip of rows 4096² f32', [f(4096, 4096)], 20, (_, x) => x.flip(1)),
  program('NCHW to NHWC 32x128x64x64 f32', [f(32, 128, 64, 64)], 10, (_, x) => x.permute([0, 2, 3, 1])),
  program('heads apart 8x1024x16x64 bf16', [of('bf16', 8, 1024, 16, 64)], 20, (_, x) => x.permute([0, 2, 1, 3])),
  program('lower triangle 8192² f32', [f(8192, 8192)], 10, (_, x) => x.tril()),
  program('twice as large 32x64x56x56 f32', [f(32, 64, 56, 56)], 10, (_, x) => x.repeat(2, 2).repeat(2, 3)),
  program('bytes of images to f32 64x512x512x3', [below(256, 'u8', 64, 512, 512, 3)], 10, (_, x) =>
    x
      .permute([0, 3, 1, 2])
      .cast('f32')
      .mul(1 / 255)
      .sub(0.5)
      .mul(4),
  ),
  program('take along rows 4096² f32', [f(4096, 4096), below(4096, 'i32', 4096, 4096)], 10, (_, x, i) =>
    x.takeAlongAxis(i!, 1, { mode: 'clip' }),
  ),
  program('bag of words 100k x 64, 16384 x 32', [f(100_000, 64), below(100_000, 'i32', 16384, 32)], 10, (_, x, i) =>
    x.gather(i!, 0, { mode: 'clip' }).sum({ axis: 1 }),
  ),
  program('sums of groups 262144 x 64 into 4096', [f(262144, 64), below(4096, 'i32', 262144)], 5, (_, x, i) =>
    x.segmentSum(i!, 4096),
  ),
  program('sort of 4M i32', [below(1 << 30, 'i32', 4 << 20)], 5, (_, x) => x.sort()),
];

/** What is read of a spectrum is its power, one part of it, or what comes back. */
const transforms: ClassProgram[] = [
  program('rfft 1024 x 4096 f32', [f(1024, 4096)], 5, (_, x) => x.rfft({ axis: 1 }).real),
  program('rfft 4096 x 1024 f32', [f(4096, 1024)], 20, (_, x) => x.rfft().real),
  program('rfft of 1M f32', [f(1 << 20)], 20, (_, x) => x.rfft().real),
  program('rfft of 64k f32', [f(1 << 16)], 20, (_, x) => x.rfft().real),
  program('rfft 1024 x 4096 f64', [of('f64', 1024, 4096)], 10, (_, x) => x.rfft().real),
  program('rfft 4096 x 1000 f32', [f(4096, 1000)], 20, (_, x) => x.rfft().real),
  program('rfft 4096 x 1009 f32', [f(4096, 1009)], 10, (_, x) => x.rfft().real),
  program('fft 4096 x 1024 f32, complex', [f(4096, 1024), f(4096, 1024)], 10, (_, x, y) => x.fft({ imag: y! }).real),
  program('fft of columns 4096 x 1024 f32', [f(4096, 1024)], 10, (_, x) => x.fft({ axis: 0 }).real),
  program('power spectrum 4096 x 1024 f32', [f(4096, 1024)], 20, (_, x) => {
    const { real, imag } = x.rfft();
    return real.mul(real).add(imag.mul(imag));
  }),
  program('2-D fft of 2048² f32', [f(2048, 2048)], 10, (_, x) => {
    const { real, imag } = x.fft();
    return real.fft({ imag, axis: 0 }).real;
  }),
  program('convolution by fft 256 x 16384 f32', [f(256, 16384), f(16384)], 10, (_, x, h) => {
    const [a, b] = [x.rfft(), h!.rfft()];
    const real = a.real.mul(b.real).sub(a.imag.mul(b.imag));
    return real.irfft({ imag: a.real.mul(b.imag).add(a.imag.mul(b.real)) });
  }),
];

const models: ClassProgram[] = [
  program('depthwise 3x3 of 32x128x56x56 f32', [f(32, 128, 56, 56), f(128, 1, 3, 3)], 10, (_, x, w) =>
    x.conv2d(w!, { padding: 1, groups: 128 }),
  ),
  program('convolution 7x7 by 2 of 32x3x224x224, 64 out f32', [f(32, 3, 224, 224), f(64, 3, 7, 7)], 5, (_, x, w) =>
    x.conv2d(w!, { padding: 3, stride: 2 }),
  ),
  program('convolution 1x1 of 32x256x56x56, 64 out f32', [f(32, 256, 56, 56), f(64, 256, 1, 1)], 5, (_, x, w) =>
    x.conv2d(w!),
  ),
  program('convolution 3x3 of 16x64x56x56, 4 groups f32', [f(16, 64, 56, 56), f(64, 16, 3, 3)], 5, (_, x, w) =>
    x.conv2d(w!, { padding: 1, groups: 4 }),
  ),
  program('mean pool 3x3 by 2 of 64x64x112x112 f32', [f(64, 64, 112, 112)], 10, (_, x) =>
    x.avgPool([3, 3], { stride: 2 }),
  ),
  program('moving average of 9, 256 x 65536 f32', [f(256, 1, 65536), f(1, 1, 9)], 10, (_, x, w) => x.conv1d(w!)),
  program('x · sigmoid(x) 64M bf16', [of('bf16', 64 << 20)], 10, (_, x) => x.mul(x.sigmoid())),
  program('gelu with tanh 16M f32', [f(16 << 20)], 10, (_, x) =>
    x.mul(x.mul(x).mul(0.044715).add(1).mul(x).mul(0.7978845608028654).tanh().add(1)).mul(0.5),
  ),
  program('silu(a) · b 8192 x 4096 bf16', [of('bf16', 8192, 4096), of('bf16', 8192, 4096)], 10, (_, a, b) =>
    a.mul(a.sigmoid()).mul(b!),
  ),
  program(
    'rotary 8x32x1024x128 bf16',
    [of('bf16', 8, 32, 1024, 128), of('bf16', 1024, 128), of('bf16', 1024, 128)],
    10,
    (rt, x, cos, sin) => {
      const [a, b] = x.split(2, 3);
      return x.mul(cos!).add(rt.concat([b!.neg(), a!], 3).mul(sin!));
    },
  ),
  program('add + layer norm 8192 x 1024 bf16', [of('bf16', 8192, 1024), of('bf16', 8192, 1024)], 20, (_, a, b) =>
    a.add(b!).cast('f32').layerNorm(1).cast('bf16'),
  ),
];

export const programs: readonly ClassProgram[] = [
  ...rows,
  ...reductions,
  ...products,
  ...moves,
  ...transforms,
  ...models,
  ...halves,
  ...grids,
];
