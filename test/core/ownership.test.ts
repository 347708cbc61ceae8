// Every public op gives back what it was given: when its operands and results are disposed of, no bytes are left, whether it ran,
// stayed lazy or was refused. Nothing here is collected: what an op keeps behind the scenes shows at once.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime, ForgeError, type Runtime, Tensor } from '../../src/index.ts';
import { TensorCore } from '../../src/tensor/core.ts';
import { callLater } from '../cases/ops.ts';
import { heldBytes } from './support.ts';

let rt: Runtime;
beforeAll(async () => {
  rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
});
afterAll(() => rt.close());

/** Small tensors live on the JavaScript heap, out of the books. */
const n = 64;
const matrix = (): Tensor => rt.tensor(new Float32Array(n * n).fill(0.25), [n, n]);
const ints = (): Tensor => rt.tensor(new Int32Array(n * n).fill(1), [n, n]);
const image = (): Tensor => rt.tensor(new Float32Array(n * n), [1, 1, n, n]);
const volume = (): Tensor => rt.tensor(new Float32Array(n * n), [1, 1, 1, n, n]);
const column = (): Tensor => rt.tensor(new Float32Array(n * n), [n * n, 1]);
const row = (): Tensor => rt.tensor(new Float32Array(n * n).fill(0.25));
const places = (): Tensor => rt.tensor(new Int32Array(n * n).fill(3));
const lines = (): Tensor => rt.tensor(new Int32Array(n).fill(1));
const wide = (): Tensor => rt.tensor(new Float32Array(4 * n * n), [n, 4 * n]);
const flags = (): Tensor => rt.tensor(new Uint8Array(4 * n * n).fill(1), [n, 4 * n], { dtype: 'bool' });
const empty = (): Tensor => rt.tensor(new Float32Array(0), [n, 0]);

/** Operands, then arguments. Refused calls must fail with an error of the library. */
interface Row {
  readonly inputs: () => Tensor[];
  readonly args?: readonly unknown[];
}

const one = (...args: readonly unknown[]): Row => ({ inputs: () => [matrix()], args });
const two = (...args: readonly unknown[]): Row => ({ inputs: () => [matrix(), matrix()], args });
const whole = (...args: readonly unknown[]): Row => ({ inputs: () => [ints(), ints()], args });
const misfit = (...args: readonly unknown[]): Row => ({ inputs: () => [matrix(), column()], args });

const elementwise =
  'sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf floor ceil trunc round neg abs sign square reciprocal rsqrt sigmoid relu isnan isinf isfinite logicalNot'.split(
    ' ',
  );
const arithmetic =
  'add sub mul maximum minimum floorDivide mod pow div atan2 hypot logicalAnd logicalOr logicalXor equal notEqual less lessEqual greater greaterEqual'.split(
    ' ',
  );
const bits = 'bitwiseAnd bitwiseOr bitwiseXor leftShift rightShift'.split(' ');
const reductions = 'sum prod mean variance std max min any all argmax argmin countNonzero norm logsumexp'.split(' ');
const segments = 'segmentSum segmentMean segmentMax segmentMin'.split(' ');
const scans = 'cumsum cumprod cummax cummin'.split(' ');

