// The steps of a random graph that stand for several ops: norms, segments, parts at given positions, attention.

import { accumulatorFor, floatFor, isFloat } from '../../src/base/dtype.ts';
import * as acc from './accumulate.ts';
import { binary, cast, scalarBeside, unary } from './elementwise.ts';
import { type Dice, one, pickOf, type Row } from './move.ts';
import * as move from './rearrange.ts';
import { type Bounded, epsilon, fill, largest, ravel, rounded, undecided, unravel } from './value.ts';

const kept = (x: Bounded, axis: number): number[] => x.shape.map((d, i) => (i === axis ? 1 : d));
const axisOf = (x: Bounded, dice: Dice): number => dice(x.shape.length);

export const layerNormRow: Row = (x, dice) => {
  if (x.shape.length === 0 || x.values.length === 0) return null;
  const axis = axisOf(x, dice);
  const eps = pickOf([1e-5, 0.5], dice);
  const type = floatFor(x.dtype);
  const wide = cast(x, accumulatorFor(type));
  const mean = move.reshape(acc.statistic('mean', wide, [axis]), kept(x, axis));
  const variance = move.reshape(acc.statistic('variance', wide, [axis]), kept(x, axis));
  const scale = unary('sqrt', binary('add', variance, scalarBeside(variance, eps)));
  const result = cast(binary('div', binary('sub', wide, mean), scale), type);
  // Two roundings more than a division: the scale is its own value.
  return one('layerNorm', loosened(result, 4), [axis, eps]);
};

export const cosineRow: Row = (x, dice, { fresh }) => {
  if (x.shape.length === 0 || x.values.length === 0 || x.dtype === 'bool') return null;
  const axis = axisOf(x, dice);
  const y = fresh(x.dtype, x.shape);
  const type = floatFor(x.dtype);
  const [a, b] = [cast(x, accumulatorFor(type)), cast(y, accumulatorFor(type))];
  const product = acc.total('sum', binary('mul', a, b), [axis]);
  const length = (v: Bounded): Bounded => {
    const n = acc.statistic('norm', v, [axis]);
    return binary('maximum', n, scalarBeside(n, 1e-8));
  };
  const result = cast(binary('div', product, binary('mul', length(a), length(b))), type);
  return one('cosineSimilarity', loosened(result, 4), [axis], [y]);
};

/** With `ulps` more of the result's rounding error, where it is not exact. */
const loosened = (x: Bounded, ulps: number): Bounded =>
  fill(x.dtype, x.shape, (i) => {
    const [v, e] = [x.values[i] as number, x.errors[i]!];
    return [v, e === 0 && v === 0 ? 0 : e + ulps * Math.abs(v) * (x.dtype === 'f64' ? 2 ** -52 : 2 ** -23)];
  });

const empties: Readonly<Record<string, number>> = {
  segmentSum: 0,
  segmentMean: 0,
  segmentMax: Number.NEGATIVE_INFINITY,
  segmentMin: Number.POSITIVE_INFINITY,
};

export const segmentRow: Row = (x, dice, { indices }) => {
  if (x.shape.length === 0 || !isFloat(x.dtype)) return null;
  const op = pickOf(Object.keys(empties), dice);
  const segments = 1 + dice(6);
  const ids = indices([x.shape[0]!], segments);
  const sums = op === 'segmentSum' || op === 'segmentMean';
  const type = sums ? accumulatorFor(x.dtype) : x.dtype;
  const base = fill(type, [segments, ...x.shape.slice(1)], () => [empties[op]!, 0]);
  const combined = move.scatter(base, ids, x, 0, sums ? 'add' : op === 'segmentMax' ? 'max' : 'min');
  if (op === 'segmentMean') {
    const counts = move.scatter(
      fill(type, [segments], () => [0, 0]),
      ids,
      fill(type, ids.shape, () => [1, 0]),
      0,
      'add',
    );
    const beside = move.reshape(counts, [segments, ...x.shape.slice(1).map(() => 1)]);
    return one(op, cast(binary('div', combined, beside), x.dtype), [segments], [ids]);
  }
  return one(op, cast(combined, x.dtype), [segments], [ids]);
};

