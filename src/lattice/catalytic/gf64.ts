// GF(2^64): 64-bit words as polynomials over two elements, modulo x^64 + x^4 + x^3 + x + 1. Addition and subtraction are XOR, so
// every word of any memory is an element and every sum can be taken back. On the host with bigint; on devices as tensor expressions.

import { checked } from '../../base/signatures.ts';
import type { Runtime, Tensor } from '../../index.ts';
import { threefry } from '../threefry.ts';

const mask64 = (1n << 64n) - 1n;

/** The product, in windows of four bits. */
export const gfMul = checked('gfMul', 'a:bigint b:bigint', (a: bigint, b: bigint): bigint => {
  const table = [0n];
  for (let i = 1; i < 16; i++) table[i] = i % 2 === 1 ? table[i - 1]! ^ a : table[i / 2]! << 1n;
  let product = 0n;
  for (let shift = 60n; shift >= 0n; shift -= 4n) product = (product << 4n) ^ table[Number((b >> shift) & 15n)]!;
  return reduce(product);
});

function reduce(product: bigint): bigint {
  let rest = product;
  // What lies above 64 bits is folded down; the first fold leaves at most four bits above.
  for (let high = rest >> 64n; high > 0n; high = rest >> 64n)
    rest = (rest & mask64) ^ high ^ (high << 1n) ^ (high << 3n) ^ (high << 4n);
  return rest;
}

/** The inverse of a non-zero element: its power 2^64 − 2. */
export const gfInverse = checked('gfInverse', 'a:bigint', (a: bigint): bigint => {
  let [result, square] = [1n, a];
  for (let i = 1; i < 64; i++) {
    square = gfMul(square, square);
    result = gfMul(result, square);
  }
  return result;
});

/** The weight of an edge: a random element that is not zero, the same whenever it is asked for. */
export const edgeWeight = checked(
  'edgeWeight',
  'seed:number lower:number axis:number',
  (seed: number, lower: number, axis: number): bigint => {
    const [high, low] = threefry(seed >>> 0, Math.floor(seed / 2 ** 32), lower, axis);
    const weight = (BigInt(high) << 32n) | BigInt(low);
    return weight === 0n ? 1n : weight;
  },
);

/** A 64-bit word as two tensors of 32 bits: every device has those. */
export interface Halves {
  readonly low: Tensor;
  readonly high: Tensor;
}

const xorHalves = (a: Halves, b: Halves): Halves => ({
  low: a.low.bitwiseXor(b.low),
  high: a.high.bitwiseXor(b.high),
});

/** The weights of all edges along an axis, by their lower vertex, as `edgeWeight` gives them. */
export function edgeWeights(rt: Runtime, seed: number, lower: Tensor, axis: number): Halves {
  const word = (v: number): Tensor => rt.full(lower.shape, v >>> 0, { dtype: 'u32' });
  const [key0, key1] = [seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0];
  const keys = [key0, key1, (0x1bd11bda ^ key0 ^ key1) >>> 0];
  let x = lower.cast('u32').add(word(key0));
  let y: Tensor = word((axis + key1) >>> 0);
  for (let round = 0; round < 20; round++) {
    const r = rotations[round % 8]!;
    x = x.add(y);
    y = y
      .leftShift(r)
      .bitwiseOr(y.rightShift(32 - r))
      .bitwiseXor(x);
    if (round % 4 !== 3) continue;
    const i = (round + 1) / 4;
    x = x.add(word(keys[i % 3]!));
    y = y.add(word((keys[(i + 1) % 3]! + i) >>> 0));
  }
  const zero = x.equal(0).logicalAnd(y.equal(0));
  return { high: x, low: rt.where(zero, word(1), y) };
}

const rotations = [13, 15, 26, 6, 17, 29, 16, 24] as const;

/** weight ⊗ value, for some bits of the weight: `from` to `to` − 1 of its 64. The products of all bits add up to the whole. */
export function mulBits(weight: Halves, value: Halves, from: number, to: number): Halves {
  // Horner's rule from the highest bit down, then up to where the bits belong.
  let sum: Halves | null = null;
  for (let bit = to - 1; bit >= from; bit--) {
    const word = bit < 32 ? weight.low : weight.high;
    const all = word
      .rightShift(bit % 32)
      .bitwiseAnd(1)
      .mul(0xffff_ffff);
    const part: Halves = { low: value.low.bitwiseAnd(all), high: value.high.bitwiseAnd(all) };
    sum = sum ? xorHalves(timesX(sum, 1), part) : part;
  }
  return timesX(sum!, from);
}

/** value ⊗ x^n, n below 61: what leaves at the top comes back by the polynomial without leaving again. */
function timesX(value: Halves, n: number): Halves {
  if (n === 0) return value;
  if (n > 28) return timesX(timesX(value, 28), n - 28);
  const { low, high } = value;
  const out = high.rightShift(32 - n);
  // x^64 is x^4 + x^3 + x + 1; a single bit is multiplied by that at once.
  const back =
    n === 1
      ? out.mul(0x1b)
      : out.bitwiseXor(out.leftShift(1)).bitwiseXor(out.leftShift(3)).bitwiseXor(out.leftShift(4));
  return {
    low: low.leftShift(n).bitwiseXor(back),
    high: high.leftShift(n).bitwiseOr(low.rightShift(32 - n)),
  };
}
