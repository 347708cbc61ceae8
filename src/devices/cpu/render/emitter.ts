// Values of expressions as WebAssembly code.
//
// `scalar` leaves an i32 on the stack (positions, and conditions on them), `vec` a vector part, `mask` a part of a condition
// at a lane width. Values used more than once, and values that do not change in the present loop, are kept in locals of the
// scope where they are computed (scope.ts).

import { linear } from '../../../kernel/bounds.ts';
import type { Expr, Exprs } from '../../../kernel/expr.ts';
import { fromLinear } from '../../../kernel/simplify.ts';
import { operands } from '../../../kernel/walk.ts';
import type { ValType } from '../wasm/code.ts';
import type { Func } from '../wasm/module.ts';
import type { PlainOp } from '../wasm/ops.ts';
import { type Arms, costlyArms } from './arms.ts';
import { emitCast, emitToBool } from './casts.ts';
import { partsFor, shapes, shuffleOf, splatBytes, type Width, widthOf } from './lanes.ts';
import { emitLoad, emitLoadMask } from './load.ts';
import type { ArgsLayout } from './module.ts';
import { emitPosition, isPositional } from './positions.ts';
import { epilogueDepth, type WasmScope } from './scope.ts';
import { emitAlu, emitCompare } from './vector-ops.ts';

interface Info {
  readonly depth: number;
  /** Differs between the lanes of the vector loop. */
  readonly varying: boolean;
  readonly hasAcc: boolean;
}

/** Chains of fewer operations are over before it matters in which order they come. */
const fewSteps = 8;

export interface EmitterOptions {
  readonly func: Func;
  readonly exprs: Exprs;
  readonly layout: ArgsLayout;
  /** Scope depth of the loop over each axis. */
  readonly depths: ReadonlyMap<number, number>;
  readonly vectorAxis: number;
  /** The finished accumulators differ between lanes. */
  readonly accVaries: boolean;
  readonly relaxed: boolean;
}

export class Emitter {
  readonly func: Func;
  readonly exprs: Exprs;
  readonly layout: ArgsLayout;
  readonly vectorAxis: number;
  readonly relaxed: boolean;
  /** The local that holds the position on each axis; for the vector axis, that of lane 0. */
  readonly positions = new Map<number, number>();
  /** Locals with the finished accumulators, by slot and part. */
  accumulators: readonly (readonly number[])[] = [];
  readonly #depths: ReadonlyMap<number, number>;
  readonly #accVaries: boolean;
  readonly #info = new Map<Expr, Info>();
  readonly #pinned = new Set<Expr>();
  readonly #uses = new Map<Expr, number>();
  readonly #widths = new Map<Expr, Width>();
  readonly #roots: Expr[] = [];
  #arms: ReadonlyMap<Expr, Arms> | null = null;

  constructor(options: EmitterOptions) {
    this.func = options.func;
    this.exprs = options.exprs;
    this.layout = options.layout;
    this.vectorAxis = options.vectorAxis;
    this.relaxed = options.relaxed;
    this.#depths = options.depths;
    this.#accVaries = options.accVaries;
  }

