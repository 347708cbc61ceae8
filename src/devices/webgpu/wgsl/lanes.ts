// What four neighbouring invocations would compute, done by one: which values four lanes share, which positions move
// evenly across them, and which loads of four are one aligned vector.
//
// Lane 0 stands at a multiple of four. Along an axis (`axis` given) only that axis differs between lanes. Straddling
// (`axis` null), the four lanes are four consecutive row-major positions of the output space and may cross rows.

import { stridesOf } from '../../../base/shape.ts';
import { linear } from '../../../kernel/bounds.ts';
import type { Expr } from '../../../kernel/expr.ts';
import { operands } from '../../../kernel/walk.ts';

export interface LaneSetting {
  /** The axis the lanes lie along, or null when they straddle rows of `space`. */
  readonly axis: number | null;
  /** Sizes of the output axes; axes beyond them are reduced and never straddled. */
  readonly space: readonly number[];
  /** Accumulators differ between lanes. */
  readonly accumulators: boolean;
}

const mod4 = (n: number): number => ((n % 4) + 4) % 4;

export class Lanes {
  readonly #setting: LaneSetting;
  readonly #rowMajor: readonly number[];
  readonly #strides = new Map<Expr, number | null>();
  readonly #residues = new Map<Expr, number | null>();

  constructor(setting: LaneSetting) {
    this.#setting = setting;
    this.#rowMajor = stridesOf(setting.space);
  }

  get straddles(): boolean {
    return this.#setting.axis === null;
  }

  /** Whether the four lanes share one value. */
  uniform(e: Expr): boolean {
    return this.stride(e) === 0;
  }

  /** How far the value moves from lane to lane; null if not evenly. Only positions have strides other than 0. */
  stride(e: Expr): number | null {
    let known = this.#strides.get(e);
    if (known === undefined) this.#strides.set(e, (known = this.#stride(e)));
    return known;
  }

  /** Whether an index is a multiple of four at lane 0. */
  aligned(e: Expr): boolean {
    return this.#residue(e) === 0;
  }

  #stride(e: Expr): number | null {
    switch (e.kind) {
      case 'const':
      case 'scalar':
        return 0;
      case 'acc':
        return this.#setting.accumulators ? null : 0;
      case 'axis':
        if (this.straddles) return this.#isOutput(e.axis) ? null : 0;
        return e.axis === this.#setting.axis ? 1 : 0;
      case 'load':
      case 'cast':
        return operands(e).every((s) => this.uniform(s)) ? 0 : null;
      case 'alu':
        if (e.src.every((s) => this.uniform(s))) return 0;
        return e.type === 'index' || e.src[0]!.type === 'index' ? this.#indexStride(e) : null;
      default:
        return e satisfies never;
    }
  }

  #indexStride(e: Expr & { kind: 'alu' }): number | null {
    const [a, b, c] = e.src as [Expr, Expr, Expr];
    const steps = (x: Expr): boolean => this.stride(x) === 1 && this.aligned(x);
    const multiple = (x: Expr, plus = 0): boolean => x.kind === 'const' && mod4(Number(x.value) + plus) === 0;
    switch (e.op) {
      case 'add':
      case 'sub': {
        const own = this.#ownPosition(e);
        if (own !== null) return own;
        const [p, q] = [this.stride(a), this.stride(b)];
        return p === null || q === null ? null : e.op === 'add' ? p + q : p - q;
      }
      case 'mul': {
        const p = this.stride(a);
        return p !== null && b.kind === 'const' ? p * Number(b.value) : null;
      }
      // A group of four that starts at a multiple of four lies on one side of every multiple of four.
      case 'idiv':
      case 'lt':
        return steps(a) && multiple(b) ? 0 : null;
      case 'le':
        return steps(a) && multiple(b, 1) ? 0 : steps(b) && multiple(a) ? 0 : null;
      case 'imod':
        return steps(a) && multiple(b) ? 1 : null;
      case 'where':
        return this.uniform(a) && this.stride(b) === this.stride(c) ? this.stride(b) : null;
      default:
        return null;
    }
  }

  // Straddling lanes stand at consecutive positions of the output: an index that is the output's own position, times a
  // factor and plus what lanes share, moves evenly although each of its axes does not.
  #ownPosition(e: Expr): number | null {
    if (!this.straddles) return null;
    const coefficients = new Map<number, number>();
    for (const [term, k] of linear(e).terms) {
      if (term.kind === 'axis' && this.#isOutput(term.axis)) coefficients.set(term.axis, k);
      else if (!this.uniform(term)) return null;
    }
    const moving = this.#rowMajor.map((_, i) => i).filter((i) => this.#setting.space[i]! > 1);
    const factor = (coefficients.get(moving[0]!) ?? 0) / this.#rowMajor[moving[0]!]!;
    const even = moving.every((i) => coefficients.get(i) === factor * this.#rowMajor[i]!);
    return Number.isInteger(factor) && even ? factor : null;
  }

  #isOutput(axis: number): boolean {
    return axis < this.#setting.space.length;
  }

  /** The index at lane 0, modulo four, where it is known. */
  #residue(e: Expr): number | null {
    let known = this.#residues.get(e);
    if (known === undefined) this.#residues.set(e, (known = this.#computeResidue(e)));
    return known;
  }

  #computeResidue(e: Expr): number | null {
    if (e.kind === 'const') return e.type === 'index' ? mod4(Number(e.value)) : null;
    if (e.kind === 'axis') return e.axis === this.#setting.axis ? 0 : null;
    if (e.kind !== 'alu' || e.type !== 'index') return null;
    const [a, b, c] = e.src as [Expr, Expr, Expr];
    switch (e.op) {
      case 'add':
      case 'sub': {
        const own = this.straddles ? this.#ownResidue(e) : null;
        if (own !== null) return own;
        const [p, q] = [this.#residue(a), this.#residue(b)];
        return p === null || q === null ? null : mod4(e.op === 'add' ? p + q : p - q);
      }
      case 'mul': {
        if (b.kind !== 'const') return null;
        if (mod4(Number(b.value)) === 0) return 0;
        const p = this.#residue(a);
        return p === null ? null : mod4(p * mod4(Number(b.value)));
      }
      case 'imod':
        return b.kind === 'const' && mod4(Number(b.value)) === 0 ? this.#residue(a) : null;
      case 'where': {
        const [p, q] = [this.#residue(b), this.#residue(c)];
        return p === q ? p : null;
      }
      default:
        return null;
    }
  }

  #ownResidue(e: Expr): number | null {
    if (this.#ownPosition(e) === null) return null;
    let sum = linear(e).offset;
    for (const [term, k] of linear(e).terms) {
      if (term.kind === 'axis' && this.#isOutput(term.axis)) continue;
      const r = this.#residue(term);
      if (r === null && mod4(k) !== 0) return null;
      sum += mod4(k) === 0 ? 0 : k * r!;
    }
    return mod4(sum);
  }
}
