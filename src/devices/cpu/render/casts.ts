// Changes of type between vector parts, as `Cast` in kernel/expr.ts defines them.
//
// A widening cast takes the low or high half of a source part, a narrowing one joins two. Chains such as f64 → u8 go through
// one step at a time, each exact or saturating in a way that the next keeps.

import { bounds } from '../../../kernel/bounds.ts';
import type { Cast } from '../../../kernel/expr.ts';
import { type Emitter, isHalf } from './emitter.ts';
import { roundHalf, roundToOdd } from './half.ts';
import { type LaneType, laneType, shapeOf, shuffleOf, splatBytes, type Width, widthOf } from './lanes.ts';
import type { Scope } from './scope.ts';

/** Pushes part `q` of some value of a lane type. */
type Source = (q: number) => void;

export function emitCast(em: Emitter, e: Cast, p: number, s: Scope): void {
  const from = e.src[0];
  if (e.bits) return em.vec(from, p, s);
  if (from.type === 'bool') {
    em.mask(from, p, widthOf(e.type), s);
    s.code.v128(splatBytes(e.type, 1)).op('v128.and');
    return;
  }
  // Positions that reach beyond 2^31 are unsigned.
  const source: LaneType = from.type === 'index' && bounds(from).min >= 0 ? 'u32' : laneType(from.type);
  const { varying } = em.info(from);
  const one: Source = (q) => em.vec(from, varying ? q : 0, s);
  const c = new Casts(em, s, varying);
  if (isHalf(e.type)) {
    if (isHalf(from.type) || from.type === 'f32') {
      one(p);
      // Every bf16 and f16 is an f32, but neither holds all of the other.
      if (from.type !== e.type) roundHalf(s.code, e.type, em.temp);
      return;
    }
    c.oddF32(p, (q) => c.to('f64', source, one, q));
    roundHalf(s.code, e.type, em.temp);
    return;
  }
  c.to(laneType(e.type), source, one, p);
}

export function emitToBool(em: Emitter, e: Cast, p: number, s: Scope): void {
  const from = e.src[0];
  const type = laneType(from.type);
  em.vec(from, p, s);
  s.code.v128(splatBytes('u8', 0)).op(`${shapeOf[type]}.ne`);
}

class Casts {
  readonly #em: Emitter;
  readonly #s: Scope;
  readonly #varying: boolean;

  constructor(em: Emitter, s: Scope, varying: boolean) {
    this.#em = em;
    this.#s = s;
    this.#varying = varying;
  }

