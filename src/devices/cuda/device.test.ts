import { describe, expect, it, vi } from 'vitest';
import { KernelBuilder } from '../../../test/gpu/build.ts';
import { MockCuda } from '../../../test/support/cuda-mock.ts';
import { within } from '../../../test/support/time.ts';
import { DeviceLost, DisposedError, ForgeError, OutOfMemory } from '../../errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { CudaDevice } from './device.ts';
import { openCudaDevices } from './discover.ts';

const MiB = 2 ** 20;

async function open(change: (ffi: MockCuda) => void = () => {}): Promise<{ ffi: MockCuda; device: CudaDevice }> {
  const ffi = new MockCuda();
  change(ffi);
  const host = { env: {}, home: '/home/user', access: () => 'missing' as const };
  const { devices, refused } = await openCudaDevices({ ffi, host, cacheDir: false });
  expect(refused).toEqual([]);
  ffi.calls.length = 0;
  return { ffi, device: devices[0] as CudaDevice };
}

function addScalar(n: number, name = 'add_scalar'): Kernel {
  const k = new KernelBuilder([n]);
  k.inPlace.push(0);
  k.output(k.op('add', k.whole('f32'), k.scalar('f32')));
  return k.done(name);
}

const located = (b: object): number => (b as { address: number }).address;

const pattern = (n: number): Uint8Array => new Uint8Array(n).map((_, i) => (i * 31 + 7) & 255);

