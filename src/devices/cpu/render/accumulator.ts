// The state of one accumulator in vector registers: how it starts, takes values, and is folded.
//
//   plain     one register per part of the value: integer sums, products, extremes of integers, any and all (byte masks)
//   extreme   max and min of floats: one register per part, and notes of what it does not show (extremes.ts)
//   blocked   float sums: short runs are added up, then moved into registers of their own, so that the error does not grow with
//             the length of the sum. Runs of f32 move into f64; those of f64 into f64, with what rounding takes from them beside it
//   arg       the best value so far and its position, in lanes of one width
//
// Folding combines lanes in a fixed order, so a result depends on sizes alone.

import type { DType } from '../../../base/dtype.ts';
import type { Expr, Exprs } from '../../../kernel/expr.ts';
import type { Accumulator } from '../../../kernel/kernel.ts';
import { combineOp, type ReduceOp } from '../../../kernel/ops.ts';
import type { Code } from '../wasm/code.ts';
import type { Emitter } from './emitter.ts';
import { type Notes, noteCount, notesOf, PairOfExtremes } from './extremes.ts';
import { isHalf, roundHalf } from './half.ts';
import { type LaneType, laneType, partsFor, shuffleOf, splatBytes, type Width, widthOf } from './lanes.ts';
import type { WasmScope } from './scope.ts';
import { compareOp, directOp } from './vector-ops.ts';

export type StateKind = 'plain' | 'extreme' | 'blocked' | 'arg';

/** What the states of an accumulator look like, in every body. */
export interface StateForm {
  readonly kind: StateKind;
  readonly op: ReduceOp;
  readonly type: DType;
  /** Lane type in which values are combined; null for byte masks. */
  readonly lane: LaneType | null;
  readonly width: Width;
}

/** `blocked`: which sums are, by their lanes. */
export function formOf(acc: Accumulator, blocked: ReadonlySet<LaneType>): StateForm {
  const arg = acc.op === 'argmax' || acc.op === 'argmin';
  if (acc.type === 'bool' && !arg) return { kind: 'plain', op: acc.op, type: acc.type, lane: null, width: 8 };
  // Positions need 32 bits, so bytes are compared as 32-bit numbers.
  const lane = arg && (acc.type === 'u8' || acc.type === 'bool') ? 'i32' : laneType(acc.type);
  const float = lane === 'f32' || lane === 'f64';
  const extreme = float && (acc.op === 'max' || acc.op === 'min');
  const kind = arg ? 'arg' : extreme ? 'extreme' : acc.op === 'sum' && blocked.has(lane) ? 'blocked' : 'plain';
  return { kind, op: acc.op, type: acc.type, lane, width: lane === 'u8' ? 8 : widthOf(lane) };
}

/** How many registers of each part of a state have to be kept while others are at work: `State.kept`. */
export const keptRegisters = ({ kind, lane }: StateForm): number =>
  kind === 'extreme' ? 1 + noteCount[lane as 'f32' | 'f64'] : 1;

/** The value an accumulator takes in, in the type its state combines. */
export const taken = (b: Exprs, form: StateForm, value: Expr): Expr =>
  form.kind === 'arg' && form.lane === 'i32' ? b.cast('i32', value) : value;

const ranges: Readonly<Record<LaneType, readonly [number | bigint, number | bigint]>> = {
  u8: [0, 255],
  i32: [-(2 ** 31), 2 ** 31 - 1],
  u32: [0, 2 ** 32 - 1],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
  u64: [0n, 2n ** 64n - 1n],
  f32: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  f64: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
};

/** The vector that changes nothing when combined. */
export function identityBytes(form: StateForm): Uint8Array {
  if (!form.lane) return splatBytes('bool', form.op === 'all' || form.op === 'min' ? 1 : 0);
  const [lowest, highest] = ranges[form.lane];
  switch (form.op) {
    case 'sum':
      return splatBytes(form.lane, 0);
    case 'prod':
      return splatBytes(form.lane, 1);
    case 'max':
    case 'argmax':
    case 'any':
      return splatBytes(form.lane, lowest);
    case 'min':
    case 'argmin':
    case 'all':
      return splatBytes(form.lane, highest);
    default:
      return form.op satisfies never;
  }
}

/** Registers of a finished or running state: values, and for arg their positions. */
export interface Registers {
  readonly lane: LaneType | null;
  readonly width: Width;
  readonly lanes: number;
  readonly values: readonly number[];
  readonly positions: readonly number[];
}

