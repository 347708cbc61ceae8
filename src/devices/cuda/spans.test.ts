import { afterEach, describe, expect, it, vi } from 'vitest';
import { KernelBuilder } from '../../../test/gpu/build.ts';
import { MockCuda } from '../../../test/support/cuda-mock.ts';
import type { RawKernel } from '../../kernel/kernel.ts';
import type { CudaDevice } from './device.ts';
import { openCudaDevices } from './discover.ts';

/** What the kernels' clock shows where that of events shows 0: more than a double holds exactly. */
const epochNs = 1_763_260_000_123_456_789n;

/** A device whose clock moves by `step` ms with every event and by `kernel` ms with every launch; kernels with a slot note it there. */
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
  const words = (at: number, n: number): BigUint64Array => {
    const bytes = ffi.bytesAt(at, 8 * n);
    return new BigUint64Array(bytes.buffer, bytes.byteOffset, n);
  };
  // Functions of the module that was assembled last.
  let stamped = false;
  const noting = new Set<number>();
  const getFunction = ffi.handlers.get('cuModuleGetFunction')!;
  ffi.handlers.set('cuLinkAddData_v2', (_state, _type, text) => {
    stamped = ffi.text(text!).includes('.param .u64 stamp');
    return 0;
  });
  ffi.handlers.set('cuModuleGetFunction', (out, ...rest) => {
    const code = getFunction(out!, ...rest);
    if (stamped) noting.add(Number(words(out!, 1)[0]));
    return code;
  });
  const nowNs = (): bigint => epochNs + BigInt(Math.round(clock.now * 1e6));
  ffi.handlers.set('cuLaunchKernel', (...args) => {
    const [, at, , size] = words(args[10]!, 5);
    const values = words(Number(at), Number(words(Number(size), 1)[0]) / 8);
    const slot = noting.has(args[0]!) ? words(Number(values.at(-1)), 2) : null;
    if (slot) slot[0] = nowNs();
    // A look at the clock has no other argument, and takes no time.
    clock.now += values.length === 1 ? 0.002 : 2;
    if (slot) slot[1] = nowNs();
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

/** A user's own kernel: measured by events. */
const raw = (n: number): RawKernel => ({
  kind: 'routine',
  op: 'raw',
  name: 'own',
  language: 'ptx',
  source: '// own',
  entry: 'own',
  inputs: [{ type: 'f32', elements: n }],
  outputs: [{ type: 'f32', elements: n }],
  scalars: [],
  grid: [1, 1, 1],
  block: [64, 1, 1],
  estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
});

describe('spans of kernels that note their own times', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('enqueue nothing but the launch, and are told after the clocks were compared', async () => {
    const { ffi, device, clock } = await open();
    // Host and device go together: what is enqueued comes after the end of what ran before.
    vi.spyOn(performance, 'now').mockImplementation(() => clock.now);
    const p = device.prepare(negate(64));
    const buffers = [device.allocate(256), device.allocate(256)];
    device.launch(p, buffers, [], 1);
    device.spans(true);
    const anchor = clock.now;
    device.launch(p, buffers, []);
    ffi.calls.length = 0;
    device.launch(p, buffers, [], 7);
    // The module with stamps is loaded when it is first wanted.
    expect(ffi.names().filter((n) => !/Link|Module/.test(n))).toEqual(['cuLaunchKernel']);
    ffi.calls.length = 0;
    const from = clock.now;
    clock.now += 5;
    device.launch(p, buffers, [], 8);
    expect(ffi.names()).toEqual(['cuLaunchKernel']);
    expect(device.takeSpans()).toEqual([]);
    const reading = await device.clock();
    expect(reading.errorUs).toBeLessThan(1e5);
    const spans = device.takeSpans();
    expect(spans.map((s) => s.id)).toEqual([7, 8]);
    for (const s of spans) expect(s.end - s.start).toBeCloseTo(2, 5);
    expect(spans[1]!.start - spans[0]!.end).toBeCloseTo(5, 5);
    // On the clock of events, which began at the anchor; known as well as a launch is between two events.
    expect(spans[1]!.start).toBeCloseTo(from + 5 - anchor, 2);
    expect(device.takeSpans()).toEqual([]);
    device.spans(false);
    ffi.calls.length = 0;
    device.launch(p, buffers, [], 9);
    expect(ffi.names()).toEqual(['cuLaunchKernel']);
    expect(device.takeSpans()).toEqual([]);
  });

  it('end where the next one begins, if that was waiting and nothing else was between', async () => {
    const { device, clock } = await open();
    const p = device.prepare(negate(64));
    const buffers = [device.allocate(256), device.allocate(256)];
    // The host is far ahead: for it, hardly any time passes.
    vi.spyOn(performance, 'now').mockImplementation(() => clock.now / 1000);
    device.spans(true);
    await device.clock();
    device.launch(p, buffers, [], 1);
    clock.now += 0.003;
    device.launch(p, buffers, [], 2);
    device.launch(p, buffers, []);
    device.launch(p, buffers, [], 3);
    const spans = device.takeSpans();
    expect(spans.map((s) => s.id)).toEqual([1, 2, 3]);
    expect(spans[0]!.end).toBe(spans[1]!.start);
    expect(spans[0]!.end - spans[0]!.start).toBeCloseTo(2.003, 5);
    expect(spans[1]!.end - spans[1]!.start).toBeCloseTo(2, 5);
    expect(spans[2]!.start - spans[1]!.end).toBeCloseTo(2, 5);
  });

  it('load one module for what is measured from the start, and the plain one when that is wanted', async () => {
    const { ffi, device } = await open();
    device.spans(true);
    await device.clock();
    ffi.calls.length = 0;
    const loaded = (): number => ffi.names().filter((n) => n === 'cuModuleLoadDataEx').length;
    const p = device.prepare(negate(64));
    const buffers = [device.allocate(256), device.allocate(256)];
    device.launch(p, buffers, [], 1);
    device.launch(p, buffers, [], 2);
    expect(loaded()).toBe(1);
    device.spans(false);
    device.launch(p, buffers, []);
    device.launch(p, buffers, []);
    expect(loaded()).toBe(2);
  });

  it('measure all steps of a launch as one', async () => {
    const { ffi, device } = await open();
    device.spans(true);
    await device.clock();
    const scan = device.prepare({
      kind: 'routine',
      op: 'scan',
      name: 'scan',
      type: 'f32',
      combine: 'sum',
      outer: 1,
      length: 1 << 14,
      inner: 64,
      reverse: false,
      estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
    });
    const buffers = [device.allocate(1 << 22), device.allocate(1 << 22)];
    ffi.calls.length = 0;
    device.launch(scan, buffers, [], 1);
    device.launch(scan, buffers, [], 2);
    const steps = ffi.names().filter((n) => n === 'cuLaunchKernel').length / 2;
    expect(steps).toBeGreaterThan(1);
    const spans = device.takeSpans();
    expect(spans.map((s) => s.id)).toEqual([1, 2]);
    for (const s of spans) expect(s.end - s.start).toBeCloseTo(2 * steps, 5);
  });

  it('wrap around, wait where the ring is full, and lose none', async () => {
    const { ffi, device, clock } = await open();
    const p = device.prepare(negate(64));
    const buffers = [device.allocate(256), device.allocate(256)];
    device.spans(true);
    await device.clock();
    ffi.handlers.set('cuEventSynchronize', () => {
      clock.busy = false;
      return 0;
    });
    const ids: number[] = [];
    clock.busy = true;
    for (let i = 0; i < 20_000; i++) device.launch(p, buffers, [], i);
    expect(ffi.names().filter((n) => n === 'cuEventSynchronize').length).toBe(1);
    clock.busy = true;
    for (let i = 20_000; i < 30_000; i++) device.launch(p, buffers, [], i);
    clock.busy = false;
    const spans = device.takeSpans();
    for (const s of spans) ids.push(s.id);
    expect(ids).toEqual(Array.from({ length: 30_000 }, (_, i) => i));
    for (let i = 1; i < spans.length; i++) expect(spans[i]!.start).toBeGreaterThanOrEqual(spans[i - 1]!.end);
    expect(ffi.names().filter((n) => n === 'cuEventCreate').length).toBeLessThan(160);
  });

  it('are not told while the device is not done, nor if it wrote nothing', async () => {
    const { ffi, device, clock } = await open();
    const p = device.prepare(negate(64));
    const buffers = [device.allocate(256), device.allocate(256)];
    device.spans(true);
    await device.clock();
    clock.busy = true;
    device.launch(p, buffers, [], 1);
    expect(device.takeSpans()).toEqual([]);
    clock.busy = false;
    expect(device.takeSpans().map((s) => s.id)).toEqual([1]);
    const launch = ffi.handlers.get('cuLaunchKernel')!;
    ffi.handlers.set('cuLaunchKernel', () => 0);
    device.launch(p, buffers, [], 2);
    ffi.handlers.set('cuLaunchKernel', () => 1);
    expect(() => device.launch(p, buffers, [], 3)).toThrow();
    ffi.handlers.set('cuLaunchKernel', launch);
    device.launch(p, buffers, [], 4);
    expect(device.takeSpans().map((s) => s.id)).toEqual([4]);
  });

  it('fall back to events where there is no memory for the ring', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(negate(64));
    const buffers = [device.allocate(256), device.allocate(256)];
    ffi.handlers.set('cuMemHostAlloc', () => 2);
    device.spans(true);
    await device.clock();
    ffi.calls.length = 0;
    device.launch(p, buffers, [], 7);
    expect(ffi.names(['cuEventCreate'])).toEqual(['cuEventRecord', 'cuLaunchKernel', 'cuEventRecord']);
    expect(device.takeSpans().map((s) => s.id)).toEqual([7]);
    device.spans(false);
    expect(ffi.names().filter((n) => n === 'cuMemFree_v2')).toEqual([]);
  });

  it('lie between those of other work on one clock', async () => {
    const { device } = await open();
    const [own, other] = [device.prepare(negate(64)), device.prepare(raw(64))];
    const buffers = [device.allocate(256), device.allocate(256)];
    device.spans(true);
    await device.clock();
    for (let i = 0; i < 10; i++) device.launch(i % 2 ? own : other, buffers, [], i);
    const spans = [...device.takeSpans()].sort((a, b) => a.start - b.start);
    expect(spans.map((s) => s.id)).toEqual(Array.from({ length: 10 }, (_, i) => i));
  });
});

describe('spans by events', () => {
  it('put one pair of events around a launch that has an id, and none while they are off', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(raw(64));
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
    const p = device.prepare(raw(64));
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
    const p = device.prepare(raw(64));
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
    const done = clock.now;
    // Still counts from the anchor it was begun with.
    await device.clock();
    const [second] = device.takeSpans();
    expect(second!.end - first!.end).toBeCloseTo(done - from, 2);
  });

  it('take one event and one look at the device for a launch on a busy stream; times are read later, once each', async () => {
    const { ffi, device, clock } = await open();
    const p = device.prepare(raw(64));
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
    const p = device.prepare(raw(64));
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
    const p = device.prepare(raw(64));
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
    const p = device.prepare(raw(64));
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
    expect(count('cuMemFree_v2')).toBe(1);
    expect(count('cuMemFreeHost')).toBe(1);
    await expect(device.clock()).rejects.toThrow(/while spans are on/);
  });
});
