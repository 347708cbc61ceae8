// Lists of tensors as programs make them: every dtype side by side, lazy and computed items, transposed, cut and repeated ones, scalars,
// items without elements between others, one tensor several times. Each is compared with a loop over its items.

import { describe, expect, it } from 'vitest';
import { batchElementwise, batchMatmul, batchXor, createBatch } from '../../src/batch/index.ts';
import { createRuntime, DeviceUnavailable, type DType, type Runtime, type Tensor } from '../../src/index.ts';
import { random } from '../support/cpu.ts';
import { all } from '../support/extent.ts';
import { fakeGpu, values } from '../support/facade.ts';
import { seed } from '../support/seed.ts';
import { ownRuntimes } from './own-runtimes.ts';
import { expectProduct } from './random-lists.ts';

const wide: readonly DType[] = ['f32', 'f64', 'i32', 'u32', 'i64', 'u64', 'u8', 'bool', 'f16', 'bf16'];
const narrow: readonly DType[] = ['f32', 'i32', 'u32', 'bool'];

type Next = (below: number) => number;

const drawing = (from: number): Next => {
  const draw = random(from);
  return (below) => Math.floor(draw() * below);
};

const shapes: readonly (readonly number[])[] = [[], [0], [1], [7], [2, 0, 3], [3, 4], [4, 3], [2, 3, 2], [1, 1, 5, 1]];

/** Small whole numbers: exact in every dtype, and of every dtype some. */
function whole(rt: Runtime, dtype: DType, shape: readonly number[], next: Next): Tensor {
  const size = shape.reduce((n, d) => n * d, 1);
  return rt
    .tensor(
      Float32Array.from({ length: size }, () => next(dtype === 'bool' ? 2 : 9)),
      shape as number[],
    )
    .cast(dtype) as Tensor;
}

/** The ways to come by an item, all of a dtype; the shape may change on the way. */
const forms: readonly ((x: Tensor, rt: Runtime) => Tensor)[] = [
  (x) => x,
  (x) => x.compute(),
  (x) => (x.rank > 1 ? x.compute().transpose() : x.compute()),
  (x) => (x.rank > 0 && x.shape[0]! > 1 ? x.compute().slice([[1, x.shape[0]!]]) : x),
  (x) =>
    x
      .compute()
      .reshape([1, ...x.shape])
      .expand([2, ...x.shape]),
  (x) => (x.rank > 0 ? x.flip(0) : x),
  (x, rt) => rt.where(x.cast('bool'), x, x),
  (x) => x.compute().flatten(),
];

function items(rt: Runtime, dtypes: readonly DType[], next: Next): Tensor[] {
  const made: Tensor[] = [];
  for (let left = 1 + next(24); left > 0; left--) {
    if (made.length > 0 && next(5) === 0) made.push(made[next(made.length)]!);
    else {
      const x = whole(rt, dtypes[next(dtypes.length)]!, shapes[next(shapes.length)]!, next);
      made.push(forms[next(forms.length)]!(x, rt));
    }
  }
  return made;
}

const told = async (t: Tensor) => [t.dtype, [...t.shape], [...(await t.bytes())]];

/** Compares lists with loops; what is made inside is gone afterwards. */
async function compare(rt: Runtime, dtypes: readonly DType[], lists: number): Promise<void> {
  const next = drawing(seed);
  for (let k = 0; k < lists; k++) {
    await rt.scope(async () => {
      const x = items(rt, dtypes, next);
      // Functions of integers are f64, which not every GPU has.
      const op = (['square', 'add', 'multiply', 'sqrt', 'exp'] as const)[next(dtypes.includes('f64') ? 5 : 3)]!;
      const by = [2, 0, 1, -0][next(4)]!;
      const alone = { square: (t: Tensor) => t.mul(t), sqrt: (t: Tensor) => t.sqrt(), exp: (t: Tensor) => t.exp() };
      const loop = (t: Tensor): Tensor =>
        op === 'add' ? t.add(by) : op === 'multiply' ? t.mul(by) : (alone[op](t) as Tensor);
      const wanted = [];
      for (const t of x) wanted.push(await told(loop(t)));
      const got = await batchElementwise(x, op, by, { runtime: rt });
      for (let i = 0; i < got.length; i++)
        expect(await told(got[i]!), `list ${k}, item ${i}, ${op}`).toEqual(wanted[i]);
      const bits = x.filter((t) => !['f16', 'bf16'].includes(t.dtype));
      const keys = bits.map((t) => rt.onesLike(t) as Tensor);
      const mixed = await batchXor(bits, keys, { runtime: rt });
      for (let i = 0; i < bits.length; i++) {
        const [a, b] = [await bits[i]!.bytes(), await keys[i]!.bytes()];
        expect(await told(mixed[i]!), `list ${k}, item ${i}, xor`).toEqual([
          bits[i]!.dtype,
          [...bits[i]!.shape],
          [...a].map((v, j) => v ^ b[j]!),
        ]);
      }
    });
  }
}

