// Joins what a driver library or tool told with what the files told: measured values replace looked-up ones.

import {
  type Fact,
  type Gpu,
  type HostSystem,
  known,
  missing,
  type NvidiaDriver,
  parseCc,
  type Source,
} from '../machine.ts';
import type { NvmlDevice } from '../ports.ts';
import { block, newGpu } from './draft.ts';
import { cudaFact, systemMemory } from './nvidia.ts';
import { normalizeAddress } from './pci.ts';
import { architectureOf } from './tables/nvidia-chips.ts';

export interface DriverAnswer {
  readonly driver: string | null;
  readonly cuda: string | null;
  readonly devices: readonly NvmlDevice[];
}

export interface NvidiaState {
  readonly driver: NvidiaDriver;
  readonly gpus: readonly Gpu[];
}

export function mergeNvidia(
  state: NvidiaState,
  answer: DriverAnswer,
  source: 'nvml' | 'smi',
  host: HostSystem,
): NvidiaState {
  const left = [...answer.devices];
  const gpus = state.gpus.map((gpu) => {
    const at = left.findIndex((device) => isSame(gpu, device, answer.devices.length, state.gpus.length));
    if (at < 0) return unseen(gpu);
    const [device] = left.splice(at, 1);
    return enrich(gpu, device!, source, host);
  });
  // Devices without a PCI entry: WSL, or a sandbox that hides sysfs.
  for (const device of left) gpus.push(enrich(fromDriverOnly(device, host), device, source, host));
  return { driver: mergeDriver(state.driver, answer, source), gpus };
}

function isSame(gpu: Gpu, device: NvmlDevice, told: number, found: number): boolean {
  // Windows' registry gives no address; cards of one name are taken in order.
  if (gpu.pci?.address === '') return 'source' in gpu.name && gpu.name.value === device.name;
  if (gpu.pci && device.busId !== null) return gpu.pci.address === normalizeAddress(device.busId);
  if ('source' in gpu.uuid && device.uuid !== null) return gpu.uuid.value === device.uuid;
  // A Tegra GPU has neither address nor UUID in the files; it is the only one there is.
  return gpu.pci === null && told === 1 && found === 1;
}

function unseen(gpu: Gpu): Gpu {
  return gpu.usable ? block(gpu, ['the driver does not show it to this process']) : gpu;
}

function fromDriverOnly(device: NvmlDevice, host: HostSystem): Gpu {
  return newGpu({
    id: host.wsl === 2 ? `wsl:${device.index}` : `nvml:${device.index}`,
    vendor: 'nvidia',
    kind: missing('the files of this system do not show the card'),
    computeCapability: missing('not told by the driver'),
    boundDriver: missing(host.wsl === 2 ? 'WSL reaches the card through /dev/dxg' : 'the files do not show the card'),
    mig: missing('not told by the driver'),
  });
}

function enrich(gpu: Gpu, device: NvmlDevice, source: 'nvml' | 'smi', host: HostSystem): Gpu {
  const cc = device.computeCapability === null ? undefined : parseCc(device.computeCapability);
  const architecture = cc ? architectureOf(cc) : undefined;
  const integrated = 'source' in gpu.kind && gpu.kind.value === 'integrated';
  const unified = gpu.unified || (device.memoryTotal === null && (integrated || (cc?.major === 12 && cc.minor === 1)));
  return {
    ...gpu,
    name: measured(device.name, source, gpu.name),
    architecture: architecture && !('source' in gpu.architecture) ? known(architecture, 'pci-table') : gpu.architecture,
    computeCapability: measured(cc ?? null, source, gpu.computeCapability),
    units: measured(device.units, source, gpu.units),
    memoryBytes:
      device.memoryTotal === null && unified
        ? systemMemory(host)
        : measured(device.memoryTotal, source, gpu.memoryBytes),
    memoryFreeBytes: measured(device.memoryFree, source, missing('the driver does not tell it')),
    unified,
    uuid: measured(device.uuid, source, gpu.uuid),
    mig:
      device.migEnabled === null
        ? missing('this GPU has no MIG')
        : known(
            {
              enabled: device.migEnabled,
              instances: device.mig.map(({ uuid, name, memoryTotal }) => ({ uuid, name, memoryBytes: memoryTotal })),
            },
            source,
          ),
  };
}

function measured<T>(value: T | null, source: Source, otherwise: Fact<T>): Fact<T> {
  return value === null ? otherwise : known(value, source);
}

function mergeDriver(driver: NvidiaDriver, answer: DriverAnswer, source: 'nvml' | 'smi'): NvidiaDriver {
  const version = 'source' in driver.version ? driver.version : measured(answer.driver, source, driver.version);
  return {
    ...driver,
    version,
    cuda: answer.cuda === null ? cudaFact(version) : known(answer.cuda, source),
  };
}
