// Compiled groups: one operation on several tensors of equal kind, in as few launches as the device allows.
//
// Elementwise work on tensors that have nothing to do with each other stays apart in a plan: kernels are merged only if they read
// something together. So every item also reads one flag, which is true. What an item computes is the same for any size of
// group, bit for bit. Products are launched together where the device takes lists of them, with the sums each has alone; elsewhere
// they are stacked, which is another kernel than the one of a single product, or run one by one where launches cost next to nothing. Where
// there is no GPU, every item has the kernel it has alone.

import type { Compiled, DType, Runtime, Shape, Tensor } from '../index.ts';
import { Bounded } from '../profile/bounded.ts';
import { freeAll } from './free-all.ts';
import { signatureOf } from './lists.ts';

/** Tensors per compiled group, largest first. */
const groupSizes = [32, 8, 1] as const;

const maxGroups = 256;
/**
 * Where there is no launch to save, a compiled group takes four fifths of the time of its items, and compiling it as long as thousands of
 * them: that is done when a kind had so many, and a call has at least so many.
 */
const worthCompiling = 8192;
const fewestTogether = 8;

/** The sizes of the groups that so many tensors are run in. */
export function groupsOf(count: number): number[] {
  const sizes: number[] = [];
  for (let left = count; left > 0; left -= sizes[sizes.length - 1]!) sizes.push(groupSizes.find((s) => s <= left)!);
  return sizes;
}

export type Group = Compiled<readonly Tensor[], readonly Tensor[]>;

/** Compiled groups by what they do; at most so many. They end with their runtime. */
export class GroupCache {
  readonly #compiled = new Bounded<Group>(maxGroups, (group) => group.dispose());
  readonly #runtime: Runtime;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  of(key: string, body: () => (...tensors: readonly Tensor[]) => readonly Tensor[]): Group {
    return this.#compiled.of(key, () => this.#runtime.compile(body()));
  }
}

/** Lets a value through, and makes what is computed of it part of its group. */
export type Gate = (value: Tensor) => Tensor;

export const open: Gate = (value) => value;

/** An operation on the operands of one item. */
export interface ItemOp {
  /** Equal names are equal operations. */
  readonly key: string;
  /** `gate` is applied once on the way: to the result, or to its bits where floats must not be looked at. */
  readonly run: (first: Tensor, second: Tensor | undefined, gate: Gate) => Tensor;
  /** `stack`: as one operation on stacked operands; `apart`: each item with the kernels it has alone; else merged. */
  readonly join: 'merge' | 'stack' | 'apart';
}

/** The items of a group: `second` is missing, one for all, or one for each. */
export interface Operands {
  readonly first: readonly Tensor[];
  readonly second: readonly Tensor[] | Tensor | undefined;
}

/** An operation on operands of one kind. Equal shapes are one object: whether others are of it is known without a text. */
class Kind {
  /** Items that were run one by one. */
  items = 0;
  private readonly key: string;
  private readonly a: Shape;
  private readonly aType: DType;
  private readonly b: Shape | undefined;
  private readonly bType: DType | undefined;

  constructor(op: ItemOp, a: Tensor, b: Tensor | undefined) {
    this.key = op.key;
    [this.a, this.aType] = [a.shape, a.dtype];
    [this.b, this.bType] = [b?.shape, b?.dtype];
  }

  is(op: ItemOp, a: Tensor, b: Tensor | undefined): boolean {
    if (this.a !== a.shape || this.aType !== a.dtype || this.b !== b?.shape || this.bType !== b?.dtype) return false;
    return this.key === op.key;
  }
}

const textOf = (op: ItemOp, a: Tensor, b: Tensor | undefined): string =>
  `${op.key} ${signatureOf(a)} ${b ? signatureOf(b) : ''}`;

/** A group, and what it was compiled for. */
interface KnownGroup {
  readonly kind: Kind;
  readonly join: ItemOp['join'];
  readonly n: number;
  readonly all: boolean;
  readonly compiled: Group;
}

