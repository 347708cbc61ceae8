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

/** Random lists: 1 to 40 items of 0 to 70 elements, few different lengths, so that groups form. */
function* lists(count: number, floats: boolean): Generator<{ data: TypedArray[]; next: (below: number) => number }> {
  const draw = random(seed);
  const next = (below: number): number => Math.floor(draw() * below);
  for (let k = 0; k < count; k++) {
    const Class = floats ? [Float32Array, Int32Array, Uint32Array][next(3)]! : classes[next(classes.length)]!;
    const lengths = Array.from({ length: 1 + next(4) }, () => [0, 1, next(70)][next(3)]!);
    const data = Array.from({ length: 1 + next(40) }, () => {
      const words = Uint32Array.from({ length: 2 * lengths[next(lengths.length)]! }, () => next(2 ** 32));
      const raw = new Uint8Array(words.buffer).subarray(0, (words.length / 2) * Class.BYTES_PER_ELEMENT);
      return new Class(raw.slice().buffer) as TypedArray;
    });
    yield { data, next };
  }
}

/** How many items were compared. */
export async function compare(rt: Runtime, count: number, floats: boolean): Promise<number> {
  let seen = 0;
  for (const { data, next } of lists(count, floats)) {
    const keys = data.map((d) => new Uint8Array(d.byteLength).map(() => next(256)));
    const typed = keys.map((k, i) => new (data[i]!.constructor as new (b: ArrayBuffer) => TypedArray)(k.buffer));
    const mixed = await batchXor(data, typed, { runtime: rt });
    mixed.forEach((m, i) => {
      expect(bytes(m)).toEqual(data[i]!.length === 0 ? [] : xorLoop(data[i]!, typed[i]!));
    });
    // Some items twice, some shaped as matrices.
    const tensors = data.map((d) => rt.tensor(d, d.length % 2 === 0 ? [2, d.length / 2] : [d.length]) as Tensor);
    if (tensors.length > 2) tensors.splice(1, 1, tensors[0]!)[0]!.dispose();
    const op = (['square', 'add', 'multiply'] as const)[next(3)]!;
    const got = await batchElementwise(tensors, op, 3, { runtime: rt });
    for (let i = 0; i < got.length; i++) {
      const x = tensors[i]!;
      const alone = op === 'square' ? x.mul(x) : op === 'add' ? x.add(3) : x.mul(3);
      expect([...(await got[i]!.bytes())]).toEqual([...(await alone.bytes())]);
      expect([got[i]!.dtype, ...got[i]!.shape]).toEqual([alone.dtype, ...alone.shape]);
      alone.dispose();
      got[i]!.dispose();
      seen++;
    }
    const others = keys.map((k, i) => rt.fromBytes(k, tensors[i]!.dtype, [data[i]!.length]) as Tensor);
    if (tensors.length > 2) others.splice(1, 1, others[0]!)[0]!.dispose();
    const crossed = await batchXor(tensors, others, { runtime: rt });
    for (let i = 0; i < crossed.length; i++) {
      const want = bytes(data[i === 1 && tensors.length > 2 ? 0 : i]!);
      const key = keys[i === 1 && tensors.length > 2 ? 0 : i]!;
      expect([...(await crossed[i]!.bytes())]).toEqual(want.map((b, j) => b ^ key[j]!));
      crossed[i]!.dispose();
    }
    for (const t of new Set([...tensors, ...others])) t.dispose();
  }
  return seen;
}

export async function compareProducts(rt: Runtime, count: number): Promise<void> {
  const draw = random(seed + 1);
  const next = (below: number): number => Math.floor(draw() * below);
  for (let k = 0; k < count; k++) {
    const kinds = Array.from({ length: 1 + next(3) }, () => [1 + next(9), 1 + next(9), 1 + next(9)] as const);
    const shapes = Array.from({ length: 1 + next(12) }, () => kinds[next(kinds.length)]!);
    const a = shapes.map(([m, l], i) => values(m * l, i + k));
    const b = shapes.map(([, l, n], i) => values(l * n, i + k + 500));
    const arrays = await batchMatmul(a, b, { runtime: rt, shapes });
    const ta = a.map((x, i) => rt.tensor(x, [shapes[i]![0], shapes[i]![1]]) as Tensor);
    const tb = b.map((x, i) => rt.tensor(x, [shapes[i]![1], shapes[i]![2]]) as Tensor);
    const tensors = await batchMatmul(ta, tb, { runtime: rt });
    for (let i = 0; i < shapes.length; i++) {
      expectProduct(arrays[i]!, a[i]!, b[i]!, shapes[i]!);
      expectProduct((await tensors[i]!.data()) as Float32Array, a[i]!, b[i]!, shapes[i]!);
      expect(tensors[i]!.shape).toEqual([shapes[i]![0], shapes[i]![2]]);
    }
    for (const t of [...ta, ...tb, ...tensors]) t.dispose();
  }
}