/** Calls that must work, by op. */
const works: Readonly<Record<string, readonly Row[]>> = {
  ...Object.fromEntries(elementwise.map((op) => [op, [one(), { inputs: () => [ints()] }]])),
  ...Object.fromEntries(arithmetic.map((op) => [op, [two(), one(0.5), { inputs: () => [ints(), matrix()] }]])),
  ...Object.fromEntries(bits.map((op) => [op, [whole()]])),
  ...Object.fromEntries(reductions.map((op) => [op, [one(), one({ axis: 0, keepdims: true })]])),
  ...Object.fromEntries(scans.map((op) => [op, [one(0), one(1, { reverse: true })]])),
  ...Object.fromEntries(
    segments.map((op) => [
      op,
      [
        { inputs: () => [matrix(), lines()], args: [3] },
        one(new Array(n).fill(0), 1),
        { inputs: () => [ints(), lines()], args: [n] },
        { inputs: () => [empty(), lines()], args: [2] },
      ],
    ]),
  ),
  nonzero: [one(), { inputs: () => [flags()] }, { inputs: () => [empty()] }],
  mask: [
    { inputs: () => [wide(), flags()] },
    { inputs: () => [matrix(), rt.tensor(new Uint8Array(n), [n], { dtype: 'bool' })] },
  ],
  unique: [one(), { inputs: () => [flags()] }, { inputs: () => [empty()] }],
  bincount: [
    { inputs: () => [places()] },
    { inputs: () => [places()], args: [{ minLength: n * n }] },
    { inputs: () => [places(), row()] },
    { inputs: () => [rt.tensor(new Int32Array(0))] },
  ],
  searchsorted: [{ inputs: () => [row(), matrix()] }, { inputs: () => [row(), ints()], args: [{ side: 'right' }] }],
  histogram: [
    one(),
    one({ bins: n * n, range: [0, 1] }),
    one({ bins: [0, 0.5, 1] }),
    { inputs: () => [ints()] },
    { inputs: () => [empty()] },
  ],
  bitwiseNot: [{ inputs: () => [ints()] }],
  clip: [one(0, 1), { inputs: () => [matrix(), matrix(), matrix()] }],
  cast: [one('i32'), one('f32')],
  astype: [one('i32')],
  bitcast: [one('u32')],
  reshape: [one([-1]), one([n, n])],
  flatten: [one()],
  ravel: [one()],
  permute: [one([1, 0])],
  transpose: [one()],
  swapaxes: [one(0, 1)],
  moveaxis: [one(0, 1)],
  expand: [one([2, n, n])],
  broadcastTo: [one([2, n, n])],
  squeeze: [one(), { inputs: () => [image()] }],
  unsqueeze: [one(0)],
  expandDims: [one(0)],
  slice: [one([[1, 5]]), one([])],
  sliceAt: [
    one([1], [5]),
    one([1, -2], [5, 3]),
    { inputs: () => [matrix(), rt.tensor(Int32Array.of(1, 2))], args: [[5, 3]] },
  ],
  flip: [one()],
  roll: [one(1, 0), one(1), { inputs: () => [matrix(), rt.tensor(Int32Array.of(3))], args: [1] }],
  pad: [
    one([
      [1, 1],
      [0, 0],
    ]),
  ],
  tile: [one([2, 1])],
  repeat: [one(2, 0), one(2)],
  split: [one(2, 0)],
  diagonal: [one(), one(-1)],
  tril: [one()],
  triu: [one(1)],
  take: [one([1, 0]), one([1, 0], 0)],
  var: [one()],
  gather: [
    one([1, 2], 0),
    { inputs: () => [matrix(), ints()], args: [0] },
    { inputs: () => [empty(), ints()], args: [0] },
  ],
  takeAlongAxis: [{ inputs: () => [matrix(), ints()], args: [1] }, one(new Array(n).fill([0]), 1)],
  scatter: [
    { inputs: () => [matrix(), ints(), matrix()], args: [{ mode: 'add' }] },
    { inputs: () => [empty(), rt.tensor(new Int32Array(n)), empty()] },
  ],
  sort: [one(), one(0, { descending: true })],
  argsort: [one()],
  topk: [one(3), { inputs: () => [empty()], args: [0] }],
  matmul: [two(), { inputs: () => [empty(), rt.tensor(new Float32Array(0), [0, n])] }],
  dot: [
    two(),
    { inputs: () => [matrix(), rt.tensor(new Float32Array(n * n), [1, n, n])] },
    { inputs: () => [rt.tensor(new Float32Array(0), [n, 0]), rt.tensor(new Float32Array(0), [2, 0, n])] },
  ],
  outer: [{ inputs: () => [matrix(), rt.tensor([1, 2])] }],
  fft: [one(), one({ axis: 0, inverse: true })],
  rfft: [one(), { inputs: () => [image()], args: [{ axis: 2 }] }],
  irfft: [one(), one({ length: 127 })],
  trace: [one(), one(1)],
  conv1d: [
    { inputs: () => [rt.tensor(new Float32Array(n * n), [1, n, n]), rt.tensor(new Float32Array(n * n), [n, n, 1])] },
  ],
  conv2d: [{ inputs: () => [image(), image()], args: [{ padding: 2 }] }],
  convTranspose: [{ inputs: () => [image(), image()], args: [[1, 1, 2 * n - 1, 2 * n - 1]] }],
  convKernelGradient: [{ inputs: () => [image(), image()], args: [[1, 1, 1, 1]] }],
  fold: [one([2 * n - 1]), one([n * n], { stride: n })],
  conv3d: [{ inputs: () => [volume(), volume()] }],
  windows: [one([2, 2]), one([3], { padding: 1, stride: 2, dilation: 1 })],
  maxPool: [one([2, 2]), one([3], { padding: 1, stride: 2 })],
  avgPool: [one([2, 2])],
  softmax: [one(), one([0, 1])],
  logSoftmax: [one()],
  layerNorm: [one()],
  cosineSimilarity: [two()],
  where: [{ inputs: () => [ints(), matrix(), matrix()] }, { inputs: () => [matrix()], args: [1, 2] }],
  concat: [two(), two(1)],
  stack: [two(), two(1)],
  einsum: [
    two('ij,jk->ik'),
    two('ij,kl->l'),
    { inputs: () => [empty(), matrix()], args: ['ij,ik'] },
    one('ii->i'),
    one('ij->'),
  ],
};

