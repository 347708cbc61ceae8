// Every product that can be named, as the GPU it stands for: the tables by PCI id and the table by name.

import { type ComputeCapability, type Fact, type Gpu, known, missing, parseCc } from '../machine.ts';
import { GIB, newGpu } from './draft.ts';
import { amdArchitecture, amdProducts } from './tables/amd-products.ts';
import { intelFamilies, intelProducts } from './tables/intel-products.ts';
import { architectureOf, nvidiaChip } from './tables/nvidia-chips.ts';
import { nvidiaProducts } from './tables/nvidia-products.ts';
import { amdNames, intelNames, jetsonNames, nvidiaNames } from './tables/product-names.ts';

export interface Candidate {
  readonly vendor: Gpu['vendor'];
  readonly label: string;
  readonly names: readonly string[];
  readonly pciId: string | null;
  readonly memoryGiB: number | null;
  readonly gpu: (index: number) => Gpu;
}

export function size(gib: number | null): Fact<number> {
  return gib === null
    ? missing('this product comes in several sizes')
    : known(gib * GIB, 'pci-table', 'nominal size of the product');
}

let cached: readonly Candidate[] | undefined;

export function candidates(): readonly Candidate[] {
  cached ??= [
    ...nvidiaByName(false),
    ...nvidiaByName(true),
    ...nvidiaById(),
    ...amdByName(),
    ...amdById(),
    ...intelByName(),
    ...intelById(),
  ];
  return cached;
}

const MIG = missing('not detected: given by the user');
const UNKNOWN = missing('not in the tables');

function nvidiaById(): readonly Candidate[] {
  return nvidiaProducts().map(({ deviceId, name, memoryGiB, units }) => {
    const chip = nvidiaChip(deviceId);
    return {
      vendor: 'nvidia',
      label: name,
      names: [name],
      pciId: `10de:${deviceId}`,
      memoryGiB,
      gpu: (index) =>
        newGpu({
          id: `override:${index}`,
          vendor: 'nvidia',
          name: known(name, 'override'),
          kind: known(name.includes('GB10') ? 'integrated' : 'discrete', 'pci-table'),
          chip: chip ? known(chip.chip, 'pci-table') : UNKNOWN,
          architecture: chip ? known(chip.architecture, 'pci-table') : UNKNOWN,
          computeCapability: chip ? known(chip.cc, 'pci-table') : UNKNOWN,
          memoryBytes: size(memoryGiB),
          units: units === null ? missing('not in the product table') : known(units, 'pci-table'),
          unified: chip?.chip === 'GB20B',
          mig: MIG,
        }),
    };
  });
}

function nvidiaByName(tegra: boolean): readonly Candidate[] {
  return (tegra ? jetsonNames : nvidiaNames).flatMap(([names, capability, memoryGiB]) => {
    const cc = parseCc(capability)!;
    return names.split('|').map((given): Candidate => {
      const label = /^NVIDIA /.test(given) ? given : `NVIDIA ${given}`;
      return {
        vendor: 'nvidia',
        label,
        names: [given],
        pciId: null,
        memoryGiB,
        gpu: nvidiaGpu(label, cc, { tegra, memoryGiB }),
      };
    });
  });
}

export function nvidiaGpu(
  name: string,
  cc: ComputeCapability,
  { tegra, memoryGiB }: { readonly tegra: boolean; readonly memoryGiB: number | null },
): (index: number) => Gpu {
  const architecture = architectureOf(cc);
  const unified = tegra || (cc.major === 12 && cc.minor === 1);
  return (index) =>
    newGpu({
      id: `override:${index}`,
      vendor: 'nvidia',
      name: known(name, 'override'),
      kind: known(unified ? 'integrated' : 'discrete', 'pci-table'),
      architecture: architecture === undefined ? UNKNOWN : known(architecture, 'pci-table'),
      computeCapability: known(cc, 'pci-table'),
      tegra,
      memoryBytes: size(memoryGiB),
      unified,
      mig: MIG,
    });
}

export function amdGpu(name: string, gfx: string, memoryGiB: number | null, chip?: string): (index: number) => Gpu {
  const architecture = amdArchitecture(gfx);
  return (index) =>
    newGpu({
      id: `override:${index}`,
      vendor: 'amd',
      name: known(name, 'override'),
      kind: known(architecture?.integrated ? 'integrated' : 'discrete', 'pci-table'),
      ...(chip === undefined ? {} : { chip: known(chip, 'pci-table') as Fact<string> }),
      architecture: architecture ? known(architecture.architecture, 'pci-table') : UNKNOWN,
      gfx: known(gfx, 'pci-table'),
      memoryBytes: size(memoryGiB),
      unified: architecture?.integrated ?? false,
    });
}

/** One id serves several products: each is found by its own name, the id by the name of all. */
function amdById(): readonly Candidate[] {
  return amdProducts().flatMap(({ deviceId, name, gfx, memoryGiB, chip }) =>
    spread(name).map((label, place) => ({
      vendor: 'amd',
      label,
      names: [label],
      pciId: place === 0 ? `1002:${deviceId}` : null,
      memoryGiB,
      gpu: amdGpu(label, gfx, memoryGiB, chip),
    })),
  );
}

function amdByName(): readonly Candidate[] {
  return amdNames.flatMap(([names, gfx, memoryGiB]) =>
    names.split('|').map((name) => ({
      vendor: 'amd' as const,
      label: `AMD ${name}`,
      names: [name],
      pciId: null,
      memoryGiB,
      gpu: amdGpu(`AMD ${name}`, gfx, memoryGiB),
    })),
  );
}

/** "Radeon RX 7900 XT/7900 XTX" answers to "RX 7900 XT" and to "RX 7900 XTX". */
function spread(name: string): readonly string[] {
  const [first = '', ...rest] = name.split('/');
  if (rest.length === 0) return [name];
  const prefix = /^(.*?)\d/.exec(first)?.[1] ?? '';
  return [name, first, ...rest.map((part) => (/^\d/.test(part) ? prefix + part : `AMD ${part}`))];
}

function intelById(): readonly Candidate[] {
  return intelProducts().map((product) => ({
    vendor: 'intel',
    label: product.name,
    names: [product.name],
    pciId: `8086:${product.deviceId}`,
    memoryGiB: product.memoryGiB,
    gpu: intelGpu(product.name, product.family, product.memoryGiB),
  }));
}

function intelByName(): readonly Candidate[] {
  return intelNames.flatMap(([names, family, memoryGiB]) =>
    names.split('|').map((name) => ({
      vendor: 'intel' as const,
      label: `Intel ${name}`,
      names: [name],
      pciId: null,
      memoryGiB,
      gpu: intelGpu(`Intel ${name}`, family, memoryGiB),
    })),
  );
}

export function intelGpu(
  name: string,
  family: keyof typeof intelFamilies,
  memoryGiB: number | null,
): (index: number) => Gpu {
  const { architecture, integrated } = intelFamilies[family];
  return (index) =>
    newGpu({
      id: `override:${index}`,
      vendor: 'intel',
      name: known(name, 'override'),
      kind: known(integrated ? 'integrated' : 'discrete', 'pci-table'),
      architecture: known(architecture, 'pci-table'),
      intelFamily: known(family, 'pci-table'),
      memoryBytes: size(memoryGiB),
      unified: integrated,
    });
}