/** Pushes op(x, y) of two vector locals. */
export function combine(em: Emitter, c: Code, form: StateForm, lane: LaneType | null, x: number, y: number): void {
  const op = combineOp[form.op as keyof typeof combineOp];
  if (!lane) {
    c.get(x)
      .get(y)
      .op(op === 'and' || op === 'min' ? 'v128.and' : 'v128.or');
    return;
  }
  const direct = directOp(op, lane);
  if (direct) {
    c.get(x).get(y).op(direct);
    return;
  }
  if (op === 'mul') {
    for (const half of ['low', 'high'] as const) {
      c.get(x).get(y).op(`i16x8.extmul_${half}_i8x16_u`).v128(splatBytes('i32', 0x00ff00ff)).op('v128.and');
    }
    c.op('i8x16.narrow_i16x8_u');
    return;
  }
  const mask = em.temp();
  less(c, lane, op === 'max' ? y : x, op === 'max' ? x : y);
  c.set(mask).get(x).get(y).get(mask).op('v128.bitselect');
}

/** Pushes the mask of x < y. */
export function less(c: Code, lane: LaneType, x: number, y: number): void {
  for (const v of [x, y]) {
    c.get(v);
    if (lane === 'u64') c.v128(splatBytes('u64', 1n << 63n)).op('v128.xor');
  }
  c.op(compareOp('lt', lane));
}

/** Pushes the mask of "v beats best": larger or smaller, or the first NaN. */
function beats(c: Code, form: StateForm, v: number, best: number): void {
  const lane = form.lane!;
  if (form.op === 'argmax') less(c, lane, best, v);
  else less(c, lane, v, best);
  if (lane !== 'f32' && lane !== 'f64') return;
  const shape = lane === 'f32' ? 'f32x4' : 'f64x2';
  c.get(v).get(v).op(`${shape}.ne`).get(best).get(best).op(`${shape}.eq`).op('v128.and').op('v128.or');
}

/** (best, at) becomes the better of itself and (v, p); equal values keep the smaller position. */
function mergeArg(em: Emitter, c: Code, form: StateForm, best: number, at: number, v: number, p: number): void {
  const mask = em.temp();
  beats(c, form, v, best);
  // Neither beats the other: equal, or both NaN.
  beats(c, form, v, best);
  beats(c, form, best, v);
  c.op('v128.or').op('v128.not');
  c.get(p)
    .get(at)
    .op(form.width === 64 ? 'i64x2.lt_s' : 'i32x4.lt_s')
    .op('v128.and')
    .op('v128.or')
    .set(mask);
  c.get(v).get(best).get(mask).op('v128.bitselect').set(best);
  c.get(p).get(at).get(mask).op('v128.bitselect').set(at);
}

/** The running state of one accumulator in one body. */
export class State {
  readonly form: StateForm;
  readonly lanes: number;
  readonly #em: Emitter;
  readonly #values: readonly number[];
  /** What a blocked sum added up before the present run, in f64; positions of arg. */
  readonly #second: readonly number[];
  /** What rounding took from those of f64. */
  readonly #lost: readonly number[];
  /** Of an extreme: of each part, or of all of them. */
  readonly #notes: readonly Notes[];
  /** The extreme of the other kind that is found in the registers of this one. */
  #otherKind: State | null = null;
  #pair: PairOfExtremes | null = null;
  #isFound = false;

  /** `together`: all lanes are folded into one result, so they may share notes. */
  constructor(em: Emitter, form: StateForm, lanes: number, together: boolean) {
    this.#em = em;
    this.form = form;
    this.lanes = lanes;
    const make = (n: number): number[] => Array.from({ length: n }, () => em.local('v128'));
    this.#values = make(partsFor(lanes, form.width));
    this.#second =
      form.kind === 'blocked'
        ? make(partsFor(lanes, 64))
        : form.kind === 'arg'
          ? make(partsFor(lanes, form.width))
          : [];
    this.#lost = form.kind === 'blocked' && form.lane === 'f64' ? make(partsFor(lanes, 64)) : [];
    this.#notes =
      form.kind === 'extreme'
        ? (together ? [0] : this.#values).map(() =>
            notesOf(form.lane as 'f32' | 'f64', form.op as 'max' | 'min', em.temp, together),
          )
        : [];
  }

  /** From now on the registers of this extreme show that of the other kind as well: both are of the same f32, and all lanes share their notes. */
  shows(otherKind: State): void {
    this.#otherKind = otherKind;
    this.#pair = new PairOfExtremes(this.form.op as 'max' | 'min', this.#values, this.#notes[0]!);
    otherKind.#isFound = true;
  }

