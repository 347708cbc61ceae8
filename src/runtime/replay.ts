// Runs what a compiled function has learned: finds the place, binds inputs and numbers, replays.

import { show } from '../base/shape.ts';
import type { DeviceBuffer } from '../devices/device.ts';
import { TensorLost } from '../governor/recovery/errors.ts';
import { noInts } from '../graph/intern.ts';
import { Node } from '../graph/node.ts';
import type { DeferredCheck } from '../graph/storage.ts';
import { trace } from '../graph/trace.ts';
import type { Engine } from './engine.ts';
import type { RuntimeHost } from './host.ts';
import { anywhere, type Executable, type Want } from './programs.ts';
import { releaseMade } from './results.ts';
import type { Remembered, Signature } from './signature.ts';

/** What a call reads: its arguments, and tensors from outside. */
export const leavesOf = ({ leaves }: Remembered, inputs: readonly Node[]): Node[] =>
  leaves.map((leaf) => (typeof leaf === 'number' ? inputs[leaf]! : leaf));

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
    const lazy = leaves.filter((n) => !n.storage || n.storage.lost);
    if (lazy.length > 0) engine.compute(lazy, want);
    const executable = executableFor(signature, engine, leaves, want);
    const { place, plan } = executable;
    engine.use(leaves, place);
    const bound: DeviceBuffer[] = [];
    let reach = 0;
    for (let i = 0; i < leaves.length; i++) {
      bound.push(engine.residency.bring(leaves[i]!, place));
      reach = Math.max(reach, leaves[i]!.reach);
    }
    engine.issues();
    const buffers = replay(signature, executable, engine, bound, scalars);
    const checks = checksOf(signature, executable, engine, leaves, buffers);
    const nodes = signature.outputs.map((o) => new Node('leaf', o.dtype, o.shape, [], noInts));
    const ids = signature.checks.length > 0 ? plan.outputs.slice(0, nodes.length) : plan.outputs;
    const by = signature.called.kernel ? { name: signature.called.name, steps: plan.steps } : executable.by;
    engine.results.attach({ place, leaves, buffers, checks, by }, nodes, ids, {
      reach,
      call: { inputs: leaves, run: again },
    });
    return nodes;
  });
}

/** What must hold before the results may be handed out: their own indices, and those behind the inputs. */
function checksOf(
  { checks, outputs }: Signature,
  executable: Executable,
  engine: Engine,
  leaves: readonly Node[],
  buffers: (DeviceBuffer | undefined)[],
): DeferredCheck[] | null {
  const { place, plan } = executable;
  const undo = (): void => releaseMade(place, buffers, plan.leaves);
  let all = checks.length > 0 ? engine.checks.read({ checks }, executable, buffers, outputs.length, undo) : null;
  for (let i = 0; i < leaves.length; i++) {
    const inherited = leaves[i]!.storage!.checks;
    if (inherited) all = [...(all ?? []), ...inherited];
  }
  return all;
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
    leaves.every((l) => l.storage!.place === last.place && !l.storage!.pin);
  if (still) return last;
  const executable = engine.programs.find(trace(graph, opened), graph, leaves, want);
  signature.executable = executable;
  signature.epoch = engine.epoch;
  signature.op = want.op;
  return executable;
}

/** Devices that can record get the whole plan as one recording; the others launch step by step. */
function replay(
  { recordings, called }: Signature,
  executable: Executable,
  engine: Engine,
  leaves: readonly DeviceBuffer[],
  scalars: readonly number[],
): (DeviceBuffer | undefined)[] {
  const { place, plan, programs } = executable;
  const { device } = place;
  // A single launch is cheaper than replaying a recording of one.
  if (!device.record || plan.steps.length < 2 || engine.dispatch.detailed)
    return engine.dispatch.stepwise(executable, called, () => engine.launch(executable, [...leaves], scalars));
  let recording = recordings.get(executable);
  if (!recording) {
    // Those of a device that was lost went with it.
    for (const e of recordings.keys()) if (e.generation !== e.place.generation) recordings.delete(e);
    recording = device.record(
      plan.steps.map((s, i) => ({ program: programs[i]!, buffers: s.buffers, scalars: s.scalars })),
    );
    recordings.set(executable, recording);
  }
  const buffers: (DeviceBuffer | undefined)[] = [...leaves];
  try {
    for (let i = 0; i < plan.made.length; i++) buffers.push(place.allocate(plan.made[i]!.bytes));
    // A copy: a recording may keep what it was bound to, and temporaries leave this list below.
    engine.dispatch.replay(executable, called, recording, [...buffers] as DeviceBuffer[], scalars);
  } catch (e) {
    for (const b of buffers.slice(leaves.length)) place.release(b!);
    throw e;
  }
  const lasting = new Set(plan.outputs);
  for (let b = plan.leaves; b < buffers.length; b++) {
    if (lasting.has(b)) continue;
    place.release(buffers[b]!);
    buffers[b] = undefined;
  }
  return buffers;
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
