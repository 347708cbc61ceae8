// rt.compile: a function of tensors, traced once per signature and replayed after.
//
// A recurrence `f = step(f)` leaves a trail of states that nobody disposes. States that came out of the function and went
// into it again are given up as soon as the next call no longer needs them: their memory is reused, and they keep a recipe
// (the first state and a number of steps) from which they are computed again if they are read after all. So the loop runs
// in constant memory, and no tensor ever has a wrong value. A function whose old states do get read stops giving them up.

import type { DType } from '../base/dtype.ts';
import type { DeviceBuffer, Recording } from '../devices/device.ts';
import { ArgumentError, DisposedError } from '../errors.ts';
import { internInts } from '../graph/intern.ts';
import { Node, settle } from '../graph/node.ts';
import { Storage } from '../graph/storage.ts';
import { trace } from '../graph/trace.ts';
import { TensorCore } from '../tensor/core.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Engine, Executable } from './engine.ts';
import type { RuntimeHost } from './host.ts';
import { recipes } from './recipe.ts';

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

interface Signature {
  readonly executable: Executable;
  /** Per leaf of the plan: the number of the tensor argument it stands for, or the captured node. */
  readonly leaves: readonly (number | Node)[];
  readonly scalars: readonly number[];
  readonly outputs: readonly { readonly buffer: number; readonly dtype: DType; readonly shape: readonly number[] }[];
  readonly rebuild: (tensors: readonly Tensor[]) => CompileResult;
  recording: Recording | null;
}

export function compile<A extends readonly CompileArgument[], R extends CompileResult>(
  host: RuntimeHost,
  engine: Engine,
  body: (...args: A) => R,
): Compiled<A, R> {
  const signatures = new Map<string, Signature>();
  const captured: Node[] = [];
  let last: Signature | null = null;
  let disposed = false;

  const run = (signature: Signature, inputs: readonly Node[]): Node[] => {
    const { executable, leaves } = signature;
    const { device, plan } = executable;
    engine.compute(inputs);
    const bound = leaves.map((leaf) => engine.resident(typeof leaf === 'number' ? inputs[leaf]! : leaf, device));
    const buffers = replay(signature, engine, bound);
    const made = new Map<number, Storage>();
    return signature.outputs.map((o) => {
      const node = new Node('leaf', o.dtype, internInts(o.shape), [], internInts([]));
      if (o.buffer >= 0 && o.buffer < plan.leaves) {
        const leaf = leaves[o.buffer]!;
        settle(node, (typeof leaf === 'number' ? inputs[leaf]! : leaf).storage!);
        return node;
      }
      let storage = made.get(o.buffer);
      if (!storage) {
        storage = new Storage(device, o.buffer < 0 ? device.allocate(0) : buffers[o.buffer]!, host.ledger);
        made.set(o.buffer, storage);
      }
      settle(node, storage);
      return node;
    });
  };

  const call = (...args: A): R => {
    host.checkOpen('compile');
    if (disposed) throw usedAfterDispose();
    const tensors = args.filter((a): a is Tensor & A[number] => a instanceof TensorCore);
    const key = args.map(describe).join(';');
    const signature = signatures.get(key) ?? traceBody(host, engine, body, args, captured);
    signatures.set(key, signature);
    last = signature;
    const inputs = tensors.map((t) => t.node);
    recipes.restoreAll(inputs);
    const outputs = run(signature, inputs);
    recipes.advance(call, signature, inputs, outputs, (nodes) => run(signature, nodes), host.recomputed);
    return signature.rebuild(outputs.map((n) => new Tensor(host, n))) as R;
  };
  return Object.defineProperties(call, {
    dispose: {
      value: () => {
        disposed = true;
        for (const s of signatures.values()) s.recording?.dispose();
        signatures.clear();
        for (const node of captured.splice(0)) host.dropHandle(node);
      },
    },
    kernels: { get: () => last?.executable.programs.map((p) => p.name) ?? [] },
  }) as unknown as Compiled<A, R>;
}

function describe(arg: CompileArgument): string {
  if (arg instanceof TensorCore) return `${arg.dtype}${arg.node.shape.id}`;
  return Object.is(arg, -0) ? '-0' : typeof arg === 'number' ? `${arg}` : JSON.stringify(arg);
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
    const node = new Node('leaf', a.dtype, a.node.shape, [], internInts([]));
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
  const executable = engine.plan(nodes);
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
  const outputs = nodes.map((n, i) => ({ buffer: executable.plan.outputs[i]!, dtype: n.dtype, shape: n.shape.values }));
  for (const n of nodes) host.dropHandle(n);
  for (const s of symbolic) if (s instanceof TensorCore) s.dispose();
  return { executable, leaves, scalars: t.scalars, outputs, rebuild, recording: null };
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
function replay(signature: Signature, engine: Engine, leaves: readonly DeviceBuffer[]): (DeviceBuffer | undefined)[] {
  const { executable, scalars } = signature;
  const { device, plan, programs } = executable;
  if (!device.record || plan.steps.length === 0) return engine.launch(executable, [...leaves], scalars);
  signature.recording ??= device.record(
    plan.steps.map((s, i) => ({ program: programs[i]!, buffers: s.buffers, scalars: s.scalars })),
  );
  const buffers: (DeviceBuffer | undefined)[] = [...leaves];
  try {
    for (let i = 0; i < plan.made.length; i++) buffers.push(engine.allocate(device, plan.made[i]!.bytes));
    signature.recording.replay(buffers as DeviceBuffer[], scalars);
  } catch (e) {
    for (const b of buffers.slice(leaves.length)) device.release(b!);
    throw e;
  }
  engine.countLaunches(plan.steps.length);
  const lasting = new Set(plan.outputs);
  for (let b = plan.leaves; b < buffers.length; b++) {
    if (lasting.has(b)) continue;
    device.release(buffers[b]!);
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
