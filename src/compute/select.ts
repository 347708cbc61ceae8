// Which device to use: every candidate is opened, probed, measured and held against the preference; each one that is not
// taken is listed with its reason. Says what it found; whoever asked opens or keeps the winner.

import type { Device } from '../devices/device.ts';
import { sleep } from '../recovery/clock.ts';
import type { DeviceKind } from '../runtime/devices.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Clock } from './clock.ts';
import { gpuKinds } from './open.ts';
import { type ProbeResult, probeDevice } from './probe.ts';
import type { DevicePreference, DeviceSelection } from './types.ts';

/** Opens a runtime on the devices of one kind, or on the one named. False counts as a failure, as an exception does. */
export type OpenRuntime = (kind: DeviceKind, only?: string) => Promise<Runtime | false>;

export interface Candidate {
  readonly kind: DeviceKind;
  readonly runtime: Runtime;
  readonly device: Device;
  readonly probe: ProbeResult;
  readonly unverified: readonly ('minMemory' | 'maxLoad')[];
  /** Devices of the kind that the runtime has open. */
  readonly siblings: number;
}

export interface Search {
  readonly found: Candidate | null;
  readonly rejected: DeviceSelection['rejected'];
}

const loadSamples = 5;
const loadStepMs = 50;

/** The best acceptable device among some kinds. The runtimes of all others are closed again. */
export async function search(
  kinds: readonly DeviceKind[],
  preference: DevicePreference,
  open: OpenRuntime,
  clock: Clock,
  excluded: ReadonlyMap<string, string>,
  probeElements: number,
): Promise<Search> {
  const rejected: { device: string; reason: string }[] = [];
  const accepted: Candidate[] = [];
  const runtimes: Runtime[] = [];
  for (const kind of kinds) {
    const runtime = await opened(kind, open, rejected);
    if (!runtime) continue;
    runtimes.push(runtime);
    const ids = runtime.devices().filter((d) => d.open && d.id.split(':')[0] === kind);
    if (ids.length === 0) rejected.push({ device: kind, reason: 'it was not opened' });
    for (const { id } of ids) {
      const device = runtime.device(id);
      const verdict = await judge(device, gpuKinds.includes(kind), preference, clock, excluded, probeElements);
      if (typeof verdict === 'string') rejected.push({ device: id, reason: verdict });
      else accepted.push({ kind, runtime, device, ...verdict, siblings: ids.length });
    }
  }
  accepted.sort((a, b) => a.probe.kernelMs - b.probe.kernelMs);
  const [found = null, ...slower] = accepted;
  for (const c of slower) {
    const reason = `slower than ${found!.device.id}: ${c.probe.kernelMs.toFixed(2)} ms against ${found!.probe.kernelMs.toFixed(2)} ms in the probe`;
    rejected.push({ device: c.device.id, reason });
  }
  await Promise.all(runtimes.filter((r) => r !== found?.runtime).map((r) => r.close()));
  return { found, rejected };
}

async function opened(
  kind: DeviceKind,
  open: OpenRuntime,
  rejected: { device: string; reason: string }[],
): Promise<Runtime | null> {
  try {
    const runtime = await open(kind);
    if (runtime) return runtime;
    rejected.push({ device: kind, reason: 'it reported that it could not start' });
  } catch (e) {
    rejected.push({ device: kind, reason: e instanceof Error ? e.message.split('\n')[0]! : String(e) });
  }
  return null;
}

/** What was found out about a device, or why it is not acceptable. */
async function judge(
  device: Device,
  gpu: boolean,
  preference: DevicePreference,
  clock: Clock,
  excluded: ReadonlyMap<string, string>,
  probeElements: number,
): Promise<string | { probe: ProbeResult; unverified: ('minMemory' | 'maxLoad')[] }> {
  const out = excluded.get(device.id);
  if (out !== undefined) return out;
  if (gpu && device.caps.details.software === true && preference.software !== 'accept') {
    return 'it is emulated on the CPU, which is faster itself';
  }
  const probe = await probeDevice(device, clock, probeElements);
  if (!probe.ok) return `the probe failed: ${probe.reason}`;
  const unverified: ('minMemory' | 'maxLoad')[] = [];
  const { minMemory, maxLoad, unknown = 'accept' } = preference;
  if (minMemory !== undefined) {
    const free = freeBytes(device);
    if (free === null) unverified.push('minMemory');
    else if (free < minMemory) return `${free} bytes are free, ${minMemory} are wanted`;
  }
  if (maxLoad !== undefined) {
    const load = await loadOf(device, clock);
    if (load === null) unverified.push('maxLoad');
    else if (load > maxLoad) return `its load is ${percent(load)}, at most ${percent(maxLoad)} is wanted`;
  }
  if (unverified.length > 0 && unknown === 'reject') return `it does not tell ${unverified.join(' and ')}`;
  return { probe, unverified };
}

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

/** Free memory by the device's own word. A device that can neither be asked nor read synchronously only assumes a figure. */
function freeBytes(device: Device): number | null {
  const told = device.telemetry?.();
  if (told?.memoryTotal !== undefined && told.memoryUsed !== undefined) return told.memoryTotal - told.memoryUsed;
  return device.caps.syncRead ? device.memory().free : null;
}

/** The load averaged over at least 200 ms, 0 to 1. */
async function loadOf(device: Device, clock: Clock): Promise<number | null> {
  let sum = 0;
  for (let i = 0; i < loadSamples; i++) {
    if (i > 0) await sleep(clock, loadStepMs);
    const { utilization } = device.telemetry?.() ?? {};
    if (utilization === undefined) return null;
    sum += utilization;
  }
  return sum / loadSamples;
}
