// Images: resizing with its gradients, crops, projective transforms, rotation.

import type { Runtime, Tensor } from '../../index.ts';
import type { Call, Kernels, Native } from '../kernel.ts';
import { stored } from './types.ts';

interface ResizeAttrs {
  readonly alignCorners: boolean;
  readonly halfPixelCenters: boolean;
  readonly size: [number, number];
}

/** How far apart output positions are, in input positions. */
function scaleOf(from: number, to: number, alignCorners: boolean): number {
  return alignCorners && to > 1 ? (from - 1) / (to - 1) : from / to;
}

interface Between {
  readonly low: number[];
  readonly high: number[];
  readonly part: number[];
}

/** The two input positions that each output position lies between, and how far on the way it is. */
function between(from: number, to: number, { alignCorners, halfPixelCenters }: ResizeAttrs): Between {
  const scale = scaleOf(from, to, alignCorners);
  const at = Array.from({ length: to }, (_, i) => (halfPixelCenters ? scale * (i + 0.5) - 0.5 : scale * i));
  const low = at.map((v) => Math.max(0, Math.floor(v)));
  return { low, high: at.map((v) => Math.min(from - 1, Math.ceil(v))), part: at.map((v, i) => v - low[i]!) };
}

/** The input position that each output position shows. */
function nearest(from: number, to: number, { alignCorners, halfPixelCenters }: ResizeAttrs): number[] {
  const scale = scaleOf(from, to, alignCorners);
  return Array.from({ length: to }, (_, i) => {
    const at = halfPixelCenters ? scale * (i + 0.5) : scale * i;
    return Math.max(0, Math.min(from - 1, alignCorners ? Math.round(at) : Math.floor(at)));
  });
}

/** Weights along one axis, in a shape that broadcasts with images. */
const along = (rt: Runtime, list: readonly number[], axis: number): Tensor =>
  rt.tensor(
    Float32Array.from(list),
    [1, 1, 1, 1].map((_, i) => (i === axis ? list.length : 1)),
  );

function stretched(rt: Runtime, x: Tensor, axis: number, { low, high, part }: Between): Tensor {
  const [a, b] = [x.gather(low, axis), x.gather(high, axis)];
  return a.add(b.sub(a).mul(along(rt, part, axis)));
}

/** Each position of an axis added where it was taken from. */
function collected(
  rt: Runtime,
  dy: Tensor,
  axis: number,
  size: number,
  takes: readonly [number[], number[] | null][],
): Tensor {
  const shape = dy.shape.map((d, i) => (i === axis ? size : d));
  return takes.reduce<Tensor>(
    (sum, [at, weights]) => sum.scatter(at, weights ? dy.mul(along(rt, weights, axis)) : dy, { axis, mode: 'add' }),
    rt.zeros(shape),
  );
}

function bilinear(c: Call): Tensor {
  const attrs = c.attrs<ResizeAttrs>();
  const x = c.f('images');
  const wide = stretched(c.rt, x, 2, between(x.shape[2]!, attrs.size[1], attrs));
  return stretched(c.rt, wide, 1, between(x.shape[1]!, attrs.size[0], attrs));
}

function bilinearGrad(c: Call): Tensor {
  const attrs = { ...c.attrs<ResizeAttrs>(), halfPixelCenters: false };
  const shape = c.info('images').shape;
  return [1, 2].reduce((dy, axis) => {
    const { low, high, part } = between(shape[axis]!, dy.shape[axis]!, attrs);
    const rest = part.map((p) => 1 - p);
    return collected(c.rt, dy, axis, shape[axis]!, [
      [low, rest],
      [high, part],
    ]);
  }, c.f('dy'));
}

function nearestGrad(c: Call): Tensor {
  const attrs = { ...c.attrs<ResizeAttrs>(), halfPixelCenters: false };
  const images = c.info('images');
  const sum = [1, 2].reduce((dy, axis) => {
    const size = images.shape[axis]!;
    return collected(c.rt, dy, axis, size, [[nearest(size, dy.shape[axis]!, attrs), null]]);
  }, c.f('dy'));
  return stored(c.rt, sum, images.dtype === 'int32' ? 'i32' : 'f32');
}

