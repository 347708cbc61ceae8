// Other forms of the same ops: axes counted from the end, indices of every integer type that count from the end too, scans that run
// backwards or leave their own element out, rolls over several axes, choices beside a number, values made by a rule, many axes.

import { accumulatorFor, type DType, dtypes, isFloat, sumTypeFor } from '../../src/base/dtype.ts';
import { sizeOf } from '../../src/base/shape.ts';
import * as acc from './accumulate.ts';
import { cast, where as chosen, scalarBeside } from './elementwise.ts';
import { type Dice, type Move, named, one, pickOf, type Row } from './move.ts';
import * as move from './rearrange.ts';
import { type Bounded, epsilon, fill, largest, rounded, unravel, zeroOf } from './value.ts';

const first = (shape: readonly number[], axis: number, count: number): (readonly [number, number, number])[] =>
  shape.map((d, i) => [0, i === axis ? count : d, 1] as const);

/** Dtypes that running totals are asked for; bool stands for whether any was true so far, or all. */
const totalTypes = ['bool', 'i32', 'i64', 'u64', 'f16', 'f32', 'f64'] as const satisfies readonly DType[];

function totalIn(op: 'sum' | 'prod', x: Bounded, axis: number, dtype: DType): Bounded {
  if (dtype !== 'bool') return acc.runningTotal(op, cast(x, accumulatorFor(dtype)), axis, dtype);
  return cast(move.runningExtreme(cast(cast(x, 'bool'), 'u8'), axis, op === 'sum' ? 'max' : 'min'), 'bool');
}

/** Running totals and extremes with options: from the end, each without itself, in a dtype of one's own. */
export const scanFormRow: Row = (x, dice) => {
  if (x.shape.length === 0) return null;
  const axis = dice(x.shape.length);
  const reverse = dice(2) === 1;
  const exclusive = dice(2) === 1;
  const name = pickOf(['cumsum', 'cumprod', 'cummax', 'cummin'] as const, dice);
  const turned = (t: Bounded): Bounded => (reverse ? move.flip(t, [axis]) : t);
  const at = named(axis, x.shape.length, dice);
  if (name === 'cummax' || name === 'cummin') {
    const running = move.runningExtreme(turned(x), axis, name === 'cummax' ? 'max' : 'min');
    return one(name, turned(running), [at, { reverse }]);
  }
  const op = name === 'cumsum' ? 'sum' : 'prod';
  const dtype = dice(2) === 0 ? pickOf(totalTypes, dice) : null;
  const running = dtype ? totalIn(op, turned(x), axis, dtype) : acc.runningTotal(op, turned(x), axis);
  const shifted = exclusive ? pushed(running, axis, op === 'sum' ? 0 : 1) : running;
  return one(name, turned(shifted), [at, { reverse, exclusive, ...(dtype ? { dtype } : {}) }]);
};

/** Each element at the next place, a value at the first. */
function pushed(x: Bounded, axis: number, value: number): Bounded {
  const length = x.shape[axis]!;
  if (length === 0) return x;
  const begin = fill(
    x.dtype,
    x.shape.map((d, i) => (i === axis ? 1 : d)),
    () => [typeof zeroOf(x.dtype) === 'bigint' ? BigInt(value) : value, 0],
  );
  return move.concat([begin, move.slice(x, first(x.shape, axis, length - 1))], axis);
}

/** Reductions in forms that name no axis, or one from the end; positions in the whole tensor. */
export const reduceFormRow: Row = (x, dice) => {
  const name = pickOf(['sum', 'max', 'argmax', 'argmin', 'any'] as const, dice);
  const rank = x.shape.length;
  const keepdims = dice(2) === 1;
  const flat = rank === 0 || dice(3) === 0;
  const axis = flat ? 0 : dice(rank);
  const axes = flat ? x.shape.map((_, i) => i) : [axis];
  if (sizeOf(axes.map((a) => x.shape[a]!)) === 0 && name !== 'sum' && name !== 'any') return null;
  const options = {
    ...(flat ? {} : { axis: named(axis, rank, dice) }),
    ...(keepdims ? { keepdims } : {}),
  };
  const reduced = (): Bounded => {
    if (name === 'sum') return acc.total('sum', x, axes);
    if (name === 'max') return acc.extreme('max', x, axes);
    if (name === 'any') return acc.truth('any', x, axes);
    return flat ? acc.position(name, acc.flatten(x), 0) : acc.position(name, x, axis);
  };
  const kept = x.shape.map((d, i) => (axes.includes(i) ? 1 : d));
  return one(name, keepdims ? move.reshape(reduced(), kept) : reduced(), [options]);
};

const indexTypes = ['i32', 'i64', 'u8', 'u32', 'u64'] as const satisfies readonly DType[];

