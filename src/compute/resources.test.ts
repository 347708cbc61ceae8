import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cpuFacade, values } from '../../test/support/facade.ts';
import type { BatchOp } from '../batch/ops.ts';
import type { Device, DeviceBuffer } from '../devices/device.ts';
import type { Tensor } from '../index.ts';
import type { GPUCompute } from './gpu-compute.ts';

/** The most bytes a device had lent at once while something ran, on top of what it had before. */
async function peakOf(device: Device, work: () => Promise<unknown>): Promise<number> {
  const { allocate, release } = device;
  const sizes = new Map<DeviceBuffer, number>();
  let [now, peak] = [0, 0];
  device.allocate = (bytes) => {
    const buffer = allocate.call(device, bytes);
    sizes.set(buffer, bytes);
    now += bytes;
    peak = Math.max(peak, now);
    return buffer;
  };
  device.release = (buffer) => {
    now -= sizes.get(buffer) ?? 0;
    sizes.delete(buffer);
    release.call(device, buffer);
  };
  try {
    await work();
    return peak;
  } finally {
    device.allocate = allocate;
    device.release = release;
  }
}

const softmaxed = (x: Tensor): Tensor => x.softmax();
const chained = (x: Tensor): Tensor => x.sort().mul(2).cumsum(0);
const centred = (x: Tensor): Tensor => x.sub(x.mean()).abs();

// Results and temporaries of a few bytes live on the JavaScript heap and are never given back: nothing to predict.
/** The set on which predictions are held to their word. */
const set: readonly (readonly [op: BatchOp, count: number, length: number])[] = [
  ['meanSquare', 20, 50_000],
  ['meanSquare', 64, 10_000],
  ['square', 10, 100_000],
  ['square', 40, 5000],
  ['exp', 12, 30_000],
  ['norm', 30, 20_000],
  [(x) => x.reshape([2000, x.size / 2000]).std({ axis: 1 }), 16, 40_000],
  [
    (x) =>
      x
        .reshape([50, x.size / 50])
        .variance({ axis: 0, ddof: 1 })
        .mul(2),
    16,
    400_000,
  ],
  ['sqrt', 33, 9000],
  ['sum', 50, 8000],
  [softmaxed, 10, 20_000],
  [chained, 6, 20_000],
  [centred, 8, 30_000],
  [(x) => x.reshape([100, x.size / 100]).matmul(x.reshape([x.size / 100, 100])), 6, 20_000],
];

describe('the prediction of resources', () => {
  let gpu: GPUCompute;
  beforeAll(async () => {
    gpu = cpuFacade();
    await gpu.devices.selectDevice({ preferGPU: false });
  });
  afterAll(() => gpu.dispose());

  it('is within 15 % of the peak memory for at least 9 of 10 workloads, before they run', async () => {
    const errors: number[] = [];
    for (const [op, count, length] of set) {
      const tensors: Tensor[] = [];
      for (let i = 0; i < count; i++) tensors.push(await gpu.transferToGPU(values(length, i + 1)));
      const estimate = await gpu.estimateBatch(tensors, op);
      expect(estimate.fits).toBe(true);
      let results: Tensor[] = [];
      const peak = await peakOf(gpu.devices.station!.device, async () => {
        results = await gpu.processBatch(tensors, op);
      });
      errors.push(Math.abs(estimate.peakBytes - peak) / peak);
      for (const t of [...tensors, ...results]) t.dispose();
    }
    const within = errors.filter((e) => e <= 0.15).length / errors.length;
    expect(within, errors.map((e) => e.toFixed(2)).join(' ')).toBeGreaterThanOrEqual(0.9);
  });

  it('of time comes from the probe first, then from what was measured, and makes clear how sure it is', async () => {
    const tensors = [await gpu.transferToGPU(values(200_000)), await gpu.transferToGPU(values(200_000, 2))];
    const first = await gpu.estimateBatch(tensors, 'log');
    expect(first).toMatchObject({ source: 'probe' });
    expect(first.ms).toBeGreaterThan(0);
    for (let i = 0; i < 5; i++) for (const r of await gpu.processBatch(tensors, 'log')) r.dispose();
    const second = await gpu.estimateBatch(tensors, 'log');
    expect(second.source).toBe('measured');
    const spans = gpu.monitor.timeline.recent().filter((s) => s.name === 'log');
    const [least, most] = [Math.min(...spans.map((s) => s.ms)), Math.max(...spans.map((s) => s.ms))];
    expect(second.ms).toBeGreaterThanOrEqual(least * 0.99);
    expect(second.ms).toBeLessThanOrEqual(most * 1.01);
    expect(second.msError).toBeGreaterThanOrEqual(0);
  });

  it('says when a batch will not fit', async () => {
    const small = cpuFacade({ cpu: { threads: 1, memoryBytes: 1 << 20 } });
    const t = await small.transferToGPU(values(100_000));
    expect((await small.estimateBatch([t, t, t], 'square')).fits).toBe(false);
    await small.dispose();
  });
});
