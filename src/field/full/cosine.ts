// How alike two vectors are.

export function cosineOf(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let dot = 0;
  let x = 0;
  let y = 0;
  for (let i = 0; i < a.length; i++) {
    dot += a[i]! * b[i]!;
    x += a[i]! * a[i]!;
    y += b[i]! * b[i]!;
  }
  return x > 0 && y > 0 ? dot / Math.sqrt(x * y) : 0;
}

/** The dot product, for long vectors: four sums side by side, as an addition takes longer than to begin the next one. */
export function dotOf(a: Float32Array, b: Float32Array): number {
  let p = 0;
  let q = 0;
  let r = 0;
  let s = 0;
  const whole = a.length - (a.length % 4);
  for (let i = 0; i < whole; i += 4) {
    p += a[i]! * b[i]!;
    q += a[i + 1]! * b[i + 1]!;
    r += a[i + 2]! * b[i + 2]!;
    s += a[i + 3]! * b[i + 3]!;
  }
  for (let i = whole; i < a.length; i++) p += a[i]! * b[i]!;
  return p + q + (r + s);
}
