// The work that is measured, and what GPUForge must reach beside whom.
//
// `bounds`: our median must be at most `times` × the median of `of` (one library, or the best JavaScript peer).
// `unit` is how times are shown; a work counts as one op however many calls it makes.

export const js = ['tfjs-cpu', 'tfjs-wasm', 'jax-js', 'numpy-ts'];

export const works = [
  {
    name: 'add5',
    title: 'add of 5 f32, result read',
    unit: 'µs',
    bounds: [
      { times: 2, of: 'numpy' },
      { times: 0.3, of: 'best-js' },
    ],
  },
  ...[100, 1000, 4096, 16_384].map((n) => ({
    name: `chain${n}`,
    title: `tanh((x*.99+.5)*x-.1), ${n} f32`,
    unit: 'µs',
    bounds: [{ times: 1, of: 'numpy' }],
    only: ['numpy'],
  })),
  { name: 'sum1000', title: 'sum of 1000 f32', unit: 'µs', bounds: [{ times: 1, of: 'numpy' }], only: ['numpy'] },
  {
    name: 'concat62',
    title: 'concat of 62 × 100k f32',
    unit: 'ms',
    bytes: 2 * 4 * 62 * 1e5,
    bounds: [{ times: 1, of: 'numpy' }],
    only: ['numpy'],
  },
  {
    name: 'xor16m',
    title: 'xor of 16M u32, ready buffer',
    unit: 'ms',
    bytes: 3 * 4 * 2 ** 24,
    bounds: [{ times: 0.8, of: 'numpy' }],
  },
  {
    name: 'chain4m',
    title: 'tanh((x*.99+.5)*x-.1), 4M f32',
    unit: 'ms',
    bytes: 2 * 4 * 2 ** 22,
    bounds: [{ times: 0.6, of: 'numpy' }],
  },
  {
    name: 'field',
    title: 'field step 32³×64, six rolls',
    unit: 'ms',
    bytes: 2 * 4 * 2 ** 21,
    bounds: [{ times: 0.3, of: 'numpy' }],
  },
  { name: 'sum16m', title: 'sum of 16M f32', unit: 'ms', bytes: 4 * 2 ** 24, bounds: [{ times: 0.6, of: 'numpy' }] },
  {
    name: 'matmul1024',
    title: 'matmul 1024² f32, own WASM',
    unit: 'ms',
    flops: 2 * 1024 ** 3,
    bounds: [{ times: 0.6, of: 'best-js' }],
  },
  {
    name: 'matmul1024-blas',
    title: 'matmul 1024² f32, system BLAS',
    unit: 'ms',
    flops: 2 * 1024 ** 3,
    bounds: [{ times: 1.1, of: 'numpy' }],
    ours: 'gpuforge-blas',
    peersAs: 'matmul1024',
    only: ['numpy'],
  },
  {
    name: 'matmul256x10',
    title: 'ten 256² matmuls, own WASM',
    unit: 'ms',
    flops: 20 * 256 ** 3,
    bounds: [{ times: 0.25, of: 'best-js' }],
  },
  {
    name: 'matmul256x10-blas',
    title: 'ten 256² matmuls, system BLAS',
    unit: 'ms',
    flops: 20 * 256 ** 3,
    bounds: [{ times: 0.25, of: 'best-js' }],
    ours: 'gpuforge-blas',
    peersAs: 'matmul256x10',
    only: ['numpy', 'tfjs-wasm', 'jax-js'],
  },
];

/** Sizes of the scaling rows, in elements: 1K to 64M. */
export const sizes = [10, 12, 14, 16, 18, 20, 22, 24, 26].map((k) => 2 ** k);
export const scaled = ['chain', 'sum'];
