// The steps a random graph can take: each row looks at a value and some dice, and gives an op with its arguments and
// what the evaluator says of it, or null where the op does not fit.

import { type DType, dtypeInfo, dtypes, intRange, isFloat, promote } from '../../src/base/dtype.ts';
import { sizeOf } from '../../src/base/shape.ts';
import * as acc from './accumulate.ts';
import { attentionRow, cosineRow, fourierRow, layerNormRow, segmentRow, sliceAtRow, splitRow } from './compound.ts';
import { convKernelRow, convRow, convTransposeRow, windowsRow } from './convolve.ts';
import {
  binary,
  binaryAllows,
  binaryRows,
  bitcast,
  bitcastsOf,
  cast,
  compare,
  comparisonNames,
  floatUnary,
  logicNames,
  scalarBeside,
  searched,
  unary,
  where,
} from './elementwise.ts';
import {
  choiceRow,
  indexFormRow,
  joinFormRow,
  madeRow,
  manyAxesRow,
  reduceFormRow,
  rollFormRow,
  scanFormRow,
  typedSumRow,
} from './forms.ts';
import { type Move, one, pickOf, type Row } from './move.ts';
import { einsumRow, matmulRow, outerRow, poolRow } from './products.ts';
import * as move from './rearrange.ts';
import type { Bounded } from './value.ts';

const intNames = ['neg', 'abs', 'square', 'sign', 'relu', 'floor', 'bitwiseNot'];
const floatNames = [...Object.keys(floatUnary), 'square', 'logicalNot', 'isnan', 'isinf', 'isfinite'];

const unaryRow: Row = (x, dice) => {
  const names = isFloat(x.dtype)
    ? floatNames
    : x.dtype === 'bool'
      ? ['logicalNot', 'bitwiseNot', 'exp', 'cos']
      : [...intNames, 'sqrt', 'tanh', 'sin', 'log1p', 'logicalNot'];
  const name = pickOf(names, dice);
  return one(name, unary(name, x));
};

const binaryNames = [...Object.keys(binaryRows), ...comparisonNames, ...logicNames];

const binaryRow: Row = (x, dice, { values }) => {
  const fitting = values.flatMap((y, i) => (broadcasts(x.shape, y.shape) ? [i] : []));
  const at = fitting[fitting.length - 1 - dice(fitting.length)]!;
  const y = values[at]!;
  const name = pickOf(
    binaryNames.filter((n) => binaryAllows(n, promote(x.dtype, y.dtype))),
    dice,
  );
  return { ...one(name, binary(name, x, y), [], [at]), common: promote(x.dtype, y.dtype) };
};

const scalars = [
  2,
  1,
  3,
  0.5,
  0,
  10,
  -1,
  -0.25,
  0.1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  -0,
  1e30,
  -70_000,
  2 ** 31,
];

const scalarRow: Row = (x, dice) => {
  const value = pickOf(scalars, dice);
  const outside = Number.isInteger(value) && !isFloat(x.dtype) && !holds(x.dtype, value);
  // Integers and bools compare with any number, as what it is; beyond that, what does not fit an integer type is refused.
  if (!isFloat(x.dtype) && (outside || dice(3) === 0)) {
    const name = pickOf(comparisonNames, dice);
    return one(name, compare(name, x, { dtype: x.dtype, shape: [], values: [value], errors: new Float64Array(1) }), [
      value,
    ]);
  }
  if (outside) return null;
  const y = scalarBeside(x, value);
  const common = promote(x.dtype, y.dtype);
  const name = pickOf(
    binaryNames.filter((n) => binaryAllows(n, common)),
    dice,
  );
  // A power of one half is the square root.
  const result = name === 'pow' && value === 0.5 ? unary('sqrt', cast(x, common)) : binary(name, x, y);
  return { ...one(name, result, [value]), common };
};

const clipRow: Row = (x, dice) => {
  if (x.dtype === 'bool') return null;
  // Limits beyond the range of an integer type are none.
  if (dtypeInfo[x.dtype].class === 'int' && dice(4) === 0) return one('clip', x, [-(2 ** 70), 2 ** 70]);
  const lo = dice(3);
  const hi = lo + dice(4);
  return one('clip', binary('minimum', binary('maximum', x, scalarBeside(x, lo)), scalarBeside(x, hi)), [lo, hi]);
};

