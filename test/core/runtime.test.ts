// The runtime's own surface: options, devices, compile, kernel, events, errors.

import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  createRuntime,
  DisposedError,
  DTypeError,
  type ForgeError,
  IndexError,
  type RuntimeOptions,
  ShapeError,
  type Tensor,
} from '../../src/index.ts';
import { fixture } from './support.ts';

const runtime = fixture();

describe('createRuntime', () => {
  it('names an unknown option and an unknown device', async () => {
    await expect(createRuntime({ device: 'cpu' } as never)).rejects.toThrow(/no option 'device'/);
    await expect(createRuntime({ devices: ['tpu' as never] })).rejects.toThrow(/no device 'tpu'/);
    await expect(createRuntime({ devices: [] })).rejects.toThrow(ArgumentError);
    for (const seed of [Number.NaN, 0.5, 2 ** 60])
      await expect(createRuntime({ devices: ['reference'], seed })).rejects.toThrow(/createRuntime: seed is/);
  });

  it('tells why a device was not opened', async () => {
    const rt = await createRuntime({ devices: ['cuda', 'cpu'] });
    const cuda = rt.devices().find((d) => d.id.startsWith('cuda'))!;
    expect(cuda.open || (cuda.reason!.length > 0 && cuda.fix!.length > 0)).toBe(true);
    expect(() => rt.device('webgpu:0')).toThrow(/not open/);
    await rt.close();
    await rt.close();
    expect(() => rt.zeros([1])).toThrow(DisposedError);
    expect(() => rt.tensor([1])).toThrow(/closed/);
  });

  it('runs several runtimes side by side, and refuses to mix their tensors', async () => {
    const [a, b] = [await runtime(), await runtime()];
    expect(a.ones([2]).add(1).dataSync()).toEqual(b.full([2], 2).dataSync());
    expect(() => a.ones([2]).add(b.ones([2]))).toThrow(/different runtimes/);
  });

  it('computes on the first device that has the dtypes when routing is off', async () => {
    await using rt = await createRuntime({ devices: ['reference', 'cpu'], routing: { mode: 'off' } });
    expect(rt.explain(rt.ones([2]).add(1)).device).toBe('reference');
  });

  it('computes where it is predicted to be fastest, and says why', async () => {
    await using rt = await createRuntime({ devices: ['reference', 'cpu'] });
    const { device, reason, predictions } = rt.explain(rt.ones([4096]).add(1).tanh());
    expect(predictions.map((p) => p.device).sort()).toEqual(['cpu', 'reference']);
    expect(device).toBe([...predictions].sort((a, b) => a.us - b.us)[0]!.device);
    expect(reason).toMatch(/least predicted cost|differ by less than/);
  });

  it('keeps to the device a scope, a tensor or the runtime is pinned to', async () => {
    await using rt = await createRuntime({ devices: ['reference', 'cpu'] });
    const here = rt.tensor([1, 2], [2], { device: 'reference' });
    expect(rt.explain(here.add(1)).device).toBe('reference');
    const moved = await rt.tensor([1, 2]).to('reference');
    expect(rt.explain(moved.add(1)).device).toBe('reference');
    expect(await moved.add(1).data()).toEqual(new Float32Array([2, 3]));
    const launched: string[] = [];
    rt.on('launch', (e) => launched.push(e.device));
    await rt.scope({ device: 'reference' }, async () => rt.ones([8]).add(1).data());
    expect(launched).toEqual(['reference']);
    expect(() => here.add(rt.tensor([1, 2], [2], { device: 'cpu' })).dataSync()).toThrow(/pinned to different devices/);
  });

  it('names the option that cannot be used', async () => {
    await expect(createRuntime({ routing: { mode: 'fast' as 'off' } })).rejects.toThrow(/routing\.mode/);
    await expect(createRuntime({ memory: { cleanupAt: 200 } })).rejects.toThrow(/memory\.cleanupAt/);
    await expect(createRuntime({ recovery: { attempts: 0 } })).rejects.toThrow(/recovery\.attempts/);
    await expect(createRuntime({ devices: ['cpu'], routing: { device: 'cuda:0' } })).rejects.toThrow(/not open/);
  });
});

