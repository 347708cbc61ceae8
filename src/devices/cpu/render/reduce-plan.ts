// How a reduction is run: along which axis the vector lies, and how the work is cut into items.

import { byteSize, isFloat } from '../../../base/dtype.ts';
import { sizeOf } from '../../../base/shape.ts';
import { strideAlong } from '../../../kernel/bounds.ts';
import type { Load } from '../../../kernel/expr.ts';
import type { Accumulator, Kernel } from '../../../kernel/kernel.ts';
import { chunkAxis } from './map.ts';
import { type AxisLoop, bodiesFor, type Chunks, outputAxis, type Survey, survey } from './plan.ts';

/** Number of a pseudo axis: the slices of a reduced axis. */
export const sliceAxis = -3;

export interface ReductionPlan {
  readonly form: 'rows' | 'columns';
  readonly vector: AxisLoop;
  /** Loops over items: output axes, then chunks or slices. */
  readonly loops: readonly AxisLoop[];
  /** Reduced axes other than the vector's. */
  readonly reduced: readonly AxisLoop[];
  readonly bodies: readonly number[];
  readonly chunks: Chunks;
  /** Columns are walked some rows at a time (reduce-streamed.ts). */
  readonly streamed: boolean;
  /** 1 if the reduction is not cut. */
  readonly slices: number;
  readonly sliced: number;
  readonly sliceLength: number;
  readonly outputs: number;
  readonly items: number;
  readonly itemElements: number;
  /** Values one lane of the main body takes in, at most. */
  readonly perLane: number;
  /** Additions in a row before the sum of a run moves on, of f32 to f64. */
  readonly block: number;
  readonly cost: number;
}

/** Items wanted of a reduction with few outputs, and the least work of one. */
const wantedItems = 64;
const leastElements = 16384;

export function planReduction(kernel: Kernel, streamedBytes = 8 << 20): ReductionPlan {
  const found = survey(kernel.accumulators.map((a) => a.value));
  const rank = kernel.space.length;
  const reducedAxes = kernel.reduced.map((size, k) => ({ axis: rank + k, size })).filter((a) => a.size > 1);
  const outputAxes = kernel.space.map((size, axis) => ({ axis, size })).filter((a) => a.size > 1);
  // The first of equal values wins, so argmax must meet them in the order of their positions.
  const row = hasArg(kernel) ? reducedAxes[reducedAxes.length - 1] : bestReduced(found, reducedAxes);
  const column = columnAxis(kernel, found, outputAxes);
  const form = choose(found, row, column);
  const vector = form === 'rows' ? row! : column;
  const bodies = bodiesOf(kernel, found);
  const main = bodies[0]!;
  const reduced = reducedAxes.filter((a) => a.axis !== vector.axis);
  const loops = outputAxes.filter((a) => a.axis !== vector.axis);
  const outputs = sizeOf(kernel.space);
  const count = sizeOf(kernel.reduced);

  // Going down columns, a step reads next to nothing of a row, or what lies beside it is gone before it is read.
  const thin = (main * found.narrowest) / 8 <= lineBytes || isCrowded(found, reducedAxes);
  const least = thin ? streamedBytes / 8 : streamedBytes;
  const streamed = form === 'columns' && isStreamed(kernel, found, vector, reducedAxes, outputAxes, least);
  let chunks: Chunks = { size: vector.size, count: 1 };
  if (form === 'columns' && vector.size > main) {
    // Each item keeps about 16K values busy, in whole bodies; streams are worth following for a while.
    const wide = streamed ? (8 * streamBytes) / found.narrowest : 1;
    const size = Math.ceil(Math.max(wide, leastElements / count) / main) * main;
    if (size < vector.size) chunks = { size, count: Math.ceil(vector.size / size) };
    if (chunks.count > 1) loops.push({ axis: chunkAxis, size: chunks.count });
  }
  const whole = loops.reduce((n, a) => n * a.size, 1);
  const perItem = (outputs / whole) * count;
  const longest = reducedAxes.reduce((a, b) => (b.size > a.size ? b : a), { axis: -1, size: 1 });
  const most = streamed ? Math.floor(longest.size / blocks.columns) : longest.size;
  const wanted = Math.min(Math.ceil(wantedItems / whole), Math.floor(perItem / leastElements), most);
  let slices = 1;
  let sliceLength = longest.size;
  if (whole < wantedItems / 2 && wanted > 1 && outputs * wanted <= 65536) {
    const unit = longest.axis === vector.axis ? main : 1;
    sliceLength = Math.ceil(longest.size / wanted / unit) * unit;
    slices = Math.ceil(longest.size / sliceLength);
    if (slices > 1) loops.push({ axis: sliceAxis, size: slices });
  }
  const items = whole * slices;
  return {
    form,
    vector,
    loops,
    reduced,
    bodies,
    chunks,
    streamed,
    slices,
    sliced: longest.axis,
    sliceLength,
    outputs,
    items,
    itemElements: (outputs * count) / items,
    perLane: form === 'rows' ? Math.ceil(count / main) : count,
    block: form === 'rows' && !kernel.accumulators.some(isNarrowSum) ? blocks.doubles : blocks[form],
    cost: found.cost,
  };
}

