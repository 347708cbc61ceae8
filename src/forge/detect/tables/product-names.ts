// Products by name alone: what people write of cards and boards whose PCI ids are not in the other tables.
//
// NVIDIA: compute capability from developer.nvidia.com/cuda-gpus and its legacy page; memory from the data sheets, null where
// a name covers several sizes. AMD: gfx ids from the LLVM AMDGPU processor table. Intel: families of the compute-runtime
// device list. Reviewed 2026-11.

import type { IntelFamily } from '../../machine.ts';

/** Names separated by "|", the compute capability, and the size in GiB. */
export type NvidiaName = readonly [names: string, cc: string, memoryGiB: number | null];

export const nvidiaNames: readonly NvidiaName[] = [
  ['Tesla C2050|Tesla C2070|Tesla C2075|Tesla M2050|Tesla M2070|Tesla M2075|Tesla M2090', '2.0', null],
  ['GeForce GTX 480|GeForce GTX 470|GeForce GTX 580|GeForce GTX 570|Quadro 4000|Quadro 5000|Quadro 6000', '2.0', null],
  [
    'GeForce GTX 460|GeForce GTX 550 Ti|GeForce GTX 560|GeForce GTX 560 Ti|GeForce GT 430|GeForce GT 440|GeForce GT 610|GeForce GT 620|GeForce GTX 670M|GeForce GT 630M|GeForce 820M|Quadro 600|Quadro 2000|NVS 310|NVS 315|NVS 4200M|NVS 5200M',
    '2.1',
    null,
  ],
  ['Tesla K10|GRID K1|GRID K2|GRID K520', '3.0', 4],
  ['NVS 510', '3.0', 2],
  [
    'GeForce GTX 680|GeForce GTX 670|GeForce GTX 660|GeForce GTX 660 Ti|GeForce GTX 650|GeForce GTX 650 Ti|GeForce GTX 690|GeForce GTX 760|GeForce GTX 770|GeForce GT 640|GeForce GT 740|GeForce GT 640M|GeForce GT 650M|GeForce GTX 660M|GeForce GTX 675MX|GeForce GTX 680M|GeForce GT 740M|GeForce GT 750M|GeForce GT 755M|GeForce GTX 765M|GeForce GTX 770M|GeForce GTX 780M|GeForce GTX 870M|GeForce GTX 880M|GeForce GTX 860M',
    '3.0',
    null,
  ],
  ['Quadro K420|Quadro K600|Quadro K2000|Quadro K4000|Quadro K4200|Quadro K5000', '3.0', null],
  ['Tesla K20|Tesla K20c|Tesla K20m', '3.5', 5],
  ['Tesla K20X|Tesla K20Xm', '3.5', 6],
  ['Tesla K40|Tesla K40c|Tesla K40m|Tesla K40t', '3.5', 12],
  ['GeForce GTX TITAN|GeForce GTX TITAN Black|GTX TITAN Z|TITAN Black|TITAN Z', '3.5', 6],
  ['GeForce GTX 780|GeForce GTX 780 Ti', '3.5', 3],
  ['GeForce GT 710|GeForce GT 720|GeForce GT 730|GeForce 920M|GeForce 910M', '3.5', null],
  ['Quadro K5200|Quadro K6000', '3.5', null],
  [
    'GeForce GTX 745|GeForce GTX 750|GeForce GTX 950M|GeForce GTX 960M|GeForce 930M|GeForce 940M|GeForce 940MX|GeForce 945M|NVS 810|GeForce 930MX|GeForce 920MX|GeForce MX110|GeForce MX130|GeForce 830M|GeForce 840M|GeForce GTX 850M|GeForce GTX 860M',
    '5.0',
    null,
  ],
  ['Tesla M10', '5.0', 8],
  [
    'Quadro K620|Quadro K1200|Quadro K2200|Quadro M500M|Quadro M600M|Quadro M1000M|Quadro M1200|Quadro M2000M|Quadro M620',
    '5.0',
    null,
  ],
  ['GeForce GTX 950|GeForce GTX 965M|GeForce GTX 970M|GeForce GTX 980M', '5.2', null],
  ['Tesla M4', '5.2', 4],
  ['Tesla M6', '5.2', 8],
  ['Quadro M2000|Quadro M2200', '5.2', 4],
  ['Quadro M4000|Quadro M5000|Quadro M3000M|Quadro M4000M|Quadro M5000M|Quadro M5500', '5.2', 8],
  ['Quadro M6000', '5.2', null],
  ['Quadro GP100', '6.0', 16],
  ['Tesla P6', '6.1', 16],
  ['GeForce GT 1010|GeForce MX150|GeForce MX230|GeForce MX250|GeForce MX330|GeForce MX350|GeForce MX310', '6.1', 2],
  ['Quadro P400|Quadro P600|Quadro P620|Quadro P500|Quadro P520', '6.1', null],
  ['Quadro P1000|Quadro P2000|Quadro P2200|Quadro P3000|Quadro P3200', '6.1', null],
  ['Quadro P4000|Quadro P4200', '6.1', 8],
  ['Quadro P5000|Quadro P5200', '6.1', 16],
  ['Quadro P6000|GeForce GTX TITAN Xp', '6.1', 24],
  ['P106-100|P106-090|P104-100|P102-100', '6.1', null],
  ['GeForce GTX 1060', '6.1', null],
  ['GeForce GTX 1060 5GB', '6.1', 5],
  ['Quadro GV100', '7.0', 32],
  ['TITAN V CEO Edition', '7.0', 32],
  ['Tesla V100|Tesla V100-SXM2|Tesla V100-SXM3|Tesla V100-PCIE|Tesla V100-FHHL|Tesla V100-DGXS', '7.0', null],
  ['Tesla V100-SXM2-16GB|Tesla V100-PCIE-16GB|Tesla V100-FHHL-16GB', '7.0', 16],
  ['Tesla V100-SXM2-32GB|Tesla V100-SXM3-32GB|Tesla V100-PCIE-32GB|Tesla V100S', '7.0', 32],
  ['Tesla T4G|Tesla T10|Tesla T40', '7.5', 16],
  ['GeForce GTX 1630|GeForce GTX 1650 Ti', '7.5', 4],
  ['GeForce MX450|GeForce MX550', '7.5', 2],
  [
    'Quadro T400|NVIDIA T400|Quadro T500|T500|T550|Quadro T600|T600|Quadro T1000|T1000|Quadro T1200|T1200|Quadro T2000|T2000',
    '7.5',
    null,
  ],
  ['Quadro RTX 3000', '7.5', 6],
  ['Quadro RTX 8000', '7.5', 48],
  ['CMP 30HX|CMP 40HX|CMP 50HX', '7.5', null],
  ['A100X|A30X|A800 40GB Active|CMP 170HX|PG506-232', '8.0', null],
  ['DRIVE-PG199-PROD|PG199', '8.0', 32],
  ['A100|A100 SXM|A100 SXM4|A100 PCIe|A800', '8.0', null],
  ['GeForce RTX 2050|GeForce MX570|GeForce RTX 3050 Ti Laptop GPU|GeForce RTX 3050 Laptop GPU', '8.6', 4],
  ['GeForce MX570 A', '8.6', 2],
  ['GeForce RTX 3050 6GB', '8.6', 6],
  ['GeForce RTX 3050 A Laptop GPU', '8.9', 4],
  ['GeForce RTX 3070 Ti Laptop GPU|GeForce RTX 3060 8GB', '8.6', 8],
  ['GeForce RTX 3080 Laptop GPU|CMP 90HX|CMP 70HX', '8.6', null],
  ['RTX A400', '8.6', 4],
  ['RTX A500|RTX A1000|RTX A3000|RTX A1000 Laptop GPU', '8.6', null],
  ['RTX A5500', '8.6', 24],
  ['A2|A16', '8.6', 16],
  ['A10M|A10G|A40-48Q', '8.6', null],
  ['L40G', '8.9', 24],
  ['RTX 5880 Ada Generation', '8.9', 48],
  ['RTX 2000E Ada Generation', '8.9', 16],
  ['RTX 3500 Ada Generation', '8.9', 12],
  ['RTX 3000 Ada Generation', '8.9', 8],
  ['RTX 1000 Ada Generation|RTX 500 Ada Generation', '8.9', null],
  ['GeForce RTX 4080 12GB|GeForce RTX 4070 Ti SUPER 16GB', '8.9', null],
  ['H100|H100 SXM|H100 SXM5|H100 SXM5 80GB|H100 80GB|DGX H100|HGX H100', '9.0', 80],
  ['H200 SXM|H200 SXM5|DGX H200|HGX H200', '9.0', 141],
  ['H100 96GB|H20-3e', '9.0', null],
  ['GH200|GH200 Grace Hopper|Grace Hopper|GH200 96GB', '9.0', null],
  ['B200 SXM|B100|DGX B200|HGX B200|B200 NVL', '10.0', null],
  ['GB200 NVL72|GB200 NVL4|DGX GB200|Grace Blackwell|GB200 Grace Blackwell|Grace Blackwell GB200', '10.0', null],
  ['B300 SXM6|DGX B300|HGX B300|HGX B300 NVL16|GB300 NVL72', '10.3', null],
  ['GB300 Grace Blackwell Ultra|Grace Blackwell Ultra|DGX GB300|DGX Station GB300', '10.3', null],
  ['RTX PRO 2000 Blackwell', '12.0', 16],
  ['RTX PRO 6000|RTX PRO 6000 Blackwell', '12.0', 96],
  [
    'RTX PRO 1000 Blackwell|RTX PRO 500 Blackwell|RTX PRO 3000 Blackwell|GeForce RTX 5050 Laptop GPU|GeForce RTX 5090D V2|RTX PRO 6000D',
    '12.0',
    null,
  ],
  ['DGX Spark|GB10 Superchip|GB10 Grace Blackwell|Project DIGITS|Ascent GX10|ThinkStation PGX|ZGX Nano', '12.1', 128],
  ['Pro Max with GB10|EdgeXpert|Veriton GN100|AI TOP ATOM', '12.1', 128],
];

