// Puts the governor of a runtime together: places, memory ladder and monitor, health and losses, recovery, router.

import { idle, importNode, isNode, permitted } from '../base/platform.ts';
import type { Device } from '../devices/device.ts';
import { type MemoryWatch, Place } from '../devices/place.ts';
import { describeHolders } from '../governor/memory/holders.ts';
import { Ladder } from '../governor/memory/ladder.ts';
import type { PressureLevel } from '../governor/memory/levels.ts';
import { budgetFor, bytesOf, type MemorySettings, totalBudget } from '../governor/memory/options.ts';
import { memoryView } from '../governor/memory/place-view.ts';
import { RuntimeMemory } from '../governor/memory/runtime-memory.ts';
import { Spill } from '../governor/memory/spill.ts';
import type { Holder } from '../governor/memory/view.ts';
import { idleClock, sleep, systemClock } from '../governor/recovery/clock.ts';
import { Health } from '../governor/recovery/health.ts';
import { Losses } from '../governor/recovery/loss.ts';
import type { ResolvedRecovery } from '../governor/recovery/options.ts';
import { Prober } from '../governor/recovery/prober.ts';
import { Recovery } from '../governor/recovery/recovery.ts';
import { selfCheck } from '../governor/recovery/self-check.ts';
import { callerLine } from '../tensor/core.ts';
import type { Emitter } from './events.ts';
import type { Ledger } from './ledger.ts';
import type { Conditions } from './placement.ts';

/** How much dearer a device looks to the router when its memory runs short. */
const pressurePenalty: Readonly<Record<PressureLevel, number>> = { low: 1, moderate: 1, high: 1.5, critical: 4 };

export interface Governor {
  readonly places: readonly Place[];
  readonly monitor: RuntimeMemory;
  readonly health: Health;
  readonly recovery: Recovery;
  readonly conditions: Conditions;
  readonly losses: Losses;
  close(): Promise<void>;
}

export interface GovernorOptions {
  readonly memory: MemorySettings;
  readonly recovery: ResolvedRecovery;
  /** Devices that no work goes to. */
  readonly forbids: (device: string) => boolean;
  /** Told when `conditions` are not what they were: placements should be decided anew. */
  readonly changed: () => void;
}

