// What a device runs: a fused loop nest (Kernel) or a named routine.
//
// A kernel computes one or more outputs over one index space, with at most one reduction and an epilogue after it.
// Axes are numbered outermost first: axes 0 … space.length-1 are the output's, the ones after them are reduced.
// Each output is written whole, row-major and contiguous: element (i0 … in) lands at its linear position in `space`.
// `space` has at least one axis ([1] for a single element); `reduced` is empty exactly if there are no accumulators.
// Launch buffers come in the order inputs, then outputs. An output may share its buffer with an input only if the
// kernel lists that input's slot in `inPlace`.

import type { DType } from '../base/dtype.ts';
import type { Expr } from './expr.ts';
import type { ReduceOp } from './ops.ts';

export interface BufferParam {
  readonly type: DType;
  readonly elements: number;
}

export interface Accumulator {
  readonly op: ReduceOp;
  /** The type in which values are combined; `value` has this type. The result of argmax and argmin is i32. */
  readonly type: DType;
  /** Over all axes, the reduced ones included. */
  readonly value: Expr;
}

export interface Output {
  readonly type: DType;
  /** Over the output axes; reads accumulators through `acc` expressions. */
  readonly value: Expr;
}

/** The work of one launch: the router's input, and the profiler's GB/s and GFLOP/s. */
export interface Estimate {
  readonly flops: number;
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

export interface Kernel {
  readonly kind: 'kernel';
  /** Says what it does, as in `mul_add_tanh_f32_1048576`; the same name appears in traces, caches and errors. */
  readonly name: string;
  readonly space: readonly number[];
  readonly reduced: readonly number[];
  readonly accumulators: readonly Accumulator[];
  readonly outputs: readonly Output[];
  readonly inputs: readonly BufferParam[];
  readonly scalars: readonly DType[];
  /** Inputs that are only read at the very position being written, and so may be overwritten. */
  readonly inPlace: readonly number[];
  readonly estimate: Estimate;
}

/**
 * C[b] = A[b] · B[b], with A as m×k (k×m if transposeA), B as k×n (n×k if transposeB), C as m×n, all contiguous.
 * The operands' batch counts are `batch` or 1 (shared by all). Buffers: A, B, the epilogue's inputs, C.
 */
export interface Matmul {
  readonly kind: 'routine';
  readonly op: 'matmul';
  readonly name: string;
  readonly type: DType;
  readonly batch: number;
  readonly batchA: number;
  readonly batchB: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  /** How f32 products may be computed; other types accumulate as `accumulatorFor` says. */
  readonly precision: 'exact' | 'tf32' | 'bf16';
  readonly epilogue: Epilogue | null;
  readonly estimate: Estimate;
}

/**
 * Several products of one shape, each with operands and a result of its own. `product` is one of them: no batch, no epilogue, nothing
 * empty. Buffers: every A, every B, every C.
 */
export interface Products {
  readonly kind: 'routine';
  readonly op: 'products';
  readonly name: string;
  readonly count: number;
  readonly product: Matmul;
  readonly estimate: Estimate;
}

/** Elementwise work fused behind a routine: over axes [batch, m, n], with `acc` 0 as the routine's own result. */
export interface Epilogue {
  readonly inputs: readonly BufferParam[];
  readonly scalars: readonly DType[];
  readonly output: Output;
}

/**
 * O[b] = softmax(f(Q[b] · K[b]ᵀ)) · V[b], softmax along the keys; Q as queries×depth, K as keys×depth, V as keys×width, O as
 * queries×width, all contiguous. f is elementwise over axes [batch, queries, keys] (a scale, a mask), with `acc` 0 as the product in
 * f32, not rounded to the operands' type; it gives f32. Operands' batch counts are `batch` or 1. Buffers: Q, K, V, f's inputs, O.
 */
export interface Attention {
  readonly kind: 'routine';
  readonly op: 'attention';
  readonly name: string;
  readonly type: DType;
  readonly batch: number;
  readonly batchQ: number;
  readonly batchK: number;
  readonly batchV: number;
  readonly queries: number;
  readonly keys: number;
  readonly depth: number;
  readonly width: number;
  readonly scores: Epilogue;
  readonly estimate: Estimate;
}

/**
 * Stable sort of each row; NaN last, as NumPy. Buffers: input, sorted values, their positions (i32). Where `caps.valueSorts`, positions
 * that nobody reads are left out.
 */
export interface Sort {
  readonly kind: 'routine';
  readonly op: 'sort';
  readonly name: string;
  readonly type: DType;
  readonly rows: number;
  readonly columns: number;
  readonly descending: boolean;
  /** There is no buffer for the positions. */
  readonly valuesOnly?: boolean;
  readonly estimate: Estimate;
}

/**
 * So many of each row as if it were sorted, from rank `first` on: stable, NaN last. Buffers: input, values, their positions (i32); of the
 * results each row has `count`.
 */
export interface TopK {
  readonly kind: 'routine';
  readonly op: 'topk';
  readonly name: string;
  readonly type: DType;
  readonly rows: number;
  readonly columns: number;
  readonly first: number;
  readonly count: number;
  readonly descending: boolean;
  readonly estimate: Estimate;
}

/**
 * Inclusive scan along the middle of [outer, length, inner]. Buffers: input, output. `from`: the type of the input's elements, where they are
 * integers narrower than their running sums (`Capabilities.widensScans`).
 */
export interface Scan {
  readonly kind: 'routine';
  readonly op: 'scan';
  readonly name: string;
  readonly type: DType;
  readonly from?: DType;
  readonly combine: 'sum' | 'prod' | 'max' | 'min';
  readonly outer: number;
  readonly length: number;
  readonly inner: number;
  readonly reverse: boolean;
  readonly estimate: Estimate;
}

/**
 * A copy of `base` [outer, length, inner] in which, for every o, j, n in order of j:
 * out[o, at[j], n] = combine(out[o, at[j], n], updates[o, j, n]). With `perElement`, `at` has the shape of `updates`.
 * Positions below 0 count from the end, or with `clips` are the first; what is outside then is held at the nearest end, so that nothing
 * is ever written elsewhere. For `set` the last j wins. Buffers: base, at (i32), updates, output. With `uniform` all updates
 * are the same value, which is the only element of `updates`.
 */
export interface Scatter {
  readonly kind: 'routine';
  readonly op: 'scatter';
  readonly name: string;
  readonly type: DType;
  readonly combine: 'set' | 'sum' | 'prod' | 'max' | 'min';
  readonly outer: number;
  readonly length: number;
  readonly inner: number;
  readonly count: number;
  readonly perElement: boolean;
  readonly clips: boolean;
  readonly uniform: boolean;
  readonly estimate: Estimate;
}

/**
 * Of a row of flags (bool) the true ones, packed: their positions (i32), or the `values` that stand where they do; the first `count` of
 * them, then zeros. Or, as the only element, how many there are. Buffers: flags, values if they are packed, output.
 */
export interface Compact {
  readonly kind: 'routine';
  readonly op: 'compact';
  readonly name: string;
  readonly what: 'positions' | 'values' | 'count';
  /** Of the output. */
  readonly type: DType;
  readonly length: number;
  readonly count: number;
  readonly estimate: Estimate;
}

/**
 * Discrete Fourier transforms of rows, forwards: the first `frequencies` of each. Those are all, `length` of them, or for real rows of even
 * length `length / 2 + 1`. Or back from so many (`hermitian`) to the real rows, divided by the length; imaginary parts of the first and of
 * the last frequency count as zero. Lengths are those that `transformed` (fourier.ts) names. Buffers: real parts, imaginary parts unless `real`, both
 * [rows, length]; real and imaginary parts of the result, both [rows, frequencies]. Back: parts, both [rows, frequencies]; the rows.
 */
export interface Fourier {
  readonly kind: 'routine';
  readonly op: 'fourier';
  readonly name: string;
  readonly type: DType;
  readonly rows: number;
  readonly length: number;
  readonly form: 'complex' | 'real' | 'hermitian';
  readonly frequencies: number;
  readonly estimate: Estimate;
}

/** Code in a device's own language, launched as given. Buffers and scalars as the caller lists them. */
export interface RawKernel {
  readonly kind: 'routine';
  readonly op: 'raw';
  readonly name: string;
  readonly language: 'ptx' | 'wgsl' | 'wasm';
  readonly source: string;
  readonly entry: string;
  readonly inputs: readonly BufferParam[];
  readonly outputs: readonly BufferParam[];
  readonly scalars: readonly DType[];
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  readonly estimate: Estimate;
}

/** One kernel of a stack of rows; see rows.ts. */
export interface RowStage {
  readonly kernel: Kernel;
  /** Per input of the kernel: a buffer of the launch, or the n-th result of the stages before it. */
  readonly sources: readonly ({ readonly buffer: number } | { readonly result: number })[];
  /** Per output of the kernel: the buffer of the launch it is stored in; -1 if only later stages read it. */
  readonly stored: readonly number[];
  /** Per scalar of the kernel: which of the launch's it is. */
  readonly scalars: readonly number[];
}

/** Several kernels over the same rows as one launch. Results are numbered through all stages. Buffers: inputs, then stored outputs. */
export interface Rows {
  readonly kind: 'routine';
  readonly op: 'rows';
  readonly name: string;
  readonly rows: number;
  readonly columns: number;
  readonly stages: readonly RowStage[];
  readonly inputs: readonly BufferParam[];
  readonly outputs: readonly BufferParam[];
  readonly scalars: readonly DType[];
  readonly estimate: Estimate;
}

export type Routine =
  | Matmul
  | Products
  | Attention
  | Sort
  | TopK
  | Scan
  | Scatter
  | Compact
  | Fourier
  | Rows
  | RawKernel;
export type RoutineOp = Routine['op'];