/** Boards with a Tegra chip: their memory is the system's. */
export const jetsonNames: readonly NvidiaName[] = [
  ['Jetson Nano|Jetson TX1', '5.3', 4],
  ['Jetson TX2|Jetson TX2 NX|Jetson TX2i', '6.2', 8],
  ['Jetson Xavier NX|Xavier NX', '7.2', null],
  ['Jetson AGX Xavier|AGX Xavier|Jetson Xavier', '7.2', 32],
  ['Jetson Orin Nano|Orin Nano|Jetson Orin Nano Super|Orin Nano Super', '8.7', 8],
  ['Jetson Orin NX|Orin NX', '8.7', null],
  ['Jetson AGX Orin|AGX Orin|Jetson Orin|Orin|IGX Orin', '8.7', null],
  [
    'Jetson AGX Thor|AGX Thor|Jetson Thor|Thor|Jetson T5000|Jetson T4000|Jetson AGX Thor T5000|Jetson AGX Thor T4000|IGX Thor',
    '11.0',
    128,
  ],
];

export type AmdName = readonly [names: string, gfx: string, memoryGiB: number | null];

export const amdNames: readonly AmdName[] = [
  ['Radeon R9 290|Radeon R9 290X|Radeon R9 390|Radeon R9 390X', 'gfx701', null],
  ['Radeon R9 Fury|Radeon R9 Fury X|Radeon R9 Nano|Instinct MI8', 'gfx803', 4],
  [
    'Radeon RX 460|Radeon RX 470|Radeon RX 480|Radeon RX 550|Radeon RX 560|Radeon RX 570|Radeon RX 580|Radeon RX 590|Radeon RX 580 2048SP|Instinct MI6|Radeon Pro WX 7100|Radeon Pro WX 5100|Radeon Pro WX 4100|Radeon Pro 580',
    'gfx803',
    null,
  ],
  ['Radeon RX Vega 56|Radeon RX Vega 64|Radeon RX Vega|Radeon Pro WX 8200|Vega 56|Vega 64', 'gfx900', 8],
  ['Radeon Pro WX 9100|Radeon Vega Frontier Edition', 'gfx900', 16],
  ['Instinct MI50', 'gfx906', null],
  ['Instinct MI60', 'gfx906', 32],
  ['Radeon Pro VII', 'gfx906', 16],
  ['Instinct MI250|Instinct MI250X', 'gfx90a', 64],
  ['Instinct MI350', 'gfx950', 288],
  ['Radeon RX 5300|Radeon RX 5500|Radeon RX 5500 XT|Radeon RX 5500M|Radeon Pro W5500', 'gfx1012', null],
  ['Radeon RX 5600 XT|Radeon RX 5600|Radeon RX 5600M', 'gfx1010', 6],
  ['Radeon RX 5700|Radeon RX 5700 XT|Radeon RX 5700M|Radeon Pro W5700', 'gfx1010', 8],
  ['Radeon RX 6750 GRE|Radeon RX 6700M|Radeon RX 6800M|Radeon RX 6850M XT', 'gfx1031', null],
  ['Radeon RX 6700 XT|Radeon RX 6750 XT', 'gfx1031', 12],
  ['Radeon RX 6700', 'gfx1031', 10],
  ['Radeon PRO W6600|Radeon RX 6600S|Radeon RX 6700S|Radeon RX 6800S|Radeon RX 6650M', 'gfx1032', 8],
  ['Radeon PRO W6400|Radeon RX 6300|Radeon RX 6500M|Radeon RX 6550M', 'gfx1034', null],
  ['Radeon PRO W6900X', 'gfx1030', 32],
  [
    'Radeon RX 7600|Radeon RX 7600S|Radeon RX 7600M|Radeon RX 7600M XT|Radeon RX 7700S|Radeon PRO W7600|Radeon PRO W7500',
    'gfx1102',
    8,
  ],
  ['Radeon RX 7600 XT', 'gfx1102', 16],
  ['Radeon RX 7400|Radeon RX 7650 GRE', 'gfx1102', 8],
  ['Radeon RX 7700 XT', 'gfx1101', 12],
  ['Radeon RX 7800 XT|Radeon RX 7700', 'gfx1101', 16],
  ['Radeon RX 7900 GRE|Radeon RX 7900M', 'gfx1100', 16],
  ['Radeon RX 7900 XT', 'gfx1100', 20],
  ['Radeon RX 7900 XTX', 'gfx1100', 24],
  ['Radeon PRO W7800|Radeon PRO W7800 32GB', 'gfx1100', 32],
  ['Radeon PRO W7800 48GB|Radeon PRO W7900 Dual Slot', 'gfx1100', 48],
  ['Radeon RX 9060|Radeon RX 9060 XT 8GB', 'gfx1200', 8],
  ['Radeon RX 9060 XT 16GB', 'gfx1200', 16],
  ['Radeon RX 9070|Radeon RX 9070 XT', 'gfx1201', 16],
  ['Radeon RX 9070 GRE', 'gfx1201', 12],
  ['Radeon AI PRO R9600D|Radeon AI PRO R9700S', 'gfx1201', null],
  ['Radeon 610M', 'gfx1036', null],
  ['Radeon 660M|Radeon 680M', 'gfx1035', null],
  ['Radeon 740M|Radeon 760M|Radeon 780M|Ryzen Z1 Extreme', 'gfx1103', null],
  [
    'Ryzen 7 8700G|Ryzen 5 8600G|Ryzen 7 7840HS|Ryzen 7 7840U|Ryzen 7 8840HS|Ryzen 7 8840U|Ryzen 7 8845HS',
    'gfx1103',
    null,
  ],
  ['Radeon 840M|Radeon 860M|Ryzen AI 7 350|Ryzen AI 5 340', 'gfx1152', null],
  ['Radeon 820M', 'gfx1153', null],
  ['Radeon 880M|Radeon 890M|Ryzen AI 9 HX 370|Ryzen AI 9 HX 375|Ryzen AI 9 365|Strix Point', 'gfx1150', null],
  [
    'Radeon 8040S|Radeon 8050S|Radeon 8060S|Ryzen AI Max+ 395|Ryzen AI Max 395|Ryzen AI Max 390|Ryzen AI Max 385|Strix Halo',
    'gfx1151',
    null,
  ],
  ['Steam Deck|Steam Deck OLED|Van Gogh', 'gfx1033', null],
  ['BC-250', 'gfx1013', 16],
];

