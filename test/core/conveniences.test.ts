// What people expect of tensors without looking it up: printing, JSON, dtypes without shapes, rows of typed arrays, likenesses.

import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ArgumentError, createRuntime, type DType, DTypeError, type Runtime, type Tensor } from '../../src/index.ts';

let rt: Runtime;
beforeAll(async () => {
  rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
});
afterAll(() => rt.close());

describe('a tensor as text', () => {
  it('shows its values once they are computed', () => {
    const x = rt.tensor([
      [1, 2],
      [3, 4.5],
    ]);
    expect(String(x)).toBe('Tensor(f32 [2, 2]) [[1, 2], [3, 4.5]]');
    expect(inspect({ x })).toContain('[[1, 2], [3, 4.5]]');
    const lazy = x.add(1);
    expect(String(lazy)).toBe('Tensor(f32 [2, 2], not computed)');
    expect(lazy.computed).toBe(false);
    lazy.compute();
    expect(String(lazy)).toBe('Tensor(f32 [2, 2]) [[2, 3], [4, 5.5]]');
  });

  it('has the shortest numbers, in every dtype', () => {
    expect(String(rt.tensor([0.1, 1 / 3, 1e-30]))).toBe('Tensor(f32 [3]) [0.1, 0.33333334, 1e-30]');
    expect(String(rt.tensor([0.1, Number.NaN], { dtype: 'f64' }))).toBe('Tensor(f64 [2]) [0.1, NaN]');
    expect(String(rt.tensor([0.5, 2], { dtype: 'f16' }))).toBe('Tensor(f16 [2]) [0.5, 2]');
    expect(String(rt.tensor([true, false]))).toBe('Tensor(bool [2]) [true, false]');
    expect(String(rt.tensor(2n ** 60n))).toBe('Tensor(i64 []) 1152921504606846976');
    expect(String(rt.zeros([0, 3]).compute())).toBe('Tensor(f32 [0, 3]) []');
  });

  it('is short for large ones, and says what is no more', () => {
    const large = rt.arange(1000).reshape([10, 100]).compute();
    expect(String(large)).toBe('Tensor(i32 [10, 100]) [0, 1, 2, … 997, 998, 999]');
    large.dispose();
    expect(String(large)).toBe('Tensor(i32 [10, 100], disposed)');
  });

  it('is what it is without values once the runtime is closed', async () => {
    const own = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    const x = own.tensor([1, 2]).add(1).compute();
    await own.close();
    expect(String(x)).toBe('Tensor(f32 [2])');
    expect(inspect({ x })).toContain('Tensor(f32 [2])');
  });

  it('is JSON that can be read back', () => {
    const x = rt.tensor([1, Number.NaN, Number.NEGATIVE_INFINITY]);
    expect(JSON.parse(JSON.stringify({ x }))).toEqual({
      x: { dtype: 'f32', shape: [3], data: [1, 'NaN', '-Infinity'] },
    });
    expect(JSON.parse(JSON.stringify(rt.tensor([2n ** 60n, 7n]))).data).toEqual(['1152921504606846976', 7]);
    const { data, shape, dtype } = JSON.parse(JSON.stringify(rt.arange(4).reshape([2, 2])));
    expect(rt.tensor(data, shape, { dtype }).dataSync()).toEqual(new Int32Array([0, 1, 2, 3]));
  });
});

describe('making tensors', () => {
  it('takes a dtype without a shape', () => {
    const x = rt.tensor(
      [
        [1, 2],
        [3, 4],
      ],
      { dtype: 'i32' },
    );
    expect([x.dtype, x.shape, x.nbytes]).toEqual(['i32', [2, 2], 16]);
    expect(rt.tensor([1, 2], { device: 'cpu' }).device).toBe('cpu');
  });

  it('takes rows that are typed arrays', () => {
    const rows = [new Float64Array([1, 2, 3]), new Float64Array([4, 5, 6])];
    const x = rt.tensor(rows);
    expect([x.dtype, x.shape]).toEqual(['f64', [2, 3]]);
    expect(x.dataSync()).toEqual(new Float64Array([1, 2, 3, 4, 5, 6]));
    const deep = rt.tensor([[new Uint8Array([1]), new Uint8Array([2])]]);
    expect([deep.dtype, deep.shape, ...deep.dataSync()]).toEqual(['u8', [1, 2, 1], 1, 2]);
    expect(rt.tensor([Buffer.from([7])]).dtype).toBe('u8');
    expect(() => rt.tensor([new Float32Array(2), new Float32Array(3)])).toThrow(/ragged/);
    expect(() => rt.tensor([new Float32Array(2), new Int32Array(2)])).toThrow(/row of i32/);
    expect(() => rt.tensor([new Float32Array(2), [1, 2]])).toThrow(/ragged/);
  });

  it('refuses numbers that an integer dtype cannot hold, and cuts off fractions, as NumPy does', () => {
    for (const v of [300, -1, 256, 1e300, 2n ** 64n])
      expect(() => rt.tensor([v as number], [1], { dtype: 'u8' })).toThrow(/u8 cannot hold \(0 … 255\)/);
    expect([...rt.tensor([255.9, 0.5, -0.5], { dtype: 'u8' }).dataSync()]).toEqual([255, 0, 0]);
    expect([...rt.tensor([-(2 ** 63)], { dtype: 'i64' }).dataSync()]).toEqual([-(2n ** 63n)]);
    expect(() => rt.tensor([2 ** 63], { dtype: 'i64' })).toThrow(/i64 cannot hold/);
    expect(() => rt.tensor([-(2n ** 63n) - 1n])).toThrow(/i64 cannot hold/);
    // Typed arrays are converted as `cast` does.
    expect([...rt.tensor(new Float32Array([300]), { dtype: 'u8' }).dataSync()]).toEqual([255]);
  });

  it('makes tensors like others', () => {
    const x = rt.tensor([[1, 2]], { dtype: 'i32' });
    expect([rt.zerosLike(x).dtype, ...rt.zerosLike(x).dataSync()]).toEqual(['i32', 0, 0]);
    expect(rt.onesLike(x).shape).toEqual([1, 2]);
    expect([...rt.fullLike(x, 7).dataSync()]).toEqual([7, 7]);
    expect(rt.fullLike(x, 7, { dtype: 'i32' }).dtype).toBe('i32');
    expect(() => rt.fullLike(x, 2 ** 40)).toThrow(/fullLike/);
  });
});

