// Kernels that pick or place elements by indices.
//
// Indices that are still in host memory are checked at once, with TF.js's own words. Others are checked by the device, and
// the error comes with the read.

import type { Tensor } from '../../index.ts';
import type { Call, Kernels } from '../kernel.ts';
import { numbers, stored } from './types.ts';

function gather(c: Call): Tensor {
  const { axis, batchDims = 0 } = c.attrs<{ axis: number; batchDims?: number }>();
  const [x, info, index] = [c.x('x'), c.info('x'), c.info('indices')];
  const at = c.tf.util.parseAxisParam(axis, info.shape)[0]!;
  const last = info.shape[at]! - 1;
  const known = c.host('indices');
  for (const value of Array.from(known ?? [])) {
    c.tf.util.assert(value <= last && value >= 0, () => `GatherV2: the index value ${value} is not in [0, ${last}]`);
  }
  const places = c.tf.backend_util.segment_util.collectGatherOpShapeInfo(info as never, index as never, at, batchDims);
  const indices = c.x('indices').cast('i32');
  const mode = known ? 'clip' : 'check';
  if (places.batchSize === 1) return x.gather(indices.flatten(), at, { mode }).reshape(places.outputShape);
  const { batchSize, outerSize, dimSize, sliceSize, outputShape } = places;
  const count = indices.size / batchSize;
  const rows = indices.reshape([batchSize, 1, count, 1]);
  return x.reshape([batchSize, outerSize, dimSize, sliceSize]).takeAlongAxis(rows, 2, { mode }).reshape(outputShape);
}

/** Rows of indices as positions in the flattened leading axes. */
function flatIndices(indices: Tensor, sizes: readonly number[]): Tensor {
  const rank = sizes.length;
  const rows = indices.cast('i32').reshape([indices.size / Math.max(1, rank), rank]);
  const steps = sizes.map((_, i) => sizes.slice(i + 1).reduce((a, b) => a * b, 1));
  return steps
    .map((step, i) => rows.slice([null, [i, i + 1]]).mul(step))
    .reduce((a, b) => a.add(b))
    .flatten();
}

/** Refuses rows of indices outside a shape where they can be seen now; says whether the device still has to look. */
function checkRows(c: Call, name: string, sizes: readonly number[], say: (row: number[]) => string): 'clip' | 'check' {
  const values = c.host(name);
  if (!values) return 'check';
  const total = sizes.reduce((a, b) => a * b, 1);
  for (let from = 0; from + sizes.length <= values.length; from += sizes.length) {
    const row = sizes.map((_, i) => values[from + i]!);
    const flat = row.reduce((at, v, i) => at * sizes[i]! + v, 0);
    if (flat < 0 || flat >= total) throw new Error(say(row));
  }
  return 'clip';
}

function gatherNd(c: Call): Tensor {
  const [params, indices] = [c.info('params'), c.info('indices')];
  const [shape, count, sliceSize] = c.tf.backend_util.prepareAndValidate(params as never, indices as never);
  const x = c.x('params');
  if (count === 0) return c.rt.zeros(shape, { dtype: x.dtype });
  const rank = indices.shape[indices.shape.length - 1]!;
  const sizes = params.shape.slice(0, rank);
  const mode = checkRows(c, 'indices', sizes, (row) => `Invalid indices: ${row} does not index into ${params.shape}`);
  if (rank === 0) return x.reshape([1, ...params.shape]).expand(shape);
  const total = sizes.reduce((a, b) => a * b, 1);
  return x
    .reshape([total, sliceSize])
    .gather(flatIndices(c.x('indices'), sizes), 0, { mode })
    .reshape(shape);
}

/** `base` with updates placed at rows of indices. */
function scatter(c: Call, names: [string, string], shape: number[], base: Tensor, mode: 'add' | 'set'): Tensor {
  const [indices, updates] = [c.info(names[0]), c.info(names[1])];
  const { sliceRank, numUpdates, sliceSize } = c.tf.backend_util.calculateShapes(
    updates as never,
    indices as never,
    shape,
  );
  const sizes = shape.slice(0, sliceRank);
  const bounds = checkRows(c, names[0], sizes, (row) => `Invalid indices: ${row} does not index into ${shape}`);
  const values = numbers(c.x(names[1]));
  if (values.size === 0) return base.clone();
  const total = sizes.reduce((a, b) => a * b, 1);
  const spread = values.size === 1 ? values.reshape([1, 1]) : values.reshape([values.size / sliceSize, sliceSize]);
  const rows = spread.expand([numUpdates, sliceSize]);
  const target = numbers(base).reshape([total, sliceSize]);
  const placed = target.scatter(flatIndices(c.x(names[0]), sizes), rows, { axis: 0, mode, bounds });
  return stored(c.rt, placed, base.dtype).reshape(shape);
}

