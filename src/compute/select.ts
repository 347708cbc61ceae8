// Which device of a runtime to use: every one is probed, measured and held against the preference; each one that is not taken
// is listed with its reason.

import { type Device, DeviceUnavailable, type Runtime } from '../index.ts';
import { type Clock, pause } from '../profile/clock.ts';
import { type ProbeResult, probeDevice } from './probe.ts';
import type { DevicePreference, DeviceSelection } from './types.ts';

export interface Candidate {
  readonly id: string;
  readonly kind: 'gpu' | 'cpu';
  readonly probe: ProbeResult;
  readonly unverified: readonly ('minMemory' | 'maxLoad')[];
}

export interface Request {
  readonly runtime: Runtime;
  readonly preference: DevicePreference;
  readonly clock: Clock;
  /** Devices that are not to be used, and why. */
  readonly excluded: ReadonlyMap<string, string>;
  readonly probeElements: number;
}

type Rejected = { device: string; reason: string }[];

const loadSamples = 5;
const loadStepMs = 50;

export const kindOf = (runtime: Runtime, id: string): 'gpu' | 'cpu' => (runtime.device(id).caps.host ? 'cpu' : 'gpu');

/** The best acceptable device, GPUs first unless asked otherwise; DeviceUnavailable if there is none. */
export async function choose(
  request: Request,
): Promise<{ readonly found: Candidate; readonly rejected: DeviceSelection['rejected'] }> {
  const { runtime, preference } = request;
  const { preferGPU = true, requireGPU = false } = preference;
  const reports = runtime.devices();
  const rejected: Rejected = reports.flatMap((r) =>
    r.open ? [] : [{ device: r.id, reason: request.excluded.get(r.id) ?? r.reason ?? 'it was not opened' }],
  );
  const open = reports.filter((r) => r.open).map((r) => r.id);
  const gpus = open.filter((id) => kindOf(runtime, id) === 'gpu');
  const cpus = open.filter((id) => kindOf(runtime, id) === 'cpu');
  for (const group of requireGPU ? [gpus] : preferGPU ? [gpus, cpus] : [cpus, gpus]) {
    const found = await fastest(group, request, rejected);
    if (found) return { found, rejected };
  }
  throw unavailable(rejected, requireGPU);
}

export function unavailable(rejected: DeviceSelection['rejected'], requireGPU: boolean): DeviceUnavailable {
  const list = rejected.map((r) => `${r.device}: ${r.reason}`).join('; ');
  return new DeviceUnavailable({
    message: `selectDevice: no device meets the request${list ? `: ${list}` : ''}`,
    where: 'selectDevice',
    fix: requireGPU
      ? 'Allow the CPU (requireGPU: false), or see `gpuforge doctor`.'
      : 'Ask for less, or see `gpuforge doctor`.',
    rejected,
  });
}

/** The fastest acceptable device among some. */
async function fastest(ids: readonly string[], request: Request, rejected: Rejected): Promise<Candidate | null> {
  const accepted: Candidate[] = [];
  for (const id of ids) {
    const verdict = await judge(id, request);
    if (typeof verdict === 'string') rejected.push({ device: id, reason: verdict });
    else accepted.push(verdict);
  }
  accepted.sort((a, b) => a.probe.kernelMs - b.probe.kernelMs);
  const [found = null, ...slower] = accepted;
  const ms = (c: Candidate): string => `${c.probe.kernelMs.toFixed(2)} ms`;
  for (const c of slower)
    rejected.push({ device: c.id, reason: `slower than ${found!.id}: ${ms(c)} against ${ms(found!)} in the probe` });
  return found;
}

/** What was found out about a device, or why it is not acceptable. */
async function judge(
  id: string,
  { runtime, preference, clock, excluded, probeElements }: Request,
): Promise<string | Candidate> {
  const out = excluded.get(id);
  if (out !== undefined) return out;
  const device = runtime.device(id);
  const kind = kindOf(runtime, id);
  if (kind === 'gpu' && device.caps.details.software === true && preference.software !== 'accept')
    return 'it is emulated on the CPU, which is faster itself';
  const probe = await probeDevice(runtime, id, clock, probeElements);
  if (typeof probe === 'string') return `the probe failed: ${probe}`;
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
  return { id, kind, probe, unverified };
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
    if (i > 0) await pause(clock, loadStepMs);
    const { utilization } = device.telemetry?.() ?? {};
    if (utilization === undefined) return null;
    sum += utilization;
  }
  return sum / loadSamples;
}
