// Operations on lists against a loop over the items: bytes for XOR and elementwise work, the bound of f32 products for matrices.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchElementwise, batchMatmul, batchXor, batchXorWithNewKeys } from '../../src/batch/index.ts';
import { createRuntime, DeviceUnavailable, type Runtime, type Tensor, type TypedArray } from '../../src/index.ts';
import { random } from '../support/cpu.ts';
import { all } from '../support/extent.ts';
import { fakeGpu, values } from '../support/facade.ts';
import { seed } from '../support/seed.ts';

let rt: Runtime;
beforeAll(async () => {
  rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
});
afterAll(() => rt.close());

const bytes = (a: TypedArray): number[] => [...new Uint8Array(a.buffer, a.byteOffset, a.byteLength)];

function xorLoop(data: TypedArray, key: TypedArray): number[] {
  const k = bytes(key);
  return bytes(data).map((b, i) => b ^ k[i % k.length]!);
}

/** Whether a product of f32 is as near to that of float64 as sums of k terms can be expected to be; of large ones every few elements. */
function expectProduct(got: TypedArray, a: TypedArray, b: TypedArray, shape: readonly [number, number, number]): void {
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

describe('the cases of the contract', () => {
  it('3 XORs of 5 values, with a key each and with one for all; inputs stay', async () => {
    const data = [Uint8Array.of(1, 2, 3, 4, 5), Uint8Array.of(9, 8, 7, 6, 5), new Uint8Array(5)];
    const keys = data.map((_, i) => Uint8Array.from({ length: 5 }, (_, j) => 17 * i + 31 * j));
    const before = data.map((d) => [...d]);
    const each = await batchXor(data, keys, { runtime: rt });
    expect(each.map((a) => [...a])).toEqual(data.map((d, i) => xorLoop(d, keys[i]!)));
    expect(each.report).toMatchObject({ items: 3, groups: 1, launches: 1, device: 'cpu', retries: 0, moved: [] });
    const one = await batchXor(data, keys[1]!, { runtime: rt });
    expect(one.map((a) => [...a])).toEqual(data.map((d) => xorLoop(d, keys[1]!)));
    expect(data.map((d) => [...d])).toEqual(before);
  });

  it('5 products of 128², and 10 of 256²: as the sequence, within the bound of f32', async () => {
    for (const [count, n] of [
      [5, 128],
      [10, 256],
    ] as const) {
      const a = Array.from({ length: count }, (_, i) => values(n * n, i + 1));
      const b = Array.from({ length: count }, (_, i) => values(n * n, i + 101));
      const got = await batchMatmul(a, b, { runtime: rt, shapes: [[n, n, n]] });
      expect(got.report.groups).toBe(1);
      const alone = await rt
        .tensor(a[2]!, [n, n])
        .matmul(rt.tensor(b[2]!, [n, n]))
        .data();
      expectProduct(got[2]!, a[2]!, b[2]!, [n, n, n]);
      expectProduct(alone as Float32Array, a[2]!, b[2]!, [n, n, n]);
      expectProduct(got[count - 1]!, a[count - 1]!, b[count - 1]!, [n, n, n]);
    }
  });

  it('10 × 1,000 squares and 10 × 10,000 XORs, exactly', async () => {
    const data = Array.from({ length: 10 }, (_, i) => values(1000, i));
    const squares = await batchElementwise(data, 'square', undefined, { runtime: rt });
    squares.forEach((s, i) => {
      expect(s).toEqual(data[i]!.map((x) => x * x));
    });
    const long = Array.from({ length: 10 }, (_, i) => values(10_000, i + 50));
    const { data: mixed, keys } = await batchXorWithNewKeys(long, { runtime: rt, seed: 7 });
    mixed.forEach((m, i) => {
      expect(bytes(m)).toEqual(xorLoop(long[i]!, keys[i]!));
    });
    const back = await batchXor(mixed, keys, { runtime: rt });
    back.forEach((m, i) => {
      expect(bytes(m)).toEqual(bytes(long[i]!));
    });
    // The same seed draws the same keys, another one others; without one nobody can draw them again.
    const again = await batchXorWithNewKeys(long, { runtime: rt, seed: 7 });
    expect(bytes(again.keys[0]!)).toEqual(bytes(keys[0]!));
    const free = await batchXorWithNewKeys(long, { runtime: rt });
    expect(bytes(free.keys[0]!)).not.toEqual(bytes(keys[0]!));
  });

  it('keeps the class, and every bit of a NaN', async () => {
    const nan = new Float64Array(new BigUint64Array([0x7ff0000000000123n, 0xfff8000000000001n, 5n]).buffer);
    const key = new Float64Array(new BigUint64Array([1n, 2n, 0x7ff0000000000001n]).buffer);
    const [got] = await batchXor([nan], [key], { runtime: rt });
    expect(got).toBeInstanceOf(Float64Array);
    expect(bytes(got!)).toEqual(xorLoop(nan, key));
    const single = Float32Array.from(new Float32Array(new Uint32Array([0x7f812345, 1]).buffer.slice(0)));
    const raw = new Float32Array(new Uint32Array([0x7f812345, 1]).buffer);
    const t = rt.fromBytes(new Uint8Array(raw.buffer), 'f32', [2]);
    const k = rt.tensor(single);
    const [mixed] = await batchXor([t], [k] as Tensor[], { runtime: rt });
    expect([...(await mixed!.bytes())]).toEqual(bytes(raw).map((b, i) => b ^ bytes(single)[i]!));
  });

  it('keys of one element repeat, others where that is asked for', async () => {
    const data = [Uint8Array.of(1, 2, 3, 4, 5)];
    expect([...(await batchXor(data, Uint8Array.of(255), { runtime: rt }))[0]!]).toEqual([254, 253, 252, 251, 250]);
    const cycled = await batchXor(data, [Uint8Array.of(1, 2)], { runtime: rt, cycle: true });
    expect([...cycled[0]!]).toEqual(xorLoop(data[0]!, Uint8Array.of(1, 2)));
  });

  it('out: arrays to tensors, and tensors to arrays', async () => {
    const data = [Float32Array.of(1, 2), Float32Array.of(3, 4)];
    const tensors = (await batchElementwise(data, 'add', 1, { runtime: rt, out: 'tensors' })) as unknown as Tensor[];
    expect(await tensors[1]!.data()).toEqual(Float32Array.of(4, 5));
    const live = rt.stats().tensors;
    const arrays = await batchElementwise(tensors, 'multiply', 2, { runtime: rt, out: 'arrays' });
    expect(arrays).toEqual([Float32Array.of(4, 6), Float32Array.of(8, 10)]);
    expect(rt.stats().tensors).toBe(live);
  });

  it('an empty list opens nothing; one item is a list', async () => {
    expect(await batchXor([], [])).toEqual([]);
    expect(await batchMatmul([], [])).toEqual([]);
    expect(await batchElementwise([], 'exp')).toEqual([]);
    expect(await batchElementwise([Float32Array.of(4)], 'sqrt', undefined, { runtime: rt })).toEqual([
      Float32Array.of(2),
    ]);
  });

  it('opens and closes a runtime of its own where none is given', async () => {
    const got = await batchElementwise([Float32Array.of(3)], 'square');
    expect(got).toEqual([Float32Array.of(9)]);
  });

  it('deterministic products have the same bits in every batch', async () => {
    const a = Array.from({ length: 9 }, (_, i) => values(33 * 17, i + 1));
    const b = Array.from({ length: 9 }, (_, i) => values(17 * 5, i + 40));
    const options = { runtime: rt, shapes: [[33, 17, 5]] as const, deterministic: true };
    const whole = await batchMatmul(a, b, options);
    for (const i of [0, 4, 8]) {
      const [alone] = await batchMatmul([a[i]!], [b[i]!], options);
      expect(bytes(alone!)).toEqual(bytes(whole[i]!));
    }
  });
});

describe('lists that cannot be run', () => {
  const a = Float32Array.of(1, 2);
  const cases: readonly [string, () => Promise<unknown>, object][] = [
    [
      'unequal lengths',
      () => batchXor([a, a], [a], { runtime: rt }),
      { code: 'LENGTH_MISMATCH', message: /2 items, but 1/ },
    ],
    [
      'mixed classes',
      () => batchElementwise([a, Int32Array.of(1)] as never[], 'exp', 0, { runtime: rt }),
      { code: 'MIXED_KINDS', index: 1 },
    ],
    [
      'arrays and tensors',
      () => batchElementwise([a, rt.ones([2])] as never[], 'exp', 0, { runtime: rt }),
      { code: 'MIXED_KINDS', index: 1 },
    ],
    [
      'inner sizes',
      () =>
        batchMatmul([a, a], [a, a], {
          runtime: rt,
          shapes: [
            [1, 2, 1],
            [1, 1, 2],
          ],
        }),
      { code: 'SHAPE_MISMATCH', index: 1 },
    ],
    ['short keys', () => batchXor([a, Float32Array.of(1, 2, 3)], a, { runtime: rt }), { code: 'KEY_LENGTH', index: 1 }],
    [
      'no scalar',
      () => batchElementwise([a], 'add', undefined, { runtime: rt }),
      { code: 'INVALID_ARGUMENT', message: /needs a number/ },
    ],
    [
      'unknown names',
      () => batchElementwise([a], 'cube' as never, 1, { runtime: rt }),
      { code: 'INVALID_ARGUMENT', message: /'cube'[\s\S]*add, multiply, square, sqrt, exp/ },
    ],
    ['no shapes', () => batchMatmul([a], [a], { runtime: rt }), { code: 'INVALID_ARGUMENT', message: /shapes/ }],
    ['no list', () => batchXor(7 as never, a, { runtime: rt }), { code: 'INVALID_ARGUMENT' }],
    [
      'tensors without a runtime',
      () => batchElementwise([rt.ones([2])], 'exp'),
      { code: 'INVALID_ARGUMENT', message: /runtime/ },
    ],
    [
      'classes without a dtype',
      () => batchElementwise([Int8Array.of(1)] as never[], 'exp', 0, { runtime: rt }),
      { code: 'INVALID_ARGUMENT', message: /Int8Array/ },
    ],
  ];
  it.each(cases)('%s are refused, and nothing runs', async (_, call, want) => {
    const before = rt.stats().launches;
    const { message, ...rest } = want as { message?: RegExp };
    const error = await call().catch((e: unknown) => e);
    expect(error).toMatchObject(rest);
    if (message) expect((error as Error).message).toMatch(message);
    expect(rt.stats().launches).toBe(before);
  });

  it('tensors of another runtime are named', async () => {
    await using other = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    const list = [rt.ones([2]), other.ones([2])];
    await expect(batchElementwise(list, 'exp', 0, { runtime: rt })).rejects.toMatchObject({
      code: 'FOREIGN_TENSOR',
      index: 1,
    });
  });

  it('NaN is a number to add', async () => {
    const [got] = await batchElementwise([a], 'add', Number.NaN, { runtime: rt });
    expect([...got!]).toEqual([Number.NaN, Number.NaN]);
  });
});

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

async function compare(rt: Runtime, count: number, floats: boolean): Promise<number> {
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
    if (tensors.length > 2) tensors[1] = tensors[0]!;
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
    if (tensors.length > 2) others[1] = others[0]!;
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

async function compareProducts(rt: Runtime, count: number): Promise<void> {
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

describe('random lists equal the loop over their items', () => {
  it('on the CPU', async () => {
    const live = rt.stats().tensors;
    expect(await compare(rt, all ? 1000 : 60, false)).toBeGreaterThan(500);
    await compareProducts(rt, all ? 200 : 20);
    expect(rt.stats().tensors).toBe(live);
  });

  it('on a device that records and can be lost, in compiled groups', async () => {
    const rt = (await fakeGpu().open({ routing: { device: 'cuda:0' } })) as Runtime;
    await compare(rt, all ? 200 : 12, false);
    await compareProducts(rt, all ? 60 : 6);
    await rt.close();
  });

  it('tensors that have nothing to do with each other take few launches on a GPU', async () => {
    const rt = (await fakeGpu().open({ routing: { device: 'cuda:0' } })) as Runtime;
    const tensors = Array.from({ length: 64 }, (_, i) => rt.tensor(values(50, i)) as Tensor);
    const before = rt.stats().launches;
    const got = await batchElementwise(tensors, 'square', undefined, { runtime: rt });
    // As many as the device can bind in one: the CPU, which stands for a GPU here, takes 64 buffers.
    expect(rt.stats().launches - before).toBeLessThanOrEqual(4);
    expect(got.report.launches).toBe(rt.stats().launches - before);
    expect(await got[63]!.data()).toEqual(values(50, 63).map((x) => x * x));
    const products = await batchMatmul(
      tensors.map((t) => t.reshape([5, 10])),
      tensors.map((t) => t.reshape([10, 5])),
      { runtime: rt },
    );
    expect(products.report.launches).toBeLessThanOrEqual(12);
    await rt.close();
  });

  it('on WebGPU', async (context) => {
    const rt = await createRuntime({ devices: ['webgpu'] }).catch((e) => {
      if (e instanceof DeviceUnavailable) return null;
      throw e;
    });
    if (!rt) return context.skip('no WebGPU device');
    await compare(rt, all ? 40 : 4, true);
    await compareProducts(rt, all ? 20 : 2);
    await rt.close();
  });
});
