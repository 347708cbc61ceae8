// Detection: files first, the driver's library second, one process last; each tier only for what the one before left open.
//
// Never throws for the state of the machine: a probe that fails, hangs or finds nonsense becomes a line in `probes`, and the
// facts of the other vendors stand. Where the library would be asked in a second Node, the process (nvidia-smi) comes before it,
// being quicker than that start. A card that sleeps is left asleep unless `wake` is set. Only a wrong override is an error.

import { clock } from '../clock.ts';
import {
  type Drivers,
  type Gpu,
  type HostSystem,
  known,
  MACHINE_SCHEMA,
  type Machine,
  missing,
  type NvidiaDriver,
  type PciFacts,
  type Probe,
} from '../machine.ts';
import type { Ports } from '../ports.ts';
import { plainValue } from '../text/plain.ts';
import { readAmd } from './amd.ts';
import { cacheKey, readCache, writeCache } from './cache.ts';
import { readHost } from './host.ts';
import { readIntel } from './intel.ts';
import { mergeNvidia, type NvidiaState } from './merge.ts';
import { cudaFact, nvmlLibrary, readNvidia, WSL_LIBRARIES } from './nvidia.ts';
import { readApple, readOthers } from './others.ts';
import { describeOverride, isEmpty, type Override, overrideFromEnv } from './override.ts';
import { isAsleep, scanPci } from './pci.ts';
import { querySmi } from './smi.ts';
import { applyVisibility, readVisibility } from './visibility.ts';
import { readWindows } from './windows.ts';

export interface DetectOptions {
  /** The highest tier that may be used: 0 files, 1 driver libraries, 2 one process. Default 2. */
  readonly tier?: 0 | 1 | 2;
  /** Use and fill the cache on disk. Default true. */
  readonly cache?: boolean;
  /** Life of a complete result in the cache. */
  readonly cacheLifeMs?: number;
  /** Ask the driver even if that wakes a sleeping card. Default false. */
  readonly wake?: boolean;
  /** In place of detection; joined with what the environment gives, which it beats. */
  readonly override?: Override;
  /** Limit of one probe of tier 1 or 2. Default 2500 ms. */
  readonly timeoutMs?: number;
}

export interface Detection {
  readonly machine: Machine;
  readonly cached: boolean;
  readonly ms: number;
  /** Processes started for this answer. */
  readonly spawned: number;
}

const TIMEOUT_MS = 2500;

export async function detect(ports: Ports, options: DetectOptions = {}): Promise<Detection> {
  const start = clock();
  const before = ports.processes.spawned;
  const override = { ...overrideFromEnv(ports.env), ...options.override };
  const done = (machine: Machine, cached: boolean): Detection => ({
    machine,
    cached,
    ms: clock() - start,
    spawned: ports.processes.spawned - before,
  });
  const useCache = options.cache ?? true;
  const variant = JSON.stringify([options.tier ?? 2, options.wake ?? false, override]);
  const key = useCache ? cacheKey(ports, variant) : '';
  if (useCache) {
    const hit = readCache(ports, ports.cache, key);
    if (hit) return done(hit, true);
  }
  // Names come from files, firmware and drivers: none of them may write to the terminal.
  const machine = plainValue(await detectFresh(ports, options, override));
  if (useCache) writeCache(ports, ports.cache, key, machine, options.cacheLifeMs);
  return done(machine, false);
}

async function detectFresh(ports: Ports, options: DetectOptions, override: Override): Promise<Machine> {
  const tier = options.tier ?? 2;
  const probes: Probe[] = [];
  if (tier >= 1 && isEmpty(override)) prepareNvml(ports, options.wake ?? false);
  const pci =
    ports.platform === 'linux' ? guard<readonly PciFacts[]>('pci', probes, [], () => scanPci(ports.files)) : [];
  const host = overriddenHost(readHost(ports), override);
  const visibility = readVisibility(ports);
  const overrides = isEmpty(override) ? [] : describeOverride(override);
  if (override.gpus) {
    // The tables of names are for what a user writes; a look at the machine needs none of them.
    const { gpuFromText } = await import('./names.ts');
    const gpus = override.gpus.map(gpuFromText);
    return machineOf(host, gpus, overriddenDrivers(gpus, override), { visibility, overrides, probes, warnings: [] });
  }

  const found = await findDevices(ports, host, pci, tier, options.timeoutMs ?? TIMEOUT_MS, probes);
  let { gpus, drivers } = found;
  if (override.driver && drivers.nvidia) drivers = { ...drivers, nvidia: driverOf(override.driver, drivers.nvidia) };
  else if (drivers.nvidia) {
    const state = await askNvidia(
      ports,
      host,
      { driver: drivers.nvidia, gpus: gpus.filter(isNvidia) },
      options,
      probes,
    );
    drivers = { ...drivers, nvidia: state.driver };
    gpus = [...state.gpus, ...gpus.filter((gpu) => !isNvidia(gpu))];
  }
  const visible = applyVisibility(gpus, visibility);
  return machineOf(host, visible.gpus, drivers, { visibility, overrides, probes, warnings: visible.warnings });
}

