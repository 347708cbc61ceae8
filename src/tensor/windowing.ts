// Windows over axes of a node, and their opposite, `folded`: what convolutions and pools have in common.

import { shown } from '../base/arguments.ts';
import { accumulatorFor } from '../base/dtype.ts';
import { checkCount, type Shape, show, sizeOf } from '../base/shape.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import { args } from '../graph/args.ts';
import { makeNode, type Node } from '../graph/node.ts';
import { alu, cast, permute, reshape, type ScalarInput } from './build.ts';
import { reduce } from './reductions.ts';
import { padded, strided } from './views.ts';

export type PerAxis = number | readonly number[];
export type Sides = readonly (readonly [number, number])[];

export interface WindowSettings {
  readonly stride?: PerAxis | undefined;
  /** On both sides of each windowed axis, or `[before, after]` for each; 'same' keeps the size for stride 1. */
  readonly padding?: PerAxis | Sides | 'same' | undefined;
  readonly dilation?: PerAxis | undefined;
}

/** How windows lie over axes of a shape: an entry of each list for each windowed axis. */
export interface Windowing {
  readonly axes: readonly number[];
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  /** Elements before and after the axis that windows see as padding. */
  readonly sides: Sides;
  /** How many windows there are. */
  readonly counts: readonly number[];
}

/** By default over the last axes. Refuses windows that do not fit. */
export function windowing(
  shape: Shape,
  window: readonly number[],
  options: WindowSettings,
  where: string,
  axes: readonly number[] = window.map((_, i) => shape.length - window.length + i),
): Windowing {
  const count = window.length;
  if (count > shape.length || axes.length !== count) {
    throw new ShapeError({
      code: 'BAD_RANK',
      message: `${where}: a window ${show(window)} over a tensor of shape ${show(shape)}`,
      fix: 'Give one size for each windowed axis: [2, 2].',
      where,
    });
  }
  const sizes = perAxis(window, count, 'the window', 1, where);
  const strides = perAxis(options.stride ?? 1, count, 'stride', 1, where);
  const dilations = perAxis(options.dilation ?? 1, count, 'dilation', 1, where);
  const reach = sizes.map((k, i) => (k - 1) * dilations[i]! + 1);
  const sides = sidesOf(options.padding ?? 0, reach, where);
  const counts = sizes.map((size, i) => {
    const length = shape[axes[i]!]! + sides[i]![0] + sides[i]![1];
    const n = Math.floor((length - reach[i]!) / strides[i]!) + 1;
    if (n < 1) {
      throw new ShapeError({
        code: 'SHAPE_MISMATCH',
        message: `${where}: a window of ${size} (reaching over ${reach[i]}) does not fit axis ${axes[i]} of ${show(shape)}`,
        fix: 'Use a smaller window or more padding.',
        where,
      });
    }
    return n;
  });
  return { axes, sizes, strides, dilations, sides, counts };
}

function sidesOf(padding: PerAxis | Sides | 'same', reach: readonly number[], where: string): Sides {
  if (padding === 'same') return reach.map((r) => [Math.floor((r - 1) / 2), Math.ceil((r - 1) / 2)]);
  if (!Array.isArray(padding) || !Array.isArray(padding[0]))
    return perAxis(padding as PerAxis, reach.length, 'padding', 0, where).map((p) => [p, p]);
  const pairs = padding as Sides;
  const [before, after] = [0, 1].map((side) => pairs.map((p) => p[side]!)) as [number[], number[]];
  perAxis(before, reach.length, 'padding', 0, where);
  perAxis(after, reach.length, 'padding', 0, where);
  return pairs;
}

/** A number for each axis, from one for all or one for each. */
function perAxis(value: PerAxis, count: number, name: string, least: number, where: string): readonly number[] {
  const list = typeof value === 'number' ? new Array<number>(count).fill(value) : value;
  if (!Array.isArray(list) || list.length !== count || list.some((v) => !Number.isInteger(v) || v < least)) {
    throw new ArgumentError({
      code: 'BAD_OPTION',
      message: `${where}: ${name} is ${shown(value)}`,
      fix: `Give a whole number of at least ${least}, or one for each of the ${count} axes.`,
      where,
    });
  }
  return list;
}

/** The windowed axes get the number of windows, and the windows become new last axes. */
export function windowed(x: Node, w: Windowing, fill: ScalarInput, where: string): Node {
  const shape = x.shape.values;
  const inner = padded(x, widthsOf(shape, w), fill, where);
  const rows = w.sizes.map((size, i) => ({
    axis: w.axes[i]!,
    size,
    stride: w.strides[i]!,
    dilation: w.dilations[i]!,
  }));
  const result = checkCount([...countsOf(shape, w), ...w.sizes], where);
  return makeNode('window', x.dtype, result, [inner], args.window(rows));
}

