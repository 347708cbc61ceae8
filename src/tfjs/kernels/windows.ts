// Windows over the spatial axes of [N, …in, C]: what convolutions and pools have in common.

import type { backend_util } from '@tensorflow/tfjs-core';
import type { Tensor } from '../../index.ts';

/** How windows lie over an input; one number for each spatial axis. */
export interface Geometry {
  readonly input: readonly number[];
  readonly out: readonly number[];
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly dilation: readonly number[];
  /** Padding before the first element. */
  readonly before: readonly number[];
  /** Windows of one element that leave nothing out: each position is its own window. */
  readonly plain: boolean;
}

type Geometric = Omit<Geometry, 'plain'>;

const known = (g: Geometric): Geometry => ({
  ...g,
  plain: g.kernel.every((k, i) => k === 1 && g.stride[i] === 1 && g.before[i] === 0 && g.input[i] === g.out[i]),
});

export const geometry2 = (i: backend_util.Conv2DInfo): Geometry =>
  known({
    input: [i.inHeight, i.inWidth],
    out: [i.outHeight, i.outWidth],
    kernel: [i.filterHeight, i.filterWidth],
    stride: [i.strideHeight, i.strideWidth],
    dilation: [i.dilationHeight, i.dilationWidth],
    before: [i.padInfo.top, i.padInfo.left],
  });

export const geometry3 = (i: backend_util.Conv3DInfo): Geometry =>
  known({
    input: [i.inDepth, i.inHeight, i.inWidth],
    out: [i.outDepth, i.outHeight, i.outWidth],
    kernel: [i.filterDepth, i.filterHeight, i.filterWidth],
    stride: [i.strideDepth, i.strideHeight, i.strideWidth],
    dilation: [i.dilationDepth, i.dilationHeight, i.dilationWidth],
    before: [i.padInfo.front, i.padInfo.top, i.padInfo.left],
  });

export const product = (list: readonly number[]): number => list.reduce((a, b) => a * b, 1);

/** What the windows reach over on an axis. */
const reach = (g: Geometry, i: number): number =>
  (g.out[i]! - 1) * g.stride[i]! + (g.kernel[i]! - 1) * g.dilation[i]! + 1;

/** The input with exactly the border that the windows reach over. */
function bordered(x: Tensor, g: Geometry, fill: number): Tensor {
  const after = g.input.map((size, i) => reach(g, i) - size - g.before[i]!);
  const per = (f: (i: number) => readonly [number, number]) => [
    [0, 0] as const,
    ...g.input.map((_, i) => f(i)),
    [0, 0] as const,
  ];
  const grown = x.pad(
    per((i) => [g.before[i]!, Math.max(0, after[i]!)]),
    fill,
  );
  if (after.every((a) => a >= 0)) return grown;
  return grown.slice([null, ...g.input.map((_, i) => [0, reach(g, i)] as const)]);
}

/** A view of all windows: [N, …out, C, …kernel]. */
export function windowsOf(x: Tensor, g: Geometry, fill: number): Tensor {
  const axes = g.kernel.map((_, i) => i + 1);
  return bordered(x, g, fill).windows(g.kernel, { axes, stride: g.stride, dilation: g.dilation });
}

/** All positions of a kernel, in row-major order. */
export function positions(kernel: readonly number[]): number[][] {
  return kernel.reduce<number[][]>(
    (list, k) => list.flatMap((p) => Array.from({ length: k }, (_, i) => [...p, i])),
    [[]],
  );
}

/** For each position of the kernel the elements that it sees: [N, …out, C]. */
export function shiftedInputs(x: Tensor, g: Geometry, fill: number): Tensor[] {
  const border = bordered(x, g, fill);
  return positions(g.kernel).map((p) =>
    border.slice([
      null,
      ...p.map((at, i) => {
        const start = at * g.dilation[i]!;
        return [start, start + (g.out[i]! - 1) * g.stride[i]! + 1, g.stride[i]!] as const;
      }),
    ]),
  );
}

