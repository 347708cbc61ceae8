// Expressions as registers.
//
// A scope is a stretch of code in which some axes have a position. Scopes nest: a loop body is a scope inside the code
// around it, with more axes bound. An expression is computed once, in the outermost scope where everything it depends on is
// known, so what does not change in a loop is computed before it.
//
// A scope may be `width` elements wide along one axis (`laneAxis`): its values are then lists of registers, one per
// lane, or of one register where all lanes agree.

import { linear } from '../../../kernel/bounds.ts';
import type { Alu, Expr } from '../../../kernel/expr.ts';
import { type AluContext, emitAlu } from './alu.ts';
import { emitBitcast, emitCast } from './cast.ts';
import type { Block, EntryPoint } from './code.ts';
import { emitLoad } from './memory.ts';
import { bitsSuffix, type IndexBits, kindOf, literal } from './types.ts';
import { accumulatorKey, dependencies, lane, type Values } from './values.ts';

export interface Bindings {
  /** Address registers of the input buffers. */
  readonly inputs: readonly string[];
  /** Names of the scalar parameters. */
  readonly scalars: readonly string[];
  /** Inputs that no output of this kernel may overlap: they can be read through the read-only path. */
  readonly readOnly: readonly boolean[];
  /** How many elements each input has, where that is known. */
  readonly elements?: readonly number[];
  readonly bits: IndexBits;
}

export interface ScopeOptions {
  /** Positions of the axes bound here: for the lane axis, of lane 0. */
  readonly axes?: ReadonlyMap<number, string>;
  readonly accumulators?: readonly Values[];
  readonly width?: number;
  readonly laneAxis?: number;
  /** Values that are there already, and are not computed. */
  readonly known?: ReadonlyMap<Expr, Values>;
  /** The scope is behind a branch: what is computed in it, everything else before it. */
  readonly owns?: ReadonlySet<Expr>;
}

export class PtxScope {
  readonly parent: PtxScope | null;
  readonly block: Block;
  readonly bindings: Bindings;
  readonly width: number;
  readonly laneAxis: number;
  /** Elements that were loaded, by where they lie, and the gate behind which: a neighbouring vector has most of its lanes in common. */
  readonly elements = new Map<string, { readonly value: string; readonly gate: string | null }>();
  readonly #axes: ReadonlyMap<number, string>;
  readonly #accumulators: readonly Values[];
  readonly #available: ReadonlySet<number>;
  readonly #owns: ReadonlySet<Expr> | null;
  readonly #memo = new Map<Expr | string, Values>();