const widthsOf = (shape: Shape, w: Windowing): Sides => shape.map((_, i) => w.sides[w.axes.indexOf(i)] ?? [0, 0]);

/** A shape with the number of windows in place of the windowed axes. */
const countsOf = (shape: Shape, w: Windowing): Shape => shape.map((d, i) => w.counts[w.axes.indexOf(i)] ?? d);

/** Up to this many positions a sum over a window is written out; above, the device loops over them. */
const writtenOut = 9;

/** The opposite of windows over `shape`: every element of a window is added where it was taken from. */
export function folded(windows: Node, shape: Shape, w: Windowing): Node {
  // Windows of half floats are added in f32, as all sums are.
  const x = cast(windows, accumulatorFor(windows.dtype));
  const sum = sizeOf(w.sizes) <= writtenOut ? placedSum(x, shape, w) : skewedSum(x, shape, w);
  const starts = shape.map((_, i) => w.sides[w.axes.indexOf(i)]?.[0] ?? 0);
  return cast(
    strided(
      sum,
      starts,
      shape.map(() => 1),
      shape,
    ),
    windows.dtype,
  );
}

/** The length of windowed axis number `i` with its padding. */
const lengthOf = (shape: Shape, w: Windowing, i: number): number =>
  shape[w.axes[i]!]! + w.sides[i]![0] + w.sides[i]![1];

/** Each position of the window by itself, moved to where it belongs. */
function placedSum(x: Node, shape: Shape, w: Windowing): Node {
  const kept = countsOf(shape, w);
  const parts = positionsOf(w.sizes).map((at) => {
    const starts = [...kept.map(() => 0), ...at];
    const ones = starts.map(() => 1);
    const one = reshape(strided(x, starts, ones, [...kept, ...at.map(() => 1)]), kept);
    return at.reduce(
      (y, p, i) => spread(y, w.axes[i]!, p * w.dilations[i]!, w.strides[i]!, lengthOf(shape, w, i)),
      one,
    );
  });
  return parts.reduce((a, b) => alu('add', a, b));
}

/** All positions of a window, in row-major order. */
export function positionsOf(sizes: readonly number[]): number[][] {
  return sizes.reduce<number[][]>((list, k) => list.flatMap((p) => [...Array(k).keys()].map((i) => [...p, i])), [[]]);
}

/** Elements of an axis `stride` apart, from `start` on, with zeros between and around them. */
function spread(x: Node, axis: number, start: number, stride: number, size: number): Node {
  const shape = x.shape.values;
  const [head, tail] = [shape.slice(0, axis), shape.slice(axis + 1)];
  const count = shape[axis]!;
  const none = (list: Shape): Sides => list.map(() => [0, 0]);
  const used = (count - 1) * stride + 1;
  let apart = x;
  if (stride > 1) {
    const rows = reshape(x, [...head, count, 1, ...tail]);
    const gaps = padded(rows, [...none(head), [0, 0], [0, stride - 1], ...none(tail)], 0, 'fold');
    const line = reshape(gaps, [...head, count * stride, ...tail]);
    const zeros = line.shape.values.map(() => 0);
    apart = strided(
      line,
      zeros,
      zeros.map(() => 1),
      [...head, used, ...tail],
    );
  }
  return padded(apart, [...none(head), [start, size - start - used], ...none(tail)], 0, 'fold');
}

/** All positions in one reduction: row k of a pair of axes (windows, positions) is moved k · dilation places further. */
function skewedSum(x: Node, shape: Shape, w: Windowing): Node {
  const first = shape.length;
  const skewed = w.axes.reduce((y, axis, i) => skew(y, axis, first + i, w, i, lengthOf(shape, w, i)), x);
  return reduce('sum', skewed, { axis: w.axes.map((_, i) => first + i) }, 'fold');
}

/** Without a loop: rows that are stored `dilation` elements longer than they are read start that much later each. */
function skew(x: Node, axis: number, windowAxis: number, w: Windowing, i: number, size: number): Node {
  const [dilation, k] = [w.dilations[i]!, w.sizes[i]!];
  const apart = spread(x, axis, 0, w.strides[i]!, size + dilation);
  const axes = [...apart.shape.values.keys()];
  const order = [...axes.filter((a) => a !== axis && a !== windowAxis), windowAxis, axis];
  const turned = permute(apart, order);
  const lead = turned.shape.values.slice(0, -2);
  const line = reshape(turned, [...lead, k * (size + dilation)]);
  const zeros = line.shape.values.map(() => 0);
  const cut = strided(
    line,
    zeros,
    zeros.map(() => 1),
    [...lead, k * size],
  );
  return permute(
    reshape(cut, [...lead, k, size]),
    axes.map((a) => order.indexOf(a)),
  );
}
