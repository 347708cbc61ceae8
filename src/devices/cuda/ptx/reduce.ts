// Kernels with a reduction, laid out as plan.ts says, in one launch.
//
// Every thread folds its share into several independent accumulators, those are folded into one, then threads are combined
// in a fixed tree. A split reduction leaves its partial results in scratch memory; the last block to arrive, found with one
// counter per row of blocks that wraps back to zero by itself, folds them in order and runs the epilogue.

import { sizeOf } from '../../../base/shape.ts';
import type { Together } from '../../../kernel/together.ts';
import { EntryPoint, entryName } from './code.ts';
import type { Rendered } from './elementwise.ts';
import { planReduction } from './plan.ts';
import { type Builder, stateBytes } from './reduce/builder.ts';
import { renderColumns } from './reduce/columns.ts';
import { counterBytes } from './reduce/partials.ts';
import { renderRows } from './reduce/rows.ts';
import { indexBitsFor, openFrame, rootsOf } from './shape.ts';
import type { Target } from './target.ts';
import { kindOf } from './types.ts';
import { reachable } from './values.ts';

export function renderReduction(near: Together, target: Target): Rendered {
  const { kernel, count } = near;
  const bits = indexBitsFor({ ...kernel, space: [...kernel.space, count] }, reachable(rootsOf(kernel)));
  const plan = planReduction(kernel, target, count);
  const entry = new EntryPoint(entryName(kernel.name), target);
  const frame = openFrame(entry, near, bits, plan.splits > 1);
  const b: Builder = {
    kernel,
    near,
    plan,
    entry,
    frame,
    bits,
    s: bits === 32 ? 's32' : 's64',
    kind: kindOf('index', bits),
    tid: entry.body.def('r', 'mov.u32', '%tid.x'),
    rows: sizeOf(kernel.space),
    columns: sizeOf(kernel.reduced),
  };
  const blocks = plan.form === 'row' ? renderRows(b) : renderColumns(b);
  return {
    // Neighbours take registers: without a word on it only one block would be on a multiprocessor at a time.
    text: entry.render(plan.threads, count > 1 ? 2 : 0),
    entry: entry.name,
    grid: [blocks, plan.splits, 1],
    block: plan.threads,
    scratchBytes: plan.splits > 1 ? counterBytes(blocks) + plan.splits * b.rows * stateBytes(b) : 0,
    sharedBytes: entry.shared.reduce((n, a) => n + a.bytes, 0),
    vector: plan.vector,
  };
}
