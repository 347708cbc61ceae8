// Machines that people have, and the build that each must get: GPUs, driver, system, then framework and Python.
//
// The expected builds were worked out by hand from the vendors' tables: the newest release whose kernels, driver needs, system
// and Python all fit.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/forge/config/file.ts';
import { loadTables } from '../../src/forge/data/tables.ts';
import { block } from '../../src/forge/detect/draft.ts';
import { gpuFromText } from '../../src/forge/detect/names.ts';
import { type Arch, known, type Machine, missing, type Platform } from '../../src/forge/machine.ts';
import { nodePorts } from '../../src/forge/ports-node.ts';
import { frameworkOf, wishes } from '../../src/forge/resolve/command.ts';
import { resolve } from '../../src/forge/resolve/resolve.ts';
import { machine } from './fixtures/targets.ts';

const TABLE = `
H200 | 580.95.05 | linux | torch | 2.14.1 cu130
H200 | 595.58.03 | linux | torch | 2.14.1 cu132
H200 | 570.124.06 | linux | torch | 2.14.1 cu126
H100 | 535.183.01 | linux | torch | 2.14.1 cu126
H100 | 535.183.01 | linux | tensorflow | 2.15.1 and-cuda
H100 | 545.23.08 | linux | tensorflow | 2.17.1 and-cuda
H100 | 560.35.03 | linux | tensorflow | 2.21.0 and-cuda
H100 | 470.82.01 | linux | torch | none: too old for NVIDIA H100
H100 PCIe | 525.60.13 | linux | jax 3.12 | 0.11.1 cuda12
H100 NVL | 580.95.05 | linux | jax | 0.11.1 cuda13
H100 | 535.183.01 | linux | torch 3.8 | 2.4.1 cu121
H100, H100, H100, H100 | 550.54.15 | linux | torch | 2.14.1 cu126
A100 | 450.80.02 | linux | torch | 2.7.1 cu118
A100 | 470.82.01 | linux | tensorflow | none: needs driver 525.60.13
A100 | 520.61.05 | linux | tensorflow | 2.14.1 and-cuda
A100 | 525.60.13 | linux | tensorflow | 2.21.0 and-cuda
A100-SXM4-80GB | 550.54.15 | linux | torch 3.13 | 2.14.1 cu126
A100 | 580.95.05 | linux | torch 3.9 | 2.8.0 cu128
A100 | 580.95.05 | linux | jax 3.10 | 0.6.2 cuda12
A100 | 580.95.05 | linux | jax 3.11 | 0.10.2 cuda13
A100 | 580.95.05 | linux | jax 3.9 | 0.4.30 cuda12
A30 | 580.65.06 | linux | torch | 2.14.1 cu130
A10G | 535.104.05 | linux | torch 3.10 | 2.14.1 cu126
A40 | 515.48.07 | linux | torch | 2.7.1 cu118
L4 | 550.54.15 | linux | torch | 2.14.1 cu126
L40S | 580.95.05 | linux | torch 3.12 | 2.14.1 cu130
L40S | 555.42.02 | linux | tensorflow | 2.21.0 and-cuda
T4 | 535.104.05 | linux | torch | 2.14.1 cu126
T4 | 450.80.02 | linux | torch | 2.7.1 cu118
T4 | 580.95.05 | linux | tensorflow 3.13 | 2.21.0 and-cuda
T4 | 580.95.05 | linux | tensorflow 3.9 | 2.20.0 and-cuda
T4 | 580.95.05 | linux | jax | 0.11.1 cuda13
V100 | 580.95.05 | linux | torch | 2.14.1 cu126
V100-PCIE-32GB | 535.104.05 | linux | tensorflow | 2.21.0 and-cuda
V100 | 595.58.03 | linux | torch | none: no longer drives Volta
V100 | 580.95.05 | linux | jax | 0.11.1 cuda12
P100 | 570.124.06 | linux | torch | 2.14.1 cu126
P100 | 580.95.05 | linux | torch 3.9 | 2.8.0 cu126
P40 | 535.104.05 | linux | torch | 2.14.1 cu126
P4 | 470.82.01 | linux | torch | 2.7.1 cu118
M60 | 535.104.05 | linux | torch | 2.14.1 cu126
M40 | 525.85.12 | linux | jax | 0.11.1 cuda12
Tesla M10 | 580.95.05 | linux | torch | 2.14.1 cu126
K80 | 470.82.01 | linux | torch | 2.7.1 cu118
K80 | 470.82.01 | linux | torch 3.8 | 2.4.1 cu118
K40 | 470.82.01 | linux | torch | none: no kernels for sm_35
K80 | 535.104.05 | linux | torch | none: no longer drives Kepler
GTX 680 | 470.82.01 | linux | torch | none: no kernels for sm_30
GTX 750 Ti | 580.65.06 | linux | torch | 2.14.1 cu126
GTX 750 Ti | 580.65.06 | linux | tensorflow | 2.16.2 and-cuda
GTX 950 | 535.104.05 | windows | torch | 2.14.1 cu126
GTX 960M | 528.33 | windows | torch | 2.14.1 cu126
GTX 970 | 580.65.06 | linux | torch | 2.14.1 cu126
GTX 980 Ti | 590.48.01 | linux | torch | none: no longer drives Maxwell
GTX 1050 Ti | 560.94 | windows | torch | 2.14.1 cu126
GTX 1060 | 535.104.05 | linux | torch 3.8 | 2.4.1 cu121
GTX 1070 | 460.39 | linux | torch | 2.7.1 cu118
GTX 1080 | 580.95.05 | linux | torch | 2.14.1 cu126
GTX 1080 Ti | 595.58.03 | linux | torch | none: no longer drives Pascal
GTX 1080 Ti | 580.95.05 | linux | tensorflow | 2.21.0 and-cuda
GTX 1080 Ti | 580.95.05 | linux | jax | 0.11.1 cuda12
Quadro P2000 | 537.13 | windows | torch | 2.14.1 cu126
MX150 | 551.61 | windows | torch | 2.14.1 cu126
Titan V | 580.95.05 | linux | torch | 2.14.1 cu126
GTX 1630 | 580.88 | windows | torch | 2.14.1 cu130
GTX 1650 | 537.13 | windows | torch | 2.14.1 cu126
GTX 1660 Ti | 595.58.03 | linux | torch | 2.14.1 cu132
RTX 2060 | 527.41 | windows | torch | 2.7.1 cu118
RTX 2070 SUPER | 528.33 | windows | torch | 2.14.1 cu126
RTX 2080 Ti | 515.48.07 | linux | torch | 2.7.1 cu118
RTX 2080 Ti | 572.83 | wsl | tensorflow | 2.21.0 and-cuda
Quadro RTX 8000 | 580.95.05 | linux | torch | 2.14.1 cu130
T1000 | 580.88 | windows | torch 3.15 | 2.14.1 cu130
RTX 3050 | 581.29 | windows | torch | 2.14.1 cu130
RTX 3060 | - | linux | torch | 2.14.1 cu130
RTX 3060 | 545.29.06 | linux | tensorflow | 2.21.0 and-cuda
RTX 3070 | 576.57 | windows | tensorflow | none: no wheel for windows
RTX 3080 | 576.57 | windows | jax | none: no wheel for windows
RTX 3080 | 576.57 | wsl | jax | 0.11.1 cuda12
RTX 3080 | 581.29 | wsl | jax | 0.11.1 cuda13
RTX 3090 | 545.23.08 | linux | torch | 2.14.1 cu126
RTX 3090, RTX 3090 | 570.124.06 | linux | torch | 2.14.1 cu126
RTX A6000 | 580.95.05 | linux | torch 3.14 | 2.14.1 cu130
RTX A4000 | 470.82.01 | linux | torch | 2.7.1 cu118
RTX 4060 | 560.35.03 | linux | torch | 2.14.1 cu126
RTX 4060 Ti 16GB | 566.36 | windows | torch | 2.14.1 cu126
RTX 4070 | 572.83 | wsl | torch | 2.14.1 cu126
RTX 4080 Super | 580.95.05 | linux | tensorflow | 2.21.0 and-cuda
RTX 4090 | 570.124.06 | linux | torch | 2.14.1 cu126
RTX 4090 | 595.58.03 | linux | torch | 2.14.1 cu132
RTX 4090 | 520.61.05 | linux | torch | 2.7.1 cu118
RTX 4090 | 515.48.07 | linux | torch | none: too old for NVIDIA GeForce RTX 4090
RTX 4090 | 580.95.05 | linux | torch 3.8 | 2.4.1 cu121
RTX 4090 | 580.95.05 | linux | torch 3.7 | 1.13.1 cu116
RTX 4090 | 580.95.05 | linux | torch 3.6 | none: 3.6 was asked for
RTX 4090 | 580.95.05 | linux | tensorflow 3.14 | none: 3.14 was asked for
RTX 6000 Ada | 550.54.15 | linux | torch | 2.14.1 cu126
RTX 5050 | 576.57 | windows | torch | 2.11.0 cu128
RTX 5060 Ti | 572.83 | windows | torch | 2.11.0 cu128
RTX 5070 | 581.29 | windows | torch | 2.14.1 cu130
RTX 5080 | 570.124.06 | linux | torch | 2.11.0 cu128
RTX 5090 | 580.95.05 | linux | torch | 2.14.1 cu130
RTX 5090 | 550.54.15 | linux | torch | none: too old for NVIDIA GeForce RTX 5090
RTX 5090 | 580.95.05 | linux | tensorflow | none: does not run on sm_120
RTX 5090 | 570.124.06 | linux | jax | 0.11.1 cuda12
RTX 5090 | 580.95.05 | linux | torch 3.9 | 2.8.0 cu128
RTX 5090 | 580.95.05 | linux | torch 3.8 | none: 3.8 was asked for
RTX PRO 6000 | 595.58.03 | linux | torch | 2.14.1 cu132
B200 | 575.57.08 | linux | torch | 2.11.0 cu128
B200 | 580.95.05 | linux | torch | 2.14.1 cu130
B300 | 590.48.01 | linux | torch | 2.14.1 cu130
B300 | 570.124.06 | linux | torch | none: too old for NVIDIA B300
GB200 | 580.95.05 | linux-arm64 | torch | 2.14.1 cu130
GB200 | 570.124.06 | linux-arm64 | torch | 2.11.0 cu128
GB200 | 580.95.05 | linux-arm64 | jax | 0.11.1 cuda13
GB200 | 580.95.05 | linux-arm64 | tensorflow | none: no wheel for linux arm64
GH200 | 570.124.06 | linux-arm64 | torch | 2.14.1 cu126
GH200 | 580.95.05 | linux-arm64 | torch | 2.14.1 cu130
DGX Spark | 580.95.05 | linux-arm64 | torch | 2.14.1 cu130
Jetson AGX Thor | 580.00 | linux-arm64 | torch | 2.14.1 cu130
Jetson AGX Orin | 540.4.0 | linux-arm64 | torch | 2.8.0 jp6-cu126
Jetson Orin Nano | 540.4.0 | linux-arm64 | torch 3.10 | 2.8.0 jp6-cu126
Jetson Orin NX | 540.4.0 | linux-arm64 | torch 3.12 | none: needs Python 3.10 to 3.10
Jetson Nano | - | linux-arm64 | torch | none: no kernels for sm_53
Jetson Xavier NX | - | linux-arm64 | torch | none: no kernels for sm_72
T4G | 580.95.05 | linux-arm64 | torch | none: no kernels for sm_75
RTX 4090 | 580.95.05 | linux-arm64 | torch | 2.14.1 cu130
MI300X | - | linux | torch | 2.13.0 rocm7.2
MI355X | - | linux | torch | 2.13.0 rocm7.2
MI250X | - | linux | jax | 0.11.0 rocm10.0.0
MI100 | - | linux | torch 3.9 | 2.8.0 rocm6.4
MI300X | - | linux | torch 3.8 | 2.4.1 rocm6.1
MI50 | - | linux | torch | 2.13.0 rocm7.2
MI300X | - | windows | torch | none: no kernels for gfx942
MI300X | - | linux | tensorflow | none: no build
Radeon VII | - | linux | jax | none: no kernels for gfx906
RX 580 | - | linux | torch | none: no kernels for gfx803
RX Vega 64 | - | linux | torch | 2.13.0 rocm7.2
RX 5700 XT | - | linux | torch | none: no kernels for gfx1010
RX 6600 XT | - | linux | torch | none: no kernels for gfx1032
RX 6700 XT | - | linux | torch | none: no kernels for gfx1031
RX 6800 XT | - | linux | torch | 2.13.0 rocm7.2
RX 6800 XT | - | windows | torch | 2.13.0 rocm10.0.0
RX 7600 | - | linux | torch | 2.13.0 rocm7.2
RX 7800 XT | - | windows | torch | 2.13.0 rocm10.0.0
RX 7900 XTX | - | linux | torch | 2.13.0 rocm7.2
RX 7900 XTX | - | linux | torch 3.10 | 2.13.0 rocm7.2
RX 7900 XTX | - | linux-arm64 | torch | none: no wheel for linux arm64
RX 9070 XT | - | linux | torch | 2.13.0 rocm7.2
RX 9060 XT | - | windows | torch | 2.13.0 rocm10.0.0
Strix Halo | - | linux | torch | 2.13.0 rocm7.2
Radeon 780M | - | linux | torch | 2.13.0 rocm10.0.0
Radeon 680M | - | linux | torch | 2.14.1 cpu
Arc B580 | - | linux | torch | 2.14.1 xpu
Arc A770 | - | windows | torch | 2.14.1 xpu
Arc A380 | - | linux | jax | none: no build
Arc 140V | - | windows | torch 3.12 | 2.14.1 xpu
Iris Xe | - | linux | torch | 2.14.1 cpu
UHD Graphics 630 | - | windows | tensorflow | 2.21.0 cpu
M1 | - | macos | torch | 2.14.1 mps
M3 Max | - | macos | torch 3.9 | 2.8.0 mps
M4 Pro | - | macos | jax | 0.11.1 cpu
M2 | - | macos | tensorflow 3.8 | 2.13.1 cpu
GTX 1080 Ti, RTX 5090 | 580.95.05 | linux | torch | 2.14.1 cu130
GTX 1080 Ti, RTX 4090 | 580.95.05 | linux | torch | 2.14.1 cu126
RTX 4090, RX 7900 XTX | 580.95.05 | linux | torch | 2.14.1 cu130
RX 7900 XTX, Arc A770 | - | linux | torch | 2.13.0 rocm7.2
RTX 4060, Iris Xe | 560.35.03 | linux | torch | 2.14.1 cu126
- | - | linux | torch | 2.14.1 cpu
- | - | linux-arm64 | tensorflow | 2.21.0 cpu
- | - | windows | jax 3.11 | 0.10.2 cpu
- | - | linux | torch 3.8 | 2.4.1 cpu
RTX 5080 Laptop GPU | 581.29 | windows | torch | 2.14.1 cu130
RTX 5070 Ti Laptop GPU | 572.83 | windows | torch | 2.11.0 cu128
RTX 5050 Laptop | 596.21 | windows | torch | 2.14.1 cu132
RTX PRO 4500 Blackwell | 570.124.06 | linux | torch | 2.11.0 cu128
RTX PRO 6000 Blackwell Server Edition | 580.95.05 | linux | jax | 0.11.1 cuda13
RTX PRO 2000 Blackwell | 580.95.05 | linux | tensorflow | none: does not run on sm_120
RTX PRO 4000 Blackwell SFF Edition | 560.35.03 | linux | torch | none: too old for
B300 | 580.95.05 | linux | jax | 0.11.1 cuda13
GB300 | 580.95.05 | linux-arm64 | torch | 2.14.1 cu130
GB300 | 595.58.03 | linux-arm64 | torch | 2.14.1 cu132
GB300 | 580.95.05 | linux-arm64 | tensorflow | none: no wheel for linux arm64
B200 | 595.58.03 | linux | jax | 0.11.1 cuda13
B200 | 550.54.15 | linux | torch | none: too old for
DGX Spark | 580.95.05 | linux-arm64 | jax | 0.11.1 cuda13
Dell Pro Max with GB10 | 580.95.05 | linux-arm64 | torch 3.12 | 2.14.1 cu130
L4 | 535.183.01 | linux | jax | 0.11.1 cuda12
L40S | 525.60.13 | linux | torch | 2.14.1 cu126
L40 | 595.58.03 | linux | torch | 2.14.1 cu132
L20 | 550.54.15 | linux | tensorflow | 2.21.0 and-cuda
RTX 4000 Ada | 552.22 | windows | torch | 2.14.1 cu126
RTX 3500 Ada Generation Laptop GPU | 581.29 | windows | torch 3.12 | 2.14.1 cu130
RTX A1000 | 470.82.01 | linux | torch | 2.7.1 cu118
A16 | 535.183.01 | linux | torch | 2.14.1 cu126
Quadro T2000 | 472.12 | windows | torch | 2.7.1 cu118
Tesla P6 | 580.95.05 | linux | torch | 2.14.1 cu126
Tesla M6 | 595.58.03 | linux | torch | none: no longer drives Maxwell
Tesla K10 | 470.82.01 | linux | torch | none: no kernels for sm_30
P104-100 | 580.95.05 | linux | torch | 2.14.1 cu126
Titan RTX | 580.95.05 | linux | jax | 0.11.1 cuda13
Quadro GV100 | 590.48.01 | linux | torch | none: no longer drives Volta
CMP 170HX | 550.54.15 | linux | torch | 2.14.1 cu126
GTX 1650 SUPER | 580.95.05 | linux | torch 3.10 | 2.14.1 cu130
NVS 510 | 470.82.01 | linux | torch | none: no kernels for sm_30
MI350X | - | linux | torch | 2.13.0 rocm7.2
MI325X | - | linux | torch | 2.13.0 rocm7.2
MI300A | - | linux | jax | 0.11.0 rocm10.0.0
MI355X | - | linux | jax | 0.11.0 rocm10.0.0
MI210 | - | linux | torch 3.9 | 2.8.0 rocm6.4
RX 9070 | - | linux | torch | 2.13.0 rocm7.2
RX 9060 XT 8GB | - | linux | torch | 2.13.0 rocm7.2
Radeon AI PRO R9700 | - | windows | torch | 2.13.0 rocm10.0.0
RX 9070 GRE | - | linux-arm64 | torch | none: no wheel for linux arm64
RX 7700 XT | - | linux | torch | 2.13.0 rocm7.2
RX 6950 XT | - | linux | torch | 2.13.0 rocm7.2
RX 6650 XT | - | linux | torch | none: no kernels for gfx1032
RX 6500 XT | - | linux | torch | none: no kernels for gfx1034
Radeon 890M | - | linux | torch | 2.13.0 rocm7.2
Radeon 8050S | - | windows | torch | 2.13.0 rocm10.0.0
Radeon PRO W6800 | - | windows | torch | 2.13.0 rocm10.0.0
Steam Deck OLED | - | linux | torch | 2.14.1 cpu
Arc B570 | - | linux | torch | 2.14.1 xpu
Arc Pro B50 | - | windows | torch | 2.14.1 xpu
Arc Pro B60 | - | linux | jax | none: no build
Arc A750 | - | linux | torch 3.9 | 2.8.0 xpu
Arc 140T | - | windows | torch | 2.14.1 xpu
Data Center GPU Max 1550 | - | linux | torch | 2.14.1 xpu
UHD Graphics 770 | - | linux | torch | 2.14.1 cpu
M5 | - | macos | torch | 2.14.1 mps
M5 Max | - | macos | jax | 0.11.1 cpu
M4 Max | - | macos | tensorflow | 2.21.0 cpu
M3 Ultra | - | macos | torch 3.8 | 2.4.1 mps
RTX 5090, RTX 4090 | 580.95.05 | linux | torch | 2.14.1 cu130
RTX 5090, RTX 3060 | 570.124.06 | linux | torch | 2.11.0 cu128
GTX 1660 Ti, RTX 5060 | 580.95.05 | linux | torch | 2.14.1 cu130
H200, H200 NVL | 595.58.03 | linux | torch | 2.14.1 cu132
RTX 5070 | 581.29 | wsl | torch | 2.14.1 cu130
RTX 5060 Laptop GPU | 576.57 | wsl | jax | 0.11.1 cuda12
RTX 4070 Laptop GPU | 551.61 | wsl | tensorflow | 2.21.0 and-cuda
GH200 | 595.58.03 | linux-arm64 | torch | 2.14.1 cu132
`;