/**
 * Additions in a row before the sum of a run moves on, of f32 to f64. Along rows as many as NumPy's sums make in a row: the mean of values that are
 * large beside their differences is as good. Down columns NumPy adds all rows in f32. Of f64 more: what moves on is kept without loss.
 */
const blocks = { rows: 16, columns: 128, doubles: 64 } as const;

const isNarrowSum = ({ op, type }: Accumulator): boolean => op === 'sum' && type !== 'f64' && isFloat(type);

/** Bytes of each row that one item reads where rows are streamed. */
const streamBytes = 4096;
/** Rows and columns from which on streaming pays, the least distance of rows in bytes, and the most states worth keeping. */
const streamedRows = 64;
const streamedColumns = 64;
const farBytes = 1024;
const mostStates = 1 << 18;

/** Whether each step down a column goes far, over rows whose neighbours are read as vectors. */
function isStreamed(
  kernel: Kernel,
  s: Survey,
  vector: AxisLoop,
  reduced: readonly AxisLoop[],
  outputs: readonly AxisLoop[],
  least: number,
): boolean {
  const [rows, ...others] = reduced;
  if (!rows || others.length > 0 || hasArg(kernel) || outputs[outputs.length - 1]?.axis !== vector.axis) return false;
  if (rows.size < streamedRows || vector.size < streamedColumns || sizeOf(kernel.space) > mostStates) return false;
  const far = (l: Load): boolean => {
    const bytes = Math.abs(strideAlong(l.index, rows.axis) ?? 0) * byteSize(l.type);
    return bytes >= farBytes && bytes * rows.size >= least;
  };
  const moves = s.loads.filter((l) => strideAlong(l.index, rows.axis) !== 0);
  const beside = (l: Load): boolean => {
    const bytes = Math.abs(strideAlong(l.index, vector.axis) ?? 0) * byteSize(l.type);
    return bytes > 0 && bytes <= lineBytes;
  };
  return moves.length > 0 && moves.every((l) => far(l) && beside(l));
}

const lineBytes = 64;

/** Values so far apart lie in the same sets of the nearest caches, which hold but a few of them. */
const setBytes = 4096;

/** Whether one column of rows crowds a few sets of the caches: what lies beside it in memory is gone before it is read. */
const isCrowded = (s: Survey, [rows]: readonly AxisLoop[]): boolean =>
  s.loads.some((l) => {
    const bytes = (strideAlong(l.index, rows?.axis ?? -1) ?? 0) * byteSize(l.type);
    return bytes !== 0 && bytes % setBytes === 0;
  });

