// Changes of type between vector parts, as `Cast` in kernel/expr.ts defines them.
//
// A widening cast takes the low or high half of a source part, a narrowing one joins two. What has no instruction of its own
// goes by way of another type, each step exact or saturating in a way that the next one keeps.

import { bounds } from '../../../kernel/bounds.ts';
import type { Cast, Expr } from '../../../kernel/expr.ts';
import type { PlainOp } from '../wasm/ops.ts';
import type { Emitter } from './emitter.ts';
import { isHalf, roundHalf, roundToOdd } from './half.ts';
import { type LaneType, laneType, shapeOf, shuffleOf, splatBytes, type Width, widthOf } from './lanes.ts';
import type { WasmScope } from './scope.ts';

/** Pushes part `q` of some value of a lane type. */
type Source = (q: number) => void;

/** Pushes part `p` of a source as another type. */
type CastStep = (c: Converter, p: number, source: Source) => void;

export function emitCast(em: Emitter, e: Cast, p: number, s: WasmScope): void {
  const from = e.src[0];
  if (e.bits) {
    em.vec(from, p, s);
    return;
  }
  if (from.type === 'bool') {
    em.mask(from, p, widthOf(e.type), s);
    s.code.v128(splatBytes(e.type, 1)).op('v128.and');
    return;
  }
  const lane = wordOf(from);
  const { varying } = em.info(from);
  const source: Source = (q) => em.vec(from, varying ? q : 0, s);
  const c = new Converter(em, s, varying);
  if (!isHalf(e.type)) {
    convert(c, lane, laneType(e.type), p, source);
    return;
  }
  if (isHalf(from.type) || from.type === 'f32') source(p);
  else {
    const exact: Source = lane === 'i64' || lane === 'u64' ? (q) => c.odd64(lane, q, source) : source;
    c.oddF32(p, (q) => convert(c, lane, 'f64', q, exact));
  }
  roundHalf(s.code, e.type, em.temp);
}

/** The type to take lanes for. Converting unsigned words takes several instructions: those below 2^31 are taken for signed ones. */
function wordOf(e: Expr): LaneType {
  const unsigned = e.type === 'u32' || (e.type === 'index' && bounds(e).min >= 0);
  if (!unsigned) return laneType(e.type);
  return largestWord(e) < 2 ** 31 ? 'i32' : 'u32';
}

function largestWord(e: Expr): number {
  const any = 2 ** 32 - 1;
  if (e.type === 'index') return bounds(e).max;
  if (e.kind === 'const') return Number(e.value);
  if (e.kind !== 'alu') return any;
  const [a, b] = e.src as [Expr, Expr];
  switch (e.op) {
    case 'shr':
      return b.kind === 'const' ? Math.floor(largestWord(a) / 2 ** Number(b.value)) : any;
    case 'and':
      return Math.min(largestWord(a), largestWord(b));
    case 'add': {
      // A sum beyond that is cut to 32 bits.
      const most = largestWord(a) + largestWord(b);
      return most <= any ? most : any;
    }
    default:
      return any;
  }
}

export function emitToBool(em: Emitter, e: Cast, p: number, s: WasmScope): void {
  em.vec(e.src[0], p, s);
  s.code.v128(splatBytes('u8', 0)).op(`${shapeOf[laneType(e.src[0].type)]}.ne`);
}

function convert(c: Converter, from: LaneType, to: LaneType, p: number, source: Source): void {
  const step = steps[from][to];
  if (step) step(c, p, source);
  else source(p);
}

/** One instruction on each part. */
const each =
  (op: PlainOp): CastStep =>
  (c, p, source) => {
    source(p);
    c.code.op(op);
  };

/** Lanes twice as wide, from one half of a part. */
const halves =
  (low: PlainOp, high: PlainOp): CastStep =>
  (c, p, source) => {
    source(c.varying ? p >> 1 : 0);
    c.code.op(c.varying && p & 1 ? high : low);
  };

/** Lanes twice as wide, by an instruction that takes the low half only. */
const lowered =
  (op: PlainOp): CastStep =>
  (c, p, source) => {
    source(c.varying ? p >> 1 : 0);
    if (c.varying && p & 1) {
      const t = c.em.temp();
      c.code
        .tee(t)
        .get(t)
        .shuffle(shuffleOf(64, [1, 1]));
    }
    c.code.op(op);
  };

/** Two parts of 64-bit lanes, each turned into two low 32-bit lanes, as one part. */
const joined =
  (op: PlainOp): CastStep =>
  (c, p, source) => {
    c.pair(p, 64, source, () => c.code.op(op));
    c.code.shuffle(shuffleOf(32, [0, 1, 4, 5]));
  };