  init(c: Code): void {
    if (this.#isFound) return;
    if (this.#pair) {
      this.#pair.init(c);
      return;
    }
    for (const v of this.#values) c.v128(identityBytes(this.form)).set(v);
    for (const v of [...this.#second, ...this.#lost]) c.v128(splatBytes('u8', 0)).set(v);
    for (const n of this.#notes) n.init(c);
  }

  /** Takes in the value (and position) of the lanes of a scope. */
  step(value: Expr, position: Expr, s: WasmScope): void {
    const { form } = this;
    const em = this.#em;
    if (this.#isFound) return;
    em.inStep([value], s);
    if (form.kind === 'extreme') {
      this.#takeExtreme(value, s);
      return;
    }
    this.#values.forEach((acc, p) => {
      const v = em.temp();
      if (form.lane) em.vec(value, p, s);
      else em.mask(value, p, 8, s);
      s.code.set(v);
      if (form.kind !== 'arg') {
        combine(em, s.code, form, form.lane, acc, v);
        s.code.set(acc);
        return;
      }
      const at = this.#second[p]!;
      const mask = em.temp();
      beats(s.code, form, v, acc);
      s.code.set(mask);
      s.code.get(v).get(acc).get(mask).op('v128.bitselect').set(acc);
      em.vec(form.width === 64 ? em.exprs.cast('i64', position) : position, p, s);
      s.code.get(at).get(mask).op('v128.bitselect').set(at);
    });
  }

  /** Whether it may be known before all values were met: one true value, or one that is not, is enough. Of whole registers only. */
  get mayEnd(): boolean {
    const { lane, op } = this.form;
    return lane === null && (op === 'any' || op === 'all') && this.lanes % 16 === 0;
  }

  /** Pushes whether it is known. */
  isKnown(c: Code): void {
    const [first, ...others] = this.#values;
    const any = this.form.op === 'any';
    c.get(first!);
    for (const v of others) c.get(v).op(any ? 'v128.or' : 'v128.and');
    if (any) c.op('v128.any_true');
    else c.ops('i8x16.all_true', 'i32.eqz');
  }

  #takeExtreme(value: Expr, s: WasmScope): void {
    const taken = this.#values.map((_, p) => this.#em.vecLocal(value, p, s));
    if (this.#notes.length === 1) this.#notes[0]!.step(s.code, this.#values, taken);
    else
      this.#notes.forEach((n, p) => {
        n.step(s.code, [this.#values[p]!], [taken[p]!]);
      });
  }

  /** Moves the present run of a blocked sum. */
  flush(c: Code): void {
    if (this.form.kind !== 'blocked') return;
    if (this.form.lane === 'f64') {
      this.#flushDoubles(c);
      return;
    }
    const zero = splatBytes('u8', 0);
    this.#values.forEach((v, p) => {
      const low = this.#second[2 * p];
      const high = this.#second[2 * p + 1];
      if (low !== undefined) c.get(low).get(v).op('f64x2.promote_low_f32x4').op('f64x2.add').set(low);
      if (high !== undefined) {
        c.get(high)
          .get(v)
          .get(v)
          .shuffle(shuffleOf(64, [1, 1]))
          .op('f64x2.promote_low_f32x4')
          .op('f64x2.add')
          .set(high);
      }
      c.v128(zero).set(v);
    });
  }

  /** Knuth's sum of two numbers (TAOCP 2, 4.2.2): what is lost is exact. */
  #flushDoubles(c: Code): void {
    const [sum, part] = [this.#em.temp(), this.#em.temp()];
    this.#values.forEach((run, p) => {
      const [before, lost] = [this.#second[p]!, this.#lost[p]!];
      c.get(before).get(run).op('f64x2.add').tee(sum).get(before).op('f64x2.sub').set(part);
      c.get(lost).get(before).get(sum).get(part).ops('f64x2.sub', 'f64x2.sub');
      c.get(run).get(part).ops('f64x2.sub', 'f64x2.add', 'f64x2.add').set(lost);
      c.get(sum).set(before).v128(splatBytes('u8', 0)).set(run);
    });
  }

  #notesOf(p: number): Notes {
    return this.#notes[p] ?? this.#notes[0]!;
  }

