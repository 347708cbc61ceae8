// Programs of simulations and of data: stencils, other semirings, doubles, positions, quantised values.

import { below, type ClassProgram, f, of, program } from './program.ts';

export const grids: ClassProgram[] = [
  program('Laplacian of 8192² f32', [f(8192, 8192)], 10, (_, x) =>
    x.roll(1, 0).add(x.roll(-1, 0)).add(x.roll(1, 1)).add(x.roll(-1, 1)).sub(x.mul(4)),
  ),
  program('Laplacian of 384³ f32', [f(384, 384, 384)], 10, (_, x) =>
    x
      .roll(1, 0)
      .add(x.roll(-1, 0))
      .add(x.roll(1, 1))
      .add(x.roll(-1, 1))
      .add(x.roll(1, 2))
      .add(x.roll(-1, 2))
      .sub(x.mul(6)),
  ),
  program('gradient length of 4096² f64', [of('f64', 4096, 4096)], 10, (_, x) => {
    const [a, b] = [x.roll(-1, 0).sub(x.roll(1, 0)), x.roll(-1, 1).sub(x.roll(1, 1))];
    return a.mul(a).add(b.mul(b)).sqrt();
  }),
  program('distances by absolute values 1024 x 1024 of 64, f32', [f(1024, 64), f(1024, 64)], 10, (_, a, b) =>
    a.reshape([1024, 1, 64]).sub(b!).abs().sum({ axis: 2 }),
  ),
  program('shortest paths over one stop 512³ f32', [f(512, 512), f(512, 512)], 10, (_, a, b) =>
    a.reshape([512, 512, 1]).add(b!).min({ axis: 1 }),
  ),
  program('one-hot rows 1M x 64 f32', [below(64, 'i32', 1 << 20)], 10, (rt, i) =>
    i
      .reshape([1 << 20, 1])
      .equal(rt.arange(64, { dtype: 'i32' }))
      .cast('f32'),
  ),
  program('weights added to 1,000 places, 16M f32', [below(1000, 'i32', 16 << 20), f(16 << 20)], 5, (_, i, w) =>
    w!.segmentSum(i, 1000),
  ),
  program('16M elements of 64M by position f32', [f(64 << 20), below(64 << 20, 'i32', 16 << 20)], 5, (_, x, i) =>
    x.gather(i!, 0, { mode: 'clip' }),
  ),
  program('to bytes and back 64M f32', [f(64 << 20)], 5, (_, x) =>
    x
      .mul(127)
      .round()
      .clip(-128, 127)
      .mul(1 / 127),
  ),
  program('tanh of 16M f64', [of('f64', 16 << 20)], 5, (_, x) => x.tanh()),
  program('product 2048² f64', [of('f64', 2048, 2048), of('f64', 2048, 2048)], 5, (_, a, b) => a.matmul(b!)),
  program('softmax over the middle 64x1000x256 f32', [f(64, 1000, 256)], 10, (_, x) => x.softmax(1)),
  program('standard deviation of columns 16384 x 4096 f32', [f(16384, 4096)], 10, (_, x) => x.std({ axis: 0 })),
  program('logsumexp of columns 4096² f32', [f(4096, 4096)], 10, (_, x) => x.logsumexp({ axis: 0 })),
  program('running product of rows 4096² f32', [f(4096, 4096)], 10, (_, x) => x.cumprod(1)),
  program('argsort of 4M f32', [f(4 << 20)], 5, (_, x) => x.argsort()),
  program('sort of rows of 65536 x 128 f32', [f(65536, 128)], 10, (_, x) => x.sort(1)),
  program('sums of 64M i32 by 1024', [below(1000, 'i32', 65536, 1024)], 10, (_, x) => x.sum({ axis: 1, dtype: 'i32' })),
  program('complex product 16M f32', [f(16 << 20), f(16 << 20), f(16 << 20), f(16 << 20)], 5, (_, a, b, c, d) =>
    a
      .mul(c!)
      .sub(b!.mul(d!))
      .add(a.mul(d!).add(b!.mul(c!))),
  ),
  program('sin + cos of 64M f32', [f(64 << 20)], 5, (_, x) => x.mul(10).sin().add(x.cos())),
  program('logistic map, 50 steps on 4M f32', [f(4 << 20)], 10, (_, x) => {
    let y = x.abs();
    for (let i = 0; i < 50; i++) y = y.mul(3.7).mul(y.neg().add(1));
    return y;
  }),
  program('convolution 3x3 by 2 of 32x128x56x56, 128 out f32', [f(32, 128, 56, 56), f(128, 128, 3, 3)], 5, (_, x, w) =>
    x.conv2d(w!, { padding: 1, stride: 2 }),
  ),
  program('convolution 3x3 of 32x256x14x14, 256 out f32', [f(32, 256, 14, 14), f(256, 256, 3, 3)], 5, (_, x, w) =>
    x.conv2d(w!, { padding: 1 }),
  ),
];