const diagonalRow: Row = (x, dice) => {
  const rank = x.shape.length;
  if (rank < 2) return null;
  const offset = dice(5) - 2;
  const [rows, columns] = [x.shape[rank - 2]!, x.shape[rank - 1]!];
  const length = Math.max(0, Math.min(rows + Math.min(offset, 0), columns - Math.max(offset, 0)));
  const first = offset >= 0 ? offset : -offset * columns;
  const flat = move.reshape(x, [...x.shape.slice(0, -2), rows * columns]);
  const whole = flat.shape.slice(0, -1).map((d) => [0, d, 1] as const);
  const diagonal = move.slice(flat, [...whole, [length === 0 ? 0 : first, length, columns + 1]]);
  return dice(2) ? one('diagonal', diagonal, [offset]) : one('trace', acc.total('sum', diagonal, [rank - 2]), [offset]);
};

function holds(dtype: DType, value: number): boolean {
  const [lo, hi] = dtype === 'bool' ? intRange.i64 : intRange[dtype as keyof typeof intRange];
  return BigInt(value) >= lo && BigInt(value) <= hi;
}

const whereRow: Row = (x, dice, { values }) => {
  const conditions = values.flatMap((c, i) => (c.dtype === 'bool' && broadcasts(x.shape, c.shape) ? [i] : []));
  if (conditions.length === 0) return null;
  const c = conditions[dice(conditions.length)]!;
  const others = values.flatMap((y, i) =>
    broadcasts(x.shape, y.shape) && broadcasts(y.shape, values[c]!.shape) && fits3(x, y, values[c]!) ? [i] : [],
  );
  const y = others[others.length - 1 - dice(others.length)]!;
  const at = values.lastIndexOf(x);
  return { op: 'where', others: [c, at, y], args: [], results: [where(values[c]!, x, values[y]!)], alone: true };
};

const fits3 = (x: Bounded, y: Bounded, c: Bounded): boolean => {
  const rank = Math.max(x.shape.length, y.shape.length, c.shape.length);
  return Array.from(
    { length: rank },
    (_, i) => new Set([x, y, c].map((t) => t.shape[t.shape.length - 1 - i] ?? 1).filter((d) => d !== 1)),
  ).every((s) => s.size <= 1);
};

function broadcasts(a: readonly number[], b: readonly number[]): boolean {
  for (let i = 1; i <= Math.min(a.length, b.length); i++) {
    const [x, y] = [a[a.length - i]!, b[b.length - i]!];
    if (x !== y && x !== 1 && y !== 1) return false;
  }
  return true;
}

const castRow: Row = (x, dice) => {
  const to = pickOf(dtypes, dice);
  return to === x.dtype ? null : one('cast', cast(x, to), [to]);
};

const reshapeRow: Row = (x, dice) => {
  const n = sizeOf(x.shape);
  const at = x.shape.length > 0 ? dice(x.shape.length) : 0;
  const d = x.shape[at] ?? 1;
  const forms: number[][] = [[n], [n, 1], [1, n, 1]];
  if (x.shape.length > 1 && at + 1 < x.shape.length)
    forms.push([...x.shape.slice(0, at), d * x.shape[at + 1]!, ...x.shape.slice(at + 2)]);
  for (const k of [2, 3, 4])
    if (d > 0 && d % k === 0) forms.push([...x.shape.slice(0, at), d / k, k, ...x.shape.slice(at + 1)]);
  const shape = pickOf(forms, dice);
  return shape.length > 6 ? null : one('reshape', move.reshape(x, shape), [shape]);
};

