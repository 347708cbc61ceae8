// Kernels in a device's own language, through the runtime.

import { expect, it } from 'vitest';
import { type FaultyDevice, withFaults } from '../../src/governor/recovery/faults.ts';
import { createRuntime, DeviceUnavailable, type Events } from '../../src/index.ts';
import { skipWithoutWebGpu } from '../support/webgpu.ts';

const wgsl = `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> factor: vec4<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&x)) { y[id.x] = factor.x * x[id.x]; }
}`;

it('runs WGSL on WebGPU, with tensors before and after it', async (context) => {
  skipWithoutWebGpu(context);
  await using rt = await createRuntime({ devices: ['webgpu', 'cpu'] });
  const scale = rt.rawKernel({
    entry: 'main',
    sources: { wgsl },
    outputs: (x) => [{ dtype: 'f32', shape: x!.shape }],
    grid: (x) => [Math.ceil(x!.size / 64)],
    scalars: ['f32'],
  });
  const told: Events['launch'][] = [];
  const compiled: Events['compile'][] = [];
  const x = rt.arange(100).cast('f32').add(1).compute();
  rt.on('launch', (e) => told.push(e));
  rt.on('compile', (e) => compiled.push(e));
  const [y] = scale([x], [2.5]);
  expect(compiled).toMatchObject([{ kernels: ['main'], device: 'webgpu:0' }]);
  expect(told).toMatchObject([{ name: 'main', device: 'webgpu:0', program: compiled[0]!.id, replay: null }]);
  expect(y!.shape).toEqual([100]);
  const data = await y!.add(1).data();
  expect([data[0], data[99]]).toEqual([3.5, 251]);
});

it('says which languages the open devices take', async () => {
  await using rt = await createRuntime({ devices: ['cpu'] });
  const kernel = rt.rawKernel({ entry: 'main', sources: { wgsl }, outputs: () => [], grid: () => [1] });
  expect(() => kernel([rt.ones([4])])).toThrow(DeviceUnavailable);
  expect(() => kernel([rt.ones([4])])).toThrow(/no open device runs wgsl \(cpu takes none\)/);
  expect(() => rt.rawKernel({ entry: 'main', sources: {}, outputs: () => [], grid: () => [1] })).toThrow(/no source/);
});

it('runs again for a result that went with its device', async (context) => {
  skipWithoutWebGpu(context);
  let gpu: FaultyDevice | undefined;
  await using rt = await createRuntime({
    devices: ['webgpu'],
    wrap: (d) => (gpu = withFaults(d, { faults: [], rebirth: { faults: [] } })),
  });
  const scale = rt.rawKernel({
    entry: 'main',
    sources: { wgsl },
    outputs: (x) => [{ dtype: 'f32', shape: x!.shape }],
    grid: (x) => [Math.ceil(x!.size / 64)],
    scalars: ['f32'],
  });
  const x = rt.tensor([1, 2, 3]);
  const [y] = scale([x], [2.5]);
  x.dispose();
  gpu!.lose('unplugged');
  expect([...(await y!.data())]).toEqual([2.5, 5, 7.5]);
});
