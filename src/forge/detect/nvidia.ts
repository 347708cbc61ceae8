// NVIDIA, tier 0: cards, driver version, module flavour, user-space libraries and device nodes, from files alone.
//
// Covers PCI cards on bare metal and in containers, Tegra boards (the GPU is not on PCI), DGX Spark (on PCI, memory shared)
// and WSL2 (neither PCI nor /proc/driver/nvidia: only NVML can name the cards).

import { type Fact, type Gpu, type HostSystem, known, missing, type NvidiaDriver, type PciFacts } from '../machine.ts';
import type { Ports } from '../ports.ts';
import { checkNodes } from './access.ts';
import { block, GIB, newGpu, pciDriver } from './draft.ts';
import { libraryFolders } from './host.ts';
import { findLibraries } from './libraries.ts';
import { cudaOfDriver, type NvidiaChip, nvidiaChip, tegraSocs } from './tables/nvidia-chips.ts';
import { nvidiaProduct } from './tables/nvidia-products.ts';

export const WSL_LIBRARIES = '/usr/lib/wsl/lib';
const PROC = '/proc/driver/nvidia';
/** Where distributions and container hosts put the driver's libraries beside the usual folders. */
const DRIVER_FOLDERS = ['/usr/local/nvidia/lib64', '/usr/local/nvidia/lib', '/usr/lib64/nvidia', '/usr/lib/nvidia'];

export interface NvidiaTier0 {
  readonly driver: NvidiaDriver | null;
  readonly gpus: readonly Gpu[];
}

export function readNvidia(ports: Ports, host: HostSystem, pci: readonly PciFacts[]): NvidiaTier0 {
  const cards = pci.filter((device) => device.vendorId === '10de');
  const soc = 'source' in host.board ? (host.board.value.soc ?? undefined) : undefined;
  const wsl = host.wsl === 2 && ports.files.exists('/dev/dxg');
  const tegra = soc === undefined ? undefined : tegraSocs[soc];
  const traces = ['/sys/module/nvidia', PROC, '/dev/nvidiactl'];
  if (cards.length === 0 && !wsl && !tegra && !traces.some((trace) => ports.files.exists(trace))) {
    return { driver: null, gpus: [] };
  }
  const driver = readDriver(ports, wsl, tegra !== undefined);
  const gpus = cards.map((card) => pciCard(ports, host, card, driver));
  // Thor's GPU is on PCI as well as in the device tree; it is one GPU.
  if (tegra && gpus.length === 0) gpus.push(tegraGpu(ports, host, tegra));
  return { driver, gpus };
}

/** Where NVML lies on a machine with PCI cards; the same place that `findLibraries` finds, without looking where links lead. */
export const nvmlLibrary = (ports: Ports): string | undefined =>
  [...libraryFolders(ports), ...DRIVER_FOLDERS]
    .map((folder) => `${folder}/libnvidia-ml.so.1`)
    .find((file) => ports.files.exists(file));

function readDriver(ports: Ports, wsl: boolean, tegra: boolean): NvidiaDriver {
  const { files } = ports;
  const first = wsl ? [WSL_LIBRARIES] : tegra ? ['/usr/lib/aarch64-linux-gnu/nvidia'] : [];
  const libraries = findLibraries(ports, ['libnvidia-ml.so.1', 'libcuda.so.1'], first, DRIVER_FOLDERS);
  const procText = files.read(`${PROC}/version`);
  const version = moduleVersion(files.read('/sys/module/nvidia/version'), procText, wsl);
  const loaded = wsl
    ? libraries.length > 0
    : 'source' in version || files.exists(PROC) || files.exists('/dev/nvidiactl');
  return {
    version,
    cuda: cudaFact(version),
    module: moduleFlavour(procText),
    loaded,
    libraries,
    mismatch: wsl || tegra ? null : findMismatch(version, libraries),
  };
}

function moduleVersion(sysText: string | undefined, procText: string | undefined, wsl: boolean): Fact<string> {
  const fromSys = /^\d+\.\d+(\.\d+)*$/.exec(sysText?.trim() ?? '')?.[0];
  if (fromSys) return known(fromSys, 'sysfs');
  const fromProc = /NVRM version:.*?\s(\d{3}\.\d+(?:\.\d+)*)\s/.exec(procText ?? '')?.[1];
  if (fromProc) return known(fromProc, 'proc');
  return missing(
    wsl ? 'WSL uses the Windows driver: only NVML tells its version' : 'the nvidia kernel module is not loaded',
  );
}

/** The CUDA version of a driver by its branch; NVML replaces it by the measured one. */
export function cudaFact(version: Fact<string>): Fact<string> {
  if (!('source' in version)) return missing(version.reason);
  const cuda = cudaOfDriver(version.value);
  return cuda
    ? known(cuda, 'pci-table', `by driver branch ${Number.parseInt(version.value, 10)}`)
    : missing(`driver ${version.value} is older than the tables`);
}

function moduleFlavour(procText: string | undefined): NvidiaDriver['module'] {
  if (procText === undefined) return missing(`${PROC}/version cannot be read`);
  return known(/Open Kernel Module/.test(procText) ? 'open' : 'proprietary', 'proc');
}

function findMismatch(version: Fact<string>, libraries: NvidiaDriver['libraries']): string | null {
  if (!('source' in version)) return null;
  const other = libraries.find((library) => library.version !== null && library.version !== version.value);
  return other ? `kernel module ${version.value}, ${other.soname} ${other.version} (${other.path})` : null;
}

