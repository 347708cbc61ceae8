// The eager path: a single op on computed operands and constants, like the last one of its kind, runs without being traced.
//
// Whether it is like that one is decided by what the key of a trace and the choice of a place hold: op, argument, shapes, dtypes,
// which constants are part of the program, where the operands are, and what is asked of the place. Ops of one kind share a place
// in a small table, and the last one has it.

import type { DType } from '../base/dtype.ts';
import type { DeviceBuffer } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import type { Decision } from '../governor/routing/types.ts';
import type { Ints } from '../graph/intern.ts';
import { isAluNumber, isConst, type Node } from '../graph/node.ts';
import { bakedFloat, bakedId } from '../graph/trace.ts';
import type { Executable } from './executable.ts';
import { anywhere, type Want } from './want.ts';

/** A program of one op. */
interface EagerProgram {
  readonly code: number;
  readonly arg: Ints;
  readonly shape: Ints;
  readonly shapes: readonly Ints[];
  readonly dtypes: readonly DType[];
  /** What the key of a trace says of each operand: a constant's id, or `computed`. */
  readonly kinds: readonly number[];
  /** As much of a number that the op itself has. */
  readonly number: number;
  /** The places each operand is at. */
  readonly masks: readonly number[];
  /** Both operands are one and the same. */
  readonly twice: boolean;
  readonly wanted: Want['wanted'];
  readonly op: Want['op'];
  readonly executable: Executable;
  readonly decision: Decision | null;
  readonly epoch: number;
}

/** Kinds of operands beside constants, whose ids are not below 0. */
const [computed, lazy] = [-1, -2];
const launchScalar = 0;

function kindOf(node: Node): number {
  if (node.storage) return computed;
  return isConst(node) ? bakedId(node) : lazy;
}

/** What the key of a trace says of the number of an op; -1 if it has none. */
const numberKind = (node: Node): number => (isAluNumber(node) ? bakedFloat(node.value as number) : -1);

const suits = (want: Want, place: Place): boolean =>
  ((want.pin ?? want.prefer) === null || (want.pin ?? want.prefer) === place) &&
  (want.excluded & place.bit) === 0 &&
  (!want.sync || place.caps.syncRead);

const none: readonly number[] = [];

/** Kinds of ops that are remembered; a power of two. */
const kinds = 256;
const slotOf = ({ code, arg, shape }: Node): number =>
  (Math.imul(arg.id, 31) + Math.imul(shape.id, 7) + code) & (kinds - 1);

export class EagerPrograms {
  readonly #last = new Array<EagerProgram | null>(kinds).fill(null);
  /** What the op that was found last is launched with, and how far back the longest lineage of its operands goes. */
  buffers: (DeviceBuffer | undefined)[] = [];
  scalars: readonly number[] = none;
  reach = 0;

  /** The program of a node if it is like the last of its kind; its operands count as used `now`. */
  find(node: Node, want: Want, epoch: number, now: number): Executable | null {
    const last = this.#last[slotOf(node)]!;
    if (last === null || last.code !== node.code || last.arg !== node.arg || last.shape !== node.shape) return null;
    const { sources } = node;
    const { executable } = last;
    const { place } = executable;
    if (sources.length !== last.kinds.length || node.check !== null || numberKind(node) !== last.number) return null;
    if (last.epoch !== epoch || executable.generation !== place.generation) return null;
    if (last.wanted !== want.wanted || last.op !== want.op || (want !== anywhere && !suits(want, place))) return null;
    const { plan } = executable;
    // Of the length that they will have: a list that grows takes room for many more.
    const buffers = new Array<DeviceBuffer | undefined>(plan.leaves + plan.made.length);
    let scalars: number[] | null = last.number === launchScalar ? [node.value as number] : null;
    let reach = 0;
    let leaves = 0;
    for (let i = 0; i < sources.length; i++) {
      const source = sources[i]!;
      const { storage } = source;
      if (source.shape !== last.shapes[i] || source.dtype !== last.dtypes[i] || kindOf(source) !== last.kinds[i])
        return null;
      if (!storage) {
        if (last.kinds[i] !== launchScalar) continue;
        scalars ??= [];
        scalars.push(Number(source.value));
        continue;
      }
      if (storage.mask !== last.masks[i] || storage.place !== place) return null;
      if (storage.checks || storage.pin || storage.lent) return null;
      storage.use(now);
      if (source.reach > reach) reach = source.reach;
      // What stands twice is one argument of the launch.
      if (last.twice && i > 0) continue;
      buffers[leaves++] = storage.buffer!;
    }
    if (last.twice !== (sources.length === 2 && sources[0] === sources[1])) return null;
    executable.decision = last.decision;
    this.buffers = buffers;
    this.scalars = scalars ?? none;
    this.reach = reach;
    return executable;
  }

  /** A node was computed from sources that were where it ran. `epoch`: when that place was chosen; the run itself may have changed it. */
  remember(node: Node, sources: readonly Node[], want: Want, executable: Executable, epoch: number): void {
    const { plan } = executable;
    // What is read from many tensors at once is no small work.
    if (plan.steps.length !== 1 || plan.kept.length > 0 || plan.outputs.length !== 1 || sources.length > 3) return;
    for (let i = 0; i < sources.length; i++) if (kindOf(sources[i]!) === lazy) return;
    const twice = sources.length === 2 && sources[0] === sources[1];
    const leaves = new Set(sources.filter((s) => s.storage)).size;
    // What stands twice is one argument of the launch: only the common case of it is worth remembering.
    const distinct = twice || new Set(sources).size === sources.length;
    if (!distinct || leaves === 0 || plan.leaves !== leaves || plan.outputs[0]! < leaves) return;
    this.#last[slotOf(node)] = {
      code: node.code,
      arg: node.arg,
      shape: node.shape,
      shapes: sources.map((s) => s.shape),
      dtypes: sources.map((s) => s.dtype),
      kinds: sources.map(kindOf),
      number: numberKind(node),
      masks: sources.map((s) => s.storage?.mask ?? 0),
      twice,
      wanted: want.wanted,
      op: want.op,
      executable,
      decision: executable.decision,
      epoch,
    };
  }
}