  /** Makes the registers ready to be folded. */
  settle(c: Code): void {
    this.flush(c);
    // Of infinite sums and NaN it is NaN.
    this.#lost.forEach((lost, p) => {
      const sum = this.#second[p]!;
      c.get(sum).get(lost).op('f64x2.add').get(sum).get(lost).get(lost).ops('f64x2.eq', 'v128.bitselect').set(sum);
    });
    if (this.form.kind !== 'extreme') return;
    if (this.#pair) this.#pair.split(c, this.#otherKind!.#values, this.#otherKind!.#notes[0]!);
    this.#values.forEach((v, p) => {
      this.#notesOf(p).settle(c, v);
    });
  }

  /** The registers to keep while others are at work, those of all parts together. Of a blocked sum that of the present run. */
  kept(): readonly (readonly number[])[] {
    const notes = this.#notes.map((n) => n.registers);
    return [this.#values, ...(notes[0] ?? []).map((_, k) => notes.map((list) => list[k]!))];
  }

  /** The f64 registers of a blocked sum of f32: what was added up before the present run. */
  get before(): readonly number[] {
    return this.#second;
  }

  clearBefore(c: Code): void {
    for (const v of this.#second) c.v128(splatBytes('u8', 0)).set(v);
  }

  /** The registers to fold, once they are settled. */
  registers(): Registers {
    const { form, lanes } = this;
    if (form.kind === 'blocked') return { lane: 'f64', width: 64, lanes, values: this.#second, positions: [] };
    return {
      lane: form.lane,
      width: form.width,
      lanes,
      values: this.#values,
      positions: form.kind === 'arg' ? this.#second : [],
    };
  }
}

/** A largest and a smallest of the same f32, all lanes of which are folded: the first shows the second. */
export function pairExtremes(states: readonly State[], values: readonly Expr[]): void {
  const isExtreme = ({ form }: State): boolean => form.kind === 'extreme' && form.lane === 'f32';
  const taken = new Set<State>();
  states.forEach((first, i) => {
    if (taken.has(first) || !isExtreme(first)) return;
    const second = states.find(
      (s, k) => k > i && isExtreme(s) && values[k] === values[i] && s.form.op !== first.form.op,
    );
    if (!second || taken.has(second)) return;
    taken.add(second);
    first.shows(second);
  });
}

/** Combines register pairs: x takes in y, in place. */
export function mergeInto(em: Emitter, c: Code, form: StateForm, x: Registers, y: Registers): void {
  x.values.forEach((v, p) => {
    if (form.kind === 'arg') {
      mergeArg(em, c, form, v, x.positions[p]!, y.values[p]!, y.positions[p]!);
      return;
    }
    combine(em, c, form, x.lane, v, y.values[p]!);
    c.set(v);
  });
}

/** Folds all lanes into lane 0, in place, and returns that one register. */
export function fold(em: Emitter, c: Code, form: StateForm, r: Registers): Registers {
  const pick = (from: number, to: number): Registers => ({
    ...r,
    values: r.values.slice(from, to),
    positions: r.positions.slice(from, to),
  });
  for (let n = r.values.length; n > 1; n /= 2) mergeInto(em, c, form, pick(0, n / 2), pick(n / 2, n));
  const first = pick(0, 1);
  const perRegister = 128 / r.width;
  for (let valid = Math.min(r.lanes, perRegister) / 2; valid >= 1; valid /= 2) {
    const order = Array.from({ length: perRegister }, (_, i) => (i + valid) % perRegister);
    const moved = (list: readonly number[]): number[] =>
      list.map((v) => {
        const t = em.temp();
        c.get(v).get(v).shuffle(shuffleOf(r.width, order)).set(t);
        return t;
      });
    mergeInto(em, c, form, first, { ...first, values: moved(first.values), positions: moved(first.positions) });
  }
  return { ...first, lanes: 1 };
}

/** Locals with the finished accumulator, as `acc` expressions read it. */
export function finished(em: Emitter, c: Code, form: StateForm, r: Registers): number[] {
  const joined = (list: readonly number[], convert: (v: number) => void, lanes: readonly number[]): number[] => {
    const out: number[] = [];
    for (let p = 0; p < list.length; p += 2) {
      const t = em.temp();
      convert(list[p]!);
      convert(list[Math.min(p + 1, list.length - 1)]!);
      c.shuffle(shuffleOf(32, lanes)).set(t);
      out.push(t);
    }
    return out;
  };
  let values = r.values as number[];
  if (form.kind === 'arg') {
    return r.width === 64 ? joined(r.positions, (v) => c.get(v), [0, 2, 4, 6]) : [...r.positions];
  }
  if (form.kind === 'blocked' && form.lane === 'f32') {
    values = joined(values, (v) => c.get(v).op('f32x4.demote_f64x2_zero'), [0, 1, 4, 5]);
  }
  if (isHalf(form.type) && (form.op === 'sum' || form.op === 'prod')) {
    for (const v of values) {
      c.get(v);
      roundHalf(c, form.type, em.temp);
      c.set(v);
    }
  }
  return values;
}
