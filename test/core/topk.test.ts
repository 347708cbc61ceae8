// The first few of sorted rows are found without a sort where the device can; the reference device follows the same plan.

import { afterAll, expect, it } from 'vitest';
import { createRuntime, type DType, type Runtime, type Tensor } from '../../src/index.ts';
import fc from '../support/properties.ts';

const rt = await createRuntime({ devices: ['reference'] });
const cpu = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
afterAll(() => Promise.all([rt.close(), cpu.close()]));

/** Few different values, so that many are equal; NaN and both zeros among the floats. */
function values(on: Runtime, shape: readonly number[], dtype: DType, seed = 1): Tensor {
  const n = shape.reduce((p, d) => p * d, 1);
  const data = Array.from({ length: n }, (_, i) => ((i * 7919 + seed * 31) % 23) - (dtype[0] === 'u' ? 0 : 11));
  if (dtype[0] === 'f') for (let i = 0; i < n; i += 17) data[i] = i % 2 === 0 ? Number.NaN : -0;
  return on.tensor(data, shape, { dtype });
}

const same = async (got: Tensor, want: Tensor): Promise<void> =>
  expect([...((await got.data()) as Iterable<number>)]).toEqual([...((await want.data()) as Iterable<number>)]);

const launchesOf = async (...results: Tensor[]): Promise<string[]> => {
  const seen: string[] = [];
  const off = rt.on('launch', (e) => seen.push(e.name));
  await rt.flush(...results);
  off();
  return seen;
};

it.each(['f32', 'f16', 'i32', 'u8', 'i64'] as const)(
  'selects among %s, with NaN last and equal ones in order',
  async (dtype) => {
    for (const [shape, axis] of [
      [[3, 80], -1],
      [[90, 4], 0],
      [[2, 70, 3], 1],
    ] as const) {
      const [got, want] = [rt, cpu].map((on) => values(on, shape, dtype).topk(5, axis)) as [
        { values: Tensor; indices: Tensor },
        { values: Tensor; indices: Tensor },
      ];
      const launched = await launchesOf(got.values, got.indices);
      expect(launched.filter((n) => n.startsWith('largest5'))).toHaveLength(1);
      expect(launched.filter((n) => n.startsWith('sort'))).toEqual([]);
      await same(got.values, want.values);
      await same(got.indices, want.indices);
    }
  },
);

it('one of the two results is enough', async () => {
  const [got, want] = [rt, cpu].map((on) => values(on, [2, 100], 'f32').topk(3));
  expect(await launchesOf(got!.indices)).toEqual(['largest3_f32_2x100']);
  await same(got!.indices, want!.indices);
  await same(got!.values, want!.values);
});

it('a sort of which only the beginning is taken is a selection too', async () => {
  const make = (on: Runtime): Tensor =>
    values(on, [4, 128], 'i32')
      .sort()
      .slice([null, [0, 9]]);
  expect(rt.explain(make(rt)).kernels.map((k) => k.name)).toEqual(['smallest9_i32_4x128']);
  await same(make(rt), make(cpu));
});

it.each(['f32', 'f16', 'i32', 'u8', 'i64'] as const)(
  'so is a sort of %s of which the middle is taken',
  async (dtype) => {
    for (const [shape, axis] of [
      [[3, 80], 1],
      [[90, 4], 0],
      [[2, 70, 3], 1],
    ] as const) {
      for (const descending of [false, true]) {
        const middle = shape[axis]! / 2;
        const range = shape.map((_, i) => (i === axis ? ([middle - 1, middle + 1] as [number, number]) : null));
        const [got, want] = [rt, cpu].map((on) => {
          const data = values(on, shape, dtype);
          return [data.sort(axis, { descending }).slice(range), data.argsort(axis, { descending }).slice(range)];
        }) as [[Tensor, Tensor], [Tensor, Tensor]];
        const launched = await launchesOf(...got);
        const name = `${descending ? 'largest' : 'smallest'}${middle - 1}to${middle + 1}_${dtype}`;
        expect(launched.filter((n) => n.startsWith(name))).toHaveLength(1);
        expect(launched.filter((n) => n.startsWith('sort'))).toEqual([]);
        await same(got[0], want[0]);
        await same(got[1], want[1]);
      }
    }
  },
);

it('the whole sort can still be read afterwards', async () => {
  const whole = values(rt, [4, 128], 'i32').sort();
  await same(
    whole.slice([null, [0, 9]]),
    values(cpu, [4, 128], 'i32')
      .sort()
      .slice([null, [0, 9]]),
  );
  await same(whole, values(cpu, [4, 128], 'i32').sort());
});

const sorts: Readonly<Record<string, (on: Runtime) => readonly Tensor[]>> = {
  'of which many are kept': (on) => [values(on, [2, 100], 'f32').topk(40).values],
  'of very short rows': (on) => [values(on, [50, 6], 'f32').topk(1).values],
  'that is a result itself': (on) => {
    const whole = values(on, [2, 100], 'f32').sort();
    return [whole.slice([null, [0, 5]]), whole];
  },
  'whose end is taken': (on) => [
    values(on, [2, 100], 'f32')
      .sort()
      .slice([null, [90, 100]]),
  ],
  'of which one is taken, but whose rows are long': (on) => [
    values(on, [1, 20_000], 'i32')
      .sort()
      .slice([null, [10_000, 10_001]]),
  ],
  'of which every second is taken': (on) => [
    values(on, [2, 100], 'f32')
      .sort()
      .slice([null, [0, 20, 2]]),
  ],
  'of which some rows are taken': (on) => [
    values(on, [8, 100], 'f32')
      .sort()
      .slice([
        [0, 3],
        [0, 5],
      ]),
  ],
  'of which different parts are taken': (on) => {
    const whole = values(on, [2, 100], 'f32').sort();
    return [whole.slice([null, [0, 5]]), whole.slice([null, [0, 6]])];
  },
};

it.each(Object.keys(sorts))('is left as it is: a sort %s', async (name) => {
  const [got, want] = [sorts[name]!(rt), sorts[name]!(cpu)];
  const launched = await launchesOf(...got);
  expect(launched.some((n) => n.startsWith('sort'))).toBe(true);
  for (const [i, t] of got.entries()) await same(t, want[i]!);
});

it('any size and count', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 150 }),
      fc.integer({ min: 0, max: 150 }),
      fc.integer({ min: 1, max: 99 }),
      async (rows, columns, k, seed) => {
        const count = Math.min(k, columns);
        const [got, want] = [rt, cpu].map((on) => values(on, [rows, columns], 'f32', seed).topk(count));
        await same(got!.values, want!.values);
        await same(got!.indices, want!.indices);
      },
    ),
    { numRuns: 40 },
  );
});
