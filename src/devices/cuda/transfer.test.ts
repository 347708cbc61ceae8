import { describe, expect, it, vi } from 'vitest';
import { addScalar, located, MiB, openMock, pattern } from '../../../test/support/cuda-device.ts';
import type { MockCuda } from '../../../test/support/cuda-mock.ts';
import type { CudaDevice } from './device.ts';

describe('copies and pinned memory', () => {
  it('of many reads at once all are enqueued before one is waited for, and only the oldest is asked about', async () => {
    const { ffi, device } = await openMock();
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
    const { ffi, device } = await openMock();
    const [a, b] = [device.allocate(64), device.allocate(64)];
    ffi.handlers.set('cuEventQuery', () => 700);
    const ends = await Promise.allSettled([device.read(a), device.read(b)]);
    expect(ends.map((e) => e.status)).toEqual(['rejected', 'rejected']);
  });

  it('puts large copies on their own stream, behind earlier kernels and before later ones', async () => {
    const { ffi, device } = await openMock();
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

  it('uploads from pinned memory without another copy', async () => {
    const { ffi, device } = await openMock();
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
    const { ffi, device } = await openMock();
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
    const { ffi, device } = await openMock();
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
      const opened = await openMock();
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
      const { ffi, device } = await openMock();
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
      const { ffi, device } = await openMock();
      readAll(device, [64]);
      const b = device.allocate(8_000_000);
      const held = [device.readSync(b), device.readSync(b)];
      ffi.calls.length = 0;
      readAll(device, [64]);
      expect(locks(ffi)).toEqual([]);
      expect(held.every((bytes) => bytes.length === 8_000_000)).toBe(true);
    });

    it('goes when the device is closed', async () => {
      const { ffi, device } = await openMock();
      readAll(device, [64, 4 * MiB]);
      const taken = ffi.names().filter((n) => n === 'cuMemHostAlloc').length;
      await device.close();
      expect(ffi.names().filter((n) => n === 'cuMemFreeHost')).toHaveLength(taken);
    });
  });
});