/** Products of matrices that are views, lazy, of no rows, of integers. */
async function compareProducts(rt: Runtime, dtypes: readonly DType[], lists: number): Promise<void> {
  const next = drawing(seed + 1);
  const side = (): number => [0, 1, 2, 5, 9][next(5)]!;
  for (let k = 0; k < lists; k++) {
    await rt.scope(async () => {
      const kinds = Array.from({ length: 1 + next(3) }, () => [side(), side(), side()] as const);
      const pairs = Array.from({ length: 1 + next(12) }, () => {
        const [m, l, n] = kinds[next(kinds.length)]!;
        const dtype = dtypes[next(dtypes.length)]!;
        const matrix = (rows: number, columns: number): Tensor => {
          const turned = next(2) === 0;
          const x = whole(rt, dtype, turned ? [columns, rows] : [rows, columns], next);
          if (next(2) === 0) x.compute();
          return turned ? (x.transpose() as Tensor) : x;
        };
        return { a: matrix(m, l), b: matrix(l, n), shape: [m, l, n] as const };
      });
      const got = await batchMatmul(
        pairs.map((p) => p.a),
        pairs.map((p) => p.b),
        { runtime: rt },
      );
      for (const [i, { a, b, shape }] of pairs.entries()) {
        const alone = a.matmul(b);
        expect([got[i]!.dtype, ...got[i]!.shape]).toEqual([alone.dtype, ...alone.shape]);
        // Sums of small whole numbers are exact in any order.
        expect([...(await got[i]!.bytes())], `list ${k}, pair ${i}`).toEqual([...(await alone.bytes())]);
        if (a.dtype === 'f32')
          expectProduct(
            (await got[i]!.data()) as Float32Array,
            (await a.data()) as Float32Array,
            (await b.data()) as Float32Array,
            shape,
          );
      }
    });
  }
}

const runtimes = ownRuntimes();

describe.each(['cpu', 'gpu'] as const)('on the %s', (kind) => {
  it('items of every dtype and form equal the loop, and nothing is left', async () => {
    const rt = runtimes[kind];
    const before = rt.stats().tensors;
    await compare(rt, wide, all ? 300 : 25);
    await compareProducts(rt, ['f32', 'f64', 'i32'], all ? 200 : 20);
    expect(rt.stats().tensors).toBe(before);
  });

  it('a disposed item is named, wherever it is; nothing runs', async () => {
    const rt = runtimes[kind];
    const x = Array.from({ length: 5 }, (_, i) => rt.tensor(values(8, i)) as Tensor);
    x[3]!.dispose();
    const before = rt.stats().launches;
    for (const call of [
      () => batchElementwise(x, 'square', undefined, { runtime: rt }),
      () => batchXor(x, x, { runtime: rt }),
      () => batchXor(x.slice(0, 3), x.slice(2), { runtime: rt }),
      () => batchMatmul(x, x, { runtime: rt }),
    ])
      await expect(call()).rejects.toMatchObject({ code: expect.stringMatching(/DISPOSED/) });
    expect(rt.stats().launches).toBe(before);
    for (const t of x) t.dispose();
  });

  it('hundreds of groups of one item each come back in order', async () => {
    const rt = runtimes[kind];
    const groups = all ? 997 : 197;
    const data = Array.from({ length: groups + 3 }, (_, i) =>
      Float32Array.from({ length: i % groups }, (_, k) => i + k),
    );
    const got = await batchElementwise(data, 'multiply', 2, { runtime: rt });
    expect(got.report).toMatchObject({ items: groups + 3, groups });
    for (const [i, made] of got.entries()) expect(made).toEqual(data[i]!.map((v) => 2 * v));
    const keys = data.map((d) => d.map((v) => v + 1));
    const mixed = await batchXor(data, keys, { runtime: rt });
    const back = await batchXor(mixed, keys, { runtime: rt });
    for (const [i, made] of back.entries()) expect(made).toEqual(data[i]);
  });

  it('one item that no device has room for is named, whatever the order of the groups', async () => {
    const options = { memory: { budget: 1 << 20 } };
    const rt =
      kind === 'cpu'
        ? await createRuntime({ devices: ['cpu'], ...options })
        : ((await fakeGpu().open({ routing: { device: 'cuda:0' }, ...options })) as Runtime);
    const sizes = [1000, 1000, 400_000, 1000];
    const data = sizes.map((n, i) => values(n, i));
    const error = await batchElementwise(data, 'square', undefined, { runtime: rt }).catch((e) => e);
    expect(error).toMatchObject({ name: 'BatchOperationError', index: 2, batch: { first: 2, size: 1 }, completed: 3 });
    const [after] = await batchElementwise([data[0]!], 'square', undefined, { runtime: rt });
    expect(after).toEqual(data[0]!.map((v) => v * v));
    expect(rt.stats().tensors).toBe(0);
    await rt.close();
  });

  it('a listener that throws at its n-th call ends the call with its error, and leaves nothing', async () => {
    const rt = runtimes[kind];
    const x = Array.from({ length: 9 }, (_, i) => rt.tensor(values(20 + (i % 2), i)) as Tensor);
    await using batch = createBatch(x, { runtime: rt, maxBatchSize: 2, autoOptimize: false });
    const { tensors, bytes } = rt.stats();
    for (let at = 1; at <= 4; at++) {
      let calls = 0;
      const onProgress = (): void => {
        if (++calls === at) throw new RangeError(`mine ${at}`);
      };
      await expect(batch.batchElementwise(x, 'exp', undefined, { onProgress })).rejects.toThrow(`mine ${at}`);
      expect(rt.stats()).toMatchObject({ tensors, bytes });
    }
    for (const t of x) t.dispose();
  });
});

