// Random words and what is made of them, as nodes: Threefry-2x32 (`base/threefry.ts`), and numbers of a distribution from its two words.

import type { DType } from '../base/dtype.ts';
import { nextBelow, nextFrom } from '../base/neighbours.ts';
import { drawRounds, rotations } from '../base/threefry.ts';
import { roundTo } from '../kernel/semantics.ts';
import { args } from './args.ts';
import { alu, cast, constant, expand, reshape } from './make.ts';
import { makeNode, type Node } from './node.ts';

/** The number of each element in its row, as a low and a high word; no high word where all of them are 0. */
export function counterOf(rows: number, size: number): readonly [Node, Node | null] {
  const iota = (dtype: DType): Node => makeNode('iota', dtype, [rows, size], [], args.axis(1));
  if (size <= 2 ** 32) return [iota('u32'), null];
  return words(iota('u64'));
}

/** The two words of a number of 64 bits, the low one first. */
const words = (n: Node): readonly [Node, Node] => [
  cast(n, 'u32'),
  cast(alu('shr', n, constant('u64', 32, true)), 'u32'),
];

export function threefry(key0: Node, key1: Node, [low, high]: readonly [Node, Node | null]): [Node, Node] {
  const parity = alu('xor', alu('xor', key0, key1), constant('u32', 0x1bd11bda, true));
  const keys = [key0, key1, parity];
  let x = alu('add', low, key0);
  let y = high ? alu('add', high, key1) : key1;
  for (let block = 0; block < drawRounds / 4; block++) {
    for (let round = 4 * block; round < 4 * block + 4; round++) {
      const r = rotations[round % rotations.length]!;
      x = alu('add', x, y);
      y = alu('or', alu('shl', y, constant('u32', r, true)), alu('shr', y, constant('u32', 32 - r, true)));
      y = alu('xor', y, x);
    }
    x = alu('add', x, keys[(block + 1) % 3]!);
    // The key first: it is the same for all elements.
    y = alu('add', y, alu('add', keys[(block + 2) % 3]!, constant('u32', block + 1, true)));
  }
  return [x, y];
}

/** Bits as a float in [0, 1): 24 of them for f32, 53 for f64. */
export function unit([x, y]: readonly [Node, Node], type: 'f32' | 'f64'): Node {
  if (type === 'f32') {
    return alu('mul', cast(alu('shr', x, constant('u32', 8, true)), 'f32'), constant('f32', 2 ** -24, true));
  }
  const high = cast(alu('shr', x, constant('u32', 5, true)), 'f64');
  const low = cast(alu('shr', y, constant('u32', 6, true)), 'f64');
  return alu('mul', alu('add', alu('mul', high, constant('f64', 2 ** 26, true)), low), constant('f64', 2 ** -53, true));
}

/**
 * Numbers in [0, 1) as numbers in [low, high). Rounding may reach the upper end, in the sum or in a narrower dtype: the largest
 * number below it stands for that.
 */
export function within(u: Node, low: number, high: number, dtype: DType): Node {
  const wide = u.dtype;
  const value = (v: number): Node => constant(wide, v);
  const plain = low === 0 && high === 1;
  if (plain && dtype === wide) return u;
  // A range that the dtype cannot hold is made of its two halves.
  const scaled = plain
    ? u
    : Number.isFinite(roundTo[wide](high - low))
      ? alu('add', alu('mul', u, value(high - low)), value(low))
      : alu('add', alu('mul', u, value(high)), alu('mul', alu('sub', value(1), u), value(low)));
  // Below the normal numbers devices may flush to zero.
  const smallest = wide === 'f64' ? 2 ** -1022 : 2 ** -126;
  const [first, last] = [nextFrom(low, dtype), high === 0 ? -smallest : nextBelow(high, dtype)];
  return first <= last ? alu('max', alu('min', scaled, value(last)), value(first)) : scaled;
}

/** Whole numbers in [0, range) as u32 or u64, all equally likely up to one part in 2^32. */
export function below([x, y]: readonly [Node, Node], range: number): Node {
  if (range > 2 ** 32) {
    const word = alu('or', alu('shl', cast(x, 'u64'), constant('u64', 32, true)), cast(y, 'u64'));
    return alu('imod', word, constant('u64', range, true));
  }
  if (range === 2 ** 32) return x;
  // The upper word of (x·2^32 + y) · range, in 32 bits: a remainder of x alone would favour small values.
  const low = alu('mul', x, constant('u32', range, true));
  const sum = alu('add', low, upperProduct(y, range));
  const carry = cast(alu('lt', sum, low), 'u32');
  return alu('add', upperProduct(x, range), carry);
}

/** The upper 32 bits of x · n, from products of 16 bits. */
function upperProduct(x: Node, n: number): Node {
  const word = (v: number): Node => constant('u32', v, true);
  const upper = (v: Node): Node => alu('shr', v, word(16));
  const lower = (v: Node): Node => alu('and', v, word(0xffff));
  const [low, high] = [word(n & 0xffff), word(n >>> 16)];
  const middle = alu('add', alu('mul', upper(x), low), upper(alu('mul', lower(x), low)));
  const other = alu('add', alu('mul', lower(x), high), lower(middle));
  return alu('add', alu('add', alu('mul', upper(x), high), upper(middle)), upper(other));
}

/**
 * Two elements of f32 share a draw: of every 128 elements of a row the first 64 are made of the first words of 64 draws, the others of
 * the second words of the same draws. So a draw is made once where both are computed together (`kernel/blocks.ts`), in stretches
 * that vectors of any device divide.
 */
