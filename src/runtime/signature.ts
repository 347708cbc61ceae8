// What a compiled function has learned: which arguments it has seen, and the program that each of them takes.
//
// Running the body with new numbers gives a graph. Most numbers in it are scalars of the launch already; where two graphs differ
// in nothing but where a slice starts, how far a roll goes or a constant, these become scalars of the launch too (see
// `Opened`), so that a third graph of the kind finds the program ready. Nothing is guessed: numbers that were not seen before always
// go through the body, and only what it makes of them is compared.

import type { DType } from '../base/dtype.ts';
import type { Recording } from '../devices/device.ts';
import { ArgumentError } from '../errors.ts';
import { addHandle } from '../graph/holding.ts';
import { type Ints, noInts } from '../graph/intern.ts';
import { KeyedCache } from '../graph/keyed-cache.ts';
import { codeOf, type IndexCheck, Node } from '../graph/node.ts';
import { type Opened, scalarsOf, type Trace, trace } from '../graph/trace.ts';
import { nodeOf, TensorCore } from '../tensor/core.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Executable } from './executable.ts';
import type { RuntimeHost } from './host.ts';
import type { Recurrent } from './recipe.ts';
import { branches, flatten, regrow } from './tree.ts';
import type { Want } from './want.ts';

/** A program of a compiled function. */
export interface Signature {
  /** The graph that was traced: lazy nodes above placeholders. Planned anew for each place it runs at. */
  readonly graph: readonly Node[];
  readonly opened: ReadonlySet<number>;
  /** What the results are like, with the codes of their nodes. */
  readonly outputs: readonly { readonly dtype: DType; readonly shape: Ints; readonly code: number }[];
  readonly checks: readonly IndexCheck[];
  /** Scalars that are drawn anew for each call, in the order in which the body asked for them. */
  readonly draws: readonly number[];
  /** The program of the last call, and when it was chosen. */
  executable: Executable | null;
  epoch: number;
  /** What the last call was said to be. */
  op: Want['op'];
  readonly recordings: Map<Executable, Recorded>;
  readonly called: Called;
  /** It is not kept any more, and cannot be run. */
  gone: boolean;
}

/** A plan as a device recorded it. */
export interface Recorded {
  readonly recording: Recording;
  /** Plan buffers that nobody needs once it was replayed. */
  readonly temporaries: readonly number[];
}

/** What a compiled function is called. */
export interface Called {
  readonly name: string;
  /** It is one kernel, and that goes by its name. */
  readonly kernel: boolean;
}

/** A call: what its arguments must be like, and what the program is told then. */
export interface Remembered {
  readonly pattern: readonly Pattern[];
  readonly signature: Signature;
  readonly scalars: readonly number[];
  /** Per leaf of the plan: the number of the tensor argument it stands for, or a tensor from outside. */
  readonly leaves: readonly (number | Node)[];
  readonly rebuild: (tensors: readonly unknown[]) => unknown;
  /** The call as the step of a recurrence; null until it was called. */
  recurrence: Recurrent | null;
}

/** A tensor of a dtype and shape, a value, or arrays and objects of them. */
type Pattern =
  | { readonly kind: 'tensor'; readonly dtype: DType; readonly shape: Ints }
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'branch'; readonly names: readonly string[] | null; readonly items: readonly Pattern[] };

/** Whether arguments are like those of a remembered call of a runtime; their tensors are added to `inputs`. */
export function fits(
  host: RuntimeHost,
  pattern: readonly Pattern[],
  args: readonly unknown[],
  inputs: Node[],
): boolean {
  if (pattern.length !== args.length) return false;
  for (let i = 0; i < args.length; i++) if (!fitsOne(host, pattern[i]!, args[i], inputs)) return false;
  return true;
}