/** Calls that must be refused, by op. */
const refused: Readonly<Record<string, readonly Row[]>> = {
  ...Object.fromEntries(arithmetic.map((op) => [op, [misfit(), one('x'), one(null)]])),
  ...Object.fromEntries(bits.map((op) => [op, [two(), misfit()]])),
  ...Object.fromEntries(reductions.map((op) => [op, [one({ axis: 5 }), one({ axes: 0 }), one({ axis: 'x' }), one(7)]])),
  ...Object.fromEntries(scans.map((op) => [op, [one(3), one(0, { back: true })]])),
  ...Object.fromEntries(
    segments.map((op) => [
      op,
      [
        { inputs: () => [matrix(), lines()], args: [-1] },
        { inputs: () => [matrix(), lines()], args: [2 ** 53 - 1] },
        { inputs: () => [matrix(), matrix()], args: [3] },
        { inputs: () => [flags(), lines()], args: [3] },
        one(new Array(n).fill(5), 3),
        misfit(3),
      ],
    ]),
  ),
  nonzero: [{ inputs: () => [rt.tensor(1)] }],
  mask: [two(), one(3), { inputs: () => [row(), flags()] }],
  bincount: [
    one(),
    { inputs: () => [ints()] },
    { inputs: () => [places(), column()] },
    { inputs: () => [places()], args: [{ minLength: -1 }] },
    { inputs: () => [places()], args: [{ weights: 0 }] },
    // Found when the elements are known.
    { inputs: () => [rt.tensor(new Int32Array(n * n).fill(-1))] },
  ],
  searchsorted: [two(), one(3), { inputs: () => [row(), matrix()], args: [{ side: 'x' }] }],
  histogram: [
    one({ bins: 0 }),
    one({ bins: [1] }),
    one({ bins: null }),
    one({ range: 5 }),
    one({ range: [2, 1] }),
    { inputs: () => [flags()] },
    { inputs: () => [rt.tensor(new Float32Array(n * n).fill(Number.NaN))] },
  ],
  bitwiseNot: [one()],
  clip: [
    one('x', 1),
    one(0, 'x'),
    { inputs: () => [matrix(), matrix(), column()] },
    { inputs: () => [matrix(), column(), column()] },
  ],
  cast: [one('f8'), one('toString'), one()],
  bitcast: [one('u8'), one('x')],
  reshape: [one([3]), one([-1, -1]), one(5), { inputs: () => [empty()], args: [[0, -1]] }],
  permute: [one([0]), one([0, 0])],
  swapaxes: [one(0, 9)],
  moveaxis: [one(0, 9)],
  expand: [one([n]), one([n, 3])],
  squeeze: [one(0)],
  unsqueeze: [one(9)],
  slice: [one([[0.5]]), one([[0, 1, 0]]), one([null, null, null]), one(3)],
  sliceAt: [one([0.5], [1]), one([0], [n + 1]), { inputs: () => [matrix(), matrix()], args: [[1, 1]] }],
  flip: [one(4)],
  roll: [one(0.5, 0), one([1, 2], [0, 1, 0]), { inputs: () => [matrix(), row()], args: [0] }],
  pad: [
    one([1, 1]),
    one([
      [1, -1],
      [0, 0],
    ]),
    one([
      [0, 0],
      [0, 2 ** 53 - 1],
    ]),
    one(
      [
        [1, 1],
        [1, 1],
      ],
      'x',
    ),
  ],
  tile: [one([0.5]), one([2 ** 30, 2 ** 30]), one([2 ** 53 - 1])],
  repeat: [one(-1, 0), one(2 ** 53 - 1, 0), one(2, 7)],
  split: [one(5, 0), one([0.5], 0)],
  diagonal: [one('x'), { inputs: () => [rt.tensor(new Float32Array(n * n))] }],
  trace: [one('x')],
  tril: [one('x'), one(0.5)],
  triu: [one({})],
  gather: [one([99], 0), { inputs: () => [matrix(), matrix()], args: [0] }, one([1], 5), one([[1], 2], 0)],
  takeAlongAxis: [
    one([1], 0),
    { inputs: () => [matrix(), column()], args: [0] },
    one([[1, 2, 3]], 0),
    { inputs: () => [matrix(), rt.tensor(new Int32Array(n * n), [2, (n * n) / 2])], args: [0] },
  ],
  scatter: [
    { inputs: () => [matrix(), ints(), column()] },
    { inputs: () => [matrix(), ints(), matrix()], args: [{ mode: 'x' }] },
    one([1], 5),
  ],
  sort: [one(4), one(0, { reverse: true })],
  argsort: [one(4)],
  topk: [one(-1), one(n + 1)],
  matmul: [misfit(), one(3), two({ precision: 'x' })],
  dot: [misfit(), one(3), { inputs: () => [matrix(), rt.tensor(new Float32Array(n * n), [1, n / 2, 2 * n])] }],
  outer: [one(3)],
  fft: [one({ axis: 7 }), one({ imag: 3 })],
  rfft: [one({ axis: 7 }), one({ imag: 3 })],
  irfft: [one({ axis: 7 }), one({ length: -1 })],
  conv1d: [two()],
  convTranspose: [{ inputs: () => [image(), image()], args: [[1, 1, n, n]] }, misfit([n, n])],
  convKernelGradient: [{ inputs: () => [image(), image()], args: [[1, 1, 2, 2]] }, misfit([n, n])],
  fold: [one([n]), one([2 * n - 1], { stride: 0 }), one([n, n, n])],
  conv2d: [
    misfit(),
    { inputs: () => [image(), image()], args: [{ stride: 0 }] },
    {
      inputs: () => [image(), rt.tensor(new Float32Array(n * (n + 2)), [1, 1, n + 2, n])],
    },
  ],
  conv3d: [two()],
  windows: [one([0]), one([n + 1]), one([2, 2], { padding: -1 }), one(2), one([1, 1, 1]), one([2], { pad: 1 })],
  maxPool: [one([0]), one([n + 1]), one([2, 2], { padding: -1 }), one(2), one([1, 1, 1]), one([2], { pad: 1 })],
  avgPool: [one([n + 1]), one([2], { stride: [1, 2] })],
  softmax: [one(4), one([0, 0])],
  logSoftmax: [one(4)],
  layerNorm: [one(4), one(-1, Number.NaN)],
  cosineSimilarity: [misfit(), two(7), two(-1, 'x'), one(3)],
  where: [{ inputs: () => [ints(), matrix(), column()] }, { inputs: () => [matrix(), matrix()], args: ['x'] }],
  concat: [misfit(), two(5)],
  stack: [misfit(), two(5)],
  einsum: [two('ij,jk'.repeat(2)), misfit('ij,jk'), misfit('ij,ij'), one('ijk'), one('ij->k'), two('i j k l m ->')],
};