/** Lets NVML start while the files are read, where nothing that is known yet speaks against asking it. */
function prepareNvml(ports: Ports, wake: boolean): void {
  if (!ports.nvml.prepare || !ports.files.exists('/dev/nvidiactl')) return;
  const cards = ports.files.list('/proc/driver/nvidia/gpus') ?? [];
  const asleep = (address: string): boolean => isAsleep(ports.files, address);
  if (cards.length === 0 || (!wake && cards.some(asleep))) return;
  const library = nvmlLibrary(ports);
  if (library !== undefined) ports.nvml.prepare(library);
}

interface Rest {
  readonly visibility: Machine['visibility'];
  readonly overrides: Machine['overrides'];
  readonly warnings: Machine['warnings'];
  readonly probes: readonly Probe[];
}

function machineOf(host: HostSystem, gpus: readonly Gpu[], drivers: Drivers, rest: Rest): Machine {
  const partial = rest.probes.some(({ outcome }) => outcome === 'failed' || outcome === 'timeout');
  return { schema: MACHINE_SCHEMA, host, gpus, drivers, ...rest, partial };
}

interface Devices {
  readonly gpus: readonly Gpu[];
  readonly drivers: Drivers;
}

async function findDevices(
  ports: Ports,
  host: HostSystem,
  pci: readonly PciFacts[],
  tier: number,
  timeoutMs: number,
  probes: Probe[],
): Promise<Devices> {
  const none: Drivers = { nvidia: null, amd: null, intel: null };
  switch (host.platform) {
    case 'linux': {
      const empty = { driver: null, gpus: [] };
      const nvidia = guard('nvidia', probes, empty, () => readNvidia(ports, host, pci));
      const amd = guard('amd', probes, empty, () => readAmd(ports, pci));
      const intel = guard('intel', probes, empty, () => readIntel(ports, host, pci));
      return {
        gpus: [...nvidia.gpus, ...amd.gpus, ...intel.gpus, ...readOthers(pci)],
        drivers: { nvidia: nvidia.driver, amd: amd.driver, intel: intel.driver },
      };
    }
    case 'windows': {
      if (tier < 2) {
        probes.push(skipped(2, 'registry', 'tier 2 was not allowed'));
        return { gpus: [], drivers: none };
      }
      const { gpus, nvidia, run } = await readWindows(ports, host, timeoutMs);
      const outcome =
        run.outcome === 'exited'
          ? run.status === 0
            ? 'ok'
            : 'failed'
          : run.outcome === 'timeout'
            ? 'timeout'
            : 'failed';
      probes.push({ tier: 2, name: 'registry', outcome, ms: run.ms, detail: `${gpus.length} display adapters` });
      return { gpus, drivers: { ...none, nvidia } };
    }
    case 'macos':
      return { gpus: readApple(host), drivers: none };
    case 'other':
      return { gpus: [], drivers: none };
    default:
      return host.platform satisfies never;
  }
}

/** One vendor's failure never stops another's. */
function guard<T>(name: string, probes: Probe[], otherwise: T, read: () => T): T {
  const start = clock();
  try {
    const result = read();
    probes.push({ tier: 0, name, outcome: 'ok', ms: clock() - start, detail: '' });
    return result;
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    probes.push({ tier: 0, name, outcome: 'failed', ms: clock() - start, detail });
    return otherwise;
  }
}

function skipped(tier: Probe['tier'], name: string, detail: string): Probe {
  return { tier, name, outcome: 'skipped', ms: 0, detail };
}

function isNvidia(gpu: Gpu): boolean {
  return gpu.vendor === 'nvidia';
}

async function askNvidia(
  ports: Ports,
  host: HostSystem,
  state: NvidiaState,
  options: DetectOptions,
  probes: Probe[],
): Promise<NvidiaState> {
  const tier = options.tier ?? 2;
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const reason = reasonToSkip(host, state, options);
  if (reason !== undefined) {
    probes.push(skipped(1, 'nvml', reason));
    return state;
  }
  const byProgram = () => askSmi(ports, host, state, timeoutMs, tier, probes);
  const first = ports.nvml.startsNode && tier >= 2 ? await byProgram() : undefined;
  if (first?.hung || (first?.state && tellsAll(first.state.gpus))) return first.state ?? state;
  const library = state.driver.libraries.find(({ soname }) => soname === 'libnvidia-ml.so.1' || soname === 'nvml.dll');
  if (library) {
    const answer = await ports.nvml.query(library.path, timeoutMs);
    if (answer.outcome === 'ok') {
      probes.push({ tier: 1, name: 'nvml', outcome: 'ok', ms: answer.ms, detail: `${answer.devices.length} devices` });
      return mergeNvidia(state, answer, 'nvml', host);
    }
    const outcome = answer.outcome === 'no-ffi' ? 'skipped' : answer.outcome;
    probes.push({ tier: 1, name: 'nvml', outcome, ms: answer.ms, detail: answer.detail });
    // What hangs the library hangs nvidia-smi, which is that library with a printer.
    if (answer.outcome === 'timeout') return first?.state ?? state;
  } else {
    probes.push(skipped(1, 'nvml', 'libnvidia-ml.so.1 is not installed'));
  }
  return (first ?? (await byProgram())).state ?? state;
}