  private constructor(parent: PtxScope | null, block: Block, bindings: Bindings, options: ScopeOptions) {
    this.parent = parent;
    this.block = block;
    this.bindings = bindings;
    // Lanes are inherited: what a loop computes for a row of columns is as wide as the row.
    this.width = options.width ?? parent?.width ?? 1;
    this.laneAxis = options.laneAxis ?? parent?.laneAxis ?? -1;
    this.#axes = options.axes ?? new Map();
    this.#accumulators = options.accumulators ?? [];
    this.#owns = options.owns ?? null;
    this.#available = new Set([
      ...(parent ? parent.#available : []),
      ...this.#axes.keys(),
      ...this.#accumulators.map((_, i) => accumulatorKey(i)),
    ]);
    for (const [e, values] of options.known ?? []) this.#memo.set(e, values);
  }

  static root(entry: EntryPoint, bindings: Bindings): PtxScope {
    return new PtxScope(null, entry.body, bindings, {});
  }

  /** Code that follows in the same block, with more bound. */
  extend(options: ScopeOptions): PtxScope {
    return new PtxScope(this, this.block, this.bindings, options);
  }

  /** Code in a block of its own, which the caller appends when it is complete. */
  nest(options: ScopeOptions = {}): PtxScope {
    return new PtxScope(this, this.block.child(), this.bindings, options);
  }

  get context(): AluContext {
    return { block: this.block, target: this.block.entry.target, bits: this.bindings.bits };
  }

  /** The register of a one-lane value. */
  value(e: Expr): string {
    return this.values(e)[0]!;
  }

  values(e: Expr): Values {
    if (e.kind === 'const' && e.type !== 'bool') return [literal(this.block, e.type, e.value)];
    const home = this.#homeFor(e);
    return home.#memo.get(e) ?? home.#compute(e);
  }

  /** Operands first, in their order. A loop and not a recursion: decomposed chains are thousands of ops long. */
  #compute(e: Expr): Values {
    const open = [{ scope: this as PtxScope, e, next: 0 }];
    for (;;) {
      const top = open[open.length - 1]!;
      const { scope } = top;
      const src = scope.#needed(top.e);
      const s = src[top.next++];
      if (s === undefined) {
        // A choice may have been made by then, behind the branch of another one.
        const made = scope.#memo.get(top.e) ?? scope.#build(top.e);
        scope.#memo.set(top.e, made);
        open.pop();
        if (open.length === 0) return made;
      } else if (s.kind !== 'const') {
        const home = scope.#homeFor(s);
        if (!home.#memo.has(s)) open.push({ scope: home, e: s, next: 0 });
      }
    }
  }

  /** The operands that an expression has to wait for: not what may be behind a branch. */
  #needed(e: Expr): readonly Expr[] {
    if (e.kind !== 'alu') return e.kind === 'cast' ? e.src : [];
    const [first] = e.src as [Expr];
    return e.op === 'where' && this.block.entry.arms.has(first) ? [first] : e.src;
  }

  /** Computes once per scope under a name, in the outermost scope that knows these dependencies. */
  once(key: string, depends: ReadonlySet<number>, make: (scope: PtxScope) => Values): Values {
    const home = this.#homeOf(depends);
    let known = home.#memo.get(key);
    if (!known) home.#memo.set(key, (known = make(home)));
    return known;
  }

  /** A value that was computed in another way. */
  define(e: Expr, values: Values): void {
    this.#homeOf(dependencies(e)).#memo.set(e, values);
  }

  /** The position of lane 0 on an axis. */
  position(axis: number): string {
    for (let s: PtxScope | null = this; s; s = s.parent) {
      const found = s.#axes.get(axis);
      if (found) return found;
    }
    throw new Error(`ptx: axis ${axis} has no position here`);
  }

  /** Where an expression is computed. */
  #homeFor(e: Expr): PtxScope {
    let scope: PtxScope = this;
    while (scope.#owns && !scope.#owns.has(e)) scope = scope.parent!;
    return scope.#owns ? scope : scope.#homeOf(dependencies(e));
  }

  #homeOf(depends: ReadonlySet<number>): PtxScope {
    let home: PtxScope = this;
    outer: while (home.parent) {
      for (const d of depends) if (!home.parent.#available.has(d)) break outer;
      home = home.parent;
    }
    return home;
  }

  #build(e: Expr): Values {
    switch (e.kind) {
      case 'const':
        return [literal(this.block, e.type, e.value)];
      case 'scalar': {
        const name = this.bindings.scalars[e.slot]!;
        if (e.type === 'bool')
          return [this.block.def('p', 'setp.ne.u32', this.block.def('r', 'ld.param.u32', `[${name}]`), 0)];
        const kind = kindOf(e.type, this.bindings.bits);
        return [this.block.def(kind, `ld.param.${bitsSuffix[kind]}`, `[${name}]`)];
      }
      case 'axis': {
        const base = this.position(e.axis);
        if (e.axis !== this.laneAxis) return [base];
        const suffix = this.bindings.bits === 32 ? 's32' : 's64';
        const kind = kindOf('index', this.bindings.bits);
        return Array.from({ length: this.width }, (_, i) =>
          i === 0 ? base : this.block.def(kind, `add.${suffix}`, base, i),
        );
      }
      case 'acc': {
        for (let s: PtxScope | null = this; s; s = s.parent) {
          const found = s.#accumulators[e.slot];
          if (found) return found;
        }
        throw new Error(`ptx: accumulator ${e.slot} has no value here`);
      }
      case 'load':
        return emitLoad(this, e);
      case 'alu': {
        const agreed = this.#alongLanes(e) ?? this.#chosen(e);
        if (agreed) return agreed;
        const src = e.src.map((s) => this.values(s));
        const type = e.src[e.src.length - 1]!.type;
        const context = { ...this.context, of: e };
        return this.#lanes(src, (args) => emitAlu(context, e.op, type, args));
      }
      case 'cast': {
        const from = e.src[0].type;
        const emit = e.bits ? emitBitcast : emitCast;
        return this.#lanes([this.values(e.src[0])], ([v]) => emit(this.context, from, e.type, v!));
      }
      default:
        return e satisfies never;
    }
  }

  /**
   * A comparison of the lanes' axis with a number. Lane 0 lies at a multiple of the width, so it decides for all lanes between two
   * of these: conditions of different lanes, and of different comparisons, become one register.
   */
  #alongLanes({ op, src }: Alu): Values | null {
    if (this.width === 1 || (op !== 'lt' && op !== 'le')) return null;
    const [a, b] = src as [Expr, Expr];
    const isAxis = (x: Expr): boolean => x.kind === 'axis' && x.axis === this.laneAxis;
    const above = isAxis(b);
    const [axis, limit] = above ? [b, a] : [a, b];
    if (!isAxis(axis) || axis.kind !== 'axis' || limit.kind !== 'const') return null;
    // Above: the first position for which it holds. Below: the first for which it does not.
    const first = Number(limit.value) + Number((op === 'lt') === above);
    const suffix = this.bindings.bits === 32 ? 's32' : 's64';
    return Array.from({ length: this.width }, (_, i) => {
      const turn = Math.ceil((first - i) / this.width) * this.width;
      const fixed = turn <= 0 ? above : turn >= axis.size ? !above : null;
      const key = `${axis.axis} ${fixed ?? `${above ? 'ge' : 'lt'} ${turn}`}`;
      const [register] = this.once(key, dependencies(axis), (home) => [
        fixed === null
          ? home.block.def('p', `setp.${above ? 'ge' : 'lt'}.${suffix}`, home.position(axis.axis), turn)
          : literal(home.block, 'bool', Number(fixed)),
      ]);
      return register!;
    });
  }

  /** A choice whose first arm is behind a branch, with all others that have theirs there. */
  #chosen(e: Alu): Values | null {
    const [condition] = e.src as [Expr];
    const arms = e.op === 'where' ? this.block.entry.arms.get(condition) : undefined;
    if (!arms || this.#memo.has(`arms ${condition.id}`)) return null;
    this.#memo.set(`arms ${condition.id}`, []);
    const flags = this.values(condition);
    const inside = this.nest({ owns: new Set(arms.own) });
    const behind = (value: Expr, otherwise: Values, first: Values): Values => {
      const kind = kindOf(value.type, this.bindings.bits);
      const type = kind === 'p' ? 'pred' : bitsSuffix[kind];
      const width = Math.max(flags.length, otherwise.length, first.length);
      return Array.from({ length: width }, (_, i) => {
        const result = this.block.def(kind, `mov.${type}`, lane(otherwise, i));
        inside.block.set(result, `selp.${type}`, lane(first, i), result, lane(flags, i));
        return result;
      });
    };
    for (const choice of arms.choices) {
      if (this.#homeFor(choice) !== this) continue;
      const [, first, second] = choice.src as [Expr, Expr, Expr];
      const otherwise = this.values(second);
      this.#memo.set(choice, behind(choice, otherwise, inside.values(first)));
    }
    for (const value of arms.values) {
      if (this.#homeFor(value) !== this) continue;
      const nothing = [literal(this.block, value.type, 0)];
      this.#memo.set(value, behind(value, nothing, inside.values(value)));
    }
    const skip = this.block.entry.label('skip');
    const any = flags.reduce((a, b) => this.block.def('p', 'or.pred', a, b));
    this.block.emit(`@!${any} bra ${skip}`);
    this.block.append(inside.block);
    this.block.label(skip);
    return this.#memo.get(e) ?? null;
  }

  /** The register that a condition has where it always holds; see `alongLanes`. */
  get always(): string | null {
    return this.#memo.get(`${this.laneAxis} true`)?.[0] ?? null;
  }

  #lanes(src: readonly Values[], make: (args: readonly string[]) => string): Values {
    const width = src.reduce((w, v) => Math.max(w, v.length), 1);
    return Array.from({ length: width }, (_, i) => make(src.map((v) => lane(v, i))));
  }

  /**
   * Where element `index` of a buffer lies: an address register and a byte offset for lane 0. What is known outside of a loop is added
   * there. Of the rest, everything that is read around a position has one base, the position's own address; what leads from there to a
   * neighbour (the wrap of a roll, a looked-up row) is summed apart and added last: neighbours along several axes share these sums.
   */
  address(pointer: string, index: Expr, elementBytes: number): { readonly register: string; readonly offset: number } {
    const { terms, offset } = linear(index);
    // In one order, so that equal parts of different positions are found.
    const ordered = [...terms].sort(([p], [q]) => p.id - q.id);
    return { register: this.#reach(pointer, ordered, elementBytes), offset: offset * elementBytes };
  }

  #reach(pointer: string, terms: readonly Term[], elementBytes: number): string {
    let around = this.parent;
    while (around && around.block === this.block) around = around.parent;
    const known = around ? around.#available : new Set<number>();
    const outer = terms.filter(([t]) => [...dependencies(t)].every((d) => known.has(d)));
    if (!around || outer.length === 0) return this.#further(pointer, [], terms, elementBytes);
    const inner = terms.filter((t) => !outer.includes(t));
    return this.#further(around.#reach(pointer, outer, elementBytes), outer, inner, elementBytes);
  }

  /** From an address that is made of `known` terms: first along the axes, then away from there. */
  #further(pointer: string, known: readonly Term[], terms: readonly Term[], elementBytes: number): string {
    const own = terms.filter(([t]) => t.kind === 'axis');
    const away = terms.filter(([t]) => t.kind !== 'axis');
    const base = this.#plus(pointer, known, own, elementBytes);
    return this.#plus(base, [...known, ...own], away, elementBytes);
  }

  #plus(pointer: string, known: readonly Term[], terms: readonly Term[], elementBytes: number): string {
    if (terms.length === 0) return pointer;
    const key = `address ${pointer} ${elementBytes} ${nameOf(terms)}`;
    const [made] = this.once(key, dependenciesOf([...known, ...terms]), (home) => {
      const op = this.bindings.bits === 32 ? 'mad.wide.s32' : 'mad.lo.s64';
      const [[first, factor]] = terms as [Term];
      const bytes = factor * elementBytes;
      const single = terms.length === 1 && Math.abs(bytes) < 2 ** 31;
      const [count, each] = single ? [lane(home.values(first), 0), bytes] : [home.#sum(terms), elementBytes];
      return [home.block.def('d', op, count, each, pointer)];
    });
    return made!;
  }

  /** The sum of some terms; sums that begin alike have that part in common. */
  #sum(terms: readonly Term[]): string {
    const [made] = this.once(`sum ${nameOf(terms)}`, dependenciesOf(terms), (home) => {
      const suffix = this.bindings.bits === 32 ? 's32' : 's64';
      const kind = kindOf('index', this.bindings.bits);
      const [last, factor] = terms[terms.length - 1]!;
      const v = lane(home.values(last), 0);
      if (terms.length === 1) return [factor === 1 ? v : home.block.def(kind, `mul.lo.${suffix}`, v, factor)];
      const before = home.#sum(terms.slice(0, -1));
      return [
        factor === 1
          ? home.block.def(kind, `add.${suffix}`, before, v)
          : home.block.def(kind, `mad.lo.${suffix}`, v, factor, before),
      ];
    });
    return made!;
  }
}

/** An expression and its factor in a position. */
type Term = readonly [Expr, number];

const nameOf = (terms: readonly Term[]): string => terms.map(([t, k]) => `${t.id}*${k}`).join(' ');

const dependenciesOf = (terms: readonly Term[]): ReadonlySet<number> =>
  new Set(terms.flatMap(([t]) => [...dependencies(t)]));
