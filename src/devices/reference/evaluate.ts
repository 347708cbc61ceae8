// Work done by its definition, on plain bytes: what every device must give, for those who write one.

import type { DType } from '../../base/dtype.ts';
import { bindingsOf } from '../../kernel/bindings.ts';
import type { Kernel, Routine } from '../../kernel/kernel.ts';
import { elementsOf } from './elements.ts';
import { interpret } from './interpret.ts';
import { runRoutine } from './routines.ts';

/**
 * Runs a kernel or a routine on bytes in storage form, inputs then outputs as the work lists them: slowly, one element at a time.
 * A device of your own can start with this and replace it kernel by kernel. `types`: of the buffers, where they are known.
 */
export function evaluate(
  work: Kernel | Routine,
  buffers: readonly Uint8Array[],
  scalars: readonly number[] = [],
  types: readonly DType[] = typesOf(work),
): void {
  const elements = buffers.map((b, i) => elementsOf(b, types[i]!));
  if (work.kind === 'kernel') {
    interpret(work, elements.slice(0, work.inputs.length), elements.slice(work.inputs.length), scalars);
  } else {
    runRoutine(work, elements, scalars, (type, n) => elementsOf(new Uint8Array(n * 8), type));
  }
}

function typesOf(work: Kernel | Routine): readonly DType[] {
  const { inputs, outputs } = bindingsOf(work);
  return [...inputs, ...outputs].map((b) => b.type);
}
