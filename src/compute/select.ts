// Which device to use: every candidate is opened, probed, measured and held against the preference; each one that is not
// taken is listed with its reason. The winner comes with a runtime that uses it; whoever asked keeps or closes that.

import type { Device } from '../devices/device.ts';
import { sleep } from '../governor/recovery/clock.ts';
import type { DeviceKind } from '../runtime/devices.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Clock } from './clock.ts';
import { DeviceUnavailableError, deviceLost } from './errors.ts';
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

export interface Request {
  readonly kinds: readonly DeviceKind[];
  readonly preference: DevicePreference;
  readonly open: OpenRuntime;
  readonly clock: Clock;
  /** Devices that are not to be used, and why. */
  readonly excluded: ReadonlyMap<string, string>;
  readonly probeElements: number;
}

export interface Choice {
  readonly found: Candidate;
  readonly rejected: DeviceSelection['rejected'];
}

const loadSamples = 5;
const loadStepMs = 50;

/** The best acceptable device, GPUs first unless asked otherwise; DeviceUnavailableError if there is none. */
export async function choose(request: Request): Promise<Choice> {
  const { preferGPU = true, requireGPU = false } = request.preference;
  const gpus = request.kinds.filter((k) => gpuKinds.includes(k));
  const others = request.kinds.filter((k) => !gpuKinds.includes(k));
  const groups = requireGPU ? [gpus] : preferGPU ? [gpus, others] : [others, gpus];
  const rejected: { device: string; reason: string }[] = [];
  for (const group of groups) {
    const best = await search(group, request, rejected);
    if (best) return { found: await alone(best, request.open), rejected };
  }
  const list = rejected.map((r) => `${r.device}: ${r.reason}`).join('; ');
  throw new DeviceUnavailableError({
    message: `selectDevice: no device meets the request${list ? `: ${list}` : ''}`,
    operation: 'selectDevice',
    hint: requireGPU
      ? 'Allow the CPU (requireGPU: false), or see `gpuforge doctor`.'
      : 'Ask for less, or see `gpuforge doctor`.',
    rejected,
  });
}

/** The fastest acceptable device among some kinds. The runtimes of all others are closed again. */
async function search(
  kinds: readonly DeviceKind[],
  request: Request,
  rejected: { device: string; reason: string }[],
): Promise<Candidate | null> {
  const accepted: Candidate[] = [];
  const runtimes: Runtime[] = [];
  for (const kind of kinds) {
    const runtime = await opened(kind, request.open, rejected);
    if (!runtime) continue;
    runtimes.push(runtime);
    const ids = runtime.devices().filter((d) => d.open && d.id.split(':')[0] === kind);
    if (ids.length === 0) rejected.push({ device: kind, reason: 'it was not opened' });
    for (const { id } of ids) {
      const device = runtime.device(id);
      const verdict = await judge(device, gpuKinds.includes(kind), request);
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
  return found;
}

/** A runtime uses its first device: one of several is opened again by itself. */
async function alone(found: Candidate, open: OpenRuntime): Promise<Candidate> {
  const { id } = found.device;
  if (found.siblings === 1 && found.runtime.devices()[0]?.id === id) return found;
  await found.runtime.close();
  const runtime = await open(found.kind, id);
  if (!runtime) throw deviceLost('selectDevice', id, 'it could not be opened a second time');
  return { ...found, runtime, device: runtime.device(id) };
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
  { preference, clock, excluded, probeElements }: Request,
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
