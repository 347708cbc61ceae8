// AMD, tier 0: the kernel's KFD topology for gfx id and compute units, the card's own attributes for memory, no ROCm needed.
//
// One GPU per PCI device: a partitioned MI300X shows several KFD nodes and stays one. On an APU the VRAM is only a carve-out,
// so the memory is what the driver may map (GTT).

import { type AmdDriver, type Fact, type Gpu, known, missing, type PciFacts } from '../machine.ts';
import type { Ports } from '../ports.ts';
import { checkNodes } from './access.ts';
import { block, GIB, newGpu, pciDriver } from './draft.ts';
import { PCI_ROOT } from './pci.ts';
import { amdArchitecture, amdProduct, gfxOfVersion } from './tables/amd-products.ts';

const KFD = '/sys/class/kfd/kfd/topology/nodes';

export interface AmdTier0 {
  readonly driver: AmdDriver | null;
  readonly gpus: readonly Gpu[];
}

interface KfdNode {
  readonly address: string;
  readonly gfx: string;
  readonly units: number | null;
}

export function readAmd(ports: Ports, pci: readonly PciFacts[]): AmdTier0 {
  const cards = pci.filter((device) => device.vendorId === '1002');
  if (cards.length === 0) return { driver: null, gpus: [] };
  const nodes = readTopology(ports);
  const driver = readDriver(ports);
  return { driver, gpus: cards.map((card) => amdCard(ports, card, driver, nodes)) };
}

function readTopology(ports: Ports): readonly KfdNode[] {
  return (ports.files.list(KFD) ?? []).flatMap((name) => {
    const text = ports.files.read(`${KFD}/${name}/properties`);
    if (text === undefined) return [];
    const properties = parseProperties(text);
    const gfx = gfxOfVersion(properties.gfx_target_version ?? 0);
    if (gfx === undefined) return [];
    const simds = properties.simd_count;
    const perUnit = properties.simd_per_cu;
    return [
      {
        address: addressOf(properties.domain ?? 0, properties.location_id ?? 0),
        gfx,
        units: simds && perUnit ? simds / perUnit : null,
      },
    ];
  });
}

/** KFD's location is bus << 8 | device << 3 | function. */
function addressOf(domain: number, location: number): string {
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
  return `${hex(domain, 4)}:${hex(location >> 8, 2)}:${hex((location >> 3) & 31, 2)}.${location & 7}`;
}

function parseProperties(text: string): Readonly<Record<string, number | undefined>> {
  const entries = text.split('\n').flatMap((line) => {
    const found = /^(\w+) (\d+)$/.exec(line.trim());
    return found ? [[found[1]!, Number(found[2])] as const] : [];
  });
  return Object.fromEntries(entries);
}

function readDriver(ports: Ports): AmdDriver {
  const { files } = ports;
  const version = files.read('/sys/module/amdgpu/version')?.trim();
  const rocm = files.read('/opt/rocm/.info/version')?.trim().split('-')[0];
  const loaded = files.exists('/sys/module/amdgpu');
  return {
    version: version
      ? known(version, 'sysfs')
      : missing(loaded ? 'the module of the kernel itself has no version' : 'amdgpu is not loaded'),
    loaded,
    rocm: rocm ? known(rocm, 'file') : missing('no /opt/rocm; the wheels of AMD bring their own runtime'),
    kfd: loaded ? known(checkNodes(ports, ['/dev/kfd']), 'file') : missing('amdgpu is not loaded'),
  };
}

function amdCard(ports: Ports, card: PciFacts, driver: AmdDriver, nodes: readonly KfdNode[]): Gpu {
  const product = amdProduct(card.deviceId);
  const node = nodes.find(({ address }) => address === card.address);
  const gfx: Fact<string> = node
    ? known(node.gfx, 'kfd')
    : product
      ? known(product.gfx, 'pci-table')
      : missing(`no KFD node, and 1002:${card.deviceId} is not in the tables`);
  const architecture = 'source' in gfx ? amdArchitecture(gfx.value) : undefined;
  const integrated = architecture?.integrated ?? false;
  const gpu = newGpu({
    id: `pci:${card.address}`,
    vendor: 'amd',
    kind: architecture
      ? known(integrated ? 'integrated' : 'discrete', 'pci-table')
      : missing('the gfx id is not known'),
    name: marketingName(ports, card, product?.name),
    chip: product ? known(product.chip, 'pci-table') : missing(`1002:${card.deviceId} is not in the tables`),
    architecture: architecture
      ? known(architecture.architecture, 'pci-table')
      : missing('the gfx id is not in the tables'),
    gfx,
    units: node?.units ? known(node.units, 'kfd') : missing('told by KFD only'),
    memoryBytes: memoryOf(ports, card, integrated, product?.memoryGiB ?? null),
    memoryFreeBytes: freeMemory(ports, card, integrated),
    unified: integrated,
    uuid: uniqueId(ports, card),
    boundDriver: pciDriver(ports, card),
    pci: card,
    access: accessOf(ports, card, driver),
  });
  return block(gpu, blockers(gpu, driver));
}

