// Inputs for device tests: every special value of a type among random ones, always the same for the same seed.

import { type DType, dtypeInfo } from '../../src/base/dtype.ts';
import { elementsOf } from '../../src/devices/reference/elements.ts';
import type { Value } from '../../src/kernel/semantics.ts';

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }

  /** 0 ≤ v < 2^32 */
  bits(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return Math.imul(this.#state, 0x9e3779b1) >>> 0;
  }

  below(n: number): number {
    return this.bits() % n;
  }

  unit(): number {
    return this.bits() / 2 ** 32;
  }
}

const floatSpecials = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  1.5,
  2.5,
  -2.5,
  3.7,
  -3.7,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  1e-45,
  -1e-45,
  1e-40,
  1.1754944e-38,
  3.4028235e38,
  -3.4028235e38,
  65504,
  65520,
  6e-8,
  2147483648,
  -2147483649,
  4294967296,
  9.3e18,
  -9.3e18,
  1.9e19,
  255,
  256,
  1e-310,
  1e300,
  16777217,
  0.1,
];

const intSpecials: Readonly<Partial<Record<DType, readonly Value[]>>> = {
  u8: [0, 1, 2, 7, 8, 127, 128, 254, 255],
  i32: [0, 1, -1, 2, -2, 7, -7, 31, 32, 33, -32, 2147483647, -2147483648, 65536],
  u32: [0, 1, 2, 7, 31, 32, 33, 2147483648, 4294967295, 65536],
  i64: [0n, 1n, -1n, 3n, -3n, 63n, 64n, 65n, 2n ** 62n, -(2n ** 63n), 2n ** 63n - 1n, 4294967296n, -4294967297n],
  u64: [0n, 1n, 3n, 63n, 64n, 65n, 2n ** 63n, 2n ** 64n - 1n, 4294967296n, 4294967295n],
};

function randomValue(type: DType, r: Random, mild: boolean): Value {
  switch (type) {
    case 'bool':
      return r.below(2);
    case 'u8':
      return mild ? r.below(8) : r.below(256);
    case 'i32':
      return mild ? r.below(17) - 8 : r.bits() | 0;
    case 'u32':
      return mild ? r.below(16) : r.bits();
    case 'i64':
      return mild ? BigInt(r.below(17) - 8) : BigInt.asIntN(64, (BigInt(r.bits()) << 32n) | BigInt(r.bits()));
    case 'u64':
      return mild ? BigInt(r.below(16)) : (BigInt(r.bits()) << 32n) | BigInt(r.bits());
    default: {
      if (mild) return r.unit() * 2 - 1;
      const scale = type === 'f16' ? r.unit() * 16 - 8 : r.unit() * 60 - 30;
      return (r.unit() * 2 - 1) * 2 ** scale;
    }
  }
}

/** Fills a buffer: a fifth special values unless `mild`, which keeps to small ones. */
export function fill(type: DType, elements: number, seed: number, mild = false, below?: number): Uint8Array {
  const bytes = new Uint8Array(new ArrayBuffer(elements * dtypeInfo[type].bytes));
  const values = elementsOf(bytes, type);
  const r = new Random(seed * 7919 + dtypeInfo[type].id * 104729 + 1);
  const specials: readonly Value[] = dtypeInfo[type].class === 'float' ? floatSpecials : (intSpecials[type] ?? [0, 1]);
  for (let i = 0; i < elements; i++) {
    if (below !== undefined) values.set(i, r.below(below));
    else if (!mild && r.below(5) === 0) values.set(i, specials[r.below(specials.length)]!);
    else values.set(i, randomValue(type, r, mild));
  }
  return bytes;
}

/** The first difference between two results, in words; undefined if they agree. */
export function difference(type: DType, got: Uint8Array, want: Uint8Array, tolerance: number): string | undefined {
  const n = want.length / dtypeInfo[type].bytes;
  const [g, w] = [elementsOf(got, type), elementsOf(want, type)];
  // Errors of sums are relative to the size of what was summed, which the largest result shows well enough here.
  let scale = 0;
  if (tolerance > 0) for (let i = 0; i < n; i++) scale = Math.max(scale, finiteSize(w.get(i)));
  let count = 0;
  let first = '';
  for (let i = 0; i < n; i++) {
    const [x, y] = [g.get(i), w.get(i)];
    if (Object.is(x, y) || (Number.isNaN(x) && Number.isNaN(y))) continue;
    if (tolerance > 0 && Math.abs(Number(x) - Number(y)) <= tolerance * Math.max(finiteSize(y), scale)) continue;
    if (count++ === 0) first = `element ${i} of ${n}: got ${x}, want ${y}`;
  }
  return count === 0 ? undefined : `${first} (${count} differ)`;
}

const finiteSize = (v: Value): number => (Number.isFinite(Number(v)) ? Math.abs(Number(v)) : 0);