describe('compile', () => {
  it('traces once per signature', async () => {
    const rt = await runtime();
    let traced = 0;
    const f = rt.compile((x: Tensor, k: number) => {
      traced++;
      return x.mul(k);
    });
    expect(f(rt.tensor([1, 2]), 3).dataSync()).toEqual(Float32Array.of(3, 6));
    expect(f(rt.tensor([5, 7]), 3).dataSync()).toEqual(Float32Array.of(15, 21));
    expect(traced).toBe(1);
    f(rt.tensor([1, 2]), 4);
    f(rt.tensor([1, 2, 3]), 3);
    f(rt.tensor([1, 2], [2], { dtype: 'i32' }), 3);
    expect(traced).toBe(4);
  });

  it('uses tensors from outside as they are', async () => {
    const rt = await runtime();
    const w = rt.full([1000], 5).compute();
    const f = rt.compile((x: Tensor) => x.add(w));
    const y = f(rt.ones([1000]));
    w.dispose();
    expect(y.dataSync()[0]).toBe(6);
    expect(f(rt.zeros([1000])).dataSync()[0]).toBe(5);
    f.dispose();
    expect(() => f(rt.ones([1000]))).toThrow(DisposedError);
  });

  it('keeps nothing but results', async () => {
    const rt = await runtime();
    const f = rt.compile((x: Tensor) =>
      x
        .sub(x.mean({ axis: 1, keepdims: true }))
        .square()
        .sum({ axis: 1 })
        .sqrt(),
    );
    const x = rt.random.normal([300, 300], { seed: 1 }).compute();
    const y = f(x);
    const before = rt.stats().bytes;
    f(x).dispose();
    expect(rt.stats().bytes).toBe(before);
    y.dispose();
  });

  it('returns an input that passes through', async () => {
    const rt = await runtime();
    const f = rt.compile((x: Tensor) => [x, x.reshape([4]), x.add(1)]);
    const [a, b, c] = f(
      rt.tensor([
        [1, 2],
        [3, 4],
      ]),
    );
    expect([a, b, c].map((t) => [...(t!.dataSync() as Float32Array)])).toEqual([
      [1, 2, 3, 4],
      [1, 2, 3, 4],
      [2, 3, 4, 5],
    ]);
  });

  it('refuses to read values while tracing, and functions without a result', async () => {
    const rt = await runtime();
    expect(() => rt.compile((x: Tensor) => (x.item() ? x : x.neg()))(rt.tensor([1]))).toThrow(/being compiled/);
    expect(() => rt.compile(((_: Tensor) => undefined) as never)(rt.tensor([1]))).toThrow(/not a tensor/);
  });
});

describe('kernel', () => {
  it('reads neighbours with each kind of border', async () => {
    const rt = await runtime();
    const x = rt.tensor([1, 2, 3, 4]);
    const blur = (border: 'wrap' | 'zero' | 'clamp') => [
      ...(rt
        .kernel((v) => v.at(-1).add(v).add(v.at(1)), { border })(x)
        .dataSync() as Float32Array),
    ];
    expect(blur('wrap')).toEqual([7, 6, 9, 8]);
    expect(blur('zero')).toEqual([3, 6, 9, 7]);
    expect(blur('clamp')).toEqual([4, 6, 9, 11]);
  });

  it('may end in a reduction, and refuses what is more than one kernel', async () => {
    const rt = await runtime();
    const energy = rt.kernel((v) => v.at(0, 1).sub(v).square().sum());
    expect(
      energy(
        rt.tensor([
          [1, 3],
          [2, 2],
        ]),
      ).item(),
    ).toBe(8);
    const two = rt.kernel((v) => v.sub(v.sum()).abs(), { name: 'centre' });
    expect(() => two(rt.tensor([1, 2]))).toThrow(/kernel centre: the body takes 2 kernels/);
    expect(() => rt.kernel((v) => v, { border: 'mirror' as never })).toThrow(/border is 'mirror'/);
    expect(() => rt.kernel((v) => v.at(1, 1))(rt.tensor([1]))).toThrow(ShapeError);
  });
});

