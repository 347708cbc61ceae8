import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../test/gpu/build.ts';
import { sizeOf } from '../base/shape.ts';
import { createReferenceDevice } from '../devices/reference/device.ts';
import type { Kernel } from './kernel.ts';
import { commonSizes, refine } from './refine.ts';

function run(kernel: Kernel): Float32Array {
  const device = createReferenceDevice();
  const inputs = kernel.inputs.map(({ elements }, slot) => {
    const b = device.allocate(4 * elements);
    device.write(b, new Uint8Array(Float32Array.from({ length: elements }, (_, i) => Math.sin(i * 7.1 + slot)).buffer));
    return b;
  });
  const output = device.allocate(4 * sizeOf(kernel.space));
  device.launch(device.prepare(kernel), [...inputs, output], []);
  return new Float32Array(device.readSync!(output).slice().buffer);
}

describe('sizes that two shapes have in common', () => {
  it.each([
    [
      [128, 8192],
      [4, 256, 1024],
      [4, 32, 8, 1024],
    ],
    [[6, 4], [24], [6, 4]],
    [
      [1, 6, 1],
      [2, 3],
      [2, 3],
    ],
    [[6, 4], [4, 6], null],
    [[6, 4], [6, 5], null],
  ] as const)('%j and %j: %j', (a, b, want) => {
    expect(commonSizes(a, b)).toEqual(want);
    expect(commonSizes(b, a)).toEqual(want);
  });
});

describe('a kernel with its axes split', () => {
  it('has the same values in the same order', () => {
    const k = new KernelBuilder([6, 8]);
    const column = k.at(k.input('f32', 8), k.axis(1));
    const row = k.at(k.input('f32', 3), k.op('idiv', k.axis(0), k.index(2)));
    k.output(k.op('add', k.op('mul', k.whole('f32'), column), row));
    const kernel = k.done('scaled');
    const fine = refine(kernel, [3, 2, 4, 2]);
    expect(fine.space).toEqual([3, 2, 4, 2]);
    expect(run(fine)).toEqual(run(kernel));
  });

  it('reduces the same positions', () => {
    const k = new KernelBuilder([4], [12]);
    k.output(k.reduce('sum', k.whole('f32')));
    const kernel = k.done('sum');
    const fine = refine(kernel, [2, 2, 3, 4]);
    expect([fine.space, fine.reduced]).toEqual([
      [2, 2],
      [3, 4],
    ]);
    expect(run(fine)).toEqual(run(kernel));
  });

  it('is itself where nothing is split', () => {
    const kernel = new KernelBuilder([4], [12]).done('none');
    expect(refine(kernel, [4, 12])).toBe(kernel);
  });
});
