import { expect, it } from 'vitest';
import { createCpuDevice } from './device.ts';
import { Spares } from './spares.ts';

it('gives an array of the same length again, once', () => {
  const spares = new Spares();
  const array = new Uint8Array(1 << 16);
  spares.keep(array);
  spares.keep(array);
  expect([spares.take(1 << 17), spares.take(1 << 16), spares.take(1 << 16)]).toEqual([null, array, null]);
});

it('keeps a few, of a bounded size, and no parts of others', () => {
  const spares = new Spares();
  const taken = (length: number): number => {
    let count = 0;
    while (spares.take(length)) count++;
    return count;
  };
  for (let i = 0; i < 10; i++) spares.keep(new Uint8Array(1 << 16));
  expect(taken(1 << 16)).toBe(4);
  for (let i = 0; i < 4; i++) spares.keep(new Uint8Array(24 << 20));
  expect(taken(24 << 20)).toBe(2);
  spares.keep(new Uint8Array(1 << 17).subarray(0, 1 << 16));
  spares.keep(new Uint8Array(100));
  expect([taken(1 << 16), taken(100)]).toEqual([0, 0]);
  spares.keep(new Uint8Array(1 << 16));
  spares.clear();
  expect(taken(1 << 16)).toBe(0);
});

it('reads of the device are right in arrays that were used before, and trim lets these go', async () => {
  const device = await createCpuDevice({ threads: 1 });
  const [a, b] = [1, 2].map((v) => {
    const buffer = device.allocate(1 << 20);
    device.write(buffer, new Uint8Array(1 << 20).fill(v));
    return buffer;
  });
  const first = device.readSync(a!);
  device.returnRead!(first);
  const second = device.readSync(b!);
  expect(second).toBe(first);
  expect(second.every((v) => v === 2)).toBe(true);
  device.returnRead!(second);
  device.trim();
  expect(device.readSync(a!)).not.toBe(second);
  await device.close();
});
