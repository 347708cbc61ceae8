import { expect, it } from 'vitest';
import { createCpuDevice } from '../../devices/cpu/device.ts';
import { createReferenceDevice } from '../../devices/reference/device.ts';
import { selfCheck } from './self-check.ts';

it('passes devices that compute right', async () => {
  const cpu = await createCpuDevice({ threads: 1, tinyElements: 0 });
  expect(await selfCheck(cpu)).toBeNull();
  expect(await selfCheck(createReferenceDevice())).toBeNull();
  await cpu.close();
});

it('says what a device got wrong', async () => {
  const device = createReferenceDevice();
  const broken = { ...device, read: async () => new Uint8Array(Float32Array.from({ length: 256 }, () => 2).buffer) };
  expect(await selfCheck(broken)).toBe('exp(1) came out as 2');
});
