// SHA-256 (FIPS 180-4), for platforms that offer none.

/** The first 32 bits of the fractional parts of roots of the first primes. */
function fractions(count: number, root: (p: number) => number): Uint32Array {
  const words = new Uint32Array(count);
  for (let p = 2, n = 0; n < count; p++) {
    let prime = true;
    for (let d = 2; d * d <= p; d++) if (p % d === 0) prime = false;
    if (prime) words[n++] = (root(p) % 1) * 2 ** 32;
  }
  return words;
}

const rotate = (x: number, n: number): number => (x >>> n) | (x << (32 - n));

export function sha256(bytes: Uint8Array): Uint8Array {
  const constants = fractions(64, Math.cbrt);
  const state = fractions(8, Math.sqrt);
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length << 3);
  const w = new Int32Array(64);
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const [p, q] = [w[i - 15]!, w[i - 2]!];
      const low = rotate(p, 7) ^ rotate(p, 18) ^ (p >>> 3);
      const high = rotate(q, 17) ^ rotate(q, 19) ^ (q >>> 10);
      w[i] = w[i - 16]! + low + w[i - 7]! + high;
    }
    compress(state, w, constants);
  }
  const out = new DataView(new ArrayBuffer(32));
  for (let i = 0; i < 8; i++) out.setUint32(4 * i, state[i]!);
  return new Uint8Array(out.buffer);
}

function compress(state: Uint32Array, w: Int32Array, constants: Uint32Array): void {
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; i++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + constants[i]! + w[i]!) | 0;
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  for (const [i, v] of [a, b, c, d, e, f, g, h].entries()) state[i] = state[i]! + v;
}
