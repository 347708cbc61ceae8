// The router of a runtime: with measurements of this machine where there is a choice, without them where there is none.

import type { Device } from '../../devices/device.ts';
import { DeviceUnavailable } from '../../errors.ts';
import { type OpenRouter, openRouter } from './open.ts';
import { covers, type RoutingOptions, resolveRouting } from './options.ts';

export async function createRouter(
  devices: readonly Device[],
  options: RoutingOptions = {},
  limits: { readonly signal?: AbortSignal | undefined; readonly timeoutMs?: number | undefined } = {},
): Promise<OpenRouter> {
  const { device, allowFallback, forbid } = resolveRouting(options);
  const ids = devices.map((d) => d.id);
  if (device !== null && !allowFallback && !ids.some((id) => covers([device], id))) {
    throw new DeviceUnavailable({
      code: 'DEVICE_NOT_ROUTABLE',
      message: `routing.device: '${device}' is not open (${ids.join(', ')})`,
      fix: 'Use one of these, or set routing.allowFallback. createRuntime().devices() tells why others are not open.',
      where: 'createRuntime',
    });
  }
  const usable = devices.filter((d) => !covers(forbid, d.id));
  if (usable.length === 0) {
    throw new DeviceUnavailable({
      code: 'DEVICE_NOT_ROUTABLE',
      message: `routing.forbid: every open device is forbidden (${ids.join(', ')})`,
      fix: 'Take one of them off the list.',
      where: 'createRuntime',
    });
  }
  return openRouter(usable, options, {
    ...limits,
    leaveOut: true,
    freeBytes: (id) => devices.find((d) => d.id === id)?.memory().free ?? null,
  });
}
