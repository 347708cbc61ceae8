// AMD GPUs: decoding of the kernel's gfx number, gfx ids to architecture, and PCI device ids to gfx before a driver is there.
//
// gfx ids follow ROCm/TheRock `cmake/therock_amdgpu_targets.cmake` and AMD's gpu-arch-specs page; device ids and names the
// public PCI id list (edition 2026.05.24). A name that covers several cards gives no memory size. Reviewed 2026-11.

export interface AmdArchitecture {
  readonly architecture: string;
  readonly integrated: boolean;
}

export interface AmdProduct {
  readonly deviceId: string;
  readonly chip: string;
  readonly name: string;
  readonly gfx: string;
  readonly memoryGiB: number | null;
}

/** gfx id of the kernel's `gfx_target_version`: 90010 is gfx90a, 110501 is gfx1151; 0 is a CPU node. */
export function gfxOfVersion(version: number): string | undefined {
  if (!Number.isInteger(version) || version <= 0) return undefined;
  const major = Math.floor(version / 10_000);
  const minor = Math.floor(version / 100) % 100;
  const stepping = version % 100;
  return `gfx${major}${minor.toString(16)}${stepping.toString(16)}`;
}

const architectures: Readonly<Record<string, AmdArchitecture>> = {
  gfx600: { architecture: 'GCN 1', integrated: false },
  gfx601: { architecture: 'GCN 1', integrated: false },
  gfx701: { architecture: 'GCN 2', integrated: false },
  gfx702: { architecture: 'GCN 2', integrated: false },
  gfx704: { architecture: 'GCN 2', integrated: false },
  gfx802: { architecture: 'GCN 3', integrated: false },
  gfx803: { architecture: 'GCN 4', integrated: false },
  gfx900: { architecture: 'GCN 5.0', integrated: false },
  gfx902: { architecture: 'GCN 5.0', integrated: true },
  gfx904: { architecture: 'GCN 5.0', integrated: false },
  gfx906: { architecture: 'GCN 5.1', integrated: false },
  gfx908: { architecture: 'CDNA', integrated: false },
  gfx909: { architecture: 'GCN 5.0', integrated: true },
  gfx90a: { architecture: 'CDNA 2', integrated: false },
  gfx90c: { architecture: 'GCN 5', integrated: true },
  gfx942: { architecture: 'CDNA 3', integrated: false },
  gfx950: { architecture: 'CDNA 4', integrated: false },
  gfx1010: { architecture: 'RDNA 1', integrated: false },
  gfx1011: { architecture: 'RDNA 1', integrated: false },
  gfx1012: { architecture: 'RDNA 1', integrated: false },
  gfx1013: { architecture: 'RDNA 1', integrated: true },
  gfx1030: { architecture: 'RDNA 2', integrated: false },
  gfx1031: { architecture: 'RDNA 2', integrated: false },
  gfx1032: { architecture: 'RDNA 2', integrated: false },
  gfx1033: { architecture: 'RDNA 2', integrated: true },
  gfx1034: { architecture: 'RDNA 2', integrated: false },
  gfx1035: { architecture: 'RDNA 2', integrated: true },
  gfx1036: { architecture: 'RDNA 2', integrated: true },
  gfx1037: { architecture: 'RDNA 2', integrated: true },
  gfx1100: { architecture: 'RDNA 3', integrated: false },
  gfx1101: { architecture: 'RDNA 3', integrated: false },
  gfx1102: { architecture: 'RDNA 3', integrated: false },
  gfx1103: { architecture: 'RDNA 3', integrated: true },
  gfx1150: { architecture: 'RDNA 3.5', integrated: true },
  gfx1151: { architecture: 'RDNA 3.5', integrated: true },
  gfx1152: { architecture: 'RDNA 3.5', integrated: true },
  gfx1153: { architecture: 'RDNA 3.5', integrated: true },
  gfx1200: { architecture: 'RDNA 4', integrated: false },
  gfx1201: { architecture: 'RDNA 4', integrated: false },
  gfx1250: { architecture: 'CDNA (MI450)', integrated: false },
};

/** Every gfx id that is known. */
export const gfxIds: readonly string[] = Object.keys(architectures);

export function amdArchitecture(gfx: string): AmdArchitecture | undefined {
  return architectures[gfx];
}

type Row = readonly [ids: string, chip: string, name: string, gfx: string, memoryGiB: number | null];

