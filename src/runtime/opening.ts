// Opens what a runtime stands on: devices, and the router that knows what they take. A device that fails on the way is closed and
// left out with its reason; only when none is left does opening fail. A signal ends it at any point, and leaves nothing open.

import { isOldNode } from '../base/platform.ts';
import type { Device } from '../devices/device.ts';
import { withDeadline } from '../governor/recovery/deadline.ts';
import { aborted } from '../governor/recovery/errors.ts';
import { closeQuietly } from '../governor/recovery/loss.ts';
import { createRouter } from '../governor/routing/create.ts';
import type { OpenRouter } from '../governor/routing/open.ts';
import type { RoutingOptions } from '../governor/routing/options.ts';
import { type DeviceOptions, type DeviceReport, noDevice, openDevices } from './devices.ts';

export interface Opening {
  readonly devices: readonly Device[];
  readonly reports: readonly DeviceReport[];
  readonly routed: OpenRouter;
}

export interface OpeningOptions extends DeviceOptions {
  readonly routing?: RoutingOptions | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** `timeoutMs`: the longest wait for one device. */
export async function open(options: OpeningOptions, timeoutMs: number): Promise<Opening> {
  const { signal } = options;
  if (isOldNode()) throw (await import('./old-node.ts')).oldNode();
  if (signal?.aborted) throw aborted('createRuntime', signal);
  const opening = openDevices(options, timeoutMs);
  const limit = { what: 'createRuntime', signal };
  let found: Awaited<typeof opening>;
  try {
    found = await withDeadline(opening, Number.POSITIVE_INFINITY, limit);
  } catch (e) {
    // What opens after nobody waits for it any more is closed.
    opening.then(
      ({ devices }) => devices.forEach(closeQuietly),
      () => {},
    );
    throw e;
  }
  const { devices, reports } = found;
  try {
    const routed = await createRouter(devices, options.routing, { signal, timeoutMs });
    const usable = devices.filter((d) => !routed.failed.has(d.id));
    const told = reports.map((r) => leftOut(r, routed.failed.get(r.id)));
    if (usable.length === 0) throw noDevice(told);
    await Promise.all(devices.filter((d) => routed.failed.has(d.id)).map(closeQuietly));
    return { devices: usable, reports: told, routed };
  } catch (e) {
    await Promise.all(devices.map(closeQuietly));
    throw e;
  }
}

function leftOut(report: DeviceReport, reason: string | undefined): DeviceReport {
  if (reason === undefined) return report;
  const fix = 'Create the runtime again if this may pass; if it does not, `gpuforge doctor` looks for the cause.';
  return { ...report, open: false, reason: `it failed while it was measured: ${reason}`, fix };
}
