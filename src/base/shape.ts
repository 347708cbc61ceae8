// Shapes: validation, broadcasting, axes. Pure functions over readonly number arrays.
//
// Loops here go by position: they are part of every op that makes a shape, where a closure for each size takes longer than the rest.

import { ShapeError } from '../errors.ts';

export type Shape = readonly number[];

export const show = (shape: Shape): string =>
  Array.isArray(shape) ? `[${shape.map(String).join(', ')}]` : String(shape);

export function sizeOf(shape: Shape): number {
  let n = 1;
  for (let i = 0; i < shape.length; i++) n *= shape[i]!;
  return n;
}

export function sameShape(a: Shape, b: Shape): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Row-major strides in elements. */
export function stridesOf(shape: Shape): number[] {
  const strides = new Array<number>(shape.length);
  let n = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = n;
    n *= shape[i]!;
  }
  return strides;
}

/** Checks that every size is a whole number ≥ 0 and that the total can be counted exactly. */
export function checkShape(shape: Shape, where: string): void {
  if (!Array.isArray(shape)) {
    throw new ShapeError({
      code: 'BAD_SHAPE',
      message: `${where}: the shape is ${String(shape)}, not an array`,
      fix: 'Give the sizes as an array: [2, 3].',
      where,
    });
  }
  for (let i = 0; i < shape.length; i++) {
    const d = shape[i]!;
    if (Number.isSafeInteger(d) && d >= 0) continue;
    throw new ShapeError({
      code: 'BAD_SIZE',
      message: `${where}: shape ${show(shape)} has the size ${String(d)}`,
      fix: 'Every size must be a whole number, zero or more.',
      where,
    });
  }
  checkCount(shape, where);
}

/** Checks that the total of valid sizes can be counted exactly: what an op makes of its operands may be too large. */
export function checkCount(shape: Shape, where: string): Shape {
  if (isCountable(shape)) return shape;
  throw new ShapeError({
    code: 'TOO_LARGE',
    message: `${where}: shape ${show(shape)} has more elements than can be counted exactly`,
    fix: 'Use smaller sizes, or process the data in parts.',
    where,
  });
}

function isCountable(shape: Shape): boolean {
  let n = 1;
  for (let i = 0; i < shape.length; i++) {
    const d = shape[i]!;
    if (!Number.isSafeInteger(d)) return false;
    n *= d;
  }
  return Number.isSafeInteger(n);
}

/** NumPy broadcasting of two shapes. */
export function broadcast(a: Shape, b: Shape, where: string): Shape {
  if (sameShape(a, b)) return a;
  const rank = Math.max(a.length, b.length);
  const out = new Array<number>(rank);
  for (let i = 0; i < rank; i++) {
    // Never before the beginning: to the engine that is no position but a name, which takes ten times as long to look up.
    const [p, q] = [a.length - rank + i, b.length - rank + i];
    const x = p < 0 ? 1 : a[p]!;
    const y = q < 0 ? 1 : b[q]!;
    if (x !== y && x !== 1 && y !== 1) {
      throw new ShapeError({
        code: 'SHAPE_MISMATCH',
        message: `${where}: shapes ${show(a)} and ${show(b)} do not broadcast: ${x} against ${y} on axis ${i - rank}`,
        fix: 'Sizes must be equal or 1 on every axis, counted from the right; reshape one of the operands.',
        where,
      });
    }
    out[i] = x === 1 ? y : x;
  }
  return checkCount(out, where);
}

/** Turns an axis, possibly negative, into 0 … rank-1. */
export function normalizeAxis(axis: number, rank: number, where: string): number {
  if (!Number.isInteger(axis) || axis < -rank || axis >= rank) {
    throw new ShapeError({
      code: 'BAD_AXIS',
      message: `${where}: axis ${String(axis)} does not exist in a tensor of rank ${rank}`,
      fix: rank === 0 ? 'A scalar has no axes.' : `Use a whole number from ${-rank} to ${rank - 1}.`,
      where,
    });
  }
  return axis < 0 ? axis + rank : axis;
}

/** Normalised, sorted, distinct axes; `undefined` means all of them. */
export function normalizeAxes(axes: number | readonly number[] | undefined, rank: number, where: string): number[] {
  if (axes === undefined) return Array.from({ length: rank }, (_, i) => i);
  if (typeof axes === 'number') return [normalizeAxis(axes, rank, where)];
  return axesInOrder(axes, rank, where).sort((a, b) => a - b);
}

/** Normalised, distinct axes in the order given: for lists that go with another one, entry by entry. */
export function axesInOrder(axes: readonly number[], rank: number, where: string): number[] {
  const list = axes.map((a) => normalizeAxis(a, rank, where));
  const again = list.find((a, i) => list.indexOf(a) !== i);
  if (again === undefined) return list;
  throw new ShapeError({
    code: 'BAD_AXIS',
    message: `${where}: axis ${again} is named twice`,
    fix: 'Name each axis once; -1 and rank-1 are the same axis.',
    where,
  });
}
