// Scalar expressions: what one element of a kernel's output is computed from.
//
// Expressions are immutable and interned by an `Exprs` builder: within one builder, equal structure is the same object,
// so common subexpressions share work by themselves and `id` can key maps. A builder lives as long as one compilation.
// Building applies the simplification rules of simplify.ts; an expression you hold is already in simple form.

import { type DType, is64BitInt } from '../base/dtype.ts';
import { roundToBf16, roundToF16 } from '../base/half.ts';
import { type AluOp, aluOps } from './ops.ts';
import { castValue } from './semantics.ts';
import { simplify } from './simplify.ts';

/** The type of a scalar: an element type, or `index` for positions (never stored, width chosen by the renderer). */
export type ScalarType = DType | 'index';

export type Expr = Const | Scalar | Axis | Load | Acc | Alu | Cast;

/** A value known when the kernel is made: bigint for i64 and u64, number for the rest (bool is 0 or 1). */
export interface Const {
  readonly kind: 'const';
  readonly id: number;
  readonly type: ScalarType;
  readonly value: number | bigint;
}

/** A value given at each launch: entry `slot` of the launch's scalars. */
export interface Scalar {
  readonly kind: 'scalar';
  readonly id: number;
  readonly type: DType;
  readonly slot: number;
}

/** The position on one axis of the kernel, 0 ≤ position < size. Axes are numbered as `Kernel` says. */
export interface Axis {
  readonly kind: 'axis';
  readonly id: number;
  readonly type: 'index';
  readonly axis: number;
  readonly size: number;
}

/**
 * Element `index` of input buffer `slot`. With a `gate`, memory is touched only where the gate is true and the value is
 * zero elsewhere. Without one, the index is within the buffer for every position of the kernel.
 */
export interface Load {
  readonly kind: 'load';
  readonly id: number;
  readonly type: DType;
  readonly slot: number;
  readonly index: Expr;
  readonly gate: Expr | null;
}

/** The finished value of accumulator `slot`; only in output expressions of kernels that reduce, and in epilogues. */
export interface Acc {
  readonly kind: 'acc';
  readonly id: number;
  readonly type: DType;
  readonly slot: number;
}

export interface Alu {
  readonly kind: 'alu';
  readonly id: number;
  readonly type: ScalarType;
  readonly op: AluOp;
  readonly src: readonly Expr[];
}

/**
 * A change of type. `bits` false converts the value: float to int truncates and saturates with NaN as 0, int to a
 * narrower int wraps, to bool is `!= 0`, to a narrower float rounds to nearest even; to and from `index` only from
 * integers that fit. `bits` true keeps the bit pattern between types of one width.
 */
export interface Cast {
  readonly kind: 'cast';
  readonly id: number;
  readonly type: ScalarType;
  readonly bits: boolean;
  readonly src: readonly [Expr];
}

// Distributive, so that each member of the union keeps its own fields.
type WithoutId<T> = T extends Expr ? Omit<T, 'id'> : never;

export class Exprs {
  readonly #table = new Map<string, Expr>();
  /** What ops on expressions became: most are built several times, and the rules take longer than looking it up. */
  readonly #simplified = new Map<string, Expr>();
  #next = 0;

  const(type: ScalarType, value: number | bigint): Const {
    const v = canonical(type, value);
    // Object.is semantics: -0 and 0 are different constants, NaN is one.
    const text = Object.is(v, -0) ? '-0' : `${v}`;
    return this.#intern(`c${type}:${text}`, { kind: 'const', type, value: v }) as Const;
  }

  scalar(type: DType, slot: number): Scalar {
    return this.#intern(`s${type}:${slot}`, { kind: 'scalar', type, slot }) as Scalar;
  }

  /** An axis of size 1 is the constant 0. */
  axis(axis: number, size: number): Expr {
    if (size === 1) return this.const('index', 0);
    return this.#intern(`x${axis}:${size}`, { kind: 'axis', type: 'index', axis, size });
  }

  load(type: DType, slot: number, index: Expr, gate: Expr | null = null): Expr {
    if (gate?.kind === 'const') {
      if (!gate.value) return this.const(type, 0);
      gate = null;
    }
    return this.#intern(`l${type}:${slot}:${index.id}:${gate?.id ?? ''}`, { kind: 'load', type, slot, index, gate });
  }

  acc(type: DType, slot: number): Acc {
    return this.#intern(`a${type}:${slot}`, { kind: 'acc', type, slot }) as Acc;
  }

  alu(op: AluOp, ...src: readonly Expr[]): Expr {
    const key = aluKey(op, src);
    let made = this.#simplified.get(key);
    if (!made) this.#simplified.set(key, (made = simplify(this, op, src) ?? this.raw(op, src)));
    return made;
  }

  /** An op without simplification: for the rules themselves. */
  raw(op: AluOp, src: readonly Expr[]): Expr {
    const type = aluOps[op].compares ? 'bool' : src[src.length - 1]!.type;
    return this.#intern(aluKey(op, src), { kind: 'alu', op, type, src });
  }

  cast(type: ScalarType, value: Expr): Expr {
    if (value.type === type) return value;
    if (value.kind === 'const') return this.const(type, castValue(value.value, value.type, type));
    return this.#intern(`k${type}:${value.id}`, { kind: 'cast', type, bits: false, src: [value] });
  }

  /** The same bits as another type of the same width. */
  bitcast(type: DType, value: Expr): Expr {
    if (value.type === type) return value;
    return this.#intern(`b${type}:${value.id}`, { kind: 'cast', type, bits: true, src: [value] });
  }

  #intern(key: string, expr: WithoutId<Expr>): Expr {
    const known = this.#table.get(key);
    if (known) return known;
    const made = { id: this.#next++, ...expr } as Expr;
    this.#table.set(key, made);
    return made;
  }
}

/** The type of an op is that of its operands. */
function aluKey(op: AluOp, src: readonly Expr[]): string {
  let key: string = op;
  for (let i = 0; i < src.length; i++) key += `:${src[i]!.id}`;
  return key;
}

function canonical(type: ScalarType, value: number | bigint): number | bigint {
  // A product such as 0 · -1 is -0 in JavaScript; positions have one zero.
  if (type === 'index') return Number(value) + 0;
  if (is64BitInt(type)) {
    const v = BigInt(value);
    return type === 'i64' ? BigInt.asIntN(64, v) : BigInt.asUintN(64, v);
  }
  const v = Number(value);
  switch (type) {
    case 'bool':
      // NaN is not zero.
      return v || Number.isNaN(v) ? 1 : 0;
    case 'u8':
      return v & 255;
    case 'i32':
      return v | 0;
    case 'u32':
      return v >>> 0;
    case 'f32':
      return Math.fround(v);
    case 'f16':
      return roundToF16(v);
    case 'bf16':
      return roundToBf16(v);
    default:
      return v;
  }
}
