// The adjacency of a grid as tensors: computed where the device is a GPU, uploaded where it is the CPU.
//
// Without a mask both arrays are formulas of their positions: entry e belongs to a vertex and is its j-th neighbour, so each array is
// one kernel. With a mask every vertex has 2d places for neighbours, in ascending order; a running sum over those that exist says where
// each row begins, and one scatter puts each neighbour where it belongs.

import type { Runtime, Tensor } from '../index.ts';
import type { Adjacency } from './adjacency.ts';
import type { Grid } from './grid.ts';
import type { Mask } from './mask.ts';
import { kept } from './on-device/kept.ts';

/** Compressed sparse rows: the neighbours of v are neighbors[offsets[v] … offsets[v+1]-1], ascending. */
export interface Csr {
  readonly offsets: Tensor<'i32'>;
  readonly neighbors: Tensor<'i32'>;
}

export function uploadCsr(rt: Runtime, { offsets, neighbors }: Adjacency): Csr {
  return {
    offsets: rt.tensor(offsets, [offsets.length], { dtype: 'i32' }),
    neighbors: rt.tensor(neighbors, [neighbors.length], { dtype: 'i32' }),
  };
}

export function freeCsr({ offsets, neighbors }: Csr): void {
  for (const t of [offsets, neighbors]) if (!t.disposed) t.dispose();
}

/** By arithmetic on the device. `entries`: how many neighbours there are in all. */
export function computeCsr(rt: Runtime, grid: Grid, mask: Mask | null, entries: number): Csr {
  if (mask) return maskedCsr(rt, grid, mask, entries);
  const whole = kept(rt, `build ${grid}`, () =>
    rt.compile(() => ({
      offsets: rowStarts(rt.iota([grid.vertices + 1], 0), grid).cast('i32'),
      neighbors: neighborAt(rt, rt.iota([entries], 0).cast('u32'), grid).cast('i32'),
    })),
  );
  return whole();
}

/**
 * The neighbour that an entry of the whole grid holds. The slabs of an axis follow each other, and how many entries each has is known:
 * `deg` per vertex along the axes before and this one, two less a border along those behind. So the entry's place along each axis
 * is a division; what remains in the end is which of the vertex's neighbours it is.
 */
function neighborAt(rt: Runtime, entry: Tensor, { size: n, strides, dimensions: d }: Grid): Tensor {
  let [rest, degree, vertex]: [Tensor, Tensor, Tensor] = [entry, entry.mul(0), entry.mul(0)];
  const inFront: { readonly exists: Tensor; readonly stride: number }[] = [];
  const behind: typeof inFront = [];
  strides.forEach((stride, k) => {
    const axes = d - 1 - k;
    const slab = (deg: Tensor): Tensor => deg.mul(n ** axes).add(axes === 0 ? 0 : 2 * axes * (n - 1) * n ** (axes - 1));
    const [border, inner] = [slab(degree.add(1)), slab(degree.add(2))];
    const beyond = rest.greaterEqual(border);
    // The last slab is a border too, and no larger than an inner one.
    const whole = rest.sub(border).floorDivide(inner);
    const x = rt.where(beyond, whole.add(1), 0);
    rest = rt.where(beyond, rest.sub(border).sub(whole.mul(inner)), rest);
    const last = x.equal(n - 1);
    degree = degree.add(2).sub(beyond.logicalNot().logicalOr(last).cast('u32'));
    vertex = vertex.add(x.mul(stride));
    inFront.push({ exists: beyond, stride: -stride });
    behind.unshift({ exists: last.logicalNot(), stride });
  });
  let before: Tensor = rest.mul(0);
  let offset: Tensor = rest.mul(0).cast('i32');
  for (const { exists, stride } of [...inFront, ...behind]) {
    offset = rt.where(exists.logicalAnd(before.equal(rest)), stride, offset);
    before = before.add(exists.cast('u32'));
  }
  return vertex.cast('i32').add(offset);
}