  /** Pushes part `p` of the source as another lane type. */
  to(type: LaneType, from: LaneType, source: Source, p: number): void {
    const c = this.#s.code;
    if (type === from || `${type}${from}`.match(/^[iu]32[iu]32$|^[iu]64[iu]64$/)) return source(p);
    const via = (middle: LaneType): void => this.to(type, middle, (q) => this.to(middle, from, source, q), p);
    switch (`${from}>${type}`) {
      case 'u8>i32':
      case 'u8>u32':
        this.#half(
          p,
          (q) => this.#half(q, source, 'i16x8.extend_low_i8x16_u', 'i16x8.extend_high_i8x16_u'),
          'i32x4.extend_low_i16x8_u',
          'i32x4.extend_high_i16x8_u',
        );
        return;
      case 'u8>f32':
      case 'u8>f64':
      case 'u8>i64':
      case 'u8>u64':
        return via('i32');
      case 'i32>i64':
      case 'i32>u64':
        return this.#half(p, source, 'i64x2.extend_low_i32x4_s', 'i64x2.extend_high_i32x4_s');
      case 'u32>i64':
      case 'u32>u64':
        return this.#half(p, source, 'i64x2.extend_low_i32x4_u', 'i64x2.extend_high_i32x4_u');
      case 'i32>u8':
      case 'u32>u8':
        return this.#bytes(p, source, () => c.v128(splatBytes('i32', 255)).op('v128.and'));
      case 'i64>u8':
      case 'u64>u8':
        return via('i32');
      case 'i64>i32':
      case 'i64>u32':
      case 'u64>i32':
      case 'u64>u32':
        return this.#evens(p, source);
      case 'i32>f32':
        source(p);
        c.op('f32x4.convert_i32x4_s');
        return;
      case 'u32>f32':
        source(p);
        c.op('f32x4.convert_i32x4_u');
        return;
      case 'i32>f64':
        this.#lowered(p, source);
        c.op('f64x2.convert_low_i32x4_s');
        return;
      case 'u32>f64':
        this.#lowered(p, source);
        c.op('f64x2.convert_low_i32x4_u');
        return;
      case 'i64>f64':
        return this.#lanes(p, source, 'i64x2', 'f64x2', () => c.op('f64.convert_i64_s'));
      case 'u64>f64':
        return this.#lanes(p, source, 'i64x2', 'f64x2', () => c.op('f64.convert_i64_u'));
      // By way of f64, as the definition has it.
      case 'i64>f32':
      case 'u64>f32':
        return via('f64');
      case 'f32>i32':
        source(p);
        c.op('i32x4.trunc_sat_f32x4_s');
        return;
      case 'f32>u32':
        source(p);
        c.op('i32x4.trunc_sat_f32x4_u');
        return;
      case 'f32>u8':
      case 'f64>u8':
        // Saturated at 0 … 2^32-1 first, then at 255.
        return this.#bytes(
          p,
          (q) => this.to('u32', from, source, q),
          () => c.v128(splatBytes('i32', 255)).op('i32x4.min_u'),
        );
      case 'f32>f64':
        this.#lowered(p, source);
        c.op('f64x2.promote_low_f32x4');
        return;
      case 'f32>i64':
      case 'f32>u64':
        return via('f64');
      case 'f64>f32':
        return this.#joined(p, source, () => c.op('f32x4.demote_f64x2_zero'));
      case 'f64>i32':
        return this.#joined(p, source, () => c.op('i32x4.trunc_sat_f64x2_s_zero'));
      case 'f64>u32':
        return this.#joined(p, source, () => c.op('i32x4.trunc_sat_f64x2_u_zero'));
      case 'f64>i64':
        return this.#lanes(p, source, 'f64x2', 'i64x2', () => c.op('i64.trunc_sat_f64_s'));
      case 'f64>u64':
        return this.#lanes(p, source, 'f64x2', 'i64x2', () => c.op('i64.trunc_sat_f64_u'));
      default:
        throw new Error(`cpu: no cast from ${from} to ${type}`);
    }
  }

  /** f64 → f32 rounded to odd, so that rounding to a half type afterwards rounds only once. */
  oddF32(p: number, source: Source): void {
    const { code: c } = this.#s;
    const em = this.#em;
    const two = this.#two(64);
    const halves = [0, 1].slice(0, two ? 2 : 1).map((h) => {
      const x = em.temp();
      source(this.#varying ? 2 * p + h : 0);
      c.set(x);
      return x;
    });
    const values: number[] = [];
    const lost: number[] = [];
    const over: number[] = [];
    for (const x of halves) {
      const [f, back] = [em.temp(), em.temp()];
      c.get(x).op('f32x4.demote_f64x2_zero').tee(f).op('f64x2.promote_low_f32x4').set(back);
      values.push(f);
      const [l, o] = [em.temp(), em.temp()];
      // NaN differs from itself, but must not be touched.
      c.get(back).get(x).op('f64x2.ne').get(x).get(x).op('f64x2.eq').op('v128.and').set(l);
      c.get(x).op('f64x2.abs').get(back).op('f64x2.abs').op('f64x2.lt').set(o);
      lost.push(l);
      over.push(o);
    }
    const join = (list: readonly number[], lanes: readonly number[]): number => {
      const t = em.temp();
      c.get(list[0]!)
        .get(list[list.length - 1]!)
        .shuffle(shuffleOf(32, lanes))
        .set(t);
      return t;
    };
    const f = join(values, [0, 1, 4, 5]);
    const l = join(lost, [0, 2, 4, 6]);
    const o = join(over, [0, 2, 4, 6]);
    c.get(f);
    roundToOdd(c, l, o);
  }

  /** Whether a part of half the width has two source parts. */
  #two(sourceWidth: Width): boolean {
    return this.#varying && this.#em.parts(this.#s, sourceWidth) > 1;
  }

  #half(
    p: number,
    source: Source,
    low: Parameters<Scope['code']['op']>[0],
    high: Parameters<Scope['code']['op']>[0],
  ): void {
    source(this.#varying ? p >> 1 : 0);
    this.#s.code.op(this.#varying && p & 1 ? high : low);
  }

  /** The half of a 32-bit source part that becomes part `p` of 64-bit lanes, in the low lanes. */
  #lowered(p: number, source: Source): void {
    source(this.#varying ? p >> 1 : 0);
    if (!(this.#varying && p & 1)) return;
    const t = this.#em.temp();
    this.#s.code
      .tee(t)
      .get(t)
      .shuffle(shuffleOf(64, [1, 1]));
  }

  /** The low words of two parts of 64-bit lanes. */
  #evens(p: number, source: Source): void {
    this.#pair(p, 64, source, () => undefined);
    this.#s.code.shuffle(shuffleOf(32, [0, 2, 4, 6]));
  }

  /** Two parts of 64-bit lanes, each turned into two 32-bit lanes, as one part. */
  #joined(p: number, source: Source, convert: () => void): void {
    this.#pair(p, 64, source, convert);
    this.#s.code.shuffle(shuffleOf(32, [0, 1, 4, 5]));
  }

  /** Pushes two neighbouring source parts (or the only one twice). */
  #pair(p: number, width: Width, source: Source, convert: () => void): void {
    const two = this.#two(width);
    source(this.#varying && two ? 2 * p : this.#varying ? p : 0);
    convert();
    if (two) {
      source(2 * p + 1);
      convert();
    } else {
      const t = this.#em.temp();
      this.#s.code.tee(t).get(t);
    }
  }

  /** 32-bit lanes already in 0 … 255 after `limit`, packed into bytes. */
  #bytes(p: number, source: Source, limit: () => void): void {
    const c = this.#s.code;
    const words = (q: number): void => {
      this.#pair(q, 32, source, limit);
      c.op('i16x8.narrow_i32x4_u');
    };
    this.#pair(p, 16, words, () => undefined);
    c.op('i8x16.narrow_i16x8_u');
  }

  /** Both 64-bit lanes by a scalar instruction. */
  #lanes(p: number, source: Source, from: 'i64x2' | 'f64x2', to: 'i64x2' | 'f64x2', convert: () => void): void {
    const c = this.#s.code;
    const x = this.#em.temp();
    source(p);
    c.tee(x).lane(`${from}.extract_lane`, 0);
    convert();
    c.op(`${to}.splat`);
    if (this.#s.lanes === 1 && this.#varying) return;
    c.get(x).lane(`${from}.extract_lane`, 1);
    convert();
    c.lane(`${to}.replace_lane`, 1);
  }
}
