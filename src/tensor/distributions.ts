// Random words and what is made of them, as nodes: Threefry-2x32 with 20 rounds, and numbers of a distribution from its two words.

import type { DType } from '../base/dtype.ts';
import { nextBelow, nextFrom } from '../base/neighbours.ts';
import { args, makeNode, type Node } from '../graph/node.ts';
import { roundTo } from '../kernel/semantics.ts';
import { alu, cast, constant } from './build.ts';

const rotations = [
  [13, 15, 26, 6],
  [17, 29, 16, 24],
] as const;

/** The number of each element in its row, as a low and a high word; no high word where all of them are 0. */
export function counterOf(rows: number, size: number): readonly [Node, Node | null] {
  const iota = (dtype: DType): Node => makeNode('iota', dtype, [rows, size], [], args.axis(1));
  if (size <= 2 ** 32) return [iota('u32'), null];
  const number = iota('u64');
  return [cast(number, 'u32'), cast(alu('shr', number, constant('u64', 32, true)), 'u32')];
}

export function threefry(key0: Node, key1: Node, [low, high]: readonly [Node, Node | null]): [Node, Node] {
  const parity = alu('xor', alu('xor', key0, key1), constant('u32', 0x1bd11bda, true));
  const keys = [key0, key1, parity];
  let x = alu('add', low, key0);
  let y = high ? alu('add', high, key1) : key1;
  for (let block = 0; block < 5; block++) {
    for (const r of rotations[block % 2]!) {
      x = alu('add', x, y);
      y = alu('or', alu('shl', y, constant('u32', r, true)), alu('shr', y, constant('u32', 32 - r, true)));
      y = alu('xor', y, x);
    }
    x = alu('add', x, keys[(block + 1) % 3]!);
    y = alu('add', alu('add', y, keys[(block + 2) % 3]!), constant('u32', block + 1, true));
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

/** Whole numbers in [0, range) as `dtype`, all equally likely up to one part in 2^32. */
export function below([x, y]: readonly [Node, Node], range: number, dtype: DType): Node {
  if (range > 2 ** 32) {
    const word = alu('or', alu('shl', cast(x, 'u64'), constant('u64', 32, true)), cast(y, 'u64'));
    return cast(alu('imod', word, constant('u64', range, true)), dtype);
  }
  if (range === 2 ** 32) return cast(x, dtype);
  // The upper word of (x·2^32 + y) · range, in 32 bits: a remainder of x alone would favour small values.
  const low = alu('mul', x, constant('u32', range, true));
  const sum = alu('add', low, upperProduct(y, range));
  const carry = cast(alu('lt', sum, low), 'u32');
  return cast(alu('add', upperProduct(x, range), carry), dtype);
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

/** Box and Muller's transform; 1 - u keeps zero out of the logarithm. */
export function gauss([x, y]: readonly [Node, Node], type: 'f32' | 'f64'): Node {
  const one = constant(type, 1);
  const u = alu('sub', one, unit([x, y], type));
  const v = unit([y, x], type);
  const [log, turn] = type === 'f32' ? [logOfUnit(u), cosOfTurn(v)] : [alu('log', u), cosOf(v)];
  return alu('mul', alu('sqrt', alu('mul', log, constant(type, -2))), turn);
}

const cosOf = (v: Node): Node => alu('cos', alu('mul', v, constant('f64', 2 * Math.PI, true)));

// Functions for any argument take most of the time of a normal number. Their arguments here are whole multiples of 2^-24 between 0
// and 1: no range to reduce, no special values. The coefficients are least-squares fits at Chebyshev nodes.

/** log(u) for u in (0, 1], to 1e-7 of its value: u = 2^k (1 + f) with 1 + f between the roots of 1/2 and 2. */
function logOfUnit(u: Node): Node {
  const int = (v: number): Node => constant('i32', v, true);
  const bits = reinterpret(u, 'i32');
  const k = alu('shr', alu('sub', bits, int(0x3f3504f3)), int(23));
  const f = alu('sub', reinterpret(alu('sub', bits, alu('shl', k, int(23))), 'f32'), constant('f32', 1, true));
  const tail = alu('mul', alu('mul', f, f), horner(f, logTail));
  const whole = alu('mul', cast(k, 'f32'), constant('f32', Math.LN2, true));
  return alu('add', whole, alu('add', f, tail));
}

/** cos(2πv) for v in [0, 1): the sine of a quarter turn at most, to 1e-7. */
function cosOfTurn(v: Node): Node {
  const number = (n: number): Node => constant('f32', n, true);
  const s = alu('sub', alu('abs', alu('sub', v, number(0.5))), number(0.25));
  return alu('mul', s, horner(alu('mul', s, s), sineOfTurn));
}

/** Of (log(1 + f) - f) / f², by powers of f. */
const logTail = [-0.49999995, 0.3333366, -0.2500161, 0.19973106, -0.16575048, 0.1480646, -0.14257795, 0.090042021];
/** Of sin(2πs) / s, by powers of s². */
const sineOfTurn = [6.2831853, -41.341681, 81.602481, -76.581285, 39.760722];

const horner = (x: Node, coefficients: readonly number[]): Node =>
  coefficients.map((c) => constant('f32', c, true)).reduceRight((sum, c) => alu('add', alu('mul', sum, x), c));

const reinterpret = (x: Node, dtype: DType): Node => makeNode('bitcast', dtype, x.shape.values, [x]);