/** The driver's own name, then libdrm's list by device and revision, then the PCI table, which may cover several cards. */
function marketingName(ports: Ports, card: PciFacts, table: string | undefined): Fact<string> {
  const own = ports.files.read(`${PCI_ROOT}/${card.address}/product_name`)?.trim();
  if (own) return known(own.startsWith('AMD') ? own : `AMD ${own}`, 'sysfs');
  const list = ports.files.read('/usr/share/libdrm/amdgpu.ids');
  const row = list === undefined ? null : findDrmName(list, card);
  if (row) return known(row, 'file');
  return table ? known(table, 'pci-table') : missing(`1002:${card.deviceId} is in no list of names`);
}

function findDrmName(list: string, card: PciFacts): string | null {
  const revision = (card.revision ?? '').toUpperCase();
  const pattern = new RegExp(`^${card.deviceId.toUpperCase()},\\s*${revision},\\s*(.+)$`, 'm');
  return pattern.exec(list)?.[1]?.trim() ?? null;
}

function memoryOf(ports: Ports, card: PciFacts, integrated: boolean, tableGiB: number | null): Fact<number> {
  // A size of 0 is a driver that does not know, not a card without memory.
  const vram = attribute(ports, card, 'mem_info_vram_total') || undefined;
  const gtt = attribute(ports, card, 'mem_info_gtt_total') || undefined;
  if (integrated && gtt !== undefined) {
    const carved = vram === undefined ? '' : `; ${(vram / GIB).toFixed(1)} GiB of it set aside`;
    return known(gtt, 'sysfs', `system memory the driver may map${carved}`);
  }
  if (vram !== undefined) return known(vram, 'sysfs');
  if (tableGiB !== null) return known(tableGiB * GIB, 'pci-table', 'nominal size of the product');
  return missing('the amdgpu driver tells it once it is loaded');
}

function freeMemory(ports: Ports, card: PciFacts, integrated: boolean): Fact<number> {
  const pool = integrated ? 'gtt' : 'vram';
  const total = attribute(ports, card, `mem_info_${pool}_total`);
  const used = attribute(ports, card, `mem_info_${pool}_used`);
  return total !== undefined && used !== undefined
    ? known(total - used, 'sysfs')
    : missing('the amdgpu driver tells it once it is loaded');
}

function uniqueId(ports: Ports, card: PciFacts): Fact<string> {
  const id = ports.files.read(`${PCI_ROOT}/${card.address}/unique_id`)?.trim();
  return id ? known(id, 'sysfs') : missing('this card has none');
}

export function attribute(ports: Ports, card: PciFacts, name: string): number | undefined {
  const raw = ports.files.read(`${PCI_ROOT}/${card.address}/${name}`)?.trim();
  return raw && /^\d+$/.test(raw) ? Number(raw) : undefined;
}

export function renderNode(ports: Ports, card: PciFacts): string | undefined {
  const name = ports.files.list(`${PCI_ROOT}/${card.address}/drm`)?.find((entry) => entry.startsWith('renderD'));
  return name ? `/dev/dri/${name}` : undefined;
}

function accessOf(ports: Ports, card: PciFacts, driver: AmdDriver): Gpu['access'] {
  if (!driver.loaded) return missing('amdgpu is not loaded');
  const node = renderNode(ports, card);
  return known(checkNodes(ports, node ? ['/dev/kfd', node] : ['/dev/kfd']), 'file');
}

function blockers(gpu: Gpu, driver: AmdDriver): readonly string[] {
  const bound = 'source' in gpu.boundDriver ? gpu.boundDriver.value : undefined;
  if (bound === 'vfio-pci') return ['bound to vfio-pci: reserved for a virtual machine'];
  if (bound === 'radeon') return ['bound to the old radeon driver, which has no compute'];
  const reasons: string[] = [];
  if (!driver.loaded) reasons.push('the amdgpu kernel module is not loaded');
  else if (bound === undefined) reasons.push('no driver is bound to it');
  const access = 'source' in gpu.access ? gpu.access.value : undefined;
  if (access && access.state !== 'ok') reasons.push(access.detail);
  return reasons;
}
