// The inputs of every library, the same numbers in each: a multiplicative hash of the position.

/** Whole 32-bit numbers, well mixed. */
export function words(n, seed = 0) {
  const out = new Uint32Array(n);
  for (let i = 0; i < n; i++) out[i] = Math.imul(i + seed, 2654435761);
  return out;
}

/** Numbers from -1 to 1. */
export function floats(n, seed = 0) {
  const out = new Float32Array(n);
  for (let i = 0; i < n; i++) out[i] = (Math.imul(i + seed, 2654435761) >>> 0) / 2 ** 31 - 1;
  return out;
}

/** Numbers from 0 to 1: their sums do not cancel, so libraries that add in different orders agree on them. */
export function fractions(n, seed = 0) {
  const out = new Float32Array(n);
  for (let i = 0; i < n; i++) out[i] = (Math.imul(i + seed, 2654435761) >>> 0) / 2 ** 32;
  return out;
}

/** Positions below a limit. */
export function indices(n, limit, seed = 0) {
  const out = new Int32Array(n);
  for (let i = 0; i < n; i++) out[i] = (Math.imul(i + seed, 2654435761) >>> 0) % limit;
  return out;
}

export const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);

/** A few elements and the mean of them all: enough to tell a right result from a wrong one, small enough to send. */
export function digest(array) {
  const n = array.length;
  const count = Math.min(n, 64);
  const samples = Array.from({ length: count }, (_, k) =>
    Number(array[Math.floor((k * (n - 1)) / Math.max(count - 1, 1))]),
  );
  let sum = 0;
  for (let i = 0; i < n; i++) sum += Number(array[i]);
  return { length: n, samples, mean: sum / n };
}

/** What is wrong with a digest when held against another, or null. */
export function disagreement(got, want, tolerance = 2e-4) {
  if (got.length !== want.length) return `${got.length} elements against ${want.length}`;
  const far = (a, b) => !(Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b)));
  const i = got.samples.findIndex((v, k) => far(v, want.samples[k]));
  if (i >= 0) return `sample ${i} is ${got.samples[i]} against ${want.samples[i]}`;
  return far(got.mean, want.mean) ? `the mean is ${got.mean} against ${want.mean}` : null;
}

/** What is wrong with all values of a result when held against another's, or null. Small numbers are held against the mean size. */
export function difference(got, want, tolerance = 2e-4) {
  if (got.length !== want.length) return `${got.length} elements against ${want.length}`;
  let size = 0;
  for (const v of want) size += Number.isFinite(v) ? Math.abs(v) / want.length : 0;
  const least = Math.min(1, size);
  let wrong = 0;
  let first = -1;
  for (let i = 0; i < got.length; i++) {
    const [a, b] = [got[i], want[i]];
    if (Object.is(a, b) || a === b || Math.abs(a - b) <= tolerance * Math.max(least, Math.abs(b))) continue;
    if (wrong++ === 0) first = i;
  }
  return wrong > 0
    ? `${wrong} of ${got.length} values, the first at ${first}: ${got[first]} against ${want[first]}`
    : null;
}
