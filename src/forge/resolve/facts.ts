// From the facts of a machine to the targets that the checks work on: one per vendor, strongest first.

import type { PlatformTag, Tables } from '../data/schemas.ts';
import { type ComputeCapability, compareVersions, factValue, formatCc, type Gpu, type Machine } from '../machine.ts';
import { branchOf, firstBranchFor, longTermBranch, reportedCuda } from './drivers.ts';
import type { Target, TargetGpu } from './types.ts';

type ComputeVendor = TargetGpu['vendor'];

/** A discrete NVIDIA card is tried before a discrete AMD card, and any discrete card before an integrated GPU. */
const VENDOR_ORDER: readonly ComputeVendor[] = ['nvidia', 'amd', 'intel', 'apple'];

export interface VendorTarget {
  readonly vendor: ComputeVendor;
  readonly target: Target;
  /** What the reader should know before any check ran: GPUs that are blocked, an assumed driver. */
  readonly warnings: readonly string[];
}

export function hostTarget(machine: Machine, python: string | undefined): Target {
  const { host } = machine;
  const wsl = host.wsl > 0;
  const glibc = factValue(host.glibc);
  const release = /^macOS (\d+)/.exec(factValue(host.name) ?? '')?.[1];
  return {
    platform: platformOf(host.platform, host.rosetta ? 'arm64' : host.arch),
    platformText: `${wsl ? 'WSL2' : host.platform} ${host.rosetta ? 'arm64' : host.arch}`,
    driverColumn: host.platform === 'windows' || wsl ? 'windows' : 'linux',
    wsl,
    glibc,
    musl: host.platform === 'linux' && glibc === undefined && isMusl(host),
    macos: release === undefined ? undefined : Number(release),
    l4t: factValue(host.board)?.l4t?.split('.')[0],
    driver: undefined,
    driverCuda: undefined,
    driverAssumed: false,
    gpus: [],
    python,
  };
}

const isMusl = ({ glibc, distribution }: Machine['host']): boolean =>
  factValue(distribution) === 'alpine' || ('reason' in glibc && /\bmusl\b/.test(glibc.reason));

/** The targets to try in order; empty when the machine has no GPU that any framework could use. */
export function vendorTargets(tables: Tables, machine: Machine, python: string | undefined): readonly VendorTarget[] {
  const host = hostTarget(machine, python);
  const found: VendorTarget[] = [];
  for (const vendor of VENDOR_ORDER) {
    const all = machine.gpus.filter((gpu) => gpu.vendor === vendor);
    if (all.length === 0) continue;
    const usable = all.filter((gpu) => gpu.usable);
    const warnings = all
      .filter((gpu) => !gpu.usable)
      .map((gpu) => `${nameOfGpu(gpu)} is not usable now: ${gpu.blockers.join('; ') || 'no reason was recorded'}`);
    const chosen = usable.length > 0 ? usable : all.filter((gpu) => factValue(gpu.boundDriver) !== 'vfio-pci');
    if (chosen.length === 0) continue;
    const gpus = inPciOrder(all)
      .map((gpu, index) => ({ gpu, index }))
      .filter(({ gpu }) => chosen.includes(gpu))
      .map(({ gpu, index }) => targetGpu(gpu, vendor, index));
    const driver = vendor === 'nvidia' ? nvidiaDriver(tables, machine, gpus) : undefined;
    // Apple's system has no driver of NVIDIA to install.
    if (driver?.assumed && machine.host.platform !== 'macos') {
      warnings.push(
        gpus.every(({ tegra }) => tegra)
          ? 'the driver of a Jetson comes with its JetPack: the build is for that JetPack'
          : `the NVIDIA driver is not known: resolved for branch R${branchOf(driver.version)}; install that branch or a newer one that fits`,
      );
    }
    found.push({
      vendor,
      warnings,
      target: {
        ...host,
        gpus,
        driver: driver?.version,
        driverCuda: driver?.cuda,
        driverAssumed: driver?.assumed ?? false,
      },
    });
  }
  const discrete = (entry: VendorTarget): number => (entry.target.gpus.some((gpu) => !gpu.integrated) ? 0 : 1);
  return found.sort(
    (a, b) => discrete(a) - discrete(b) || VENDOR_ORDER.indexOf(a.vendor) - VENDOR_ORDER.indexOf(b.vendor),
  );
}

function platformOf(platform: string, arch: string): PlatformTag | undefined {
  const tag = `${platform}-${arch}`;
  const tags: readonly PlatformTag[] = ['linux-x64', 'linux-arm64', 'windows-x64', 'macos-arm64', 'macos-x64'];
  return tags.find((candidate) => candidate === tag);
}

function inPciOrder(gpus: readonly Gpu[]): readonly Gpu[] {
  // Cards without an address were given, and stand in the order in which they were.
  return [...gpus].sort((a, b) => (a.pci && b.pci ? a.pci.address.localeCompare(b.pci.address) : 0));
}

function targetGpu(gpu: Gpu, vendor: ComputeVendor, index: number): TargetGpu {
  return {
    id: gpu.id,
    name: nameOfGpu(gpu),
    vendor,
    integrated: factValue(gpu.kind) === 'integrated',
    cc: factValue(gpu.computeCapability),
    tegra: gpu.tegra,
    gfx: factValue(gpu.gfx),
    family: factValue(gpu.intelFamily),
    memoryBytes: factValue(gpu.memoryBytes),
    uuid: factValue(gpu.uuid),
    index,
  };
}

export function nameOfGpu(gpu: Gpu): string {
  return factValue(gpu.name) ?? factValue(gpu.chip) ?? `${gpu.vendor} ${gpu.pci?.deviceId ?? gpu.id}`;
}

/** "sm_86", the way kernels are named. */
export const smOf = (cc: ComputeCapability): string => `sm_${cc.major}${cc.minor}`;

function nvidiaDriver(
  tables: Tables,
  machine: Machine,
  gpus: readonly TargetGpu[],
): { readonly version: string; readonly cuda: string | undefined; readonly assumed: boolean } {
  const version = machine.drivers.nvidia ? factValue(machine.drivers.nvidia.version) : undefined;
  if (version !== undefined) {
    const measured = machine.drivers.nvidia ? factValue(machine.drivers.nvidia.cuda) : undefined;
    return { version, cuda: measured ?? reportedCuda(tables, version), assumed: false };
  }
  const rows = gpus.flatMap((gpu) =>
    tables.compute.capabilities.filter((row) => gpu.cc && row.cc === formatCc(gpu.cc)),
  );
  const last = rows.map((row) => row.lastDriver).filter((branch) => branch !== null);
  const first = rows.map((row) => firstBranchFor(tables, row.firstCuda)?.branch ?? 0);
  const branch = Math.max(Math.min(longTermBranch(tables), ...last), ...first);
  const assumed = String(branch);
  return { version: assumed, cuda: reportedCuda(tables, assumed), assumed: true };
}

/** Python versions of a range, in the order in which they are chosen. */
export function pythonsIn(tables: Tables, min: string, max: string): readonly string[] {
  return tables.python.versions
    .map((row) => row.version)
    .filter((version) => compareVersions(version, min) >= 0 && compareVersions(version, max) <= 0);
}
