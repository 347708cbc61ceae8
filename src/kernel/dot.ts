// Dot products as a reduction: a few long ones, or those of a matrix with a vector.
//
// Matrix products are cut along their results, and add up each of them in order. With a handful of results that leaves most of a
// device idle, and a long sum in one register forgets what it adds; a reduction is cut along its depth instead.

import { accumulatorFor, isFloat } from '../base/dtype.ts';
import { behind } from './behind.ts';
import { bindingsOf } from './bindings.ts';
import { collapse } from './collapse.ts';
import { estimateKernel } from './estimate.ts';
import { type Expr, Exprs } from './expr.ts';
import type { Kernel, Matmul } from './kernel.ts';

const fewResults = 16;

/** A few long dot products: few results, and at least `depth` products in each. */
const isLong = (r: Matmul, depth: number): boolean => r.k >= depth && r.batch * r.m * r.n <= fewResults;

/**
 * Matrices times vectors, each of which has its own: every element of a matrix is read once, and tiles would be empty but for a line. One
 * matrix that many vectors share is a product of matrices like any other.
 */
const timesVectors = ({ m, n, batch, batchA, batchB }: Matmul): boolean =>
  (n === 1 && batchA === batch) || (m === 1 && batchB === batch);

/** The product as a kernel, if it is a few dot products of at least `depth` or, where those are asked for, of vectors; else null. */
export function asReduction(r: Matmul, depth: number, vectors = false): Kernel | null {
  if (!isFloat(r.type) || !(isLong(r, depth) || (vectors && r.k > 1 && timesVectors(r)))) return null;
  const b = new Exprs();
  const type = accumulatorFor(r.type);
  const [batch, i, j, k] = [b.axis(0, r.batch), b.axis(1, r.m), b.axis(2, r.n), b.axis(3, r.k)];
  const index = (n: number): Expr => b.const('index', n);
  const place = (of: Expr, rows: number, row: Expr, columns: number, column: Expr): Expr =>
    b.alu('add', b.alu('mul', b.alu('add', b.alu('mul', of, index(rows)), row), index(columns)), column);
  const [ofA, ofB] = [r.batchA === 1 ? index(0) : batch, r.batchB === 1 ? index(0) : batch];
  const x = b.load(r.type, 0, r.transposeA ? place(ofA, r.k, k, r.m, i) : place(ofA, r.m, i, r.k, k));
  const y = b.load(r.type, 1, r.transposeB ? place(ofB, r.n, j, r.k, k) : place(ofB, r.k, k, r.n, j));
  const value = b.alu('mul', b.cast(type, x), b.cast(type, y));
  const result = b.cast(r.type, b.acc(type, 0));
  const output = r.epilogue ? behind(b, r.epilogue.output.value, result) : result;
  const nest = collapse({ space: [r.batch, r.m, r.n], reduced: [r.k] }, [value, output]);
  const { inputs, outputs } = bindingsOf(r);
  const body = {
    space: nest.space,
    reduced: nest.reduced,
    accumulators: [{ op: 'sum', type, value: nest.rewrite(value) } as const],
    outputs: [{ type: outputs[0]!.type, value: nest.rewrite(output) }],
    inputs,
    scalars: r.epilogue?.scalars ?? [],
    inPlace: [],
  };
  return { kind: 'kernel', name: r.name, ...body, estimate: estimateKernel(body) };
}