/** Disposes of operands and results and tells how many bytes stayed. */
function leftBy(inputs: readonly Tensor[], results: readonly Tensor[]): number {
  for (const t of [...inputs, ...results]) t.dispose();
  return heldBytes(rt);
}

describe('the operands of', () => {
  const methods = new Set<string>();
  for (let p = Tensor.prototype; p !== TensorCore.prototype; p = Object.getPrototypeOf(p))
    for (const name of Object.getOwnPropertyNames(p)) methods.add(name);
  // Helpers of the classes themselves.
  for (const helper of [
    'constructor',
    'arithmetic',
    'operand',
    'unaryFloat',
    'allFalse',
    'refuse',
    'triangle',
    'positions',
    'startsOf',
    'waiting',
    'scan',
    'conv',
    'extremes',
    'segmentsOf',
  ])
    methods.delete(helper);

  it.each([...methods].sort())('%s have rows here', (op) => {
    expect(works).toHaveProperty(op);
  });

  it.each(Object.keys(works).sort())('%s are given back', async (op) => {
    for (const [k, { inputs: given, args = [] }] of works[op]!.entries()) {
      for (const manner of ['lazy', 'read', 'disposed first'] as const) {
        const inputs = given();
        if (inputs.some((t) => t.size >= n * n)) expect(heldBytes(rt)).toBeGreaterThan(0);
        // Ops that wait hold what they need while they do.
        const pending = callLater(rt, op, inputs, args);
        if (manner === 'disposed first') for (const t of inputs) t.dispose();
        const results = await pending;
        if (manner !== 'lazy') for (const t of results) await t.data();
        expect([op, k, manner, leftBy(inputs, results)]).toEqual([op, k, manner, 0]);
      }
    }
  });

  it.each(Object.keys(refused).sort())('%s are given back when the call is refused', async (op) => {
    for (const [k, { inputs: given, args = [] }] of refused[op]!.entries()) {
      const inputs = given();
      expect([op, k, await problem(callLater(rt, op, inputs, args))]).toEqual([op, k, 'refused']);
      expect([op, k, leftBy(inputs, [])]).toEqual([op, k, 0]);
    }
  });
});

