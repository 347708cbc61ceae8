// createRuntime: checks the options, opens devices, and puts the parts of a runtime together.

import { environment } from '../base/platform.ts';
import { checked } from '../base/signatures.ts';
import type { Device } from '../devices/device.ts';
import { type MemoryOptions, type MemorySettings, memorySettings } from '../governor/memory/options.ts';
import type { RuntimeMemory } from '../governor/memory/runtime-memory.ts';
import { closeQuietly } from '../governor/recovery/loss.ts';
import { type RecoveryOptions, resolveRecovery } from '../governor/recovery/options.ts';
import { covers, type RoutingOptions, resolveRouting } from '../governor/routing/options.ts';
import type { Patterns } from '../graph/patterns.ts';
import { patternRoutines, selectionRoutines } from '../graph/plan.ts';
import type { RoutineOp } from '../kernel/kernel.ts';
import { checkSeed } from '../tensor/random.ts';
import { announce } from './announce.ts';
import type { DeviceOptions } from './devices.ts';
import { Dispatch } from './dispatch.ts';
import { Engine } from './engine.ts';
import { Emitter, type EventLogger, eventNames } from './events.ts';
import { Feedback } from './feedback.ts';
import { createGovernor } from './governor.ts';
import { type HostSettings, RuntimeHost } from './host.ts';
import { open } from './opening.ts';
import { Programs } from './programs.ts';
import { Runtime } from './runtime.ts';
import { createScopeStore } from './scope.ts';
import { createSignature, runtimeKinds } from './signatures.ts';
import { Spans } from './spans.ts';

export interface RuntimeOptions extends DeviceOptions {
  /** Where work goes; see docs/routing.md. */
  readonly routing?: RoutingOptions | undefined;
  /** Budgets, pressure levels, spilling; see docs/memory.md. */
  readonly memory?: MemoryOptions | undefined;
  /** Retries, time limits, what survives a lost device; see docs/failure.md. */
  readonly recovery?: RecoveryOptions | undefined;
  /** Ends the opening of devices and the measuring of the machine. */
  readonly signal?: AbortSignal | undefined;
  /** Remember the lines that make, read and dispose tensors, for errors and reports. Default: NODE_ENV is 'development'. */
  readonly development?: boolean | undefined;
  /** Gets every event, or those that it names in `kinds`: `jsonLines(process.stderr)` of gpuforge/studio writes lines. */
  readonly logger?: EventLogger | undefined;
  /** Seed of `rt.random` where none is given. Default: a new one each time. */
  readonly seed?: number | undefined;
}

/**
 * Finds the devices of this machine, opens what works, and returns a runtime on them.
 *
 * ```ts
 * import { createRuntime } from 'gpuforge';
 * await using rt = await createRuntime();
 * console.log(await rt.tensor([1, 2, 3]).mul(2).data()); // Float32Array [2, 4, 6]
 * ```
 */
export const createRuntime: (options?: RuntimeOptions) => Promise<Runtime> = checked(
  'createRuntime',
  createSignature,
  openRuntime,
  runtimeKinds,
);

async function openRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const development = options.development ?? environment().NODE_ENV === 'development';
  if (options.seed !== undefined) checkSeed(options.seed, 'createRuntime');
  const memory = memorySettings(options.memory);
  const recovery = resolveRecovery(options.recovery);
  const routing = resolveRouting(options.routing);
  const events = new Emitter();
  const { logger } = options;
  if (logger)
    for (const kind of logger.kinds ?? eventNames)
      events.on(kind, typeof logger === 'function' ? (event) => logger(kind, event) : logger);
  const scopes = await createScopeStore();
  const { devices, reports, routed } = await open(options, recovery.timeoutMs);
  const settings: HostSettings = {
    development,
    keepBytes: { none: -1, small: recovery.keepBytes, all: Number.POSITIVE_INFINITY }[recovery.keep],
    seedBytes: recovery.keep === 'all' ? Number.POSITIVE_INFINITY : seedBytes,
  };
  const host = new RuntimeHost(settings, events, scopes);
  try {
    const forbids = (id: string): boolean => covers(routing.forbid, id);
    const changed = (): void => routed.router.touch();
    const governor = await createGovernor(devices, { memory, recovery, forbids, changed }, host.ledger, events);
    recordSites(host, memory, governor.monitor);
    const choosing = devices.length > 1 ? routed.router : null;
    const patterns = await patternsOf(devices);
    const programs = new Programs(governor.places, choosing, governor.conditions, host.ledger, events, patterns);
    const spans = new Spans(governor.places, events);
    const dispatch = new Dispatch(events, host.ledger, spans);
    const engine = new Engine(
      programs,
      governor.recovery,
      new Feedback(choosing, events),
      host.ledger,
      events,
      dispatch,
      host.issuing,
    );
    host.attach(engine, governor.recovery, governor.places);
    const seed = options.seed ?? crypto.getRandomValues(new Uint32Array(1))[0]!;
    return await announce(new Runtime(host, engine, governor, routed, reports, events, spans, seed));
  } catch (e) {
    await Promise.all(devices.map(closeQuietly));
    throw e;
  }
}

/** The patterns of ops that one of the devices computes as one; what no device can use is not loaded. */
async function patternsOf(devices: readonly Device[]): Promise<Patterns | null> {
  const has = (list: readonly RoutineOp[]): boolean => devices.some((d) => list.some((r) => d.caps.routines.has(r)));
  if (has(patternRoutines)) {
    const { patterns } = await import('../graph/patterns.ts');
    const wide = devices.some(({ caps }) => caps.rows && caps.dtypes.has('f64'));
    return wide ? { ...patterns, reduced: (await import('../graph/one-pass.ts')).inOnePass } : patterns;
  }
  return has(selectionRoutines) ? (await import('../graph/selections.ts')).selections : null;
}

/** Small uploads stay in memory as long as something may have to be computed from them again, even if they were disposed. */
const seedBytes = 64 << 10;

/** Noting the line that made a tensor costs microseconds, so by default only large ones have it, once memory gets short. */
const largeBytes = 16 << 20;

function recordSites(host: RuntimeHost, memory: MemorySettings, monitor: RuntimeMemory): void {
  const sites = memory.sites ?? (host.development ? 'all' : memory.budget === null ? null : 'large');
  if (sites === 'all') host.lifetime.siteBytes = 0;
  else if (sites === 'large') host.lifetime.siteBytes = largeBytes;
  else if (sites === null) {
    monitor.onPressure('any', (e) => {
      host.lifetime.siteBytes = e.to === 'low' ? Number.POSITIVE_INFINITY : largeBytes;
    });
  }
}
