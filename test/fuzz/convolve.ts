// The steps of a random graph with windows: convolutions over one to three axes, transposed ones, gradients of kernels, windows and their
// opposite.
//
// A convolution is a list of triples: a place of the result, one of the input and one of the kernel. Each of the three is a sum over the
// products of the other two, so one list is the definition of all three ops.

import { accumulatorFor, isFloat, promote } from '../../src/base/dtype.ts';
import { sizeOf } from '../../src/base/shape.ts';
import { dotProduct, floatSum, type Term } from './accumulate.ts';
import { wrapped } from './contract.ts';
import { cast } from './elementwise.ts';
import { type Dice, type Move, one, pickOf, type Row } from './move.ts';
import { type Bounded, countOf, fill, ravel, unravel, whole, zeroOf } from './value.ts';

/** How windows lie over an axis. */
interface Axis {
  readonly length: number;
  readonly kernel: number;
  readonly stride: number;
  readonly dilation: number;
  readonly sides: readonly [number, number];
}

const reachOf = ({ kernel, dilation }: Axis): number => (kernel - 1) * dilation + 1;
const windowsOf = (a: Axis): number => Math.floor((a.length + a.sides[0] + a.sides[1] - reachOf(a)) / a.stride) + 1;
/** Where element `k` of window `i` lies in the axis; outside of it where it is padding. */
const placeOf = (a: Axis, i: number, k: number): number => i * a.stride + k * a.dilation - a.sides[0];

interface Conv {
  readonly last: boolean;
  readonly batch: number;
  readonly groups: number;
  /** Channels of one group. */
  readonly inputs: number;
  readonly outputs: number;
  readonly axes: readonly Axis[];
}

const arranged = (c: Conv, batch: number, channels: number, sizes: readonly number[]): number[] =>
  c.last ? [batch, ...sizes, channels] : [batch, channels, ...sizes];

const inputShape = (c: Conv): number[] =>
  arranged(
    c,
    c.batch,
    c.groups * c.inputs,
    c.axes.map((a) => a.length),
  );
const resultShape = (c: Conv): number[] => arranged(c, c.batch, c.groups * c.outputs, c.axes.map(windowsOf));
const kernelShape = (c: Conv): number[] => {
  const sizes = c.axes.map((a) => a.kernel);
  return c.last ? [...sizes, c.inputs, c.groups * c.outputs] : [c.groups * c.outputs, c.inputs, ...sizes];
};

/** More products than are worth evaluating one by one. */
const heavy = (c: Conv): boolean => sizeOf(resultShape(c)) * c.inputs * sizeOf(c.axes.map((a) => a.kernel)) > 20_000;

type Place = 'result' | 'input' | 'kernel';
type Triple = Readonly<Record<Place, number>>;

function triples(c: Conv): Triple[] {
  const found: Triple[] = [];
  const [input, kernel, result] = [inputShape(c), kernelShape(c), resultShape(c)];
  const spatial = c.axes.length;
  const sizes = c.axes.map((a) => a.kernel);
  for (let r = 0; r < sizeOf(result); r++) {
    const at = unravel(r, result);
    const [out, where] = c.last ? [at[spatial + 1]!, at.slice(1, -1)] : [at[1]!, at.slice(2)];
    const group = Math.floor(out / c.outputs);
    for (let k = 0; k < sizeOf(sizes); k++) {
      const within = unravel(k, sizes);
      const place = c.axes.map((a, i) => placeOf(a, where[i]!, within[i]!));
      if (place.some((p, i) => p < 0 || p >= c.axes[i]!.length)) continue;
      for (let ch = 0; ch < c.inputs; ch++) {
        found.push({
          result: r,
          input: ravel(arranged(c, at[0]!, group * c.inputs + ch, place), input),
          kernel: ravel(c.last ? [...within, ch, out] : [out, ch, ...within], kernel),
        });
      }
    }
  }
  return found;
}

/** One of the three from the other two. */
function contracted(c: Conv, to: Place, shape: readonly number[], left: [Place, Bounded], right: [Place, Bounded]) {
  const dtype = promote(left[1].dtype, right[1].dtype);
  const [a, b] = [cast(left[1], dtype), cast(right[1], dtype)];
  const pairs: [number, number][][] = Array.from({ length: countOf(shape) }, () => []);
  for (const t of triples(c)) pairs[t[to]]!.push([t[left[0]], t[right[0]]]);
  return fill(dtype, shape, (i) => dotProduct(dtype, a, b, pairs[i]!));
}

