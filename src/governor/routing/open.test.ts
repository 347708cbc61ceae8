import { expect, it } from 'vitest';
import { createReferenceDevice } from '../../devices/reference/device.ts';
import { DeviceUnavailable } from '../../errors.ts';
import { openRouter } from './open.ts';
import { Router } from './router.ts';

it('a router for one device that was not measured decides by rules, and refuses measurements that it cannot compare', async () => {
  // What was measured is kept for the process: nobody else measures a device of this name.
  const id = 'reference:unmeasured';
  const device = { ...createReferenceDevice(), id };
  const { router, measured } = await openRouter([device], { cache: false });
  expect(measured).toEqual([]);
  expect(router).not.toBeInstanceOf(Router);
  expect(router.explain('element_wise', 1e6)).toMatchObject({ device: id, predictions: [], samples: 0 });
  expect(router.home(100, [id])).toBe(id);
  expect(router.exploration()).toEqual({ routedUs: 0, lostUs: 0 });
  expect(router.learned()).toEqual(new Map());
  expect(router.profile(id)).toBe(undefined);
  router.recordOperationResult('element_wise', 100, id, 1);
  expect(router.stats()).toMatchObject([{ op: 'element_wise', device: id, count: 1, predictedMs: 0 }]);
  expect(() => router.calibrated(new Map())).toThrow(DeviceUnavailable);
  await device.close();
});

it('the same router predicts once the device was measured', async () => {
  const device = createReferenceDevice();
  const { router, calibrate } = await openRouter([device], { cache: false });
  const { epoch } = router;
  const profile = (await calibrate([device], { budgetMs: 60 })).get('reference')!;
  expect(router.profile('reference')).toBe(profile);
  expect(router.epoch).toBeGreaterThan(epoch);
  expect(router.explain('element_wise', 1e6).predictions).toMatchObject([{ device: 'reference' }]);
  router.calibrated(new Map([['reference', { ...profile, waitUs: 7 }]]));
  expect(router.profile('reference')!.waitUs).toBe(7);
  await device.close();
});
