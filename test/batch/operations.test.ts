// Operations on lists against a loop over the items: bytes for XOR and elementwise work, the bound of f32 products for matrices.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchElementwise, batchMatmul, batchXor, batchXorWithNewKeys } from '../../src/batch/index.ts';
import { createRuntime, DeviceUnavailable, type Runtime, type Tensor } from '../../src/index.ts';
import { all } from '../support/extent.ts';
import { fakeGpu, values } from '../support/facade.ts';
import { bytes, compare, compareProducts, expectProduct, narrow, xorLoop } from './random-lists.ts';

let rt: Runtime;
beforeAll(async () => {
  rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
});
afterAll(() => rt.close());

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
    // Nothing is left of it. What other tests left may be collected meanwhile.
    expect(rt.stats().tensors).toBeLessThanOrEqual(live);
    for (const t of tensors) t.dispose();
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

describe('tensors of a kind that comes again and again', () => {
  it('are the same bits as alone, compiled or not, whatever the list is', async () => {
    const make = (count: number, from: number): Tensor[] =>
      Array.from({ length: count }, (_, i) => rt.tensor(values(9, from + i), [3, 3]) as Tensor);
    const [a, b] = [make(300, 1), make(300, 1001)];
    const launches = new Set<number>();
    for (let round = 0; round < 30; round++) {
      const squares = await batchElementwise(a, 'square', undefined, { runtime: rt });
      const products = await batchMatmul(a, b, { runtime: rt });
      launches.add(products.report.launches);
      for (const t of [...squares, ...products]) t.dispose();
    }
    for (const count of [7, 8, 41, 300]) {
      const [x, y] = [a.slice(0, count), b.slice(0, count)];
      const made = [
        ...(await batchMatmul(x, y, { runtime: rt })),
        ...(await batchMatmul(x, new Array<Tensor>(count).fill(y[0]!), { runtime: rt })),
        ...(await batchElementwise(x, 'square', undefined, { runtime: rt })),
      ];
      const alone = [...x.map((t, i) => t.matmul(y[i]!)), ...x.map((t) => t.matmul(y[0]!)), ...x.map((t) => t.mul(t))];
      made.forEach((t, i) => {
        expect(bytes(t.dataSync() as Float32Array)).toEqual(bytes(alone[i]!.dataSync() as Float32Array));
      });
      for (const t of [...made, ...alone]) t.dispose();
    }
    expect([...launches]).toEqual([300]);
    for (const t of [...a, ...b]) t.dispose();
  });

  it('give results that stay right when they become operands of the next call', async () => {
    const first = Array.from({ length: 32 }, (_, i) => rt.tensor(values(4, i)) as Tensor);
    let now = first;
    const trail: Tensor[][] = [];
    for (let step = 0; step < 300; step++) {
      now = [...(await batchElementwise(now, 'multiply', 0.5, { runtime: rt }))];
      trail.push(now);
    }
    for (const step of [250, 257, 298, 299]) {
      const want = values(4, 31).map((v) => v * 0.5 ** (step + 1));
      expect(await trail[step]![31]!.data()).toEqual(want);
    }
    for (const list of [first, ...trail]) for (const t of list) t.dispose();
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
    // A key is called a key.
    const [own, key] = [rt.ones([2]), other.ones([2])];
    await expect(batchXor([own], key, { runtime: rt })).rejects.toThrow(/the key .* belongs to another runtime/);
    await expect(batchXor([own], [key], { runtime: rt })).rejects.toThrow(/key 0 .* belongs to another runtime/);
    key.dispose();
    await expect(batchXor([own], key, { runtime: rt })).rejects.toThrow(/the key was disposed/);
    own.dispose();
  });

  it('NaN is a number to add', async () => {
    const [got] = await batchElementwise([a], 'add', Number.NaN, { runtime: rt });
    expect([...got!]).toEqual([Number.NaN, Number.NaN]);
  });
});

describe('random lists equal the loop over their items', () => {
  it('on the CPU', async () => {
    // One of its own: what other tests forgot is found by the collector at any time.
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    expect(await compare(rt, all ? 1000 : 60)).toBeGreaterThan(500);
    await compareProducts(rt, all ? 200 : 20);
    expect(rt.stats().tensors).toBe(0);
  });

  it('on a device that records and can be lost, in compiled groups', async () => {
    const rt = (await fakeGpu().open({ routing: { device: 'cuda:0' } })) as Runtime;
    await compare(rt, all ? 200 : 12);
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

  it('f64 stays f64 where the GPU has none: on the CPU, and the report says so', async (context) => {
    const rt = await createRuntime({ devices: ['webgpu', 'cpu'] }).catch(() => null);
    if (!rt?.devices().some((d) => d.open && d.id.startsWith('webgpu'))) {
      await rt?.close();
      return context.skip('no WebGPU device');
    }
    const [a, b] = [
      [0, 1, 2].map((i) => Float64Array.of(1 + i, 2, 3, 1e-12)),
      [0, 1, 2].map(() => Float64Array.of(1, 1, 1e-9, 1)),
    ];
    const made = await batchMatmul(a, b, { runtime: rt, shapes: [[2, 2, 2]] });
    made.forEach((m, i) => {
      expect(m).toBeInstanceOf(Float64Array);
      expect([...m]).toEqual([1 + i + 2e-9, 1 + i + 2, 3 + 1e-12 * 1e-9, 3 + 1e-12]);
    });
    expect(made.report.device).toBe('cpu');
    const [squares] = await batchElementwise([Float64Array.of(1 + 1e-12)], 'square', undefined, { runtime: rt });
    expect(squares![0]).toBe((1 + 1e-12) ** 2);
    await rt.close();
  });

  it('on WebGPU', async (context) => {
    const rt = await createRuntime({ devices: ['webgpu'] }).catch((e) => {
      if (e instanceof DeviceUnavailable) return null;
      throw e;
    });
    if (!rt) return context.skip('no WebGPU device');
    await compare(rt, all ? 1000 : 2, narrow);
    await compareProducts(rt, all ? 200 : 2, 12);
    // Large ones are not packed.
    const large = [0, 1, 2, 3].map((i) => Uint32Array.from({ length: 400_000 }, (_, k) => i * k));
    const mixed = await batchXor(large, Uint32Array.of(0xffff0001), { runtime: rt });
    expect(mixed.report.launches).toBe(4);
    for (const [i, m] of mixed.entries()) expect(m).toEqual(large[i]!.map((v) => v ^ 0xffff0001));
    await rt.close();
  }, 3_600_000);
});