/** What nvidia-smi tells is all there is to know, but for the parts of a card that is divided. */
const tellsAll = (gpus: readonly Gpu[]): boolean =>
  gpus.length > 0 &&
  gpus.every(
    ({ computeCapability, memoryBytes, uuid, mig }) =>
      [computeCapability, memoryBytes, uuid].every((fact) => 'source' in fact) &&
      !('source' in mig && mig.value.enabled),
  );

async function askSmi(
  ports: Ports,
  host: HostSystem,
  state: NvidiaState,
  timeoutMs: number,
  tier: number,
  probes: Probe[],
): Promise<{ readonly state?: NvidiaState; readonly hung?: true }> {
  if (tier < 2) {
    probes.push(skipped(2, 'nvidia-smi', 'tier 2 was not allowed'));
    return {};
  }
  const program = host.wsl === 2 ? `${WSL_LIBRARIES}/nvidia-smi` : 'nvidia-smi';
  const start = clock();
  const answer = await querySmi(ports.processes, program, timeoutMs);
  const ms = clock() - start;
  if (answer.outcome === 'ok') {
    probes.push({ tier: 2, name: 'nvidia-smi', outcome: 'ok', ms, detail: `${answer.devices.length} devices` });
    return { state: mergeNvidia(state, { driver: answer.driver, cuda: null, devices: answer.devices }, 'smi', host) };
  }
  const outcome = answer.outcome === 'not-found' ? 'skipped' : answer.outcome;
  probes.push({ tier: 2, name: 'nvidia-smi', outcome, ms, detail: answer.detail });
  return answer.outcome === 'timeout' ? { hung: true } : {};
}

/** Why the driver is not asked at all: this is what spares the ten-second waits of a sick or absent driver. */
function reasonToSkip(host: HostSystem, state: NvidiaState, options: DetectOptions): string | undefined {
  const { driver, gpus } = state;
  if ((options.tier ?? 2) < 1) return 'tier 1 was not allowed';
  if (!driver.loaded) return 'the NVIDIA kernel module is not loaded';
  if (driver.mismatch) return `driver and library differ: ${driver.mismatch}`;
  const onPci = gpus.filter((gpu) => gpu.pci !== null && gpu.pci.address !== '');
  if (gpus.length > 0 && onPci.length === gpus.length) {
    const mine = gpus.filter((gpu) => 'source' in gpu.boundDriver && gpu.boundDriver.value === 'nvidia');
    if (mine.length === 0 && !('source' in host.container)) return 'no NVIDIA card is bound to the nvidia driver';
    const reachable = gpus.filter((gpu) => !('source' in gpu.access) || gpu.access.value.state === 'ok');
    if (reachable.length === 0) return 'the device nodes are missing or closed to this user';
    const asleep = onPci.filter((gpu) => gpu.pci?.power === 'suspended');
    if (asleep.length > 0 && !options.wake) return 'a card is asleep, and asking would wake it (allow it with --wake)';
  }
  return undefined;
}

function overriddenHost(host: HostSystem, override: Override): HostSystem {
  return {
    ...host,
    ...(override.platform ? { platform: override.platform, wsl: 0 as const } : {}),
    ...(override.arch ? { arch: override.arch } : {}),
  };
}

function driverOf(version: string, base: NvidiaDriver): NvidiaDriver {
  const fact = known(version, 'override');
  return { ...base, version: fact, cuda: cudaFact(fact), loaded: true, mismatch: null };
}

function overriddenDrivers(gpus: readonly Gpu[], override: Override): Drivers {
  const unknown = missing('not detected: the GPU was given by the user');
  const base: NvidiaDriver = {
    version: unknown,
    cuda: unknown,
    module: unknown,
    loaded: false,
    libraries: [],
    mismatch: null,
  };
  const has = (vendor: Gpu['vendor']) => gpus.some((gpu) => gpu.vendor === vendor);
  return {
    nvidia: has('nvidia') ? (override.driver ? driverOf(override.driver, base) : base) : null,
    amd: has('amd') ? { version: unknown, loaded: false, rocm: unknown, kfd: unknown } : null,
    intel: has('intel') ? { module: unknown, libraries: [] } : null,
  };
}
