// Intel GPUs by PCI device id. The vendor id tells nothing: a 2015 desktop and an Arc B580 share it.
//
// Ids follow the public PCI id list (edition 2026.05.24), Intel's compute-runtime device list and intel/torch-xpu-ops#5340
// (Arc Pro B60). A display device that is in no row is an older integrated one ("gen"). Reviewed 2026-11.

import type { IntelFamily } from '../../machine.ts';

export interface IntelProduct {
  readonly name: string;
  readonly family: IntelFamily;
  readonly architecture: string;
  readonly integrated: boolean;
  readonly memoryGiB: number | null;
}

type Row = readonly [ids: string, name: string, family: IntelFamily, memoryGiB: number | null];

const rows: readonly Row[] = [
  ['e20b', 'Arc B580', 'battlemage', 12],
  ['e20c', 'Arc B570', 'battlemage', 10],
  ['e211', 'Arc Pro B60', 'battlemage', 24],
  ['e212', 'Arc Pro B50', 'battlemage', 16],
  ['e223', 'Arc Pro B70', 'battlemage', null],
  ['56a0', 'Arc A770', 'alchemist', null],
  ['56a1', 'Arc A750', 'alchemist', 8],
  ['56a2', 'Arc A580', 'alchemist', 8],
  ['56a5', 'Arc A380', 'alchemist', 6],
  ['56a6', 'Arc A310', 'alchemist', 4],
  ['5690', 'Arc A770M', 'alchemist', 16],
  ['5691', 'Arc A730M', 'alchemist', 12],
  ['5692', 'Arc A550M', 'alchemist', 8],
  ['5693 5694 5695 5696 5697', 'Arc A-series mobile', 'alchemist', null],
  ['56b0 56b1 56b2 56b3', 'Arc Pro A-series', 'alchemist', null],
  ['56c0', 'Data Center GPU Flex 170', 'alchemist', 16],
  ['56c1', 'Data Center GPU Flex 140', 'alchemist', 6],
  ['0bd5 0bd6', 'Data Center GPU Max 1550', 'ponte-vecchio', 128],
  ['0bd7 0bd8', 'Data Center GPU Max 1350', 'ponte-vecchio', null],
  ['0bd9 0bda 0bdb', 'Data Center GPU Max 1100', 'ponte-vecchio', 48],
  ['7d40 7d45 7d55 7d60 7dd5', 'Arc Graphics (Meteor Lake)', 'meteor-lake', null],
  ['7d41 7d51 7d67 7dd1', 'Arc Graphics (Arrow Lake)', 'arrow-lake', null],
  ['6420 64a0 64b0', 'Arc Graphics (Lunar Lake)', 'lunar-lake', null],
  ['4680 4682 4688 468a 468b 4690 4692 4693', 'UHD Graphics (Alder Lake-S)', 'xe-lp', null],
  ['4626 4628 462a 46a1 46a3 46b3 46c3 46d0 46d1 46d2', 'UHD Graphics (Alder Lake)', 'xe-lp', null],
  ['46a6 46a8 46aa 46b0 46b1 46b6 46b8 46ba 46c1', 'Iris Xe Graphics (Alder Lake)', 'xe-lp', null],
  ['a780', 'UHD Graphics 770', 'xe-lp', null],
  ['a720 a721 a781 a782 a783 a788 a789 a78a a78b a7a8 a7a9', 'UHD Graphics (Raptor Lake)', 'xe-lp', null],
  ['a7a0 a7a1', 'Iris Xe Graphics (Raptor Lake)', 'xe-lp', null],
  ['9a40 9a49', 'Iris Xe Graphics (Tiger Lake)', 'xe-lp', null],
  ['9a60 9a68 9a70 9a78', 'UHD Graphics (Tiger Lake)', 'xe-lp', null],
];

export const intelFamilies: Readonly<
  Record<IntelFamily, { readonly architecture: string; readonly integrated: boolean }>
> = {
  battlemage: { architecture: 'Xe2-HPG', integrated: false },
  alchemist: { architecture: 'Xe-HPG', integrated: false },
  'ponte-vecchio': { architecture: 'Xe-HPC', integrated: false },
  'meteor-lake': { architecture: 'Xe-LPG', integrated: true },
  'arrow-lake': { architecture: 'Xe-LPG', integrated: true },
  'lunar-lake': { architecture: 'Xe2-LPG', integrated: true },
  'panther-lake': { architecture: 'Xe3-LPG', integrated: true },
  'xe-lp': { architecture: 'Xe-LP', integrated: true },
  gen: { architecture: 'before Xe', integrated: true },
};

export function intelProduct(deviceId: string): IntelProduct {
  const row = rows.find(([ids]) => ids.split(' ').includes(deviceId)) ?? pantherLake(deviceId);
  const [, name, family, memoryGiB] = row ?? ['', 'Graphics (older than Xe)', 'gen' as const, null];
  return { name: `Intel ${name}`, family, ...intelFamilies[family], memoryGiB };
}

function pantherLake(deviceId: string): Row | undefined {
  return /^b0[89][0-9a-f]$/.test(deviceId)
    ? [deviceId, 'Arc Graphics (Panther Lake)', 'panther-lake', null]
    : undefined;
}

export function intelProducts(): readonly (IntelProduct & { readonly deviceId: string })[] {
  return rows.flatMap(([ids]) => ids.split(' ').map((deviceId) => ({ deviceId, ...intelProduct(deviceId) })));
}