const permuteRow: Row = (x, dice) => {
  const order = x.shape.map((_, i) => i);
  for (let i = order.length - 1; i > 0; i--) {
    const j = dice(i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return one('permute', move.permute(x, order), [order]);
};

const expandRow: Row = (x, dice) => {
  const grown = x.shape.map((d) => (d === 1 ? 1 + dice(4) : d));
  const shape = dice(2) ? [1 + dice(3), ...grown] : grown;
  return shape.length > 6 ? null : one('expand', move.expand(x, shape), [shape]);
};

const sliceRow: Row = (x, dice) => {
  if (x.shape.length === 0) return null;
  const rows = x.shape.map((d) => {
    const start = d > 0 ? dice(d) : 0;
    const step = 1 + dice(2);
    const back = dice(4) === 3;
    const room = back ? start + 1 : d - start;
    const count = Math.max(0, Math.min(Math.ceil(room / step), dice(d + 1) + (d > 3 ? 1 : 0)));
    return [start, count, back ? -step : step] as const;
  });
  const spec = rows.map(([s, c, k]) =>
    c === 0 ? [0, 0] : k > 0 ? [s, s + (c - 1) * k + 1, k] : [s, s + c * k < 0 ? null : s + c * k, k],
  );
  const inside = rows.map(([s, c, k]) => (c === 0 ? ([0, 0, 1] as const) : ([s, c, k] as const)));
  return one('slice', move.slice(x, inside), [spec]);
};

const flipRow: Row = (x, dice) => {
  const axes = x.shape.map((_, i) => i).filter(() => dice(2) === 0);
  return axes.length === 0 ? null : one('flip', move.flip(x, axes), [axes]);
};

const rollRow: Row = (x, dice) => {
  if (x.shape.length === 0) return null;
  const axis = dice(x.shape.length);
  const shift = dice(7) - 3;
  return one('roll', move.roll(x, shift, axis), [shift, axis]);
};

const padRow: Row = (x, dice) => {
  if (x.shape.length === 0) return null;
  const widths = x.shape.map(() => [dice(3), dice(2)] as const);
  const value = dice(2);
  return one('pad', move.pad(x, widths, value), [widths, value]);
};

const joinRow: Row = (x, dice, { values }) => {
  if (dice(2) === 0) {
    const same = values.flatMap((y, i) => (`${y.shape}` === `${x.shape}` && y.dtype === x.dtype ? [i] : []));
    const at = same[dice(same.length)]!;
    const axis = dice(x.shape.length + 1);
    return one('stack', move.stack([x, values[at]!], axis), [axis], [at]);
  }
  if (x.shape.length === 0) return null;
  const axis = dice(x.shape.length);
  const fitting = values.flatMap((y, i) =>
    y.shape.length === x.shape.length && y.shape.every((d, k) => k === axis || d === x.shape[k]) ? [i] : [],
  );
  const at = fitting[dice(fitting.length)]!;
  return one('concat', move.concat([x, values[at]!], axis), [axis], [at]);
};

const tileRow: Row = (x, dice) => {
  if (x.shape.length === 0) return null;
  if (dice(2)) {
    const axis = dice(x.shape.length);
    const times = 1 + dice(3);
    return one('repeat', move.repeat(x, times, axis), [times, axis]);
  }
  const reps = x.shape.map(() => 1 + dice(2));
  return one('tile', move.tile(x, reps), [reps]);
};

const triangleRow: Row = (x, dice) => {
  if (x.shape.length < 2) return null;
  const lower = dice(2) === 0;
  const k = dice(5) - 2;
  return one(lower ? 'tril' : 'triu', move.triangle(x, k, lower), [k]);
};

const totals = [
  'sum',
  'prod',
  'max',
  'min',
  'mean',
  'variance',
  'std',
  'norm',
  'logsumexp',
  'any',
  'all',
  'countNonzero',
];

const reduceRow: Row = (x, dice) => {
  const name = pickOf(totals, dice);
  const every = x.shape.map((_, i) => i);
  const chosen = every.filter(() => dice(2) === 0);
  const axes = chosen.length === 0 ? every : chosen;
  // Nothing has no largest element, and the mean of nothing is no number.
  if (sizeOf(axes.map((a) => x.shape[a]!)) === 0 && !['any', 'all', 'sum', 'prod', 'countNonzero'].includes(name))
    return null;
  const keepdims = dice(2) === 1;
  const y = reduced(name, x, axes);
  const shape = x.shape.map((d, i) => (axes.includes(i) ? 1 : d));
  const options = { ...(chosen.length > 0 ? { axis: axes } : {}), ...(keepdims ? { keepdims: true } : {}) };
  return one(name, keepdims ? move.reshape(y, shape) : y, [options]);
};

function reduced(name: string, x: Bounded, axes: readonly number[]): Bounded {
  switch (name) {
    case 'sum':
    case 'prod':
      return acc.total(name, x, axes);
    case 'max':
    case 'min':
      return acc.extreme(name, x, axes);
    case 'any':
    case 'all':
      return acc.truth(name, x, axes);
    case 'countNonzero':
      return acc.countNonzero(x, axes);
    default:
      return acc.statistic(name, x, axes);
  }
}

const positionRow: Row = (x, dice) => {
  if (x.shape.length === 0) return null;
  const axis = dice(x.shape.length);
  if (x.shape[axis] === 0) return null;
  const name = dice(2) ? 'argmax' : 'argmin';
  return one(name, acc.position(name, x, axis), [{ axis }]);
};

const scanRow: Row = (x, dice) => {
  if (x.shape.length === 0) return null;
  const axis = dice(x.shape.length);
  const name = pickOf(['cumsum', 'cummax', 'cumprod', 'cummin'], dice);
  const y =
    name === 'cumsum'
      ? acc.runningTotal('sum', x, axis)
      : name === 'cumprod'
        ? acc.runningTotal('prod', x, axis)
        : move.runningExtreme(x, axis, name === 'cummax' ? 'max' : 'min');
  return one(name, y, [axis]);
};

const softmaxRow: Row = (x, dice) => {
  if (x.shape.length === 0 || !isFloat(x.dtype)) return null;
  const axis = dice(x.shape.length);
  const log = dice(3) === 2;
  return one(log ? 'logSoftmax' : 'softmax', acc.softmax(x, axis, log), [axis]);
};

const gatherRow: Row = (x, dice, { indices }) => {
  if (x.shape.length === 0) return null;
  const axis = dice(x.shape.length);
  const n = x.shape[axis]!;
  // An empty axis has nothing to pick.
  const some = (count: number): number => (n === 0 ? 0 : count);
  if (dice(3) === 2) {
    const at = indices(
      x.shape.map((d, i) => (i === axis ? some((1 + dice(5)) % 5) : d)),
      n,
    );
    return one('takeAlongAxis', move.takeAlongAxis(x, at, axis), [axis], [at]);
  }
  const at = indices(dice(2) ? [some(1 + dice(3)), 1 + dice(2)] : [some(dice(6))], n);
  return one('gather', move.gather(x, at, axis), [axis], [at]);
};

const scatterRow: Row = (x, dice, { indices, fresh }) => {
  if (x.shape.length === 0) return null;
  const axis = dice(x.shape.length);
  const count = x.shape[axis] === 0 ? 0 : (1 + dice(5)) % 5;
  const mode = x.dtype === 'bool' ? 'set' : pickOf(['set', 'add', 'max', 'min', 'mul'], dice);
  const at = indices([count], x.shape[axis]!);
  const updates = fresh(
    x.dtype,
    x.shape.map((d, i) => (i === axis ? count : d)),
    'whole',
  );
  return one('scatter', move.scatter(x, at, updates, axis, mode), [{ axis, mode }], [at, updates]);
};

const sortRow: Row = (x, dice) => {
  if (x.shape.length === 0) return null;
  const axis = dice(x.shape.length);
  const descending = dice(2) === 1;
  const which = dice(3);
  if (which === 2 && x.dtype !== 'bool') {
    const k = dice(x.shape[axis]! + 1);
    const { values, positions } = move.sorted(x, axis, true);
    return {
      op: 'topk',
      others: [],
      args: [k, axis],
      results: [move.first(values, k, axis), move.first(positions, k, axis)],
    };
  }
  const { values, positions } = move.sorted(x, axis, descending);
  return one(which === 0 ? 'sort' : 'argsort', which === 0 ? values : positions, [axis, { descending }]);
};

const bitcastRow: Row = (x, dice) => {
  const to = bitcastsOf(x.dtype).filter((t) => t !== x.dtype);
  if (to.length === 0) return null;
  const dtype = pickOf(to, dice);
  return one('bitcast', bitcast(x, dtype), [dtype]);
};

/** Values of the graph are looked for in a sorted row that is given. */
const searchRow: Row = (x, dice, { fresh }) => {
  if (x.dtype === 'bool') return null;
  const row = move.sorted(fresh(x.dtype, [dice(30)], dice(2) ? 'any' : 'whole'), 0, false).values;
  const right = dice(2) === 1;
  return one('searchsortedIn', searched(row, x, right), [{ side: right ? 'right' : 'left' }], [row]);
};

/** Elementwise work and movement come up more often: that is what fuses. */
export const rows: readonly Row[] = [
  binaryRow,
  unaryRow,
  scalarRow,
  binaryRow,
  reduceRow,
  unaryRow,
  scalarRow,
  binaryRow,
  reshapeRow,
  permuteRow,
  reduceRow,
  sliceRow,
  unaryRow,
  padRow,
  rollRow,
  flipRow,
  expandRow,
  joinRow,
  whereRow,
  castRow,
  matmulRow,
  einsumRow,
  gatherRow,
  scanRow,
  sortRow,
  softmaxRow,
  scatterRow,
  tileRow,
  triangleRow,
  positionRow,
  convRow,
  poolRow,
  einsumRow,
  outerRow,
  diagonalRow,
  clipRow,
  layerNormRow,
  cosineRow,
  segmentRow,
  sliceAtRow,
  splitRow,
  attentionRow,
  convTransposeRow,
  convRow,
  convKernelRow,
  windowsRow,
  bitcastRow,
  searchRow,
  fourierRow,
  scanFormRow,
  reduceFormRow,
  indexFormRow,
  rollFormRow,
  choiceRow,
  madeRow,
  manyAxesRow,
  joinFormRow,
  typedSumRow,
];

/** Whether a result may join the graph: not too large, and of a dtype the device has. */
export const admits = (m: Move, limit: number, has: ReadonlySet<DType>): boolean =>
  (m.common === undefined || has.has(m.common)) &&
  m.results.every((r) => sizeOf(r.shape) <= limit && has.has(r.dtype)) &&
  m.others.every((o) => typeof o === 'number' || has.has(o.dtype));
