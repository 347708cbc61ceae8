// A traced graph without its values, from which the same graph is made again over other inputs.
//
// What a device could lose remembers what it was computed from. Every step of a long expression would be many times the size of its
// result, and live as long; its inputs, its numbers and the one template of its program say the same.

import type { DType } from '../base/dtype.ts';
import type { Ints } from './intern.ts';
import { Node, type NodeOp } from './node.ts';
import { scalarsOf, type Trace } from './trace.ts';

interface Row {
  readonly op: NodeOp;
  readonly dtype: DType;
  readonly shape: Ints;
  readonly arg: Ints;
  readonly value: number | bigint;
  /** Rows of its sources. */
  readonly sources: readonly number[];
  /** Its value is a launch scalar. */
  readonly told: boolean;
}

export class Template {
  /** Sources before users; null for inputs. */
  readonly #rows: readonly (Row | null)[];

  /** Of a trace without opened nodes and checks, whose last node is the only output. */
  constructor({ nodes }: Pick<Trace, 'nodes'>) {
    this.#rows = nodes.map((node) => {
      const { op, dtype, shape, arg, value } = node;
      if (node.storage || op === 'leaf') return null;
      const told = scalarsOf(node, node.number, null).length > 0;
      return { op, dtype, shape, arg, value, sources: node.sources.map((s) => s.number), told };
    });
  }

  /** The graph over inputs and launch scalars, in the order of the trace: its output. */
  build(inputs: readonly Node[], scalars: readonly number[]): Node {
    const made: Node[] = [];
    let [input, scalar] = [0, 0];
    for (const row of this.#rows) {
      if (!row) {
        made.push(inputs[input++]!);
        continue;
      }
      const { op, dtype, shape, arg, sources, told } = row;
      const given = told ? scalars[scalar++]! : row.value;
      const value = typeof row.value === 'bigint' ? BigInt(given) : given;
      made.push(
        new Node(
          op,
          dtype,
          shape,
          sources.map((s) => made[s]!),
          arg,
          value,
        ),
      );
    }
    return made[made.length - 1]!;
  }
}
