// A program of sixty ops of every kind, some of them read: what the sweeps let fail at every point.

import type { Runtime, Tensor } from '../../src/index.ts';

type Env = Readonly<Record<string, Tensor>>;

interface Step {
  readonly name: string;
  readonly make: (t: Env, rt: Runtime, s: number) => Tensor;
  /** The result is read: everything it depends on runs. */
  readonly reads?: true;
}

const values = (n: number, seed: number): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => Math.sin(seed * 12.9898 + i * 0.37) * 2);

const compiled = new WeakMap<Runtime, { step: (x: Tensor) => Tensor; dispose(): void }>();

function stepOf(rt: Runtime): (x: Tensor) => Tensor {
  let known = compiled.get(rt);
  if (!known) {
    // Two kernels: the mean of each row, and what is made of it.
    const step = rt.compile((x: Tensor) =>
      x
        .sub(x.mean({ axis: 1, keepdims: true }))
        .mul(0.9)
        .add(x.roll(1, 0).mul(0.1))
        .tanh(),
    );
    known = { step, dispose: () => step.dispose() };
    compiled.set(rt, known);
  }
  return known.step;
}

export const steps: readonly Step[] = [
  { name: 'a', make: (_, rt, s) => rt.tensor(values(6 * s * 4 * s, 1), [6 * s, 4 * s]) },
  { name: 'b', make: (_, rt, s) => rt.tensor(values(4 * s * 3 * s, 2), [4 * s, 3 * s]) },
  { name: 'bias', make: (_, rt, s) => rt.tensor(values(3 * s, 3), [3 * s]) },
  { name: 'scaled', make: (t) => t.a!.mul(0.5) },
  { name: 'shifted', make: (t) => t.scaled!.add(1) },
  { name: 'rest', make: (t) => t.shifted!.sub(t.a!.abs()) },
  { name: 'squashed', make: (t) => t.rest!.tanh(), reads: true },
  { name: 'larger', make: (t) => t.a!.maximum(t.squashed!) },
  { name: 'mask', make: (t) => t.a!.greater(0.25), reads: true },
  { name: 'chosen', make: (t, rt) => rt.where(t.mask!, t.a!, t.larger!) },
  { name: 'grown', make: (t) => t.chosen!.neg().exp(), reads: true },
  { name: 'rowSum', make: (t) => t.grown!.sum({ axis: 1 }), reads: true },
  { name: 'columnMean', make: (t) => t.grown!.mean({ axis: 0 }) },
  { name: 'largest', make: (t) => t.grown!.max({ axis: 1 }) },
  { name: 'place', make: (t) => t.grown!.argmax({ axis: 1 }), reads: true },
  { name: 'spread', make: (t) => t.columnMean!.std(), reads: true },
  { name: 'soft', make: (t) => t.a!.logsumexp({ axis: 1 }), reads: true },
  { name: 'length', make: (t) => t.largest!.norm(), reads: true },
  { name: 'product', make: (t) => t.a!.matmul(t.b!) },
  { name: 'biased', make: (t) => t.product!.add(t.bias!) },
  { name: 'positive', make: (t) => t.biased!.maximum(0), reads: true },
  { name: 'turned', make: (t) => t.product!.transpose() },
  { name: 'square', make: (t) => t.turned!.matmul(t.product!), reads: true },
  { name: 'outer', make: (t) => t.bias!.outer(t.bias!) },
  { name: 'dot', make: (t) => t.bias!.dot(t.bias!.mul(2)), reads: true },
  { name: 'trace', make: (t) => t.outer!.trace(), reads: true },
  { name: 'sorted', make: (t) => t.a!.sort(1), reads: true },
  { name: 'order', make: (t) => t.a!.argsort(0), reads: true },
  { name: 'running', make: (t) => t.a!.cumsum(0), reads: true },
  { name: 'highest', make: (t) => t.a!.cummax(1) },
  { name: 'gap', make: (t) => t.highest!.sub(t.a!), reads: true },
  { name: 'picked', make: (t) => t.a!.gather([5, 0, 11, 5], 0), reads: true },
  { name: 'index', make: (_, rt) => rt.tensor(Int32Array.from({ length: 16 }, (_, i) => (i * 7) % 12)) },
  { name: 'looked', make: (t) => t.a!.gather(t.index!, 0), reads: true },
  { name: 'along', make: (t) => t.a!.takeAlongAxis(t.order!, 0), reads: true },
  { name: 'added', make: (t) => t.a!.scatter([1, 1, 10], t.picked!.slice([[0, 3]]), { mode: 'add' }), reads: true },
  { name: 'set', make: (t) => t.b!.scatter([2, 0], t.b!.slice([[4, 6]])), reads: true },
  { name: 'rolled', make: (t) => t.a!.roll(3, 0) },
  {
    name: 'padded',
    make: (t) =>
      t.rolled!.pad([
        [1, 1],
        [0, 2],
      ]),
  },
  { name: 'flipped', make: (t) => t.padded!.flip(0), reads: true },
  {
    name: 'part',
    make: (t, _, s) =>
      t.a!.slice([
        [s, 5 * s],
        [s, 4 * s],
      ]),
  },
  { name: 'joined', make: (t, rt) => rt.concat([t.part!, t.b!], 0), reads: true },
  { name: 'stacked', make: (t, rt) => rt.stack([t.part!, t.b!], 1) },
  { name: 'flat', make: (t, _, s) => t.stacked!.reshape([8 * s, 3 * s]).mul(3), reads: true },
  { name: 'permuted', make: (t) => t.stacked!.permute([2, 0, 1]).add(0.5), reads: true },
  { name: 'uniform', make: (_, rt, s) => rt.random.uniform([5 * s, 4 * s], { seed: 5 }), reads: true },
  { name: 'normal', make: (_, rt, s) => rt.random.normal([5 * s, 4 * s], { seed: 6 }) },
  { name: 'noisy', make: (t) => t.normal!.mul(0.1).add(t.uniform!), reads: true },
  { name: 'coins', make: (_, rt) => rt.random.bernoulli([64], { seed: 7, p: 0.5 }), reads: true },
  { name: 'softmax', make: (t) => t.a!.softmax(1), reads: true },
  { name: 'normed', make: (t) => t.a!.layerNorm(), reads: true },
  { name: 'f1', make: (t, rt) => stepOf(rt)(t.a!) },
  { name: 'f2', make: (t, rt) => stepOf(rt)(t.f1!) },
  { name: 'f3', make: (t, rt) => stepOf(rt)(t.f2!), reads: true },
  { name: 'early', make: (t) => t.f1!.mul(2), reads: true },
  { name: 'root', make: (t) => t.uniform!.sqrt(), reads: true },
  { name: 'whole', make: (t) => t.noisy!.floor().cast('i32'), reads: true },
  { name: 'bits', make: (t) => t.whole!.bitwiseAnd(1), reads: true },
  { name: 'best', make: (t) => t.positive!.argmin({ axis: 0 }), reads: true },
  { name: 'total', make: (t) => t.f3!.mul(t.a!).sum(), reads: true },
];

