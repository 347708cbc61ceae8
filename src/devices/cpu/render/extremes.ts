// The largest or smallest of floats, in fewer instructions than max and min take.
//
// WebAssembly's max and min look for NaN and for zeros of different signs at every step, which no processor does in one
// instruction. So something simpler is kept at every step, with notes beside it, and put right at the end.
//
// f32: the bits of floats are compared as integers, which processors do in one instruction in any of their vector units. As signed
// numbers the bits of those without a sign are in their order, +0 above -0, NaN above all; as unsigned numbers the bits of
// those with a sign are, backwards, with NaN last. So
//
//   max   is the largest as signed numbers, unless that has a sign: then it is the least as unsigned numbers
//   min   is the largest as unsigned numbers if that has a sign, else the least
//   NaN   that neither shows is the other largest of the two
//
// The largest and the smallest of the same values take the same three: `PairOfExtremes`.
//
// f64 has no such instructions. A comparison (pmax, pmin) is one; notes tell what it overlooks:
//
//   NaN      any that was met. One register of extremes takes it in by itself, and keeps it: no comparison is true of it
//   signs    of everything met: if the largest is zero, nothing is above it, so it is +0 if any sign was plus

import type { Code } from '../wasm/code.ts';
import type { PlainOp } from '../wasm/ops.ts';
import { splatBytes } from './lanes.ts';

type Extreme = 'max' | 'min';

/** Registers of notes where none are shared. */
export const noteCount = { f32: 2, f64: 1 } as const;

/** What one or several registers of extremes have overlooked. */
export interface Notes {
  /** The registers of these notes. */
  readonly registers: readonly number[];
  /** The registers of extremes start at the value that changes nothing: an infinity. */
  init(c: Code): void;
  /** Each of `best` takes in the one of `values` beside it; all are locals. */
  step(c: Code, best: readonly number[], values: readonly number[]): void;
  /** Puts a register right: a NaN if one was met. */
  settle(c: Code, best: number): void;
}

/** `shared`: several registers, which are folded into one result, have the same notes. */
export const notesOf = (lane: 'f32' | 'f64', op: Extreme, local: () => number, shared: boolean): Notes =>
  lane === 'f32' ? new BitNotes(op, local) : new Overlooked(op, local, shared);

/** Pushes what is noted of several values, joined two by two: a note that took them in one by one would be waited for at each. */
function joined(c: Code, values: readonly number[], op: PlainOp, noted: (v: number) => void): void {
  const [first, ...others] = values;
  if (others.length === 0) {
    noted(first!);
    return;
  }
  const half = values.length >> 1;
  joined(c, values.slice(0, half), op, noted);
  joined(c, values.slice(half), op, noted);
  c.op(op);
}

const identities = { max: Number.NEGATIVE_INFINITY, min: Number.POSITIVE_INFINITY };

const bitOps = {
  max: { best: 'i32x4.max_s', other: 'i32x4.max_u' },
  min: { best: 'i32x4.max_u', other: 'i32x4.max_s' },
} as const;

/** Of f32: the least as unsigned numbers, and the largest of the kind that `best` is not. */
class BitNotes implements Notes {
  readonly #op: Extreme;
  readonly #least: number;
  readonly #other: number;

  constructor(op: Extreme, local: () => number) {
    this.#op = op;
    this.#least = local();
    this.#other = local();
  }

