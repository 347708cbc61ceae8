// Exact maps of coordinates: axes exchanged, mirrored, turned by quarters. Each is the same elements seen with other strides, so
// each can be undone exactly: `permuteAxes` by the inverse order, `reflect` by itself, `rotate90` by the opposite turns.

import type { Tensor } from '../index.ts';
import { kindOf, type TypedArray } from './arrays.ts';
import { invalidArgument } from './errors.ts';

/** A step that both tensors and arrays of the host know. */
type AxisStep =
  | { readonly kind: 'permute'; readonly order: readonly number[] }
  | { readonly kind: 'flip'; readonly axis: number };

export type AxisMap = readonly AxisStep[];

export function permutation(order: unknown, rank: number): AxisMap {
  const list = Array.isArray(order) ? (order as number[]) : [];
  const all = new Set(list);
  if (list.length === rank && all.size === rank && list.every((a) => Number.isInteger(a) && a >= 0 && a < rank))
    return [{ kind: 'permute', order: list }];
  throw invalidArgument({
    where: 'permuteAxes',
    problem: `[${String(order)}] is no order of ${rank} axes`,
    fix: `Give each number from 0 to ${rank - 1} once.`,
  });
}

export function reflection(axis: unknown, rank: number, where = 'reflect'): AxisMap {
  return [{ kind: 'flip', axis: checkAxis(axis, rank, where) }];
}

/** By quarter turns from the first axis towards the second, as NumPy's rot90. */
export function rotation(axes: unknown, turns: unknown, shape: readonly number[]): AxisMap {
  const [a, b] = (Array.isArray(axes) && axes.length === 2 ? axes : [null, null]).map((x) =>
    checkAxis(x, shape.length, 'rotate90'),
  ) as [number, number];
  if (a === b || !Number.isSafeInteger(turns)) {
    throw invalidArgument({
      where: 'rotate90',
      problem: `axes [${String(axes)}], ${String(turns)} turns`,
      fix: 'Give two different axes and a whole number of turns.',
    });
  }
  if (shape[a] !== shape[b]) {
    throw invalidArgument({
      where: 'rotate90',
      problem: `axis ${a} has ${shape[a]} elements, axis ${b} has ${shape[b]}`,
      fix: 'Rotate in a plane whose axes are equally long.',
    });
  }
  const order = shape.map((_, k) => (k === a ? b : k === b ? a : k));
  const swap: AxisStep = { kind: 'permute', order };
  const flip = (axis: number): AxisStep => ({ kind: 'flip', axis });
  const quarters = ((((turns as number) % 4) + 4) % 4) as 0 | 1 | 2 | 3;
  return [[], [swap, flip(a)], [flip(a), flip(b)], [flip(a), swap]][quarters]!;
}

export function mapTensor(x: Tensor, map: AxisMap): Tensor {
  return map.reduce((t, step) => (step.kind === 'permute' ? t.permute(step.order) : t.flip(step.axis)), x);
}

/** The same on an array of the host: one pass over a view of it. */
export function mapHost<T extends TypedArray>(data: T, shape: readonly number[], map: AxisMap): T {
  let strides = shape.map((_, k) => shape.slice(k + 1).reduce((n, d) => n * d, 1));
  let dims = [...shape];
  let base = 0;
  for (const step of map) {
    if (step.kind === 'permute') {
      strides = step.order.map((k) => strides[k]!);
      dims = step.order.map((k) => dims[k]!);
    } else {
      base += (dims[step.axis]! - 1) * strides[step.axis]!;
      strides[step.axis] = -strides[step.axis]!;
    }
  }
  const result = data.slice() as T;
  const x = dims.map(() => 0);
  for (let i = 0, from = base; i < result.length; i++) {
    result[i] = data[from]!;
    for (let k = dims.length - 1; k >= 0; k--) {
      from += strides[k]!;
      if (++x[k]! < dims[k]!) break;
      from -= strides[k]! * dims[k]!;
      x[k] = 0;
    }
  }
  return result;
}

/** Refuses an array that does not have one element per vertex. */
export function checkElements(data: TypedArray, vertices: number, where: string): void {
  if (data.length === vertices) return;
  throw invalidArgument({
    where,
    problem: `the data is ${kindOf(data)}, the lattice has ${vertices} vertices`,
    fix: 'Give one element per vertex, or a tensor with axes of its own.',
  });
}

function checkAxis(axis: unknown, rank: number, where: string): number {
  if (Number.isInteger(axis) && (axis as number) >= 0 && (axis as number) < rank) return axis as number;
  throw invalidArgument({
    where,
    problem: `there is no axis ${String(axis)}`,
    fix: `Use whole numbers from 0 to ${rank - 1}.`,
  });
}
