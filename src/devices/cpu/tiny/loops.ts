// One op over n elements of typed arrays: the instructions of the tiny-kernel interpreter.
//
// Storing into the array of the result's type is what rounds (Float32Array) or wraps (Int32Array, BigInt64Array), so a
// loop computes in doubles and the result is rounded once, as the WebAssembly instruction rounds it. The common ops have
// loops of their own, which the engine compiles to tight code; the rest go through the definition in semantics.ts.

import { type DType, dtypeInfo, is64BitInt, type TypedArray } from '../../../base/dtype.ts';
import { bf16ToNumber, f16ToNumber, numberToBf16, numberToF16 } from '../../../base/half.ts';
import type { ScalarType } from '../../../kernel/expr.ts';
import type { AluOp } from '../../../kernel/ops.ts';
import { type Apply, castValue, meaning, roundTo, type Value } from '../../../kernel/semantics.ts';

/** Destination, then up to three operands, each as array, first element and step (0 repeats one element). */
export type Loop = (
  n: number,
  o: TypedArray,
  oi: number,
  a: TypedArray,
  ai: number,
  as: number,
  b: TypedArray,
  bi: number,
  bs: number,
  c: TypedArray,
  ci: number,
  cs: number,
) => void;

type Numbers = Float32Array;
type NumberLoop = (
  n: number,
  o: Numbers,
  oi: number,
  a: Numbers,
  ai: number,
  as: number,
  b: Numbers,
  bi: number,
  bs: number,
  c: Numbers,
  ci: number,
  cs: number,
) => void;

// The arrays are of any number type; Float32Array stands for all of them.
const shared = {
  add: (n, o, oi, a, ai, as, b, bi, bs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs) o[oi + i] = a[ai]! + b[bi]!;
  },
  sub: (n, o, oi, a, ai, as, b, bi, bs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs) o[oi + i] = a[ai]! - b[bi]!;
  },
  max: (n, o, oi, a, ai, as, b, bi, bs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs) o[oi + i] = Math.max(a[ai]!, b[bi]!);
  },
  min: (n, o, oi, a, ai, as, b, bi, bs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs) o[oi + i] = Math.min(a[ai]!, b[bi]!);
  },
  lt: (n, o, oi, a, ai, as, b, bi, bs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs) o[oi + i] = a[ai]! < b[bi]! ? 1 : 0;
  },
  le: (n, o, oi, a, ai, as, b, bi, bs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs) o[oi + i] = a[ai]! <= b[bi]! ? 1 : 0;
  },
  eq: (n, o, oi, a, ai, as, b, bi, bs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs) o[oi + i] = a[ai]! === b[bi]! ? 1 : 0;
  },
  ne: (n, o, oi, a, ai, as, b, bi, bs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs) o[oi + i] = a[ai]! !== b[bi]! ? 1 : 0;
  },
  where: (n, o, oi, a, ai, as, b, bi, bs, c, ci, cs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs, ci += cs) o[oi + i] = a[ai] ? b[bi]! : c[ci]!;
  },
  neg: (n, o, oi, a, ai, as) => {
    for (let i = 0; i < n; i++, ai += as) o[oi + i] = -a[ai]!;
  },
  abs: (n, o, oi, a, ai, as) => {
    for (let i = 0; i < n; i++, ai += as) o[oi + i] = Math.abs(a[ai]!);
  },
} as const satisfies Partial<Record<AluOp, NumberLoop>>;

const floatLoops: Readonly<Partial<Record<AluOp, NumberLoop>>> = {
  ...shared,
  mul: (n, o, oi, a, ai, as, b, bi, bs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs) o[oi + i] = a[ai]! * b[bi]!;
  },
  div: (n, o, oi, a, ai, as, b, bi, bs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs) o[oi + i] = a[ai]! / b[bi]!;
  },
  sqrt: (n, o, oi, a, ai, as) => {
    for (let i = 0; i < n; i++, ai += as) o[oi + i] = Math.sqrt(a[ai]!);
  },
  floor: (n, o, oi, a, ai, as) => {
    for (let i = 0; i < n; i++, ai += as) o[oi + i] = Math.floor(a[ai]!);
  },
};

const intLoops: Readonly<Partial<Record<AluOp, NumberLoop>>> = {
  ...shared,
  mul: (n, o, oi, a, ai, as, b, bi, bs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs) o[oi + i] = Math.imul(a[ai]!, b[bi]!);
  },
  and: (n, o, oi, a, ai, as, b, bi, bs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs) o[oi + i] = a[ai]! & b[bi]!;
  },
  or: (n, o, oi, a, ai, as, b, bi, bs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs) o[oi + i] = a[ai]! | b[bi]!;
  },
  xor: (n, o, oi, a, ai, as, b, bi, bs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs) o[oi + i] = a[ai]! ^ b[bi]!;
  },
};