function maskedCsr(rt: Runtime, grid: Grid, mask: Mask, entries: number): Csr {
  const { shape, size, strides, vertices, dimensions: d } = grid;
  const index = rt.iota([vertices], 0).reshape(shape);
  const free = rt.tensor(
    mask.bytes.map((b) => 1 - b),
    shape,
    { dtype: 'u8' },
  );
  const coordinate = strides.map((_, k) => rt.iota(shape, k));
  const place = (k: number, by: 1 | -1): { readonly exists: Tensor; readonly vertex: Tensor } => {
    const inside = by === 1 ? coordinate[k]!.less(size - 1) : coordinate[k]!.greater(0);
    const near = free.roll(-by, k).notEqual(0);
    return { exists: inside.logicalAnd(near).logicalAnd(free.notEqual(0)), vertex: index.add(by * strides[k]!) };
  };
  const axes = strides.map((_, k) => k);
  const places = [...axes.map((k) => place(k, -1)), ...axes.reverse().map((k) => place(k, 1))];
  const exists = places.map((p) => p.exists.cast('i32').reshape([vertices]));
  const degree = exists.reduce((a, b) => a.add(b));
  const ends = runningSum(degree);
  const starts = ends.sub(degree);
  // What does not exist goes to one place behind the last, which is cut off.
  const at = exists.map((e, j) =>
    rt.where(
      e.notEqual(0),
      exists.slice(0, j).reduce((a, b) => a.add(b), starts),
      entries,
    ),
  );
  const flat = (ts: readonly Tensor[]): Tensor =>
    rt
      .stack(
        ts.map((t) => t.cast('i32').reshape([vertices])),
        0,
      )
      .reshape([vertices * 2 * d])
      .compute();
  const neighbors = rt
    .zeros([entries + 1], { dtype: 'i32' })
    .scatter(flat(at), flat(places.map((p) => p.vertex)))
    .slice([[0, entries]]);
  const offsets = rt.concat([rt.zeros([1], { dtype: 'i32' }), ends], 0);
  return { offsets: offsets.cast('i32').compute(), neighbors: neighbors.cast('i32').compute() };
}

/**
 * Entries of all rows before a vertex of the whole grid: two per axis for each of them, less one for each that lies at either end of
 * the axis. Along an axis of stride s those are s of every n·s vertices, and some of the last ones.
 */
function rowStarts(vertex: Tensor, { size, strides }: Grid): Tensor {
  return strides
    .map((s) => {
      const along = vertex.floorDivide(s).mod(size);
      const whole = vertex.floorDivide(s * size).mul(s);
      const rest = vertex.mod(s);
      const first = whole.add(rest.mul(along.equal(0)).add(along.greater(0).mul(s)));
      const last = whole.add(rest.mul(along.equal(size - 1)));
      return vertex.mul(2).sub(first).sub(last);
    })
    .reduce((a, b) => a.add(b));
}

/** Sums up to each element, in as many steps as the length has bits. Whole numbers of 32 bits stay such, which `cumsum` widens. */
function runningSum(x: Tensor): Tensor {
  let sum = x.compute();
  for (let by = 1; by < x.size; by *= 2) sum = sum.add(sum.slice([[0, x.size - by]]).pad([[by, 0]])).compute();
  return sum;
}

/** Ones where two vertices are neighbours, as a matrix. */
export function denseAdjacency(rt: Runtime, { strides, size, vertices }: Grid, mask: Mask | null): Tensor<'f32'> {
  const [row, column] = [0, 1].map((axis) => rt.iota([vertices, vertices], axis)) as [Tensor, Tensor];
  const apart = strides
    .map((stride) => {
      const [x, y] = [row, column].map((v) => v.floorDivide(stride).mod(size)) as [Tensor, Tensor];
      return x.sub(y).abs();
    })
    .reduce((a, b) => a.add(b));
  const near = apart.equal(1);
  if (!mask) return near.cast('f32').compute();
  const free = rt.tensor(mask.bytes, [vertices], { dtype: 'u8' }).equal(0);
  return near
    .logicalAnd(free)
    .logicalAnd(free.reshape([vertices, 1]))
    .cast('f32')
    .compute();
}
