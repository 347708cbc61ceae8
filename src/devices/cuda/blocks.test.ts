import { describe, expect, it } from 'vitest';
import { addScalar, located, MiB, openMock, pattern } from '../../../test/support/cuda-device.ts';
import { MockCuda } from '../../../test/support/cuda-mock.ts';
import { OutOfMemory } from '../../errors.ts';
import type { CudaDevice } from './device.ts';
import { openCudaDevices } from './discover.ts';

describe('device memory in the order of the streams', () => {
  it('does not hand out a block that a copy still reads, unless there is no other room: then kernels wait', async () => {
    const { ffi, device } = await openMock();
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
      const { ffi, device } = await openMock((f) => {
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
      const { ffi, device } = await openMock((f) => {
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
    const { ffi, device } = await openMock((f) => {
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
    const { ffi, device } = await openMock();
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
    const { device } = await openMock();
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
});