/** Runs groups of items of equal kind on one runtime. */
export class Fused {
  readonly #runtime: Runtime;
  readonly #groups: GroupCache;
  #flag: Tensor | null = null;
  #last: KnownGroup | null = null;
  /** Where groups are compiled when they are worth it: the kinds there were. */
  readonly #kinds = new Bounded<Kind>(maxGroups);
  #kind: Kind | null = null;
  launches = 0;
  /** Every device computes when it is called: there is no launch to save, and nothing to wait for. */
  readonly host: boolean;
  /** Nothing has to be stacked: a device multiplies lists of pairs in one launch, or launches cost less than the copies. */
  readonly #apart: boolean;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#groups = new GroupCache(runtime);
    const caps = runtime.devices().flatMap((d) => (d.open ? [runtime.device(d.id).caps] : []));
    this.#apart = caps.some((c) => c.host !== true && (c.routines.has('products') || c.cheapLaunches === true));
    this.host = caps.every((c) => c.host === true);
  }

  /** Whether items of an operation are copied together. */
  stacks({ join }: ItemOp): boolean {
    return join === 'stack' && !this.#apart && !this.host;
  }

  /** One result per item, in their order. All items are of one kind. */
  run(op: ItemOp, { first, second }: Operands): Tensor[] {
    const results: Tensor[] = [];
    try {
      if (this.host && !this.#isWorthIt(op, { first, second })) return this.#each(op, { first, second }, 0, results);
      const sizes = this.host || op.join === 'merge' ? groupsOf(first.length) : stackSizes(first.length);
      if (sizes.length === 1) return this.#group(op, { first, second }) as Tensor[];
      let at = 0;
      for (const size of sizes) {
        const end = at + size;
        if (this.host && size === 1) return this.#each(op, { first, second }, at, results);
        const part = { first: first.slice(at, end), second: Array.isArray(second) ? second.slice(at, end) : second };
        for (const t of this.#group(op, part as Operands)) results.push(t);
        at = end;
      }
      return results;
    } catch (error) {
      freeAll(results);
      throw error;
    }
  }

  #isWorthIt(op: ItemOp, { first, second }: Operands): boolean {
    const count = first.length;
    if (count < fewestTogether) return false;
    const [a, b] = [first[0]!, Array.isArray(second) ? (second[0] as Tensor) : (second as Tensor | undefined)];
    if (!this.#kind?.is(op, a, b)) this.#kind = this.#kinds.of(textOf(op, a, b), () => new Kind(op, a, b));
    if (this.#kind.items >= worthCompiling) return true;
    this.#kind.items += count;
    return false;
  }

  /** The items from one on, one by one. */
  #each(op: ItemOp, { first, second }: Operands, from: number, results: Tensor[]): Tensor[] {
    for (let i = from; i < first.length; i++) {
      const made = op.run(first[i]!, Array.isArray(second) ? second[i] : second, open);
      results.push(made);
      made.compute();
    }
    this.launches += first.length - from;
    return results;
  }

  #group(op: ItemOp, { first, second }: Operands): readonly Tensor[] {
    const n = first.length;
    const all = Array.isArray(second);
    const seconds: readonly Tensor[] = second === undefined ? [] : all ? second : [second as Tensor];
    const join = this.host || (op.join === 'stack' && !this.stacks(op)) ? 'apart' : op.join;
    const merged = n > 1 && join !== 'apart';
    const { compiled } = this.#compiledFor(op, join, n, all, first[0]!, seconds[0]);
    const made = merged ? compiled(this.#on(), ...first, ...seconds) : compiled(...first, ...seconds);
    this.launches += compiled.kernels.length;
    return made;
  }

  /** The group of the last call if this one is like it. */
  #compiledFor(
    op: ItemOp,
    join: ItemOp['join'],
    n: number,
    all: boolean,
    a: Tensor,
    b: Tensor | undefined,
  ): KnownGroup {
    const last = this.#last;
    if (last && last.join === join && last.n === n && last.all === all && last.kind.is(op, a, b)) return last;
    const merged = n > 1 && join !== 'apart';
    const compiled = this.#groups.of(`${join} ${n} ${all} ${textOf(op, a, b)}`, () =>
      merged ? this.#body(op, n, all) : apartBody(op, n, all),
    );
    this.#last = { kind: new Kind(op, a, b), join, n, all, compiled };
    return this.#last;
  }

  #body(op: ItemOp, n: number, all: boolean): (...tensors: readonly Tensor[]) => readonly Tensor[] {
    const rt = this.#runtime;
    const second = (rest: readonly Tensor[], i: number): Tensor | undefined => (all ? rest[n + i] : rest[n]);
    if (op.join === 'merge')
      return (on, ...rest) => rest.slice(0, n).map((x, i) => op.run(x, second(rest, i), this.#gate(on!)));
    return (on, ...rest) => {
      // The flag makes the copies of both operands one kernel.
      const gate = this.#gate(on!);
      const stacked = (list: readonly Tensor[]): Tensor => gate(rt.stack(list));
      const b = rest.length === n ? undefined : all ? stacked(rest.slice(n)) : rest[n]!;
      const made = op.run(stacked(rest.slice(0, n)), b, open);
      return made.split(n, 0).map((t) => t.reshape(made.shape.slice(1)));
    };
  }

  #gate(on: Tensor): Gate {
    return (value) => this.#runtime.where(on, value, value.dtype === 'bool' ? false : 0);
  }

  /** Read by every item; made again if it went with a device. */
  #on(): Tensor {
    if (!this.#flag || this.#flag.disposed || this.#flag.lost)
      this.#flag = this.#runtime.fromBytes(Uint8Array.of(1), 'bool', []).keep() as Tensor;
    return this.#flag;
  }
}

const apartBody =
  (op: ItemOp, n: number, all: boolean) =>
  (...list: readonly Tensor[]): readonly Tensor[] =>
    list.slice(0, n).map((x, i) => op.run(x, all ? list[n + i] : list[n], open));

/** Stacks of at most 32; what is left over is one smaller stack: another size is another kernel, not more launches. */
function stackSizes(count: number): number[] {
  const sizes: number[] = [];
  for (let left = count; left > 0; left -= 32) sizes.push(Math.min(left, 32));
  return sizes;
}

const known = new WeakMap<Runtime, Fused>();

/** The groups of a runtime. */
export function fusedOf(runtime: Runtime): Fused {
  let fused = known.get(runtime);
  if (!fused) known.set(runtime, (fused = new Fused(runtime)));
  return fused;
}