/** Runs the program on matrices of about 24 · size² elements; what was read, by name. Everything it made is disposed, also if it fails. */
export async function sixtyOps(rt: Runtime, size: number): Promise<Map<string, number[]>> {
  const results = new Map<string, number[]>();
  await rt.scope(async () => {
    const env: Record<string, Tensor> = {};
    for (const { name, make, reads } of steps) {
      const made = make(env, rt, size);
      env[name] = made;
      if (reads) results.set(name, Array.from((await made.data()) as Float32Array, Number));
    }
  });
  return results;
}

/** Frees what the program keeps between runs. */
export function forget(rt: Runtime): void {
  compiled.get(rt)?.dispose();
  compiled.delete(rt);
}

/** Why two runs differ, or null. `tolerance` 0 asks for the same bits. */
export function difference(
  got: ReadonlyMap<string, readonly number[]>,
  want: ReadonlyMap<string, readonly number[]>,
  tolerance: number,
): string | null {
  for (const [name, expected] of want) {
    const actual = got.get(name);
    if (actual?.length !== expected.length) return `${name}: ${actual?.length} values instead of ${expected.length}`;
    const i = expected.findIndex((e, k) => !(Math.abs(e - actual[k]!) <= tolerance * Math.max(1, Math.abs(e))));
    if (i >= 0) return `${name}[${i}]: ${actual[i]} instead of ${expected[i]}`;
  }
  return null;
}
