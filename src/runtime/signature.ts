// What a compiled function has learned: which arguments it has seen, and the program that each of them takes.
//
// Running the body with new numbers gives a graph. Most numbers in it are scalars of the launch already; where two graphs differ
// in nothing but where a slice starts, how far a roll goes or a constant, these become scalars of the launch too (see
// `Opened`), so that a third graph of the kind finds the program ready. Nothing is guessed: numbers that were not seen before always
// go through the body, and only what it makes of them is compared.

import type { DType } from '../base/dtype.ts';
import type { Recording } from '../devices/device.ts';
import { ArgumentError } from '../errors.ts';
import { type Ints, noInts } from '../graph/intern.ts';
import { type IndexCheck, Node } from '../graph/node.ts';
import { KeyedCache, scalarsOf, type Trace, trace } from '../graph/trace.ts';
import { TensorCore } from '../tensor/core.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { RuntimeHost } from './host.ts';
import type { Executable } from './programs.ts';
import { branches, flatten, regrow } from './tree.ts';

/** A program of a compiled function. */
export interface Signature {
  /** The graph that was traced: lazy nodes above placeholders. Planned anew for each place it runs at. */
  readonly graph: readonly Node[];
  readonly opened: ReadonlySet<number>;
  readonly outputs: readonly { readonly dtype: DType; readonly shape: Ints }[];
  readonly checks: readonly IndexCheck[];
  /** Scalars that are drawn anew for each call, in the order in which the body asked for them. */
  readonly draws: readonly number[];
  /** The program of the last call, and when it was chosen. */
  executable: Executable | null;
  epoch: number;
  readonly recordings: Map<Executable, Recording>;
}

/** A call: what its arguments must be like, and what the program is told then. */
export interface Remembered {
  readonly pattern: readonly Pattern[];
  readonly signature: Signature;
  readonly scalars: readonly number[];
  /** Per leaf of the plan: the number of the tensor argument it stands for, or a tensor from outside. */
  readonly leaves: readonly (number | Node)[];
  readonly rebuild: (tensors: readonly unknown[]) => unknown;
}

/** A tensor of a dtype and shape, a value, or arrays and objects of them. */
type Pattern =
  | { readonly kind: 'tensor'; readonly dtype: DType; readonly shape: Ints }
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'branch'; readonly names: readonly string[] | null; readonly items: readonly Pattern[] };

/** Whether arguments are like those of a remembered call; their tensors are added to `inputs`. */
export function fits(pattern: readonly Pattern[], args: readonly unknown[], inputs: Node[]): boolean {
  if (pattern.length !== args.length) return false;
  for (let i = 0; i < args.length; i++) if (!fitsOne(pattern[i]!, args[i], inputs)) return false;
  return true;
}

function fitsOne(pattern: Pattern, arg: unknown, inputs: Node[]): boolean {
  if (pattern.kind === 'tensor') {
    if (!(arg instanceof TensorCore)) return false;
    const { node } = arg;
    if (node.shape !== pattern.shape || node.dtype !== pattern.dtype) return false;
    inputs.push(node);
    return true;
  }
  if (pattern.kind === 'value') return Object.is(pattern.value, arg);
  if (arg instanceof TensorCore) return false;
  const below = branches(arg);
  if (!below || (below.names === null) !== (pattern.names === null)) return false;
  if (below.names?.some((n, i) => n !== pattern.names![i])) return false;
  return fits(pattern.items, below.items, inputs);
}

/** Arguments with every tensor replaced, and what they are like. */
interface Symbolic {
  readonly args: readonly unknown[];
  readonly pattern: readonly Pattern[];
  /** The placeholders. */
  readonly tensors: Tensor[];
  /** What they stand for. */
  readonly actual: Node[];
}

