// Live readings of every GPU: NVML in a child for NVIDIA, sysfs for AMD and Intel. Measured or null, never invented.
//
// A suspended card is not read, since reading would wake it. The stream ends when its consumer stops, and the child with it.

import type { Gpu, Machine, PciFacts } from '../machine.ts';
import type { NvmlTelemetry, Ports } from '../ports.ts';
import { attribute } from './amd.ts';
import { PCI_ROOT } from './pci.ts';

export interface Reading {
  readonly id: string;
  readonly name: string;
  readonly utilization: number | null;
  readonly memoryUsed: number | null;
  readonly memoryTotal: number | null;
  readonly temperature: number | null;
  readonly powerWatts: number | null;
  readonly powerLimitWatts: number | null;
  readonly clockMhz: number | null;
  readonly memoryClockMhz: number | null;
  readonly fanPercent: number | null;
  /** Why there are no values at all: "asleep", "not usable". */
  readonly note: string | null;
}

export interface StreamOptions {
  readonly library: string;
  readonly child: string;
  readonly intervalMs: number;
  readonly signal?: AbortSignal;
}

/** NVML readings, one array each interval. */
export async function* telemetryStream(options: StreamOptions): AsyncGenerator<readonly NvmlTelemetry[]> {
  const { spawn } = await import('node:child_process');
  const { createInterface } = await import('node:readline');
  const args = [options.child, 'watch', options.library, String(options.intervalMs)];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  child.on('error', () => {});
  options.signal?.addEventListener('abort', () => child.kill('SIGKILL'));
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const told = JSON.parse(line) as { devices?: readonly NvmlTelemetry[] };
      if (told.devices) yield told.devices;
    }
  } finally {
    child.stdin.on('error', () => {}).end();
    child.kill('SIGKILL');
  }
}

/** What sysfs tells of one card now. */
export function sysfsReading(ports: Ports, gpu: Gpu): Reading {
  const base = emptyReading(gpu);
  const pci = gpu.pci;
  if (pci === null || pci.address === '') return base;
  const power = ports.files.read(`${PCI_ROOT}/${pci.address}/power/runtime_status`)?.trim();
  if (power === 'suspended') return { ...base, note: 'asleep' };
  const hwmon = hwmonOf(ports, pci);
  const sensor = (name: string, scale: number) => {
    const raw = hwmon === undefined ? undefined : numberAt(ports, `${hwmon}/${name}`);
    return raw === undefined ? null : raw / scale;
  };
  const pool = gpu.unified ? 'gtt' : 'vram';
  const fan = sensor('pwm1', 2.55);
  return {
    ...base,
    utilization: attribute(ports, pci, 'gpu_busy_percent') ?? null,
    memoryUsed: attribute(ports, pci, `mem_info_${pool}_used`) ?? null,
    memoryTotal: attribute(ports, pci, `mem_info_${pool}_total`) ?? base.memoryTotal,
    temperature: sensor('temp1_input', 1000),
    powerWatts: sensor('power1_average', 1e6) ?? sensor('power1_input', 1e6),
    powerLimitWatts: sensor('power1_cap', 1e6),
    clockMhz: sensor('freq1_input', 1e6) ?? intelClock(ports, pci),
    memoryClockMhz: sensor('freq2_input', 1e6),
    fanPercent: fan === null ? null : Math.round(fan),
  };
}

function emptyReading(gpu: Gpu): Reading {
  return {
    id: gpu.id,
    name: 'source' in gpu.name ? gpu.name.value : gpu.id,
    utilization: null,
    memoryUsed: null,
    memoryTotal: 'source' in gpu.memoryBytes ? gpu.memoryBytes.value : null,
    temperature: null,
    powerWatts: null,
    powerLimitWatts: null,
    clockMhz: null,
    memoryClockMhz: null,
    fanPercent: null,
    note: gpu.usable ? null : (gpu.blockers[0] ?? null),
  };
}

function hwmonOf(ports: Ports, pci: PciFacts): string | undefined {
  const root = `${PCI_ROOT}/${pci.address}/hwmon`;
  const name = ports.files.list(root)?.[0];
  return name === undefined ? undefined : `${root}/${name}`;
}

/** i915 keeps the clock under the DRM card, xe under its tile. */
function intelClock(ports: Ports, pci: PciFacts): number | null {
  const root = `${PCI_ROOT}/${pci.address}`;
  const card = ports.files.list(`${root}/drm`)?.find((name) => name.startsWith('card'));
  const places = [`${root}/drm/${card}/gt/gt0/rps_act_freq_mhz`, `${root}/tile0/gt0/freq0/act_freq`];
  for (const place of places) {
    const value = numberAt(ports, place);
    if (value !== undefined) return value;
  }
  return null;
}

function numberAt(ports: Ports, file: string): number | undefined {
  const raw = ports.files.read(file)?.trim();
  return raw && /^-?\d+$/.test(raw) ? Number(raw) : undefined;
}

/** Puts NVML's answers in the place of the machine's NVIDIA cards, and sysfs' in that of the others. */
export function joinReadings(ports: Ports, machine: Machine, nvml: readonly NvmlTelemetry[]): readonly Reading[] {
  const unnamed = nvml.filter((told) => !machine.gpus.some((gpu) => isOf(gpu, told)));
  return machine.gpus
    .filter((gpu) => gpu.vendor !== 'other')
    .map((gpu) => {
      if (gpu.vendor !== 'nvidia') return sysfsReading(ports, gpu);
      // A card whose UUID the files did not tell takes the next answer that belongs to no other.
      const told = nvml.find((entry) => isOf(gpu, entry)) ?? ('source' in gpu.uuid ? undefined : unnamed.shift());
      const base = emptyReading(gpu);
      if (!told) return base;
      const { index: _index, uuid: _uuid, name, memoryUtilization: _share, ...values } = told;
      return { ...base, ...values, name: name ?? base.name, memoryTotal: values.memoryTotal ?? base.memoryTotal };
    });
}

function isOf(gpu: Gpu, told: NvmlTelemetry): boolean {
  return 'source' in gpu.uuid && gpu.uuid.value === told.uuid;
}
