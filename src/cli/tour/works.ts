// The stations of the tour: real work at real sizes, each with its own check in double precision.
//
// A check recomputes the result with plain loops, independent of the library. Only the large matrix product is checked by
// projection (Freivalds): A·(B·v) = C·v for random v, plus a few rows in full.

import type { Runtime, Tensor } from '../../index.ts';

export interface TourWork {
  readonly name: string;
  /** For GB/s and GFLOP/s: what the work must move and compute at least. */
  readonly bytes: number;
  readonly flops: number;
  /** Makes the inputs; the returned function does the work once. */
  prepare(rt: Runtime): { run: () => Tensor; check: (result: ArrayLike<number>) => string | null };
}

const mega = 1 << 20;

function u32(n: number, seed: number): Uint32Array {
  const out = new Uint32Array(n);
  let x = seed | 1;
  for (let i = 0; i < n; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    out[i] = x;
  }
  return out;
}

function f32(n: number, seed: number): Float32Array {
  return Float32Array.from(u32(n, seed), (v) => v / 2 ** 31 - 1);
}

/** Compares with a tolerance relative to the size of the values; names the first difference. */
function compare(got: ArrayLike<number>, want: (i: number) => number, n: number, tolerance: number): string | null {
  if (got.length !== n) return `${got.length} values instead of ${n}`;
  for (let i = 0; i < n; i++) {
    const expected = want(i);
    // Not `>`: NaN must fail.
    if (!(Math.abs(got[i]! - expected) <= tolerance * Math.max(1, Math.abs(expected)))) {
      return `element ${i} is ${got[i]}, expected ${expected}`;
    }
  }
  return null;
}

function xor(n: number, name: string): TourWork {
  return {
    name,
    bytes: 12 * n,
    flops: n,
    prepare(rt) {
      const [a, b] = [u32(n, 7), u32(n, 11)];
      const [x, y] = [rt.tensor(a), rt.tensor(b)];
      return { run: () => x.bitwiseXor(y), check: (r) => compare(r, (i) => (a[i]! ^ b[i]!) >>> 0, n, 0) };
    },
  };
}

function checkProduct(
  a: Float32Array,
  b: Float32Array,
  c: ArrayLike<number>,
  n: number,
  at: number,
  label: string,
): string | null {
  const tolerance = 1e-6 * n;
  for (const row of [0, n >> 1, n - 1]) {
    for (let j = 0; j < n; j++) {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += a[at + row * n + k]! * b[at + k * n + j]!;
      const got = c[at + row * n + j]!;
      if (!(Math.abs(got - sum) <= tolerance)) return `${label}[${row}, ${j}] is ${got}, expected ${sum}`;
    }
  }
  const v = f32(n, 13);
  const bv = new Float64Array(n);
  for (let k = 0; k < n; k++) for (let j = 0; j < n; j++) bv[k]! += b[at + k * n + j]! * v[j]!;
  for (let i = 0; i < n; i++) {
    let [left, right] = [0, 0];
    for (let k = 0; k < n; k++) {
      left += a[at + i * n + k]! * bv[k]!;
      right += c[at + i * n + k]! * v[k]!;
    }
    if (!(Math.abs(left - right) <= tolerance * Math.sqrt(n)))
      return `${label} row ${i}: projection ${right}, expected ${left}`;
  }
  return null;
}

function matmul(batch: number, n: number, name: string): TourWork {
  return {
    name,
    bytes: 12 * batch * n * n,
    flops: 2 * batch * n ** 3,
    prepare(rt) {
      const [a, b] = [f32(batch * n * n, 3), f32(batch * n * n, 5)];
      const [x, y] = [rt.tensor(a, [batch, n, n]), rt.tensor(b, [batch, n, n])];
      return {
        run: () => x.matmul(y),
        check: (c) => {
          for (let i = 0; i < batch; i++) {
            const wrong = checkProduct(a, b, c, n, i * n * n, batch === 1 ? 'C' : `C${i}`);
            if (wrong) return wrong;
          }
          return null;
        },
      };
    },
  };
}

const chain: TourWork = {
  name: 'tanh((x*.99+.5)*x-.1), 4M f32',
  bytes: 8 * 4 * mega,
  flops: 5 * 4 * mega,
  prepare(rt) {
    const n = 4 * mega;
    const a = f32(n, 17);
    const x = rt.tensor(a);
    return {
      run: () => x.mul(0.99).add(0.5).mul(x).sub(0.1).tanh(),
      check: (r) => compare(r, (i) => Math.tanh((a[i]! * 0.99 + 0.5) * a[i]! - 0.1), n, 1e-6),
    };
  },
};

const reduction: TourWork = {
  name: 'sum of 16M f32',
  bytes: 4 * 16 * mega,
  flops: 16 * mega,
  prepare(rt) {
    const a = f32(16 * mega, 19);
    const x = rt.tensor(a);
    let sum = 0;
    for (const v of a) sum += v;
    return { run: () => x.sum(), check: (r) => compare(r, () => sum, 1, 1e-5) };
  },
};

const field: TourWork = {
  name: 'field step 32x32x32x64',
  bytes: 8 * 32 ** 3 * 64,
  flops: 14 * 32 ** 3 * 64,
  prepare(rt) {
    const [side, features] = [32, 64];
    const n = side ** 3 * features;
    const a = f32(n, 23);
    const f = rt.tensor(a, [side, side, side, features]);
    const step = rt.compile((x: Tensor) => {
      const near = [0, 1, 2].flatMap((axis) => [x.roll(1, axis), x.roll(-1, axis)]);
      const sum = near.reduce((p, q) => p.add(q));
      return x
        .mul(0.99)
        .add(sum.sub(x.mul(6)).mul(0.05))
        .tanh();
    });
    const strides = [side * side * features, side * features, features];
    const want = (i: number): number => {
      let sum = 0;
      for (const stride of strides) {
        const p = Math.floor(i / stride) % side;
        sum += a[i + (p === 0 ? side - 1 : -1) * stride]! + a[i + (p === side - 1 ? 1 - side : 1) * stride]!;
      }
      return Math.tanh(a[i]! * 0.99 + (sum - 6 * a[i]!) * 0.05);
    };
    return { run: () => step(f), check: (r) => compare(r, want, n, 1e-6) };
  },
};

export const works: readonly TourWork[] = [
  xor(5, 'xor of 5 integers'),
  xor(16 * mega, 'xor of 16M integers'),
  matmul(1, 1024, 'matmul 1024x1024'),
  matmul(10, 256, 'ten matmuls 256x256'),
  chain,
  reduction,
  field,
];
