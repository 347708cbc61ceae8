import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../../test/gpu/build.ts';
import { MockCuda } from '../../../test/support/cuda-mock.ts';
import type { CudaDevice } from './device.ts';
import { openCudaDevices } from './discover.ts';

/** A device whose clock moves by `step` ms with every event and by `kernel` ms with every launch. */
async function open(): Promise<{ ffi: MockCuda; device: CudaDevice; clock: { now: number; busy: boolean } }> {
  const ffi = new MockCuda();
  const host = { env: {}, home: '/home/user', access: () => 'missing' as const };
  const { devices } = await openCudaDevices({ ffi, host, cacheDir: false });
  const clock = { now: 1000, busy: false };
  const times = new Map<number, number>();
  ffi.handlers.set('cuEventRecord', (event) => {
    times.set(event!, (clock.now += 0.001));
    return 0;
  });
  ffi.handlers.set('cuLaunchKernel', () => {
    clock.now += 2;
    return 0;
  });
  ffi.handlers.set('cuEventElapsedTime', (out, from, to) => {
    const ms = new Float32Array([times.get(to!)! - times.get(from!)!]);
    ffi.bytesAt(out!, 4).set(new Uint8Array(ms.buffer));
    return 0;
  });
  ffi.handlers.set('cuEventQuery', () => (clock.busy ? 600 : 0));
  ffi.calls.length = 0;
  return { ffi, device: devices[0] as CudaDevice, clock };
}

function negate(n: number) {
  const k = new KernelBuilder([n]);
  k.output(k.op('neg', k.whole('f32')));
  return k.done(`negate_${n}`);
}

describe('spans of the CUDA device', () => {
  it('put one pair of events around a launch that has an id, and none while they are off', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(negate(64));
    const buffers = [device.allocate(256), device.allocate(256)];
    device.launch(p, buffers, [], 1);
    device.spans(true);
    ffi.calls.length = 0;
    device.launch(p, buffers, []);
    expect(ffi.names()).toEqual(['cuLaunchKernel']);
    ffi.calls.length = 0;
    device.launch(p, buffers, [], 7);
    expect(ffi.names(['cuEventCreate'])).toEqual(['cuEventRecord', 'cuLaunchKernel', 'cuEventRecord']);
    const [span, ...more] = device.takeSpans();
    expect(more).toEqual([]);
    expect(span!.id).toBe(7);
    expect(span!.end - span!.start).toBeCloseTo(2.001, 4);
    expect(device.takeSpans()).toEqual([]);
    device.spans(false);
    ffi.calls.length = 0;
    device.launch(p, buffers, [], 8);
    expect(ffi.names()).toEqual(['cuLaunchKernel']);
    expect(device.takeSpans()).toEqual([]);
  });

  it('measure a recorded replay as one', async () => {
    const { device } = await open();
    const p = device.prepare(negate(64));
    const recording = device.record([
      { program: p, buffers: [0, 1], scalars: [] },
      { program: p, buffers: [1, 0], scalars: [] },
    ]);
    device.spans(true);
    recording.replay([device.allocate(256), device.allocate(256)], [], 3);
    const spans = device.takeSpans();
    expect(spans.map((s) => s.id)).toEqual([3]);
    expect(spans[0]!.end - spans[0]!.start).toBeCloseTo(4.001, 4);
  });

  it('keep one clock through all anchors', async () => {
    const { device, clock } = await open();
    const p = device.prepare(negate(64));
    const buffers = [device.allocate(256), device.allocate(256)];
    device.spans(true);
    device.launch(p, buffers, [], 1);
    const [first] = device.takeSpans();
    const from = clock.now;
    for (let i = 0; i < 5; i++) {
      clock.now += 10_000;
      await device.clock();
    }
    device.launch(p, buffers, [], 2);
    // Still counts from the anchor it was begun with.
    await device.clock();
    const [second] = device.takeSpans();
    expect(second!.end - first!.end).toBeCloseTo(clock.now - from - 0.008, 2);
  });

  it('need no more than 4,096 events: launches beyond go unmeasured until the device catches up', async () => {
    const { ffi, device, clock } = await open();
    const p = device.prepare(negate(64));
    const buffers = [device.allocate(256), device.allocate(256)];
    device.spans(true);
    clock.busy = true;
    for (let i = 0; i < 5000; i++) device.launch(p, buffers, [], i);
    const created = ffi.calls.filter((c) => c.name === 'cuEventCreate').length;
    expect(created).toBeLessThanOrEqual(4096);
    clock.busy = false;
    const spans = device.takeSpans();
    expect(spans.length).toBeGreaterThan(2000);
    expect(spans.map((s) => s.id)).toEqual(spans.map((_, i) => i));
    device.launch(p, buffers, [], 9000);
    expect(device.takeSpans().map((s) => s.id)).toEqual([9000]);
    await device.clock();
    expect(ffi.calls.filter((c) => c.name === 'cuEventCreate').length).toBe(created);
  });

  it('give back all events and the stream', async () => {
    const { ffi, device } = await open();
    device.spans(true);
    await device.clock();
    device.spans(false);
    const count = (name: string): number => ffi.calls.filter((c) => c.name === name).length;
    expect(count('cuEventDestroy_v2')).toBe(count('cuEventCreate'));
    expect(count('cuStreamDestroy_v2')).toBe(1);
    await expect(device.clock()).rejects.toThrow(/while spans are on/);
  });
});
