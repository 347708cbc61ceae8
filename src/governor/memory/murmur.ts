// MurmurHash3, the form of 128 bits for machines of 32 (A. Appleby, public domain), over bytes that come in pieces.
//
// Four lanes that mix with each other after every 16 bytes; whole words are read where the bytes are aligned. It finds accidental
// changes, which is what it is for here; it is no defence against somebody who looks for bytes of equal hash.

// As signed words: numbers above 2^31 would not stay small integers of the engine.
const c1 = 0x239b961b;
const c2 = 0xab0e9789 | 0;
const c3 = 0x38b34ae5;
const c4 = 0xa1e38b93 | 0;

const rotate = (x: number, n: number): number => (x << n) | (x >>> (32 - n));

const mixed = (x: number): number => {
  let h = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
};

/** What a hash remembers between two pieces. */
interface Lanes {
  h1: number;
  h2: number;
  h3: number;
  h4: number;
}

export class Murmur {
  readonly #lanes: Lanes;
  #length = 0;

  constructor(seed = 0) {
    this.#lanes = { h1: seed | 0, h2: seed | 0, h3: seed | 0, h4: seed | 0 };
  }

  /** The next bytes. All pieces but the last have a multiple of 16. */
  update(bytes: Uint8Array): this {
    if (this.#length % 16 !== 0) throw new RangeError('a piece whose length is no multiple of 16 must be the last one');
    this.#length += bytes.length;
    const whole = bytes.length - (bytes.length % 16);
    mixBlocks(this.#lanes, wordsOf(bytes, whole));
    if (whole < bytes.length) mixTail(this.#lanes, bytes.subarray(whole));
    return this;
  }

  /** 32 hexadecimal digits. */
  digest(): string {
    const x = { ...this.#lanes };
    for (const h of names) x[h] ^= this.#length;
    spread(x);
    for (const h of names) x[h] = mixed(x[h]);
    spread(x);
    return names.map((h) => (x[h] >>> 0).toString(16).padStart(8, '0')).join('');
  }
}

const names = ['h1', 'h2', 'h3', 'h4'] as const;

function spread(x: Lanes): void {
  x.h1 = (x.h1 + x.h2 + x.h3 + x.h4) | 0;
  for (const h of names.slice(1)) x[h] = (x[h] + x.h1) | 0;
}

function mixBlocks(x: Lanes, words: Int32Array): void {
  let { h1, h2, h3, h4 } = x;
  // Names of its own: the engine keeps these in registers, those of the module it loads for every word.
  const [k1, k2, k3, k4] = [c1, c2, c3, c4];
  for (let i = 0, end = words.length; i < end; i += 4) {
    h1 ^= Math.imul(rotate(Math.imul(words[i]!, k1), 15), k2);
    h1 = (Math.imul((rotate(h1, 19) + h2) | 0, 5) + 0x561ccd1b) | 0;
    h2 ^= Math.imul(rotate(Math.imul(words[i + 1]!, k2), 16), k3);
    h2 = (Math.imul((rotate(h2, 17) + h3) | 0, 5) + 0x0bcaa747) | 0;
    h3 ^= Math.imul(rotate(Math.imul(words[i + 2]!, k3), 17), k4);
    h3 = (Math.imul((rotate(h3, 15) + h4) | 0, 5) + 0x96cd1c35) | 0;
    h4 ^= Math.imul(rotate(Math.imul(words[i + 3]!, k4), 18), k1);
    h4 = (Math.imul((rotate(h4, 13) + h1) | 0, 5) + 0x32ac3b17) | 0;
  }
  x.h1 = h1;
  x.h2 = h2;
  x.h3 = h3;
  x.h4 = h4;
}

/** Fewer than 16 bytes: zeros fill up, and change nothing. */
function mixTail(x: Lanes, bytes: Uint8Array): void {
  const block = new Uint8Array(16);
  block.set(bytes);
  const [k1, k2, k3, k4] = wordsOf(block, 16);
  x.h4 ^= Math.imul(rotate(Math.imul(k4!, c4), 18), c1);
  x.h3 ^= Math.imul(rotate(Math.imul(k3!, c3), 17), c4);
  x.h2 ^= Math.imul(rotate(Math.imul(k2!, c2), 16), c3);
  x.h1 ^= Math.imul(rotate(Math.imul(k1!, c1), 15), c2);
}

/** The first `count` bytes as words, without a copy where they are aligned. */
function wordsOf(bytes: Uint8Array, count: number): Int32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice(0, count);
  return new Int32Array(aligned.buffer, aligned.byteOffset, count / 4);
}