  info(e: Expr): Info {
    const known = this.#info.get(e);
    if (known) return known;
    let hasAcc = e.kind === 'acc';
    let depth = hasAcc ? epilogueDepth : 0;
    let varying = hasAcc && this.#accVaries;
    if (e.kind === 'axis') {
      depth = this.#depths.get(e.axis) ?? 0;
      varying = e.axis === this.vectorAxis;
    }
    if (this.#pinned.has(e)) depth = this.#depths.get(this.vectorAxis) ?? 0;
    for (const s of operands(e)) {
      const below = this.info(s);
      hasAcc ||= below.hasAcc;
      varying ||= below.varying;
      depth = Math.max(depth, below.depth);
    }
    const made = { depth, varying, hasAcc };
    this.#info.set(e, made);
    return made;
  }

  /** Keeps a load, and what is computed from it, in the body of its loop: it is not safe to reach outside its case. */
  pin(load: Expr): void {
    this.#pinned.add(load);
    this.#info.clear();
  }

  /** Counts who uses what below these roots, so that shared values are kept. */
  count(roots: readonly Expr[]): void {
    const seen = new Set<Expr>();
    const visit = (e: Expr): void => {
      this.#uses.set(e, (this.#uses.get(e) ?? 0) + 1);
      if (seen.has(e)) return;
      seen.add(e);
      for (const s of operands(e)) visit(s);
    };
    for (const r of roots) visit(r);
    this.#roots.push(...roots);
    this.#arms = null;
  }

  /**
   * Computes the costly arms of choices by a condition if any lane takes them, and makes those choices. All parts go behind one
   * branch: before and after it the engine can overlap them.
   */
  computeArms(condition: Expr, s: WasmScope): void {
    this.#arms ??= costlyArms(this.#roots);
    const arms = this.#arms.get(condition);
    const key = `b${condition.id}`;
    if (!arms || !this.info(condition).varying || s.memo.has(key)) return;
    s.memo.set(key, -1);
    const width = this.naturalWidth(condition);
    const parts = Array.from({ length: this.parts(s, width) }, (_, p) => p);
    const belongs = (e: Expr): boolean => this.info(e).depth <= s.depth && s.at(this.info(e).depth) === s;
    const here = arms.choices.filter(belongs);
    const chosen = parts.map((p) => here.map((e) => [e, this.vecLocal(e.src[2]!, p, s)] as const));
    const masks = parts.map((p) => {
      const mask = this.temp();
      this.mask(condition, p, width, s);
      s.code.set(mask);
      return mask;
    });
    masks.forEach((mask, p) => {
      s.code.get(mask);
      if (p > 0) s.code.op('v128.or');
    });
    s.code.op('v128.any_true').if();
    // A choice by the same condition within an arm is computed as it stands: its arm is behind the branch already.
    const branch = s.branch();
    for (const p of parts) {
      for (const [e, local] of chosen[p]!) {
        this.vec(e.src[1]!, p, branch);
        branch.code.get(local).get(masks[p]!);
        this.select(branch, widthOf(e.type));
        branch.code.set(local);
        branch.memo.set(`v${e.id}.${p}`, local);
      }
    }
    const rest = arms.values.filter((arm) => belongs(arm) && this.info(arm).varying);
    const values = parts.map((p) => rest.map((arm) => [arm, this.vecLocal(arm, p, branch)] as const));
    s.code.append(branch.code).end();
    for (const p of parts) {
      for (const [e, local] of chosen[p]!) s.memo.set(`v${e.id}.${p}`, local);
      // Where the branch was not taken they hold anything: no lane chooses them.
      for (const [arm, local] of values[p]!) s.memo.set(`v${arm.id}.${p}`, local);
    }
  }

  /**
   * Computes what the roots need step by step, each step for all parts of a body before the next. Engines that keep the order of
   * the code then overlap the parts; those that make their own order do so anyway.
   */
  inStep(roots: readonly Expr[], s: WasmScope): void {
    const steps = this.#ordered(roots);
    if (steps.length < fewSteps) return;
    for (const e of steps) {
      if (e.type === 'bool' || e.type === 'index' || !this.info(e).varying || s.at(this.info(e).depth) !== s) continue;
      const parts = this.parts(s, widthOf(e.type));
      for (let p = 0; parts > 1 && p < parts; p++) {
        if (!this.isKnown(e, p, s)) s.memo.set(`v${e.id}.${p}`, this.vecLocal(e, p, s));
      }
    }
  }

  /** Operands before what they are used for, without what is behind a branch. */
  #ordered(roots: readonly Expr[]): readonly Expr[] {
    this.#arms ??= costlyArms(this.#roots);
    const done = new Set<Expr>();
    const stack = [...roots].reverse();
    for (let e = stack.at(-1); e; e = stack.at(-1)) {
      const arms = e.kind === 'alu' && e.op === 'where' ? this.#arms.get(e.src[0]!) : undefined;
      const waiting = done.has(e) ? [] : operands(e).filter((x, i) => !done.has(x) && !(arms && i === 1));
      if (waiting.length > 0) stack.push(...waiting.reverse());
      else {
        stack.pop();
        done.add(e);
      }
    }
    return [...done].filter((e) => e.kind === 'alu' || e.kind === 'cast' || e.kind === 'load');
  }