/** The pixels at whole coordinates, one index into batch and position for each: [..., C]. */
function pixels(x: Tensor, batch: Tensor, row: Tensor, column: Tensor): Tensor {
  const [n, h, w, channels] = x.shape as readonly [number, number, number, number];
  const inside = (v: Tensor, size: number) =>
    v
      .maximum(0)
      .minimum(size - 1)
      .cast('i32');
  const index = batch
    .mul(h * w)
    .add(inside(row, h).mul(w))
    .add(inside(column, w));
  return x.reshape([n * h * w, channels]).gather(index, 0, { mode: 'clip' });
}

const half = (x: Tensor): Tensor => x.add(0.5).floor();

/** Values between four pixels. */
function blended(x: Tensor, batch: Tensor, y: Tensor, column: Tensor): Tensor {
  const [top, left] = [y.floor(), column.floor()];
  const [down, right] = [y.sub(top), column.sub(left)];
  const wide = (v: Tensor) => v.unsqueeze(v.rank);
  const row = (at: Tensor) => {
    const [a, b] = [pixels(x, batch, at, left), pixels(x, batch, at, column.ceil())];
    return a.add(b.sub(a).mul(wide(right)));
  };
  const [a, b] = [row(top), row(y.ceil())];
  return a.add(b.sub(a).mul(wide(down)));
}

function cropAndResize(c: Call): Tensor {
  const attrs = c.attrs<{ cropSize: [number, number]; method: string; extrapolationValue: number }>();
  const { rt } = c;
  const [image, boxes] = [c.f('image'), c.f('boxes')];
  const [n, height, width] = image.shape as readonly [number, number, number, number];
  const count = boxes.shape[0]!;
  const [ch, cw] = attrs.cropSize;
  const side = (k: number) => boxes.slice([null, [k, k + 1]]).reshape([count, 1, 1]);
  /** Where the samples of a box lie on an axis of the image. */
  const samples = (from: Tensor, to: Tensor, size: number, crop: number, axis: number): Tensor => {
    if (crop <= 1)
      return from
        .add(to)
        .mul(0.5 * (size - 1))
        .expand([count, ch, cw]);
    const step = to.sub(from).mul((size - 1) / (crop - 1));
    return from.mul(size - 1).add(rt.iota([count, ch, cw], axis, { dtype: 'f32' }).mul(step));
  };
  const y = samples(side(0), side(2), height, ch, 1);
  const x = samples(side(1), side(3), width, cw, 2);
  const owner = c.x('boxInd').cast('i32').reshape([count, 1, 1]);
  const batch = owner
    .minimum(n - 1)
    .maximum(0)
    .expand([count, ch, cw]);
  const inside = (v: Tensor, size: number) => v.greaterEqual(0).logicalAnd(v.lessEqual(size - 1));
  const seen = inside(y, height).logicalAnd(inside(x, width)).unsqueeze(3);
  const values = attrs.method === 'bilinear' ? blended(image, batch, y, x) : pixels(image, batch, half(y), half(x));
  // A box of an image that is not there stays empty.
  const there = owner.less(n).reshape([count, 1, 1, 1]);
  return rt.where(there, rt.where(seen, values, attrs.extrapolationValue), 0);
}

type MapCoordinate = (rt: Runtime, v: Tensor, size: number) => Tensor;

const within = (v: Tensor, size: number): Tensor => v.maximum(0).minimum(size - 1);

/** How coordinates outside an image are brought back into it. */
const coordinates: Readonly<Record<string, MapCoordinate>> = {
  constant: (_, v) => v,
  nearest: (_, v, size) => within(v, size),
  reflect: (rt, v, size) => {
    if (size <= 1) return rt.zeros(v.shape);
    const both = 2 * size;
    const turned = v.neg().div(both).trunc().mul(both).add(v);
    const below = rt.where(turned.less(-size), turned.add(both), turned.neg().sub(1));
    const shifted = v.sub(v.div(both).trunc().mul(both));
    const above = rt.where(shifted.greaterEqual(size), shifted.neg().add(both - 1), shifted);
    return within(rt.where(v.less(0), below, rt.where(v.greater(size - 1), above, v)), size);
  },
  wrap: (rt, v, size) => {
    if (size <= 1) return rt.zeros(v.shape);
    const below = v.add(
      v
        .neg()
        .div(size - 1)
        .trunc()
        .add(1)
        .mul(size),
    );
    const above = v.sub(
      v
        .div(size - 1)
        .trunc()
        .mul(size),
    );
    return within(rt.where(v.less(0), below, rt.where(v.greater(size - 1), above, v)), size);
  },
};