interface Options {
  readonly stride?: number | readonly number[];
  readonly dilation?: number | readonly number[];
  readonly padding?: number | readonly number[] | readonly (readonly [number, number])[];
  readonly groups?: number;
  readonly layout?: string;
}

/** What an op of this name gives of two tensors, as its definition says; `shape` is that of the result where the op is told it. */
export function convolved(
  op: string,
  x: Bounded,
  y: Bounded,
  shape: readonly number[] | null,
  options: Options,
): Bounded {
  const transposed = op === 'convTranspose';
  const [input, kernel] = transposed
    ? [shape!, y.shape]
    : op === 'convKernelGradient'
      ? [x.shape, shape!]
      : [x.shape, y.shape];
  const { groups = 1, layout, stride = 1, dilation = 1, padding = 0 } = options;
  const last = layout === 'channelsLast';
  const [sizes, kernels] = last ? [input.slice(1, -1), kernel.slice(0, -2)] : [input.slice(2), kernel.slice(2)];
  const each = <T>(v: T | readonly T[], i: number): T => (Array.isArray(v) ? (v as readonly T[])[i]! : (v as T));
  const axes = sizes.map((length, i): Axis => {
    const side = each<number | readonly [number, number]>(padding, i);
    const sides = typeof side === 'number' ? ([side, side] as const) : side;
    return { length, kernel: kernels[i]!, stride: each(stride, i), dilation: each(dilation, i), sides };
  });
  const outputs = (last ? kernel[kernel.length - 1]! : kernel[0]!) / groups;
  const inputs = last ? kernel[kernel.length - 2]! : kernel[1]!;
  const c = { last, batch: input[0]!, groups, inputs, outputs, axes };
  if (transposed) return contracted(c, 'input', input, ['result', x], ['kernel', y]);
  if (op === 'convKernelGradient') return contracted(c, 'kernel', kernel, ['input', x], ['result', y]);
  return contracted(c, 'result', resultShape(c), ['input', x], ['kernel', y]);
}

/** Stride, dilation, padding and kernel for an axis, whatever its length; null where no window fits. */
function axisOf(length: number, dice: Dice): Axis | null {
  const sides = [dice(2), dice(3)] as const;
  const dilation = 1 + dice(2);
  const room = Math.floor((length + sides[0] + sides[1] - 1) / dilation) + 1;
  if (length + sides[0] + sides[1] < 1) return null;
  return { length, kernel: 1 + dice(Math.min(room, 4)), stride: 1 + dice(3), dilation, sides };
}

const optionsOf = (c: Conv): object => ({
  stride: c.axes.map((a) => a.stride),
  dilation: c.axes.map((a) => a.dilation),
  padding: c.axes.map((a) => a.sides),
  groups: c.groups,
  ...(c.last ? { layout: 'channelsLast' } : {}),
});

const divisors = (n: number): number[] => (n === 0 ? [1] : [1, 2, 3, 4, n].filter((d) => n % d === 0));

/** The axes of `x` as batch, channels and the rest; null where it is no input of a convolution. */
function parts(x: Bounded, dice: Dice): { last: boolean; batch: number; channels: number; sizes: number[] } | null {
  const rank = x.shape.length;
  if (rank < 3 || rank > 5) return null;
  const last = dice(2) === 1;
  return {
    last,
    batch: x.shape[0]!,
    channels: last ? x.shape[rank - 1]! : x.shape[1]!,
    sizes: last ? x.shape.slice(1, -1) : x.shape.slice(2),
  };
}

/** A convolution that takes `x`. */
function convOver(x: Bounded, dice: Dice): Conv | null {
  const p = parts(x, dice);
  if (!p) return null;
  const groups = pickOf(divisors(p.channels), dice);
  const outputs = (1 + dice(4)) % 4;
  const axes = p.sizes.map((d) => axisOf(d, dice));
  if (axes.some((a) => a === null)) return null;
  const { last, batch, channels } = p;
  const c = { last, batch, groups, inputs: channels / groups, outputs, axes: axes as Axis[] };
  return heavy(c) ? null : c;
}

export const convRow: Row = (x, dice, { fresh }) => {
  const c = convOver(x, dice);
  if (!c) return null;
  const kernel = fresh(x.dtype, kernelShape(c), dice(2) ? 'any' : 'whole');
  const result = contracted(c, 'result', resultShape(c), ['input', x], ['kernel', kernel]);
  return one(`conv${c.axes.length}d`, result, [optionsOf(c)], [kernel]);
};

