// Reductions of the tiny-kernel interpreter: `rows` results, each from `length` neighbouring values.
//
// Float sums and products are pairwise and rounded at every step, as a device computes them; the order depends on the
// length only. Positions of extremes are the first, and the first NaN wins.

import { type DType, isFloat, type TypedArray } from '../../../base/dtype.ts';
import type { ReduceOp } from '../../../kernel/ops.ts';
import { meaning, roundTo, type Value } from '../../../kernel/semantics.ts';

export type Fold = (values: TypedArray, step: number, rows: number, length: number, out: TypedArray) => void;

type Combine = (a: Value, b: Value) => Value;

function rounded(op: 'add' | 'mul' | 'max' | 'min', type: DType): Combine {
  const apply = meaning(op, type)!;
  const round = roundTo[type];
  return (a, b) => round(apply(a, b, 0));
}

/** Halves until eight or fewer are left, so that the error grows with the logarithm of the length. */
function pairwise(values: TypedArray, at: number, step: number, n: number, combine: Combine): Value {
  if (n <= 8) {
    let acc: Value = values[at]!;
    for (let i = 1; i < n; i++) acc = combine(acc, values[at + i * step]!);
    return acc;
  }
  const half = n >> 1;
  return combine(
    pairwise(values, at, step, half, combine),
    pairwise(values, at + half * step, step, n - half, combine),
  );
}

// Sums of neighbouring f32 are by far the most common: the same order as `pairwise`, without a call for every element, and with the
// last two halvings written out.

function pairwise32(values: Float32Array, at: number, n: number): number {
  const half = n >> 1;
  if (n > 32) return Math.fround(pairwise32(values, at, half) + pairwise32(values, at + half, n - half));
  if (n > 16) return Math.fround(halves32(values, at, half) + halves32(values, at + half, n - half));
  return halves32(values, at, n);
}

function halves32(values: Float32Array, at: number, n: number): number {
  if (n <= 8) return row32(values, at, n);
  const half = n >> 1;
  return Math.fround(row32(values, at, half) + row32(values, at + half, n - half));
}

function row32(values: Float32Array, at: number, n: number): number {
  let acc = values[at]!;
  const end = at + n;
  for (let i = at + 1; i < end; i++) acc = Math.fround(acc + values[i]!);
  return acc;
}

const sum32: Fold = (values, step, rows, length, out) => {
  if (step !== 1) return anySum32(values, step, rows, length, out);
  for (let r = 0; r < rows; r++) out[r] = pairwise32(values as Float32Array, r * length, length);
};

const combining =
  (op: 'add' | 'mul' | 'max' | 'min') =>
  (type: DType): Fold => {
    const combine = rounded(op, type);
    return (values, step, rows, length, out) => {
      for (let r = 0; r < rows; r++) out[r] = pairwise(values, r * length * step, step, length, combine);
    };
  };

const anySum32 = combining('add')('f32');

const logic = (stopsAt: 0 | 1): Fold => {
  return (values, step, rows, length, out) => {
    for (let r = 0; r < rows; r++) {
      let found: number = 1 - stopsAt;
      for (let i = 0; i < length; i++) if ((values[(r * length + i) * step] ? 1 : 0) === stopsAt) found = stopsAt;
      out[r] = found;
    }
  };
};

const position =
  (better: (a: Value, b: Value) => boolean) =>
  (type: DType): Fold => {
    const float = isFloat(type);
    return (values, step, rows, length, out) => {
      for (let r = 0; r < rows; r++) {
        const at = r * length * step;
        let best = 0;
        for (let i = 0; i < length; i++) {
          const v = values[at + i * step]!;
          if (float && Number.isNaN(v)) {
            best = i;
            break;
          }
          if (better(v, values[at + best * step]!)) best = i;
        }
        out[r] = best;
      }
    };
  };

export const folds: Readonly<Record<ReduceOp, (type: DType) => Fold>> = {
  sum: (type) => (type === 'f32' ? sum32 : combining('add')(type)),
  prod: combining('mul'),
  max: combining('max'),
  min: combining('min'),
  any: () => logic(1),
  all: () => logic(0),
  argmax: position((a, b) => a > b),
  argmin: position((a, b) => a < b),
};
