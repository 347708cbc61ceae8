// The work that is measured on WebGPU, and what GPUForge must reach beside the better of its peers.
//
// `per`: how many ops one run makes; times are per op. `software`: also on software adapters, where the large works would
// take minutes. `absolute`: a bound in ms, for GPUs only. `besides`: WebGPU by hand, shown beside the best peer of that work.

export const works = [
  {
    name: 'tiny200',
    title: 'tiny op in a chain of 200, issued and done',
    unit: 'µs',
    per: 200,
    bounds: [0.15],
    software: true,
  },
  {
    name: 'field100',
    title: 'field step 32³×64, compiled, 100 steps',
    unit: 'µs',
    per: 100,
    bounds: [1],
    absolute: 0.06,
    software: false,
  },
  { name: 'field4', title: 'field step 32³×64, compiled, 4 steps', unit: 'µs', per: 4, bounds: [1], software: 'only' },
  { name: 'matmul512', title: 'matmul 512² f32', unit: 'µs', per: 1, bounds: [1], software: 'only' },
  { name: 'matmul1024', title: 'matmul 1024² f32', unit: 'µs', per: 1, bounds: [1], software: true },
  { name: 'matmul4096', title: 'matmul 4096² f32', unit: 'µs', per: 1, bounds: [1], software: false },
  { name: 'chain4m', title: 'tanh((x*.99+.5)*x-.1), 4M f32', unit: 'µs', per: 1, bounds: [0.2], software: true },
  {
    name: 'copy4m',
    title: 'copy of 4M f32 by hand',
    unit: 'µs',
    per: 1,
    bounds: [],
    besides: 'chain4m',
    software: true,
  },
  {
    name: 'builtin4m',
    title: "the chain by hand with WGSL's tanh",
    unit: 'µs',
    per: 1,
    bounds: [],
    besides: 'chain4m',
    software: true,
  },
  { name: 'softmax4096', title: 'softmax over rows of 4096² f32', unit: 'µs', per: 1, bounds: [1], software: false },
  { name: 'norm8192', title: 'layer norm 8192 × 1024 f32', unit: 'µs', per: 1, bounds: [1], software: false },
  { name: 'transpose4096', title: 'transpose + 1 of 4096² f32', unit: 'µs', per: 1, bounds: [1], software: false },
  { name: 'cumsum4m', title: 'cumulative sum of 4M f32', unit: 'µs', per: 1, bounds: [1], software: false },
  { name: 'attention32', title: 'attention 32×1024×64 f32', unit: 'µs', per: 1, bounds: [1], software: false },
  { name: 'updown10mb', title: '10 MB up, +0, down', unit: 'ms', per: 1, bounds: [0.5], software: true },
  {
    name: 'updown',
    title: '10 MB up, +0, down by hand',
    unit: 'ms',
    per: 1,
    bounds: [],
    besides: 'updown10mb',
    software: true,
  },
];