export async function createGovernor(
  devices: readonly Device[],
  options: GovernorOptions,
  ledger: Ledger,
  events: Emitter,
): Promise<Governor> {
  const { storages } = ledger;
  const places = devices.map((d, i) => new Place(d, i));
  for (const place of places) place.budget = budgetFor(options.memory, place.id, place.device.memory().total);
  const limit = totalBudget(options.memory);
  if (Number.isFinite(limit)) for (const place of places) place.shared = { limit, places };
  const { hostBytes } = options.memory;
  const hostLimit = hostBytes === 0 ? 0 : bytesOf(hostBytes, await hostMemory(), 'memory.hostBytes');
  const spill = new Spill(
    storages,
    hostLimit,
    ({ start, ms, ...e }) => {
      if (events.has('spill')) events.emit('spill', e);
      if (e.moved > 0 && events.has('wait'))
        events.emit('wait', { device: e.device, start, ms, line: callerLine(), why: 'memory' });
    },
    options.recovery.timeoutMs,
  );
  const view = memoryView(places, storages, hostLimit);
  const monitor = new RuntimeMemory(places, view, options.memory, {
    onError: (error, where) => events.emit('error', { error, where }),
  });
  const ladder = new Ladder({
    spill,
    holders: (place) => describeHolders(place ? view.holders() : onDevices(view.holders()), place?.id),
    noticed: (place) => monitor.noticed(place),
  });
  for (const place of places) place.room = ladder;
  watchMemory(places, events);
  const clock = idle(setInterval(() => (storages.time = performance.now()), 1000));
  storages.time = performance.now();
  const levels = new Map<string, PressureLevel>();
  monitor.onPressure('any', (e) => {
    levels.set(e.device, e.to);
    if (pressurePenalty[e.from] !== pressurePenalty[e.to]) options.changed();
    if (events.has('pressure')) events.emit('pressure', e);
  });
  monitor.onCleanup((r) => {
    if (events.has('cleanup')) events.emit('cleanup', r);
  });
  monitor.onLeak((r) => {
    if (events.has('growth')) events.emit('growth', r);
  });
  const health = new Health(options.recovery, idleClock, () => {
    options.changed();
    prober.watch();
  });
  const returned = (e: { device: string; probes: number }): void => {
    if (events.has('return')) events.emit('return', e);
  };
  const losses = new Losses(
    storages,
    {
      lost: (e) => {
        health.lost(e.device, e.reason);
        if (events.has('lost')) events.emit('lost', e);
      },
      reborn: (e) => {
        health.reborn(e.device);
        if (events.has('reborn')) events.emit('reborn', e);
      },
      abandoned: (e) => {
        if (events.has('abandoned')) events.emit('abandoned', e);
      },
    },
    {
      delay: (device, attempt) => {
        const { attempts, backoffMs } = options.recovery;
        if (attempt >= attempts || !health.reset(device)) return null;
        return attempt === 0 ? 0 : (backoffMs[Math.min(attempt, backoffMs.length) - 1] ?? 0);
      },
      probe: (device, signal) => selfCheck(device, options.recovery.timeoutMs, signal),
      sleep: (ms, signal) => sleep(systemClock, ms, signal),
      limitMs: options.recovery.timeoutMs,
      rest: async (signal) => {
        const { probeEveryMs } = options.recovery;
        if (probeEveryMs === Number.POSITIVE_INFINITY) return false;
        await sleep(idleClock, probeEveryMs, signal);
        return true;
      },
      probes: options.recovery.probes,
      trusted: (device, probes) => {
        health.release(device);
        if (health.returned(device)) returned({ device, probes });
      },
    },
  );
  for (const place of places) losses.watch(place);
  const recovery = new Recovery({
    places,
    storages,
    losses,
    health,
    ladder,
    options: options.recovery,
    fellBack: (e) => {
      if (events.has('fallback')) events.emit('fallback', e);
    },
    retried: (e) => {
      if (events.has('retry')) events.emit('retry', e);
    },
    returned,
  });
  const { probeEveryMs: everyMs } = options.recovery;
  const succeeded = (place: Place): void => recovery.succeeded(place);
  const prober = new Prober({ places, health, everyMs, probe: selfCheck, succeeded });
  return {
    places,
    monitor,
    health,
    recovery,
    losses,
    conditions: {
      // Without fallback no other device takes over, whatever happened.
      allows: (place) => !options.forbids(place.id) && (!options.recovery.fallback || health.usable(place.id)),
      penalty: (place) => health.penalty(place.id) * pressurePenalty[levels.get(place.id) ?? 'low'],
    },
    close: async () => {
      clearInterval(clock);
      monitor.close();
      health.close();
      prober.close();
      await losses.close();
    },
  };
}

/** Places tell of their memory while somebody listens. */
function watchMemory(places: readonly Place[], events: Emitter): void {
  const { heard } = events;
  const watch: MemoryWatch = (place, kind, bytes) => {
    if (!heard[kind]) return;
    const live = place.inUse;
    const reserved = place.alive ? Math.max(place.device.pool?.().reserved ?? live, live) : 0;
    events.emit(kind, { device: place.id, bytes, start: performance.now(), live, reserved });
  };
  events.onHeard((kind) => {
    if (kind !== 'alloc' && kind !== 'free') return;
    for (const place of places) place.watch = heard.alloc || heard.free ? watch : null;
  });
}

function* onDevices(holders: Iterable<Holder>): Generator<Holder> {
  for (const h of holders) if (h.device !== 'host') yield h;
}

/** The machine's memory in bytes, where it can be known. */
async function hostMemory(): Promise<number> {
  const os = isNode() ? ((await importNode('os')) as typeof import('node:os')) : null;
  const known = os && permitted(() => os.totalmem(), 0);
  if (known) return known;
  // Browsers tell at most 8, in GiB; some do not tell.
  const told = (globalThis.navigator as { deviceMemory?: number } | undefined)?.deviceMemory ?? 4;
  return told * 2 ** 30;
}