const byClass: Readonly<Record<'bool' | 'int' | 'float', Readonly<Partial<Record<AluOp, NumberLoop>>>>> = {
  bool: intLoops,
  int: intLoops,
  float: floatLoops,
};

/** Arithmetic of half types is rounded to them at every step; the rest only selects or compares. */
const roundsHalves: ReadonlySet<AluOp> = new Set(['add', 'sub', 'mul', 'div', 'sqrt']);

/** The loop of an op on operands of a type; undefined where the op has no meaning for it. */
export function aluLoop(op: AluOp, type: ScalarType): Loop | undefined {
  if ((type === 'f16' || type === 'bf16') && roundsHalves.has(op)) {
    const apply = meaning(op, type)!;
    const round = roundTo[type];
    return generic((a, b, c) => round(apply(a, b, c)));
  }
  if (type === 'index') {
    if (op in shared) return shared[op as keyof typeof shared] as unknown as Loop;
  } else if (!is64BitInt(type)) {
    const known = byClass[dtypeInfo[type].class][op];
    if (known) return known as unknown as Loop;
  }
  const apply = meaning(op, type);
  if (!apply) return undefined;
  // `~1` is not a bool.
  return generic(type === 'bool' && op === 'not' ? (a) => (a ? 0 : 1) : apply);
}

const generic =
  (apply: Apply): Loop =>
  (n, o, oi, a, ai, as, b, bi, bs, c, ci, cs) => {
    for (let i = 0; i < n; i++, ai += as, bi += bs, ci += cs) o[oi + i] = apply(a[ai]!, b[bi]!, c[ci]!);
  };

const mapped =
  (f: (v: Value) => Value): Loop =>
  (n, o, oi, a, ai, as) => {
    for (let i = 0; i < n; i++, ai += as) o[oi + i] = f(a[ai]!);
  };

/** Elements as they are, from one array to another. */
export const copyLoop: Loop = (n, o, oi, a, ai, as) => {
  for (let i = 0; i < n; i++, ai += as) o[oi + i] = a[ai]!;
};

/** From the 16 bits of a half type to its value, and back with rounding. */
export const widen: Readonly<Partial<Record<DType, Loop>>> = {
  f16: mapped((v) => f16ToNumber(v as number)),
  bf16: mapped((v) => bf16ToNumber(v as number)),
};
export const narrow: Readonly<Partial<Record<DType, Loop>>> = {
  f16: mapped((v) => numberToF16(v as number)),
  bf16: mapped((v) => numberToBf16(v as number)),
};

const plain = (t: ScalarType): boolean => t === 'u8' || t === 'i32' || t === 'u32' || t === 'bool' || t === 'index';

/** Copies bits: as a number, a signalling NaN would come out as another one. */
const bitsLoop =
  (Words: new (buffer: ArrayBufferLike, offset: number, length: number) => TypedArray): Loop =>
  (n, o, oi, a, ai, as) => {
    const to = new Words(o.buffer, o.byteOffset, o.length) as Uint32Array;
    const from = new Words(a.buffer, a.byteOffset, a.length) as Uint32Array;
    for (let i = 0; i < n; i++, ai += as) to[oi + i] = from[ai]!;
  };

export function castLoop(from: ScalarType, to: ScalarType, bits: boolean): Loop {
  if (bits) return dtypeInfo[to as DType].bytes === 8 ? bitsLoop(BigUint64Array) : bitsLoop(Uint32Array);
  // These are what storing into an array of the target type does by itself.
  const stores =
    (to === 'f32' || to === 'f64' || to === 'index') && !is64BitInt(from as DType)
      ? true
      : plain(from) && plain(to) && to !== 'bool';
  return stores ? copyLoop : mapped((v) => castValue(v, from, to));
}

/** o[i] = a[b[i]], or zero where the gate c is false. The first element of `a` is at `ai`. */
export const gatherLoop: Loop = (n, o, oi, a, ai, _as, b, bi, bs) => {
  for (let i = 0; i < n; i++, bi += bs) o[oi + i] = a[ai + Number(b[bi])]!;
};
export const gatedLoop: Loop = (n, o, oi, a, ai, _as, b, bi, bs, c, ci, cs) => {
  const zero = typeof o[oi] === 'bigint' ? 0n : 0;
  for (let i = 0; i < n; i++, bi += bs, ci += cs) o[oi + i] = c[ci] ? a[ai + Number(b[bi])]! : zero;
};
