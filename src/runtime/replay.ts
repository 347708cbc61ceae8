// Runs what a compiled function has learned: finds the place, binds inputs and numbers, replays.

import { show } from '../base/shape.ts';
import type { DeviceBuffer } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import { TensorLost } from '../governor/recovery/errors.ts';
import { noInts } from '../graph/intern.ts';
import { Node, noNodes } from '../graph/node.ts';
import type { DeferredCheck } from '../graph/storage.ts';
import { trace } from '../graph/trace.ts';
import { withInherited } from './checks.ts';
import type { Engine } from './engine.ts';
import type { Executable } from './executable.ts';
import type { RuntimeHost } from './host.ts';
import { releaseMade } from './results.ts';
import type { Recorded, Remembered, Signature } from './signature.ts';
import { anywhere, type Want } from './want.ts';

/** What a call reads: its arguments, and tensors from outside. */
export function leavesOf({ leaves }: Remembered, inputs: readonly Node[]): Node[] {
  const found: Node[] = [];
  for (let i = 0; i < leaves.length; i++) {
    const leaf = leaves[i]!;
    found.push(typeof leaf === 'number' ? inputs[leaf]! : leaf);
  }
  return found;
}

/** One run; if it fails, again or elsewhere as the engine's recovery says. `again` would repeat it after a loss. */
export function run(
  { signature }: Remembered,
  scalars: readonly number[],
  engine: Engine,
  host: RuntimeHost,
  leaves: readonly Node[],
  again: (leaves: readonly Node[]) => Node[],
): Node[] {
  if (signature.gone) throw notKept(signature);
  return engine.attempt(host.want(anywhere), (want) => {
    // Also those that were lost when this was tried the last time.
    let lazy = false;
    for (let i = 0; i < leaves.length; i++) if (!isComputed(leaves[i]!)) lazy = true;
    if (lazy) computeLazy(leaves, engine, want);
    const executable = executableFor(signature, engine, leaves, want);
    const { place, plan } = executable;
    engine.use(leaves, place);
    const bound: DeviceBuffer[] = [];
    let reach = 0;
    for (let i = 0; i < leaves.length; i++) {
      const leaf = leaves[i]!;
      bound.push(engine.residency.bring(leaf, place));
      if (leaf.reach > reach) reach = leaf.reach;
    }
    engine.issues();
    const buffers = replay(signature, executable, engine, bound, scalars);
    const checks = checksOf(signature, executable, engine, leaves, buffers);
    const { outputs, called } = signature;
    const nodes: Node[] = [];
    for (let i = 0; i < outputs.length; i++) {
      const { dtype, shape, code } = outputs[i]!;
      nodes.push(new Node('leaf', dtype, shape, noNodes, noInts, 0, code));
    }
    const ids = signature.checks.length > 0 ? plan.outputs.slice(0, nodes.length) : plan.outputs;
    const by = called.kernel ? { name: called.name, steps: plan.steps } : executable.by;
    const call = { inputs: leaves, run: again };
    engine.results.attach({ place, leaves, buffers, checks, by }, nodes, ids, { reach, call });
    return nodes;
  });
}

function computeLazy(leaves: readonly Node[], engine: Engine, want: Want): void {
  engine.compute(
    leaves.filter((n) => !isComputed(n)),
    want,
  );
}

const isComputed = ({ storage }: Node): boolean => storage !== null && !storage.lost;

/** What must hold before the results may be handed out: their own indices, and those behind the inputs. */
function checksOf(
  { checks, outputs }: Signature,
  executable: Executable,
  engine: Engine,
  leaves: readonly Node[],
  buffers: (DeviceBuffer | undefined)[],
): DeferredCheck[] | null {
  let own: DeferredCheck[] | null = null;
  if (checks.length > 0) {
    const undo = (): void => releaseMade(executable.place, buffers, executable.plan.leaves);
    own = engine.checks.read({ checks }, executable, buffers, outputs.length, undo);
  }
  return withInherited(own, leaves);
}

/** The program of the last call if nothing speaks against it, else the one the router chooses. */
function executableFor(signature: Signature, engine: Engine, leaves: readonly Node[], want: Want): Executable {
  const { executable: last, graph, opened } = signature;
  const still =
    last &&
    signature.epoch === engine.epoch &&
    last.generation === last.place.generation &&
    last.place.alive &&
    want.excluded === 0 &&
    want.op === signature.op &&
    (want.pin ?? want.prefer ?? last.place) === last.place &&
    allAt(leaves, last.place);
  if (still) return last;
  const executable = engine.programs.find(trace(graph, opened), graph, leaves, want);
  signature.executable = executable;
  signature.epoch = engine.epoch;
  signature.op = want.op;
  return executable;
}

/** Whether inputs are at a place, and may be anywhere. */
function allAt(leaves: readonly Node[], place: Place): boolean {
  for (let i = 0; i < leaves.length; i++) {
    const storage = leaves[i]!.storage!;
    if (storage.place !== place || storage.pin) return false;
  }
  return true;
}

/** Devices that can record get the whole plan as one recording; the others launch step by step. Takes over the list of leaves. */
function replay(
  signature: Signature,
  executable: Executable,
  engine: Engine,
  leaves: DeviceBuffer[],
  scalars: readonly number[],
): (DeviceBuffer | undefined)[] {
  const { place, plan } = executable;
  const { called } = signature;
  // A single launch is cheaper than replaying a recording of one.
  if (!place.device.record || plan.steps.length < 2 || engine.dispatch.detailed)
    return engine.dispatch.stepwise(executable, called, engine, leaves, scalars);
  const { recording, temporaries } = recordedFor(signature, executable);
  const buffers: (DeviceBuffer | undefined)[] = leaves;
  try {
    for (let i = 0; i < plan.made.length; i++) buffers.push(place.allocate(plan.made[i]!.bytes));
    // A copy: a recording may keep what it was bound to, and temporaries leave this list below.
    engine.dispatch.replay(executable, called, recording, buffers.slice() as DeviceBuffer[], scalars);
  } catch (e) {
    for (let b = plan.leaves; b < buffers.length; b++) place.release(buffers[b]!);
    throw e;
  }
  for (let i = 0; i < temporaries.length; i++) {
    const b = temporaries[i]!;
    place.release(buffers[b]!);
    buffers[b] = undefined;
  }
  return buffers;
}

function recordedFor({ recordings }: Signature, executable: Executable): Recorded {
  const known = recordings.get(executable);
  if (known) return known;
  // Those of a device that was lost went with it.
  for (const e of recordings.keys()) if (e.generation !== e.place.generation) recordings.delete(e);
  const { place, plan, programs } = executable;
  const steps = plan.steps.map((s, i) => ({ program: programs[i]!, buffers: s.buffers, scalars: s.scalars }));
  const recording = place.device.record!(steps);
  const temporaries = plan.made.map((_, i) => plan.leaves + i).filter((b) => !plan.outputs.includes(b));
  const recorded = { recording, temporaries };
  recordings.set(executable, recorded);
  return recorded;
}

function notKept({ outputs }: Signature): TensorLost {
  const what = outputs.map((o) => `${o.dtype} ${show(o.shape.values)}`).join(', ');
  return new TensorLost({
    code: 'TENSOR_LOST',
    message: `the bytes of a result (${what}) were lost with their device, and the compiled function that made it was disposed`,
    fix: 'Dispose of a compiled function after its results, or make the tensor again from its data.',
    where: 'recovery',
  });
}