function transform(c: Call): Tensor {
  const attrs = c.attrs<{
    interpolation: string;
    fillMode: string;
    fillValue: number;
    outputShape?: [number, number];
  }>();
  const { rt } = c;
  const image = c.f('image');
  const [n, height, width] = image.shape as readonly [number, number, number, number];
  const [oh, ow] = attrs.outputShape ?? [height, width];
  const shape = [n, oh, ow];
  const all = c.f('transforms');
  const t = (k: number) => all.slice([null, [k, k + 1]]).reshape([all.shape[0]!, 1, 1]);
  const f32 = { dtype: 'f32' as const };
  const [outX, outY] = [rt.iota(shape, 2, f32), rt.iota(shape, 1, f32)];
  const line = (a: number, b: number, d: Tensor | number) =>
    outX
      .mul(t(a))
      .add(outY.mul(t(b)))
      .add(d);
  const depth = line(6, 7, 1);
  const map = coordinates[attrs.fillMode] ?? coordinates.constant!;
  const x = map(rt, line(0, 1, t(2)).div(depth), width);
  const y = map(rt, line(3, 4, t(5)).div(depth), height);
  const batch = rt.iota(shape, 0);
  const fill = attrs.fillValue;
  /** A pixel, or the fill value outside. */
  const at = (row: Tensor, column: Tensor): Tensor => {
    const inside = (v: Tensor, size: number) => v.greaterEqual(0).logicalAnd(v.less(size));
    const seen = inside(row, height).logicalAnd(inside(column, width)).unsqueeze(3);
    return rt.where(seen, pixels(image, batch, row, column), fill);
  };
  const wide = (v: Tensor) => v.unsqueeze(3);
  const mixed = (): Tensor => {
    const [top, left] = [y.floor(), x.floor()];
    const [right, bottom] = [left.add(1), top.add(1)];
    const row = (r: Tensor) =>
      at(r, left)
        .mul(wide(right.sub(x)))
        .add(at(r, right).mul(wide(x.sub(left))));
    return row(top)
      .mul(wide(bottom.sub(y)))
      .add(row(bottom).mul(wide(y.sub(top))));
  };
  const values = attrs.interpolation === 'nearest' ? at(half(y), half(x)) : mixed();
  return stored(rt, rt.where(wide(depth.equal(0)), fill, values), c.x('image').dtype);
}

/** The angle is known, so each output position knows where it looks. */
function rotate(c: Call): Tensor {
  const { radians, fillValue, center } = c.attrs<{
    radians: number;
    fillValue: number | [number, number, number];
    center: number | [number, number];
  }>();
  const image = c.x('image');
  const [n, height, width, channels] = image.shape as readonly [number, number, number, number];
  const [cx, cy] = c.tf.backend_util.getImageCenter(center, height, width) as [number, number];
  const [sin, cos] = [Math.sin(radians), Math.cos(radians)];
  const from = new Int32Array(height * width);
  const seen = new Uint8Array(height * width);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const px = Math.round((x - cx) * cos - (y - cy) * sin + cx);
      const py = Math.round((x - cx) * sin + (y - cy) * cos + cy);
      if (px < 0 || px >= width || py < 0 || py >= height) continue;
      seen[y * width + x] = 1;
      from[y * width + x] = py * width + px;
    }
  }
  const { rt } = c;
  const fills = typeof fillValue === 'number' ? [fillValue] : [...fillValue, 255].slice(0, channels);
  const outside = rt.tensor(Float32Array.from(fills), [fills.length]);
  const flat = image.cast('f32').reshape([n, height * width, channels]);
  const turned = flat.gather(rt.tensor(from, [height * width], { dtype: 'i32' }), 1, { mode: 'clip' });
  const mask = rt.tensor(seen, [height * width, 1], { dtype: 'bool' });
  return stored(rt, rt.where(mask, turned, outside).reshape(image.shape), image.dtype);
}

const nearestPixels: Native = (c) => {
  const attrs = c.attrs<ResizeAttrs>();
  const x = c.x('images');
  const rows = x.gather(nearest(x.shape[1]!, attrs.size[0], attrs), 1);
  return rows.gather(nearest(x.shape[2]!, attrs.size[1], attrs), 2);
};

export const image: Kernels = {
  CropAndResize: cropAndResize,
  ResizeBilinear: bilinear,
  ResizeBilinearGrad: bilinearGrad,
  ResizeNearestNeighbor: nearestPixels,
  ResizeNearestNeighborGrad: nearestGrad,
  RotateWithOffset: rotate,
  Transform: transform,
};
