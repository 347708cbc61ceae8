// Programs whose values were wrong on some device, on all that run here and on CUDA's plans.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime, type Runtime } from '../../src/index.ts';
import { all } from '../support/extent.ts';
import { openCudaPlans } from './cuda-plans.ts';
import { valuePrograms } from './programs.ts';

const devices = {
  cpu: () => createRuntime({ devices: ['cpu'] }),
  'cpu, one thread': () => createRuntime({ devices: ['cpu'], cpu: { threads: 1, tinyElements: 0 } }),
  reference: () => createRuntime({ devices: ['reference'] }),
  'cuda plans': openCudaPlans,
};

/** Those that get no long programs. One thread takes the kernels of several, and twice the time. */
const slow = new Set<string>(['reference', 'cuda plans', ...(all ? [] : ['cpu, one thread'])]);

describe.each(Object.keys(devices) as (keyof typeof devices)[])('on %s', (name) => {
  let rt: Runtime;
  beforeAll(async () => {
    rt = await devices[name]();
  });
  afterAll(() => rt.close());

  for (const program of valuePrograms.filter((p) => !p.long || !slow.has(name))) {
    it(program.name, async () => {
      expect([...((await program.make(rt).data()) as Iterable<number | bigint>)]).toEqual(program.want);
    });
  }
});

describe('random numbers', () => {
  it('are the same bits on every device, normal ones too', async () => {
    const found = new Set<string>();
    for (const open of Object.values(devices)) {
      const rt = await open();
      const data = await rt.random.normal([5000], { seed: 5 }).data();
      found.add(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'));
      await rt.close();
    }
    expect(found.size).toBe(1);
  });
});

describe('a stencil that clamps at its border', () => {
  it('is one kernel, and reads the last element beyond it', async () => {
    const rt = await createRuntime({ devices: ['cpu'] });
    const step = rt.kernel(
      (x) => {
        const sum = x
          .at(1, 0, 0)
          .add(x.at(-1, 0, 0))
          .add(x.at(0, 1, 0))
          .add(x.at(0, -1, 0));
        return sum.add(x.at(0, 0, 1)).add(x.at(0, 0, -1));
      },
      { border: 'clamp' },
    );
    const n = 16;
    const data = Float32Array.from({ length: n ** 3 }, (_, i) => (i * 37) % 101);
    const at = (i: number, j: number, k: number): number => {
      const [x, y, z] = [i, j, k].map((p) => Math.min(n - 1, Math.max(0, p))) as [number, number, number];
      return data[(x * n + y) * n + z]!;
    };
    const want = Float32Array.from({ length: n ** 3 }, (_, p) => {
      const [i, j, k] = [Math.floor(p / n / n), Math.floor(p / n) % n, p % n];
      return at(i + 1, j, k) + at(i - 1, j, k) + at(i, j + 1, k) + at(i, j - 1, k) + at(i, j, k + 1) + at(i, j, k - 1);
    });
    expect(await step(rt.tensor(data, [n, n, n])).data()).toEqual(want);
    const far = rt.kernel((x) => x.at(-5).add(x.at(5)), { border: 'clamp' });
    expect([...(await far(rt.tensor([1, 2, 4])).data())]).toEqual([5, 5, 5]);
    await rt.close();
  });
});
