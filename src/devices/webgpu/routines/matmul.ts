// Products of matrices, with what follows them fused.
//
// Three ways: as a reduction (skinny and small), in tiles with the epilogue applied before the store, and in tiles into scratch with the
// epilogue as a pass of its own: where bytes are stored at columns that share words, and where there are too few tiles for a GPU.
// Then several workgroups share the depth of a tile, and the last pass adds their sums up.

import { accumulatorFor, type DType } from '../../../base/dtype.ts';
import { behind } from '../../../kernel/behind.ts';
import { type Expr, Exprs } from '../../../kernel/expr.ts';
import type { BufferParam, Kernel, Matmul, Output } from '../../../kernel/kernel.ts';
import type { Binding, PassPlan, Traits } from '../plan.ts';
import { nothingInPlace } from '../wgsl/buffers.ts';
import { renderReduction } from '../wgsl/reduce.ts';
import { isPacked } from '../wgsl/types.ts';
import { isReduction, tilesFor } from './matmul-config.ts';
import { renderTiles } from './matmul-tiles.ts';

/** The type in which a scratch buffer keeps a result of this type: one word an element. */
const wordType = (t: DType): DType => (t === 'u8' || t === 'bool' ? 'u32' : t === 'f16' ? 'f32' : t);

export function renderMatmul(w: Matmul, traits: Traits): PassPlan {
  const extra = w.epilogue?.inputs ?? [];
  const base = {
    name: w.name,
    scalars: w.epilogue?.scalars ?? [],
    buffers: extra.length + 3,
    firstOutput: extra.length + 2,
  };
  const { tiles, cuts } = tilesFor(w, traits);
  if (cuts === 1 && isReduction(w)) {
    const kernel = asReduction(w);
    return { ...base, ...renderReduction(kernel, traits, nothingInPlace) };
  }
  const output = w.epilogue?.output.type ?? w.type;
  if (cuts === 1 && (!isPacked(output) || w.n % 4 === 0))
    return { ...base, passes: [renderTiles(w, tiles, traits, 'outputs')], scratch: [] };
  const finish = finishPasses(w, cuts, traits);
  return {
    ...base,
    passes: [renderTiles(w, tiles, traits, 'scratch', cuts), ...finish.passes],
    scratch: finish.scratch,
  };
}

/** The output as an expression, with the product given. */
function outputOf(b: Exprs, w: Matmul, product: Expr, firstExtra: number): Output {
  if (!w.epilogue) return { type: w.type, value: product };
  const { type, value } = w.epilogue.output;
  return { type, value: behind(b, value, product, firstExtra) };
}

function asReduction(w: Matmul): Kernel {
  const b = new Exprs();
  const [batch, i, j, k] = [b.axis(0, w.batch), b.axis(1, w.m), b.axis(2, w.n), b.axis(3, w.k)] as const;
  const plus = (e: Expr, times: number, rest: Expr): Expr =>
    b.alu('add', b.alu('mul', e, b.const('index', times)), rest);
  const type = accumulatorFor(w.type);
  /** An element of a matrix of so many rows and columns. */
  const load = (
    slot: number,
    batches: number,
    turned: boolean,
    row: Expr,
    rows: number,
    column: Expr,
    columns: number,
  ) => {
    const at = turned ? plus(column, rows, row) : plus(row, columns, column);
    return b.cast(type, b.load(w.type, slot, batches > 1 ? plus(batch, rows * columns, at) : at));
  };
  const x = load(0, w.batchA, w.transposeA, i, w.m, k, w.k);
  const y = load(1, w.batchB, w.transposeB, k, w.k, j, w.n);
  const bool = w.type === 'bool';
  const inputs: BufferParam[] = [
    { type: w.type, elements: w.batchA * w.m * w.k },
    { type: w.type, elements: w.batchB * w.k * w.n },
    ...(w.epilogue?.inputs ?? []),
  ];
  return {
    kind: 'kernel',
    name: w.name,
    space: [w.batch, w.m, w.n],
    reduced: [w.k],
    accumulators: [{ op: bool ? 'any' : 'sum', type, value: b.alu(bool ? 'and' : 'mul', x, y) }],
    outputs: [outputOf(b, w, b.cast(w.type, b.acc(type, 0)), 2)],
    inputs,
    scalars: w.epilogue?.scalars ?? [],
    inPlace: [],
    estimate: w.estimate,
  };
}

/** The epilogue alone, of the sums of so many products that lie in scratch 0. */
function finishPasses(w: Matmul, cuts: number, traits: Traits): Pick<PassPlan, 'passes' | 'scratch'> {
  const b = new Exprs();
  const c = w.batch * w.m * w.n;
  const extra = w.epilogue?.inputs ?? [];
  const type = wordType(w.type);
  const axes = [w.batch, w.m, w.n];
  const at = axes.reduce<Expr>(
    (s, n, axis) => b.alu('add', b.alu('mul', s, b.const('index', n)), b.axis(axis, n)),
    b.axis(axes.length, cuts),
  );
  const kernel: Kernel = {
    kind: 'kernel',
    name: `${w.name}_finish`,
    space: axes,
    reduced: [cuts],
    accumulators: [{ op: 'sum', type, value: b.load(type, 0, at) }],
    outputs: [outputOf(b, w, b.cast(w.type, b.acc(type, 0)), 1)],
    inputs: [{ type, elements: cuts * c }, ...extra],
    scalars: w.epilogue?.scalars ?? [],
    inPlace: [],
    estimate: w.estimate,
  };
  const made = renderReduction(kernel, traits, nothingInPlace);
  // The kernel's buffers are scratch 0, the epilogue's inputs, C; the launch's are A, B, the epilogue's inputs, C.
  const passes = made.passes.map((pass) => ({
    ...pass,
    bindings: pass.bindings.map((p): Binding => {
      return p.from === 'buffer' && p.index === 0 ? { ...p, from: 'scratch' } : { ...p, index: p.index + 1 };
    }),
  }));
  return { passes, scratch: [cuts * c * 4, ...made.scratch] };
}
