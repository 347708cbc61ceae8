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
  /** Elements of the input that the windows reach: TF.js's windows may end before the input does. */
  readonly reached: readonly number[];
  /** How the windows lie over what is reached, as options of the core. */
  readonly options: {
    readonly stride: readonly number[];
    readonly dilation: readonly number[];
    readonly padding: readonly (readonly [number, number])[];
  };
}

const remembered = new Map<string, Geometry>();
const mostRemembered = 4096;

/** Working a geometry out takes longer than a kernel's node: the same layer comes again and again. */
export function geometryFor(key: string, make: () => Geometry): Geometry {
  let g = remembered.get(key);
  if (!g) {
    if (remembered.size >= mostRemembered) remembered.clear();
    remembered.set(key, (g = make()));
  }
  return g;
}

function known(g: Omit<Geometry, 'reached' | 'options'>): Geometry {
  const length = g.out.map((n, i) => (n - 1) * g.stride[i]! + (g.kernel[i]! - 1) * g.dilation[i]! + 1);
  const reached = length.map((n, i) => Math.max(0, Math.min(g.input[i]!, n - g.before[i]!)));
  const padding = length.map((n, i) => {
    const before = Math.min(g.before[i]!, n);
    return [before, n - before - reached[i]!] as const;
  });
  return { ...g, reached, options: { stride: g.stride, dilation: g.dilation, padding } };
}

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

/** The elements that the windows reach. */
export function cropped(x: Tensor, g: Geometry): Tensor {
  if (g.reached.every((n, i) => n === g.input[i])) return x;
  return x.slice([null, ...g.reached.map((n) => [0, n] as const)]);
}

const axesOf = (g: Geometry): number[] => g.kernel.map((_, i) => i + 1);

/** The reached part of the input with its border. */
const bordered = (x: Tensor, g: Geometry, fill: number): Tensor =>
  cropped(x, g).pad([[0, 0], ...g.options.padding, [0, 0]], fill);

/** A view of all windows: [N, …out, C, …kernel]. */
export function windowsOf(x: Tensor, g: Geometry, fill: number): Tensor {
  return bordered(x, g, fill).windows(g.kernel, { axes: axesOf(g), stride: g.stride, dilation: g.dilation });
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
  const [n, channels] = [x.shape[0]!, x.shape[x.rank - 1]!];
  const windows = x.permute([0, ...axesOf(g), 2 * s + 1, ...g.kernel.map((_, i) => 1 + s + i)]);
  const reached = windows.fold([n, ...g.reached, channels], { ...g.options, axes: axesOf(g) });
  return grown(reached, g);
}

/** What the windows do not reach gets zeros. */
export function grown(x: Tensor, g: Geometry): Tensor {
  return x.pad([[0, 0], ...g.input.map((size, i) => [0, size - g.reached[i]!] as const), [0, 0]]);
}

/** How many elements of the input, not of its border, each window sees along an axis. */
export function seen(g: Geometry, i: number): number[] {
  return Array.from({ length: g.out[i]! }, (_, o) => {
    const start = o * g.stride[i]! - g.before[i]!;
    const inside = (k: number) => start + k * g.dilation[i]! >= 0 && start + k * g.dilation[i]! < g.input[i]!;
    return Array.from({ length: g.kernel[i]! }, (_, k) => k).filter(inside).length;
  });
}
