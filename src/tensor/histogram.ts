// The edges of histograms, as NumPy chooses them, and what they are compared with on the device.

import { shown } from '../base/arguments.ts';
import { byteSize, type DType, dtypeInfo, intRange, is64BitInt, isFloat } from '../base/dtype.ts';
import { bf16ToNumber, f16ToNumber, numberToBf16, numberToF16 } from '../base/half.ts';
import { show } from '../base/shape.ts';
import { ArgumentError, DTypeError, ShapeError } from '../errors.ts';
import type { Node } from '../graph/node.ts';
import { roundTo } from '../kernel/semantics.ts';
import { cast } from './build.ts';
import type { TensorHost } from './host.ts';
import { typed } from './host-array.ts';
import type { Tensor } from './tensor.ts';

export interface HistogramOptions {
  /** How many bins of equal width, 16777216 at most, or their edges in order. Default 10. */
  readonly bins?: number | readonly number[] | undefined;
  /** The lower end of the first bin and the upper end of the last. Default: the smallest and the largest element. */
  readonly range?: readonly [number, number] | undefined;
}

/** Edges in the dtype of the elements: those that lie between two of its values are as good as the upper one, the last as the lower. */
interface Limits {
  /** What elements are compared with; without those that no element reaches. */
  readonly thresholds: readonly (number | bigint)[];
  /** The largest value of the elements' dtype in the last bin; null if there is none. */
  readonly top: number | bigint | null;
}

export interface Edges extends Limits {
  readonly edges: readonly number[];
  readonly type: DType;
}

/** As many as i32 counts. */
export const mostBins = 2 ** 31 - 1;

/** Edges of bins of equal width are made on the host, a list of them at a time. */
const mostEvenBins = 2 ** 24;

/** Waits for the smallest and the largest element where bins lie between these. */
export async function edgesOf(row: Tensor, options: HistogramOptions): Promise<Edges> {
  const { bins = 10, range } = options;
  if (row.dtype === 'bool') throw noBools(row);
  const edges = typeof bins === 'number' ? await evenEdges(row, bins, range) : givenEdges(bins);
  const type = edgeType(row.dtype, typeof bins !== 'number');
  return { edges, type, ...(isFloat(row.dtype) ? floatLimits : wholeLimits)(edges, row.dtype) };
}

/** Edges between floats are as exact as these; between whole numbers, and where they are given, f64. */
const edgeType = (dtype: DType, given: boolean): DType => (isFloat(dtype) && !given ? dtype : 'f64');

function floatLimits(list: readonly number[], dtype: DType): Limits {
  const round = (v: number): number => Number(roundTo[dtype](v));
  const up = (e: number): number => (round(e) >= e ? round(e) : neighbour(round(e), dtype, 1));
  const last = list[list.length - 1]!;
  return { thresholds: list.map(up), top: round(last) <= last ? round(last) : neighbour(round(last), dtype, -1) };
}

const f32 = new Float32Array(1);
const f32Bits = new Uint32Array(f32.buffer);

/** Values as bits, sign first, and back; those of f64 are never rounded. */
const bits: Readonly<Partial<Record<DType, { of(v: number): number; value(bits: number): number; sign: number }>>> = {
  f32: {
    of: (v) => {
      f32[0] = v;
      return f32Bits[0]!;
    },
    value: (b) => {
      f32Bits[0] = b;
      return f32[0]!;
    },
    sign: 2 ** 31,
  },
  f16: { of: numberToF16, value: f16ToNumber, sign: 2 ** 15 },
  bf16: { of: numberToBf16, value: bf16ToNumber, sign: 2 ** 15 },
};

/** The next value of a float dtype above or below; there is none beyond the infinities. */
function neighbour(x: number, dtype: DType, direction: 1 | -1): number {
  const form = bits[dtype];
  if (!form || x === direction * Number.POSITIVE_INFINITY) return x;
  // Bits count away from zero: from there the first step is to the smallest number of the sign.
  if (x === 0) return form.value(direction > 0 ? 1 : form.sign + 1);
  return form.value(form.of(x) + (x > 0 ? direction : -direction));
}

function wholeLimits(list: readonly number[], dtype: DType): Limits {
  const [least, most] = intRange[dtype as keyof typeof intRange];
  const inside = (v: number): bigint => (v <= Number(least) ? least : v >= Number(most) ? most : BigInt(v));
  const last = Math.floor(list[list.length - 1]!);
  return {
    thresholds: list
      .map(Math.ceil)
      .filter((e) => e <= Number(most))
      .map(inside),
    top: last < Number(least) ? null : inside(last),
  };
}

