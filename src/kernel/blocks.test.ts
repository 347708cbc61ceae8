import { describe, expect, it } from 'vitest';
import { drawn } from '../../test/gpu/draws.ts';
import { sizeOf } from '../base/shape.ts';
import { createReferenceDevice } from '../devices/reference/device.ts';
import { inBlocks } from './blocks.ts';
import type { Kernel } from './kernel.ts';
import type { Together } from './together.ts';
import { below } from './walk.ts';

function run(kernel: Kernel): Float32Array[] {
  const device = createReferenceDevice();
  const inputs = kernel.inputs.map(({ elements }, slot) => {
    const b = device.allocate(4 * elements);
    device.write(b, new Uint8Array(Float32Array.from({ length: elements }, (_, i) => Math.sin(i * 7.1 + slot)).buffer));
    return b;
  });
  const outputs = kernel.outputs.map(() => device.allocate(4 * sizeOf(kernel.space)));
  device.launch(device.prepare(kernel), [...inputs, ...outputs], []);
  return outputs.map((b) => new Float32Array(device.readSync!(b).slice().buffer));
}

/** What all neighbours write, where they write it. */
function written({ kernel, count, offsets }: Together): Float32Array {
  const stride = offsets[1]!;
  const got = new Float32Array(sizeOf(kernel.space) * count).fill(Number.NaN);
  run(kernel).forEach((part, neighbour) => {
    part.forEach((v, position) => {
      got[Math.floor(position / stride) * count * stride + (position % stride) + neighbour * stride] = v;
    });
  });
  return got;
}

const operations = ({ outputs }: Kernel): number =>
  [...below(outputs.map((o) => o.value))].filter((e) => e.kind === 'alu' && e.type !== 'index').length;

describe('stretches of a block computed together', () => {
  it.each([
    ['of the only axis', [512], 2],
    ['of one whole block', [128], 2],
    ['of a block and a half', [192], 3],
    ['of the last of several axes', [3, 256], 2],
    ['that are rows', [6, 64], 2],
    ['that are a few rows', [8, 32], 2],
    ['that are an axis of their own', [4, 2, 64], 2],
  ] as const)('%s have the values they have alone', (_, space, count) => {
    const kernel = drawn(space);
    const near = inBlocks(kernel)!;
    expect(near.count).toBe(count);
    expect(written(near)).toEqual(run(kernel)[0]);
  });

  it('of any size have the values they have alone', () => {
    const sizes = Array.from({ length: 44 }, (_, i) => 16 * (i + 1));
    const shared = sizes.flatMap((n) => inBlocks(drawn([n])) ?? []);
    expect(shared.length).toBeGreaterThan(5);
    for (const near of shared) expect(written(near)).toEqual(run(drawn([sizeOf(near.kernel.space) * near.count]))[0]);
  });

  it('share what they have in common', () => {
    const kernel = drawn([512]);
    expect(operations(inBlocks(kernel)!.kernel)).toBeLessThan(1.2 * operations(kernel));
  });

  it('are left alone where blocks do not fit, are too short, or have nothing in common', () => {
    // 240 is a block and most of another: the size over that of a block is a fraction.
    for (const n of [500, 240, 320]) expect(inBlocks(drawn([n]))).toBeNull();
    // Shorter than two stretches: a division leaves the number of the stretch, and the last one is not whole.
    for (const n of [65, 100, 127]) expect(inBlocks(drawn([n]))).toBeNull();
    expect(inBlocks(drawn([512], { stretch: 4 }))).toBeNull();
    expect(inBlocks(drawn([512], { rounds: 3 }))).toBeNull();
    expect(inBlocks(drawn([512], { shared: false }))).toBeNull();
  });
});
