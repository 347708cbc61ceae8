// Kernels that change borrowed memory in place: what they compute, and what they refuse.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime, type InPlaceKernel, type Runtime } from '../../src/index.ts';
import { noWebGpu } from '../support/webgpu.ts';

describe.each(['reference', 'cpu', 'webgpu'] as const)('on %s', (kind) => {
  if (kind === 'webgpu' && noWebGpu !== undefined) return it.skip(`no WebGPU: ${noWebGpu}`);
  let rt: Runtime;
  beforeAll(async () => {
    rt = await createRuntime({ devices: [kind], cpu: { threads: 1 } });
  });
  afterAll(() => rt.close());

  const words = { dtype: 'u32', shape: [4] } as const;
  const make = (...values: readonly number[]) => rt.tensor(Uint32Array.from(values)).compute();

  /** Runs one launch, looks, and lets the guard undo it. */
  const look = async (
    add: InPlaceKernel,
    undo: InPlaceKernel,
    tensors: ReturnType<typeof make>[],
  ): Promise<number[][]> => {
    const { value } = await rt.memory.borrow<number[][]>(
      tensors,
      async function* (memory) {
        yield { do: (m) => add(...m), undo: (m) => undo(...m) };
        const read = memory.map(async (m) => new Uint32Array((await m.device.read(m.buffer)).slice().buffer));
        return (await Promise.all(read)).map((a) => [...a]);
      },
      { restore: 'guard' },
    );
    return value;
  };

  it('results replace their inputs; others are read at neighbours; tensors from outside too', async () => {
    const factor = rt.tensor(Uint32Array.of(1, 10, 100, 1000)).compute();
    const kernel = (sign: 1 | -1): InPlaceKernel =>
      rt.inPlaceKernel([words, words], (x, y) =>
        sign === 1 ? x.add(y.at(1).mul(factor)) : x.sub(y.at(1).mul(factor)),
      );
    const [a, b] = [make(1, 2, 3, 4), make(5, 6, 7, 8)];
    expect(await look(kernel(1), kernel(-1), [a, b])).toEqual([
      [7, 72, 803, 5004],
      [5, 6, 7, 8],
    ]);
    expect([...(await a.data())]).toEqual([1, 2, 3, 4]);
  });

  it('two results at once see what both were before', async () => {
    const mix = rt.inPlaceKernel([words, words], (x, y) => [x.add(y), y.add(x.mul(2))]);
    const unmix = rt.inPlaceKernel([words, words], (x, y) => [y.sub(x), x.mul(2).sub(y)]);
    expect(await look(mix, unmix, [make(1, 2, 3, 4), make(5, 6, 7, 8)])).toEqual([
      [6, 8, 10, 12],
      [7, 10, 13, 16],
    ]);
  });

  it('what would need a copy, or does not fit, is refused before anything changes', async () => {
    const refusals: readonly (readonly [string, InPlaceKernel])[] = [
      ['NOT_IN_PLACE', rt.inPlaceKernel([words], (x) => x.add(x.at(1)))],
      ['NOT_ONE_KERNEL', rt.inPlaceKernel([words], (x) => x.sort().add(x))],
      ['WRONG_RESULT', rt.inPlaceKernel([words], (x) => x.cast('f32'))],
      ['WRONG_RESULT', rt.inPlaceKernel([words], (x) => [x.add(1), x.add(2)])],
      ['WRONG_MEMORY', rt.inPlaceKernel([{ dtype: 'u32', shape: [5] }], (x) => x.add(1))],
      ['WRONG_MEMORY', rt.inPlaceKernel([words, words], (x, y) => x.add(y))],
    ];
    for (const [code, kernel] of refusals) {
      const x = make(1, 2, 3, 4);
      await expect(look(kernel, kernel, [x]), code).rejects.toMatchObject({ code });
      expect([...(await x.data())]).toEqual([1, 2, 3, 4]);
    }
  });
});
