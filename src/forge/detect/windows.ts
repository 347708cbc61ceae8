// Windows: one `reg query` of the display class gives names, driver versions, PCI ids and the 64-bit memory size.
//
// No PowerShell (slow) and no wmic (gone from Windows 11 24H2 on). `HardwareInformation.qwMemorySize` is the true size, where
// the 32-bit field that other tools read stops at 4 GiB.

import { type Fact, type Gpu, type HostSystem, known, missing, type NvidiaDriver, type PciFacts } from '../machine.ts';
import type { Ports, RunResult } from '../ports.ts';
import { block, newGpu } from './draft.ts';
import { cudaFact, systemMemory } from './nvidia.ts';
import { amdArchitecture, amdProduct } from './tables/amd-products.ts';
import { intelProduct } from './tables/intel-products.ts';
import { nvidiaChip } from './tables/nvidia-chips.ts';
import { nvidiaProduct } from './tables/nvidia-products.ts';

const DISPLAY_CLASS = 'HKLM\\SYSTEM\\CurrentControlSet\\Control\\Class\\{4d36e968-e325-11ce-bfc1-08002be10318}';

export interface WindowsResult {
  readonly gpus: readonly Gpu[];
  readonly nvidia: NvidiaDriver | null;
  readonly run: RunResult;
}

export async function readWindows(ports: Ports, host: HostSystem, timeoutMs: number): Promise<WindowsResult> {
  const run = await ports.processes.run('reg.exe', ['query', DISPLAY_CLASS, '/s'], { timeoutMs });
  const adapters = parseRegistry(run.stdout);
  const gpus = adapters.flatMap((adapter, index) => toGpu(adapter, index, host) ?? []);
  const own = adapters.find((adapter) => /ven_10de/i.test(adapter.MatchingDeviceId ?? ''));
  const nvml = 'C:\\Windows\\System32\\nvml.dll';
  if (!own) return { gpus, nvidia: null, run };
  const version: Fact<string> = nvidiaVersion(own.DriverVersion);
  const driver: NvidiaDriver = {
    version,
    cuda: cudaFact(version),
    module: missing('Windows has one driver'),
    loaded: 'source' in version,
    libraries: ports.files.exists(nvml) ? [{ soname: 'nvml.dll', path: nvml, version: null }] : [],
    mismatch: null,
  };
  return { gpus, nvidia: driver, run };
}

type Adapter = Readonly<Record<string, string | undefined>>;

/** Subkeys 0000, 0001 … each become one record; other subkeys (settings of the drivers) are passed over. */
export function parseRegistry(text: string): readonly Adapter[] {
  const adapters: Record<string, string>[] = [];
  let current: Record<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    if (/^HKEY_/i.test(line)) {
      current = /\\\d{4}$/.test(line.trim()) ? {} : undefined;
      if (current) adapters.push(current);
      continue;
    }
    const found = /^ {4}(\S+(?: \S+)*) {4}REG_\w+ {4}(.*)$/.exec(line);
    if (found && current) current[found[1]!] = found[2]!.trim();
  }
  return adapters.filter((adapter) => adapter.DriverDesc !== undefined);
}

/** The last five digits: 32.0.15.7283 is 572.83. */
export function nvidiaVersion(version: string | undefined): Fact<string> {
  const digits = (version ?? '').replaceAll('.', '').slice(-5);
  if (!/^\d{5}$/.test(digits)) return missing('the registry holds no driver version');
  return known(`${digits.slice(0, 3)}.${digits.slice(3)}`, 'registry');
}

function toGpu(adapter: Adapter, index: number, host: HostSystem): Gpu | undefined {
  const ids = /ven_([0-9a-f]{4})&dev_([0-9a-f]{4})/i.exec(adapter.MatchingDeviceId ?? '');
  if (!ids) return undefined;
  const vendorId = ids[1]!.toLowerCase();
  const deviceId = ids[2]!.toLowerCase();
  const shared = {
    id: `win:${index}`,
    name: known(adapter.DriverDesc!, 'registry'),
    pci: pciFacts(vendorId, deviceId),
    boundDriver: known(adapter.DriverVersion ?? 'driver', 'registry'),
    memoryBytes: memoryOf(adapter),
    access: missing('Windows has no device nodes'),
  } satisfies Partial<Gpu>;
  switch (vendorId) {
    case '10de': {
      const chip = nvidiaChip(deviceId);
      const units = nvidiaProduct(deviceId)?.units;
      return newGpu({
        ...shared,
        vendor: 'nvidia',
        kind: known('discrete', 'pci-table'),
        chip: chip ? known(chip.chip, 'pci-table') : missing('not in the tables'),
        architecture: chip ? known(chip.architecture, 'pci-table') : missing('not in the tables'),
        computeCapability: chip ? known(chip.cc, 'pci-table') : missing('not in the tables'),
        units: units ? known(units, 'pci-table') : missing('not in the product table'),
        mig: missing('needs NVML'),
      });
    }
    case '1002': {
      const product = amdProduct(deviceId);
      const architecture = product ? amdArchitecture(product.gfx) : undefined;
      return newGpu({
        ...shared,
        vendor: 'amd',
        kind: architecture
          ? known(architecture.integrated ? 'integrated' : 'discrete', 'pci-table')
          : missing('not in the tables'),
        chip: product ? known(product.chip, 'pci-table') : missing('not in the tables'),
        architecture: architecture ? known(architecture.architecture, 'pci-table') : missing('not in the tables'),
        gfx: product ? known(product.gfx, 'pci-table') : missing('not in the tables'),
        unified: architecture?.integrated ?? false,
      });
    }
    case '8086': {
      const product = intelProduct(deviceId);
      return newGpu({
        ...shared,
        vendor: 'intel',
        kind: known(product.integrated ? 'integrated' : 'discrete', 'pci-table'),
        architecture: known(product.architecture, 'pci-table'),
        intelFamily: known(product.family, 'pci-table'),
        memoryBytes: product.integrated ? systemMemory(host) : shared.memoryBytes,
        unified: product.integrated,
      });
    }
    default:
      return block(newGpu({ ...shared, vendor: 'other' }), ['no compute on this device']);
  }
}

function pciFacts(vendorId: string, deviceId: string): PciFacts {
  return {
    address: '',
    vendorId,
    deviceId,
    subsystem: null,
    revision: null,
    classCode: '030000',
    numaNode: null,
    linkSpeed: null,
    linkWidth: null,
    power: null,
    regions: [],
  };
}

function memoryOf(adapter: Adapter): Fact<number> {
  const raw = adapter['HardwareInformation.qwMemorySize'];
  return raw && /^0x0*[1-9a-f][0-9a-f]*$/i.test(raw)
    ? known(Number(BigInt(raw)), 'registry')
    : missing('the registry holds no memory size');
}
