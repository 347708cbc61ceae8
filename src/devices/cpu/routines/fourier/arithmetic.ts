// Arithmetic on values in locals, of one lane or of a whole vector: butterflies are written once for both.

import type { Code, ValType } from '../../wasm/code.ts';
import type { Func } from '../../wasm/module.ts';
import type { MemoryOp, PlainOp } from '../../wasm/ops.ts';
import { Shuffles } from '../shuffles.ts';

export type FourierType = 'f32' | 'f64';

interface Instructions {
  readonly value: ValType;
  readonly lanes: number;
  readonly load: MemoryOp;
  readonly store: MemoryOp;
  /** One element from memory in all lanes. */
  readonly spread: MemoryOp;
  readonly add: PlainOp;
  readonly sub: PlainOp;
  readonly mul: PlainOp;
}

const tables: Readonly<Record<FourierType, Readonly<Record<'vector' | 'scalar', Instructions>>>> = {
  f32: {
    vector: {
      value: 'v128',
      lanes: 4,
      load: 'v128.load',
      store: 'v128.store',
      spread: 'v128.load32_splat',
      add: 'f32x4.add',
      sub: 'f32x4.sub',
      mul: 'f32x4.mul',
    },
    scalar: {
      value: 'f32',
      lanes: 1,
      load: 'f32.load',
      store: 'f32.store',
      spread: 'f32.load',
      add: 'f32.add',
      sub: 'f32.sub',
      mul: 'f32.mul',
    },
  },
  f64: {
    vector: {
      value: 'v128',
      lanes: 2,
      load: 'v128.load',
      store: 'v128.store',
      spread: 'v128.load64_splat',
      add: 'f64x2.add',
      sub: 'f64x2.sub',
      mul: 'f64x2.mul',
    },
    scalar: {
      value: 'f64',
      lanes: 1,
      load: 'f64.load',
      store: 'f64.store',
      spread: 'f64.load',
      add: 'f64.add',
      sub: 'f64.sub',
      mul: 'f64.mul',
    },
  },
};

export const vectorLanes = (type: FourierType): number => tables[type].vector.lanes;

/** A complex value: the locals of its parts. */
export interface ComplexLocal {
  readonly re: number;
  readonly im: number;
}

export class Arithmetic {
  readonly lanes: number;
  /** Of one element. */
  readonly bytes: number;
  readonly shuffles: Shuffles;
  readonly #type: FourierType;
  readonly #f: Func;
  readonly #is: Instructions;
  readonly #align: number;

  constructor(f: Func, type: FourierType, kind: 'vector' | 'scalar') {
    this.#f = f;
    this.#type = type;
    this.#is = tables[type][kind];
    this.lanes = this.#is.lanes;
    this.bytes = type === 'f32' ? 4 : 8;
    this.#align = type === 'f32' ? 2 : 3;
    this.shuffles = new Shuffles(f, this.bytes);
  }

  get code(): Code {
    return this.#f.code;
  }

  #kept(): number {
    const local = this.#f.local(this.#is.value);
    this.code.set(local);
    return local;
  }

  /** Neighbours from memory, `offset` bytes behind an address. */
  load(at: number, offset: number): number {
    this.code.get(at).mem(this.#is.load, offset, this.#align);
    return this.#kept();
  }

  spread(at: number, offset: number): number {
    this.code.get(at).mem(this.#is.spread, offset, this.#align);
    return this.#kept();
  }

  store(at: number, offset: number, value: number): void {
    this.code.get(at).get(value).mem(this.#is.store, offset, this.#align);
  }

  constant(value: number): number {
    if (this.#type === 'f32') this.code.f32(value);
    else this.code.f64(value);
    if (this.lanes > 1) this.code.op(this.#type === 'f32' ? 'f32x4.splat' : 'f64x2.splat');
    return this.#kept();
  }

  #apply(op: PlainOp, a: number, b: number): number {
    this.code.get(a).get(b).op(op);
    return this.#kept();
  }

  add = (a: number, b: number): number => this.#apply(this.#is.add, a, b);
  sub = (a: number, b: number): number => this.#apply(this.#is.sub, a, b);
  mul = (a: number, b: number): number => this.#apply(this.#is.mul, a, b);

  plus = (a: ComplexLocal, b: ComplexLocal): ComplexLocal => ({ re: this.add(a.re, b.re), im: this.add(a.im, b.im) });
  minus = (a: ComplexLocal, b: ComplexLocal): ComplexLocal => ({ re: this.sub(a.re, b.re), im: this.sub(a.im, b.im) });

  /** a - i·b and a + i·b. */
  turned(a: ComplexLocal, b: ComplexLocal): readonly [ComplexLocal, ComplexLocal] {
    return [
      { re: this.add(a.re, b.im), im: this.sub(a.im, b.re) },
      { re: this.sub(a.re, b.im), im: this.add(a.im, b.re) },
    ];
  }

  times(a: ComplexLocal, w: ComplexLocal): ComplexLocal {
    return {
      re: this.sub(this.mul(a.re, w.re), this.mul(a.im, w.im)),
      im: this.add(this.mul(a.re, w.im), this.mul(a.im, w.re)),
    };
  }

  /** The lanes of a vector in the opposite order. */
  reversed = (a: number): number => (this.lanes === 1 ? a : this.shuffles.reversed(a));
}