describe('results that share what they are made from', () => {
  it('are right where so much lazy work has piled up that the first of them is computed at once', async () => {
    for (let depth = 245; depth < 260; depth++) {
      let x = rt.tensor([3, 1, 2]);
      for (let i = 0; i < depth; i++) x = x.add(1);
      const { values, indices } = x.topk(2);
      expect([[...(await values.data())], [...(await indices.data())]]).toEqual([
        [3 + depth, 2 + depth],
        [0, 2],
      ]);
      const parts = x.split(3, 0);
      expect((await parts[2]!.data())[0]).toBe(2 + depth);
    }
  });
});

describe('values that turn out to be equal', () => {
  it('hold their bytes once, and give them back', async () => {
    const zeros = rt.zeros([n, n]);
    const lower = zeros.tril(-2);
    const sum = lower.add(lower);
    lower.dispose();
    await rt.flush(zeros, sum);
    zeros.dispose();
    sum.dispose();
    expect(heldBytes(rt)).toBe(0);
  });
});

/** Whether a call is refused as it should be; what it does instead if not. */
async function problem(pending: Promise<unknown>): Promise<string> {
  try {
    await pending;
    return 'accepted';
  } catch (e) {
    return e instanceof ForgeError ? 'refused' : `threw ${e}`;
  }
}
