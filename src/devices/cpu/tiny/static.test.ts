import { expect, it } from 'vitest';
import { Exprs } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { compileTiny } from './compile.ts';

it('computes the shared parts of a static expression once', () => {
  const b = new Exprs();
  let x = b.cast('u32', b.axis(0, 4));
  // As a tree this has 2^64 leaves.
  for (let i = 0; i < 64; i++) x = b.alu('add', x, b.alu('xor', x, b.const('u32', i + 1)));
  const kernel: Kernel = {
    kind: 'kernel',
    name: 'web_u32_4',
    space: [4],
    reduced: [],
    accumulators: [],
    outputs: [{ type: 'u32', value: x }],
    inputs: [],
    scalars: [],
    inPlace: [],
    estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
  };
  expect(compileTiny(kernel).work).toBe(4);
});
