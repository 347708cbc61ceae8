import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../../test/gpu/build.ts';
import { MockCuda } from '../../../test/support/cuda-mock.ts';
import { seed } from '../../../test/support/seed.ts';
import { StreamOrder } from '../../../test/support/stream-order.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { DeviceBuffer, Mark, Recording } from '../device.ts';
import type { CudaDevice } from './device.ts';
import { openCudaDevices } from './discover.ts';

const MiB = 2 ** 20;

async function open(): Promise<{ ffi: MockCuda; device: CudaDevice }> {
  const ffi = new MockCuda();
  const host = { env: {}, home: '/home/user', access: () => 'missing' as const };
  const { devices } = await openCudaDevices({ ffi, host, cacheDir: false });
  ffi.calls.length = 0;
  return { ffi, device: devices[0] as CudaDevice };
}

function addScalar(n: number): Kernel {
  const k = new KernelBuilder([n]);
  k.output(k.op('add', k.whole('f32'), k.scalar('f32')));
  return k.done('add_scalar');
}

const copies = ['cuMemcpyHtoDAsync_v2', 'cuMemcpyDtoHAsync_v2'];
const streamsOf = (ffi: MockCuda, name: string): number[] =>
  ffi.calls.filter((c) => c.name === name).map((c) => c.args[name === 'cuLaunchKernel' ? 8 : 3]!);

