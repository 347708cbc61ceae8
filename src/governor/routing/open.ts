// A router for a set of devices: profiles from the store where they are known, measured where they are not.

import type { Device, DeviceId } from '../../devices/device.ts';
import type { CalibrateOptions } from './calibrate.ts';
import { covers, type RoutingOptions, resolveRouting } from './options.ts';
import { disturbed, levelled } from './plausible.ts';
import type { Profile } from './profile.ts';
import type { Router } from './router.ts';
import { type RouterSetup, RuleRouter } from './rule-router.ts';
import { type Known, loadAll, openProfileStore, type ProfileStore } from './store.ts';

export interface OpenRouter {
  readonly router: Router;
  /** Ids of devices that were measured now rather than read from the store. */
  readonly measured: readonly DeviceId[];
  /** Devices that failed while they were measured, and why; the router does not know them. Only with `leaveOut`. */
  readonly failed: ReadonlyMap<DeviceId, string>;
  /** Measures devices now, whatever the store says, and tells the router. */
  calibrate(devices: readonly Device[], options?: CalibrateOptions): Promise<Map<DeviceId, Profile>>;
  /** Keeps what was learned for the next run. To be called when the runtime closes. */
  save(): void;
}

/**
 * Opens a router. Devices are measured only where there is a choice to be made: mode `measured` and at least two devices.
 * `always` measures what is not known even so, `force` what is known too.
 */
export async function openRouter(
  devices: readonly Device[],
  options: RoutingOptions,
  more: CalibrateOptions &
    RouterSetup & {
      readonly force?: boolean | undefined;
      readonly always?: boolean | undefined;
      /** A device that fails while it is measured is left out instead of failing everything. */
      readonly leaveOut?: boolean | undefined;
    } = {},
): Promise<OpenRouter> {
  const routing = resolveRouting(options);
  const store = await openProfileStore(routing.cache);
  const allowed = devices.filter((d) => !covers(routing.forbid, d.id));
  const choice = routing.mode === 'measured' && routing.device === null && allowed.length > 1;
  const { known, unknown } = more.force
    ? { known: new Map<DeviceId, Known>(), unknown: allowed }
    : loadAll(store, allowed);
  const byId = new Map(devices.map((d) => [d.id, d]));
  const failed = new Map<DeviceId, string>();
  const onFailure = (device: Device, error: unknown): void => {
    failed.set(device.id, error instanceof Error ? error.message.split('\n')[0]! : String(error));
  };
  const how = more.leaveOut ? { ...more, onFailure } : more;
  const fresh =
    choice || more.always || more.force ? await measure(store, byId, unknown, how) : new Map<DeviceId, Profile>();
  const profiles = new Map<DeviceId, Profile>();
  const left = devices.filter((d) => !failed.has(d.id));
  for (const d of left) {
    const p = fresh.get(d.id) ?? known.get(d.id)?.profile;
    if (p) profiles.set(d.id, p);
  }
  const setup: RouterSetup = {
    freeBytes: more.freeBytes,
    clock: more.clock,
    devices: left.map((d) => d.id),
    hosts: left.filter((d) => d.caps.host).map((d) => d.id),
  };
  const router = await newRouter(options, levelled(profiles, left), setup);
  for (const [id, k] of known) if (k.learned) router.relearn(new Map([[id, k.learned]]));
  return {
    router,
    measured: [...fresh.keys()],
    failed,
    calibrate: async (list, how = {}) => {
      for (const d of list) byId.set(d.id, d);
      const result = await measure(store, byId, list, how);
      const { Costs } = await import('./measured.ts');
      router.calibrated(result, Costs);
      return result;
    },
    save: () => {
      for (const [id, learned] of router.learned()) {
        const [device, profile] = [byId.get(id), router.profile(id)];
        // Nothing was learned: the file is as good as it was.
        if (!device || !profile || disturbed(profile)) continue;
        if (learned.kernels.classes.length + learned.calls.classes.length === 0) continue;
        store.save(device, { profile, learned, measuredAt: known.get(id)?.measuredAt ?? Date.now() });
      }
    },
  };
}

/** With one device, which nobody has measured, there are no costs to compare: what compares them is not loaded. */
async function newRouter(
  options: RoutingOptions,
  profiles: ReadonlyMap<DeviceId, Profile>,
  setup: RouterSetup,
): Promise<Router> {
  if (profiles.size === 0 && setup.devices!.length === 1) return new RuleRouter(options, setup);
  const { Router } = await import('./measured.ts');
  return new Router(options, profiles, setup);
}

async function measure(
  store: ProfileStore,
  byId: ReadonlyMap<DeviceId, Device>,
  devices: readonly Device[],
  options: CalibrateOptions,
): Promise<Map<DeviceId, Profile>> {
  if (devices.length === 0) return new Map();
  const { calibrate } = await import('./measured.ts');
  const profiles = await calibrate(devices, options);
  for (const [id, profile] of profiles)
    if (!disturbed(profile)) store.save(byId.get(id)!, { profile, learned: null, measuredAt: Date.now() });
  return profiles;
}
