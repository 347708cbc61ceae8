// Names as people write them, and the target that each one must give. The table was written from the vendors' lists, not from
// the tables of the program.

import { describe, expect, it } from 'vitest';
import { gpuFromText } from '../../src/forge/detect/names.ts';
import type { Gpu } from '../../src/forge/machine.ts';
import { within } from '../support/time.ts';

const NAMES: Readonly<Record<string, string>> = {
  sm_20: 'GTX 480 | Tesla C2075 | Tesla M2090 | GTX 580',
  sm_21: 'GTX 560 Ti | GeForce GT 430 | GTX 460',
  sm_30: 'GTX 680 | GTX 770 | GeForce GTX 660 | GTX 690 | GT 640 | Quadro K5000 | GRID K520 | Quadro K2000',
  sm_35:
    'K40 | Tesla K40m | Tesla K40c | Tesla K20 | K20X | GTX 780 Ti | GTX Titan Black | GT 710 | GeForce GT 730 | Quadro K6000',
  sm_37: 'K80 | Tesla K80',
  sm_50:
    'GTX 750 Ti | GTX 750 | GeForce 940MX | GTX 960M | GTX 950M | Quadro K2200 | Quadro K620 | MX130 | Tesla M10 | Quadro M1000M',
  sm_52:
    'GTX 980 | GTX 980 Ti | GTX 970 | GTX 960 | GTX 950 | GTX Titan X | Tesla M40 | M60 | M40 | Tesla M60 | M4 Tesla | Quadro M4000 | Quadro M6000 | Quadro M5000 | GTX 970M | GTX 980M',
  sm_53: 'Jetson Nano | Jetson TX1',
  sm_60: 'P100 | Tesla P100 | Tesla P100-PCIE-16GB | Tesla P100-SXM2-16GB | Quadro GP100',
  sm_61:
    'GTX 1080 | GTX1080Ti | 1080 Ti | 1070 | GTX 1070 Ti | GTX 1060 | GTX 1060 6GB | GTX 1060 3GB | GTX 1050 | GTX 1050 Ti | GT 1030 | Titan Xp | TITAN X (Pascal) | P40 | Tesla P4 | Tesla P40 | Quadro P2000 | Quadro P4000 | Quadro P6000 | Quadro P1000 | P400 | MX150 | GeForce MX350 | MX250 | Quadro P620 | Quadro P5000',
  sm_62: 'Jetson TX2 | Jetson TX2 NX',
  sm_70:
    'V100 | Tesla V100 | Tesla V100-SXM2-16GB | Tesla V100-SXM2-32GB | V100-PCIE-32GB | V100S | Tesla V100S-PCIE-32GB | Tesla V100-SXM3-32GB | V100 32GB | Titan V | Quadro GV100',
  sm_72: 'Jetson Xavier NX | Jetson AGX Xavier | AGX Xavier',
  sm_75:
    'T4 | Tesla T4 | RTX 2080 Ti | RTX 2080 | RTX 2080 Super | RTX 2070 | RTX 2070 SUPER | RTX 2060 | RTX 2060 Super | RTX 2060 12GB | GTX 1660 | GTX 1660 Ti | GTX 1660 SUPER | GTX 1650 | GTX 1650 Super | GTX 1650 Ti | GTX 1630 | Titan RTX | Quadro RTX 4000 | Quadro RTX 5000 | Quadro RTX 6000 | Quadro RTX 8000 | T400 | T600 | T1000 | Quadro T1000 | Quadro T2000 | T500 | T1200 | MX450 | 2080ti | T4G',
  sm_80:
    'A100 | A100 80GB | A100-SXM4-80GB | A100-SXM4-40GB | A100-PCIE-40GB | NVIDIA A100 80GB PCIe | A30 | A800 | A100X',
  sm_86:
    'RTX 3090 | RTX 3090 Ti | RTX 3080 | RTX 3080 Ti | RTX 3080 12GB | RTX 3070 | RTX 3070 Ti | RTX 3060 | RTX 3060 Ti | RTX 3060 12GB | RTX 3050 | RTX 3050 Ti Laptop | RTX 3060 Laptop GPU | RTX 3080 Ti Laptop GPU | RTX 2050 | A10 | A10G | A40 | A16 | A2 | RTX A2000 | RTX A2000 12GB | RTX A4000 | RTX A4500 | RTX A5000 | RTX A5500 | RTX A6000 | A6000 | RTX A1000 | RTX A400 | MX570 | 3090',
  sm_87: 'Jetson Orin Nano | Jetson AGX Orin | Jetson Orin NX | Orin Nano Super | AGX Orin 64GB | Orin',
  sm_89:
    'RTX 4090 | rtx4090 | NVIDIA GeForce RTX 4090 | RTX 4090 Laptop GPU | RTX 4090 D | RTX 4080 | RTX 4080 Super | RTX 4070 | RTX 4070 Ti | RTX 4070 Ti Super | RTX 4070 SUPER | RTX 4060 | RTX 4060 Ti | RTX 4060 Ti 16GB | RTX 4050 Laptop | RTX 4060 Laptop GPU | L4 | L40 | L40S | L20 | L2 | RTX 6000 Ada | RTX 6000 Ada Generation | RTX 5000 Ada | RTX 4500 Ada | RTX 4000 Ada | RTX 4000 SFF Ada | RTX 2000 Ada | RTX 5880 Ada | ASUS TUF RTX 4070',
  sm_90:
    'H100 | H100 80GB HBM3 | H100 PCIe | H100 NVL | H100 SXM5 | H200 | H200 NVL | H20 | H800 | GH200 | GH200 480GB | DGX H100 | NVIDIA H100 80GB HBM3 | H100 SXM',
  sm_100: 'B200 | GB200 | B100 | DGX B200 | GB200 NVL72',
  sm_103: 'B300 | GB300 | DGX B300',
  sm_110: 'Jetson AGX Thor | Jetson Thor',
  sm_120:
    'RTX 5090 | RTX 5080 | RTX 5070 | RTX 5070 Ti | RTX 5060 | RTX 5060 Ti | RTX 5060 Ti 16GB | RTX 5050 | RTX 5090 Laptop GPU | RTX 5090 D | RTX PRO 6000 | RTX PRO 6000 Blackwell Workstation Edition | RTX PRO 6000 Blackwell Server Edition | RTX PRO 4500 Blackwell | RTX PRO 5000 Blackwell | RTX PRO 4000 Blackwell | 5070ti',
  sm_121: 'DGX Spark | GB10',
  gfx701: 'R9 290X | R9 390',
  gfx803: 'RX 480 | RX 580 | RX 570 | RX 590 | RX 470 | Radeon RX 560 | RX 550 | R9 Fury X | R9 Nano',
  gfx900: 'RX Vega 56 | RX Vega 64 | Vega 64 | Radeon Pro WX 9100 | MI25',
  gfx906: 'Radeon VII | MI50 | MI60 | Instinct MI50 | Radeon Pro VII',
  gfx908: 'MI100 | AMD Instinct MI100',
  gfx90a: 'MI210 | MI250 | MI250X | AMD Instinct MI250X | gfx90a',
  gfx942: 'MI300X | MI300A | MI325X | AMD Instinct MI300X',
  gfx950: 'MI350X | MI355X',
  gfx1010: 'RX 5700 XT | RX 5700 | RX 5600 XT',
  gfx1012: 'RX 5500 XT | RX 5500 | RX 5300',
  gfx1030: 'RX 6800 | RX 6800 XT | RX 6900 XT | RX 6950 XT | Radeon PRO W6800',
  gfx1031: 'RX 6700 XT | RX 6750 XT | RX 6700',
  gfx1032: 'RX 6600 | RX 6600 XT | RX 6650 XT | Radeon PRO W6600',
  gfx1034: 'RX 6500 XT | RX 6400',
  gfx1033: 'Steam Deck',
  gfx1035: 'Radeon 680M | Radeon 660M',
  gfx1100:
    'RX 7900 XTX | 7900xtx | RX 7900 XT | RX 7900 GRE | Radeon PRO W7900 | Radeon PRO W7800 | Sapphire RX 7900 XTX',
  gfx1101: 'RX 7800 XT | RX 7700 XT | Radeon PRO W7700',
  gfx1102: 'RX 7600 | RX 7600 XT | RX 7600M XT | Radeon PRO W7600',
  gfx1103: 'Radeon 780M | Radeon 760M | Radeon 740M',
  gfx1150: 'Radeon 890M | Radeon 880M',
  gfx1151: 'Radeon 8060S | Radeon 8050S | Ryzen AI Max+ 395 | Strix Halo',
  gfx1200: 'RX 9060 XT | RX 9060 XT 16GB',
  gfx1201: 'RX 9070 | RX 9070 XT | Radeon AI PRO R9700',
  gfx90c: 'gfx90c',
  alchemist:
    'Arc A770 | Arc A750 | Arc A580 | Arc A380 | Arc A310 | Intel(R) Arc(TM) A770 Graphics | Arc A770 16GB | A770M | Arc Pro A60',
  battlemage: 'Arc B580 | Arc B570 | Intel Arc B580 | Arc Pro B50 | Arc Pro B60',
  'ponte-vecchio': 'Data Center GPU Max 1550 | Intel Data Center GPU Max 1100',
  'lunar-lake': 'Arc 140V | Arc 130V',
  'arrow-lake': 'Arc 140T',
  'xe-lp': 'Iris Xe | Intel Iris Xe Graphics | UHD Graphics 770',
  gen: 'UHD Graphics 630 | UHD Graphics 620 | HD Graphics 630 | HD Graphics 4000',
  apple:
    'M1 | M1 Pro | M1 Max | M1 Ultra | M2 | M2 Pro | M2 Max | M2 Ultra | M3 | M3 Pro | M3 Max | M3 Ultra | M4 | M4 Pro | M4 Max | Apple M1 | apple m4 max',
};