/** The slices of a tensor at all positions of a kernel, whose axes begin at `axis`. */
export function taps(x: Tensor, axis: number, kernel: readonly number[]): Tensor[] {
  const shape = [...x.shape.slice(0, axis), ...x.shape.slice(axis + kernel.length)];
  return positions(kernel).map((p) =>
    x.slice([...new Array<null>(axis).fill(null), ...p.map((at) => [at, at + 1] as const)]).reshape(shape),
  );
}

/** Up to this many positions a sum over a kernel is written out; above, the device loops over it. */
export const writtenOut = 9;

/** The opposite of windows: [N, …out, …kernel, C], each element added where its window took it from: [N, …in, C]. */
export function fold(x: Tensor, g: Geometry): Tensor {
  const s = g.kernel.length;
  if (product(g.kernel) <= writtenOut) {
    const at = positions(g.kernel);
    const parts = taps(x, 1 + s, g.kernel).map((t, i) => placed(t, at[i]!, g));
    return cropped(
      parts.reduce((a, b) => a.add(b)),
      g,
    );
  }
  const axes = g.kernel.map((_, i) => 1 + s + i);
  const skewed = g.kernel.reduce((t, _, i) => skew(t, 1 + i, 1 + s + i, g, i), x);
  return cropped(skewed.sum({ axis: axes }), g);
}

/**
 * Moves row k of a pair of axes (positions, kernel) k · dilation places further, with zeros around it. Without a loop: rows
 * that are stored `dilation` elements longer than they are read start that much later each.
 */
function skew(x: Tensor, axis: number, kernelAxis: number, g: Geometry, i: number): Tensor {
  const [size, dilation, k] = [length(g, i), g.dilation[i]!, g.kernel[i]!];
  const apart = spreadAxis(x, axis, 0, g.stride[i]!, size + dilation);
  const rest = apart.shape.map((_, a) => a).filter((a) => a !== axis && a !== kernelAxis);
  const order = [...rest, kernelAxis, axis];
  const lead = rest.map((a) => apart.shape[a]!);
  const rows = apart
    .permute(order)
    .reshape([...lead, k * (size + dilation)])
    .slice([...lead.map(() => null), [0, k * size]])
    .reshape([...lead, k, size]);
  return rows.permute(order.map((_, a) => order.indexOf(a)));
}

/** How long an axis is with its border, at least as long as the input needs. */
const length = (g: Geometry, i: number): number => Math.max(reach(g, i), g.before[i]! + g.input[i]!);

function placed(t: Tensor, position: readonly number[], g: Geometry): Tensor {
  return position.reduce((x, at, i) => spreadAxis(x, 1 + i, at * g.dilation[i]!, g.stride[i]!, length(g, i)), t);
}

/** Elements of an axis `stride` apart, from `start` on, with zeros between and around them. */
function spreadAxis(x: Tensor, axis: number, start: number, stride: number, size: number): Tensor {
  const count = x.shape[axis]!;
  const [head, tail] = [x.shape.slice(0, axis), x.shape.slice(axis + 1)];
  const none = (list: readonly number[]) => list.map(() => [0, 0] as const);
  const apart =
    stride === 1
      ? x
      : x
          .reshape([...head, count, 1, ...tail])
          .pad([...none(head), [0, 0], [0, stride - 1], ...none(tail)])
          .reshape([...head, count * stride, ...tail]);
  const used = (count - 1) * stride + 1;
  const trimmed = stride === 1 ? apart : apart.slice([...head.map(() => null), [0, used]]);
  return trimmed.pad([...none(head), [start, size - start - used], ...none(tail)]);
}

function cropped(x: Tensor, g: Geometry): Tensor {
  return x.slice([null, ...g.input.map((size, i) => [g.before[i]!, g.before[i]! + size] as const)]);
}

/** How many elements of the input, not of its border, each window sees along an axis. */
export function seen(g: Geometry, i: number): number[] {
  return Array.from({ length: g.out[i]! }, (_, o) => {
    const start = o * g.stride[i]! - g.before[i]!;
    const inside = (k: number) => start + k * g.dilation[i]! >= 0 && start + k * g.dilation[i]! < g.input[i]!;
    return Array.from({ length: g.kernel[i]! }, (_, k) => k).filter(inside).length;
  });
}
