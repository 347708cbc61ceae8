// rt.compile: a function of tensors, traced once per signature and replayed after.
//
// A recurrence `f = step(f)` leaves a trail of states that nobody disposes. States that came out of the function and went
// into it again are given up as soon as the next call no longer needs them: their memory is reused, and they keep a recipe
// (the first state and a number of steps) from which they are computed again if they are read after all. So the loop runs
// in constant memory, and no tensor ever has a wrong value. A function whose old states do get read stops giving them up.

import type { DType } from '../base/dtype.ts';
import type { DeviceBuffer, Recording } from '../devices/device.ts';
import { ArgumentError, DisposedError } from '../errors.ts';
import { type Ints, noInts } from '../graph/intern.ts';
import { Node } from '../graph/node.ts';
import { trace } from '../graph/trace.ts';
import { TensorCore } from '../tensor/core.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Engine } from './engine.ts';
import type { RuntimeHost } from './host.ts';
import { anywhere, type Executable, type Want } from './programs.ts';
import { type Recurrent, recipes } from './recipe.ts';

/** What a compiled function may take: tensors are inputs, anything else is fixed per signature. */
export type CompileArgument = Tensor | number | boolean | string;
export type CompileResult = Tensor | readonly Tensor[] | { readonly [name: string]: Tensor };

export interface Compiled<A extends readonly CompileArgument[], R extends CompileResult> {
  (...args: A): R;
  /** Forgets what was traced and frees what it holds. */
  dispose(): void;
  /** The kernels of the last call, in order. */
  readonly kernels: readonly string[];
}

interface Signature extends Recurrent {
  /** What the arguments must be like; see `fits`. */
  readonly pattern: readonly Pattern[];
  /** The graph that was traced: lazy nodes above placeholders. Planned anew for each place it runs at. */
  readonly graph: readonly Node[];
  /** The program of the last call. */
  executable: Executable;
  epoch: number;
  /** Per leaf of the plan: the number of the tensor argument it stands for, or the captured node. */
  readonly leaves: readonly (number | Node)[];
  readonly scalars: readonly number[];
  readonly outputs: readonly { readonly dtype: DType; readonly shape: Ints }[];
  readonly rebuild: (tensors: readonly Tensor[]) => CompileResult;
  readonly recordings: Map<Executable, Recording>;
}

/** A tensor of a dtype and shape, or a fixed value. */
type Pattern = { readonly dtype: DType; readonly shape: Ints } | Exclude<CompileArgument, Tensor>;

const patternOf = (arg: CompileArgument): Pattern =>
  arg instanceof TensorCore ? { dtype: arg.dtype, shape: arg.node.shape } : (arg as Exclude<CompileArgument, Tensor>);

function fits(pattern: readonly Pattern[], args: readonly CompileArgument[]): boolean {
  if (pattern.length !== args.length) return false;
  for (let i = 0; i < args.length; i++) {
    const [p, a] = [pattern[i]!, args[i]!];
    const same =
      a instanceof TensorCore
        ? typeof p === 'object' && p.shape === a.node.shape && p.dtype === a.dtype
        : Object.is(p, a);
    if (!same) return false;
  }
  return true;
}

export function compile<A extends readonly CompileArgument[], R extends CompileResult>(
  host: RuntimeHost,
  engine: Engine,
  body: (...args: A) => R,
): Compiled<A, R> {
  const signatures: Signature[] = [];
  const captured: Node[] = [];
  let last: Signature | null = null;
  let disposed = false;

  const find = (args: A): Signature => {
    const known = signatures.find((s) => fits(s.pattern, args));
    if (known) return known;
    const made = traceBody(host, engine, body, args, captured);
    signatures.push(made);
    return made;
  };
  const call = (...args: A): R => {
    host.checkOpen('compile');
    if (disposed) throw usedAfterDispose();
    const signature = last && fits(last.pattern, args) ? last : find(args);
    last = signature;
    const inputs: Node[] = [];
    for (let i = 0; i < args.length; i++) {
      const a = args[i]!;
      if (a instanceof TensorCore) inputs.push(a.node);
    }
    if (recipes.any) recipes.restoreAll(inputs);
    const outputs = signature.step(inputs);
    recipes.advance(signature, inputs, outputs);
    return signature.rebuild(outputs.map((n) => new Tensor(host, n))) as R;
  };
  return Object.defineProperties(call, {
    dispose: {
      value: () => {
        disposed = true;
        for (const s of signatures.splice(0)) forget(s, host);
        for (const node of captured.splice(0)) host.dropHandle(node);
      },
    },
    kernels: { get: () => last?.executable.programs.map((p) => p.name) ?? [] },
  }) as unknown as Compiled<A, R>;
}

/** One run of a traced function; if it fails, again or elsewhere as the engine's recovery says. */
function run(signature: Signature, engine: Engine, host: RuntimeHost, inputs: readonly Node[]): Node[] {
  const leaves = signature.leaves.map((leaf) => (typeof leaf === 'number' ? inputs[leaf]! : leaf));
  return engine.attempt(host.want(anywhere), (want) => {
    // Also those that were lost when this was tried the last time.
    const lazy = leaves.filter((n) => !n.storage || n.storage.lost);
    if (lazy.length > 0) engine.compute(lazy, want);
    return runOnce(signature, engine, inputs, leaves, want);
  });
}