function pciCard(ports: Ports, host: HostSystem, card: PciFacts, driver: NvidiaDriver): Gpu {
  const chip = nvidiaChip(card.deviceId);
  const product = nvidiaProduct(card.deviceId);
  const info = parseInformation(ports.files.read(`${PROC}/gpus/${card.address}/information`));
  const bound = pciDriver(ports, card);
  const unified = chip?.chip === 'GB20B' || chip?.chip === 'GB10B';
  const noChip = missing(`PCI id 10de:${card.deviceId} is not in the tables`);
  const gpu = newGpu({
    id: `pci:${card.address}`,
    vendor: 'nvidia',
    kind: known(unified ? 'integrated' : 'discrete', 'pci-table'),
    name: info.Model
      ? known(info.Model, 'proc')
      : product
        ? known(product.name, 'pci-table')
        : missing(`no driver tells it, and 10de:${card.deviceId} is not in the product table`),
    chip: chip ? known(chip.chip, 'pci-table') : noChip,
    architecture: chip ? known(chip.architecture, 'pci-table') : noChip,
    computeCapability: chip ? known(chip.cc, 'pci-table') : noChip,
    tegra: chip?.chip === 'GB10B',
    units: product?.units ? known(product.units, 'pci-table') : missing('not in the product table'),
    memoryBytes: unified ? systemMemory(host) : cardMemory(card, product?.memoryGiB ?? null),
    unified,
    uuid:
      info['GPU UUID'] && !info['GPU UUID'].includes('?')
        ? known(info['GPU UUID'], 'proc')
        : missing('needs the driver'),
    boundDriver: bound,
    pci: card,
    mig: missing('needs NVML'),
    access: nodeAccess(ports, info['Device Minor'], bound),
  });
  return block(gpu, cardBlockers(gpu, driver, host));
}

/**
 * With resizable BAR on, the largest region spans all of the memory: an upper bound, and no answer when it is a small window.
 * Which line of `resource` holds it differs: BAR 0 of a Hopper card is 64 bits wide and takes two.
 */
function cardMemory(card: PciFacts, tableGiB: number | null): Fact<number> {
  if (tableGiB !== null) return known(tableGiB * GIB, 'pci-table', 'nominal size of the product');
  const largest = Math.max(0, ...card.regions);
  if (largest > GIB) return known(largest, 'sysfs', 'size of its largest memory region: an upper bound');
  return missing('not in sysfs: NVML tells it');
}

export function systemMemory(host: HostSystem): Fact<number> {
  return 'source' in host.memoryBytes
    ? known(host.memoryBytes.value, 'os', 'memory is shared with the processor')
    : missing(host.memoryBytes.reason);
}

/** The node's number is the device minor; without /proc the control node alone must do. */
function nodeAccess(ports: Ports, minor: string | undefined, bound: Fact<string>): Gpu['access'] {
  if ('source' in bound && bound.value !== 'nvidia') return missing(`${bound.value} owns the device`);
  const nodes = ['/dev/nvidiactl'];
  if (minor !== undefined && /^\d+$/.test(minor)) nodes.push(`/dev/nvidia${minor}`);
  else if (!(ports.files.list('/dev') ?? []).some((name) => /^nvidia\d+$/.test(name))) nodes.push('/dev/nvidia0');
  return known(checkNodes(ports, nodes), 'file');
}

function cardBlockers(gpu: Gpu, driver: NvidiaDriver, host: HostSystem): readonly string[] {
  const bound = 'source' in gpu.boundDriver ? gpu.boundDriver.value : undefined;
  if (bound === 'vfio-pci') return ['bound to vfio-pci: reserved for a virtual machine'];
  if (bound === 'nouveau' || bound === 'nova-core') return [`bound to ${bound}, which has no CUDA`];
  const reasons: string[] = [];
  if (!driver.loaded) reasons.push('the NVIDIA kernel module is not loaded');
  else if (bound === undefined && !('source' in host.container)) reasons.push('no driver is bound to it');
  if (driver.mismatch) reasons.push(`driver and library differ: ${driver.mismatch}`);
  const access = 'source' in gpu.access ? gpu.access.value : undefined;
  if (driver.loaded && access && access.state !== 'ok') reasons.push(access.detail);
  return reasons;
}

function tegraGpu(ports: Ports, host: HostSystem, chip: NvidiaChip): Gpu {
  const model = 'source' in host.board ? host.board.value.model : chip.chip;
  const nodes = ['/dev/nvhost-gpu', '/dev/nvgpu/igpu0/ctrl', '/dev/nvhost-ctrl-gpu'];
  const present = nodes.find((node) => ports.files.exists(node));
  const access = checkNodes(ports, [present ?? '/dev/nvhost-gpu']);
  const gpu = newGpu({
    id: `soc:${chip.chip}`,
    vendor: 'nvidia',
    kind: known('integrated', 'device-tree'),
    name: known(`${model} GPU`, 'device-tree'),
    chip: known(chip.chip, 'device-tree'),
    architecture: known(chip.architecture, 'pci-table'),
    computeCapability: known(chip.cc, 'pci-table', `by ${chip.chip}`),
    tegra: true,
    memoryBytes: systemMemory(host),
    unified: true,
    boundDriver: known('nvgpu', 'device-tree'),
    mig: missing('Tegra has no MIG'),
    access: known(access, 'file'),
  });
  return block(gpu, access.state === 'ok' ? [] : [access.detail]);
}

/** "Model: \t NVIDIA H200" lines. */
function parseInformation(text: string | undefined): Readonly<Record<string, string | undefined>> {
  const lines = (text ?? '').split('\n').flatMap((line) => {
    const colon = line.indexOf(':');
    return colon > 0 ? [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()] as const] : [];
  });
  return Object.fromEntries(lines);
}