export const convKernelRow: Row = (x, dice, { fresh }) => {
  const c = convOver(x, dice);
  if (!c) return null;
  const gradient = fresh(x.dtype, resultShape(c), dice(2) ? 'any' : 'whole');
  const result = contracted(c, 'kernel', kernelShape(c), ['input', x], ['result', gradient]);
  return one('convKernelGradient', result, [kernelShape(c), optionsOf(c)], [gradient]);
};

/** `x` is the result of a convolution here, and what it is made from is asked for. */
export const convTransposeRow: Row = (x, dice, { fresh }) => {
  const p = x.dtype === 'bool' ? null : parts(x, dice);
  if (!p || p.sizes.some((d) => d === 0)) return null;
  const groups = pickOf(divisors(p.channels), dice);
  const axes = p.sizes.map((count): Axis => {
    const a = { kernel: 1 + dice(4), stride: 1 + dice(3), dilation: 1 + dice(2), sides: [dice(2), dice(2)] as const };
    const least = (count - 1) * a.stride + (a.kernel - 1) * a.dilation + 1 - a.sides[0] - a.sides[1];
    return { ...a, length: least + dice(a.stride) };
  });
  if (axes.some((a) => a.length < 1)) return null;
  const { last, batch, channels } = p;
  const c: Conv = { last, batch, groups, inputs: 1 + dice(3), outputs: channels / groups, axes };
  if (heavy(c)) return null;
  const kernel = fresh(x.dtype, kernelShape(c), dice(2) ? 'any' : 'whole');
  const result = contracted(c, 'input', inputShape(c), ['result', x], ['kernel', kernel]);
  return one('convTranspose', result, [inputShape(c), optionsOf(c)], [kernel]);
};

/** Every window over some axes as axes of its own, or added up again where they came from. */
export const windowsRow: Row = (x, dice) => {
  const rank = x.shape.length;
  const count = Math.min(rank, 1 + dice(2));
  if (count === 0 || rank > 4) return null;
  // The last axes, or any, in any order: sizes and options go with the axes as they are listed.
  const named = dice(2) === 0;
  const over = Array.from({ length: count }, (_, i) => rank - count + i);
  if (named) {
    const shift = dice(rank);
    over.forEach((a, i) => {
      over[i] = (a + shift) % rank;
    });
    if (dice(2)) over.reverse();
  }
  const found = over.map((a) => axisOf(x.shape[a]!, dice));
  if (found.some((a) => a === null)) return null;
  const axes = found as Axis[];
  const sizes = axes.map((a) => a.kernel);
  const shape = [...x.shape.map((d, i) => (over.includes(i) ? windowsOf(axes[over.indexOf(i)]!) : d)), ...sizes];
  if (sizeOf(shape) > 20_000) return null;
  const from = (i: number): number => {
    const at = unravel(i, shape);
    const place = at.slice(0, rank).map((p, d) => {
      const k = over.indexOf(d);
      return k < 0 ? p : placeOf(axes[k]!, p, at[rank + k]!);
    });
    return place.some((p, d) => p < 0 || p >= x.shape[d]!) ? -1 : ravel(place, x.shape);
  };
  const windows = fill(x.dtype, shape, (i) => {
    const at = from(i);
    return at < 0 ? [zeroOf(x.dtype), 0] : [x.values[at]!, x.errors[at]!];
  });
  const options = {
    stride: axes.map((a) => a.stride),
    dilation: axes.map((a) => a.dilation),
    padding: axes.map((a) => a.sides),
    ...(named ? { axes: over.map((a) => (dice(3) === 0 ? a - rank : a)) } : {}),
  };
  if (dice(2) === 0) return one('windows', windows, [sizes, options]);
  return folds(x, windows, from, [sizes, options]);
};

/** `x.windows(…).fold(x.shape, …)`: every element as often as windows see it. */
function folds(
  x: Bounded,
  windows: Bounded,
  from: (i: number) => number,
  args: readonly [object, object],
): Move | null {
  if (x.dtype === 'bool') return null;
  const terms: Term[][] = x.values.map(() => []);
  windows.values.forEach((v, i) => {
    const at = from(i);
    if (at >= 0) terms[at]!.push([Number(v), windows.errors[i]!]);
  });
  const result = fill(x.dtype, x.shape, (i) => {
    if (isFloat(x.dtype)) return floatSum(terms[i]!, accumulatorFor(x.dtype), x.dtype);
    return whole(wrapped(x.dtype, BigInt(x.values[i]!) * BigInt(terms[i]!.length)), x.errors[i]!);
  });
  return one('windowsAndFold', result, [...args, [...x.shape]]);
}