function symbolic(host: RuntimeHost, args: readonly unknown[]): Symbolic {
  const tensors: Tensor[] = [];
  const actual: Node[] = [];
  const walk = (arg: unknown, path: string, depth: number): [unknown, Pattern] => {
    if (arg instanceof TensorCore) {
      const { dtype, shape } = arg.node;
      actual.push(arg.node);
      const made = new Tensor(host, new Node('leaf', dtype, shape, [], noInts));
      tensors.push(made);
      return [made, { kind: 'tensor', dtype, shape }];
    }
    if ((typeof arg !== 'object' && typeof arg !== 'function') || arg === null)
      return [arg, { kind: 'value', value: arg }];
    const below = typeof arg === 'object' && depth < 64 ? branches(arg) : null;
    if (!below) throw notAnArgument(arg, path);
    const { names } = below;
    const parts = below.items.map((v, i) => walk(v, `${path}${names ? `.${names[i]}` : `[${i}]`}`, depth + 1));
    const items = parts.map(([, p]) => p);
    return [
      regrow(
        names,
        parts.map(([v]) => v),
      ),
      { kind: 'branch', names, items },
    ];
  };
  const walked = args.map((a, i) => walk(a, `${i}`, 0));
  return { args: walked.map(([v]) => v), pattern: walked.map(([, p]) => p), tensors, actual };
}

/** Programs and calls that a compiled function keeps. */
const mostSignatures = 16;
const mostRemembered = 64;

/** What graphs that differ in numbers alone have in common. */
interface Family {
  readonly opened: Set<number>;
  /** All numbers of the last graph that could be scalars, and the nodes they belong to. */
  readonly numbers: readonly number[];
}

export class Signatures {
  readonly #host: RuntimeHost;
  readonly #families = new KeyedCache<{ family: Family }>(mostSignatures);
  /** Last used first. */
  readonly #remembered: Remembered[] = [];
  readonly #byKey: { readonly key: Int32Array; readonly signature: Signature }[] = [];
  readonly #forgotten: (signature: Signature) => void;

  /** `forgotten` is told of programs that are not kept any more. */
  constructor(host: RuntimeHost, forgotten: (signature: Signature) => void) {
    this.#host = host;
    this.#forgotten = forgotten;
  }

  /** The remembered call that arguments are like; their tensors are added to `inputs`. */
  find(args: readonly unknown[], inputs: Node[]): Remembered | null {
    for (let i = 0; i < this.#remembered.length; i++) {
      const known = this.#remembered[i]!;
      inputs.length = 0;
      if (!fits(known.pattern, args, inputs)) continue;
      if (i > 0) {
        this.#remembered.splice(i, 1);
        this.#remembered.unshift(known);
      }
      return known;
    }
    inputs.length = 0;
    return null;
  }

  /** Runs the body for arguments that were not seen before, and remembers what came of it. */
  learn(body: (...args: never[]) => unknown, args: readonly unknown[], inputs: Node[]): Remembered {
    const host = this.#host;
    const symbols = symbolic(host, args);
    let graph: Node[] = [];
    let rebuild: Remembered['rebuild'] = () => null;
    try {
      // The scope frees what the body made on the way, so that the plan keeps nothing but results.
      host.scope(() => {
        const result = host.tracing(() => body(...(symbols.args as never[])));
        const flat = flatten(result, (v): v is Tensor => v instanceof TensorCore, 'compile', 'the result');
        graph = flat.values.map((t) => t.node);
        rebuild = flat.rebuild;
        for (const n of graph) n.handles++;
      });
      if (graph.length === 0) throw noResult();
      const placeholders = symbols.tensors.map((t) => t.node);
      const made = this.#enter(graph, symbols.pattern, placeholders, rebuild);
      inputs.length = 0;
      inputs.push(...symbols.actual);
      return made;
    } finally {
      for (const t of symbols.tensors) t.dispose();
    }
  }

