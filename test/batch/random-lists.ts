// Random lists through the operations on lists, each compared with a loop over its items: for every device, here and on a GPU host.

import { expect } from 'vitest';
import { batchElementwise, batchMatmul, batchXor } from '../../src/batch/index.ts';
import type { Runtime, Tensor, TypedArray } from '../../src/index.ts';
import { random } from '../support/cpu.ts';
import { values } from '../support/facade.ts';
import { seed } from '../support/seed.ts';

export const bytes = (a: TypedArray): number[] => [...new Uint8Array(a.buffer, a.byteOffset, a.byteLength)];

export function xorLoop(data: TypedArray, key: TypedArray): number[] {
  const k = bytes(key);
  return bytes(data).map((b, i) => b ^ k[i % k.length]!);
}

/** Whether a product of f32 is as near to that of float64 as sums of k terms can be expected to be; of large ones every few elements. */
export function expectProduct(
  got: TypedArray,
  a: TypedArray,
  b: TypedArray,
  shape: readonly [number, number, number],
): void {
  const [m, k, n] = shape;
  expect(got.length).toBe(m * n);
  for (let at = 0; at < m * n; at += m * n > 4000 ? 61 : 1) {
    const [i, j] = [Math.floor(at / n), at % n];
    let [sum, size] = [0, 0];
    for (let l = 0; l < k; l++) {
      const p = Number(a[i * k + l]) * Number(b[l * n + j]);
      sum += p;
      size += Math.abs(p);
    }
    expect(Math.abs(Number(got[at]) - sum)).toBeLessThanOrEqual(2e-7 * Math.sqrt(k) * Math.max(size, 1e-30));
  }
}

const classes = [
  Float32Array,
  Float64Array,
  Int32Array,
  Uint32Array,
  BigInt64Array,
  BigUint64Array,
  Uint8Array,
] as const;

/** How far lists go: which classes, and which lengths; a device that compiles each kind of item anew has few of those. */
export interface Extent {
  readonly tensors: readonly (typeof classes)[number][];
  readonly lengths?: readonly number[];
}

export const everything: Extent = { tensors: classes };
/** For devices without 64 bits: empty, one element, odd, and more than a few of them. */
export const narrow: Extent = {
  tensors: [Float32Array, Int32Array, Uint32Array],
  lengths: [0, 1, 2, 3, 7, 8, 31, 64, 69],
};

/** Random lists: 1 to 40 items of 0 to 70 elements, few different lengths, so that groups form. */
function* lists(
  count: number,
  from: readonly (typeof classes)[number][],
  lengthsOf: readonly number[] | undefined,
): Generator<{ data: TypedArray[]; next: (below: number) => number }> {
  const draw = random(seed);
  const next = (below: number): number => Math.floor(draw() * below);
  for (let k = 0; k < count; k++) {
    const Class = from[next(from.length)]!;
    const any = (): number => (lengthsOf ? lengthsOf[next(lengthsOf.length)]! : [0, 1, next(70)][next(3)]!);
    const lengths = Array.from({ length: 1 + next(4) }, any);
    const data = Array.from({ length: 1 + next(40) }, () => {
      const words = Uint32Array.from({ length: 2 * lengths[next(lengths.length)]! }, () => next(2 ** 32));
      const raw = new Uint8Array(words.buffer).subarray(0, (words.length / 2) * Class.BYTES_PER_ELEMENT);
      return new Class(raw.slice().buffer) as TypedArray;
    });
    yield { data, next };
  }
}

/** Arrays of any class, xored as bytes. Those are compared with a loop in plain code. */
async function compareArrays(rt: Runtime, data: readonly TypedArray[], next: (below: number) => number): Promise<void> {
  const keys = data.map((d) => new Uint8Array(d.byteLength).map(() => next(256)));
  const typed = keys.map((k, i) => new (data[i]!.constructor as new (b: ArrayBuffer) => TypedArray)(k.buffer));
  const mixed = await batchXor(data, typed, { runtime: rt });
  mixed.forEach((m, i) => {
    expect(m.constructor).toBe(data[i]!.constructor);
    expect(bytes(m)).toEqual(data[i]!.length === 0 ? [] : xorLoop(data[i]!, typed[i]!));
  });
}

const elementwise = {
  square: (x: Tensor): Tensor => x.mul(x),
  add: (x: Tensor): Tensor => x.add(3),
  multiply: (x: Tensor): Tensor => x.mul(3),
} as const;