function runOnce(
  signature: Signature,
  engine: Engine,
  inputs: readonly Node[],
  leaves: readonly Node[],
  want: Want,
): Node[] {
  const executable = executableFor(signature, engine, leaves, want);
  const { place, plan } = executable;
  engine.use(leaves, place);
  const bound: DeviceBuffer[] = [];
  let reach = 0;
  for (let i = 0; i < leaves.length; i++) {
    bound.push(engine.residency.bring(leaves[i]!, place));
    reach = Math.max(reach, leaves[i]!.reach);
  }
  const buffers = replay(signature, executable, engine, bound);
  const nodes = signature.outputs.map((o) => new Node('leaf', o.dtype, o.shape, [], noInts));
  const call = { inputs, run: signature.step };
  engine.results.attach({ place, leaves, buffers, checks: null }, nodes, plan.outputs, { reach, call });
  return nodes;
}

/** The program of the last call if nothing speaks against it, else the one the router chooses. */
function executableFor(signature: Signature, engine: Engine, leaves: readonly Node[], want: Want): Executable {
  const { executable: last, graph } = signature;
  const { place } = last;
  const still =
    signature.epoch === engine.epoch &&
    last.generation === place.generation &&
    place.alive &&
    (want === anywhere || (want.pin ?? want.prefer) === place) &&
    leaves.every((l) => l.storage!.place === place && !l.storage!.pin);
  if (still) return last;
  signature.executable = engine.programs.find(trace(graph), graph, leaves, want);
  signature.epoch = engine.epoch;
  return signature.executable;
}

function forget(signature: Signature, host: RuntimeHost): void {
  for (const recording of signature.recordings.values()) recording.dispose();
  signature.recordings.clear();
  for (const n of signature.graph) host.dropHandle(n);
}

function traceBody<A extends readonly CompileArgument[], R extends CompileResult>(
  host: RuntimeHost,
  engine: Engine,
  body: (...args: A) => R,
  args: A,
  captured: Node[],
): Signature {
  const inputs: Node[] = [];
  const symbolic = args.map((a) => {
    if (!(a instanceof TensorCore)) return a;
    const node = new Node('leaf', a.dtype, a.node.shape, [], noInts);
    inputs.push(node);
    return new Tensor(host, node);
  }) as unknown as A;
  let nodes: Node[] = [];
  let rebuild: Signature['rebuild'] = () => [];
  // The scope frees what the body made on the way, so that the plan keeps nothing but results.
  host.scope(() => {
    const flat = flatten(host.tracing(() => body(...symbolic)));
    nodes = flat.tensors.map((t) => t.node);
    rebuild = flat.rebuild;
    for (const n of nodes) n.handles++;
  });
  if (nodes.length === 0) {
    throw new ArgumentError({
      code: 'NO_RESULT',
      message: 'compile: the function returned no tensor',
      fix: 'Return a tensor, an array of tensors, or an object of tensors.',
      where: 'compile',
    });
  }
  const t = trace(nodes);
  if (t.checks.length > 0) {
    throw new ArgumentError({
      code: 'UNCHECKED_INDEX',
      message:
        'compile: the function looks up elements by an index tensor, and a compiled function does not check indices',
      fix: 'Give the indices as an array of numbers, or look up outside of the compiled function.',
      where: 'compile',
    });
  }
  const leaves = t.leaves.map((leaf) => {
    const position = inputs.indexOf(leaf);
    if (position >= 0) return position;
    // A tensor from outside: it stays as it is for as long as the function lives.
    leaf.handles++;
    captured.push(leaf);
    return leaf;
  });
  const outputs = nodes.map((n) => ({ dtype: n.dtype, shape: n.shape }));
  for (const s of symbolic) if (s instanceof TensorCore) s.dispose();
  const actual = args.flatMap((a) => (a instanceof TensorCore ? [a.node] : []));
  const bound = leaves.map((leaf) => (typeof leaf === 'number' ? actual[leaf]! : leaf));
  const executable = engine.attempt(host.want({ ...anywhere, awaits: true }), (want) =>
    engine.programs.find(trace(nodes), nodes, bound, want),
  );
  const signature: Signature = {
    pattern: args.map(patternOf),
    graph: nodes,
    executable,
    epoch: engine.epoch,
    leaves,
    scalars: t.scalars,
    outputs,
    rebuild,
    recordings: new Map(),
    keeps: false,
    step: (nodes) => run(signature, engine, host, nodes),
    onRecompute: host.recomputed,
  };
  return signature;
}

function flatten(result: CompileResult): { tensors: Tensor[]; rebuild: Signature['rebuild'] } {
  if (result instanceof TensorCore) return { tensors: [result as Tensor], rebuild: ([t]) => t! };
  if (Array.isArray(result)) return { tensors: [...result], rebuild: (list) => [...list] };
  const names = typeof result === 'object' && result !== null ? Object.keys(result) : [];
  const record = result as { readonly [name: string]: Tensor };
  return {
    tensors: names.map((n) => record[n]!).filter((t) => t instanceof TensorCore),
    rebuild: (list) => Object.fromEntries(names.map((n, i) => [n, list[i]!])),
  };
}

/** Devices that can record get the whole plan as one recording; the others launch step by step. */
function replay(
  signature: Signature,
  executable: Executable,
  engine: Engine,
  leaves: readonly DeviceBuffer[],
): (DeviceBuffer | undefined)[] {
  const { scalars, recordings } = signature;
  const { place, plan, programs } = executable;
  const { device } = place;
  // A single launch is cheaper than replaying a recording of one.
  if (!device.record || plan.steps.length < 2 || engine.dispatch.detailed)
    return engine.dispatch.stepwise(executable, () => engine.launch(executable, [...leaves], scalars));
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
    engine.dispatch.replay(executable, recording, [...buffers] as DeviceBuffer[], scalars);
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

function usedAfterDispose(): DisposedError {
  return new DisposedError({
    code: 'USE_AFTER_DISPOSE',
    message: 'a compiled function was called after it was disposed',
    fix: 'Dispose it after its last call.',
    where: 'compile',
  });
}
