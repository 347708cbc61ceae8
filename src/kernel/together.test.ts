import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../test/gpu/build.ts';
import { stencil } from '../../test/gpu/stencils.ts';
import { sizeOf } from '../base/shape.ts';
import { createReferenceDevice } from '../devices/reference/device.ts';
import type { Kernel } from './kernel.ts';
import { alone, strideOf, together } from './together.ts';
import { operands } from './walk.ts';

/** The outputs of a kernel of f32, on inputs that are all different. */
function run(kernel: Kernel): Float32Array[] {
  const device = createReferenceDevice();
  const inputs = kernel.inputs.map(({ elements }, slot) => {
    const b = device.allocate(4 * elements);
    const data = Float32Array.from({ length: elements }, (_, i) => Math.sin(i * 7.1 + slot));
    device.write(b, new Uint8Array(data.buffer));
    return b;
  });
  const outputs = kernel.outputs.map(() => device.allocate(4 * sizeOf(kernel.space)));
  device.launch(device.prepare(kernel), [...inputs, ...outputs], []);
  return outputs.map((b) => new Float32Array(device.readSync!(b).slice().buffer));
}

function loads(kernel: Kernel): number {
  const seen = new Set<object>();
  const open = [...kernel.accumulators.map((a) => a.value), ...kernel.outputs.map((o) => o.value)];
  for (let e = open.pop(); e; e = open.pop()) {
    if (seen.has(e)) continue;
    seen.add(e);
    open.push(...operands(e));
  }
  return [...seen].filter((e) => (e as { kind: string }).kind === 'load').length;
}

describe.each([
  ['elementwise', [4, 6, 8, 3], []],
  ['a reduction', [4, 6, 8], [5]],
] as const)('neighbours of %s computed together', (_, space, reduced) => {
  it.each([
    [[[0, 2]]],
    [[[0, 4]]],
    [[[1, 2]]],
    [[[1, 3]]],
    [[[2, 4]]],
    [[[2, 8]]],
    [
      [
        [2, 4],
        [1, 2],
      ],
    ],
    [
      [
        [0, 2],
        [2, 2],
        [1, 3],
      ],
    ],
  ] as [number, number][][][])('along %j (axis, how many) have the values they have alone', (steps) => {
    const kernel = stencil(space, reduced);
    const whole = run(kernel);
    const near = steps.reduce((n, [axis, count]) => together(n, axis, count), alone(kernel));
    const { kernel: shared, count: n, offsets } = near;
    expect(n).toBe(steps.reduce((product, [, count]) => product * count, 1));
    expect(shared.outputs).toHaveLength(n * kernel.outputs.length);
    const parts = run(shared);
    const got = whole.map((w) => new Float32Array(w.length).fill(Number.NaN));
    parts.forEach((part, k) => {
      const [output, neighbour] = [k % whole.length, Math.floor(k / whole.length)];
      part.forEach((v, position) => {
        let [rest, at] = [position, 0];
        for (let axis = space.length - 1; axis >= 0; axis--) {
          at += (rest % shared.space[axis]!) * strideOf(near, axis);
          rest = Math.floor(rest / shared.space[axis]!);
        }
        got[output]![at + offsets[neighbour]!] = v;
      });
    });
    expect(got).toEqual(whole);
  });
});

describe('what neighbours have in common', () => {
  it('is read once: the sum of 27 values takes 9 loads for each plane of neighbours', () => {
    const kernel = stencil([8, 8, 8, 4], []);
    expect(loads(kernel)).toBe(27);
    // Two neighbours share two of their three planes; the wrapped ends are planes of their own.
    expect(loads(together(alone(kernel), 2, 2).kernel)).toBe(9 * 4);
    expect(loads(together(alone(kernel), 2, 4).kernel)).toBe(9 * 6);
  });

  it('may be nothing', () => {
    const k = new KernelBuilder([8, 8]);
    k.output(k.op('add', k.whole('f32'), k.whole('f32')));
    expect(loads(together(alone(k.done('add')), 0, 4).kernel)).toBe(8);
  });
});
