// Movement, indexing and ordering ops of the fuzzer's evaluator, straight from their definitions.

import { accumulatorFor, isFloat, promote } from '../../src/base/dtype.ts';
import { sizeOf } from '../../src/base/shape.ts';
import { meaning, roundTo, type Value } from '../../src/kernel/semantics.ts';
import { floatSum, type Term } from './accumulate.ts';
import { binary, cast } from './elementwise.ts';
import { type Bounded, broadcastIndex, countOf, fill, moved, ravel, undecided, unravel } from './value.ts';

type Coordinates = readonly number[];

/** Elements picked by coordinates. */
function pick(x: Bounded, shape: readonly number[], from: (at: Coordinates) => Coordinates): Bounded {
  return moved(x, shape, (i) => ravel(from(unravel(i, shape)), x.shape));
}

export const reshape = (x: Bounded, shape: readonly number[]): Bounded => ({ ...x, shape });

export function permute(x: Bounded, order: readonly number[]): Bounded {
  return pick(
    x,
    order.map((a) => x.shape[a]!),
    (at) => {
      const from = new Array<number>(order.length);
      order.forEach((a, i) => {
        from[a] = at[i]!;
      });
      return from;
    },
  );
}

export const expand = (x: Bounded, shape: readonly number[]): Bounded =>
  moved(x, shape, broadcastIndex(x.shape, shape));

/** Starts, counts and steps that are already within the shape. */
export function slice(x: Bounded, rows: readonly (readonly [start: number, count: number, step: number])[]): Bounded {
  return pick(
    x,
    rows.map((r) => r[1]),
    (at) => at.map((p, d) => rows[d]![0] + p * rows[d]![2]),
  );
}

export const flip = (x: Bounded, axes: readonly number[]): Bounded =>
  pick(x, x.shape, (at) => at.map((p, d) => (axes.includes(d) ? x.shape[d]! - 1 - p : p)));

export const roll = (x: Bounded, shift: number, axis: number): Bounded =>
  pick(x, x.shape, (at) =>
    at.map((p, d) => (d === axis ? (((p - shift) % x.shape[d]!) + x.shape[d]!) % x.shape[d]! : p)),
  );

export function pad(x: Bounded, widths: readonly (readonly [number, number])[], value: number): Bounded {
  const shape = x.shape.map((d, i) => d + widths[i]![0] + widths[i]![1]);
  const border = x.dtype === 'i64' || x.dtype === 'u64' ? BigInt(value) : roundTo[x.dtype](value);
  return fill(x.dtype, shape, (i) => {
    const at = unravel(i, shape).map((p, d) => p - widths[d]![0]);
    if (at.some((p, d) => p < 0 || p >= x.shape[d]!)) return [border, 0];
    const k = ravel(at, x.shape);
    return [x.values[k]!, x.errors[k]!];
  });
}

export function concat(parts: readonly Bounded[], axis: number): Bounded {
  const dtype = parts.map((p) => p.dtype).reduce(promote);
  const same = parts.map((p) => cast(p, dtype));
  const shape = same[0]!.shape.map((d, i) => (i === axis ? same.reduce((n, p) => n + p.shape[axis]!, 0) : d));
  return fill(dtype, shape, (i) => {
    const at = unravel(i, shape);
    for (const p of same) {
      if (at[axis]! < p.shape[axis]!) {
        const k = ravel(at, p.shape);
        return [p.values[k]!, p.errors[k]!];
      }
      at[axis]! -= p.shape[axis]!;
    }
    throw new Error('concat: position outside all parts');
  });
}

export const stack = (parts: readonly Bounded[], axis: number): Bounded =>
  concat(
    parts.map((p) => reshape(p, [...p.shape.slice(0, axis), 1, ...p.shape.slice(axis)])),
    axis,
  );

export function tile(x: Bounded, reps: readonly number[]): Bounded {
  return pick(
    x,
    x.shape.map((d, i) => d * reps[i]!),
    (at) => at.map((p, d) => p % x.shape[d]!),
  );
}

export function repeat(x: Bounded, times: number, axis: number): Bounded {
  return pick(
    x,
    x.shape.map((d, i) => (i === axis ? d * times : d)),
    (at) => at.map((p, d) => (d === axis ? Math.floor(p / times) : p)),
  );
}

export function triangle(x: Bounded, k: number, lower: boolean): Bounded {
  const zero: Value = x.dtype === 'i64' || x.dtype === 'u64' ? 0n : 0;
  return fill(x.dtype, x.shape, (i) => {
    const at = unravel(i, x.shape);
    const [row, column] = at.slice(-2) as [number, number];
    return (lower ? column <= row + k : column >= row + k) ? [x.values[i]!, x.errors[i]!] : [zero, 0];
  });
}