  get registers(): readonly number[] {
    return [this.#least, this.#other];
  }

  init(c: Code): void {
    c.v128(splatBytes('f32', identities[this.#op])).tee(this.#least).set(this.#other);
  }

  step(c: Code, best: readonly number[], values: readonly number[]): void {
    const ops = bitOps[this.#op];
    values.forEach((v, i) => {
      c.get(best[i]!).get(v).op(ops.best).set(best[i]!);
    });
    for (const [note, op] of [
      [this.#least, 'i32x4.min_u'],
      [this.#other, ops.other],
    ] as const) {
      joined(c, values, op, (v) => c.get(v));
      c.get(note).op(op).set(note);
    }
  }

  settle(c: Code, best: number): void {
    const [signed, unsigned] = this.#op === 'max' ? [this.#least, best] : [best, this.#least];
    c.get(signed).get(unsigned).get(best).i32(31).ops('i32x4.shr_s', 'v128.bitselect');
    c.get(this.#other).get(this.#other).ops('f32x4.ne', 'v128.or').set(best);
  }
}

/**
 * One state of the largest and the smallest of the same f32: `first` is kept as ever, of one kind or the other, and `second` takes its
 * registers from it before it is settled. They start where neither kind is misled: no sign as unsigned numbers, -∞ elsewhere; a smallest
 * without any value is then ∞.
 */
export class PairOfExtremes {
  readonly #first: Extreme;
  readonly #best: readonly number[];
  readonly #notes: BitNotes;

  constructor(first: Extreme, best: readonly number[], notes: Notes) {
    this.#first = first;
    this.#best = best;
    this.#notes = notes as BitNotes;
  }

  init(c: Code): void {
    const [least, other] = this.#notes.registers as [number, number];
    const [signed, unsigned] = this.#first === 'max' ? [this.#best, [other]] : [[other], this.#best];
    for (const r of [least, ...signed]) c.v128(lowest).set(r);
    for (const r of unsigned) c.v128(splatBytes('f32', 0)).set(r);
  }

  /** Fills the registers of the second, and makes those of the first ready to be settled. */
  split(c: Code, best: readonly number[], notes: Notes): void {
    const [least, other] = this.#notes.registers as [number, number];
    const [ownLeast, ownOther] = notes.registers as [number, number];
    for (const b of best) c.get(other).set(b);
    joined(c, this.#best, bitOps[this.#first].best, (v) => c.get(v));
    c.set(ownOther).get(least).set(ownLeast);
    const ofMin = this.#first === 'min' ? least : ownLeast;
    c.get(ofMin).v128(splatBytes('f32', Number.POSITIVE_INFINITY)).op('i32x4.min_u').set(ofMin);
  }
}

const lowest = splatBytes('f32', Number.NEGATIVE_INFINITY);

const ops = {
  max: { better: 'f64x2.pmax', signs: 'v128.and', none: 255 },
  min: { better: 'f64x2.pmin', signs: 'v128.or', none: 0 },
} as const;

/** Of f64: NaN and signs. */
class Overlooked implements Notes {
  readonly #op: Extreme;
  /** null where the one register takes them in. */
  readonly #nans: number | null;
  readonly #signs: number;

  constructor(op: Extreme, local: () => number, shared: boolean) {
    this.#op = op;
    this.#nans = shared ? local() : null;
    this.#signs = local();
  }

  get registers(): readonly number[] {
    return this.#nans === null ? [this.#signs] : [this.#nans, this.#signs];
  }

  init(c: Code): void {
    if (this.#nans !== null) c.v128(splatBytes('u8', 0)).set(this.#nans);
    c.v128(splatBytes('u8', ops[this.#op].none)).set(this.#signs);
  }

  step(c: Code, best: readonly number[], values: readonly number[]): void {
    const { better, signs } = ops[this.#op];
    values.forEach((v, i) => {
      c.get(best[i]!).get(v).op(better);
      if (this.#nans === null) c.get(v).get(v).ops('f64x2.ne', 'v128.or');
      c.set(best[i]!);
    });
    if (this.#nans !== null) {
      joined(c, values, 'v128.or', (v) => c.get(v).get(v).op('f64x2.ne'));
      c.get(this.#nans).op('v128.or').set(this.#nans);
    }
    joined(c, values, signs, (v) => c.get(v));
    c.get(this.#signs).op(signs).set(this.#signs);
  }

  settle(c: Code, best: number): void {
    const [zero, sign] = [splatBytes('f64', 0), splatBytes('f64', -0)];
    c.get(this.#signs).v128(sign).op('v128.and').get(best);
    c.get(best).v128(zero).ops('f64x2.eq', 'v128.bitselect').set(best);
    if (this.#nans !== null) c.get(best).get(this.#nans).op('v128.or').set(best);
  }
}
