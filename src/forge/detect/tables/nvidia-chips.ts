// NVIDIA PCI device ids to chip, architecture and compute capability: works before any driver is installed.
//
// NVIDIA gives each chip a block of ids. The blocks from GM107 to AD107 and GB110 were compared with the public PCI id list
// (pci-ids.ucw.cz, edition 2026.05.24); Hopper and Blackwell also with NVIDIA/gpu-admin-tools `gpu/devid_chips.py`. The
// compute capability of a chip is NVIDIA's (developer.nvidia.com/cuda-gpus). Reviewed 2026-11.

import type { ComputeCapability } from '../../machine.ts';

export interface NvidiaChip {
  readonly chip: string;
  readonly architecture: string;
  readonly cc: ComputeCapability;
}

type Block = readonly [first: number, last: number, chip: string, architecture: string, cc: readonly [number, number]];

const blocks: readonly Block[] = [
  [0x1001, 0x103f, 'GK110', 'Kepler', [3, 5]],
  [0x1340, 0x137f, 'GM108', 'Maxwell', [5, 0]],
  [0x1380, 0x13bf, 'GM107', 'Maxwell', [5, 0]],
  [0x13c0, 0x13ff, 'GM204', 'Maxwell', [5, 2]],
  [0x1400, 0x147f, 'GM206', 'Maxwell', [5, 2]],
  [0x15f0, 0x15ff, 'GP100', 'Pascal', [6, 0]],
  [0x174d, 0x174e, 'GM108', 'Maxwell', [5, 0]],
  [0x1789, 0x179c, 'GM107', 'Maxwell', [5, 0]],
  [0x17c0, 0x17ff, 'GM200', 'Maxwell', [5, 2]],
  [0x1b00, 0x1b7f, 'GP102', 'Pascal', [6, 1]],
  [0x1b80, 0x1bff, 'GP104', 'Pascal', [6, 1]],
  [0x1c00, 0x1c7f, 'GP106', 'Pascal', [6, 1]],
  [0x1c80, 0x1cff, 'GP107', 'Pascal', [6, 1]],
  [0x1d00, 0x1d7f, 'GP108', 'Pascal', [6, 1]],
  [0x1d80, 0x1dff, 'GV100', 'Volta', [7, 0]],
  [0x1e00, 0x1e7f, 'TU102', 'Turing', [7, 5]],
  [0x1e80, 0x1eff, 'TU104', 'Turing', [7, 5]],
  [0x1f00, 0x1f7f, 'TU106', 'Turing', [7, 5]],
  [0x1f80, 0x1fff, 'TU117', 'Turing', [7, 5]],
  [0x2080, 0x20ff, 'GA100', 'Ampere', [8, 0]],
  [0x2180, 0x21ff, 'TU116', 'Turing', [7, 5]],
  [0x2200, 0x227f, 'GA102', 'Ampere', [8, 6]],
  [0x2300, 0x23ff, 'GH100', 'Hopper', [9, 0]],
  [0x2400, 0x247f, 'GA103', 'Ampere', [8, 6]],
  [0x2480, 0x24ff, 'GA104', 'Ampere', [8, 6]],
  [0x2500, 0x257f, 'GA106', 'Ampere', [8, 6]],
  [0x2580, 0x25ff, 'GA107', 'Ampere', [8, 6]],
  [0x2680, 0x26ff, 'AD102', 'Ada', [8, 9]],
  [0x2700, 0x277f, 'AD103', 'Ada', [8, 9]],
  [0x2780, 0x27ff, 'AD104', 'Ada', [8, 9]],
  [0x2800, 0x287f, 'AD106', 'Ada', [8, 9]],
  [0x2880, 0x28ff, 'AD107', 'Ada', [8, 9]],
  [0x2900, 0x297f, 'GB100', 'Blackwell', [10, 0]],
  [0x2980, 0x29ff, 'GB102', 'Blackwell', [10, 0]],
  [0x2b00, 0x2b7f, 'GB10B', 'Blackwell', [11, 0]],
  [0x2b80, 0x2bff, 'GB202', 'Blackwell', [12, 0]],
  [0x2c00, 0x2c7f, 'GB203', 'Blackwell', [12, 0]],
  [0x2d00, 0x2d7f, 'GB206', 'Blackwell', [12, 0]],
  [0x2d80, 0x2dff, 'GB207', 'Blackwell', [12, 0]],
  [0x2e00, 0x2e7f, 'GB20B', 'Blackwell', [12, 1]],
  [0x2f00, 0x2f7f, 'GB205', 'Blackwell', [12, 0]],
  [0x3180, 0x31ff, 'GB110', 'Blackwell Ultra', [10, 3]],
];