/** Tensors, some of them twice, some shaped as matrices; compared with each item alone. Returns how many. */
async function compareTensors(
  rt: Runtime,
  data: readonly TypedArray[],
  next: (below: number) => number,
): Promise<number> {
  const tensors = data.map((d) => rt.tensor(d, d.length % 2 === 0 ? [2, d.length / 2] : [d.length]) as Tensor);
  const keys = data.map((d) => new Uint8Array(d.byteLength).map(() => next(256)));
  const others = keys.map((k, i) => rt.fromBytes(k, tensors[i]!.dtype, [data[i]!.length]) as Tensor);
  const twice = tensors.length > 2;
  if (twice) for (const list of [tensors, others]) list.splice(1, 1, list[0]!)[0]!.dispose();
  const op = (['square', 'add', 'multiply'] as const)[next(3)]!;
  const got = await batchElementwise(tensors, op, 3, { runtime: rt });
  const alone = tensors.map((x) => elementwise[op](x));
  const crossed = await batchXor(tensors, others, { runtime: rt });
  // All reads are on their way at once: a device that is asked for each in turn answers as often.
  const read = (list: readonly Tensor[]): Promise<Uint8Array[]> => Promise.all(list.map((t) => t.bytes()));
  const [list, each, mixed] = await Promise.all([read(got), read(alone), read(crossed)]);
  for (let i = 0; i < got.length; i++) {
    expect([...list[i]!]).toEqual([...each[i]!]);
    expect([got[i]!.dtype, ...got[i]!.shape]).toEqual([alone[i]!.dtype, ...alone[i]!.shape]);
    const at = i === 1 && twice ? 0 : i;
    expect([...mixed[i]!]).toEqual(bytes(data[at]!).map((b, j) => b ^ keys[at]![j]!));
  }
  for (const t of new Set([...got, ...alone, ...crossed, ...tensors, ...others])) t.dispose();
  return got.length;
}

/** How many items were compared. */
export async function compare(rt: Runtime, count: number, extent: Extent = everything): Promise<number> {
  let seen = 0;
  for (const { data, next } of lists(count, extent.tensors, extent.lengths)) {
    await compareArrays(rt, data, next);
    seen += await compareTensors(rt, data, next);
  }
  if (extent.tensors.length === classes.length) return seen;
  // Arrays of the other classes too: there are only bytes.
  const wide = classes.filter((c) => !extent.tensors.includes(c));
  for (const { data, next } of lists(count, wide, extent.lengths)) await compareArrays(rt, data, next);
  return seen;
}

/** `shapes`: so many different ones in all, if given. */
export async function compareProducts(rt: Runtime, count: number, shapesOf?: number): Promise<void> {
  const draw = random(seed + 1);
  const next = (below: number): number => Math.floor(draw() * below);
  const any = (): readonly [number, number, number] => [1 + next(9), 1 + next(9), 1 + next(9)];
  const few = shapesOf === undefined ? null : Array.from({ length: shapesOf }, any);
  for (let k = 0; k < count; k++) {
    const kinds = Array.from({ length: 1 + next(3) }, () => (few ? few[next(few.length)]! : any()));
    const shapes = Array.from({ length: 1 + next(12) }, () => kinds[next(kinds.length)]!);
    const a = shapes.map(([m, l], i) => values(m * l, i + k));
    const b = shapes.map(([, l, n], i) => values(l * n, i + k + 500));
    const arrays = await batchMatmul(a, b, { runtime: rt, shapes });
    const ta = a.map((x, i) => rt.tensor(x, [shapes[i]![0], shapes[i]![1]]) as Tensor);
    const tb = b.map((x, i) => rt.tensor(x, [shapes[i]![1], shapes[i]![2]]) as Tensor);
    const tensors = await batchMatmul(ta, tb, { runtime: rt });
    const read = await Promise.all(tensors.map((t) => t.data()));
    for (let i = 0; i < shapes.length; i++) {
      expectProduct(arrays[i]!, a[i]!, b[i]!, shapes[i]!);
      expectProduct(read[i] as Float32Array, a[i]!, b[i]!, shapes[i]!);
      expect(tensors[i]!.shape).toEqual([shapes[i]![0], shapes[i]![2]]);
    }
    for (const t of [...ta, ...tb, ...tensors]) t.dispose();
  }
}
