// Compiled groups: one operation on several tensors of equal kind, in as few launches as the device allows.
//
// Elementwise work on tensors that have nothing to do with each other stays apart in a plan: kernels are merged only if they read
// something together. So every item also reads one flag, which is true. What an item computes is the same for any size of
// group, bit for bit. Products are launched together where the device takes lists of them, with the sums each has alone; elsewhere
// they are stacked, which is another kernel than the one of a single product. Where there is no GPU, items are computed one by one.

import type { Compiled, DType, Runtime, Shape, Tensor } from '../index.ts';
import { Bounded } from '../profile/bounded.ts';
import { signatureOf } from './lists.ts';

/** Tensors per compiled group, largest first. */
export const groupSizes = [32, 8, 1] as const;

const maxGroups = 256;

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

const open: Gate = (value) => value;

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

/** A group, and what it was compiled for. */
interface KnownGroup {
  readonly key: string;
  readonly join: ItemOp['join'];
  readonly n: number;
  readonly all: boolean;
  readonly a: Shape;
  readonly aType: DType;
  readonly b: Shape | undefined;
  readonly bType: DType | undefined;
  readonly compiled: Group;
}

/** Runs groups of items of equal kind on one runtime. */
export class Fused {
  readonly #runtime: Runtime;
  readonly #groups: GroupCache;
  #flag: Tensor | null = null;
  #last: KnownGroup | null = null;
  launches = 0;
  /** Every device computes when it is called: there is no launch to save, and nothing to wait for. */
  readonly host: boolean;
  /** The device multiplies lists of pairs in one launch: nothing has to be stacked for it. */
  readonly #lists: boolean;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#groups = new GroupCache(runtime);
    const caps = runtime.devices().flatMap((d) => (d.open ? [runtime.device(d.id).caps] : []));
    this.#lists = caps.some((c) => c.host !== true && c.routines.has('products'));
    this.host = caps.every((c) => c.host === true);
  }

  /** One result per item, in their order. All items are of one kind. */
  run(op: ItemOp, { first, second }: Operands): Tensor[] {
    const results: Tensor[] = [];
    try {
      if (this.host) {
        for (let i = 0; i < first.length; i++) {
          const made = op.run(first[i]!, Array.isArray(second) ? second[i] : second, open);
          results.push(made);
          made.compute();
        }
        this.launches += first.length;
        return results;
      }
      const sizes = op.join === 'merge' ? groupsOf(first.length) : stackSizes(first.length);
      if (sizes.length === 1) return this.#group(op, { first, second }) as Tensor[];
      let at = 0;
      for (const size of sizes) {
        const end = at + size;
        const part = { first: first.slice(at, end), second: Array.isArray(second) ? second.slice(at, end) : second };
        for (const t of this.#group(op, part as Operands)) results.push(t);
        at = end;
      }
      return results;
    } catch (error) {
      for (const t of results) t.dispose();
      throw error;
    }
  }

  #group(op: ItemOp, { first, second }: Operands): readonly Tensor[] {
    const n = first.length;
    const all = Array.isArray(second);
    const seconds: readonly Tensor[] = second === undefined ? [] : all ? second : [second as Tensor];
    const join = op.join === 'stack' && this.#lists ? 'apart' : op.join;
    const merged = n > 1 && join !== 'apart';
    const { compiled } = this.#compiledFor(op, join, n, all, first[0]!, seconds[0]);
    const made = merged ? compiled(this.#on(), ...first, ...seconds) : compiled(...first, ...seconds);
    this.launches += compiled.kernels.length;
    return made;
  }

  /** The group of the last call if this one is like it: known without a text, as equal shapes are one object. */
  #compiledFor(
    op: ItemOp,
    join: ItemOp['join'],
    n: number,
    all: boolean,
    a: Tensor,
    b: Tensor | undefined,
  ): KnownGroup {
    const last = this.#last;
    if (last && last.key === op.key && last.join === join && last.n === n && last.all === all)
      if (last.a === a.shape && last.aType === a.dtype && last.b === b?.shape && last.bType === b?.dtype) return last;
    const kind = `${signatureOf(a)} ${b ? signatureOf(b) : ''}`;
    const merged = n > 1 && join !== 'apart';
    const compiled = this.#groups.of(`${op.key} ${join} ${n} ${all} ${kind}`, () =>
      merged ? this.#body(op, n, all) : apartBody(op, n, all),
    );
    this.#last = { key: op.key, join, n, all, a: a.shape, aType: a.dtype, b: b?.shape, bType: b?.dtype, compiled };
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