interface Row {
  readonly line: string;
  readonly on: Machine;
  readonly framework: string;
  readonly python: string | undefined;
  readonly expected: string;
}

function read(line: string): Row {
  const [gpus = '', driver = '', system = '', wish = '', expected = ''] = line.split('|').map((part) => part.trim());
  const [name = 'linux', arch = name === 'macos' ? 'arm64' : 'x64'] = system.split('-');
  const wsl = name === 'wsl';
  const found = gpus === '-' ? [] : gpus.split(',').map((text, i) => gpuFromText(text.trim(), i));
  const [framework = '', python] = wish.split(' ');
  const on = machine({
    gpus: found,
    driver: driver === '-' ? null : driver,
    platform: (wsl ? 'linux' : name) as Platform,
    arch: arch as Arch,
    ...(wsl ? { host: { wsl: 2 } } : {}),
  });
  return { line, on, framework, python, expected };
}

const { tables } = loadTables();
/** Combinations that were tried after the table above was right: other drivers, Pythons, systems and pairs of cards. */
const LATER = readFileSync(new URL('./fixtures/machines.txt', import.meta.url), 'utf8');
const rows = `${TABLE}${LATER}`.trim().split('\n').map(read);

function answer({ on, framework, python }: Row): { readonly build: string; readonly text: string } {
  const result = resolve(tables, {
    machine: on,
    framework: frameworkOf(framework),
    ...(python === undefined ? {} : { python }),
  });
  return result.status === 'ok'
    ? { build: `${result.choice.version} ${result.choice.variant}`, text: result.summary }
    : { build: 'none', text: result.reason };
}