describe('one op at a time', () => {
  it('takes each constant as it is, whatever the last one of its kind was', async () => {
    const rt = await runtime();
    const x = rt.tensor(Float32Array.from({ length: 2000 }, (_, i) => i - 1000));
    const y = rt.full([2000], 3).compute();
    const first = (t: Tensor): number => t.compute().dataSync()[0] as number;
    for (const c of [1.5, 2.5, 1, 0, -0, 2, Number.NaN, Number.POSITIVE_INFINITY, 1e300, 1.5]) {
      expect(first(x.add(c)), `add ${c}`).toBe(Math.fround(-1000 + Math.fround(c)));
      expect(first(x.mul(c)), `mul ${c}`).toBe(Math.fround(-1000 * Math.fround(c)));
      expect(first(x.add(y)), 'add y').toBe(-997);
      expect(first(y.add(y)), 'y + y').toBe(6);
    }
    const below = x.less(0).compute();
    const pick = (a: number, b: number): number => {
      const both = rt.where(below, a, b).cast('f32').compute().dataSync();
      return both[0]! * 1000 + both[1999]!;
    };
    expect([pick(5, 5), pick(5, 7), pick(8, 8), pick(7, 5)]).toEqual([5005, 5007, 8008, 7005]);
    expect(
      [rt.where(below, x, 9), rt.where(below, 9, x), rt.where(below, x, x)].map((t) => t.compute().dataSync()[1999]),
    ).toEqual([9, 999, 999]);
  });
});

describe('arrays for fast transfers', () => {
  it('that do not fit into host memory are refused with what to do', async () => {
    const rt = await runtime();
    const problem = { name: 'OutOfMemory', code: 'HOST_MEMORY', where: 'pinned', requested: 4e12 };
    let error: unknown;
    try {
      rt.pinned(1e12);
    } catch (e) {
      error = e;
    }
    expect(error).toMatchObject(problem);
    expect(String((error as { fix: string }).fix)).toContain('fewer elements');
    expect(rt.pinned(3)).toEqual(new Float32Array(3));
  });
});

describe('reading into an array', () => {
  it('fills that array and returns it, on devices that can and on those that cannot', async () => {
    for (const options of [
      { devices: ['cpu'] },
      { devices: ['reference'] },
      { devices: ['cpu'], isolation: ['cpu'] },
    ] as const satisfies readonly RuntimeOptions[]) {
      await using rt = await createRuntime(options);
      for (const n of [3, 5000]) {
        const x = rt.arange(0, n).cast('f32');
        const into = rt.pinned(n);
        expect(await x.add(1).data({ into })).toBe(into);
        expect(into[n - 1]).toBe(n);
        const part = new Int32Array(n + 10).subarray(5, n + 5);
        await x.cast('i32').data({ into: part });
        expect([part[0], part[n - 1], new Int32Array(part.buffer)[n + 5]]).toEqual([0, n - 1, 0]);
      }
      const half = new Float32Array(2);
      await rt.tensor([1.5, 2.5]).cast('f16').data({ into: half });
      const flags = new Uint8Array(2);
      await rt.tensor([1, 0]).cast('bool').data({ into: flags });
      expect([half, flags].map((a) => [...a])).toEqual([
        [1.5, 2.5],
        [1, 0],
      ]);
    }
  });

  it('refuses an array of another type or length, and leaves it as it is', async () => {
    const rt = await runtime();
    const x = rt.tensor([1, 2, 3]);
    const short = new Float32Array(2).fill(7);
    await expect(x.data({ into: short })).rejects.toThrow(
      /f32 \[3\] does not fit into a Float32Array of 2[\s\S]*Float32Array of 3/,
    );
    await expect(x.data({ into: new Float64Array(3) as never })).rejects.toThrow(ArgumentError);
    await expect(x.data({ into: [0, 0, 0] as never })).rejects.toThrow(ArgumentError);
    const sent = new Float32Array(3);
    structuredClone(sent, { transfer: [sent.buffer] });
    await expect(x.data({ into: sent })).rejects.toThrow(/into a Float32Array whose memory was transferred\n/);
    expect([...short]).toEqual([7, 7]);
  });
});

