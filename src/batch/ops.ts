// The named operations of a batch. Each is a function of one tensor; the same function runs whatever the chunk is, so chunks
// cannot change a result.
//
// Squares are summed in f64 where the device has it: the sum of squares of f32 values leaves the range of f32 long before
// their mean does. Elsewhere values are first divided by a power of two near the largest of them.

import { ArgumentError, accumulatorFor, type DType, floatFor, type Tensor } from '../index.ts';

export type OpName =
  | 'meanSquare'
  | 'sum'
  | 'mean'
  | 'square'
  | 'sqrt'
  | 'exp'
  | 'norm'
  | 'abs'
  | 'neg'
  | 'log'
  | 'tanh'
  | 'relu'
  | 'min'
  | 'max'
  | 'std'
  | 'variance';

export type TensorOp = (tensor: Tensor) => Tensor;
export type BatchOp = OpName | TensorOp;

interface OpRow {
  /** `wide` tells whether the device has f64; with `rows` each row of a matrix is an operand of its own. */
  readonly run: (x: Tensor, wide: boolean, rows?: boolean) => Tensor;
  /** Has no value for a tensor without elements. */
  readonly needsElements: boolean;
  /** The result has the shape of the operand. */
  readonly elementwise: boolean;
}

const each = (run: (x: Tensor) => Tensor): OpRow => ({ run, needsElements: false, elementwise: true });

const over = (run: (x: Tensor, options: { readonly axis?: number }) => Tensor, needsElements = true): OpRow => ({
  run: (x, _wide, rows) => run(x, rows ? { axis: 1 } : {}),
  needsElements,
  elementwise: false,
});

const squares = (finish: 'mean' | 'root'): OpRow => ({
  run: (x, wide, rows = false) => ofSquares(x, wide, rows, finish),
  needsElements: finish === 'mean',
  elementwise: false,
});

export const ops: Readonly<Record<OpName, OpRow>> = {
  meanSquare: squares('mean'),
  norm: squares('root'),
  mean: over((x, o) => x.mean(o)),
  sum: over((x, o) => x.sum(o), false),
  min: over((x, o) => x.min(o)),
  max: over((x, o) => x.max(o)),
  std: over((x, o) => x.std(o)),
  variance: over((x, o) => x.variance(o)),
  square: each((x) => x.mul(x)),
  sqrt: each((x) => x.sqrt()),
  exp: each((x) => x.exp()),
  log: each((x) => x.log()),
  tanh: each((x) => x.tanh()),
  abs: each((x) => x.abs()),
  neg: each((x) => x.neg()),
  relu: each((x) => x.maximum(0)),
};

/** What an operation is called in measurements. */
export const nameOf = (op: BatchOp): string => (typeof op === 'string' ? op : op.name || 'function');

const isOpName = (op: unknown): op is OpName => typeof op === 'string' && Object.hasOwn(ops, op);

/** Throws unless the operation can be applied. */
export function checkOp(op: BatchOp, operation: string): void {
  if (typeof op === 'function' || isOpName(op)) return;
  throw new ArgumentError({
    message: `${operation}: there is no operation '${String(op)}'`,
    where: operation,
    fix: `Use a function of a tensor, or one of ${Object.keys(ops).join(', ')}.`,
  });
}

export function checkOperand(op: BatchOp, tensor: Tensor, index: number, operation: string): void {
  if (typeof op === 'function' || tensor.size > 0 || !ops[op].needsElements) return;
  throw new ArgumentError({
    message: `${operation}: item ${index}: ${op} of an empty tensor [${tensor.shape.join(', ')}]`,
    where: operation,
    fix: 'Leave empty tensors out: there is nothing to take the mean or an extreme of.',
  });
}

function ofSquares(x: Tensor, wide: boolean, rows: boolean, finish: 'mean' | 'root'): Tensor {
  const axis = rows ? { axis: 1 } : {};
  const n = rows ? x.shape[1]! : x.size;
  const end = (sum: Tensor): Tensor => (finish === 'mean' ? sum.div(n) : sum.sqrt());
  const result: DType = floatFor(x.dtype);
  if (wide || result === 'f64' || n === 0) {
    const y = x.cast(wide ? 'f64' : accumulatorFor(result));
    return end(y.mul(y).sum(axis)).cast(result);
  }
  const y = x.cast(accumulatorFor(result));
  // 2^-k for the largest magnitude in [2^k, 2^(k+1)). Zero, infinity and NaN need no care: they stay what they are.
  const down = y
    .abs()
    .max({ ...axis, keepdims: true })
    .log2()
    .floor()
    .clip(-126, 126)
    .neg()
    .exp2();
  const z = y.mul(down);
  const scale = down.reshape(rows ? [x.shape[0]!] : []);
  const scaled = end(z.mul(z).sum(axis));
  return (finish === 'root' ? scaled.div(scale) : scaled.div(scale).div(scale)).cast(result);
}