/** Machines and wishes off the beaten track; the head of the file tells the form. */
const odd = ['machines-odd', 'machines-asked', 'machines-late']
  .flatMap((file) => readFileSync(new URL(`./fixtures/${file}.txt`, import.meta.url), 'utf8').split('\n'))
  .filter((line) => line.includes(' | ') && !line.startsWith('#'));

const defaults = loadConfig(nodePorts({ env: { HOME: '/nonexistent' } }));

function oddAnswer(line: string): { readonly build: string; readonly said: string } {
  const [cards = '', driver = '', system = '', wish = ''] = line.split(' | ').map((part) => part.trim());
  const [name = '', ...words] = system.split(', ');
  const named = (word: string) => words.find((one) => one.startsWith(`${word} `))?.slice(word.length + 1);
  const platform = (name === 'wsl' ? 'linux' : name) as Platform;
  const [glibc, release, l4t, hidden] = [named('glibc'), named('macOS'), named('l4t'), named('hidden')];
  const gpus = cards === '-' ? [] : cards.split(', ').map(gpuFromText);
  const on = machine({
    gpus: gpus.map((gpu, i) => (hidden === String(i) ? block(gpu, ['hidden by a variable']) : gpu)),
    driver: driver === '-' ? null : driver,
    platform,
    arch: words.includes('arm64') || (platform === 'macos' && !words.includes('x64')) ? 'arm64' : 'x64',
    host: {
      ...(name === 'wsl' ? { wsl: 2 } : {}),
      ...(glibc ? { glibc: known(glibc, 'file') } : {}),
      ...(words.includes('musl') ? { glibc: missing('musl, not glibc'), distribution: known('void', 'file') } : {}),
      ...(release ? { name: known(`macOS ${release}.1`, 'os') } : {}),
      ...(l4t ? { board: known({ model: 'Jetson', soc: null, l4t: `${l4t}.4.1` }, 'device-tree') } : {}),
      ...(words.includes('in a container') ? { container: known('docker', 'env') } : {}),
    },
  });
  const [framework = '', python] = wish.split(' ');
  const flags = wish.startsWith('check ')
    ? { check: wish.slice('check '.length) }
    : { ...(wish === 'cpu' ? { cpuOnly: true } : { framework }), ...(python ? { python } : {}) };
  const result = resolve(tables, { machine: on, ...wishes(defaults, flags) });
  const ways = result.status === 'none' ? result.waysOut.map(({ text }) => text) : [];
  return {
    build: result.status === 'ok' ? `${result.choice.version} ${result.choice.variant}` : 'none',
    said: [result.summary, ...result.warnings, ...ways].join('\n'),
  };
}

