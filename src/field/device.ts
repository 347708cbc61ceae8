// Which device a field lives on, and why. One order for the whole package: the runtime's devices in their order, GPUs first.

import { type DeviceId, DeviceUnavailable, type Runtime } from '../index.ts';
import type { FieldOptions } from './options.ts';

export interface DeviceChoice {
  readonly device: DeviceId;
  readonly reason: string;
}

/** Tells whether a device computes a cycle as the CPU does; a text says what is wrong. */
export type Probe = (device: DeviceId) => Promise<string | null>;

export async function chooseDevice(
  rt: Runtime,
  { device = 'auto', forceGPU = false }: Pick<FieldOptions, 'device' | 'forceGPU'>,
  probe: Probe,
): Promise<DeviceChoice> {
  const reports = rt.devices();
  const open = reports.filter((d) => d.open).map((d) => d.id);
  const isHost = (id: DeviceId): boolean => rt.device(id).caps.host === true;
  const rejected = reports.filter((d) => !d.open).map((d) => ({ device: d.id, reason: d.reason ?? 'it is not open' }));
  const wanted = forceGPU && device === 'auto' ? 'gpu' : device;
  const unavailable = (why: string): DeviceUnavailable =>
    new DeviceUnavailable({
      message: `createField: ${why}`,
      fix: "Use device: 'auto', which takes the CPU where there is no GPU, or install a driver: npx gpuforge doctor.",
      where: 'createField',
      rejected,
    });
  if (forceGPU && wanted !== 'gpu' && (!open.includes(wanted) || isHost(wanted)))
    throw unavailable(`a GPU is asked for, and the device is ${wanted}`);
  if (wanted !== 'auto' && wanted !== 'gpu') {
    if (open.includes(wanted)) return { device: wanted, reason: 'it was asked for' };
    throw unavailable(`there is no open device '${wanted}'; open are ${open.join(', ')}`);
  }
  for (const id of open.filter((d) => !isHost(d))) {
    const wrong = await probe(id);
    if (wrong === null) return { device: id, reason: 'a GPU, and its first cycles equal those of the CPU' };
    rejected.push({ device: id, reason: wrong });
  }
  const each = rejected.map((r) => `${r.device}: ${r.reason}`).join('; ');
  const why = each ? `no GPU can be used (${each})` : 'there is no GPU';
  const cpu = open.find(isHost);
  if (wanted === 'gpu' || cpu === undefined) throw unavailable(why);
  return { device: cpu, reason: why };
}