describe('events and stats', () => {
  it('reports compiles, launches, uploads and downloads to listeners only', async () => {
    const rt = await runtime();
    const seen: string[] = [];
    const stop = [
      rt.on('compile', (e) => seen.push(`compile ${e.kernels.join()}`)),
      rt.on('launch', (e) => seen.push(`launch ${e.name}`)),
      rt.on('upload', (e) => seen.push(`upload ${e.bytes}`)),
      rt.on('download', (e) => seen.push(`download ${e.bytes}`)),
    ];
    await rt.tensor([1, 2, 3]).add(1).data();
    expect(seen).toEqual(['upload 12', 'compile add_f32_3', 'launch add_f32_3', 'download 12']);
    for (const s of stop) s();
    await rt.tensor([1, 2, 3]).add(1).data();
    expect(seen).toHaveLength(4);
    expect(rt.stats()).toMatchObject({ launches: 2, programs: 1, programHits: 1, waits: 2 });
  });

  it('shows where the host waited in development mode', async () => {
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, development: true });
    for (let i = 0; i < 3; i++) rt.tensor([1]).add(i).dataSync();
    const [most] = rt.stats().waitsByLine;
    expect(most!.count).toBe(3);
    expect(most!.line).toMatch(/runtime\.test\.ts/);
  });
});