describe('machines off the beaten track', () => {
  it('are at least 210', () => expect(odd.length).toBeGreaterThanOrEqual(210));

  it.each(odd)('%s', (line) => {
    const [build = '', says] = (line.split(' | ')[4] ?? '').trim().split(' ~ ');
    const answer = oddAnswer(line);
    expect(`${answer.build}\n${answer.said}`).toMatch(new RegExp(`^${build.replaceAll('.', '\\.')}\n`));
    if (says !== undefined) expect(answer.said).toMatch(new RegExp(says, 'is'));
  });
});

describe('machines that people have', () => {
  it('are at least 360', () => {
    expect(rows.length).toBeGreaterThanOrEqual(360);
  });

  it.each(rows.map((row) => [row.line, row] as const))('%s', (_, row) => {
    const { build, text } = answer(row);
    const [expected, reason] = row.expected.split(': ');
    expect(`${build} (${text})`).toContain(reason === undefined ? `${expected} (` : expected);
    if (reason !== undefined) expect(text).toContain(reason);
  });

  const result = (line: string) => {
    const { on, framework } = read(line);
    return resolve(tables, { machine: on, framework: frameworkOf(framework) });
  };

  it('of two vendors are told which cards are left out', () => {
    const mixed = result('RTX 4090, RX 7900 XTX | 580.95.05 | linux | torch | ');
    expect(mixed.warnings.join('\n')).toMatch(/RX 7900 XTX is left out: one build serves the GPUs of one vendor/);
    expect(result('RTX 4060, Iris Xe | 580 | linux | torch | ').warnings.join('\n')).not.toContain('left out');
  });

  it('with an AMD chip that no wheel lists are told of the override, and that AMD does not support it', () => {
    const none = result('RX 6700 XT | - | linux | torch | ');
    const way = none.status === 'none' ? none.waysOut.find(({ kind }) => kind === 'override') : undefined;
    expect(way?.text).toMatch(/HSA_OVERRIDE_GFX_VERSION=10\.3\.0.*AMD does not support/);
    expect(way?.choice?.environment).toEqual({ HSA_OVERRIDE_GFX_VERSION: '10.3.0' });
    const windows = result('RX 6700 XT | - | windows | torch | ');
    expect(windows.status === 'none' && windows.waysOut.some(({ kind }) => kind === 'override')).toBe(false);
  });

  it('whose integrated AMD chip no wheel lists get the CPU build, and hear of the override', () => {
    const laptop = result('Radeon 680M | - | linux | torch | ');
    expect(laptop.status === 'ok' && laptop.choice.backend).toBe('cpu');
    expect(laptop.summary).toContain('no build serves AMD Radeon 680M (gfx1035)');
    expect(laptop.warnings.join()).toMatch(/to use the GPU all the same, set HSA_OVERRIDE_GFX_VERSION=10\.3\.0/);
  });

  it('are told what there is, where a version or variant was never built', () => {
    const { on } = read('RTX 3090 | 580.95.05 | linux | torch | ');
    const reason = (wish: { version?: string; variant?: string }) => {
      const none = resolve(tables, { machine: on, framework: 'pytorch', ...wish });
      return none.status === 'none' ? none.reason : '';
    };
    expect(reason({ version: '1.12.1' })).toContain('the tables hold 1.13.1 to');
    expect(reason({ version: '2.5.1', variant: 'cu130' })).toContain('the tables hold cu124, cu121, cu118');
  });

  it('with an older JetPack are not given a build of a newer one', () => {
    const { on } = read('Jetson AGX Orin | 35.4 | linux-arm64 | torch | ');
    const board = known({ model: 'Jetson AGX Orin', soc: 'tegra234', l4t: '35.4.1' }, 'device-tree');
    const none = resolve(tables, { machine: { ...on, host: { ...on.host, board } }, framework: 'pytorch' });
    expect(none.status).toBe('none');
    expect(none.status === 'none' && none.waysOut.some(({ text }) => text.includes('JetPack'))).toBe(true);
  });

  it('with a board are told of its JetPack, not of branches and minor versions of desktop drivers', () => {
    const { on } = read('Jetson AGX Orin | 540.4.0 | linux-arm64 | torch | ');
    const orin = resolve(tables, { machine: on, framework: 'pytorch' });
    expect(orin.warnings.join('\n')).not.toContain('minor-version');
    expect(orin.proof.map(({ fact }) => fact)).toContain('jp6-cu126 is built for the driver of L4T 36');
    const unknown = resolve(tables, {
      machine: { ...on, drivers: { ...on.drivers, nvidia: null } },
      framework: 'pytorch',
    });
    expect(unknown.summary).toMatch(/^NVIDIA Jetson AGX Orin → torch 2\.8\.0 jp6-cu126/);
    expect(unknown.proof.map(({ fact }) => fact).join('\n')).not.toContain('580');
  });

  it('are judged by --check for builds of years ago', () => {
    const { on } = read('RTX 3090 | 580.95.05 | linux | torch | ');
    for (const version of ['2.5.1', '2.3', '2.1.2', '2.0.1', '1.13']) {
      expect(resolve(tables, { machine: on, framework: 'pytorch', version }).status, version).toBe('ok');
    }
    expect(resolve(tables, { machine: on, framework: 'pytorch', version: '2.0', variant: 'cu121' }).status).toBe(
      'none',
    );
  });
});
