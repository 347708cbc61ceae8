// Work in which something is empty: what is left of it is a plain kernel, or nothing.
//
//   no output has an element       nothing
//   a reduction over no elements   every accumulator is its identity
//   a load from an empty input     zero: no gate of it is ever open
//   a product of depth 0           zeros, with the epilogue behind them
//   a scatter of no updates        a copy of its base
//
// A device that asks here first never sees a loop of no steps or a read of an operand without bytes.

import type { DType } from '../base/dtype.ts';
import { behind } from './behind.ts';
import { bindingsOf, writesNothing } from './bindings.ts';
import { collapse } from './collapse.ts';
import { estimateKernel } from './estimate.ts';
import { type Expr, Exprs } from './expr.ts';
import { identityOf } from './identity.ts';
import type { BufferParam, Kernel, Matmul, Output, Routine, Scatter } from './kernel.ts';
import { rewriter } from './rewrite.ts';

/** The work itself if nothing in it is empty, what is left of it otherwise; null if nothing is written. */
export function withoutEmptiness(work: Kernel | Routine): Kernel | Routine | null {
  if (writesNothing(work)) return null;
  if (work.kind === 'kernel') {
    const full = work.reduced.includes(0) ? withoutReduction(work) : work;
    return full.inputs.some((i) => i.elements === 0) ? withoutLoads(full) : full;
  }
  if (work.op === 'matmul' && work.k === 0) return withoutDepth(work);
  if (work.op === 'scatter' && bindingsOf(work).inputs[2]!.elements === 0) return copyOfBase(work);
  return work;
}

function withoutReduction(kernel: Kernel): Kernel {
  const b = new Exprs();
  const copy = rewriter(b, (e) => {
    if (e.kind !== 'acc') return undefined;
    const { op, type } = kernel.accumulators[e.slot]!;
    return b.const(e.type, op === 'argmax' || op === 'argmin' ? 0 : identityOf(op, type));
  });
  const outputs = kernel.outputs.map((o) => ({ ...o, value: copy(o.value) }));
  return { ...kernel, reduced: [], accumulators: [], outputs };
}

function withoutLoads(kernel: Kernel): Kernel {
  const b = new Exprs();
  const copy = rewriter(b, (e) =>
    e.kind === 'load' && kernel.inputs[e.slot]!.elements === 0 ? b.const(e.type, 0) : undefined,
  );
  return {
    ...kernel,
    accumulators: kernel.accumulators.map((a) => ({ ...a, value: copy(a.value) })),
    outputs: kernel.outputs.map((o) => ({ ...o, value: copy(o.value) })),
  };
}

function withoutDepth(r: Matmul): Kernel {
  const b = new Exprs();
  const zero = b.const(r.type, 0);
  const value = r.epilogue ? behind(b, r.epilogue.output.value, zero) : zero;
  const output: Output = { type: r.epilogue?.output.type ?? r.type, value };
  return plain(r, [r.batch, r.m, r.n], bindingsOf(r).inputs, r.epilogue?.scalars ?? [], output);
}

function copyOfBase(r: Scatter): Kernel {
  const b = new Exprs();
  const space = [r.outer, r.length, r.inner];
  const position = space.reduce<Expr>(
    (at, size, axis) => b.alu('add', b.alu('mul', at, b.const('index', size)), b.axis(axis, size)),
    b.const('index', 0),
  );
  return plain(r, space, bindingsOf(r).inputs, [], { type: r.type, value: b.load(r.type, 0, position) });
}

function plain(
  { name }: Routine,
  space: readonly number[],
  inputs: readonly BufferParam[],
  scalars: readonly DType[],
  output: Output,
): Kernel {
  const nest = collapse({ space, reduced: [] }, [output.value]);
  const outputs = [{ type: output.type, value: nest.rewrite(output.value) }];
  const body = { space: nest.space, reduced: [], accumulators: [], outputs, inputs, scalars, inPlace: [] };
  return { kind: 'kernel', name, ...body, estimate: estimateKernel(body) };
}
