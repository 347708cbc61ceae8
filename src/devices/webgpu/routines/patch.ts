// Merges bytes into one word of a buffer: for writes that begin or end within a word.

import type { RawKernel } from '../../../kernel/kernel.ts';

export const patchKernel: RawKernel = {
  kind: 'routine',
  op: 'raw',
  name: 'patch_word',
  language: 'wgsl',
  source: `@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@group(0) @binding(1) var<uniform> scalars: vec4<u32>;
@compute @workgroup_size(1)
fn main() {
  let mask = scalars.y;
  words[scalars.x] = (words[scalars.x] & ~mask) | (scalars.z & mask);
}
`,
  entry: 'main',
  inputs: [],
  outputs: [{ type: 'u32', elements: 1 }],
  scalars: ['u32', 'u32', 'u32'],
  grid: [1, 1, 1],
  block: [1, 1, 1],
  estimate: { flops: 0, bytesRead: 4, bytesWritten: 4 },
};