describe('bad input', () => {
  const bad: [
    string,
    new (...a: never[]) => ForgeError,
    (rt: Awaited<ReturnType<typeof runtime>>) => unknown,
    RegExp,
  ][] = [
    [
      'shapes that do not broadcast',
      ShapeError,
      (rt) => rt.ones([2, 3]).add(rt.ones([4])),
      /add: shapes \[2, 3\] and \[4\]/,
    ],
    [
      'matmul sizes',
      ShapeError,
      (rt) => rt.ones([2, 3]).matmul(rt.ones([2, 3])),
      /matmul: inner sizes differ: \[2, 3\] × \[2, 3\]/,
    ],
    ['a bad axis', ShapeError, (rt) => rt.ones([2]).sum({ axis: 1 }), /axis 1 does not exist/],
    ['an axis twice', ShapeError, (rt) => rt.ones([2, 2]).sum({ axis: [0, -2] }), /named twice/],
    ['an unknown dtype', DTypeError, (rt) => rt.ones([2], { dtype: 'f8' as never }), /dtype is 'f8'/],
    ['a bool difference', DTypeError, (rt) => rt.tensor([true]).sub(rt.tensor([true])), /sub: not defined for bool/],
    ['bits of floats', DTypeError, (rt) => rt.ones([2]).bitwiseAnd(1), /bitwiseAnd: not defined for f32 \[2\]/],
    ['a negative size', ShapeError, (rt) => rt.zeros([-1]), /has the size -1/],
    ['a fractional size', ShapeError, (rt) => rt.zeros([1.5]), /has the size 1.5/],
    ['a size beyond counting', ShapeError, (rt) => rt.zeros([2 ** 30, 2 ** 30]), /counted exactly/],
    ['ragged rows', ArgumentError, (rt) => rt.tensor([[1, 2], [3]]), /ragged/],
    ['mixed kinds', ArgumentError, (rt) => rt.tensor([1, true as never]), /element 1 is a boolean/],
    ['no numbers', ArgumentError, (rt) => rt.tensor(['a' as never]), /element 0 is string/],
    ['too few values', ShapeError, (rt) => rt.tensor([1, 2, 3], [2, 2]), /3 values do not fit the shape \[2, 2\]/],
    [
      'a scalar out of range',
      DTypeError,
      (rt) => rt.zeros([1], { dtype: 'u8' }).add(300),
      /300 does not fit a tensor of u8/,
    ],
    ['NaN as an integer', ArgumentError, (rt) => rt.tensor([Number.NaN], [1], { dtype: 'i32' }), /element 0 is NaN/],
    ['NaN as an index', IndexError, (rt) => rt.ones([3]).gather([Number.NaN], 0), /index NaN is out of range/],
    ['a fraction as an index', IndexError, (rt) => rt.ones([3]).gather([0.5], 0), /index 0.5/],
    ['float indices', DTypeError, (rt) => rt.ones([3]).gather(rt.ones([1]), 0), /indices are f32/],
    [
      'an index out of range',
      IndexError,
      (rt) => rt.ones([3]).gather([3], 0),
      /index 3 is out of range for an axis of size 3/,
    ],
    [
      'a computed index out of range',
      IndexError,
      (rt) => rt.ones([3]).gather(rt.arange(4), 0).dataSync(),
      /gather: an index is out of range for an axis of size 3/,
    ],
    [
      'a computed scatter index out of range',
      IndexError,
      (rt) =>
        rt
          .ones([3])
          .scatter(rt.arange(-4, -2), rt.ones([2]))
          .dataSync(),
      /scatter: an index is out of range/,
    ],
    [
      'an array as an operand',
      ArgumentError,
      (rt) => rt.ones([2]).add([1, 2] as never),
      /other is \[1, 2\], not a tensor/,
    ],
    ['an empty maximum', ShapeError, (rt) => rt.zeros([0]).max(), /max: nothing to reduce in \[0\]/],
    ['item of many', ArgumentError, (rt) => rt.ones([2]).item(), /has 2 elements/],
    ['a bad seed', ArgumentError, (rt) => rt.random.uniform([1], { seed: 0.5 }), /seed is 0.5/],
    ['an impossible bitcast', DTypeError, (rt) => rt.ones([1]).bitcast('f64'), /cannot be read as f64/],
    [
      'a reshape that loses elements',
      ShapeError,
      (rt) => rt.ones([6]).reshape([4, -1]),
      /6 elements of \[6\] do not fit/,
    ],
    ['a window that does not fit', ShapeError, (rt) => rt.ones([1, 2]).maxPool([3]), /does not fit axis 1/],
    ['conv channels', ShapeError, (rt) => rt.ones([1, 2, 5]).conv1d(rt.ones([1, 3, 2])), /conv1d: input \[1, 2, 5\]/],
    ['a zero step', ArgumentError, (rt) => rt.ones([3]).slice([[0, 3, 0]]), /slice: range/],
    [
      'bytes of another size',
      ShapeError,
      (rt) => rt.fromBytes(new Uint8Array(3), 'f32', [1]),
      /3 bytes for f32 \[1\], which takes 4/,
    ],
  ];
  it.each(bad)('refuses %s', async (_, kind, act, message) => {
    const rt = await runtime();
    let error: unknown;
    try {
      act(rt);
    } catch (e) {
      error = e;
    }
    expect(error).toBeInstanceOf(kind);
    expect((error as ForgeError).message).toMatch(message);
    expect((error as ForgeError).fix.length).toBeGreaterThan(0);
    // Nothing is lost: the runtime goes on.
    expect(rt.tensor([1]).add(1).item()).toBe(2);
  });
});