describe('a sum of bools', () => {
  it('is a count in i32, as are running ones and products', () => {
    const mask = rt.tensor([1, 5, 3]).greater(2);
    expect([mask.sum().dtype, mask.sum().item()]).toEqual(['i32', 2]);
    expect([mask.cumsum().dtype, ...mask.cumsum().dataSync()]).toEqual(['i32', 0, 1, 2]);
    expect([mask.prod().dtype, mask.mean().dtype]).toEqual(['i32', 'f32']);
    expect(rt.tensor([1, 2], { dtype: 'i32' }).sum().dtype).toBe('i64');
  });

  it('in bool is whether any was true so far, or all, whatever they were made from and however many there are', () => {
    const read = (t: Tensor): number[] => [...(t.dataSync() as Uint8Array)];
    const x = rt.tensor([0, 0.5, 0, Number.NaN], { dtype: 'f64' });
    expect(read(x.cumsum(0, { dtype: 'bool' }))).toEqual([0, 1, 1, 1]);
    expect(read(x.cumprod(0, { dtype: 'bool', reverse: true }))).toEqual([0, 0, 0, 1]);
    expect(read(x.cumsum(0, { dtype: 'bool', exclusive: true }))).toEqual([0, 0, 1, 1]);
    expect(read(x.cumprod(0, { dtype: 'bool', exclusive: true }))).toEqual([1, 0, 0, 0]);
    expect(read(rt.tensor([256, 0], { dtype: 'i32' }).cumsum(0, { dtype: 'bool' }))).toEqual([1, 1]);
    const many = rt.ones([600], { dtype: 'bool' });
    expect(read(many.cumsum(0, { dtype: 'bool' }).all())).toEqual([1]);
  });
});

describe('options in place of numbers that are left out', () => {
  it('give ranges of integers the values that NumPy gives, or refuse them', async () => {
    const values = async (...[start, stop, step, dtype]: [number, number, number, DType]) =>
      Array.from((await rt.arange(start, stop, step, { dtype }).data()) as ArrayLike<number | bigint>, Number);
    expect(await values(0, 3, 0.5, 'i64')).toEqual([0, 0, 0, 0, 0, 0]);
    expect(await values(0.5, 5.5, 1, 'u64')).toEqual([0, 1, 2, 3, 4]);
    expect(await values(0.5, 5.5, 1.5, 'i32')).toEqual([0, 2, 4, 6]);
    expect(await values(5, 0, -2, 'u64')).toEqual([5, 3, 1]);
    expect(await values(250, 262, 3, 'u8')).toEqual([250, 253, 0, 3]);
    expect(await values(0.5, 2, 1, 'bool')).toEqual([1, 1]);
    expect(await values(-3, -3, 1, 'u8')).toEqual([]);
    for (const [start, stop, dtype] of [
      [-3, 3, 'u8'],
      [-3, 3, 'u64'],
      [2 ** 33, 2 ** 33 + 4, 'i32'],
    ] as const)
      expect(() => rt.arange(start, stop, 1, { dtype })).toThrow(DTypeError);
  });

  it('reach over ranges that a dtype cannot hold', async () => {
    for (const [dtype, far] of [
      ['f32', 3e38],
      ['f64', 1.7e308],
    ] as const)
      for (const count of [2, 3, 4, 5]) {
        const got = Array.from(await rt.linspace(-far, far, count, { dtype }).data());
        for (const [i, v] of got.entries()) expect(v / far).toBeCloseTo(-1 + (2 * i) / (count - 1), 6);
      }
  });

  it('give ranges, positions and matrices their dtype', async () => {
    const made = [
      rt.arange(3, { dtype: 'f32' }),
      rt.arange(1, 3, { dtype: 'f64' }),
      rt.arange(0, 1, 0.5, { dtype: 'f16' }),
      rt.arange(2, undefined, undefined, { dtype: 'i64' }),
      rt.eye(2, { dtype: 'i32' }),
      rt.eye(1, 2, { dtype: 'bool' }),
      rt.tri(2, { dtype: 'u8' }),
      rt.iota([2, 1], { dtype: 'f32' }),
    ];
    expect(made.map((t) => t.dtype)).toEqual(['f32', 'f64', 'f16', 'i64', 'i32', 'bool', 'u8', 'f32']);
    expect(await Promise.all(made.map((t) => t.array()))).toEqual([
      [0, 1, 2],
      [1, 2],
      [0, 0.5],
      [0n, 1n],
      [
        [1, 0],
        [0, 1],
      ],
      [[true, false]],
      [
        [1, 0],
        [1, 1],
      ],
      [[0], [1]],
    ]);
    expect(() => rt.arange(3, { dtyp: 'f32' } as never)).toThrow(ArgumentError);
    expect(() => rt.arange(3, { dtype: 'f32' } as never, 1)).toThrow(ArgumentError);
  });
});