/** As drivers, lspci, system_profiler, Windows, shops and forums write them; collected after the table above was right. */
const WRITTEN: Readonly<Record<string, string>> = {
  sm_30: 'NVIDIA Corporation GK104 [GeForce GTX 770] (rev a1) | GeForce GT 650M | GeForce GTX 675MX | Quadro K4000',
  sm_35: 'GeForce GTX TITAN | GTX TITAN Z | NVIDIA GeForce GT 710 | Tesla K20Xm | GK110BGL [Tesla K40m]',
  sm_50: 'GeForce 930MX | Quadro M2000M | GeForce MX110 | NVIDIA GeForce 840M | GM107 [GeForce GTX 750 Ti]',
  sm_52: 'GeForce GTX 965M | Quadro M2000 | NVIDIA GeForce GTX TITAN X | Tesla M4',
  sm_60: 'Tesla P100-SXM2-16GB | NVIDIA Tesla P100 PCIe 16GB',
  sm_61:
    'NVIDIA GeForce GTX 1080 Ti | GeForce GTX 1070 with Max-Q Design | GTX 1050 Mobile | NVIDIA TITAN Xp | Quadro P3200 | GP102 [GeForce GTX 1080 Ti] | GeForce GTX 1060 5GB | geforce gtx 1080 | Quadro P2200 | MX330 | NVIDIA P106-100 | Quadro P4200 with Max-Q Design',
  sm_70:
    'Tesla V100-DGXS-32GB | NVIDIA TITAN V | Tesla V100-FHHL-16GB | Tesla V100-SXM2-32GB-LS | TITAN V CEO Edition | NVIDIA Tesla V100 SXM2 32GB',
  sm_75:
    'GeForce RTX 2080 Super with Max-Q Design | RTX 2070 Max-Q | NVIDIA GeForce GTX 1660 Ti with Max-Q Design | Quadro RTX 3000 | Quadro RTX 5000 with Max-Q Design | NVIDIA T1000 8GB | T550 Laptop GPU | NVIDIA TITAN RTX | TU104GL [Tesla T4] | GeForce GTX 1650 Mobile / Max-Q | NVIDIA T4 | GeForce MX450 | NVIDIA CMP 30HX | nvidia quadro rtx 8000 | RTX2060S',
  sm_80:
    'NVIDIA A100-SXM4-40GB | NVIDIA A800-SXM4-80GB | A800 80GB PCIe | A800 40GB Active | NVIDIA A30 | GA100 [A100 PCIe 80GB] | A100 SXM4 80GB | NVIDIA DRIVE-PG199-PROD | NVIDIA CMP 170HX | NVIDIA A100-SXM-64GB',
  sm_86:
    'NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1) | GeForce RTX 3070 Laptop GPU | GeForce RTX 3080 Lite Hash Rate | NVIDIA RTX A3000 Laptop GPU | RTX A5000 Laptop GPU | RTX 3050 6GB | NVIDIA GeForce RTX 3050 4GB Laptop GPU | NVIDIA A10-24Q | A10M | RTX A500 Laptop GPU | GeForce RTX 3060 Mobile / Max-Q | NVIDIA CMP 90HX | GA102GL [RTX A6000] | RTX3060TI | nvidia geforce rtx 3080 ti',
  sm_87: 'Orin (nvgpu) | NVIDIA Jetson Orin Nano Developer Kit | NVIDIA Jetson AGX Orin 64GB | Jetson Orin NX 16GB',
  sm_89:
    'NVIDIA RTX 6000 Ada Generation | RTX 4090D | NVIDIA GeForce RTX 4090 D | GeForce RTX 4070 Ti SUPER | RTX 4080 SUPER | NVIDIA RTX 3500 Ada Generation Laptop GPU | NVIDIA L20 | L40G | AD102GL [L40S] | RTX 1000 Ada | RTX 500 Ada Laptop | NVIDIA GeForce RTX 4070 Laptop GPU | RTX4060TI 16G | rtx-4090 | Geforce RTX4080S | RTX 4000 SFF Ada Generation | 4070 super',
  sm_90:
    'NVIDIA H800 PCIe | H20 96GB | NVIDIA H20-3e | NVIDIA H100 80GB HBM2e | H100 SXM5 80GB | NVIDIA GH200 144G HBM3e | GH100 [H100 SXM5 80GB] | NVIDIA H200 141GB HBM3e | Grace Hopper | H100 96GB HBM3 | H100-80GB | nvidia h100 nvl',
  sm_100: 'NVIDIA B200 | HGX B200 | NVIDIA GB200 NVL4 | B200 180GB HBM3e',
  sm_103: 'NVIDIA B300 SXM6 AC | HGX B300 | GB300 NVL72',
  sm_110: 'NVIDIA Jetson AGX Thor Developer Kit | Thor',
  sm_120:
    'NVIDIA GeForce RTX 5090 D v2 | RTX PRO 6000 Blackwell Max-Q Workstation Edition | NVIDIA RTX PRO 4500 Blackwell | RTX PRO 2000 Blackwell | RTX 5070 Ti Laptop GPU | GB202 [GeForce RTX 5090] | RTX PRO 6000D | NVIDIA GeForce RTX 5060 Laptop GPU | NVIDIA RTX PRO 3000 Blackwell Generation Laptop GPU | 5060 ti 16gb',
  sm_121: 'NVIDIA GB10 | NVIDIA DGX Spark | ASUS Ascent GX10',
  gfx803: 'Radeon RX 580 Series | AMD Radeon RX 480 Graphics | Radeon RX 590 GME | Radeon Pro WX 7100',
  gfx900: 'AMD Radeon RX Vega 64 | Radeon Vega Frontier Edition | Radeon Instinct MI25',
  gfx906: 'AMD Radeon VII | Radeon Instinct MI60',
  gfx908: 'Instinct MI100 | Arcturus GL-XL [Instinct MI100]',
  gfx90a: 'AMD Instinct MI250X / MI250 | Aldebaran/MI200 [Instinct MI250X/MI250] | AMD Instinct MI210',
  gfx942: 'AMD Instinct MI300X VF | Instinct MI308X | AMD Instinct MI325X',
  gfx950: 'AMD Instinct MI355X | Instinct MI350X',
  gfx1010:
    'AMD Radeon RX 5700 XT 50th Anniversary | Navi 10 [Radeon RX 5600 OEM/5600 XT / 5700/5700 XT] | Radeon Pro W5700',
  gfx1030:
    'AMD Radeon RX 6900 XT | Navi 21 [Radeon RX 6800/6800 XT / 6900 XT] | AMD Radeon RX 6950 XT | AMD Radeon PRO V620',
  gfx1031: 'AMD Radeon RX 6700 XT | Radeon RX 6750 GRE 12GB | AMD Radeon RX 6800M',
  gfx1032: 'AMD Radeon RX 6600M | Radeon RX 6650M | AMD Radeon RX 6700S',
  gfx1100:
    'AMD Radeon RX 7900 XTX | Radeon RX 7900 GRE | AMD Radeon PRO W7900 | Radeon Pro W7800 48GB | RX7900XT | AMD Radeon RX 7900M | AMD Radeon PRO W7900 Dual Slot',
  gfx1101: 'AMD Radeon RX 7800 XT | RX 7700 XT | Radeon PRO W7700 | AMD Radeon PRO V710',
  gfx1102: 'AMD Radeon RX 7600 XT | RX 7600 | Radeon RX 7700S | AMD Radeon PRO W7600 | RX 7600M XT',
  gfx1103: 'AMD Radeon 780M Graphics | Radeon 760M | AMD Radeon 740M',
  gfx1150: 'AMD Radeon 890M Graphics | Radeon 880M',
  gfx1151: 'AMD Radeon 8060S Graphics | Radeon 8050S | Ryzen AI Max+ 395 | Strix Halo',
  gfx1200: 'AMD Radeon RX 9060 XT | RX 9060 XT 16GB',
  gfx1201: 'AMD Radeon RX 9070 XT | RX 9070 | Radeon RX 9070 GRE | AMD Radeon AI PRO R9700 | Radeon AI PRO R9700S',
  apple:
    'Apple M5 | Apple M4 Max | Apple M3 Ultra | Apple M1 | M2 Pro | Apple M5 Pro | Chipset Model: Apple M2 Max | AppleM1Pro',
  alchemist: 'Arc A770 | Intel(R) Arc(TM) A770 Graphics | Arc A750 | Intel Arc A380 | Intel Arc Pro A60',
  battlemage: 'Intel(R) Arc(TM) B580 Graphics | Intel Arc Pro B60',
  'ponte-vecchio': 'Ponte Vecchio',
  'lunar-lake': 'Intel(R) Arc(TM) 140V GPU (16GB)',
};

