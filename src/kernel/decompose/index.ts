// Rewrites a kernel so that it only uses ops its device expresses by itself.
//
// Functions that a device lacks are written once, here, in the kernel language: so they are equally accurate
// everywhere, and bit-identical on devices that round every op. A device that skips what is rare (`skipsArms`) gets shorter forms
// of some, within the same bounds. Slots, axes and everything else stay as they are.

import { accumulatorFor, type DType } from '../../base/dtype.ts';
import type { Expr } from '../expr.ts';
import type { Accumulator, Epilogue, Kernel } from '../kernel.ts';
import type { ReduceOp } from '../ops.ts';
import { rewriter } from '../rewrite.ts';
import { operands } from '../walk.ts';
import { coarseBelow, coarseIn } from './coarse.ts';
import { Lowering, type Native, type Traits } from './lowering.ts';

export { accuracy } from './accuracy.ts';

export function decompose(kernel: Kernel, native: Native, traits: Traits = {}): Kernel {
  const b = new Lowering(native, traits);
  const types = kernel.accumulators.map(combineType);
  const rewrite = lowering(b, coarseIn(kernel, b.coarse, traits.inHalves), (e) => {
    if (e.kind !== 'acc' || types[e.slot] === kernel.accumulators[e.slot]!.type) return undefined;
    return b.cast(e.type, b.acc(types[e.slot]!, e.slot));
  });
  return {
    ...kernel,
    accumulators: kernel.accumulators.map((a, k) => ({
      op: combineOf(a),
      type: types[k]!,
      value: b.cast(types[k]!, rewrite(a.value)),
    })),
    outputs: kernel.outputs.map((o) => ({ ...o, value: rewrite(o.value) })),
  };
}

/** The type in which values are combined: sums and products of halves would lose what each step adds. */
const combineType = ({ op, type }: Accumulator): DType => (op === 'sum' || op === 'prod' ? accumulatorFor(type) : type);

/** What adding up, multiplying and comparing are for bools. */
const boolCombine: Readonly<Partial<Record<ReduceOp, ReduceOp>>> = { sum: 'any', max: 'any', prod: 'all', min: 'all' };

const combineOf = ({ op, type }: Accumulator): ReduceOp => (type === 'bool' ? (boolCombine[op] ?? op) : op);

export function decomposeEpilogue(epilogue: Epilogue, native: Native, traits: Traits = {}): Epilogue {
  const { output } = epilogue;
  return {
    ...epilogue,
    output: { ...output, value: lowered(new Lowering(native, traits), output.value) },
  };
}

const lowered = (b: Lowering, value: Expr): Expr => lowering(b, coarseBelow([value], b.coarse))(value);

/** Rewrites expressions of one builder into another of its own; each expression once, however often it is used. */
function lowering(
  b: Lowering,
  coarse: ReadonlySet<Expr>,
  replace: (e: Expr) => Expr | undefined = () => undefined,
): (e: Expr) => Expr {
  const copy = rewriter(b, (e, copied) =>
    e.kind === 'alu' && coarse.has(e) ? b.asItIs(e.op, e.src.map(copied)) : replace(e),
  );
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