/** Indices as they are given, of some integer type and partly counted from the end, and what they stand for. */
function indices(at: Bounded, length: number, dice: Dice): { readonly given: Bounded; readonly at: Bounded } {
  const type = pickOf(length <= 256 ? indexTypes : indexTypes.filter((t) => t !== 'u8'), dice);
  const signed = type === 'i32' || type === 'i64';
  const turn = dice(3);
  const given = fill(type, at.shape, (i) => {
    const v = Number(at.values[i]!) - (signed && (i + turn) % 3 === 0 ? length : 0);
    return [type === 'i64' || type === 'u64' ? BigInt(v) : v, 0];
  });
  return { given, at };
}

export const indexFormRow: Row = (x, dice, scene) => {
  if (x.shape.length === 0) return null;
  const rank = x.shape.length;
  const axis = dice(rank);
  const length = x.shape[axis]!;
  const some = (count: number): number => (length === 0 ? 0 : count);
  const to = named(axis, rank, dice);
  const which = dice(4);
  if (which === 0) {
    const shape = x.shape.map((d, i) => (i === axis ? some(1 + dice(4)) : d));
    const { given, at } = indices(scene.indices(shape, length), length, dice);
    return one('takeAlongAxis', move.takeAlongAxis(x, at, axis), [to], [given]);
  }
  if (which === 1) {
    // Element by element: indices of the shape of the updates.
    const shape = x.shape.map((d, i) => (i === axis ? some(1 + dice(3)) : d));
    const { given, at } = indices(scene.indices(shape, length), length, dice);
    const mode = x.dtype === 'bool' ? 'set' : pickOf(['set', 'add', 'max'], dice);
    const updates = scene.fresh(x.dtype, shape, 'whole');
    if (rank === 1) return null;
    return one('scatter', scattered(x, at, updates, axis, mode), [{ axis: to, mode }], [given, updates]);
  }
  const shape = dice(2) ? [] : [some(1 + dice(5)), 1 + dice(2)];
  if (length === 0 && sizeOf(shape) > 0) return null;
  const { given, at } = indices(scene.indices(shape, length), length, dice);
  return one('gather', move.gather(x, at, axis), [to], [given]);
};

/** As `move.scatter`, with an index for every update. */
function scattered(x: Bounded, at: Bounded, updates: Bounded, axis: number, mode: string): Bounded {
  let result = x;
  for (let j = 0; j < at.values.length; j++) {
    const position = unravel(j, at.shape);
    // One update at a time: the slice that has this position alone.
    const place = position.with(axis, Number(at.values[j]!));
    const part = move.slice(
      result,
      place.map((p) => [p, 1, 1] as const),
    );
    const update = move.slice(
      updates,
      position.map((p) => [p, 1, 1] as const),
    );
    const zero = fill('i32', [1], () => [0, 0]);
    const made = move.scatter(part, zero, update, axis, mode);
    const index = place.reduce((n, p, d) => n * x.shape[d]! + p, 0);
    result = fill(x.dtype, x.shape, (i) =>
      i === index ? [made.values[0]!, made.errors[0]!] : [result.values[i]!, result.errors[i]!],
    );
  }
  return result;
}

/** Over several axes at once, or as one row; far around, too. */
export const rollFormRow: Row = (x, dice) => {
  const rank = x.shape.length;
  if (rank === 0) return null;
  const shift = (): number => dice(23) - 11;
  if (dice(3) === 0) {
    const by = shift();
    const flat = acc.flatten(x);
    return one('roll', move.reshape(x.values.length === 0 ? flat : move.roll(flat, by, 0), x.shape), [by]);
  }
  const axes = x.shape.map((_, i) => i).filter(() => dice(2) === 0);
  if (axes.length === 0) return null;
  const shifts = axes.map(shift);
  const rolled = axes.reduce((y, axis, i) => move.roll(y, shifts[i]!, axis), x);
  return one('roll', rolled, [shifts, axes.map((a) => named(a, rank, dice))]);
};

/** A condition that is no bool, beside a number. */
export const choiceRow: Row = (x, dice, { values }) => {
  const value = x.dtype === 'bool' || isFloat(x.dtype) ? [0.5, 2, 0][dice(3)]! : [2, 0, 1][dice(3)]!;
  if (x.dtype === 'bool') return null;
  const fitting = values.flatMap((c, i) => (`${c.shape}` === `${x.shape}` ? [i] : []));
  const at = fitting[dice(fitting.length)]!;
  const other = scalarBeside(x, value);
  const swapped = dice(2) === 1;
  const own = values.lastIndexOf(x);
  const result = swapped ? chosen(values[at]!, other, x) : chosen(values[at]!, x, other);
  return {
    op: swapped ? 'whereScalarFirst' : 'whereScalar',
    others: [at, own],
    args: [value],
    results: [result],
    alone: true,
  };
};