function fitsOne(host: RuntimeHost, pattern: Pattern, arg: unknown, inputs: Node[]): boolean {
  if (pattern.kind === 'tensor') {
    // The class itself, not the first of those it extends: that is found a dozen steps sooner.
    if (!(arg instanceof Tensor) || arg.host !== host) return false;
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
  return fits(host, pattern.items, below.items, inputs);
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
      const node = nodeOf(arg, host, 'compile');
      const { dtype, shape } = node;
      actual.push(node);
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

/** Out here: what is remembered keeps it, and must not keep the body with it. */
const isTensor = (value: unknown): value is Tensor => value instanceof TensorCore;

/** Programs and calls that a compiled function keeps. */
const mostSignatures = 16;
const mostRemembered = 64;

/** What graphs that differ in numbers alone have in common. */
interface Family {
  /** Nodes whose numbers differed between graphs of the kind. */
  opened: ReadonlySet<number>;
  /** All numbers of the last graph that could be scalars of the launch. */
  numbers: readonly number[];
  /** The program of the last graph, and which of all these numbers it is told. */
  signature: Signature;
  told: readonly number[];
}

export class Signatures {
  readonly #host: RuntimeHost;
  readonly #called: Called;
  readonly #families = new KeyedCache<Family>(mostSignatures);
  /** Last used first. */
  readonly #remembered: Remembered[] = [];
  readonly #byKey: { readonly key: Int32Array; readonly signature: Signature }[] = [];

  constructor(host: RuntimeHost, called: Called) {
    this.#host = host;
    this.#called = called;
  }

  /** The remembered call that arguments are like; their tensors are added to `inputs`. */
  find(args: readonly unknown[], inputs: Node[]): Remembered | null {
    for (let i = 0; i < this.#remembered.length; i++) {
      const known = this.#remembered[i]!;
      if (!fits(this.#host, known.pattern, args, inputs)) {
        if (inputs.length > 0) inputs.length = 0;
        continue;
      }
      if (i > 0) {
        this.#remembered.splice(i, 1);
        this.#remembered.unshift(known);
      }
      return known;
    }
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
        const flat = flatten(result, isTensor, 'compile', 'the result');
        graph = flat.values.map((t) => nodeOf(t, host, 'compile'));
        rebuild = flat.rebuild;
        for (const n of graph) addHandle(n);
      });
      if (graph.length === 0) throw noResult();
      const placeholders = symbols.tensors.map((t) => t.node);
      const made = this.#enter(graph, symbols.pattern, placeholders, rebuild);
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
    const all = this.#traced(graph);
    const positions = new Map(placeholders.map((n, i) => [n, i]));
    const leaves = all.leaves.map((leaf) => {
      const position = positions.get(leaf);
      if (position !== undefined) return position;
      // A tensor from outside, or made in the body: it stays as it is for as long as the call is remembered.
      addHandle(leaf);
      return leaf;
    });
    const { signature, told } = this.#family(all, graph);
    if (signature.graph !== graph) for (const n of graph) this.#host.dropHandle(n);
    const scalars = told.map((i) => all.scalars[i]!);
    const made: Remembered = { pattern, signature, scalars, leaves, rebuild, recurrence: null };
    this.#remembered.unshift(made);
    if (this.#remembered.length > mostRemembered) this.#drop(this.#remembered.pop()!);
    return made;
  }

  /**
   * A graph with all numbers taken out of it that can be. Lazy tensors from outside are computed first: what they stand for does not
   * change, and they must not turn from a computation into data later. The tensors of the body itself are
   * disposed of by now, but for the results.
   */
  #traced(graph: readonly Node[]): Trace {
    const t = trace(graph, 'all');
    const outside = t.nodes.filter((n) => n.handles > 0 && !n.storage && isOutside(n, graph));
    if (outside.length === 0) return t;
    this.#host.compute(outside);
    return trace(graph, 'all');
  }

  /** The program of a graph: numbers that differed between graphs of the kind are scalars of the launch. */
  #family(all: Trace, graph: readonly Node[]): Family {
    const known = this.#families.get(all.key, all.length);
    const { scalars: numbers } = all;
    const changed = known ? differing(all, known.numbers) : [];
    if (known && changed.every((n) => known.opened.has(n)) && this.#touch(known.signature)) {
      known.numbers = numbers;
      return known;
    }
    const opened = new Set([...(known?.opened ?? []), ...changed]);
    const told = toldOf(all, opened);
    const key = all.key.slice(0, all.length);
    const family = { opened, numbers, told, signature: this.#signature(trace(graph, opened), graph, opened) };
    if (known) Object.assign(known, family);
    else this.#families.set(key, key.length, family);
    return family;
  }

  /** Whether a program is still kept; it is the last used one then. */
  #touch(signature: Signature): boolean {
    const at = this.#byKey.findIndex((e) => e.signature === signature);
    if (at > 0) this.#byKey.unshift(...this.#byKey.splice(at, 1));
    return at >= 0;
  }

  #signature(t: Trace, graph: readonly Node[], opened: ReadonlySet<number>): Signature {
    const at = this.#byKey.findIndex(({ key }) => key.length === t.length && key.every((w, i) => w === t.key[i]));
    const [known] = at < 0 ? [] : this.#byKey.splice(at, 1);
    const entry = known ?? {
      key: t.key.slice(0, t.length),
      signature: {
        graph,
        opened,
        outputs: graph.map((n) => ({ dtype: n.dtype, shape: n.shape, code: codeOf('leaf', n.dtype) })),
        checks: t.checks,
        draws: [...t.draws].sort((p, q) => t.scalars[p]! - t.scalars[q]!),
        executable: null,
        epoch: -1,
        op: null,
        recordings: new Map(),
        called: this.#called,
        gone: false,
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
    signature.gone = true;
    for (const { recording } of signature.recordings.values()) recording.dispose();
    signature.recordings.clear();
  }

  #drop(call: Remembered): void {
    for (const leaf of call.leaves) if (typeof leaf !== 'number') this.#host.dropHandle(leaf);
  }

  clear(): void {
    for (const { signature } of this.#byKey.splice(0)) this.#forget(signature);
  }
}

/** Whether a tensor that is not a result of the graph holds a node. */
function isOutside(node: Node, graph: readonly Node[]): boolean {
  if (node.op === 'leaf' || node.op === 'const') return false;
  let own = 0;
  for (const n of graph) if (n === node) own++;
  return node.handles > own;
}

/** The nodes whose numbers are not those of an earlier graph of the kind. */
function differing(all: Trace, before: readonly number[]): number[] {
  if (before.every((v, i) => Object.is(v, all.scalars[i]))) return [];
  const found: number[] = [];
  let at = 0;
  for (const node of all.nodes) {
    let same = true;
    for (const v of numbersOf(node, 'all')) same = Object.is(v, before[at++]) && same;
    if (!same) found.push(node.number);
  }
  return found;
}

/** Which of all numbers of a graph its program is told. */
function toldOf(all: Trace, opened: Opened): number[] {
  let at = 0;
  return all.nodes.flatMap((n) => {
    const [first, count] = [at, numbersOf(n, 'all').length];
    at += count;
    return numbersOf(n, opened).map((_, i) => first + i);
  });
}

const numbersOf = (node: Node, opened: Opened): readonly number[] =>
  node.storage || node.op === 'leaf' ? [] : scalarsOf(node, node.number, opened);

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