export function nvidiaChip(deviceId: string): NvidiaChip | undefined {
  const id = Number.parseInt(deviceId, 16);
  // The block of GK110 also holds GK210 (Tesla K80), whose capability is 3.7.
  if (id === 0x102d) return { chip: 'GK210', architecture: 'Kepler', cc: { major: 3, minor: 7 } };
  const found = blocks.find(([first, last]) => id >= first && id <= last);
  if (!found) return undefined;
  const [, , chip, architecture, [major, minor]] = found;
  return { chip, architecture, cc: { major, minor } };
}

/** "GA102", whatever the case. */
export function nvidiaChipNamed(name: string): NvidiaChip | undefined {
  const found = blocks.find(([, , chip]) => chip.toLowerCase() === name.toLowerCase());
  return found && nvidiaChip(found[0].toString(16));
}

/** The architecture of a compute capability, for devices that are not on PCI. */
export function architectureOf(cc: ComputeCapability): string | undefined {
  if (cc.major === 10 && cc.minor === 7) return 'Rubin';
  return (
    blocks.find(([, , , , [major, minor]]) => major === cc.major && minor === cc.minor)?.[3] ??
    tegraOf(cc) ??
    legacy[cc.major]
  );
}

/** Architectures with capabilities that no block of ids above has. */
const legacy: Readonly<Record<number, string>> = { 2: 'Fermi', 3: 'Kepler' };

function tegraOf(cc: ComputeCapability): string | undefined {
  return Object.values(tegraSocs).find((soc) => soc.cc.major === cc.major && soc.cc.minor === cc.minor)?.architecture;
}

/** Tegra system chips by the name in the device tree's `compatible` list. */
export const tegraSocs: Readonly<Record<string, NvidiaChip>> = {
  tegra210: { chip: 'tegra210', architecture: 'Maxwell', cc: { major: 5, minor: 3 } },
  tegra186: { chip: 'tegra186', architecture: 'Pascal', cc: { major: 6, minor: 2 } },
  tegra194: { chip: 'tegra194', architecture: 'Volta', cc: { major: 7, minor: 2 } },
  tegra234: { chip: 'tegra234', architecture: 'Ampere', cc: { major: 8, minor: 7 } },
  tegra264: { chip: 'tegra264', architecture: 'Blackwell', cc: { major: 11, minor: 0 } },
};

type Branch = readonly [branch: number, cuda: string];

/** Driver branch to the highest CUDA version it reports (CUDA toolkit release notes, 13.4 Update 1 edition). */
const branches: readonly Branch[] = [
  [615, '13.4'],
  [610, '13.3'],
  [595, '13.2'],
  [590, '13.1'],
  [580, '13.0'],
  [575, '12.9'],
  [570, '12.8'],
  [565, '12.7'],
  [560, '12.6'],
  [555, '12.5'],
  [550, '12.4'],
  [545, '12.3'],
  [535, '12.2'],
  [530, '12.1'],
  [525, '12.0'],
  [520, '11.8'],
  [515, '11.7'],
  [510, '11.6'],
  [495, '11.5'],
  [470, '11.4'],
  [465, '11.3'],
  [460, '11.2'],
  [455, '11.1'],
  [450, '11.0'],
];

/** The highest CUDA version a driver reports, by its branch; undefined for branches before 450. */
export function cudaOfDriver(version: string): string | undefined {
  const major = Number.parseInt(version, 10);
  return branches.find(([branch]) => major >= branch)?.[1];
}

/** Single-precision cores of one streaming multiprocessor, from NVIDIA's programming guide. */
export function coresPerUnit(cc: ComputeCapability): number {
  if (cc.major === 3) return 192;
  if (cc.major === 7 || (cc.minor === 0 && (cc.major === 6 || cc.major === 8))) return 64;
  return 128;
}
