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

  it('take one event and one look at the device for a launch on a busy stream; times are read later, once each', async () => {
    const { ffi, device, clock } = await open();
    const p = device.prepare(negate(64));
    const buffers = [device.allocate(256), device.allocate(256)];
    device.spans(true);
    clock.busy = true;
    device.launch(p, buffers, [], 0);
    ffi.calls.length = 0;
    for (let i = 1; i <= 100; i++) device.launch(p, buffers, [], i);
    const count = (name: string): number => ffi.calls.filter((c) => c.name === name).length;
    expect(count('cuEventRecord')).toBe(100);
    expect(count('cuEventQuery')).toBe(100);
    expect(count('cuEventElapsedTime')).toBe(0);
    expect(ffi.names(['cuEventRecord', 'cuEventQuery', 'cuEventCreate', 'cuLaunchKernel'])).toEqual([]);
    clock.busy = false;
    ffi.calls.length = 0;
    const spans = device.takeSpans();
    expect(ffi.calls.length).toBe(103);
    expect(count('cuEventQuery')).toBe(1);
    expect(spans.map((s) => s.id)).toEqual(Array.from({ length: 101 }, (_, i) => i));
    for (let i = 1; i <= 100; i++) {
      expect(spans[i]!.start).toBe(spans[i - 1]!.end);
      expect(spans[i]!.end - spans[i]!.start).toBeCloseTo(2.001, 4);
    }
    // Idle by now: the next one does not begin where the last one ended.
    clock.now += 50;
    device.launch(p, buffers, [], 200);
    const [late] = device.takeSpans();
    expect(late!.start - spans.at(-1)!.end).toBeGreaterThan(49);
    expect(late!.end - late!.start).toBeCloseTo(2.001, 2);
  });

  it('do not count what else is on the stream: unmeasured launches, waits for uploads', async () => {
    const { device, clock } = await open();
    const p = device.prepare(negate(64));
    const buffers = [device.allocate(256), device.allocate(256)];
    device.spans(true);
    clock.busy = true;
    device.launch(p, buffers, [], 1);
    device.launch(p, buffers, []);
    device.launch(p, buffers, [], 2);
    const large = device.allocate(1 << 20);
    device.write(large, new Uint8Array(1 << 20));
    clock.now += 30;
    device.launch(p, [large, buffers[1]!], [], 3);
    clock.busy = false;
    const spans = device.takeSpans();
    for (const s of spans) expect(s.end - s.start).toBeCloseTo(2.001, 2);
    expect(spans.map((s) => s.id)).toEqual([1, 2, 3]);
    expect(spans[1]!.start - spans[0]!.end).toBeGreaterThan(1.9);
    expect(spans[2]!.start - spans[1]!.end).toBeGreaterThan(29);
  });

  it('survive a launch that fails', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(negate(64));
    const buffers = [device.allocate(256), device.allocate(256)];
    device.spans(true);
    const launch = ffi.handlers.get('cuLaunchKernel')!;
    ffi.handlers.set('cuLaunchKernel', () => 1);
    expect(() => device.launch(p, buffers, [], 1)).toThrow();
    ffi.handlers.set('cuLaunchKernel', launch);
    device.launch(p, buffers, [], 2);
    expect(device.takeSpans().map((s) => s.id)).toEqual([2]);
  });

  it('need no more than 4,096 events: launches beyond are measured together with the next that gets one', async () => {
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
    expect(spans.length).toBeGreaterThan(4000);
    expect(spans.map((s) => s.id)).toEqual(spans.map((_, i) => i));
    const [rest, ...none] = device.takeSpans();
    expect(none).toEqual([]);
    expect([...spans.map((s) => s.id), ...rest!.ids!]).toEqual(Array.from({ length: 5000 }, (_, i) => i));
    expect(rest!.end - rest!.start).toBeCloseTo(2 * rest!.ids!.length, 1);
    device.launch(p, buffers, [], 9000);
    expect(device.takeSpans().map((s) => s.id)).toEqual([9000]);
    clock.busy = true;
    for (let i = 0; i < 5000; i++) device.launch(p, buffers, [], i);
    clock.busy = false;
    device.launch(p, buffers, [], 5000);
    expect(device.takeSpans().flatMap((s) => s.ids ?? [s.id])).toEqual(Array.from({ length: 5001 }, (_, i) => i));
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
