// The facade on WebGPU, a software adapter included: a device without f64, without synchronous reads, with its own clock.

import { expect, it } from 'vitest';
import { DeviceManager, DeviceUnavailableError, GPUCompute } from '../../src/compute/index.ts';

function values(length: number, seed: number): Float32Array {
  let s = seed >>> 0;
  return Float32Array.from({ length }, () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s / 2 ** 31 - 1;
  });
}

it('transfers, computes and resets on WebGPU', async (context) => {
  await using devices = DeviceManager.create({
    kinds: ['webgpu'],
    preference: { requireGPU: true, software: 'accept' },
    probeElements: 4096,
  });
  await using gpu = GPUCompute.create({ devices });
  const station = await devices.ready().catch((e) => {
    if (e instanceof DeviceUnavailableError) context.skip(`no WebGPU device: ${e.rejected.map((r) => r.reason)}`);
    throw e;
  });
  expect(station.device.caps.dtypes.has('f64')).toBe(false);

  const data = values(20_000, 1);
  const tensor = await gpu.transferToGPU(data);
  expect(gpu.deviceOf(tensor)).toBe('webgpu:0');
  expect(await gpu.transferFromGPU(tensor)).toEqual(data);

  // Squares whose sum leaves the range of f32 although their mean does not.
  const huge = await gpu.transferToGPU(new Float32Array(4096).fill(1e19));
  const tiny = await gpu.transferToGPU(new Float32Array(4096).fill(1e-18));
  const zero = await gpu.transferToGPU(new Float32Array(4096));
  const [a, b, c, d] = await gpu.computeBatch([huge, tiny, zero, tensor]);
  const read = async (t: typeof a): Promise<number> => Number((await gpu.transferFromGPU(t!))[0]);
  expect(Math.abs((await read(a)) / 1e38 - 1)).toBeLessThan(1e-6);
  expect(Math.abs((await read(b)) / 1e-36 - 1)).toBeLessThan(1e-6);
  expect(await read(c)).toBe(0);
  const mean = data.reduce((s, v) => s + v * v, 0) / data.length;
  expect(Math.abs((await read(d)) / mean - 1)).toBeLessThan(1e-6);

  const many = [tensor, ...(await Promise.all([2, 3, 4, 5].map((i) => gpu.transferToGPU(values(5000, i)))))];
  const bits = async (chunkSize: number): Promise<number[]> =>
    Promise.all((await gpu.processBatch(many, 'norm', { chunkSize })).map(read));
  expect(await bits(5)).toEqual(await bits(1));

  await gpu.resetDevice();
  expect(await gpu.transferFromGPU(tensor)).toEqual(data);
  expect(gpu.monitor.getMemoryUsage().unreliable).toBe(true);
});
