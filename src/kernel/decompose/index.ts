// Rewrites a kernel so that it only uses ops its device expresses by itself.
//
// Functions that a device lacks are written once, here, in the kernel language: so they are equally accurate
// everywhere, and bit-identical on devices that round every op. Slots, axes and everything else stay as they are.

import { type Expr, operands } from '../expr.ts';
import type { Epilogue, Kernel } from '../kernel.ts';
import { Lowering, type Native } from './lowering.ts';

export { accuracy } from './accuracy.ts';

export function decompose(kernel: Kernel, native: Native): Kernel {
  const rewrite = rewriter(native);
  return {
    ...kernel,
    accumulators: kernel.accumulators.map((a) => ({ ...a, value: rewrite(a.value) })),
    outputs: kernel.outputs.map((o) => ({ ...o, value: rewrite(o.value) })),
  };
}

export function decomposeEpilogue(epilogue: Epilogue, native: Native): Epilogue {
  const { output } = epilogue;
  return { ...epilogue, output: { ...output, value: rewriter(native)(output.value) } };
}

/** Rewrites expressions of one builder into another of its own; each expression once, however often it is used. */
function rewriter(native: Native): (e: Expr) => Expr {
  const b = new Lowering(native);
  const done = new Map<Expr, Expr>();
  return (root) => {
    // An explicit stack: chains of thousands of ops must not exhaust the call stack.
    const stack = [root];
    while (stack.length > 0) {
      const e = stack[stack.length - 1]!;
      const waiting = done.has(e) ? [] : operands(e).filter((s) => !done.has(s));
      if (waiting.length > 0) {
        stack.push(...waiting);
        continue;
      }
      if (!done.has(e))
        done.set(
          e,
          rebuild(b, e, (s) => done.get(s)!),
        );
      stack.pop();
    }
    return done.get(root)!;
  };
}

function rebuild(b: Lowering, e: Expr, of: (e: Expr) => Expr): Expr {
  switch (e.kind) {
    case 'const':
      return b.const(e.type, e.value);
    case 'scalar':
      return b.scalar(e.type, e.slot);
    case 'axis':
      return b.axis(e.axis, e.size);
    case 'load':
      return b.load(e.type, e.slot, of(e.index), e.gate && of(e.gate));
    case 'acc':
      return b.acc(e.type, e.slot);
    case 'alu':
      return b.alu(e.op, ...e.src.map(of));
    case 'cast': {
      const source = of(e.src[0]);
      return e.bits && e.type !== 'index' ? b.bitcast(e.type, source) : b.cast(e.type, source);
    }
    default:
      return e satisfies never;
  }
}