/** The low words of 64-bit lanes. */
const evens: CastStep = (c, p, source) => {
  c.pair(p, 64, source, () => undefined);
  c.code.shuffle(shuffleOf(32, [0, 2, 4, 6]));
};

/** 32-bit lanes brought into 0 … 255 by `limit`, packed into bytes. */
const bytes =
  (limit: PlainOp): CastStep =>
  (c, p, source) => {
    const words: Source = (q) => {
      c.pair(q, 32, source, () => c.code.v128(splatBytes('i32', 255)).op(limit));
      c.code.op('i16x8.narrow_i32x4_u');
    };
    c.pair(p, 16, words, () => undefined);
    c.code.op('i8x16.narrow_i16x8_u');
  };

/** Adding these puts a whole number into the low bits of a float. */
const intoLowBits = { f32: 2 ** 23, f64: 2 ** 52 } as const;

/** Floats brought into 0 … 255, NaN to 0, and cut off: in the low byte of each lane. What saturates by itself takes twice the instructions. */
function lowByte(c: Converter, type: 'f32' | 'f64', q: number, source: Source): void {
  const shape = shapeOf[type];
  // pmax(0, x) is 0 < x ? x : 0.
  c.code.v128(splatBytes(type, 255)).v128(splatBytes(type, 0));
  source(q);
  c.code
    .ops(`${shape}.pmax`, `${shape}.pmin`, `${shape}.trunc`)
    .v128(splatBytes(type, intoLowBits[type]))
    .op(`${shape}.add`);
}

/** Both 64-bit lanes by a scalar instruction. */
const scalars =
  (from: 'i64x2' | 'f64x2', to: 'i64x2' | 'f64x2', op: PlainOp): CastStep =>
  (c, p, source) => {
    const x = c.em.temp();
    source(p);
    c.code.tee(x).lane(`${from}.extract_lane`, 0).op(op).op(`${to}.splat`);
    if (c.scope.lanes === 1 && c.varying) return;
    c.code.get(x).lane(`${from}.extract_lane`, 1).op(op).lane(`${to}.replace_lane`, 1);
  };

/** Up to four 64-bit integers as f32 lanes, each rounded once: by way of f64 they would be rounded twice. */
const singles =
  (op: 'f32.convert_i64_s' | 'f32.convert_i64_u'): CastStep =>
  (c, p, source) => {
    const lanes = c.varying ? Math.min(4, c.scope.lanes) : 1;
    const parts = Array.from({ length: Math.ceil(lanes / 2) }, (_, h) => {
      const x = c.em.temp();
      source(lanes > 2 ? 2 * p + h : c.varying ? p : 0);
      c.code.set(x);
      return x;
    });
    c.code.get(parts[0]!).lane('i64x2.extract_lane', 0).op(op).op('f32x4.splat');
    for (let lane = 1; lane < lanes; lane++) {
      c.code
        .get(parts[lane >> 1]!)
        .lane('i64x2.extract_lane', lane & 1)
        .op(op)
        .lane('f32x4.replace_lane', lane);
    }
  };

/** From one type to another by way of a third. */
const via =
  (from: LaneType, middle: LaneType, to: LaneType): CastStep =>
  (c, p, source) =>
    convert(c, middle, to, p, (q) => convert(c, from, middle, q, source));

const byteToWord: CastStep = (c, p, source) =>
  halves('i32x4.extend_low_i16x8_u', 'i32x4.extend_high_i16x8_u')(c, p, (q) =>
    halves('i16x8.extend_low_i8x16_u', 'i16x8.extend_high_i8x16_u')(c, q, source),
  );

const extendSigned = halves('i64x2.extend_low_i32x4_s', 'i64x2.extend_high_i32x4_s');
const extendUnsigned = halves('i64x2.extend_low_i32x4_u', 'i64x2.extend_high_i32x4_u');

