import { expect, it } from 'vitest';
import type { Scatter } from '../../../kernel/kernel.ts';
import { createRuntime } from '../../../runtime/create.ts';
import type { Traits } from '../plan.ts';
import { renderScatter } from './scatter.ts';

const traits: Traits = {
  cpu: false,
  f16: true,
  subgroup: 0,
  maxWorkgroupsPerDimension: 65_535,
  maxInvocations: 256,
  workgroupBytes: 16_384,
  exactDivision: false,
  keepsNaN: false,
};
const sumOf = (type: Scatter['type']): Scatter => ({
  kind: 'routine',
  op: 'scatter',
  name: `scatter_sum_${type}`,
  type,
  combine: 'sum',
  outer: 1,
  length: 4,
  inner: 1,
  count: 3000,
  perElement: false,
  clips: false,
  uniform: false,
  estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
});

it('updates of f16 are combined in f32, in order, and rounded once', () => {
  const take = renderScatter(sumOf('f16'), traits).passes.at(-1)!.source;
  expect(take).toContain('var acc0 = f32(base_at(i32(item)));');
  expect(take).toContain('acc0 = (acc0 + next);');
  expect(take).toContain('= f16(acc0);');
});

// Rounded after each, 2048 + 1 + 1 would be 2048 in f16, and 256 + 1 + 1 256 in bf16.
it.each([
  ['cpu', 'f16', 2048],
  ['cpu', 'bf16', 256],
  ['reference', 'f16', 2048],
  ['reference', 'bf16', 256],
] as const)('which is what %s does with %s', async (device, dtype, large) => {
  await using rt = await createRuntime({ devices: [device] });
  const base = rt.tensor([large, 1], [2], { dtype });
  const ones = rt.tensor([1, 1, 1], [3], { dtype });
  const sum = base.scatter(rt.tensor([0, 0, 1], [3], { dtype: 'i32' }), ones, { mode: 'add' });
  expect([...(await sum.cast('f32').data())]).toEqual([large + 2, 2]);
});
