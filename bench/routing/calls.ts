// The calls of the trace: nine operation types, each at sizes from 1 to 64M elements, through the public API.

import type { OperationType } from '../../src/governor/routing/index.ts';
import type { Runtime, Tensor } from '../../src/index.ts';

export interface Work {
  readonly op: OperationType;
  /** Tensors the call reads; none for calls that make their data. */
  readonly inputs: (rt: Runtime, n: number) => Tensor[];
  readonly run: (rt: Runtime, inputs: readonly Tensor[], n: number) => Tensor;
}

const degree = 4;

let made = new Float32Array(0);

/** The first n of one array that grows as needed: making 64M numbers takes longer than most calls. */
function floats(n: number): Float32Array {
  if (made.length < n) {
    const from = made.length;
    const grown = new Float32Array(n);
    grown.set(made);
    for (let i = from; i < n; i++) grown[i] = ((Math.imul(i, 0x9e3779b1) >>> 9) / 2 ** 23) * 2 - 1;
    made = grown;
  }
  return made.subarray(0, n);
}

const lists = new Map<number, Int32Array>();

/** Neighbours of each of n vertices, spread over all of them; those of the largest graphs are not kept. */
function neighbours(n: number): Int32Array {
  const known = lists.get(n);
  if (known) return known;
  const a = new Int32Array(n * degree);
  for (let i = 0; i < a.length; i++) a[i] = (Math.imul(i + 1, 0x85ebca6b) >>> 1) % n;
  if (n <= 1 << 22) lists.set(n, a);
  return a;
}

const side = (n: number): number => Math.max(1, Math.round(Math.sqrt(n)));
const vector = (rt: Runtime, n: number): Tensor => rt.tensor(floats(n), [n]);
const square = (rt: Runtime, n: number): Tensor => rt.tensor(floats(side(n) ** 2), [side(n), side(n)]);

export const works: readonly Work[] = [
  {
    op: 'matrix_multiply',
    inputs: (rt, n) => [square(rt, n), square(rt, n)],
    run: (_, [a, b]) => a!.matmul(b!),
  },
  { op: 'matrix_add', inputs: (rt, n) => [square(rt, n), square(rt, n)], run: (_, [a, b]) => a!.add(b!) },
  { op: 'element_wise', inputs: (rt, n) => [vector(rt, n)], run: (_, [x]) => x!.mul(0.5).add(1).tanh() },
  { op: 'reduction', inputs: (rt, n) => [vector(rt, n)], run: (_, [x]) => x!.sum() },
  {
    // The transform of the lattice: xor with a key.
    op: 'transform',
    inputs: (rt, n) => [rt.tensor(new Uint32Array(floats(n).buffer, 0, n), [n], { dtype: 'u32' })],
    run: (_, [x]) => x!.bitwiseXor(0x5bd1e995),
  },
  {
    // One step of a frontier: a vertex is reached if one of its neighbours is.
    op: 'graph_algorithm',
    inputs: (rt, n) => [vector(rt, n), rt.tensor(neighbours(n), [n, degree])],
    run: (_, [x, near]) => x!.gather(near!, 0).max({ axis: 1 }),
  },
  { op: 'random_generation', inputs: () => [], run: (rt, _, n) => rt.random.normal([n], { seed: 7 }) },
  { op: 'lattice_creation', inputs: () => [], run: (rt, _, n) => rt.arange(n).floorDivide(7).mul(3) },
  {
    // One sweep of distances: the least over the neighbours, plus the length of an edge.
    op: 'path_finding',
    inputs: (rt, n) => [
      vector(rt, n),
      rt.tensor(neighbours(n), [n, degree]),
      rt.tensor(floats(n * degree), [n, degree]),
    ],
    run: (_, [d, near, length]) => d!.gather(near!, 0).add(length!).min({ axis: 1 }).minimum(d!),
  },
];

export const sizes: readonly number[] = [
  1,
  16,
  256,
  1024,
  4096,
  16_384,
  65_536,
  262_144,
  1 << 20,
  1 << 22,
  1 << 24,
  1 << 26,
];

/** One distinct call: an operation, a size, and where its data is at home. */
export interface Call {
  readonly work: Work;
  readonly n: number;
  readonly home: string;
}
