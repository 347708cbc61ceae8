import { describe, expect, it } from 'vitest';
import { drawn } from '../../../../test/gpu/draws.ts';
import { Exprs } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Traits } from '../plan.ts';
import { nothingInPlace } from './buffers.ts';
import { dealSpace, renderElementwise } from './elementwise.ts';

const traits: Traits = {
  cpu: false,
  f16: true,
  subgroup: 0,
  maxWorkgroupsPerDimension: 65535,
  maxInvocations: 256,
  workgroupBytes: 16384,
  exactDivision: true,
  keepsNaN: false,
};

const kernelOf = (type: 'f32' | 'f16' | 'bool', n: number): Kernel => {
  const b = new Exprs();
  const x = b.load(type, 0, b.axis(0, n));
  return {
    kind: 'kernel',
    name: 'copy',
    space: [n],
    reduced: [],
    accumulators: [],
    inputs: [{ type, elements: n }],
    outputs: [{ type, value: x }],
    scalars: [],
    inPlace: [0],
    estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
  };
};

describe('elementwise shaders', () => {
  it('read and write four elements at a time', () => {
    const { source } = renderElementwise(kernelOf('f32', 1000), traits, nothingInPlace);
    expect(source).toContain('var<storage, read> in0: array<vec4<f32>, 250>');
    expect(source).toContain('var<storage, read_write> out0: array<vec4<f32>, 250>');
    expect(source).not.toContain('enable f16');
  });

  it('enable f16 only where it is used', () => {
    expect(renderElementwise(kernelOf('f16', 8), traits, nothingInPlace).source).toMatch(/^enable f16;\n/);
  });

  it('bind one buffer for an input that is overwritten', () => {
    const pass = renderElementwise(kernelOf('f32', 8), traits, new Map([[0, 0]]));
    expect(pass.bindings).toEqual([{ from: 'buffer', index: 1, access: 'write' }]);
  });

  it('spread more workgroups than one dimension holds over two', () => {
    const { workgroups } = renderElementwise(kernelOf('f32', 2 ** 28), traits, nothingInPlace);
    expect(workgroups[0]).toBeLessThanOrEqual(65535);
    expect(workgroups[1]).toBe(5);
    expect(workgroups[0] * workgroups[1]).toBeGreaterThanOrEqual(2 ** 28 / 1024);
    expect(workgroups[2]).toBe(1);
  });

  it('bound values by plain comparisons where NaN is kept, and look at the bits where it may not be', () => {
    const b = new Exprs();
    const value = b.alu('max', b.load('f32', 0, b.axis(0, 8)), b.const('f32', -1));
    const kernel = { ...kernelOf('f32', 8), outputs: [{ type: 'f32' as const, value }] };
    const source = (keepsNaN: boolean): string =>
      renderElementwise(kernel, { ...traits, keepsNaN }, nothingInPlace).source;
    expect(source(true)).toContain('select(v0, vec4<f32>((-1.0f)), v0 < vec4<f32>((-1.0f)))');
    expect(source(true)).not.toContain('is_nan');
    expect(source(false)).toContain('is_nan');
  });

  it('compute the stretches of a block together, and store each where it belongs', () => {
    const { source, workgroups } = renderElementwise(drawn([1 << 16]), traits, nothingInPlace);
    expect(source).toContain('let at = i32(start + start / 64u * 64u);');
    expect(source).toContain('out0[u32(at + 64) >> 2u] = ');
    expect(source).toContain('in0: array<vec4<f32>, 16384>');
    expect(workgroups[0]).toBe((1 << 15) / 1024);
  });

  it('have no idle threads on software adapters, and no test for them', () => {
    const small = (cpu: boolean): string =>
      renderElementwise(kernelOf('f32', 64), { ...traits, cpu }, nothingInPlace).source;
    expect(small(true)).toContain('@workgroup_size(16, 1, 1)');
    expect(small(true)).not.toContain('return; }');
    expect(small(false)).toContain('@workgroup_size(64, 1, 1)');
  });
});

describe('how elements are dealt', () => {
  it.each([
    [[100], false, { width: 4, axis: 0 }],
    [[5, 8], false, { width: 4, axis: 1 }],
    [[5, 7], false, { width: 1, axis: null }],
    [[5, 7], true, { width: 4, axis: null }],
    [[5, 1], false, { width: 4, axis: 0 }],
    [[], true, { width: 4, axis: null }],
    [[], false, { width: 1, axis: null }],
  ] as const)('%j, words owned: %j', (space, bytes, deal) => {
    expect(dealSpace(space, bytes)).toEqual(deal);
  });
});
