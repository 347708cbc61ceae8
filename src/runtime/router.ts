// The router of a runtime: with measurements of this machine where there is a choice, without them where there is none.

import type { Device } from '../devices/device.ts';
import { DeviceUnavailable } from '../errors.ts';
import { calibrate } from '../routing/calibrate.ts';
import { covers, type RoutingOptions } from '../routing/options.ts';
import { Router } from '../routing/router.ts';

export interface Routed {
  readonly router: Router;
  /** Keeps what was learned for the next time. */
  close(): Promise<void>;
}

export async function createRouter(
  devices: readonly Device[],
  options: RoutingOptions = {},
  signal?: AbortSignal,
): Promise<Routed> {
  const ids = devices.map((d) => d.id);
  const router = new Router(options, new Map(), {
    devices: ids,
    freeBytes: (id) => devices.find((d) => d.id === id)?.memory().free ?? null,
  });
  const { device, allowFallback, mode, forbid } = router.routing;
  if (device !== null && !allowFallback && !ids.some((id) => covers([device], id))) {
    throw new DeviceUnavailable({
      code: 'DEVICE_NOT_ROUTABLE',
      message: `routing.device: '${device}' is not open (${ids.join(', ')})`,
      fix: 'Use one of these, or set routing.allowFallback. createRuntime().devices() tells why others are not open.',
      where: 'createRuntime',
    });
  }
  const measured = devices.filter((d) => !covers(forbid, d.id));
  if (mode === 'measured' && device === null && measured.length > 1) {
    router.calibrated(await calibrate(measured, { signal }));
  }
  return { router, close: async () => {} };
}
