// What is said of a device that is gone, whoever notices.

import { DeviceLost } from '../errors.ts';
import type { DeviceId } from './device.ts';

export function deviceLost(id: DeviceId, reason: string, where: string, cause?: unknown): DeviceLost {
  return new DeviceLost({
    code: 'DEVICE_LOST',
    message: `${id}: the device was lost (${reason}); what was on it is gone`,
    fix: 'Reopen the device, or go on with another one.',
    where,
    ...(cause === undefined ? {} : { cause }),
  });
}
