// A GPU as it is while tiers still add to it, and the shared ways to begin one.

import { type Fact, type Gpu, known, missing, type PciFacts } from '../machine.ts';
import type { Ports } from '../ports.ts';
import { boundDriver } from './pci.ts';

export const GIB = 1024 ** 3;

/** Facts of another vendor say so instead of "unknown". */
const notNvidia = missing('told for NVIDIA devices only');
const notAmd = missing('told for AMD devices only');
const notIntel = missing('told for Intel devices only');

const absent: Omit<Gpu, 'id' | 'vendor'> = {
  kind: missing('not told by the machine'),
  name: missing('not told by the machine'),
  chip: missing('not in the tables'),
  architecture: missing('not in the tables'),
  computeCapability: notNvidia,
  tegra: false,
  gfx: notAmd,
  intelFamily: notIntel,
  units: missing('not told by the machine'),
  memoryBytes: missing('not told by the machine'),
  memoryFreeBytes: missing('needs the driver library'),
  unified: false,
  uuid: missing('needs the driver'),
  boundDriver: missing('not a PCI device'),
  pci: null,
  mig: notNvidia,
  access: missing('no device node is known for it'),
  usable: true,
  blockers: [],
};

export function newGpu(fields: Pick<Gpu, 'id' | 'vendor'> & Partial<Gpu>): Gpu {
  return { ...absent, ...fields };
}

export function pciDriver(ports: Ports, pci: PciFacts): Fact<string> {
  const name = boundDriver(ports.files, pci.address);
  return name ? known(name, 'sysfs') : missing('no kernel driver is bound to it');
}

/** Adds blockers, and with them the verdict. */
export function block(gpu: Gpu, reasons: readonly string[]): Gpu {
  if (reasons.length === 0) return gpu;
  return { ...gpu, usable: false, blockers: [...gpu.blockers, ...reasons] };
}
