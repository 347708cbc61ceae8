// Values of expressions as WebAssembly code.
//
// `scalar` leaves an i32 on the stack (positions, and conditions on them), `vec` a vector part, `mask` a part of a condition
// at a lane width. Values used more than once, and values that do not change in the present loop, are kept in locals of the
// scope where they are computed (scope.ts).

import { type Arms, costlyArms } from '../../../kernel/arms.ts';
import type { Expr, Exprs, Load } from '../../../kernel/expr.ts';
import { operands } from '../../../kernel/walk.ts';
import type { ValType } from '../wasm/code.ts';
import type { Func } from '../wasm/module.ts';
import { emitAddress, reach } from './addresses.ts';
import { emitCast } from './casts.ts';
import { hasMask, partsFor, shapes, splatBytes, type Width, widthOf } from './lanes.ts';
import { emitLoad } from './load.ts';
import { emitMask } from './masks.ts';
import type { ArgsLayout } from './module.ts';
import { emitPosition } from './positions.ts';
import { epilogueDepth, type WasmScope } from './scope.ts';
import { squaresOf } from './squares.ts';
import { emitAlu } from './vector-ops.ts';

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
  /** Neighbours beside the vector axis are computed together, so that loads across it are squares. */
  readonly inSquares?: boolean;
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
  readonly #inSquares: boolean;
  readonly #info = new Map<Expr, Info>();
  readonly #pinned = new Set<Expr>();
  readonly #uses = new Map<Expr, number>();
  readonly #widths = new Map<Expr, Width>();
  readonly #roots: Expr[] = [];
  #arms: ReadonlyMap<Expr, Arms> | null = null;
  #squares: ReadonlyMap<Expr, readonly Load[]> | null = null;

  constructor(options: EmitterOptions) {
    this.func = options.func;
    this.exprs = options.exprs;
    this.layout = options.layout;
    this.vectorAxis = options.vectorAxis;
    this.relaxed = options.relaxed;
    this.#depths = options.depths;
    this.#accVaries = options.accVaries;
    this.#inSquares = options.inSquares ?? false;
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
    this.#squares = null;
  }

  /** The loads that read a square together with this one, where the kernel is computed in squares; itself among them. */
  squareOf(load: Load): readonly Load[] | undefined {
    if (!this.#inSquares) return undefined;
    this.#squares ??= squaresOf(this.#roots, this.vectorAxis);
    return this.#squares.get(load);
  }

  /**
   * Computes the costly arms of choices by a condition if any lane takes them, and makes those choices. All parts go behind one
   * branch: before and after it the engine can overlap them.
   */
  computeArms(condition: Expr, s: WasmScope): void {
    this.#arms ??= costlyArms(this.#roots, hasMask);
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

  /** Whether a scope is for elements that do not meet this condition: choices by it are made already. */
  isRare(condition: Expr, s: WasmScope): boolean {
    if (!s.rare || !this.info(condition).varying) return false;
    this.#arms ??= costlyArms(this.#roots, hasMask);
    if (!this.#arms.has(condition)) return false;
    s.rare.add(condition);
    return true;
  }

  /** Computes values that are used later, so that all conditions that they depend on have come up. */
  ready(values: readonly Expr[], s: WasmScope): void {
    this.inStep(values, s);
    for (const e of values) {
      if (!this.info(e).varying || e.kind === 'const' || e.kind === 'acc') continue;
      const width = widthOf(e.type);
      for (let p = 0; p < this.parts(s, width); p++) {
        const local = this.temp();
        if (e.type === 'bool') this.mask(e, p, width, s);
        else this.vec(e, p, s);
        s.code.set(local);
        s.memo.set(e.type === 'bool' ? `m${e.id}.${p}.${width}` : `v${e.id}.${p}`, local);
      }
    }
  }

  /** Leaves 1 if any element of the body meets one of the conditions that it is not for. */
  anyRare(s: WasmScope): void {
    let first = true;
    // A condition may bring up others.
    for (const condition of s.rare!) {
      const width = this.naturalWidth(condition);
      for (let p = 0; p < this.parts(s, width); p++) {
        this.mask(condition, p, width, s);
        if (!first) s.code.op('v128.or');
        first = false;
      }
    }
    s.code.op('v128.any_true');
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
    this.#arms ??= costlyArms(this.#roots, hasMask);
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

  /** Whether a value is used more than once. */
  isShared(e: Expr): boolean {
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
    this.keep(e, `s${e.id}`, 'i32', s, this.isShared(e), (t) => emitPosition(this, e, t));
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
    this.keep(e, `v${e.id}.${p}`, 'v128', s, this.isShared(e), (t) => {
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
    emitMask(this, e, p, w, s);
  }

  /** Chooses between two vectors below the mask on the stack. */
  select(s: WasmScope, w: Width): void {
    s.code.op(this.relaxed ? `${shapes[w]}.relaxed_laneselect` : 'v128.bitselect');
  }

  /** The byte address of element `index` of a buffer (for the vector axis: of lane 0); `bytes` is added at the end. */
  address(buffer: number, index: Expr, shift: number, s: WasmScope, bytes = 0): void {
    emitAddress(this, buffer, index, shift, s, bytes);
  }

  /** The same for a load: returns what its instruction has to add. */
  nearAddress(buffer: number, index: Expr, shift: number, s: WasmScope, bytes = 0): number {
    return emitAddress(this, buffer, index, shift, s, bytes, reach);
  }
}