it('on WebGPU items of every form equal the loop', async (context) => {
  const rt = await createRuntime({ devices: ['webgpu'] }).catch((e) => {
    if (e instanceof DeviceUnavailable) return null;
    throw e;
  });
  if (!rt) return context.skip('no WebGPU device');
  await compare(rt, narrow, all ? 30 : 4);
  await compareProducts(rt, ['f32', 'i32'], all ? 20 : 4);
  await rt.close();
});

it('where launches cost next to nothing products of tensors are those of each pair alone, bit for bit', async (context) => {
  const rt = await createRuntime({ devices: ['webgpu'] }).catch((e) => {
    if (e instanceof DeviceUnavailable) return null;
    throw e;
  });
  if (!rt) return context.skip('no WebGPU device');
  const { cheapLaunches } = rt.device(rt.devices().find((d) => d.open)!.id).caps;
  if (!cheapLaunches) {
    await rt.close();
    return context.skip('no software adapter');
  }
  const make = (k: number): Tensor[] =>
    Array.from({ length: 5 }, (_, i) => rt.tensor(values(33 * 33, 7 * i + k), [33, 33]) as Tensor);
  const [a, b] = [make(1), make(2)];
  const made = await batchMatmul(a, b, { runtime: rt });
  for (const [i, m] of made.entries()) expect(await m.data()).toEqual(await a[i]!.matmul(b[i]!).data());
  expect(made.report.launches).toBe(5);
  await rt.close();
});

describe('a list of very many short items', () => {
  const many = Array.from({ length: 25_000 }, (_, i) => Float32Array.of(i));

  it.each([
    [
      'arrays',
      (rt: Runtime, signal: AbortSignal, onProgress: (done: number) => void) =>
        batchElementwise(many, 'add', 1, { runtime: rt, signal, onProgress }),
    ],
    [
      'arrays of two lengths',
      (rt: Runtime, signal: AbortSignal, onProgress: (done: number) => void) =>
        batchXor([...many, Float32Array.of(1, 2)], Float32Array.of(1), { runtime: rt, signal, onProgress }),
    ],
    [
      'tensors',
      (rt: Runtime, signal: AbortSignal, onProgress: (done: number) => void) =>
        batchElementwise(
          many.map((a) => rt.tensor(a)),
          'add',
          1,
          { runtime: rt, signal, onProgress },
        ),
    ],
  ] as const)('%s: it is cut, so that its progress is told and it can be ended in between', async (_, run) => {
    await using rt = await createRuntime({ devices: ['cpu'] });
    const stop = new AbortController();
    const told: number[] = [];
    await rt.scope(async () => {
      const ended = run(rt, stop.signal, (done) => {
        told.push(done);
        if (told.length === 2) stop.abort();
      });
      await expect(ended).rejects.toMatchObject({ code: 'ABORTED' });
      expect(told).toEqual([10_000, 20_000]);
      const whole = await run(rt, new AbortController().signal, (done) => told.push(done));
      expect(whole.length).toBeGreaterThanOrEqual(25_000);
      expect(told.slice(2)).toEqual([10_000, 20_000, whole.length]);
    });
    expect(rt.stats().tensors).toBe(0);
  });
});
