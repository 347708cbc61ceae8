// A pass that turns scratch words, one per element, into packed bytes: for routines whose threads do not own whole words.

import type { DType } from '../../../base/dtype.ts';
import { Exprs } from '../../../kernel/expr.ts';
import type { Pass, Traits } from '../plan.ts';
import { nothingInPlace } from '../wgsl/buffers.ts';
import { renderElementwise } from '../wgsl/elementwise.ts';

export function packPass(
  name: string,
  type: DType,
  elements: number,
  scratch: number,
  output: number,
  traits: Traits,
): Pass {
  const b = new Exprs();
  const pass = renderElementwise(
    {
      kind: 'kernel',
      name: `${name}_pack`,
      space: [elements],
      reduced: [],
      accumulators: [],
      outputs: [{ type, value: b.cast(type, b.load('u32', 0, b.axis(0, elements))) }],
      inputs: [{ type: 'u32', elements }],
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
