// Neighbouring positions of a kernel computed together, so that what they have in common is computed once.
//
// A stencil reads at one position most of what it reads at the next. The kernel made here has an axis that is `count` times shorter, and
// the outputs and accumulators of `count` neighbours along it: equal expressions of different neighbours are the same object, as always
// within one builder. Conditions on the axis that hold for some neighbours only (the wrap of a roll) are decided where bounds decide them.

import { sizeOf } from '../base/shape.ts';
import { Exprs } from './expr.ts';
import type { Kernel } from './kernel.ts';
import { rewriter } from './rewrite.ts';

export interface Together {
  /** All outputs (and accumulators) of the first neighbour, then all of the second, and so on. Its outputs are not written whole. */
  readonly kernel: Kernel;
  readonly count: number;
  /** Elements of an output between one neighbour and the next. */
  readonly stride: number;
}

/** A kernel every position of which is computed by itself. */
export const alone = (kernel: Kernel): Together => ({ kernel, count: 1, stride: 0 });

/** `axis` is one of the output's, and `count` divides its size. */
export function together(kernel: Kernel, axis: number, count: number): Together {
  const b = new Exprs();
  const { accumulators, outputs } = kernel;
  const copies = Array.from({ length: count }, (_, u) => {
    const copy = rewriter(b, (e) => {
      if (e.kind === 'acc') return b.acc(e.type, u * accumulators.length + e.slot);
      if (e.kind !== 'axis' || e.axis !== axis) return undefined;
      const block = b.alu('mul', b.axis(axis, e.size / count), b.const('index', count));
      return b.alu('add', block, b.const('index', u));
    });
    return {
      accumulators: accumulators.map((a) => ({ ...a, value: copy(a.value) })),
      outputs: outputs.map((o) => ({ ...o, value: copy(o.value) })),
    };
  });
  return {
    kernel: {
      ...kernel,
      space: kernel.space.map((n, i) => (i === axis ? n / count : n)),
      accumulators: copies.flatMap((c) => c.accumulators),
      outputs: copies.flatMap((c) => c.outputs),
    },
    count,
    stride: sizeOf(kernel.space.slice(axis + 1)),
  };
}