/** Hardware of 2024 to 2026, old oddities, and the spellings of clouds, clusters, shops and Mesa; none of them tried before. */
const LATER: Readonly<Record<string, string>> = {
  sm_120:
    'RTX 5080 Laptop GPU | NVIDIA GeForce RTX 5070 Laptop GPU | RTX 5050 Laptop | GeForce RTX 5080 Max-Q / Mobile | NVIDIA RTX PRO 5000 Blackwell Generation Laptop GPU | RTX PRO 1000 Blackwell Laptop | RTX PRO 500 Blackwell Generation Laptop GPU | RTX PRO 4000 Blackwell SFF Edition | RTX PRO 5000 72GB Blackwell | NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb | RTX5060Ti16G | rtx 5070ti 16g | Geforce 5090 32GB | GB203M [GeForce RTX 5090 Max-Q / Mobile] | RTX PRO 4500 Blackwell Server Edition | MSI GeForce RTX 5070 Ti 16G VENTUS 3X OC',
  sm_121:
    'Lenovo ThinkStation PGX | Dell Pro Max with GB10 | MSI EdgeXpert | HP ZGX Nano | GB10 Grace Blackwell Superchip',
  sm_103: 'HGX B300 NVL16 | NVIDIA GB300 Grace Blackwell Ultra | DGX Station GB300 | NVIDIA B300 288GB HBM3e',
  sm_100: 'DGX GB200 | NVIDIA B200 SXM6 180GB | Grace Blackwell GB200',
  sm_110: 'Jetson T5000 | Jetson T4000 | NVIDIA Thor | Jetson AGX Thor T5000',
  sm_90:
    'nvidia-h100-80gb | NVIDIA-H100-80GB-HBM3 | NVIDIA GH200 120GB | NVIDIA H100 80GB HBM3 MIG 1g.10gb | H200 SXM5 141GB | H100 PCIE 80G',
  sm_89:
    'nvidia-l4 | NVIDIA L40S-24Q | NVIDIA GeForce RTX 3050 A Laptop GPU | NVIDIA RTX 2000E Ada Generation | AD107M [GeForce RTX 4050 Max-Q / Mobile] | NVIDIA-GeForce-RTX-4090 | Gigabyte RTX4070TiS | RTX 5000 Ada Generation Laptop GPU | rtx 4060ti 8gb',
  sm_86:
    'RTX3080-10G | NVIDIA Gforce RTX 3070 | 3090 TI | RTX-A6000 48GB | NVIDIA RTX A4500 Laptop GPU | NVIDIA RTX A2000 8GB Laptop GPU | GeForce MX570 A | NVIDIA A16-8Q | CMP 70HX | GA106 [GeForce RTX 3060 Lite Hash Rate] | NVIDIA A2-16Q | RTX 3080 20GB',
  sm_80:
    'nvidia-a100-80gb | NVIDIA-A100-SXM4-80GB-MIG-1g.10gb | A100 40 GB | NVIDIA A100-SXM4-80GB MIG 3g.40gb | nvidia-tesla-a100',
  sm_75:
    'nvidia-tesla-t4 | Tesla-T4 | GRID T4-16Q | Tesla T10 | CMP 50HX | CMP 40HX | GeForce MX550 | Tesla T40 24GB | NVIDIA T400 4GB | GeForce GTX 1650 Max-Q',
  sm_70: 'nvidia-tesla-v100 | Tesla-V100 | GRID V100D-32Q',
  sm_61:
    'GTX1080TI 11G | P102-100 | P104-100 | GeForce GT 1010 | Quadro P520 | Tesla P6 | GTX 1060 Mobile 6GB | nvidia-tesla-p4 | Quadro P500',
  sm_60: 'nvidia-tesla-p100',
  sm_52: 'Tesla M6 | GeForce GTX 980 Mobile | Quadro M3000M',
  sm_50: 'GeForce GTX 745 | NVS 810 | Quadro K1200 | GeForce 945M',
  sm_37: 'nvidia-tesla-k80',
  sm_30: 'Tesla K10 | NVS 510',
  sm_21: 'NVS 310 | Quadro 600',
  sm_20: 'Quadro 4000 | Quadro 6000',
  gfx803: 'Radeon Instinct MI8 | MI6',
  gfx1012: 'Radeon Pro W5500 | Radeon RX 5500M',
  gfx1010: 'RX 5600M',
  gfx1013: 'BC-250',
  gfx1030: 'AMD Radeon RX 6800 (radeonsi, navi21, LLVM 17.0.6, DRM 3.57)',
  gfx1031: 'RX 6850M XT | RX 6750 GRE 10GB',
  gfx1032: 'RX 6600S',
  gfx1033: 'Steam Deck OLED',
  gfx1034: 'Radeon PRO W6400 | RX 6550M | RX 6300',
  gfx1100: 'AMD Radeon RX 7900 XTX (RADV NAVI31) | XFX Speedster MERC 310 RX 7900XTX 24GB | AMD Radeon Pro W7900 48GB',
  gfx1102: 'Radeon PRO W7500 | RX 7650 GRE | RX 7400',
  gfx1103: 'Ryzen 7 8700G',
  gfx1150: 'Ryzen AI 9 HX 370',
  gfx1151:
    'Radeon 8040S | Ryzen AI Max 385 | AMD Radeon Graphics (RADV GFX1151) | AMD RYZEN AI MAX+ 395 w/ Radeon 8060S',
  gfx1152: 'Radeon 860M | Radeon 840M',
  gfx1200: 'RX 9060 | Radeon RX 9060 XT 8GB | RX9060XT',
  gfx1201:
    'RX9070XT 16G | Radeon AI PRO R9700 32GB | PowerColor Red Devil RX 9070 XT | Navi 48 [Radeon RX 9070/9070 XT/9070 GRE]',
  gfx942: 'AMD Instinct MI300A APU | Instinct MI325X OAM | AMD_Instinct_MI300X_OAM',
  gfx950: 'AMD Instinct MI350 Series | Instinct MI355X OAM 288GB',
  gfx90a: 'AMD Instinct MI250X OAM | MI250X/MI250',
  alchemist:
    'Arc A730M | Intel(R) Arc(TM) A370M Graphics | Data Center GPU Flex 170 | Intel Flex 140 | Arc Pro A40 | DG2 [Arc A770]',
  battlemage: 'Arc Pro B70 | Intel Corporation Battlemage G21 [Arc B580] | Arc B570 10GB | Intel Arc Pro B60 24GB',
  'xe-lp': 'UHD Graphics 730 | Iris Xe MAX',
  gen: 'Iris Plus Graphics 655 | HD Graphics 530',
  'arrow-lake': 'Arc 130T',
  'panther-lake': 'Arc B390',
  apple: 'Apple M5 Max | MacBook Pro M5 | Mac Studio M3 Ultra | Apple M4 Max (40-core GPU) | m4 mac mini',
};

