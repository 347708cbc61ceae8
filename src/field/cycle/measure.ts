// What is measured on a field after it evolved: sums per cell, sums over all cells, and the tail made of them.

import type { Runtime, Tensor } from '../../index.ts';
import { rangeOf, totalChannels } from '../layout.ts';
import { attentionOf } from './attention.ts';
import { dialOf } from './dials.ts';
import { featuresOf } from './features.ts';
import { falloff } from './imprint.ts';
import { readoutOf } from './readout.ts';
import { profileStart, type StatisticName, statisticNames, tailLength } from './record.ts';
import { type CycleParts, cellsOf } from './shape.ts';

/** Sums over the channels of each cell: [N, D, H, W]. */
export interface Planes {
  readonly absoluteAll: Tensor;
  readonly sum: Tensor;
  readonly absolute: Tensor;
  readonly squares: Tensor;
  readonly largest: Tensor;
  readonly sparse: Tensor;
  readonly temporal: Tensor | null;
  readonly weak: Tensor | null;
}

export function planesOf(rt: Runtime, x: Tensor, { shape, plan }: CycleParts): Planes {
  const channels = totalChannels(shape.layout);
  const c = rt.iota([1, 1, 1, 1, channels], 4);
  // One condition for each group, however often it is asked: conditions with numbers of their own would be computed each.
  const channelsOf = ([first, end]: readonly [number, number]): Tensor => {
    const below = c.less(end);
    return (first === 0 ? below : below.logicalAnd(c.greaterEqual(first))).broadcastTo(x.shape);
  };
  const isContent = channelsOf(rangeOf(shape.layout, 'content'));
  const content = (value: Tensor): Tensor => rt.where(isContent, value, 0);
  const size = x.abs();
  const [own, ownSize] = [content(x), content(size)];
  const axis = 4;
  return {
    absoluteAll: size.sum({ axis }),
    sum: own.sum({ axis }),
    absolute: ownSize.sum({ axis }),
    squares: own.square().sum({ axis }),
    largest: ownSize.max({ axis }),
    sparse: content(size.less(0.01).cast('f32')).sum({ axis }),
    weak: shape.model === 'full' ? content(size.less(0.1).cast('f32')).sum({ axis }) : null,
    temporal:
      plan.readout === 'slab' ? rt.where(channelsOf(rangeOf(shape.layout, 'temporal')), size, 0).sum({ axis }) : null,
  };
}

/**
 * The same planes through a view that changes nothing. What is computed from a sum over channels would otherwise be done along with
 * it and stored; here it belongs to the sums over cells, which read the planes once.
 */
function apart(planes: Planes): Planes {
  const made = Object.entries(planes).map(([name, plane]) => [name, plane?.flip(1).flip(1) ?? null]);
  return Object.fromEntries(made) as Planes;
}

/** Values over all cells: [N]. */
export type Totals = Readonly<Record<StatisticName, Tensor>>;

export interface Measured {
  /** Motors, statistics, and the factors of the next imprint: [N, ·]. */
  readonly tail: Tensor;
  /** Σ |content| per cell: [N, D, H, W]. */
  readonly activity: Tensor;
}

/** The tail of a cycle with this input; without one there are no motors yet. */
export function measure(rt: Runtime, x: Tensor, input: Tensor | null, parts: CycleParts): Tensor {
  const { tail, activity } = measured(rt, x, input, parts, null);
  const extras = extrasOf(rt, x, activity, parts);
  return extras.length > 0 ? rt.concat([tail, ...extras], 1) : tail;
}

/** What is behind the record and the profile, where it is wanted: attention, features. */
export function extrasOf(
  rt: Runtime,
  x: Tensor,
  activity: Tensor,
  { shape, attention, projection }: CycleParts,
): Tensor[] {
  const made: Tensor[] = [];
  if (attention) made.push(attentionOf(rt, activity, shape));
  if (projection) made.push(featuresOf(rt, x, shape, projection));
  return made;
}

/** `placeNoise` is added to the activity by which the emptiest cell is chosen. */
export function measured(
  rt: Runtime,
  x: Tensor,
  input: Tensor | null,
  parts: CycleParts,
  placeNoise: Tensor | null,
): Measured {
  const own = planesOf(rt, x, parts);
  const planes = apart(own);
  const cells = cellsOf(parts.shape);
  const flat = (t: Tensor): Tensor => t.reshape([-1, cells]);
  const total = (t: Tensor): Tensor => flat(t).sum({ axis: 1 });
  const around = parts.near.sumAround(planes.absoluteAll, 1);
  // Noise is told in mean activity; this is a sum over 27 cells and all channels.
  const noisy = placeNoise ? around.add(placeNoise.mul(27 * x.shape[4]!)) : around;
  const emptiest = flat(noisy).argmin({ axis: 1 });
  const [, height, width] = parts.shape.edges;
  const absolute = total(planes.absolute);
  const totals: Totals = {
    absoluteAll: total(planes.absoluteAll),
    sum: total(planes.sum),
    absolute,
    squares: total(planes.squares),
    largest: flat(planes.largest).max({ axis: 1 }),
    sparse: total(planes.sparse),
    temporal: planes.temporal ? total(planes.temporal) : rt.zeros([x.shape[0]!]),
    weak: planes.weak ? total(planes.weak) : rt.zeros([x.shape[0]!]),
    place0: emptiest.floorDivide(height * width).cast('f32'),
    place1: emptiest.floorDivide(width).mod(height).cast('f32'),
    place2: emptiest.mod(width).cast('f32'),
  };
  const gain = input && dialOf(input, 'gain', parts.shape);
  return { tail: tailOf(rt, readoutOf(rt, planes, totals, gain, parts), totals, parts), activity: own.absolute };
}

/** One tensor [N, ·] of values [N], chosen by position: no part of it is a kernel of its own. */
export function tailOf(rt: Runtime, motors: readonly Tensor[], totals: Totals, { shape, near }: CycleParts): Tensor {
  const length = tailLength(shape);
  const rows = totals.sum.shape[0]!;
  const k = rt.iota([1, length], 1).broadcastTo([rows, length]);
  const column = (t: Tensor): Tensor => t.reshape([rows, 1]).broadcastTo([rows, length]);
  const values = [...motors, ...statisticNames.map((name) => totals[name])];
  // Axis by axis: how far each position of the profile is from the place.
  let tail: Tensor = k.cast('f32').mul(0);
  for (const axis of [2, 1, 0] as const) {
    const n = shape.edges[axis];
    const off = k
      .sub(profileStart(shape, axis))
      .cast('f32')
      .sub(column(totals[`place${axis}`]))
      .abs();
    const distance = near.boundary === 'periodic' ? off.minimum(off.neg().add(n)) : off;
    tail = rt.where(k.less(profileStart(shape, axis) + n), falloff(rt, distance), tail);
  }
  for (let i = values.length - 1; i >= 0; i--) tail = rt.where(k.less(i + 1), column(values[i]!), tail);
  return tail;
}