export function gather(x: Bounded, indices: Bounded, axis: number): Bounded {
  const rank = indices.shape.length;
  const shape = [...x.shape.slice(0, axis), ...indices.shape, ...x.shape.slice(axis + 1)];
  return pick(x, shape, (at) => {
    const index = Number(indices.values[ravel(at.slice(axis, axis + rank), indices.shape)]!);
    return [...at.slice(0, axis), index < 0 ? index + x.shape[axis]! : index, ...at.slice(axis + rank)];
  });
}

export function takeAlongAxis(x: Bounded, indices: Bounded, axis: number): Bounded {
  return pick(x, indices.shape, (at) =>
    at.map((p, d) => (d === axis ? Number(indices.values[ravel(at, indices.shape)]!) : p)),
  );
}

const combine: Readonly<Record<string, string>> = { add: 'add', mul: 'mul', min: 'minimum', max: 'maximum' };

/** Updates of whole slices, in order. */
export function scatter(x: Bounded, indices: Bounded, updates: Bounded, axis: number, mode: string): Bounded {
  const u = cast(updates, x.dtype);
  const values = [...x.values];
  const errors = Float64Array.from(x.errors);
  // Floats are added in any order.
  const terms = mode === 'add' && isFloat(x.dtype) ? values.map((v, k): Term[] => [[v as number, errors[k]!]]) : null;
  for (let j = 0; j < sizeOf(u.shape); j++) {
    const at = unravel(j, u.shape);
    at[axis] = Number(indices.values[at[axis]!]!);
    const k = ravel(at, x.shape);
    if (terms) {
      terms[k]!.push([u.values[j] as number, u.errors[j]!]);
      continue;
    }
    if (mode === 'set') {
      values[k] = u.values[j]!;
      errors[k] = u.errors[j]!;
      continue;
    }
    const one = (v: Value, e: number): Bounded => ({
      dtype: x.dtype,
      shape: [],
      values: [v],
      errors: Float64Array.of(e),
    });
    const r = binary(combine[mode]!, one(values[k]!, errors[k]!), one(u.values[j]!, u.errors[j]!));
    values[k] = r.values[0]!;
    errors[k] = r.errors[0]!;
  }
  terms?.forEach((list, k) => {
    if (list.length > 1) [values[k], errors[k]] = floatSum(list, accumulatorFor(x.dtype), x.dtype);
  });
  return { dtype: x.dtype, shape: x.shape, values, errors };
}

/** The rows along an axis: positions of their elements, in order. */
export function lines(shape: readonly number[], axis: number): number[][] {
  const rest = shape.map((d, i) => (i === axis ? 1 : d));
  return Array.from({ length: countOf(rest) }, (_, i) => {
    const at = unravel(i, rest);
    return Array.from({ length: shape[axis]! }, (_, p) => {
      at[axis] = p;
      return ravel(at, shape);
    });
  });
}

/** Whether v comes before w: NaN last, in both directions. */
function before(v: Value, w: Value, descending: boolean): boolean {
  if (Number.isNaN(v)) return false;
  if (Number.isNaN(w)) return true;
  return descending ? v > w : v < w;
}

/** Sorted values and their positions. Values move at most as far as the largest bound; positions need the order decided. */
export function sorted(x: Bounded, axis: number, descending: boolean): { values: Bounded; positions: Bounded } {
  const values = [...x.values];
  const errors = new Float64Array(x.values.length);
  const positions = new Array<Value>(x.values.length);
  const unsure = new Float64Array(x.values.length);
  for (const line of lines(x.shape, axis)) {
    const order = line.map((_, i) => i);
    order.sort((p, q) => {
      const [v, w] = [x.values[line[p]!]!, x.values[line[q]!]!];
      return before(v, w, descending) ? -1 : before(w, v, descending) ? 1 : p - q;
    });
    const bound = line.reduce((m, at) => Math.max(m, x.errors[at]!), 0);
    order.forEach((from, to) => {
      values[line[to]!] = x.values[line[from]!]!;
      errors[line[to]!] = bound;
      positions[line[to]!] = from;
      unsure[line[to]!] = bound > 0 ? undecided : 0;
    });
  }
  return {
    values: { dtype: x.dtype, shape: x.shape, values, errors },
    positions: { dtype: 'i32', shape: x.shape, values: positions, errors: unsure },
  };
}

export function first(x: Bounded, k: number, axis: number): Bounded {
  return slice(
    x,
    x.shape.map((d, i) => [0, i === axis ? k : d, 1] as const),
  );
}

/** The running maximum or minimum along an axis. */
export function runningExtreme(x: Bounded, axis: number, op: 'max' | 'min'): Bounded {
  const values = [...x.values];
  const errors = Float64Array.from(x.errors);
  const f = meaning(op, x.dtype)!;
  for (const line of lines(x.shape, axis)) {
    for (let i = 1; i < line.length; i++) {
      values[line[i]!] = f(values[line[i - 1]!]!, values[line[i]!]!, 0);
      errors[line[i]!] = Math.max(errors[line[i - 1]!]!, errors[line[i]!]!);
    }
  }
  return { dtype: x.dtype, shape: x.shape, values, errors };
}