const NO_SUCH: Readonly<Record<string, RegExp>> = {
  RTX: /./,
  GTX: /./,
  Radeon: /./,
  M400: /does not exist|in no table/,
  M9: /in no table/,
  'M1 Giga': /in no table/,
  sm_999: /target that does not exist/,
  sm_91: /target that does not exist/,
  '4.2': /target that does not exist/,
  gfx9999: /target that does not exist/,
  gfx90z: /./,
  'RTX 4095': /in no table/,
  'RTX 6090': /in no table/,
  'RX 9999 XT': /in no table/,
  'RX 7950 XTX': /in no table/,
  'Voodoo 2': /in no table/,
  'RTX 5090 Ti': /in no table/,
  'RTX 4090 Ti': /in no table/,
  'RX 9080 XT': /in no table/,
  'Arc B990': /in no table/,
  'GTX 1090': /in no table/,
  H300: /in no table/,
  L60: /in no table/,
  'RTX 5095': /in no table/,
  'RX 9090 XTX': /in no table/,
  'M7 Ultra': /in no table/,
  MI999X: /in no table/,
  sm_122: /target that does not exist/,
  gfx1299: /target that does not exist/,
  banana: /in no table/,
  '': /in no table/,
  '10de:ffff': /in no table/,
  'Arc Z999': /in no table/,
};