describe('the CUDA device over a recording driver', () => {
  it.each([1, 100, 300_000, 5 * MiB + 3])('brings %i bytes up and back unchanged', async (n) => {
    const { device } = await open();
    const b = device.allocate(n);
    const source = pattern(n);
    const copy = source.slice();
    device.write(b, source);
    source.fill(0);
    expect(Buffer.from(await device.read(b)).equals(copy)).toBe(true);
    expect(Buffer.from(device.readSync(b)).equals(copy)).toBe(true);
    const part = device.readSync(b, Math.floor(n / 2), n - Math.floor(n / 2));
    expect(Buffer.from(part).equals(copy.subarray(Math.floor(n / 2)))).toBe(true);
  });

  it('launches with one call, arguments packed as pointers and scalars of eight bytes', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(addScalar(1000));
    const [x, y] = [device.allocate(4000), device.allocate(4000)];
    ffi.calls.length = 0;
    device.launch(p, [x, y], [2.5]);
    expect(ffi.names()).toEqual(['cuLaunchKernel']);
    const args = ffi.calls[0]!.args;
    expect(args.slice(1, 7)).toEqual([2, 1, 1, 256, 1, 1]);
    const extra = new BigUint64Array(ffi.bytesAt(args[10]!, 40).slice().buffer);
    expect([extra[0], extra[2], extra[4]]).toEqual([1n, 2n, 0n]);
    expect(new BigUint64Array(ffi.bytesAt(Number(extra[3]), 8).slice().buffer)[0]).toBe(24n);
    const packed = new DataView(ffi.bytesAt(Number(extra[1]), 24).slice().buffer);
    expect(packed.getBigUint64(8, true) - packed.getBigUint64(0, true)).toBe(4096n);
    expect(packed.getFloat32(16, true)).toBe(2.5);
  });

  it('prepares equal kernels once, whoever built them', async () => {
    const { ffi, device } = await open();
    const kernel = addScalar(1000);
    expect(device.prepare(kernel)).toBe(device.prepare(kernel));
    expect(device.prepare(addScalar(1000))).toBe(device.prepare(kernel));
    expect(device.prepare(addScalar(1001))).not.toBe(device.prepare(kernel));
    expect(ffi.names().filter((n) => n === 'cuLinkComplete')).toHaveLength(2);
  });

  it('of many reads at once all are enqueued before one is waited for, and only the oldest is asked about', async () => {
    const { ffi, device } = await open();
    const buffers = Array.from({ length: 20 }, () => device.allocate(64));
    buffers.forEach((b, i) => {
      device.write(b, new Uint8Array(64).fill(i));
    });
    ffi.calls.length = 0;
    // Each event is done when it is asked for the third time.
    const asked = new Map<number, number>();
    ffi.handlers.set('cuEventQuery', (event) => {
      const times = (asked.get(event) ?? 0) + 1;
      asked.set(event, times);
      return times < 3 ? 600 : 0;
    });
    const all = await Promise.all(buffers.map((b) => device.read(b)));
    expect(all.map((bytes) => bytes[0])).toEqual(buffers.map((_, i) => i));
    const names = ffi.names();
    expect(names.indexOf('cuEventQuery')).toBeGreaterThan(names.lastIndexOf('cuMemcpyDtoHAsync_v2'));
    // Three for each: nobody was asked about while an older one was under way.
    expect([...asked.values()]).toEqual(buffers.map(() => 3));
  });

  it('a read that fails does not keep those behind it waiting', async () => {
    const { ffi, device } = await open();
    const [a, b] = [device.allocate(64), device.allocate(64)];
    ffi.handlers.set('cuEventQuery', () => 700);
    const ends = await Promise.allSettled([device.read(a), device.read(b)]);
    expect(ends.map((e) => e.status)).toEqual(['rejected', 'rejected']);
  });

  it('puts large copies on their own stream, behind earlier kernels and before later ones', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(addScalar(1000));
    const b = device.allocate(MiB);
    const place = located(b);
    device.write(b, pattern(MiB));
    ffi.calls.length = 0;
    device.launch(p, [b, b], [1]);
    device.launch(p, [b, b], [1]);
    // The first launch waits for the upload, the second does not have to.
    expect(ffi.names()).toEqual(['cuStreamWaitEvent', 'cuLaunchKernel', 'cuLaunchKernel']);
    ffi.calls.length = 0;
    const reading = device.read(b);
    const copyStream = ffi.calls.find((c) => c.name === 'cuMemcpyDtoHAsync_v2')!.args[3];
    expect(ffi.names().slice(0, 2)).toContain('cuEventRecord');
    const wait = ffi.calls.find((c) => c.name === 'cuStreamWaitEvent')!;
    expect(wait.args[0]).toBe(copyStream);
    await reading;
    ffi.calls.length = 0;
    // The copy out of it is done: the block can be used again without a wait.
    device.release(b);
    const next = device.allocate(MiB);
    device.launch(p, [next, next], [1]);
    expect(ffi.names()).toEqual(['cuEventQuery', 'cuLaunchKernel']);
    expect(located(next)).toBe(place);
  });

  it('waits for a short kernel without giving up its turn, and lets only one of many waits do so', async () => {
    const { ffi, device } = await open();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    try {
      const asked = new Map<number, number>();
      let slow = true;
      const first = device.mark();
      const second = device.mark();
      const events = ffi.calls.filter((c) => c.name === 'cuEventRecord').map((c) => c.args[0]!);
      ffi.handlers.set('cuEventQuery', (event) => {
        const times = (asked.get(event!) ?? 0) + 1;
        asked.set(event!, times);
        return event === events[0] ? (times < 100 ? 600 : 0) : slow ? 600 : 0;
      });
      let turned = false;
      setImmediate(() => {
        turned = true;
      });
      const waits = [first.whenDone(), second.whenDone()];
      // Nothing is asked before the caller has enqueued all it has.
      expect(asked.size).toBe(0);
      await waits[0];
      expect(turned).toBe(false);
      expect(asked.get(events[0]!)).toBe(100);
      expect(asked.get(events[1]!) ?? 0).toBeLessThan(4);
      slow = false;
      await waits[1];
    } finally {
      clock.mockRestore();
    }
  });

  it('does not hand out a block that a copy still reads, unless there is no other room: then kernels wait', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(addScalar(1000));
    const b = device.allocate(40 * MiB);
    const at = located(b);
    void device.read(b);
    const notReady = 600;
    ffi.handlers.set('cuEventQuery', () => notReady);
    device.release(b);
    const other = device.allocate(10 * MiB);
    expect(located(other)).not.toBe(at);
    ffi.calls.length = 0;
    const large = device.allocate(40 * MiB);
    expect(ffi.names()).toContain('cuStreamWaitEvent');
    expect(located(large)).toBe(at);
    ffi.calls.length = 0;
    device.launch(p, [large, large], [1]);
    // Behind so much work a point is set that later copies can wait for.
    expect(ffi.names(['cuEventRecord'])).toEqual(['cuLaunchKernel']);
  });

  it.each([true, false])(
    'reuses released memory without asking the driver, and gives it back on trim',
    async (virtual) => {
      const { ffi, device } = await open((f) => {
        f.virtual = virtual;
      });
      device.release(device.allocate(3 * MiB));
      ffi.calls.length = 0;
      for (let i = 0; i < 50; i++) device.release(device.allocate((3 - i / 50) * MiB));
      expect(ffi.calls).toEqual([]);
      expect(device.memory().free).toBe(ffi.capacity);
      expect(device.pool()).toEqual({ reserved: 4 * MiB, inUse: 0, idle: 4 * MiB });
      device.trim();
      expect(ffi.deviceBytes).toBe(0);
      expect(ffi.names()).toContain('cuCtxSynchronize');
      await device.close();
      expect(ffi.reservedRanges).toBe(0);
    },
  );

  it.each(['cuMemCreate', 'cuMemAddressReserve'])(
    'takes whole segments where the driver has no %s',
    async (missing) => {
      const { ffi, device } = await open((f) => {
        f.missing.add(missing);
      });
      device.allocate(3 * MiB);
      expect(ffi.names()).toContain('cuMemAlloc_v2');
      expect(ffi.names()).not.toContain('cuMemMap');
    },
  );

  it('gives every buffer an allocation of its own where a memory checker is to see it', async () => {
    const ffi = new MockCuda();
    const host = { env: {}, home: '/home/user', access: () => 'missing' as const };
    const { devices } = await openCudaDevices({ ffi, host, cacheDir: false, pooled: false });
    const device = devices[0] as CudaDevice;
    const sizes = [1, 1000, 3_000_001];
    const held = sizes.map((n) => device.allocate(n));
    const asked = ffi.calls.filter((c) => c.name === 'cuMemAlloc_v2').map((c) => c.args[1]);
    expect(asked).toEqual(sizes);
    for (const b of held) device.release(b);
    expect(ffi.deviceBytes).toBe(0);
    expect(() => device.allocate(ffi.capacity + 1)).toThrow(OutOfMemory);
  });

  it('gives other GPUs that reach the memory access to it', async () => {
    const { ffi, device } = await open((f) => {
      f.devices = 3;
      f.handlers.set('cuDeviceCanAccessPeer', (out, peer) => {
        f.writeU64(out!, peer === 2 ? 1 : 0);
        return 0;
      });
    });
    device.allocate(3 * MiB);
    const access = ffi.calls.find((c) => c.name === 'cuMemSetAccess')!.args;
    expect(access[3]).toBe(2);
    const rights = new Int32Array(ffi.bytesAt(access[2]!, 24).slice().buffer);
    expect([...rights]).toEqual([1, 0, 3, 1, 2, 3]);
  });

  it('keeps what is in use when memory is short, and moves idle memory to where it is needed', async () => {
    const { ffi, device } = await open();
    const blocks = Array.from({ length: 6 }, () => device.allocate(10 * MiB));
    const bytes = pattern(10 * MiB);
    device.write(blocks[1]!, bytes);
    for (const i of [0, 2, 4]) device.release(blocks[i]!);
    // 34 MiB are free, but no more than 14 in one place.
    const large = device.allocate(30 * MiB);
    expect(ffi.deviceBytes).toBeLessThanOrEqual(ffi.capacity);
    device.write(large, pattern(30 * MiB));
    expect(Buffer.from(device.readSync(blocks[1]!)).equals(bytes)).toBe(true);
  });

  it('says how much was asked for and how much is free when memory runs out, and goes on', async () => {
    const { device } = await open();
    const held = device.allocate(40 * MiB);
    let caught: unknown;
    try {
      device.allocate(40 * MiB);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(OutOfMemory);
    expect(caught).toMatchObject({ requested: 40 * MiB, available: 24 * MiB });
    device.release(held);
    expect(device.allocate(40 * MiB).bytes).toBe(40 * MiB);
  });

  it('turns driver codes into errors with the name CUDA has for them', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(addScalar(1000));
    const b = device.allocate(4000);
    ffi.handlers.set('cuLaunchKernel', () => 701);
    let caught: unknown;
    try {
      device.launch(p, [b, b], [1]);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(ForgeError);
    expect(caught).toMatchObject({ code: 'CUDA_ERROR_701' });
    expect((caught as Error).message).toContain('add_scalar');
  });

  it('reports a fatal error as the loss of the device', async () => {
    const { ffi, device } = await open();
    const b = device.allocate(400);
    ffi.handlers.set('cuEventQuery', () => 700);
    await expect(device.read(b)).rejects.toBeInstanceOf(DeviceLost);
    expect((await device.lost).reason).toContain('CUDA_ERROR_700');
  });

  it('refuses released buffers and a closed device', async () => {
    const { device } = await open();
    const p = device.prepare(addScalar(10));
    const b = device.allocate(40);
    device.release(b);
    device.release(b);
    expect(() => device.launch(p, [b, b], [1])).toThrow(DisposedError);
    expect(() => device.write(b, new Uint8Array(4))).toThrow(DisposedError);
    await device.close();
    await device.close();
    expect(() => device.allocate(4)).toThrow(DisposedError);
  });

  it('replays one kernel directly, and many as a graph whose arguments change only where buffers do', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(addScalar(1000));
    const [x, y, z] = [device.allocate(4000), device.allocate(4000), device.allocate(4000)];
    const one = device.record([{ program: p, buffers: [0, 0], scalars: [0] }]);
    ffi.calls.length = 0;
    one.replay([x], [1]);
    expect(ffi.names()).toEqual(['cuLaunchKernel']);

    const many = device.record(
      [
        { program: p, buffers: [0, 1], scalars: [0] },
        { program: p, buffers: [1, 1], scalars: [0] },
        { program: p, buffers: [2, 2], scalars: [] },
        { program: p, buffers: [2, 2], scalars: [1] },
      ].map((l) => ({ ...l, scalars: l.scalars.length > 0 ? l.scalars : [1] })),
    );
    ffi.calls.length = 0;
    many.replay([x, y, z], [1, 2]);
    expect(ffi.names().filter((n) => n === 'cuGraphAddKernelNode')).toHaveLength(4);
    expect(ffi.names().at(-1)).toBe('cuGraphLaunch');
    ffi.calls.length = 0;
    many.replay([x, y, z], [1, 2]);
    expect(ffi.names()).toEqual(['cuGraphLaunch']);
    ffi.calls.length = 0;
    many.replay([x, y, z], [5, 2]);
    expect(ffi.names(['cuGraphLaunch'])).toEqual(['cuGraphExecKernelNodeSetParams', 'cuGraphExecKernelNodeSetParams']);
    // Swapped buffers get a second graph once, and then cost one call each.
    many.replay([y, x, z], [5, 2]);
    ffi.calls.length = 0;
    many.replay([x, y, z], [5, 2]);
    many.replay([y, x, z], [5, 2]);
    expect(ffi.names()).toEqual(['cuGraphLaunch', 'cuGraphLaunch']);
    // So do four sets of buffers that take turns; a fifth takes the place of the one not used for longest.
    const turns = [
      [x, y, z],
      [y, x, z],
      [z, y, x],
      [x, z, y],
    ];
    for (const set of turns) many.replay(set, [5, 2]);
    ffi.calls.length = 0;
    for (const set of turns) many.replay(set, [5, 2]);
    expect(ffi.names()).toEqual(turns.map(() => 'cuGraphLaunch'));
    many.replay([y, z, x], [5, 2]);
    expect(ffi.names()).toContain('cuGraphExecKernelNodeSetParams');
    ffi.calls.length = 0;
    for (const set of turns.slice(1)) many.replay(set, [5, 2]);
    expect(ffi.names()).toEqual(turns.slice(1).map(() => 'cuGraphLaunch'));
    many.dispose();
    many.dispose();
    expect(ffi.names().filter((n) => n === 'cuGraphExecDestroy')).toHaveLength(4);
  });

  it('exchanges bytes with a recording by one launch of a graph and one wait', async () => {
    const { ffi, device } = await open();
    const p = device.prepare(addScalar(1000));
    const [x, y, z] = [device.allocate(4000), device.allocate(4000), device.allocate(4000)];
    const both = device.record([
      { program: p, buffers: [0, 1], scalars: [0] },
      { program: p, buffers: [1, 2], scalars: [0] },
    ]);
    const [first, other] = [
      [x, y, z],
      [x, z, y],
    ];
    const given = pattern(4000);
    ffi.calls.length = 0;
    both.exchange!(first!, [1], 0, given, 2);
    // Captured once: the upload, both kernels, the download.
    expect(ffi.names(['cuCtxSetCurrent'])).toEqual([
      'cuMemHostAlloc',
      'cuStreamBeginCapture_v2',
      'cuMemcpyHtoDAsync_v2',
      'cuLaunchKernel',
      'cuLaunchKernel',
      'cuMemcpyDtoHAsync_v2',
      'cuStreamEndCapture',
      'cuGraphInstantiateWithFlags',
      'cuGraphLaunch',
      'cuStreamSynchronize',
    ]);
    expect(ffi.calls.find((c) => c.name === 'cuMemcpyHtoDAsync_v2')!.args[0]).toBe(located(x));
    expect(ffi.calls.find((c) => c.name === 'cuMemcpyDtoHAsync_v2')!.args[1]).toBe(located(z));
    // Two states that take turns cost one call and one wait each.
    both.exchange!(other!, [1], 0, given, 2);
    ffi.calls.length = 0;
    for (const bindings of [first, other, first, other]) both.exchange!(bindings!, [1], 0, given, 2);
    expect(ffi.names()).toEqual(Array.from({ length: 4 }, () => ['cuGraphLaunch', 'cuStreamSynchronize']).flat());
    // Other numbers are another graph; the ones used longest ago go.
    for (let k = 0; k < 6; k++) both.exchange!(first!, [k + 2], 0, given, 2);
    expect(ffi.names().filter((n) => n === 'cuGraphExecDestroy')).toHaveLength(4);
    ffi.handlers.set('cuStreamSynchronize', () => 700);
    expect(() => both.exchange!(first!, [7], 0, given, 2)).toThrow(DeviceLost);
    both.dispose();
    expect(ffi.names().filter((n) => n === 'cuGraphExecDestroy')).toHaveLength(8);
  });

  it('shows the line the assembler complained about', async () => {
    const { ffi, device } = await open();
    ffi.handlers.set('cuLinkAddData_v2', () => 218);
    let caught: unknown;
    try {
      device.prepare(addScalar(10));
    } catch (error) {
      caught = error;
    }
    expect(caught).toMatchObject({ code: 'PTX_REFUSED', name: 'KernelError' });
    expect((caught as { source: string }).source).toContain('.visible .entry add_scalar');
    expect(ffi.names()).toContain('cuLinkDestroy');
  });

  it('uploads from pinned memory without another copy', async () => {
    const { ffi, device } = await open();
    const pinned = new Uint8Array(device.pinned(1000));
    pinned.fill(9);
    const b = device.allocate(1000);
    ffi.calls.length = 0;
    device.write(b, pinned);
    const copy = ffi.calls.find((c) => c.name === 'cuMemcpyHtoDAsync_v2')!;
    expect(copy.args[2]).toBe(1000);
    expect(ffi.names()).toContain('cuStreamSynchronize');
  });

  it('reads into the same pinned memory again once it was returned, and only then', async () => {
    const { ffi, device } = await open();
    const b = device.allocate(1 << 20);
    const read = (): { bytes: Uint8Array; address: unknown } => {
      ffi.calls.length = 0;
      const bytes = device.readSync(b);
      return { bytes, address: ffi.calls.find((c) => c.name === 'cuMemcpyDtoHAsync_v2')!.args[0] };
    };
    const first = read();
    const second = read();
    expect(second.address).not.toBe(first.address);
    device.returnRead(first.bytes);
    // What was returned, or never came from here, is left alone.
    device.returnRead(first.bytes);
    device.returnRead(new Uint8Array(1 << 20));
    const third = read();
    expect([third.address, ffi.names().includes('cuMemHostAlloc')]).toEqual([first.address, false]);
    expect([second.address, third.address]).not.toContain(read().address);
    // Bytes that are pinned no longer are uploaded like any others.
    ffi.calls.length = 0;
    device.write(b, first.bytes.subarray(0, 1000));
    expect(ffi.calls.find((c) => c.name === 'cuMemcpyHtoDAsync_v2')!.args[1]).not.toBe(first.address);
  });

  it('reads into an array it is given: straight if that is pinned, else without keeping pinned memory', async () => {
    const { ffi, device } = await open();
    const b = device.allocate(1 << 20);
    const pinned = new Uint8Array(device.pinned(1 << 20));
    device.write(b, pinned);
    const source = ffi.calls.findLast((c) => c.name === 'cuMemcpyHtoDAsync_v2')!.args[1];
    ffi.calls.length = 0;
    expect(await device.read(b, 0, 1 << 20, pinned)).toBe(pinned);
    expect(ffi.calls.find((c) => c.name === 'cuMemcpyDtoHAsync_v2')!.args[0]).toBe(source);
    expect(ffi.names()).not.toContain('cuMemHostAlloc');
    const plain = new Uint8Array(1 << 20);
    const to = async (): Promise<unknown> => {
      ffi.calls.length = 0;
      expect(await device.read(b, 0, 1 << 20, plain)).toBe(plain);
      return ffi.calls.find((c) => c.name === 'cuMemcpyDtoHAsync_v2')!.args[0];
    };
    expect(await to()).toBe(await to());
  });

  describe('marks that are waited for at once', () => {
    /** A device that has done as many launches as it is told. */
    async function steered() {
      const { ffi, device } = await open();
      const b = device.allocate(1024);
      const program = device.prepare(addScalar(256));
      const recorded = new Map<number, number>();
      const state = { launched: 0, done: 0, asked: new Set<number>() };
      ffi.handlers.set('cuLaunchKernel', () => {
        state.launched++;
        return 0;
      });
      ffi.handlers.set('cuEventRecord', (event) => {
        recorded.set(event!, state.launched);
        return 0;
      });
      ffi.handlers.set('cuEventQuery', (event) => {
        state.asked.add(event!);
        return recorded.get(event!)! <= state.done ? 0 : 600;
      });
      const marks = (count: number) =>
        Array.from({ length: count }, () => {
          device.launch(program, [b, b], [1]);
          return device.mark(false);
        });
      return { state, marks };
    }

    it('are asked about one at a time, the earliest first', async () => {
      const { state, marks } = await steered();
      const ended: number[] = [];
      const waits = marks(20).map((m, i) => m.whenDone().then(() => ended.push(i)));
      for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
      expect(state.asked.size).toBe(1);
      state.done = 10;
      await waits[9];
      expect(ended).toEqual(Array.from({ length: 10 }, (_, i) => i));
      state.done = 20;
      await Promise.all(waits);
      expect(ended).toEqual(Array.from({ length: 20 }, (_, i) => i));
    });

    it('do not wait for later ones, whichever was asked for first', async () => {
      const { state, marks } = await steered();
      const [early, late] = marks(2);
      let over = false;
      const ends = late!.whenDone().then(() => {
        over = true;
      });
      const first = early!.whenDone();
      state.done = 1;
      await first;
      expect(over).toBe(false);
      state.done = 2;
      await ends;
    });
  });

  it('lets the event loop turn now and then, however soon everything is done', async () => {
    const { device } = await open();
    const b = device.allocate(64);
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    const start = performance.now();
    while (!turned && performance.now() - start < 30_000) await device.read(b);
    expect(performance.now() - start).toBeLessThan(within(200));
    turned = false;
    setImmediate(() => {
      turned = true;
    });
    while (!turned && performance.now() - start < 30_000) await device.mark(false).whenDone();
    expect(turned).toBe(true);
  });

  describe('page-locked memory', () => {
    const locks = (ffi: MockCuda): string[] =>
      ffi.names().filter((n) => n === 'cuMemHostAlloc' || n === 'cuMemFreeHost');

    /** Reads buffers of these sizes, all at once, and returns what came. */
    const readAll = (device: CudaDevice, sizes: readonly number[]): void => {
      const read = sizes.map((n) => {
        const b = device.allocate(n);
        const bytes = device.readSync(b);
        device.release(b);
        return bytes;
      });
      for (const bytes of read) device.returnRead(bytes);
    };

    async function rested(sizes: readonly number[]): Promise<{ ffi: MockCuda; device: CudaDevice }> {
      const opened = await open();
      const clock = vi.spyOn(performance, 'now').mockReturnValue(1000);
      try {
        readAll(opened.device, sizes);
        clock.mockReturnValue(3001);
        opened.ffi.calls.length = 0;
        opened.device.trim();
      } finally {
        clock.mockRestore();
      }
      return opened;
    }

    it('stays over a trim if it was just used', async () => {
      const { ffi, device } = await open();
      readAll(device, [4 * MiB, 4 * MiB]);
      ffi.calls.length = 0;
      device.trim();
      readAll(device, [4 * MiB, 4 * MiB]);
      expect(locks(ffi)).toEqual([]);
    });

    it('goes after a rest, but for a block of each size that was read', async () => {
      const { ffi, device } = await rested([64, 4 * MiB, 4 * MiB, 4 * MiB, 10 * MiB, 10 * MiB]);
      expect(locks(ffi)).toEqual(['cuMemFreeHost', 'cuMemFreeHost', 'cuMemFreeHost']);
      // A device that is busy would be waited for here.
      ffi.calls.length = 0;
      for (const n of [64, 4 * MiB, 10 * MiB, 1000]) readAll(device, [n]);
      expect(locks(ffi)).toEqual([]);
    });

    it('that stays is bounded', async () => {
      const sizes = Array.from({ length: 12 }, (_, i) => 4 * (i + 1) * MiB);
      const { ffi, device } = await rested(sizes);
      // 4, 8, 12, 16 and 20 MiB are 60 of 64.
      expect(locks(ffi)).toHaveLength(sizes.length - 5);
      ffi.calls.length = 0;
      readAll(device, [24 * MiB]);
      expect(locks(ffi)).toContain('cuMemHostAlloc');
    });

    it('is there for a small read, however large the results are that are held', async () => {
      const { ffi, device } = await open();
      readAll(device, [64]);
      const b = device.allocate(8_000_000);
      const held = [device.readSync(b), device.readSync(b)];
      ffi.calls.length = 0;
      readAll(device, [64]);
      expect(locks(ffi)).toEqual([]);
      expect(held.every((bytes) => bytes.length === 8_000_000)).toBe(true);
    });

    it('goes when the device is closed', async () => {
      const { ffi, device } = await open();
      readAll(device, [64, 4 * MiB]);
      const taken = ffi.names().filter((n) => n === 'cuMemHostAlloc').length;
      await device.close();
      expect(ffi.names().filter((n) => n === 'cuMemFreeHost')).toHaveLength(taken);
    });
  });
});
