import { expect, it } from 'vitest';
import { collectGarbage } from '../../base/garbage.ts';
import { DisposedError } from '../../errors.ts';
import type { CpuBuffer } from './buffer.ts';
import { type CpuDevice, createCpuDevice } from './device.ts';

/** Bytes that a small buffer is filled with. */
const bytesOf = (n: number, seed: number): Uint8Array => Uint8Array.from({ length: n }, (_, i) => (i * 7 + seed) & 255);

/** As many small buffers as it takes until they do not fit into the region any more. */
function fill(device: CpuDevice): CpuBuffer[] {
  const made: CpuBuffer[] = [];
  do made.push(device.allocate(4096) as CpuBuffer);
  while (made[made.length - 1]!.small === null);
  return made;
}

it('gives the slot of a released buffer to the next one of its size, and refuses the old one', async () => {
  const device = await createCpuDevice({ threads: 1 });
  const old = device.allocate(100) as CpuBuffer;
  device.release(old);
  device.release(old);
  const [next, other] = [device.allocate(90) as CpuBuffer, device.allocate(100) as CpuBuffer];
  expect(next.address).toBe(old.address);
  expect(other.address).not.toBe(next.address);
  expect(() => device.readSync(old)).toThrow(DisposedError);
  await device.close();
});

it('keeps buffers of all sizes apart', async () => {
  const device = await createCpuDevice({ threads: 1 });
  const sizes = [0, 1, 63, 64, 65, 128, 129, 511, 512, 513, 1024, 2047, 2049, 4095, 4096, 4097];
  const made = sizes.flatMap((n) => [n, n, n]).map((n) => device.allocate(n));
  for (const [i, b] of made.entries()) device.write(b, bytesOf(b.bytes, i));
  for (const [i, b] of made.entries()) expect(device.readSync(b)).toEqual(bytesOf(b.bytes, i));
  await device.close();
});

it.each([1, 2])('keeps what small buffers hold when the memory is renewed (%i threads)', async (threads) => {
  const device = await createCpuDevice({ threads });
  const small = device.allocate(40);
  device.write(small, bytesOf(40, 3));
  const large = device.allocate(1 << 20);
  device.release(large);
  device.trim();
  expect(device.readSync(small)).toEqual(bytesOf(40, 3));
  await device.close();
});

it('puts buffers into arrays when the region is full, and back into it when some were released or collected', async () => {
  const device = await createCpuDevice({ threads: 1 });
  let made: CpuBuffer[] = fill(device);
  const outside = made.pop()!;
  device.write(outside, bytesOf(4096, 1));
  expect(device.readSync(outside)).toEqual(bytesOf(4096, 1));
  device.release(made[0]!);
  expect((device.allocate(4000) as CpuBuffer).small).toBe(null);
  expect((device.allocate(4000) as CpuBuffer).small).not.toBe(null);
  made = [];
  for (let i = 0; i < 50 && (device.allocate(4096) as CpuBuffer).small !== null; i++) {
    await collectGarbage();
    await new Promise((done) => setImmediate(done));
  }
  expect((device.allocate(4096) as CpuBuffer).small).toBe(null);
  await device.close();
});