export function upload(host: TensorHost, list: readonly (number | bigint)[], dtype: DType): Node {
  // Halves are exact in f32, and made from it on the device.
  if (dtype === 'f16' || dtype === 'bf16') return cast(upload(host, list, 'f32'), dtype);
  const bytes = new Uint8Array(list.length * byteSize(dtype));
  const array = typed(bytes, dtype);
  const big = is64BitInt(dtype);
  for (const [i, v] of list.entries()) (array as unknown as (number | bigint)[])[i] = big ? BigInt(v) : Number(v);
  return host.upload(bytes, dtype, [list.length]);
}

async function evenEdges(row: Tensor, bins: number, range: readonly [number, number] | undefined): Promise<number[]> {
  if (!Number.isSafeInteger(bins) || bins < 1 || bins > mostEvenBins) {
    throw new ArgumentError({
      code: 'BAD_BINS',
      message: `histogram: ${bins} bins`,
      fix: `Use a whole number from 1 to ${mostEvenBins}, or a list of edges.`,
      where: 'histogram',
    });
  }
  let [first, last] = range === undefined ? await ends(row) : givenRange(range);
  if (!Number.isFinite(first) || !Number.isFinite(last) || first > last) {
    throw new ArgumentError({
      code: 'BAD_RANGE',
      message: `histogram: the range ${shown(first)} … ${shown(last)}${range ? '' : ' of the data'} is not finite or upside down`,
      fix: 'Give range: [from, to] with from at most to.',
      where: 'histogram',
    });
  }
  if (first === last) [first, last] = [first - 0.5, last + 0.5];
  const inType = isFloat(row.dtype) ? (v: number) => Number(roundTo[row.dtype](v)) : (v: number) => v;
  // As NumPy has it: edges between elements are computed in their dtype, those of a given range are rounded once.
  const round = range === undefined ? inType : (v: number) => v;
  const step = round(round(round(last) - round(first)) / bins);
  const edges = Array.from({ length: bins + 1 }, (_, i) => inType(round(round(i * step) + round(first))));
  edges[bins] = inType(last);
  return edges;
}

/** The smallest and the largest element. Waits. */
async function ends(row: Tensor): Promise<readonly [number, number]> {
  if (row.size === 0) return [0, 1];
  using least = row.min();
  using most = row.max();
  const [low, high] = await Promise.all([least.data(), most.data()]);
  return [Number(low[0]), Number(high[0])];
}

function givenRange(range: readonly [number, number]): readonly [number, number] {
  if (Array.isArray(range) && range.length === 2) return range;
  throw new ArgumentError({
    code: 'BAD_RANGE',
    message: `histogram: the range is ${shown(range)}`,
    fix: 'Give range: [from, to] with from at most to.',
    where: 'histogram',
  });
}

function givenEdges(edges: readonly number[]): number[] {
  const list = Array.isArray(edges) ? (edges as readonly number[]) : null;
  const bad = list?.findIndex((e, i) => typeof e !== 'number' || Number.isNaN(e) || (i > 0 && e < list[i - 1]!)) ?? -1;
  if (list && list.length >= 2 && bad < 0) return [...list];
  const what = !list
    ? `the bins are ${shown(edges)}`
    : bad < 0
      ? `${list.length} edges`
      : `edge ${bad} is ${shown(list[bad])}`;
  throw new ArgumentError({
    code: 'BAD_EDGES',
    message: `histogram: ${what}`,
    fix: 'Give the number of bins, or an array of at least two edges, from the smallest to the largest.',
    where: 'histogram',
  });
}

function noBools(row: Tensor): DTypeError {
  return new DTypeError({
    code: 'UNSUPPORTED_DTYPE',
    message: `histogram: bool ${show(row.shape)} has no range`,
    fix: "Cast it first: x.cast('u8').",
    where: 'histogram',
  });
}

/** Refuses what bins cannot be counted of. */
export function checkBins(x: Tensor, minLength: number, weights: Tensor | undefined): void {
  if (dtypeInfo[x.dtype].class !== 'int') {
    throw new DTypeError({
      code: 'NOT_WHOLE_NUMBERS',
      message: `bincount: ${x.dtype} ${show(x.shape)} has no whole numbers`,
      fix: "Use an integer dtype, or cast with x.cast('i32') if you know they are whole.",
      where: 'bincount',
    });
  }
  if (x.rank !== 1 || (weights && (weights.rank !== 1 || weights.size !== x.size))) {
    throw new ShapeError({
      code: 'NOT_A_ROW',
      message: `bincount: ${show(x.shape)}${weights ? ` with weights ${show(weights.shape)}` : ''}`,
      fix: 'Use a tensor of rank 1, and as many weights.',
      where: 'bincount',
    });
  }
  if (Number.isSafeInteger(minLength) && minLength >= 0 && minLength <= mostBins) return;
  throw new ArgumentError({
    code: 'BAD_LENGTH',
    message: `bincount: minLength is ${shown(minLength)}`,
    fix: `Use a whole number from 0 to ${mostBins}.`,
    where: 'bincount',
  });
}
