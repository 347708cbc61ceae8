// A pass that turns scratch words, one per element, into packed bytes: for routines whose threads do not own whole words.

import type { DType } from '../../../base/dtype.ts';
import { Exprs } from '../../../kernel/expr.ts';
import type { Pass, Traits } from '../plan.ts';
import { nothingInPlace } from '../wgsl/buffers.ts';
import { renderElementwise } from '../wgsl/elementwise.ts';

/** `first`: the word of the scratch buffer that the first element is in. */
export function packPass(
  name: string,
  type: DType,
  elements: number,
  scratch: number,
  output: number,
  traits: Traits,
  first = 0,
): Pass {
  const b = new Exprs();
  const word = b.alu('add', b.axis(0, elements), b.const('index', first));
  const pass = renderElementwise(
    {
      kind: 'kernel',
      name: `${name}_pack`,
      space: [elements],
      reduced: [],
      accumulators: [],
      outputs: [{ type, value: b.cast(type, b.load('u32', 0, word)) }],
      inputs: [{ type: 'u32', elements: first + elements }],
      scalars: [],
      inPlace: [],
      estimate: { flops: 0, bytesRead: 4 * elements, bytesWritten: elements },
    },
    traits,
    nothingInPlace,
  );
  const bindings = pass.bindings.map((p) =>
    p.access === 'read' ? ({ from: 'scratch', index: scratch, access: 'read' } as const) : { ...p, index: output },
  );
  return { ...pass, bindings };
}
