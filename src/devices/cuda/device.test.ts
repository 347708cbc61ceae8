import { describe, expect, it } from 'vitest';
import { addScalar, MiB, openMock, pattern } from '../../../test/support/cuda-device.ts';
import { DeviceLost, DisposedError, ForgeError } from '../../errors.ts';

describe('the CUDA device over a recording driver', () => {
  it.each([1, 100, 300_000, 5 * MiB + 3])('brings %i bytes up and back unchanged', async (n) => {
    const { device } = await openMock();
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
    const { ffi, device } = await openMock();
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
    const { ffi, device } = await openMock();
    const kernel = addScalar(1000);
    expect(device.prepare(kernel)).toBe(device.prepare(kernel));
    expect(device.prepare(addScalar(1000))).toBe(device.prepare(kernel));
    expect(device.prepare(addScalar(1001))).not.toBe(device.prepare(kernel));
    expect(ffi.names().filter((n) => n === 'cuLinkComplete')).toHaveLength(2);
  });

  it('turns driver codes into errors with the name CUDA has for them', async () => {
    const { ffi, device } = await openMock();
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
    const { ffi, device } = await openMock();
    const b = device.allocate(400);
    ffi.handlers.set('cuEventQuery', () => 700);
    await expect(device.read(b)).rejects.toBeInstanceOf(DeviceLost);
    expect((await device.lost).reason).toContain('CUDA_ERROR_700');
  });

  it('refuses released buffers and a closed device', async () => {
    const { device } = await openMock();
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

  it('shows the line the assembler complained about', async () => {
    const { ffi, device } = await openMock();
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
});