/** Values that a rule makes, and constants: nothing of them is uploaded. */
export const madeRow: Row = (x, dice): Move | null => {
  const dtype = pickOf(dtypes, dice);
  const shape = dice(2) ? x.shape : [1 + dice(4), dice(5)];
  if (shape.length === 0 || dtype === 'bool') return null;
  const value = (v: number): number | bigint => (typeof zeroOf(dtype) === 'bigint' ? BigInt(v) : v);
  const which = dice(5);
  if (which >= 3) return { ...(which === 3 ? counted(dtype, dice) : spaced(dtype, dice)), alone: true };
  const axis = dice(shape.length);
  // Halves and bytes hold the positions of short axes exactly.
  if (which === 0 && shape[axis]! <= 256) {
    const result = fill(dtype, shape, (i) => [value(unravel(i, shape)[axis]!), 0]);
    return { ...one('iota', result, [shape, named(axis, shape.length, dice), { dtype }]), alone: true };
  }
  if (which === 1) {
    const k = dice(5) - 2;
    const [rows, columns] = [dice(6), dice(6)];
    const result = fill(dtype, [rows, columns], (i) => [
      value((i % columns) - Math.floor(i / columns) === k ? 1 : 0),
      0,
    ]);
    return { ...one('eye', result, [rows, columns, k, { dtype }]), alone: true };
  }
  const v = dice(4);
  return {
    ...one(
      'full',
      fill(dtype, shape, () => [value(v), 0]),
      [shape, v, { dtype }],
    ),
    alone: true,
  };
};

/** A range: integers begin with the whole parts of its first two values, and are refused where those do not fit. */
function counted(dtype: DType, dice: Dice): Move {
  const step = [1, 0.5, -1, 2, -1.5][dice(5)]!;
  const isUnsigned = !isFloat(dtype) && dtype.startsWith('u');
  const start = (isUnsigned ? 2 : -2) + dice(7) / 2;
  const count = dice(isUnsigned ? 3 : 9);
  const first = (i: number): number => (isFloat(dtype) ? start + i * step : Math.trunc(start + i * step));
  const at = (i: number): number => first(0) + i * (first(1) - first(0));
  const value = (v: number): number | bigint => (typeof zeroOf(dtype) === 'bigint' ? BigInt(v) : v);
  const result = fill(dtype, [count], (i) => [value(at(i)), 0]);
  return one('arange', result, [start, start + count * step, step, { dtype }]);
}

/** Values from one number to another, which may be as far apart as the dtype reaches. */
function spaced(dtype: DType, dice: Dice): Move {
  const type = isFloat(dtype) ? dtype : 'f32';
  const far = 0.9 * largest[type]!;
  const [from, to] = [dice(5), dice(5)].map((k) => [-far, -1, 0, 3.5, far][k]!) as [number, number];
  const count = dice(5);
  const apart = (i: number): number => (count < 2 ? from : from * (1 - i / (count - 1)) + to * (i / (count - 1)));
  const wide = accumulatorFor(type);
  const bound = 4 * epsilon(wide) * Math.max(Math.abs(from), Math.abs(to));
  const result = fill(type, [count], (i) => rounded(type, apart(i), bound, 2));
  return one('linspace', result, [from, to, count, { dtype: type }]);
}

/** Up to eight axes, most of them short. */
export const manyAxesRow: Row = (x) => {
  const split = x.shape.flatMap((d) => (d > 3 && d % 2 === 0 ? [2, d / 2] : d > 4 && d % 3 === 0 ? [3, d / 3] : [d]));
  const shape = split.length < 8 ? [...split.slice(0, 1), 1, ...split.slice(1)] : split;
  return shape.length > 8 || shape.length === x.shape.length ? null : one('reshape', move.reshape(x, shape), [shape]);
};

/** Several parts of different dtypes behind each other, an empty one among them. */
export const joinFormRow: Row = (x, dice, { values, fresh }) => {
  if (x.shape.length === 0) return null;
  const axis = dice(x.shape.length);
  const fitting = values.flatMap((y, i) =>
    y.shape.length === x.shape.length && y.shape.every((d, k) => k === axis || d === x.shape[k]) ? [i] : [],
  );
  const picked = Array.from({ length: 1 + dice(3) }, () => fitting[dice(fitting.length)]!);
  const empty = fresh(
    x.dtype,
    x.shape.map((d, i) => (i === axis ? 0 : d)),
  );
  const parts = [x, ...picked.map((i) => values[i]!), empty];
  return one('concat', move.concat(parts, axis), [named(axis, x.shape.length, dice)], [...picked, empty]);
};

/** A sum or product in another type than its own. */
export const typedSumRow: Row = (x, dice) => {
  if (x.shape.length === 0) return null;
  const dtype = pickOf(totalTypes, dice);
  if (dtype === sumTypeFor(x.dtype, x.values.length)) return null;
  const axis = dice(x.shape.length);
  const name = pickOf(['sum', 'prod'] as const, dice);
  const result =
    dtype === 'bool' ? acc.truth(name === 'sum' ? 'any' : 'all', x, [axis]) : acc.totalAs(name, dtype, x, [axis]);
  return one(name, result, [{ axis: named(axis, x.shape.length, dice), dtype }]);
};
