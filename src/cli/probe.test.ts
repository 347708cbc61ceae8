import { expect, it } from 'vitest';
import { computeProbe } from './probe.ts';

it('computes on the devices that are not to be left alone, and on no other', async () => {
  const devices = await computeProbe(['cuda', 'webgpu']);
  expect(devices).toEqual([{ device: 'cpu', ok: true, detail: 'summed 4096 values right' }]);
});
