import { expect, it } from 'vitest';
import { Exprs } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { ReduceOp } from '../../../kernel/ops.ts';
import type { Traits } from '../plan.ts';
import { nothingInPlace } from './buffers.ts';
import { renderReduction } from './reduce.ts';

const traits: Traits = {
  cpu: false,
  f16: false,
  subgroup: 32,
  maxWorkgroupsPerDimension: 65535,
  maxInvocations: 256,
  workgroupBytes: 16384,
  exactDivision: true,
  keepsNaN: false,
};

const fold = (op: ReduceOp, n: number, type: 'f32' | 'bool', with_: Partial<Traits> = {}): string => {
  const b = new Exprs();
  const result = op === 'argmax' ? 'i32' : type;
  const kernel: Kernel = {
    kind: 'kernel',
    name: op,
    space: [3],
    reduced: [n],
    accumulators: [{ op, type, value: b.load(type, 0, b.axis(1, n)) }],
    inputs: [{ type, elements: n }],
    outputs: [{ type: result, value: b.acc(result, 0) }],
    scalars: [],
    inPlace: [],
    estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
  };
  return renderReduction(kernel, { ...traits, ...with_ }, nothingInPlace).passes[0]!.source;
};

/** How far apart the threads are that join, level by level. */
const distances = (source: string): number[] =>
  [...source.matchAll(/\w0\[lid \+ (\d+)u\]|subgroupShuffleDown\(r0, (\d+)u\)/g)].map((m) => Number(m[1] ?? m[2]));

it('joins the same threads in the same order with and without subgroups', () => {
  const [without, with_] = [fold('sum', 4096, 'f32', { subgroup: 0 }), fold('sum', 4096, 'f32')];
  expect(distances(without)).toEqual([128, 64, 32, 16, 8, 4, 2, 1]);
  expect(distances(with_)).toEqual(distances(without));
  expect(without).not.toContain('subgroup');
  expect(with_).toMatch(/^enable subgroups;/);
});

it('shuffles only within the smallest subgroup there may be', () => {
  const source = fold('sum', 4096, 'f32', { subgroup: 8 });
  expect(source.match(/subgroupShuffleDown/g)).toHaveLength(3);
  expect(source.match(/workgroupBarrier/g)).toHaveLength(6);
});

it('shuffles both the extreme and its position', () => {
  expect(fold('argmax', 4096, 'f32').match(/subgroupShuffleDown/g)).toHaveLength(10);
});

it('keeps truth values in workgroup memory, since they cannot be shuffled', () => {
  expect(fold('any', 4096, 'bool')).not.toContain('subgroupShuffleDown');
});
