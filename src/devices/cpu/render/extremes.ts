// The largest or smallest of floats, in fewer instructions than max and min take.
//
// WebAssembly's max and min look for NaN and for zeros of different signs at every step, which no processor does in one
// instruction. A comparison (pmax, pmin) is one; what it overlooks is noted beside it and put right at the end:
//
//   NaN      any that was met. One register of extremes takes it in by itself, and keeps it: no comparison is true of it
//   signs    of everything met: if the largest is zero, nothing is above it, so it is +0 if any sign was plus

import type { Code } from '../wasm/code.ts';
import type { PlainOp } from '../wasm/ops.ts';
import { splatBytes } from './lanes.ts';

interface Ops {
  readonly better: PlainOp;
  readonly differs: PlainOp;
  readonly equals: PlainOp;
}

const ops: Readonly<Record<'f32' | 'f64', Readonly<Record<'max' | 'min', Ops>>>> = {
  f32: {
    max: { better: 'f32x4.pmax', differs: 'f32x4.ne', equals: 'f32x4.eq' },
    min: { better: 'f32x4.pmin', differs: 'f32x4.ne', equals: 'f32x4.eq' },
  },
  f64: {
    max: { better: 'f64x2.pmax', differs: 'f64x2.ne', equals: 'f64x2.eq' },
    min: { better: 'f64x2.pmin', differs: 'f64x2.ne', equals: 'f64x2.eq' },
  },
};

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

/** What one or several registers of extremes have overlooked. */
export class Overlooked {
  readonly #lane: 'f32' | 'f64';
  readonly #op: 'max' | 'min';
  /** null where the one register takes them in. */
  readonly #nans: number | null;
  /** null where zeros of both signs are as good. */
  readonly #signs: number | null;

  /** `shared`: several registers, which are folded into one result, have one note. */
  constructor(lane: 'f32' | 'f64', op: 'max' | 'min', local: () => number, shared: boolean, signs = true) {
    this.#lane = lane;
    this.#op = op;
    this.#nans = shared ? local() : null;
    this.#signs = signs ? local() : null;
  }

  init(c: Code): void {
    if (this.#nans !== null) c.v128(splatBytes('u8', 0)).set(this.#nans);
    if (this.#signs !== null) c.v128(splatBytes('u8', this.#op === 'max' ? 255 : 0)).set(this.#signs);
  }

  /** Starts again beside a register that was settled. */
  resume(c: Code, best: number): void {
    if (this.#nans !== null) c.v128(splatBytes('u8', 0)).set(this.#nans);
    if (this.#signs !== null) c.get(best).set(this.#signs);
  }

  /** Each of `best` takes in the one of `values` beside it; all are locals. */
  step(c: Code, best: readonly number[], values: readonly number[]): void {
    const { better, differs } = ops[this.#lane][this.#op];
    values.forEach((v, i) => {
      c.get(best[i]!).get(v).op(better);
      if (this.#nans === null) c.get(v).get(v).op(differs).op('v128.or');
      c.set(best[i]!);
    });
    if (this.#nans !== null) {
      joined(c, values, 'v128.or', (v) => c.get(v).get(v).op(differs));
      c.get(this.#nans).op('v128.or').set(this.#nans);
    }
    if (this.#signs === null) return;
    const both = this.#op === 'max' ? 'v128.and' : 'v128.or';
    joined(c, values, both, (v) => c.get(v));
    c.get(this.#signs).op(both).set(this.#signs);
  }

  /** Puts a register right: where a NaN was met it becomes one, with all bits set. */
  settle(c: Code, best: number): void {
    if (this.#signs !== null) {
      const [zero, sign] = [splatBytes(this.#lane, 0), splatBytes(this.#lane, -0)];
      c.get(this.#signs).v128(sign).op('v128.and').get(best);
      c.get(best).v128(zero).op(ops[this.#lane][this.#op].equals).op('v128.bitselect').set(best);
    }
    if (this.#nans !== null) c.get(best).get(this.#nans).op('v128.or').set(best);
  }
}
