// Rewrites a kernel so that it only uses ops its device expresses by itself.
//
// Functions that a device lacks are written once, here, in the kernel language: so they are equally accurate
// everywhere, and bit-identical on devices that round every op. Slots, axes and everything else stay as they are.

import { type Expr, operands } from '../expr.ts';
import type { Accumulator, Epilogue, Kernel } from '../kernel.ts';
import type { ReduceOp } from '../ops.ts';
import { rewriter } from '../rewrite.ts';
import { Lowering, type Native } from './lowering.ts';

export { accuracy } from './accuracy.ts';

export function decompose(kernel: Kernel, native: Native): Kernel {
  const rewrite = lowering(native);
  return {
    ...kernel,
    accumulators: kernel.accumulators.map((a) => ({ ...a, op: combineOf(a), value: rewrite(a.value) })),
    outputs: kernel.outputs.map((o) => ({ ...o, value: rewrite(o.value) })),
  };
}

/** What adding up, multiplying and comparing are for bools. */
const boolCombine: Readonly<Partial<Record<ReduceOp, ReduceOp>>> = { sum: 'any', max: 'any', prod: 'all', min: 'all' };

const combineOf = ({ op, type }: Accumulator): ReduceOp => (type === 'bool' ? (boolCombine[op] ?? op) : op);

export function decomposeEpilogue(epilogue: Epilogue, native: Native): Epilogue {
  const { output } = epilogue;
  return { ...epilogue, output: { ...output, value: lowering(native)(output.value) } };
}

/** Rewrites expressions of one builder into another of its own; each expression once, however often it is used. */
function lowering(native: Native): (e: Expr) => Expr {
  const copy = rewriter(new Lowering(native), () => undefined);
  const done = new Set<Expr>();
  return (root) => {
    // Operands first, from a stack of our own: chains of thousands of ops must not exhaust the call stack.
    const stack = [root];
    for (let e = stack.at(-1); e; e = stack.at(-1)) {
      const waiting = done.has(e) ? [] : operands(e).filter((s) => !done.has(s));
      if (waiting.length > 0) {
        stack.push(...waiting);
        continue;
      }
      copy(e);
      done.add(e);
      stack.pop();
    }
    return copy(root);
  };
}