const rows: readonly Row[] = [
  ['75a3', 'Aqua Vanjaram', 'Instinct MI355X', 'gfx950', 288],
  ['75a0', 'Aqua Vanjaram', 'Instinct MI350X', 'gfx950', 288],
  ['74a5', 'Aqua Vanjaram', 'Instinct MI325X', 'gfx942', 256],
  ['74a1 74b5', 'Aqua Vanjaram', 'Instinct MI300X', 'gfx942', 192],
  ['74a2', 'Aqua Vanjaram', 'Instinct MI308X', 'gfx942', 192],
  ['74a0', 'Aqua Vanjaram', 'Instinct MI300A', 'gfx942', 128],
  ['7408 740c', 'Aldebaran', 'Instinct MI250X/MI250', 'gfx90a', 64],
  ['740f', 'Aldebaran', 'Instinct MI210', 'gfx90a', 64],
  ['738c 738e', 'Arcturus', 'Instinct MI100', 'gfx908', 32],
  ['66a1', 'Vega 20', 'Radeon Pro VII/Instinct MI50', 'gfx906', null],
  ['66a3', 'Vega 20', 'Radeon Pro Vega II', 'gfx906', 32],
  ['66af', 'Vega 20', 'Radeon VII', 'gfx906', 16],
  ['687f', 'Vega 10', 'Radeon RX Vega 56/64', 'gfx900', 8],
  ['6860', 'Vega 10', 'Instinct MI25', 'gfx900', 16],
  ['6861', 'Vega 10', 'Radeon Pro WX 9100', 'gfx900', 16],
  ['6863', 'Vega 10', 'Radeon Vega Frontier Edition', 'gfx900', 16],
  ['67df 6fdf', 'Polaris 10', 'Radeon RX 470/480/570/580/590', 'gfx803', null],
  ['67c4', 'Polaris 10', 'Radeon Pro WX 7100', 'gfx803', 8],
  ['67ef 67ff', 'Polaris 11', 'Radeon RX 460/550/560', 'gfx803', null],
  ['699f', 'Polaris 12', 'Radeon RX 550', 'gfx803', null],
  ['7300', 'Fiji', 'Radeon R9 Fury/Nano', 'gfx803', 4],
  ['67b0 67b1', 'Hawaii', 'Radeon R9 290/390', 'gfx701', null],
  ['7551', 'Navi 48', 'Radeon AI PRO R9700', 'gfx1201', 32],
  ['7550', 'Navi 48', 'Radeon RX 9070/9070 XT/9070 GRE', 'gfx1201', null],
  ['7590', 'Navi 44', 'Radeon RX 9060 XT', 'gfx1200', null],
  ['744c', 'Navi 31', 'Radeon RX 7900 XT/7900 XTX/7900 GRE', 'gfx1100', null],
  ['7448', 'Navi 31', 'Radeon Pro W7900', 'gfx1100', 48],
  ['745e', 'Navi 31', 'Radeon Pro W7800', 'gfx1100', null],
  ['747e', 'Navi 32', 'Radeon RX 7700 XT/7800 XT', 'gfx1101', null],
  ['7470', 'Navi 32', 'Radeon PRO W7700', 'gfx1101', 16],
  ['7460 7461', 'Navi 32', 'Radeon PRO V710', 'gfx1101', null],
  ['7480 7483', 'Navi 33', 'Radeon RX 7600 series', 'gfx1102', null],
  ['73bf', 'Navi 21', 'Radeon RX 6800/6800 XT/6900 XT', 'gfx1030', 16],
  ['73a5', 'Navi 21', 'Radeon RX 6950 XT', 'gfx1030', 16],
  ['73af', 'Navi 21', 'Radeon RX 6900 XT', 'gfx1030', 16],
  ['73a3', 'Navi 21', 'Radeon PRO W6800', 'gfx1030', 32],
  ['73a1', 'Navi 21', 'Radeon Pro V620', 'gfx1030', 32],
  ['73df', 'Navi 22', 'Radeon RX 6700/6700 XT/6750 XT', 'gfx1031', null],
  ['73ff', 'Navi 23', 'Radeon RX 6600/6600 XT/6600M', 'gfx1032', 8],
  ['73ef', 'Navi 23', 'Radeon RX 6650 XT', 'gfx1032', 8],
  ['743f', 'Navi 24', 'Radeon RX 6400/6500 XT', 'gfx1034', null],
  ['731f', 'Navi 10', 'Radeon RX 5600/5700', 'gfx1010', null],
  ['7360 7362', 'Navi 12', 'Radeon Pro V520/V540', 'gfx1011', 8],
  ['7340', 'Navi 14', 'Radeon RX 5500', 'gfx1012', null],
  ['1586', 'Strix Halo', 'Radeon 8050S/8060S', 'gfx1151', null],
  ['150e', 'Strix Point', 'Radeon 880M/890M', 'gfx1150', null],
  ['1114', 'Krackan', 'Radeon 840M/860M', 'gfx1152', null],
  ['15bf 15c8 1900 1901', 'Phoenix', 'Radeon 740M/760M/780M', 'gfx1103', null],
  ['164e', 'Raphael', 'Radeon Graphics', 'gfx1036', null],
  ['13c0', 'Granite Ridge', 'Radeon Graphics', 'gfx1036', null],
  ['1681', 'Rembrandt', 'Radeon 660M/680M', 'gfx1035', null],
  ['163f', 'Van Gogh', 'Custom GPU 0405', 'gfx1033', null],
  ['15dd', 'Raven Ridge', 'Radeon Vega Graphics', 'gfx902', null],
  ['15d8', 'Picasso', 'Radeon Vega Graphics', 'gfx902', null],
  ['1638 15e7', 'Cezanne', 'Radeon Vega Graphics', 'gfx90c', null],
  ['1636 164c', 'Renoir', 'Radeon Vega Graphics', 'gfx90c', null],
];

export function amdProduct(deviceId: string): AmdProduct | undefined {
  const row = rows.find(([ids]) => ids.split(' ').includes(deviceId));
  return row ? { deviceId, chip: row[1], name: `AMD ${row[2]}`, gfx: row[3], memoryGiB: row[4] } : undefined;
}

export function amdProducts(): readonly AmdProduct[] {
  return rows.flatMap(([ids]) => ids.split(' ').flatMap((id) => amdProduct(id) ?? []));
}
