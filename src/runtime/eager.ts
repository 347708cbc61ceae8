// The eager path: a small expression on computed operands, like the last one of its kind, runs without being traced.
//
// Whether it is like that one is decided by what the key of a trace and the choice of a place hold: its outline, where the operands
// are, and what is asked of the place. Expressions that begin alike share a place in a small table. One gets it when it was traced
// there twice in a row: noting an outline costs as much as some traces, and expressions that take turns would be noted for nothing.

import type { Decision } from '../governor/routing/types.ts';
import type { Node } from '../graph/node.ts';
import { deepest, type Outline, outlineOf } from '../graph/outline.ts';
import type { Executable } from './executable.ts';
import type { Want } from './want.ts';

/** A program of a small expression. */
export interface EagerProgram {
  readonly slot: number;
  readonly outline: Outline;
  /** What was asked of the place: another question may have another answer. */
  readonly want: Want;
  readonly executable: Executable;
  readonly decision: Decision | null;
  readonly epoch: number;
}

/** Whether the same is asked of a place, as far as its choice depends on it. */
const isSame = (a: Want, b: Want): boolean =>
  a === b ||
  (a.wanted === b.wanted &&
    a.op === b.op &&
    a.pin === b.pin &&
    a.prefer === b.prefer &&
    a.excluded === b.excluded &&
    a.sync === b.sync &&
    a.awaits === b.awaits);

/** Kinds of expressions that are remembered; a power of two. */
const kinds = 512;

/** Expressions are told apart by their last op and what is right below it. */
function slotOf({ code, arg, shape, sources }: Node): number {
  let h = Math.imul(arg.id, 31) + Math.imul(shape.id, 7) + code;
  for (let i = 0; i < sources.length && i < 3; i++) {
    const s = sources[i]!;
    h = Math.imul(h, 33) + (s.storage === null ? Math.imul(s.arg.id, 17) + s.code : s.shape.id);
  }
  return (h ^ (h >>> 9)) & (kinds - 1);
}

export class EagerPrograms {
  readonly #known = new Array<EagerProgram | null>(kinds).fill(null);
  /** The programs that were traced last. */
  readonly #traced = new Array<Executable | null>(kinds).fill(null);

  /** The program that a node may be one of: whether it fits the outline remains to be seen. */
  find(node: Node, want: Want, epoch: number): EagerProgram | null {
    if (node.depth > deepest) return null;
    const known = this.#known[slotOf(node)]!;
    if (known === null || known.outline.code !== node.code || known.epoch !== epoch) return null;
    const { executable } = known;
    return executable.generation === executable.place.generation && isSame(known.want, want) ? known : null;
  }

  /**
   * A node was traced, and its inputs are where it will run: what is to be remembered of it once it did; null if that is nothing.
   * `epoch`: when that place was chosen; the run itself may change it.
   */
  traced(node: Node, want: Want, executable: Executable, epoch: number): EagerProgram | null {
    if (node.depth > deepest) return null;
    const slot = slotOf(node);
    const again = this.#traced[slot] === executable;
    this.#traced[slot] = executable;
    const { plan, decision } = executable;
    // A place that was taken because another failed, or to try it once, is not for the next call to go by.
    if (want.excluded !== 0 || decision?.explored) return null;
    if (!again || plan.kept.length > 0 || plan.outputs.length !== 1 || plan.outputs[0]! < plan.leaves) return null;
    const outline = outlineOf(node, plan.leaves);
    return outline && { slot, outline, want, executable, decision, epoch };
  }

  /** From now on what fits a program is run as that. */
  remember(program: EagerProgram): void {
    this.#known[program.slot] = program;
  }
}
