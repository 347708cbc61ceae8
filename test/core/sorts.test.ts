// A sort writes the positions only if somebody reads them, and the values are the same either way.

import { afterAll, describe, expect, it } from 'vitest';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';

const runtimes: readonly (readonly [string, Runtime])[] = [
  ['cpu', await createRuntime({ devices: ['cpu'] })],
  ['reference', await createRuntime({ devices: ['reference'] })],
];
afterAll(() => Promise.all(runtimes.map(([, rt]) => rt.close())));

const data = (n: number): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => [Number.NaN, -0, 0, ((i * 7919) % 101) - 50][i % 4]!);

async function sortsOf(rt: Runtime, ...results: Tensor[]): Promise<string[]> {
  const seen: string[] = [];
  const off = rt.on('launch', (e) => seen.push(e.name));
  await rt.flush(...results);
  off();
  return seen.filter((name) => name.startsWith('sort'));
}

const bitsOf = async (t: Tensor): Promise<number[]> => [...new Uint32Array(((await t.data()) as Float32Array).buffer)];

describe.each(runtimes)('sorts on %s', (_, rt) => {
  it('of values alone have no positions', async () => {
    const x = rt.tensor(data(60), [2, 30]);
    expect(await sortsOf(rt, x.sort())).toEqual(['sort_f32_2x30_values']);
    expect(await sortsOf(rt, x.argsort())).toEqual(['sort_f32_2x30']);
    expect(rt.explain(x.sort()).kernels.map((k) => k.name)).toEqual(['sort_f32_2x30_values']);
  });

  it('give the same values with positions and without, to the bit', async () => {
    for (const n of [30, 1000, 40_000]) {
      const x = rt.tensor(data(2 * n), [2, n]);
      for (const descending of [false, true]) {
        const alone = await bitsOf(x.sort(1, { descending }));
        const values = x.sort(1, { descending });
        expect(await sortsOf(rt, values, x.argsort(1, { descending }))).toEqual([`sort_f32_2x${n}`]);
        expect(await bitsOf(values)).toEqual(alone);
      }
    }
  });
});