  /** Whether part `p` of a value is in a local of the scope where it belongs. */
  isKnown(e: Expr, p: number, s: WasmScope): boolean {
    return s.at(this.info(e).depth).memo.has(`v${e.id}.${p}`);
  }

  local(type: ValType): number {
    return this.func.local(type);
  }

  /** A vector local for use within one value. */
  readonly temp = (): number => this.func.local('v128');

  parts(s: WasmScope, width: number): number {
    return partsFor(s.lanes, width);
  }

  /** Leaves a value on the stack of `s`, computing it where it belongs and at most once if it is shared. */
  keep(e: Expr, key: string, type: ValType, s: WasmScope, shared: boolean, make: (t: WasmScope) => void): void {
    const t = s.at(this.info(e).depth);
    const known = t.memo.get(key);
    if (known !== undefined) {
      s.code.get(known);
      return;
    }
    make(t);
    if (t === s && !shared) return;
    const local = this.local(type);
    t.memo.set(key, local);
    if (t === s) t.code.tee(local);
    else {
      t.code.set(local);
      s.code.get(local);
    }
  }

  #shared(e: Expr): boolean {
    return (this.#uses.get(e) ?? 0) > 1;
  }

  /** An index, or a condition, that is the same in all lanes. */
  scalar(e: Expr, s: WasmScope): void {
    if (e.kind === 'const') {
      s.code.i32(Number(e.value));
      return;
    }
    if (e.kind === 'axis') {
      s.code.get(this.positions.get(e.axis)!);
      return;
    }
    this.keep(e, `s${e.id}`, 'i32', s, this.#shared(e), (t) => emitPosition(this, e, t));
  }

  /** Part `p` of a value that is not a bool. */
  vec(e: Expr, p: number, s: WasmScope): void {
    if (e.type === 'bool') throw new Error('cpu: a bool has no lanes of its own');
    const { varying } = this.info(e);
    if (!varying) p = 0;
    if (e.kind === 'const') {
      s.code.v128(splatBytes(e.type, e.value));
      return;
    }
    if (e.kind === 'acc') {
      s.code.get(this.accumulators[e.slot]![p]!);
      return;
    }
    this.keep(e, `v${e.id}.${p}`, 'v128', s, this.#shared(e), (t) => {
      if (e.type === 'index' && !varying) {
        this.scalar(e, t);
        t.code.op('i32x4.splat');
        return;
      }
      switch (e.kind) {
        case 'scalar': {
          const load = { 8: 'v128.load8_splat', 32: 'v128.load32_splat', 64: 'v128.load64_splat' } as const;
          t.code.get(0).mem(load[widthOf(e.type) as 8 | 32 | 64], this.layout.scalars + 8 * e.slot);
          return;
        }
        case 'axis':
          t.code.get(this.positions.get(e.axis)!).op('i32x4.splat');
          t.code.v128(new Uint8Array(Int32Array.from([0, 1, 2, 3], (k) => 4 * p + k).buffer)).op('i32x4.add');
          return;
        case 'load':
          return emitLoad(this, e, p, t);
        case 'cast':
          return emitCast(this, e, p, t);
        case 'alu':
          return emitAlu(this, e, p, t);
        default:
          return e satisfies never;
      }
    });
  }

  /** Part `p` of a value in a local. */
  vecLocal(e: Expr, p: number, s: WasmScope): number {
    const local = this.local('v128');
    this.vec(e, p, s);
    s.code.set(local);
    return local;
  }