export type IntelName = readonly [names: string, family: IntelFamily, memoryGiB: number | null];

export const intelNames: readonly IntelName[] = [
  ['Arc A770 16GB', 'alchemist', 16],
  ['Arc A770 8GB', 'alchemist', 8],
  [
    'Arc A350M|Arc A370M|Arc A530M|Arc A570M|Arc Pro A30M|Arc Pro A40|Arc Pro A50|Arc Pro A60|Arc Pro A60M',
    'alchemist',
    null,
  ],
  ['Arc Pro B65', 'battlemage', null],
  ['Ponte Vecchio', 'ponte-vecchio', null],
  ['Arc 140V|Arc 130V|Lunar Lake', 'lunar-lake', null],
  ['Arc 140T|Arc 130T|Arrow Lake', 'arrow-lake', null],
  ['Meteor Lake|Arc 7-Core iGPU|Arc 8-Core iGPU', 'meteor-lake', null],
  ['Arc B390|Panther Lake', 'panther-lake', null],
  ['Iris Xe|Iris Xe MAX|UHD Graphics 730|UHD Graphics 750|UHD Graphics 710|UHD Graphics 770', 'xe-lp', null],
  [
    'UHD Graphics 600|UHD Graphics 605|UHD Graphics 610|UHD Graphics 615|UHD Graphics 617|UHD Graphics 620|UHD Graphics 630|HD Graphics 4000|HD Graphics 4600|HD Graphics 520|HD Graphics 530|Iris Plus Graphics 640|Iris Plus Graphics 645|Iris Plus Graphics 650|Iris Plus Graphics 655|HD Graphics 620|HD Graphics 630|Iris Plus Graphics|Iris Pro Graphics',
    'gen',
    null,
  ],
];

/** Apple silicon that exists, and the larger chips of each generation. */
export const appleChips: Readonly<Record<string, readonly string[]>> = {
  m1: ['', 'pro', 'max', 'ultra'],
  m2: ['', 'pro', 'max', 'ultra'],
  m3: ['', 'pro', 'max', 'ultra'],
  m4: ['', 'pro', 'max'],
  m5: ['', 'pro', 'max'],
};

/** Compute capabilities that exist, for "sm_89" and "8.9". */
export const computeCapabilities: readonly string[] = [
  ...['2.0', '2.1', '3.0', '3.2', '3.5', '3.7', '5.0', '5.2', '5.3', '6.0', '6.1', '6.2', '7.0', '7.2', '7.5'],
  ...['8.0', '8.6', '8.7', '8.8', '8.9', '9.0', '10.0', '10.1', '10.3', '11.0', '12.0', '12.1'],
];