/** Sums by number; what has a number outside the range is left out. */
function segmentSum(c: Call): Tensor {
  const { numSegments } = c.attrs<{ numSegments: number }>();
  const [x, ids] = [c.f('x'), c.x('segmentIds').cast('i32')];
  const outside = ids.less(0).logicalOr(ids.greaterEqual(numSegments));
  const rows = c.rt.where(outside, c.rt.full([], numSegments, { dtype: 'i32' }), ids).flatten();
  const rest = x.shape.slice(ids.rank);
  const target = c.rt.zeros([numSegments + 1, ...rest]);
  const sums = target.scatter(rows, x.reshape([ids.size, ...rest]), { axis: 0, mode: 'add', bounds: 'clip' });
  return sums.slice([[0, numSegments]]);
}

/** How often, or with what weight, each number below `size` occurs in each row. */
function bincount(c: Call, binary: boolean, perRow: boolean): Tensor {
  const { size } = c.attrs<{ size: number }>();
  const x = c.x('x').cast('i32');
  const type = c.x('weights').dtype === 'f32' ? 'f32' : 'i32';
  if (perRow && x.rank > 2) {
    throw new Error(`Error in denseBincount: input must be at most rank 2, but got rank${x.rank}.`);
  }
  if (Array.from(c.host('x') ?? []).some((v) => v < 0)) throw new Error('Input x must be non-negative!');
  const split = perRow && x.rank === 2;
  const rows = split ? x.shape[0]! : 1;
  const columns = x.size / Math.max(1, rows);
  // Numbers that are too large are counted beside the rest, and left out.
  const number = x.minimum(size).reshape([rows, columns]);
  const flat = number.add(c.rt.iota([rows, columns], 0).mul(size + 1)).flatten();
  const weights = c.x('weights');
  const weighted = weights.size > 0 && !binary;
  const updates = weighted ? weights.cast(type).flatten() : c.rt.ones([x.size], { dtype: type });
  const counts = c.rt
    .zeros([rows * (size + 1)], { dtype: type })
    .scatter(flat, updates, { mode: binary ? 'set' : 'add', bounds: 'clip' });
  const result = counts.reshape([rows, size + 1]).slice([null, [0, size]]);
  return stored(c.rt, split ? result : result.reshape([size]), weights.dtype);
}

function oneHot(c: Call): Tensor {
  const { depth, onValue, offValue, dtype } = c.attrs<{
    depth: number;
    onValue: number;
    offValue: number;
    dtype: string;
  }>();
  const indices = c.x('indices').cast('i32');
  const hit = indices.unsqueeze(indices.rank).equal(c.rt.arange(0, depth, 1, { dtype: 'i32' }));
  const values = c.rt.where(hit, onValue, offValue);
  return dtype === 'bool' ? values.cast('bool') : stored(c.rt, values, dtype === 'int32' ? 'i32' : 'f32');
}

/** The shape that two shapes broadcast to; whether they do is seen where they are known. */
function broadcastArgs(c: Call): Tensor {
  const [a, b] = [c.x('s0').cast('i32'), c.x('s1').cast('i32')];
  const [known, other] = [c.host('s0'), c.host('s1')];
  if (known && other) c.tf.backend_util.assertAndGetBroadcastShape(Array.from(known), Array.from(other));
  const rank = Math.max(a.size, b.size);
  const wide = (x: Tensor) => x.pad([[rank - x.size, 0]], 1);
  const [p, q] = [wide(a), wide(b)];
  return c.rt.where(p.equal(1), q, p);
}

export const indexing: Kernels = {
  Bincount: (c) => bincount(c, false, false),
  BroadcastArgs: broadcastArgs,
  DenseBincount: (c) => bincount(c, c.attrs<{ binaryOutput?: boolean }>().binaryOutput === true, true),
  GatherNd: gatherNd,
  GatherV2: gather,
  OneHot: oneHot,
  ScatterNd: (c) => {
    const { shape } = c.attrs<{ shape: number[] }>();
    return scatter(c, ['indices', 'updates'], shape, c.rt.zeros(shape, { dtype: c.x('updates').dtype }), 'add');
  },
  SparseToDense: (c) => {
    const { outputShape } = c.attrs<{ outputShape: number[] }>();
    const values = c.x('sparseValues');
    const base = c.x('defaultValue').cast(values.dtype).reshape([]).expand(outputShape);
    return scatter(c, ['sparseIndices', 'sparseValues'], outputShape, base, 'set');
  },
  TensorScatterUpdate: (c) => scatter(c, ['indices', 'updates'], [...c.info('tensor').shape], c.x('tensor'), 'set'),
  UnsortedSegmentSum: segmentSum,
};
