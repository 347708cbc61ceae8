// How the result of a long expression is computed again after a loss: from its inputs and numbers, without keeping its steps.

import { addUse, dropUse } from '../graph/holding.ts';
import type { Node, Replay } from '../graph/node.ts';
import { Template } from '../graph/template.ts';
import type { Trace } from '../graph/trace.ts';
import type { Executable } from './executable.ts';

/** Nodes of an expression from which on its result does not keep them. */
const longExpression = 16;

interface Computing {
  compute(nodes: readonly Node[]): unknown;
}

/** For the only result of a run without checks; null where the steps are few, or nothing can be lost. */
export function rerun({ place, entry }: Executable, t: Trace, engine: Computing): Replay | null {
  if (!place.mortal || t.nodes.length < longExpression) return null;
  const template = (entry.template ??= new Template(t));
  const { leaves, scalars } = t;
  const run = (inputs: readonly Node[]): readonly Node[] => {
    const node = template.build(inputs, scalars);
    addUse(node);
    try {
      engine.compute([node]);
    } catch (e) {
      dropUse(node);
      throw e;
    }
    // Handed over with its bytes, as nobody's.
    node.uses--;
    return [node];
  };
  return { inputs: leaves, index: 0, run };
}