const hasArg = (k: Kernel): boolean => k.accumulators.some((a) => a.op === 'argmax' || a.op === 'argmin');

/** Loads that cannot be read as whole vectors along an axis. */
function roughLoads(s: Survey, axis: number): number {
  return s.loads.filter((l) => {
    const stride = strideAlong(l.index, axis);
    return stride !== 0 && stride !== 1;
  }).length;
}

/** The reduced axis along which most is read in vectors; the last of those. */
function bestReduced(s: Survey, axes: readonly AxisLoop[]): AxisLoop | undefined {
  let best: AxisLoop | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const a of [...axes].reverse()) {
    const rough = roughLoads(s, a.axis);
    if (rough < fewest) {
      fewest = rough;
      best = a;
    }
  }
  return best;
}

/** The output axis for the vector: the usual one, or one along which more is read in vectors. Results are stored once, values are read often. */
function columnAxis(kernel: Kernel, s: Survey, axes: readonly AxisLoop[]): AxisLoop {
  let best = outputAxis(kernel);
  for (const a of axes) if (a.size >= leastColumns && roughLoads(s, a.axis) < roughLoads(s, best.axis)) best = a;
  return best;
}

/** Outputs beside each other from which on they are worth a vector. */
const leastColumns = 4;

function choose(s: Survey, row: AxisLoop | undefined, column: AxisLoop): 'rows' | 'columns' {
  if (!row) return 'columns';
  if (column.size < leastColumns) return 'rows';
  if (row.size < 8) return 'columns';
  const [r, c] = [roughLoads(s, row.axis), roughLoads(s, column.axis)];
  if (r !== c) return r < c ? 'rows' : 'columns';
  const [along, across] = [distance(s, row.axis), distance(s, column.axis)];
  if (along !== across) return along < across ? 'rows' : 'columns';
  return row.size >= 32 ? 'rows' : 'columns';
}

/** How far neighbours along an axis lie from each other, over all loads that are not read as whole vectors. */
const distance = (s: Survey, axis: number): number =>
  s.loads.reduce((sum, l) => {
    const stride = Math.abs(strideAlong(l.index, axis) ?? 0);
    return stride > 1 ? sum + stride * byteSize(l.type) : sum;
  }, 0);

/**
 * Registers that the states of accumulators may take: the others are for what is folded into them (six sums over the channels of 32³×64
 * cells: 3.0 ms with 24 registers, 1.90 with 12, 1.77 with 6).
 */
const mostStateRegisters = 8;

/** Bodies of fewer parts, where each part would have so many accumulators that they do not stay in registers. */
function fewerParts(bodies: readonly number[], accumulators: number, widest: number): number[] {
  const one = 128 / widest;
  let [main, ...others] = bodies as [number, ...number[]];
  while (main > one && (main / one) * accumulators > mostStateRegisters) main /= 2;
  return [main, ...others.filter((n) => n < main)];
}

function bodiesOf(kernel: Kernel, s: Survey): number[] {
  const own = kernel.accumulators.map((a) =>
    a.type === 'f64' || a.type.endsWith('64') ? 64 : a.type === 'u8' || a.type === 'bool' ? 8 : 32,
  );
  const widths = hasArg(kernel) ? [...own, 32] : own;
  const bodies = fewerParts(bodiesFor(s, widths), own.length, Math.max(s.widest, ...widths));
  const main = bodies[0]!;
  const [only, ...others] = kernel.accumulators;
  // One simple accumulator of one register: twice as many of them hide the latency of an addition, and go along whole lines of memory.
  const light = others.length === 0 && s.cost <= 4 && oneRegister(only!);
  return light && main <= 16 ? [2 * main, ...bodies.slice(1)] : bodies;
}

/** Whether a state is the value alone: extremes of floats have notes beside it. */
const oneRegister = ({ op, type }: Accumulator): boolean =>
  op === 'sum' || op === 'prod' || ((op === 'max' || op === 'min') && (type === 'i32' || type === 'u32'));