const stretch = 64;

/** Counters of draws that serve two elements each, and how their two results become elements. */
export interface Pairs {
  readonly counter: readonly [Node, Node | null];
  /** A value for each row, for all of its draws. */
  readonly ofRow: (value: Node) => Node;
  /** The elements of all rows, in their order: the first result of a draw or the second. */
  readonly elements: (first: Node, second: Node) => Node;
}

export function pairsOf(rows: number, size: number): Pairs {
  const blocks = Math.ceil(size / (2 * stretch));
  const shape = [rows, blocks, 2, stretch];
  const wide = blocks * stretch > 2 ** 32;
  const iota = (dtype: DType, axis: number): Node => makeNode('iota', dtype, shape, [], args.axis(axis));
  const number = (dtype: DType): Node =>
    alu('add', alu('mul', iota(dtype, 1), constant(dtype, stretch, true)), iota(dtype, 3));
  const isFirst = alu('eq', iota('u32', 2), constant('u32', 0, true));
  return {
    counter: wide ? words(number('u64')) : [number('u32'), null],
    ofRow: (value) => (value.size === 1 ? value : expand(reshape(value, [rows, 1, 1, 1]), shape)),
    elements: (first, second) => {
      const all = reshape(alu('where', isFirst, first, second), [rows, 2 * blocks * stretch]);
      if (2 * blocks * stretch === size) return all;
      return makeNode('slice', all.dtype, [rows, size], [all], args.slice([0, 0], [1, 1]));
    },
  };
}

/** Box and Muller's transform in f64, of which the first result is used; 1 - u keeps zero out of the logarithm. */
export function gauss([x, y]: readonly [Node, Node]): Node {
  const number = (v: number): Node => constant('f64', v, true);
  const u = alu('sub', number(1), unit([x, y], 'f64'));
  const turn = alu('mul', unit([y, x], 'f64'), number(2 * Math.PI));
  return alu('mul', alu('sqrt', alu('mul', alu('log', u), number(-2))), alu('cos', turn));
}

// Functions for any argument take most of the time of a normal number. In f32 their arguments are whole multiples of 2^-24 between 0
// and 1, or of 2^-23: no range to reduce, no special values. The coefficients have the least largest error.

/**
 * Both results of Box and Muller's transform in f32. The radius is that of u = ((x >> 8) + 1) · 2^-24, which is never 0. The angle is
 * within half a turn, from the lower 23 bits of y; the first bit of y turns it by the other half, which is the sign of the radius.
 */
export function gaussPair([x, y]: readonly [Node, Node]): readonly [Node, Node] {
  // The logarithm of 1 is 0. A bound far below all others lets devices compute the root without a thought to numbers near 0.
  const length = alu('sqrt', alu('max', minusLog(x), constant('f32', 2 ** -20, true)));
  const sign = alu('and', y, constant('u32', 0x80000000, true));
  const radius = reinterpret(alu('xor', reinterpret(length, 'u32'), sign), 'f32');
  const turn = alu('sub', mantissa(y), constant('f32', 1.5, true));
  const square = alu('mul', turn, turn);
  const sine = alu('mul', turn, horner(square, sineOfHalfTurns));
  return [alu('mul', radius, horner(square, cosineOfHalfTurns)), alu('mul', radius, sine)];
}

/** The lower 23 bits of a word, as a float in [1, 2). */
const mantissa = (x: Node): Node =>
  reinterpret(alu('or', alu('and', x, constant('u32', 0x7fffff, true)), constant('u32', 0x3f800000, true)), 'f32');

/**
 * -log2(u) · 2^23 of u = n · 2^-24, n = (x >> 8) + 1: to 4e-7 of its value. n = 2^(24-k) (1 + f) with 1 + f between the roots of 1/2 and
 * 2; k · 2^23 is computed where the exponent of a float is, and is a float's value as it stands.
 */
function minusLog(x: Node): Node {
  const int = (v: number): Node => constant('i32', v, true);
  const n = alu('add', alu('shr', x, constant('u32', 8, true)), constant('u32', 1, true));
  const bits = reinterpret(cast(n, 'f32'), 'i32');
  const scale = 24 << 23;
  const k = alu('and', alu('sub', int(0x3f3504f3 + 0x7fffff + scale), bits), int(-(1 << 23)));
  const f = alu('sub', reinterpret(alu('add', alu('add', bits, k), int(-scale)), 'f32'), constant('f32', 1, true));
  return alu('add', cast(k, 'f32'), alu('mul', f, horner(f, minusLogOver)));
}

/** Of -log2(1 + f) · 2^23 / f, by powers of f. */
const minusLogOver = [-12102202, 6051146, -4034276.5, 3021909, -2408358.5, 2087730.5, -1963289.625, 1223156.875];
/** Of c · cos(πs) and c · sin(πs) / s for s within a half, by powers of s²; c² = 2 ln(2) · 2^-23 makes -2 log(u) of what is above. */
const cosineOfHalfTurns = [
  0.00040652079042047, -0.00200609606690705, 0.00164982886053622, -0.00054143700981513, 0.00008931131742429,
];
const sineOfHalfTurns = [
  0.00127712276298553, -0.00210078037343919, 0.0010366408387199, -0.00024311779998243, 0.00003139158798149,
];

const horner = (x: Node, coefficients: readonly number[]): Node =>
  coefficients.map((c) => constant('f32', c, true)).reduceRight((sum, c) => alu('add', alu('mul', sum, x), c));

const reinterpret = (x: Node, dtype: DType): Node => makeNode('bitcast', dtype, x.shape.values, [x]);
