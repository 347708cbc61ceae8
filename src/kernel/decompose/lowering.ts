// A builder of expressions for one device: what the device lacks is rewritten while it is built.
//
// Every op passes through `raw`, the decompositions' own ops too, so whatever is returned consists of native ops only.
// Four ops are needed by every device for safe operands, whether or not it lists them: `shl` and `shr` by counts within
// the width, `idiv` and `imod` of unsigned values by a divisor that is not zero. `safe` builds exactly those.

import type { DType } from '../../base/dtype.ts';
import { DeviceUnavailable } from '../../errors.ts';
import { type Expr, Exprs, type ScalarType } from '../expr.ts';
import type { AluOp } from '../ops.ts';
import { Float } from './float.ts';
import { decompositions } from './table.ts';

/** The ops a device expresses by itself, per type: `Capabilities['native']`. */
export type Native = Readonly<Partial<Record<DType, ReadonlySet<AluOp>>>>;

/** What else matters: capabilities of these names. */
export interface Traits {
  readonly skipsArms?: boolean;
  /** Of a kernel: which outputs of f32 only end in halves, see `coarse.ts`. */
  readonly inHalves?: readonly boolean[];
  readonly coarse?: ReadonlySet<AluOp>;
}

/** Ops on halves whose result is exact in the half type, so that it need not be rounded to it. */
const exactOps = new Set<AluOp>(['neg', 'abs', 'max', 'min', 'where', 'floor', 'ceil', 'trunc', 'round']);

export class Lowering extends Exprs {
  readonly #native: Native;
  /** The device skips costly arms of choices that nothing takes: what is rare may cost as much as it likes. */
  readonly skips: boolean;
  /** Functions of f32 that the device has for what is rounded to a half. */
  readonly coarse: ReadonlySet<AluOp>;
  /** The f32 form of halves whose f32 form is at hand and exact. */
  readonly #wide = new Map<Expr, Expr>();

  constructor(native: Native, { skipsArms = false, coarse = new Set() }: Traits = {}) {
    super();
    this.#native = native;
    this.skips = skipsArms;
    this.coarse = coarse;
  }

  override raw(op: AluOp, src: readonly Expr[]): Expr {
    const type = src[src.length - 1]!.type;
    if (type === 'index' || this.isNative(op, type)) return super.raw(op, src);
    const found = decompositions[op]?.(this, type, src);
    if (found) return found;
    if (type === 'f16' || type === 'bf16') return this.#inF32(op, type, src);
    // Wrapping arithmetic modulo 2^8 is arithmetic modulo 2^32, cut.
    if (type === 'u8') return this.#widened(op, 'u32', type, src);
    throw new DeviceUnavailable({
      code: 'OP_UNSUPPORTED',
      message: `${op}: the device has no ${op} of ${type}, and it cannot be built from other ops`,
      fix: 'Run this on another device, or cast to a dtype that the device computes in.',
      where: op,
    });
  }

  /** Floats become 64-bit numbers one by one, on devices that skip what is rare: those below 2^50 by the bits of a sum instead. */
  override cast(type: ScalarType, value: Expr): Expr {
    const plain = super.cast(type, value);
    if (!this.skips || type !== 'i64' || (value.type !== 'f32' && value.type !== 'f64') || plain.kind !== 'cast')
      return plain;
    const f = new Float(this, 'f64');
    const double = super.cast('f64', value);
    const shifted = f.add(this.alu('trunc', double), f.format.shifter);
    const far = this.alu('lt', f.bits(2 ** 50), f.bits(f.abs(double)));
    return this.alu('where', far, plain, f.isub(f.bits(shifted), f.bits(f.format.shifter)));
  }

  isNative(op: AluOp, type: DType): boolean {
    const listed = this.#native[type];
    // Logic on bools is part of every device; one that does not list the type at all still has it.
    return type === 'bool' && !listed ? true : (listed?.has(op) ?? false);
  }

  /** The op of operands that are decomposed, without looking whether it is native. */
  asItIs(op: AluOp, src: readonly Expr[]): Expr {
    return super.raw(op, src);
  }

  /** The op as it is, for operands that every device handles alike. */
  safe(op: 'shl' | 'shr' | 'idiv' | 'imod', x: Expr, y: Expr): Expr {
    return super.raw(op, [x, y]);
  }

  // NumPy rounds after each op on halves, so a chain goes back to the half between ops unless that changes nothing.
  #inF32(op: AluOp, type: DType, src: readonly Expr[]): Expr {
    const result = this.#widened(op, 'f32', type, src);
    if (exactOps.has(op) && result.kind === 'cast') this.#wide.set(result, result.src[0]);
    return result;
  }

  #widened(op: AluOp, wide: DType, type: DType, src: readonly Expr[]): Expr {
    const widened = src.map((s) => (s.type === type ? (this.#wide.get(s) ?? this.cast(wide, s)) : s));
    const result = wide === 'f32' && this.coarse.has(op) ? this.asItIs(op, widened) : this.alu(op, ...widened);
    return result.type === wide ? this.cast(type, result) : result;
  }
}