describe('copies beside computations', () => {
  it('go up and down on streams of their own', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(addScalar(MiB / 4));
    const [x, y] = [device.allocate(MiB), device.allocate(MiB)];
    device.write(x, new Uint8Array(MiB));
    device.launch(p, [x, y], [1]);
    await device.read(y);
    const used = [...copies, 'cuLaunchKernel'].map((name) => new Set(streamsOf(ffi, name)));
    expect(used.map((s) => s.size)).toEqual([1, 1, 1]);
    expect(new Set(used.flatMap((s) => [...s])).size).toBe(3);
  });

  it('wait for nothing if their bytes are used by nobody: the next upload runs beside the work enqueued before it', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(addScalar(MiB / 4));
    const [x, y, next] = [device.allocate(MiB), device.allocate(MiB), device.allocate(MiB)];
    device.write(x, new Uint8Array(MiB));
    device.launch(p, [x, y], [1]);
    ffi.calls.length = 0;
    device.write(next, new Uint8Array(MiB));
    expect(ffi.names()).not.toContain('cuStreamWaitEvent');
  });

  it('wait for nothing once the work on their bytes was seen to be done, whatever is enqueued behind it', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(addScalar(MiB / 4));
    const [x, y, z] = [device.allocate(MiB), device.allocate(MiB), device.allocate(MiB)];
    device.launch(p, [x, y], [1]);
    const mark = device.mark(false);
    device.launch(p, [x, z], [1]);
    ffi.calls.length = 0;
    const early = device.read(y);
    expect(ffi.names()).toContain('cuStreamWaitEvent');
    await early;
    expect(mark.done()).toBe(true);
    ffi.calls.length = 0;
    const late = device.read(y);
    expect(ffi.names()).not.toContain('cuStreamWaitEvent');
    await late;
    // The other result was not seen.
    ffi.calls.length = 0;
    const other = device.read(z);
    expect(ffi.names()).toContain('cuStreamWaitEvent');
    await other;
  });

  it('a block that was used by enqueued work is written only behind it', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(addScalar(MiB / 4));
    const [x, y] = [device.allocate(MiB), device.allocate(MiB)];
    device.launch(p, [x, y], [1]);
    device.release(x);
    const again = device.allocate(MiB);
    ffi.calls.length = 0;
    // Part of it: what is not written stays, so it stays where it is.
    device.write(again, new Uint8Array(MiB / 2));
    expect(ffi.names(['cuEventCreate']).slice(0, 2)).toEqual(['cuEventRecord', 'cuStreamWaitEvent']);
  });

  it('a whole buffer is written where no work is busy, if there is room: the copy and the host wait for nothing', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(addScalar(MiB / 4));
    const [x, y] = [device.allocate(MiB), device.allocate(MiB)];
    device.launch(p, [x, y], [1]);
    const at = (x as { address?: number }).address;
    device.release(x);
    const again = device.allocate(MiB);
    expect((again as { address?: number }).address).toBe(at);
    const { inUse } = device.pool();
    const order = new StreamOrder(() => []);
    ffi.calls.length = 0;
    device.write(again, new Uint8Array(MiB).fill(7));
    expect(ffi.names()).not.toContain('cuStreamWaitEvent');
    expect((again as { address?: number }).address).not.toBe(at);
    expect(device.pool().inUse).toBe(inUse);
    expect((await device.read(again))[MiB - 1]).toBe(7);
    for (const call of ffi.calls) order.see(call);
    expect(order.races).toEqual([]);
    // Where there is no other room it waits.
    const rest: DeviceBuffer[] = [];
    const fill = (): void => {
      for (;;) rest.push(device.allocate(MiB));
    };
    expect(fill).toThrow(/no room/);
    device.launch(p, [rest[0]!, y], [1]);
    ffi.calls.length = 0;
    device.write(rest[0]!, new Uint8Array(MiB));
    expect(ffi.names()).toContain('cuStreamWaitEvent');
  });

  it('wait for the work that made their bytes, not for what is enqueued behind it', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(addScalar((4 * MiB) / 4));
    const [x, first, second] = [device.allocate(4 * MiB), device.allocate(20 * MiB), device.allocate(20 * MiB)];
    // Works on 24 MiB each: behind the second of them a point is set.
    device.launch(p, [x, first], [1]);
    device.launch(p, [x, second], [1]);
    const points = ffi.calls.filter((c) => c.name === 'cuEventRecord').map((c) => c.args[0]);
    expect(points).toHaveLength(1);
    for (let i = 0; i < 3; i++) device.launch(p, [x, x], [1]);
    ffi.calls.length = 0;
    void device.read(second);
    const waits = ffi.calls.filter((c) => c.name === 'cuStreamWaitEvent').map((c) => c.args[1]);
    expect(waits).toEqual(points);
  });

  it('a block that is handed out while a copy reads it, for lack of other room, is written behind that copy', async () => {
    const { ffi, device } = await open();
    const x = device.allocate(40 * MiB);
    device.write(x, new Uint8Array(MiB));
    ffi.handlers.set('cuEventQuery', () => 600);
    const reading = device.read(x);
    const down = streamsOf(ffi, 'cuMemcpyDtoHAsync_v2')[0]!;
    device.release(x);
    const order = new StreamOrder(() => []);
    const again = device.allocate(40 * MiB);
    device.write(again, new Uint8Array(MiB));
    const up = streamsOf(ffi, 'cuMemcpyHtoDAsync_v2').at(-1)!;
    expect(up).not.toBe(down);
    for (const call of ffi.calls) order.see(call, false);
    expect(order.races).toEqual([]);
    ffi.handlers.set('cuEventQuery', () => 0);
    await reading;
  });

  it('keep the order of every access over long random lives of buffers', async () => {
    const { ffi, device } = await open();
    let state = seed;
    const random = (n: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * n);
    };
    const sizes = [64, 4096, 300_000, MiB, 3 * MiB];
    const answers: boolean[] = [];
    ffi.handlers.set('cuEventQuery', () => {
      const done = random(3) > 0;
      answers.push(done);
      return done ? 0 : 600;
    });
    const launched: { from: number; bytes: number }[][] = [];
    const order = new StreamOrder(() => launched.shift()!);
    let answered = 0;
    const live: DeviceBuffer[] = [];
    const marks: Mark[] = [];
    const program = device.prepare(addScalar(16));
    const recording: Recording = device.record([{ program, buffers: [0, 1], scalars: [0] }]);
    const at = (b: DeviceBuffer) => ({ from: (b as { address?: number }).address!, bytes: b.bytes });
    const waits: Promise<unknown>[] = [];
    const actions: (() => void)[] = [
      () => live.length < 24 && live.push(device.allocate(sizes[random(sizes.length)]!)),
      () => live.length > 0 && device.release(live.splice(random(live.length), 1)[0]!),
      () => live.length > 0 && use((b) => device.write(b, new Uint8Array(b.bytes))),
      () => live.length > 0 && use((b) => waits.push(device.read(b))),
      () => live.length > 0 && use((b) => void device.readSync(b, 0, Math.min(b.bytes, 1000))),
      () => live.length > 1 && run((pair) => device.launch(program, pair, [1])),
      () => live.length > 1 && run((pair) => recording.replay(pair, [1])),
      () => marks.push(device.mark(random(2) === 0)),
      () => marks.length > 0 && void marks.splice(random(marks.length), 1)[0]!.done(),
    ];
    const use = (body: (b: DeviceBuffer) => unknown): unknown => body(live[random(live.length)]!);
    const run = (body: (pair: DeviceBuffer[]) => void): void => {
      const pair = [live[random(live.length)]!, live[random(live.length)]!];
      launched.push(pair.map(at));
      body(pair);
    };
    let seen = 0;
    for (let i = 0; i < 1500; i++) {
      actions[random(actions.length)]!();
      if (i % 20 === 0) await Promise.all(waits.splice(0));
      for (; seen < ffi.calls.length; seen++) {
        const call = ffi.calls[seen]!;
        order.see(call, call.name === 'cuEventQuery' ? answers[answered++] : true);
      }
    }
    await Promise.all(waits);
    expect(order.races).toEqual([]);
    // The checker has seen all kinds of work, and waits between streams.
    const names = new Set(ffi.names());
    for (const name of [...copies, 'cuLaunchKernel', 'cuStreamWaitEvent', 'cuEventQuery'])
      expect(names).toContain(name);
  });
});
