// Intel, tier 0: told apart by PCI id, bound driver, local-memory region and the user-space libraries for compute.

import { type Fact, type Gpu, type HostSystem, type IntelDriver, known, missing, type PciFacts } from '../machine.ts';
import type { Ports } from '../ports.ts';
import { checkNodes } from './access.ts';
import { renderNode } from './amd.ts';
import { block, GIB, newGpu, pciDriver } from './draft.ts';
import { findLibraries } from './libraries.ts';
import { systemMemory } from './nvidia.ts';
import { type IntelProduct, intelProduct } from './tables/intel-products.ts';

export interface IntelTier0 {
  readonly driver: IntelDriver | null;
  readonly gpus: readonly Gpu[];
}

export function readIntel(ports: Ports, host: HostSystem, pci: readonly PciFacts[]): IntelTier0 {
  const cards = pci.filter((device) => device.vendorId === '8086' && device.classCode.startsWith('03'));
  if (cards.length === 0) return { driver: null, gpus: [] };
  const gpus = cards.map((card) => intelCard(ports, host, card));
  return { driver: readDriver(ports, gpus), gpus };
}

function readDriver(ports: Ports, gpus: readonly Gpu[]): IntelDriver {
  const bound = gpus.flatMap((gpu) => ('source' in gpu.boundDriver ? [gpu.boundDriver.value] : []));
  const module = bound.find((name) => name === 'xe') ?? bound.find((name) => name === 'i915');
  return {
    module: module === 'xe' || module === 'i915' ? known(module, 'sysfs') : missing('neither i915 nor xe is bound'),
    libraries: findLibraries(ports, ['libze_loader.so.1', 'libze_intel_gpu.so.1']),
  };
}

function intelCard(ports: Ports, host: HostSystem, card: PciFacts): Gpu {
  const product = intelProduct(card.deviceId);
  const bound = pciDriver(ports, card);
  const node = renderNode(ports, card);
  const access: Gpu['access'] = node
    ? known(checkNodes(ports, [node]), 'file')
    : missing('the driver made no render node for it');
  const gpu = newGpu({
    id: `pci:${card.address}`,
    vendor: 'intel',
    kind: known(product.integrated ? 'integrated' : 'discrete', 'pci-table'),
    name: known(product.name, 'pci-table'),
    chip: missing('not in the tables'),
    architecture: known(product.architecture, 'pci-table'),
    intelFamily: known(product.family, 'pci-table'),
    memoryBytes: product.integrated ? systemMemory(host) : localMemory(card, product),
    unified: product.integrated,
    boundDriver: bound,
    pci: card,
    access,
  });
  return block(gpu, blockers(gpu));
}

/** The local-memory region is the next power of two, so a 12 GiB card shows 16 GiB. */
function localMemory(card: PciFacts, product: IntelProduct): Fact<number> {
  if (product.memoryGiB !== null) return known(product.memoryGiB * GIB, 'pci-table', 'nominal size of the product');
  const region = card.regions[2] ?? 0;
  if (region > GIB) return known(region, 'sysfs', 'size of the local-memory region: an upper bound');
  return missing('the local-memory region is only a window: Level Zero tells it');
}

function blockers(gpu: Gpu): readonly string[] {
  if (!('source' in gpu.boundDriver)) return ['no driver is bound to it'];
  if (gpu.boundDriver.value === 'vfio-pci') return ['bound to vfio-pci: reserved for a virtual machine'];
  if ('source' in gpu.access && gpu.access.value.state !== 'ok') return [gpu.access.value.detail];
  return [];
}
