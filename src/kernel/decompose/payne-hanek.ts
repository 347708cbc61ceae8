// The remainder of a large positive number by π/2, by the method of Payne and Hanek: exact for every finite float.
//
// x = m·2^e with a whole m. Of the product m · 2/π only the bits just around the binary point matter: those above are
// whole turns, those below are lost in rounding. So m is multiplied with a window of 2/π, three words wide, that is chosen
// by e; the upper two words of the product are the quadrant (two bits) and the fraction.

import type { Expr } from '../expr.ts';
import type { Float } from './float.ts';
import { multiply, multiplyHigh, Words } from './words.ts';

/** 2/π = 0.a2f9836e… in hexadecimal: 1280 bits, by pieces of 64. */
const twoOverPi = BigInt(
  `0x${[
    'a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561',
    'b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484',
    'e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f',
    'ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b',
    '3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361d',
  ].join('')}`,
);

/** `width` bits of 2/π from bit `position` after the binary point on; bits before it are zero. */
function bitsOfTwoOverPi(position: number, width: number): bigint {
  return BigInt.asUintN(width, twoOverPi >> BigInt(1280 - position - width));
}

interface Remainder {
  readonly q: Expr;
  readonly r: Expr;
  readonly low: Expr;
}

/** For x ≥ 1 in f32 and x ≥ 2^20 in f64; anything for smaller x. */
export function largeReduction(f: Float, x: Expr): Remainder {
  const product = f.type === 'f32' ? product32(f, x) : product64(f, x);
  return fromProduct(f, product[0], product[1]);
}

// In f32 the window moves by bytes and m by the rest of the exponent, so that no shift count varies: vector units of
// the kind WebAssembly has shift all lanes alike.
function product32(f: Float, x: Expr): readonly [Expr, Expr] {
  const w = new Words(f.b, 'u32');
  const bits = f.bits(x);
  const exponent = f.isub(f.shr(bits, 23), f.int(127));
  const bytes = f.iand(exponent, f.int(-8));
  // x / 2^bytes · 2^23: a whole number below 2^32.
  const scaled = f.fromBits(f.isub(bits, f.shl(f.isub(bytes, f.int(23)), 23)));
  const m = f.b.cast('u32', scaled);
  const has = (mask: number): Expr => f.b.alu('ne', f.iand(bytes, f.int(mask)), f.int(0));
  const [by8, by16, by32, by64] = [has(8), has(16), has(32), has(64)];
  // Word i of the window that starts `shift` bits in. x = m·2^(bytes-23), and the top two bits count quadrants.
  const word = (i: number, shift: number): Expr => w.const(bitsOfTwoOverPi(32 * i + shift - 25, 32));
  const aligned = Array.from({ length: 6 }, (_, i) =>
    w.where(by16, w.where(by8, word(i, 24), word(i, 16)), w.where(by8, word(i, 8), word(i, 0))),
  );
  return multiplyWindow(w, m, w.slide(w.slide(aligned, by64, 2), by32, 1));
}

function product64(f: Float, x: Expr): readonly [Expr, Expr] {
  const w = new Words(f.b, 'u64');
  const bits = f.b.bitcast('u64', x);
  const m = w.or(w.and(bits, w.const((1n << 52n) - 1n)), w.const(1n << 52n));
  // From the smallest exponent on: 2^20.
  const shift = w.sub(w.shr(bits, 52), w.const(1023 + 20));
  let words = Array.from({ length: 19 }, (_, i) => w.const(bitsOfTwoOverPi(64 * i - 34, 64)));
  for (const step of [8, 4, 2, 1]) {
    words = w.slide(words, w.ne(w.and(shift, w.const(step * 64)), w.const(0)), step);
  }
  const left = w.and(shift, w.const(63));
  const right = w.sub(w.const(63), left);
  const shifted = [0, 1, 2].map((i) => w.or(w.shlBy(words[i]!, left), w.shrBy(w.shr(words[i + 1]!, 1), right)));
  return multiplyWindow(w, m, shifted);
}

/** The upper two words of m times a window of three, modulo the window. */
function multiplyWindow(w: Words, m: Expr, window: readonly Expr[]): readonly [Expr, Expr] {
  const [w0, w1, w2] = window as [Expr, Expr, Expr];
  const [middleHigh, middleLow] = multiply(w, m, w1);
  const low = w.add(middleLow, multiplyHigh(w, m, w2));
  const carry = w.where(w.lt(low, middleLow), w.const(1), w.const(0));
  return [w.add(w.add(w.mul(m, w0), middleHigh), carry), low];
}

function fromProduct(f: Float, high: Expr, low: Expr): Remainder {
  const { int } = f.format;
  const w = new Words(f.b, f.format.uint);
  const { width } = f;
  // Read as signed, the fraction lies in -½ … ½, and the quadrant counts one more for negative ones.
  const fraction = f.b.bitcast(int, w.or(w.shl(high, 2), w.shr(low, width - 2)));
  const quadrant = w.shr(w.add(high, w.const(1n << BigInt(width - 3))), width - 2);
  const a = f.fromInt(fraction);
  const remainder = f.isub(fraction, f.b.cast(int, a));
  const b = f.add(f.fromInt(remainder), f.mul(f.b.cast(f.type, w.shl(low, 2)), 2 ** -width));
  // (a + b) · π/2 / 2^width, with the head of the product exact.
  const [head, tail] = halfPi[f.type];
  const unit = 2 ** -width;
  const aHead = f.head(a);
  const high1 = f.mul(aHead, head * unit);
  const rest = f.add(f.mul(aHead, tail * unit), f.mul(f.add(f.sub(a, aHead), b), (head + tail) * unit));
  const r = f.add(high1, rest);
  return { q: f.b.bitcast(int, quadrant), r, low: f.add(f.sub(high1, r), rest) };
}

/** π/2, the first part with half of the bits. */
const halfPi = {
  f32: [1.5703125, 0.00048382679489661926],
  f64: [1.5707963109016418, 1.5893254773528196e-8],
} as const;
