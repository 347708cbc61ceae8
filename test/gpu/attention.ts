// Attention over its types, the sizes of heads, lengths that fit no tile, shared operands, and what may happen to scores; for ptxas and
// for the GPU.

import { type Expr, Exprs } from '../../src/kernel/expr.ts';
import type { Attention, BufferParam } from '../../src/kernel/kernel.ts';
import type { RoutineCase } from './routines.ts';

type Size = readonly [batch: number, queries: number, keys: number, depth: number, width: number];

interface Function {
  readonly value: Expr;
  readonly inputs?: readonly BufferParam[];
  readonly scalars?: readonly number[];
}

/** What may happen to scores, by name. */
const functions: Readonly<Record<string, (b: Exprs, size: Size) => Function>> = {
  plain: (b) => ({ value: b.acc('f32', 0) }),
  scaled: (b) => ({ value: b.alu('mul', b.acc('f32', 0), b.scalar('f32', 0)), scalars: [0.25] }),
  // A negative scale: the largest score comes from the smallest product.
  turned: (b) => ({ value: b.alu('mul', b.scalar('f32', 0), b.acc('f32', 0)), scalars: [-0.5] }),
  // The first query sees no key: its row is NaN.
  causal: (b, [, queries, keys]) => {
    const seen = b.alu('lt', b.axis(2, keys), b.axis(1, queries));
    const scaled = b.alu('mul', b.acc('f32', 0), b.scalar('f32', 0));
    return { value: b.alu('where', seen, scaled, b.scalar('f32', 1)), scalars: [0.25, Number.NEGATIVE_INFINITY] };
  },
  masked: (b, [, queries, keys]) => {
    const at = b.alu('add', b.alu('mul', b.axis(1, queries), b.const('index', keys)), b.axis(2, keys));
    return {
      value: b.alu('add', b.acc('f32', 0), b.load('f32', 0, at)),
      inputs: [{ type: 'f32', elements: queries * keys }],
    };
  },
  // A value by batch and key, of a narrow type, and another by query.
  biased: (b, [batch, queries, keys]) => {
    const byKey = b.alu('add', b.alu('mul', b.axis(0, batch), b.const('index', keys)), b.axis(2, keys));
    const both = b.alu('add', b.cast('f32', b.load('bf16', 0, byKey)), b.load('f32', 1, b.axis(1, queries)));
    return {
      value: b.alu('max', b.alu('sub', b.acc('f32', 0), both), b.const('f32', -3)),
      inputs: [
        { type: 'bf16', elements: batch * keys },
        { type: 'f32', elements: queries },
      ],
    };
  },
};

export function attention(
  type: 'f32' | 'f16' | 'bf16',
  size: Size,
  name: keyof typeof functions & string,
  more: Partial<Attention> = {},
): RoutineCase {
  const [batch, queries, keys, depth, width] = size;
  const { value, inputs = [], scalars = [] } = functions[name]!(new Exprs(), size);
  const routine: Attention = {
    kind: 'routine',
    op: 'attention',
    name: `attention_${type}_${size.join('x')}_${name}`,
    type,
    batch,
    batchQ: batch,
    batchK: batch,
    batchV: batch,
    queries,
    keys,
    depth,
    width,
    scores: { inputs, scalars: scalars.map(() => 'f32' as const), output: { type: 'f32', value } },
    estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
    ...more,
  };
  const shared = `${routine.batchQ}${routine.batchK}${routine.batchV}`;
  return {
    routine: { ...routine, name: `${routine.name}_${shared}` },
    buffers: [
      { type, elements: routine.batchQ * queries * depth },
      { type, elements: routine.batchK * keys * depth },
      { type, elements: routine.batchV * keys * width },
      ...inputs,
      { type, elements: batch * queries * width },
    ],
    outputs: 1,
    tolerance: type === 'f32' ? 2e-5 : type === 'f16' ? 4e-3 : 2e-2,
    mild: true,
    scalars,
  };
}

/** A value that most queries do not see is infinite: times their weight of 0 it is NaN all the same. */
function infinite(type: 'f32' | 'bf16'): RoutineCase {
  const [size, key, column] = [[2, 300, 300, 64, 64] as const, 250, 3];
  const made = attention(type, size, 'causal');
  return {
    ...made,
    routine: { ...made.routine, name: `${made.routine.name}_infinite` },
    infinite: [[2, key * size[4] + column]],
  };
}

export function attentionCases(): RoutineCase[] {
  const cases: RoutineCase[] = [];
  const names = Object.keys(functions);
  for (const type of ['f32', 'f16', 'bf16'] as const) {
    for (const name of names) {
      cases.push(attention(type, [2, 128, 128, 64, 64], name), attention(type, [3, 70, 45, 32, 24], name));
      cases.push(attention(type, [2, 150, 201, 64, 64], name));
    }
    for (const head of [8, 16, 40, 80, 96, 128, 136, 256])
      cases.push(attention(type, [2, 33, 65, head, head], names[head % names.length]!));
    cases.push(attention(type, [2, 33, 300, 128, 16], 'scaled'), attention(type, [2, 33, 65, 16, 128], 'causal'));
    for (const more of [{ batchK: 1 }, { batchQ: 1 }, { batchV: 1 }, { batchQ: 1, batchK: 1, batchV: 1 }])
      cases.push(attention(type, [3, 20, 24, 24, 40], 'masked', more));
    cases.push(attention(type, [1, 1, 1, 8, 8], 'plain'), attention(type, [1, 1, 500, 64, 64], 'scaled'));
    cases.push(attention(type, [5, 300, 1, 64, 64], 'biased'));
  }
  cases.push(infinite('f32'), infinite('bf16'));
  return cases;
}