/** A part at positions that are given as a tensor: negative ones count from the end; what would leave the axis is moved back into it. */
export const sliceAtRow: Row = (x, dice, { fresh }) => {
  if (x.shape.length === 0) return null;
  const sizes = x.shape.map((d) => dice(d + 1));
  const given = fresh('i32', [x.shape.length]);
  const starts = sizes.map((s, i) => {
    const [d, at] = [x.shape[i]!, given.values[i] as number];
    return Math.max(0, Math.min(d - s, at < 0 ? at + d : at));
  });
  const part = move.slice(
    x,
    sizes.map((s, i) => [s === 0 ? 0 : starts[i]!, s, 1] as const),
  );
  return one('sliceAt', part, [sizes], [given]);
};

export const splitRow: Row = (x, dice) => {
  if (x.shape.length === 0) return null;
  const axis = axisOf(x, dice);
  const d = x.shape[axis]!;
  const parts = pickOf(
    [1, 2, 3, 4].filter((n) => d % n === 0),
    dice,
  );
  const size = d / parts;
  const results = Array.from({ length: parts }, (_, k) =>
    move.slice(
      x,
      x.shape.map((n, i) => (i === axis ? ([size === 0 ? 0 : k * size, size, 1] as const) : ([0, n, 1] as const))),
    ),
  );
  return { op: 'split', others: [], args: [parts, axis], results };
};

/** Frequencies of real values, by the definition: a device may sum in any order and split the length as it likes. */
export const fourierRow: Row = (x, dice) => {
  if (x.shape.length === 0 || x.values.length === 0 || x.dtype === 'bool') return null;
  const axis = axisOf(x, dice);
  const n = x.shape[axis]!;
  if (n > 300) return null;
  const type = floatFor(x.dtype);
  const [y, wide] = [cast(x, type), accumulatorFor(type)];
  const shape = x.shape.map((d, i) => (i === axis ? Math.floor(n / 2) + 1 : d));
  const part = (turn: (angle: number) => number): Bounded =>
    fill(type, shape, (i) => {
      const at = unravel(i, shape);
      const terms = Array.from({ length: n }, (_, k) => ravel(at.with(axis, k), x.shape));
      const off = terms.reduce((s, p) => s + y.errors[p]!, 0);
      const size = terms.reduce((s, p) => s + Math.abs(y.values[p] as number), 0);
      const sum = terms.reduce(
        (s, p, k) => s + (y.values[p] as number) * turn((-2 * Math.PI * ((k * at[axis]!) % n)) / n),
        0,
      );
      if (!Number.isFinite(size) || size > 0.1 * largest[wide]!) return [0, undecided];
      return rounded(type, sum, off + 4 * (Math.log2(n) + 8) * epsilon(wide) * size, 2);
    });
  return { op: 'rfft', others: [], args: [{ axis }], results: [part(Math.cos), part(Math.sin)] };
};

/** `softmax(x·kᵀ·scale)·v`, as users write it: devices may make one kernel of it. */
export const attentionRow: Row = (x, dice, { fresh }) => {
  if (x.shape.length < 2 || x.shape.length > 4 || !isFloat(x.dtype) || x.values.length === 0) return null;
  const width = x.shape[x.shape.length - 1]!;
  const keys = 1 + dice(20);
  const lead = x.shape.slice(0, -2);
  const k = fresh(x.dtype, [...lead, keys, width]);
  const v = fresh(x.dtype, [...lead, keys, pickOf([width, 8, 16, 3], dice)]);
  const scale = pickOf([0.125, 1, 0.5], dice);
  const order = [...lead.map((_, i) => i), lead.length + 1, lead.length];
  const scores = binary('mul', acc.matmul(x, move.permute(k, order)), scalarBeside(x, scale));
  const weights = acc.softmax(scores, scores.shape.length - 1, false);
  return one('attention', loosened(acc.matmul(weights, v), 4), [scale], [k, v]);
};