const targetOf = (gpu: Gpu): string => {
  const cc = gpu.computeCapability.value;
  if (cc) return `sm_${cc.major}${cc.minor}`;
  return gpu.gfx.value ?? gpu.intelFamily.value ?? gpu.vendor;
};

function answer(name: string): string {
  try {
    return targetOf(gpuFromText(name, 0));
  } catch (cause) {
    return `error: ${(cause as Error).message}`;
  }
}

describe('names of GPUs', () => {
  const rows = [NAMES, WRITTEN, LATER]
    .flatMap(Object.entries<string>)
    .flatMap(([target, names]) => names.split('|').map((name) => ({ name: name.trim(), target })));

  it('are understood as people write them', () => {
    const wrong = rows
      .filter(({ name, target }) => answer(name) !== target)
      .map(({ name, target }) => `${name}: ${answer(name)}, not ${target}`);
    expect(rows.length + Object.keys(NO_SUCH).length).toBeGreaterThanOrEqual(300);
    expect(wrong).toEqual([]);
  });

  it.each([
    ['NVIDIA Corporation AD102 [GeForce RTX 4090]', 'sm_89'],
    [
      '01:00.0 VGA compatible controller [0300]: NVIDIA Corporation AD102 [GeForce RTX 4090] [10de:2684] (rev a1)',
      'sm_89',
    ],
    ['3D controller: NVIDIA Corporation GA100 [A100 SXM4 40GB] (rev a1)', 'sm_80'],
    ['NVIDIA Corporation Device [10de:2684]', 'sm_89'],
    ['Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XT/7900 XTX/7900M] (rev c8)', 'gfx1100'],
    ['Advanced Micro Devices, Inc. [AMD/ATI] Ellesmere [Radeon RX 470/480/570/570X/580/580X/590]', 'gfx803'],
    ['GRID A100-40C', 'sm_80'],
    ['A100D-80C', 'sm_80'],
    ['GRID T4-16Q', 'sm_75'],
    ['NVIDIA A100-1-5C', 'sm_80'],
    ['NVIDIA L40S-48Q', 'sm_89'],
    ['DGX A100', 'sm_80'],
    ['Quadro RTX 6000 Passive', 'sm_75'],
    ['ＲＴＸ ４０９０', 'sm_89'],
    ['gfx90a:sramecc+:xnack-', 'gfx90a'],
    ['amdgcn-amd-amdhsa--gfx1030', 'gfx1030'],
  ])('"%s", as tools print it, is %s', (name, target) => {
    expect(answer(name)).toBe(target);
  });

  it.each(Object.entries(NO_SUCH))('"%s" is refused, because a guess would install a wrong build', (name, reason) => {
    const found = answer(name);
    expect(found).toMatch(/^error: /);
    expect(found).toMatch(reason);
  });

  it.each([
    ['RTX 4095', 'RTX 4090'],
    ['RTX 409', 'RTX 4090'],
    ['gfx1109', 'gfx1100'],
    ['sm_91', 'sm_90'],
    ['H10', 'H100'],
    ['MI300Y', 'MI300'],
    ['RX 7900 XTY', 'RX 7900 XT'],
    ['Arc B581', 'B580'],
    ['GTX 1081', 'GTX 108'],
    ['GTX 1090', 'GTX 10'],
    ['RTX 4090Ti', 'GeForce RTX 4090,'],
    ['RTX 3090M', 'GeForce RTX 3090'],
    ['2x RTX 3090', 'RTX 3090'],
  ])('"%s" gets a suggestion', (name, near) => {
    let fix = '';
    try {
      gpuFromText(name, 0);
    } catch (cause) {
      fix = (cause as { fix?: string }).fix ?? '';
    }
    expect(fix).toContain(near);
  });

  it('of one vendor are not taken for those of another, and a name of two chips is not guessed', () => {
    expect(answer('840M')).toMatch(/fits several GPUs/);
    expect(answer('GeForce 840M')).toBe('sm_50');
    expect(answer('Radeon 840M')).toBe('gfx1152');
    expect(() => gpuFromText('GTX 860M', 0)).toThrow(
      expect.objectContaining({ fix: expect.stringMatching(/sm_30 or sm_50/) }),
    );
  });

  it.each([
    ['MSI GeForce GTX 1070 Gaming X 8G', 'sm_61'],
    ['EVGA RTX 3090 FTW3 Ultra', 'sm_86'],
    ['ASUS ROG Astral GeForce RTX 5090', 'sm_120'],
    ['XFX Speedster MERC 310 RX 7900 XT', 'gfx1100'],
    ['PowerColor Red Devil RX 6900 XT', 'gfx1030'],
    ['NVIDIA A10G Tensor Core GPU', 'sm_86'],
    ['AMD Ryzen 7 7840HS w/ Radeon 780M Graphics', 'gfx1103'],
    ['Apple M4 Pro (16-core GPU)', 'apple'],
  ])('"%s" is found among words of a shop', (name, target) => {
    expect(answer(name)).toBe(target);
  });

  it.each(['RTX 3090 + RTX 4090', '4x RTX 3090', 'RTX 5080 Super', 'RTX 4090 Ti Gaming'])(
    '"%s" is refused: a word beside the product may mean another',
    (name) => {
      expect(answer(name)).toMatch(/^error: /);
    },
  );

  it('are no whole files: those are refused at once', () => {
    const start = performance.now();
    for (const text of ['a'.repeat(200_000), 'RTX 4090 '.repeat(20_000)]) {
      const said = answer(text);
      expect(said).toMatch(/^error: GPU "[^"]{1,80}" is in no table/);
    }
    expect(performance.now() - start).toBeLessThan(within(200));
  });

  it('print no escape sequence of the name', () => {
    expect(answer('RTX\u001b]0;owned\u0007 9\u202e').replaceAll('\n', '')).not.toMatch(/\p{Cc}|\u202e/u);
  });
});
