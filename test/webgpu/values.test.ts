// Programs that WebGPU got wrong or refused without a name, through the runtime.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WebGpuDevice } from '../../src/devices/webgpu/device.ts';
import { openDawn } from '../../src/devices/webgpu/node.ts';
import { openWebGpuDevices } from '../../src/devices/webgpu/open.ts';
import { createRuntime, DeviceUnavailable, type Runtime, type Tensor } from '../../src/index.ts';
import type { Kernel, Routine } from '../../src/kernel/kernel.ts';
import { needsWebGpu, noWebGpu } from '../support/webgpu.ts';
import { matmulOf } from './checks/products.ts';
import { addKernel } from './checks/runtime.ts';
import { withFirstSize } from './first-size.ts';
import { bytesOf, upload, valuesOf } from './support.ts';

needsWebGpu();

describe('on WebGPU', () => {
  let rt: Runtime;
  beforeAll(async () => {
    if (!noWebGpu) rt = await createRuntime({ devices: ['webgpu'] });
  });
  afterAll(() => rt?.close());
  const bools = (...values: readonly number[]): Tensor => rt.tensor(values).cast('bool');

  it('bools add and multiply', async () => {
    expect([...(await rt.einsum('i,j', bools(1, 0), bools(1, 1)).data())]).toEqual([1, 1, 0, 0]);
    expect([...(await rt.einsum('ij->i', bools(0, 0, 1, 0).reshape([2, 2])).data())]).toEqual([0, 1]);
    const pooled = bools(1, 0, 0, 0, 0, 0, 0, 0).reshape([1, 1, 2, 4]).maxPool([2, 2]);
    expect([...(await pooled.expm1().data())]).toEqual([Math.fround(Math.E - 1), 0]);
  });

  it('long sums and dot products keep what they add', async () => {
    const data = new Float32Array(4_000_000).fill(0.1);
    const exact = data.length * Math.fround(0.1);
    const x = rt.tensor(data);
    expect(Math.abs(Number((await x.sum().data())[0]) / exact - 1)).toBeLessThan(1e-6);
    const squares = data.length * Math.fround(0.1) ** 2;
    expect(Math.abs(Number((await x.dot(x).data())[0]) / squares - 1)).toBeLessThan(1e-6);
  });

  it('positions that 32 bits do not hold are refused by name, and others stay exact', async () => {
    await expect(
      rt
        .ones([2 ** 32])
        .mean()
        .data(),
    ).rejects.toThrow(DeviceUnavailable);
    await expect(rt.eye(65537).trace().data()).rejects.toThrow(/32 bits/);
    expect([...(await rt.eye(40000).trace().data())]).toEqual([40000]);
  });

  it('floor division takes off the remainder of the dividend', async () => {
    const t = rt.tensor([-(2 ** 31), -7, 7]).floorDivide(rt.tensor([237, 2, -2]));
    expect([...(await t.data())]).toEqual([-9061113, -4, -4]);
  });
});

describe('empty work', () => {
  const noBatch = { batchA: Number.NaN, batchB: Number.NaN };
  const rows: readonly {
    readonly work: Kernel | Routine;
    readonly scalars: readonly number[];
    readonly want: number[];
  }[] = [
    { work: addKernel(0), scalars: [1], want: [] },
    { work: matmulOf('f32', 0, 3, 4), scalars: [], want: [] },
    { work: { ...matmulOf('f32', 2, 3, 0), ...noBatch }, scalars: [], want: [0, 0, 0, 0, 0, 0] },
  ];
  it.each(rows)('$work.name fills its result', async ({ work, scalars, want }) => {
    const device = (await openWebGpuDevices()).devices[0] as WebGpuDevice;
    const inputs = (work.kind === 'kernel' ? [0] : [0, 1]).map(() => device.allocate(0));
    const out = upload(device, bytesOf('f32', new Array<number>(want.length).fill(9)));
    device.launch(device.prepare(work), [...inputs, out], scalars);
    expect([...valuesOf('f32', await device.read(out))]).toEqual(want);
    await device.close();
  });
});

describe('an adapter that holds pipelines of one layout to the first one', () => {
  it('is found when it is opened, and gets a layout for each pipeline', async () => {
    const found = await openDawn(process, 'high-performance');
    if (found.kind !== 'gpu') throw new Error(found.reason);
    const open = async (gpu: GPU): Promise<WebGpuDevice> =>
      (await openWebGpuDevices({ gpu })).devices[0] as WebGpuDevice;
    const run = async (device: WebGpuDevice): Promise<number[]> => {
      // In one batch: the first wants large buffers, the second small ones.
      const results: { size: number; out: ReturnType<typeof upload> }[] = [];
      for (const n of [4000, 8]) {
        const ones = bytesOf('f32', new Array<number>(n).fill(1));
        const [a, out] = [upload(device, ones), device.allocate(4 * n)];
        device.launch(device.prepare(addKernel(n)), [a, out], [1]);
        results.push({ size: n, out });
      }
      const sums: number[] = [];
      for (const { out } of results) sums.push(valuesOf('f32', await device.read(out)).reduce((x, y) => x + y, 0));
      return sums;
    };
    const plain = await open(found.gpu);
    expect(await run(plain)).toEqual([8000, 16]);
    const shared = plain.stats();
    expect(shared.layouts).toBeLessThan(shared.pipelines);
    const picky = await open(withFirstSize(found.gpu));
    expect(await run(picky)).toEqual([8000, 16]);
    const own = picky.stats();
    expect(own.layouts).toBe(own.pipelines);
    await plain.close();
    await picky.close();
  });
});
