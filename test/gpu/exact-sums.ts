// Scattered sums of f32, computed exactly in whole numbers and rounded once: what CUDA promises of them.
//
// Every finite f32 is a whole number of units of 2^-149. Values of all sizes, cancellations, subnormal numbers, infinities, NaN and both
// zeros are among the updates and among what they are added to.

const word = new Uint32Array(1);
const single = new Float32Array(word.buffer);

const unitsOf = (v: number): bigint => {
  single[0] = v;
  const bits = word[0]!;
  const exponent = (bits >>> 23) & 255;
  const whole = exponent > 0 ? (bits & 0x7fffff) | 0x800000 : bits & 0x7fffff;
  const units = BigInt(whole) << BigInt(Math.max(exponent, 1) - 1);
  return bits >>> 31 ? -units : units;
};

/** The f32 closest to a number of units; of two equally close ones the even. */
function rounded(units: bigint): number {
  const size = units < 0n ? -units : units;
  const drop = BigInt(Math.max(0, size.toString(2).length - 24));
  const [kept, rest, half] = [size >> drop, size & ((1n << drop) - 1n), drop > 0n ? 1n << (drop - 1n) : 0n];
  const up = drop > 0n && (rest > half || (rest === half && (kept & 1n) === 1n));
  const value = Math.fround(Number(up ? kept + 1n : kept) * 2 ** (Number(drop) - 100) * 2 ** -49);
  return units < 0n ? -value : value;
}

export interface ExactSums {
  readonly base: Float32Array;
  readonly at: Int32Array;
  readonly updates: Float32Array;
  readonly wanted: Float32Array;
}

/** `hot`: almost all updates are for five targets. */
export function exactSums(targets: number, count: number, hot: boolean): ExactSums {
  const base = Float32Array.from({ length: targets }, (_, i) => {
    if (i % 7 === 0) return -0;
    if (i % 11 === 0) return Number.NaN;
    return i % 13 === 0 ? Number.POSITIVE_INFINITY : Math.sin(i) * 2 ** (((i * 37) % 250) - 125);
  });
  const at = Int32Array.from({ length: count }, (_, i) => (hot && i % 10 > 0 ? (i * i) % 5 : (i * 7919) % targets));
  const updates = Float32Array.from(at, (t, i) => {
    if (t % 14 === 0) return -0;
    if (t % 21 === 0) return i % 2 === 0 ? 1.5 : -1.5;
    if (t % 101 === 50) return i % 3 > 0 || t % 2 === 1 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    if (t % 103 === 50) return i % 5 > 0 ? 1 : Number.NaN;
    if (t % 17 === 3) return 1e-45 * (i % 9);
    if (t % 19 === 3) return i % 2 === 0 ? 3e38 : -3e38;
    return Math.cos(i) * 2 ** (((i * 31) % 240) - 120);
  });
  const finite = (v: number): boolean => Number.isFinite(v);
  const sums = Array.from(base, (v) => (finite(v) ? unitsOf(v) : 0n));
  const others = Array.from(base, (v) => (finite(v) ? 0 : v));
  // -0 stays if nothing but -0 is added to it.
  const stays = Array.from(base, (v) => Object.is(v, -0));
  at.forEach((t, i) => {
    const v = updates[i]!;
    if (!Object.is(v, -0)) stays[t] = false;
    if (finite(v)) sums[t]! += unitsOf(v);
    else others[t]! += v;
  });
  const wanted = Float32Array.from(sums, (units, t) => {
    if (others[t] !== 0) return others[t]!;
    return stays[t] ? -0 : rounded(units);
  });
  return { base, at, updates, wanted };
}