/** From → to; what is missing keeps its bits. */
const steps: Readonly<Record<LaneType, Readonly<Partial<Record<LaneType, CastStep>>>>> = {
  u8: {
    i32: byteToWord,
    u32: byteToWord,
    i64: via('u8', 'i32', 'i64'),
    u64: via('u8', 'i32', 'u64'),
    f32: via('u8', 'i32', 'f32'),
    f64: via('u8', 'i32', 'f64'),
  },
  i32: {
    u8: bytes('v128.and'),
    i64: extendSigned,
    u64: extendSigned,
    f32: each('f32x4.convert_i32x4_s'),
    f64: lowered('f64x2.convert_low_i32x4_s'),
  },
  u32: {
    u8: bytes('v128.and'),
    i64: extendUnsigned,
    u64: extendUnsigned,
    f32: each('f32x4.convert_i32x4_u'),
    f64: lowered('f64x2.convert_low_i32x4_u'),
  },
  i64: {
    u8: via('i64', 'i32', 'u8'),
    i32: evens,
    u32: evens,
    f32: singles('f32.convert_i64_s'),
    f64: scalars('i64x2', 'f64x2', 'f64.convert_i64_s'),
  },
  u64: {
    u8: via('u64', 'i32', 'u8'),
    i32: evens,
    u32: evens,
    f32: singles('f32.convert_i64_u'),
    f64: scalars('i64x2', 'f64x2', 'f64.convert_i64_u'),
  },
  f32: {
    u8: (c, p, source) => bytes('v128.and')(c, p, (q) => lowByte(c, 'f32', q, source)),
    i32: each('i32x4.trunc_sat_f32x4_s'),
    u32: each('i32x4.trunc_sat_f32x4_u'),
    i64: via('f32', 'f64', 'i64'),
    u64: via('f32', 'f64', 'u64'),
    f64: lowered('f64x2.promote_low_f32x4'),
  },
  f64: {
    u8: (c, p, source) => bytes('v128.and')(c, p, (q) => evens(c, q, (r) => lowByte(c, 'f64', r, source))),
    i32: joined('i32x4.trunc_sat_f64x2_s_zero'),
    u32: joined('i32x4.trunc_sat_f64x2_u_zero'),
    i64: scalars('f64x2', 'i64x2', 'i64.trunc_sat_f64_s'),
    u64: scalars('f64x2', 'i64x2', 'i64.trunc_sat_f64_u'),
    f32: joined('f32x4.demote_f64x2_zero'),
  },
};

/** Where a cast is emitted. */
class Converter {
  readonly em: Emitter;
  readonly scope: WasmScope;
  /** The source differs between lanes; else its only part serves for all. */
  readonly varying: boolean;

  constructor(em: Emitter, scope: WasmScope, varying: boolean) {
    this.em = em;
    this.scope = scope;
    this.varying = varying;
  }

  get code(): WasmScope['code'] {
    return this.scope.code;
  }

  /** Pushes the two source parts of `width`-bit lanes that make part `p` (or the only one twice), each after `then`. */
  pair(p: number, width: Width, source: Source, then: () => void): void {
    const two = this.varying && this.em.parts(this.scope, width) > 1;
    source(two ? 2 * p : 0);
    then();
    if (two) {
      source(2 * p + 1);
      then();
    } else {
      const t = this.em.temp();
      this.code.tee(t).get(t);
    }
  }

  /** 64-bit integers that a double holds: of the bits that do not fit, the last one kept says whether there were any. */
  odd64(type: 'i64' | 'u64', q: number, source: Source): void {
    const { code: c, em } = this;
    const x = em.temp();
    source(q);
    c.set(x);
    // Larger ones: the low 11 bits go, and set the bit above them if they were not all zero.
    c.get(x).v128(splatBytes('i64', -0x800n)).op('v128.and');
    c.get(x).v128(splatBytes('i64', 0x7ffn)).op('v128.and');
    c.v128(splatBytes('i64', 0x7ffn)).op('i64x2.add').v128(splatBytes('i64', 0x800n)).op('v128.and').op('v128.or');
    c.get(x);
    if (type === 'i64')
      c.get(x)
        .v128(splatBytes('i64', 2n ** 53n))
        .op('i64x2.add')
        .i32(54);
    else c.get(x).i32(53);
    c.op('i64x2.shr_u').v128(splatBytes('i64', 0n)).op('i64x2.ne').op('v128.bitselect');
  }

  /** f64 → f32 rounded to odd, so that rounding to a half type afterwards rounds only once. */
  oddF32(p: number, source: Source): void {
    const { code: c, em } = this;
    const values: number[] = [];
    const lost: number[] = [];
    const over: number[] = [];
    const two = this.varying && em.parts(this.scope, 64) > 1;
    for (let h = 0; h < (two ? 2 : 1); h++) {
      const [x, f, back, l, o] = [em.temp(), em.temp(), em.temp(), em.temp(), em.temp()];
      source(two ? 2 * p + h : 0);
      c.tee(x).op('f32x4.demote_f64x2_zero').tee(f).op('f64x2.promote_low_f32x4').set(back);
      // NaN differs from itself, but must not be touched.
      c.get(back).get(x).op('f64x2.ne').get(x).get(x).op('f64x2.eq').op('v128.and').set(l);
      c.get(x).op('f64x2.abs').get(back).op('f64x2.abs').op('f64x2.lt').set(o);
      values.push(f);
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
}
