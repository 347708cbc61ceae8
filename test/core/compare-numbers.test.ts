// Integers and bools beside numbers that their dtype does not hold: beyond its range, fractions, infinities, NaN. NumPy's answers.

import { expect, it } from 'vitest';
import { createRuntime } from '../../src/index.ts';

const ops = {
  equal: (a: number, b: number) => a === b,
  notEqual: (a: number, b: number) => a !== b,
  less: (a: number, b: number) => a < b,
  lessEqual: (a: number, b: number) => a <= b,
  greater: (a: number, b: number) => a > b,
  greaterEqual: (a: number, b: number) => a >= b,
} as const;

const held = {
  u8: [0, 1, 2, 254, 255],
  i32: [-(2 ** 31), -1, 0, 2, 2 ** 31 - 1],
  u32: [0, 1, 2, 2 ** 32 - 1],
} as const;

const numbers = [
  ...[0, 1, 255, 256, 300, -1, 2 ** 31, 2 ** 32, -(2 ** 31) - 1, 2 ** 40, 1e300, -1e300],
  ...[1.5, 0.5, -0.5, 254.5, 255.5, 2 ** 31 - 0.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
];

it('integers compare as the numbers themselves do', async () => {
  await using rt = await createRuntime({ devices: ['cpu'] });
  for (const [dtype, values] of Object.entries(held)) {
    const x = rt.tensor([...values], { dtype: dtype as keyof typeof held });
    for (const [name, expected] of Object.entries(ops)) {
      for (const n of numbers) {
        const y = x[name as keyof typeof ops](n);
        expect([...(await y.data())], `${dtype} ${name} ${n}`).toEqual(values.map((v) => Number(expected(v, n))));
        expect(y.shape).toEqual(x.shape);
      }
    }
  }
});

it('a bool takes the dtype that holds the number', async () => {
  await using rt = await createRuntime({ devices: ['cpu'] });
  const yes = rt.tensor([true]);
  for (const [made, dtype, value] of [
    [yes.add(2 ** 31 - 2), 'i32', 2 ** 31 - 1],
    [yes.add(2 ** 40), 'i64', 2n ** 40n + 1n],
    [yes.mul(2 ** 31), 'i64', 2n ** 31n],
    [yes.mul(-(2 ** 31) - 1), 'i64', -(2n ** 31n) - 1n],
    [yes.maximum(3_000_000_000), 'i64', 3_000_000_000n],
    [yes.less(2 ** 40), 'bool', 1],
  ] as const) {
    expect([made.dtype, ...(await made.data())]).toEqual([dtype, value]);
  }
  expect(() => yes.add(10n ** 20n)).toThrow(/add: the scalar 100000000000000000000 does not fit a tensor of i64/);
});

it('clip takes limits beyond the range for none, on their side of it', async () => {
  await using rt = await createRuntime({ devices: ['cpu'] });
  const x = rt.tensor([1, 200], { dtype: 'u8' });
  expect([...(await x.clip(-1, 300).data())]).toEqual([1, 200]);
  expect([...(await x.clip(-1, 100).data())]).toEqual([1, 100]);
  expect(x.clip(-1, 300).dtype).toBe('u8');
  expect(() => x.clip(300)).toThrow(/clip: the scalar 300 does not fit a tensor of u8/);
  expect(() => x.clip(null, -1)).toThrow(/clip: the scalar -1 does not fit a tensor of u8/);
});