  /** The width at which a condition comes for free. */
  naturalWidth(e: Expr): Width {
    switch (e.kind) {
      case 'alu': {
        const first = e.src[0]!;
        if (first.type !== 'bool') return widthOf(first.type);
        let width = this.#widths.get(e);
        if (width === undefined) {
          width = Math.max(...e.src.map((x) => (x.kind === 'const' ? 8 : this.naturalWidth(x)))) as Width;
          this.#widths.set(e, width);
        }
        return width;
      }
      case 'cast':
        return widthOf(e.src[0].type);
      default:
        return 8;
    }
  }

  /** Part `p` of a condition as a mask of `w`-bit lanes. */
  mask(e: Expr, p: number, w: Width, s: WasmScope): void {
    if (e.kind === 'const') {
      s.code.v128(splatBytes('bool', e.value));
      return;
    }
    const { varying } = this.info(e);
    if (!varying) p = 0;
    if (e.kind === 'acc') {
      // Finished accumulators of bools are kept as byte masks.
      this.#convertMask(8, w, p, s, varying, (q, t) => t.code.get(this.accumulators[e.slot]![q]!));
      return;
    }
    this.keep(e, `m${e.id}.${p}.${w}`, 'v128', s, this.#shared(e), (t) => {
      if (!varying && isPositional(e)) {
        t.code.i32(0);
        this.scalar(e, t);
        t.code.op('i32.sub').op('i32x4.splat');
        return;
      }
      const natural = this.naturalWidth(e);
      if (natural === w) return this.#makeMask(e, p, w, t);
      if (natural < w) {
        this.mask(e, varying ? p >> 1 : 0, (w / 2) as Width, t);
        this.#widen(w, p & 1, t);
        return;
      }
      this.#narrow(
        w,
        varying && this.parts(t, 2 * w) > 1,
        (half, u) => this.mask(e, 2 * p + half, (2 * w) as Width, u),
        t,
      );
    });
  }

  #widen(w: number, high: number, t: WasmScope): void {
    const half = high ? 'high' : 'low';
    t.code.op(
      w === 16
        ? `i16x8.extend_${half}_i8x16_s`
        : w === 32
          ? `i32x4.extend_${half}_i16x8_s`
          : `i64x2.extend_${half}_i32x4_s`,
    );
  }

  #narrow(w: number, two: boolean, source: (half: number, t: WasmScope) => void, t: WasmScope): void {
    source(0, t);
    if (two) source(1, t);
    else {
      const local = this.temp();
      t.code.tee(local).get(local);
    }
    if (w === 8) t.code.op('i8x16.narrow_i16x8_s');
    else if (w === 16) t.code.op('i16x8.narrow_i32x4_s');
    else t.code.shuffle(shuffleOf(32, [0, 2, 4, 6]));
  }

  #convertMask(
    from: Width,
    to: Width,
    p: number,
    s: WasmScope,
    varying: boolean,
    source: (q: number, t: WasmScope) => void,
  ): void {
    if (from === to) {
      source(p, s);
      return;
    }
    this.#convertMask(from, (to / 2) as Width, varying ? p >> 1 : 0, s, varying, source);
    this.#widen(to, varying ? p & 1 : 0, s);
  }

  #makeMask(e: Expr, p: number, w: Width, t: WasmScope): void {
    switch (e.kind) {
      case 'scalar':
        t.code
          .get(0)
          .mem('v128.load8_splat', this.layout.scalars + 8 * e.slot)
          .v128(splatBytes('u8', 0))
          .op('i8x16.ne');
        return;
      case 'load': {
        emitLoadMask(this, e, p, t);
        return;
      }
      case 'cast': {
        emitToBool(this, e, p, t);
        return;
      }
      case 'alu':
        if (e.src[0]!.type !== 'bool') {
          emitCompare(this, e, p, t);
          return;
        }
        {
          this.#makeLogic(e.op, e.src, p, w, t);
          return;
        }
      default:
        throw new Error(`cpu: ${e.kind} is no condition`);
    }
  }

  #makeLogic(op: string, src: readonly Expr[], p: number, w: Width, t: WasmScope): void {
    const row = logicOps[op];
    if (!row) throw new Error(`cpu: ${op} on bool`);
    for (const i of row.order) this.mask(src[i]!, p, w, t);
    t.code.ops(...row.ops);
  }

  /** Chooses between two vectors below the mask on the stack. */
  select(s: WasmScope, w: Width): void {
    s.code.op(this.relaxed ? `${shapes[w]}.relaxed_laneselect` : 'v128.bitselect');
  }

  /**
   * The byte address of element `index` of a buffer (for the vector axis: of lane 0), each part of the sum computed in the
   * outermost loop that knows it. `bytes` is added at the end.
   */
  address(buffer: number, index: Expr, shift: number, s: WasmScope, bytes = 0): void {
    const { offset, terms } = linear(index);
    const byDepth = new Map<number, Map<Expr, number>>();
    for (const [term, k] of terms) {
      const depth = this.info(term).depth;
      const group = byDepth.get(depth);
      if (group) group.set(term, k);
      else byDepth.set(depth, new Map([[term, k]]));
    }
    const start = offset * 2 ** shift + bytes;
    let key = `a${buffer}.${shift}.${start}`;
    const root = s.at(0);
    let local = root.memo.get(key);
    if (local === undefined) {
      local = this.local('i32');
      root.code.get(0).mem('i32.load', 4 * buffer);
      if (start !== 0) root.code.i32(start).op('i32.add');
      root.code.set(local);
      root.memo.set(key, local);
    }
    for (const depth of [...byDepth.keys()].sort((a, b) => a - b)) {
      const group = byDepth.get(depth)!;
      const t = s.at(depth);
      key += `|${fromLinear(this.exprs, { offset: 0, terms: group }).id}`;
      let next = t.memo.get(key);
      if (next === undefined) {
        t.code.get(local);
        for (const [term, k] of group) {
          this.#scaled(term, k * 2 ** shift, t);
          t.code.op('i32.add');
        }
        next = this.local('i32');
        t.code.set(next);
        t.memo.set(key, next);
      }
      local = next;
    }
    s.code.get(local);
  }

  /** A term times a constant: kept, since addresses of one loop share it. */
  #scaled(term: Expr, whole: number, t: WasmScope): void {
    // Addresses are counted modulo 2^32.
    const factor = whole % 2 ** 32;
    if (factor === 0) {
      t.code.i32(0);
      return;
    }
    if (factor === 1) {
      this.scalar(term, t);
      return;
    }
    const key = `x${term.id}*${factor}`;
    const known = t.memo.get(key);
    if (known !== undefined) {
      t.code.get(known);
      return;
    }
    this.scalar(term, t);
    const log2 = Math.log2(factor);
    if (Number.isInteger(log2)) t.code.i32(log2).op('i32.shl');
    else t.code.i32(factor).op('i32.mul');
    const local = this.local('i32');
    t.code.tee(local);
    t.memo.set(key, local);
  }
}

/** Ops on masks: the order in which operands are pushed, and what follows. */
const logicOps: Readonly<Record<string, { readonly order: readonly number[]; readonly ops: readonly PlainOp[] }>> = {
  and: { order: [0, 1], ops: ['v128.and'] },
  or: { order: [0, 1], ops: ['v128.or'] },
  xor: { order: [0, 1], ops: ['v128.xor'] },
  not: { order: [0], ops: ['v128.not'] },
  eq: { order: [0, 1], ops: ['v128.xor', 'v128.not'] },
  ne: { order: [0, 1], ops: ['v128.xor'] },
  lt: { order: [1, 0], ops: ['v128.andnot'] },
  le: { order: [0, 1], ops: ['v128.andnot', 'v128.not'] },
  where: { order: [1, 2, 0], ops: ['v128.bitselect'] },
};
