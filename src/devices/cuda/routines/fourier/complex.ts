// Complex arithmetic on registers, each operation rounded once; products as two multiplications and two fused ones.

import { f32Literal, f64Literal } from '../../ptx/types.ts';
import type { Kit } from '../kit.ts';

export type FourierType = 'f32' | 'f64';

/** Two registers. */
export interface Complex {
  readonly re: string;
  readonly im: string;
}

/** The parts exchanged: a transform backwards is one forwards of exchanged values, with exchanged results. */
export const exchanged = ({ re, im }: Complex): Complex => ({ re: im, im: re });

export class ComplexMath {
  readonly type: FourierType;
  readonly #kit: Kit;

  constructor(kit: Kit, type: FourierType) {
    this.#kit = kit;
    this.type = type;
  }

  get bytes(): number {
    return this.type === 'f32' ? 4 : 8;
  }

  /** A new register of the parts' type. */
  register(): string {
    return this.#kit.entry.reg(this.#kind);
  }

  number(v: number): string {
    return this.type === 'f32' ? f32Literal(v) : f64Literal(v);
  }

  /** The same in a register. */
  constant(v: number): string {
    return this.#kit.b.def(this.#kind, `mov.${this.type}`, this.number(v));
  }

  chosen(condition: string, yes: string, no: string): string {
    return this.#kit.b.def(this.#kind, `selp.${this.type}`, yes, no, condition);
  }

  add(a: Complex, b: Complex): Complex {
    return { re: this.plus(a.re, b.re), im: this.plus(a.im, b.im) };
  }

  sub(a: Complex, b: Complex): Complex {
    return { re: this.minus(a.re, b.re), im: this.minus(a.im, b.im) };
  }

  times(a: Complex, w: Complex): Complex {
    return {
      re: this.fused(a.re, w.re, this.negative(this.product(a.im, w.im))),
      im: this.fused(a.re, w.im, this.product(a.im, w.re)),
    };
  }

  /** Times -i. */
  turned(a: Complex): Complex {
    return { re: a.im, im: this.negative(a.re) };
  }

  /** Times a root of unity that is known. */
  timesRoot(a: Complex, [c, s]: readonly [number, number]): Complex {
    if (s === 0) return c > 0 ? a : { re: this.negative(a.re), im: this.negative(a.im) };
    if (c === 0) return s < 0 ? this.turned(a) : { re: this.negative(a.im), im: a.re };
    if (Math.abs(Math.abs(c) - Math.abs(s)) < 1e-15) {
      // (re + i·im) · c·(1 ± i): the sums first, then one product each.
      const same = c > 0 === s > 0;
      const [re, im] = same
        ? [this.minus(a.re, a.im), this.plus(a.im, a.re)]
        : [this.plus(a.re, a.im), this.minus(a.im, a.re)];
      return { re: this.product(re, this.number(c)), im: this.product(im, this.number(c)) };
    }
    return {
      re: this.fused(a.re, this.number(c), this.product(a.im, this.number(-s))),
      im: this.fused(a.re, this.number(s), this.product(a.im, this.number(c))),
    };
  }

  plus(a: string, b: string): string {
    return this.#op('add.rn', a, b);
  }

  minus(a: string, b: string): string {
    return this.#op('sub.rn', a, b);
  }

  product(a: string, b: string): string {
    return this.#op('mul.rn', a, b);
  }

  /** a · b + c, rounded once. */
  fused(a: string, b: string, c: string): string {
    return this.#op('fma.rn', a, b, c);
  }

  negative(a: string): string {
    return this.#op('neg', a);
  }

  get #kind(): 'f' | 'g' {
    return this.type === 'f32' ? 'f' : 'g';
  }

  #op(name: string, ...operands: readonly string[]): string {
    return this.#kit.b.def(this.#kind, `${name}.${this.type}`, ...operands);
  }
}