  #enter(
    graph: Node[],
    pattern: readonly Pattern[],
    placeholders: readonly Node[],
    rebuild: Remembered['rebuild'],
  ): Remembered {
    this.#computeOutside(graph);
    const opened = this.#opened(graph);
    const t = trace(graph, opened);
    const positions = new Map(placeholders.map((n, i) => [n, i]));
    const leaves = t.leaves.map((leaf) => {
      const position = positions.get(leaf);
      if (position !== undefined) return position;
      // A tensor from outside, or made in the body: it stays as it is for as long as the call is remembered.
      leaf.handles++;
      return leaf;
    });
    const { scalars } = t;
    const signature = this.#signature(t, graph, opened);
    if (signature.graph !== graph) for (const n of graph) this.#host.dropHandle(n);
    const made: Remembered = { pattern, signature, scalars, leaves, rebuild };
    this.#remembered.unshift(made);
    if (this.#remembered.length > mostRemembered) this.#drop(this.#remembered.pop()!);
    return made;
  }

  /**
   * Lazy tensors from outside are computed now: what they stand for does not change, and they must not turn from a computation
   * into data later. All tensors of the body itself are disposed of by now but for the results.
   */
  #computeOutside(graph: readonly Node[]): void {
    const own = new Map<Node, number>();
    for (const n of graph) own.set(n, (own.get(n) ?? 0) + 1);
    const outside = trace(graph).nodes.filter(
      (n) => !n.storage && n.op !== 'leaf' && n.op !== 'const' && n.handles > (own.get(n) ?? 0),
    );
    if (outside.length > 0) this.#host.compute(outside);
  }

  /** Which numbers of a graph are scalars of the launch: those that differed between graphs of the kind. */
  #opened(graph: readonly Node[]): ReadonlySet<number> {
    const all = trace(graph, 'all');
    const known = this.#families.get(all.key, all.length);
    if (!known) {
      const family = { opened: new Set<number>(), numbers: all.scalars };
      this.#families.set(all.key, all.length, { family });
      return family.opened;
    }
    const opened = new Set(known.family.opened);
    let at = 0;
    for (const node of all.nodes) {
      if (node.storage || node.op === 'leaf') continue;
      for (const v of scalarsOf(node, node.number, 'all'))
        if (!Object.is(v, known.family.numbers[at++])) opened.add(node.number);
    }
    known.family = { opened, numbers: all.scalars };
    return opened;
  }

  #signature(t: Trace, graph: readonly Node[], opened: ReadonlySet<number>): Signature {
    const at = this.#byKey.findIndex(({ key }) => key.length === t.length && key.every((w, i) => w === t.key[i]));
    const [known] = at < 0 ? [] : this.#byKey.splice(at, 1);
    const entry = known ?? {
      key: t.key.slice(0, t.length),
      signature: {
        graph,
        opened,
        outputs: graph.map((n) => ({ dtype: n.dtype, shape: n.shape })),
        checks: t.checks,
        draws: [...t.draws].sort((p, q) => t.scalars[p]! - t.scalars[q]!),
        executable: null,
        epoch: -1,
        recordings: new Map(),
      },
    };
    this.#byKey.unshift(entry);
    if (this.#byKey.length > mostSignatures) this.#forget(this.#byKey.pop()!.signature);
    return entry.signature;
  }

  /** A program goes, and the calls that are remembered for it. */
  #forget(signature: Signature): void {
    for (const r of this.#remembered.filter((m) => m.signature === signature)) {
      this.#remembered.splice(this.#remembered.indexOf(r), 1);
      this.#drop(r);
    }
    for (const n of signature.graph) this.#host.dropHandle(n);
    this.#forgotten(signature);
  }

  #drop(call: Remembered): void {
    for (const leaf of call.leaves) if (typeof leaf !== 'number') this.#host.dropHandle(leaf);
  }

  clear(): void {
    for (const { signature } of this.#byKey.splice(0)) this.#forget(signature);
  }
}

function noResult(): ArgumentError {
  return new ArgumentError({
    code: 'NO_RESULT',
    message: 'compile: the function returned no tensor',
    fix: 'Return a tensor, or tensors nested in arrays and plain objects.',
    where: 'compile',
  });
}

function notAnArgument(arg: unknown, path: string): ArgumentError {
  const what = typeof arg === 'function' ? 'a function' : `a ${(arg as object).constructor?.name ?? 'object'}`;
  return new ArgumentError({
    code: 'BAD_ARGUMENT',
    message: `compile: argument ${path} is ${what}, which could change between calls without being seen`,
    fix: 'Pass tensors (rt.tensor(data)), numbers, strings and booleans, nested in arrays and plain objects as you like.',
    where: 'compile',
  });
}
