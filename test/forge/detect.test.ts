// Detection on every fixture machine: what is found, where it came from, and what was started to find it.

import { describe, expect, it } from 'vitest';
import { detect } from '../../src/forge/detect/detect.ts';
import { formatCc, type Gpu, type Machine } from '../../src/forge/machine.ts';
import { play } from './fixtures/fixture.ts';
import { type MachineName, machine, machineNames } from './fixtures/machines.ts';

const GIB = 1024 ** 3;

/** One line a GPU: vendor, target, memory with its source, usable or the first blocker. */
function line(gpu: Gpu): string {
  const target =
    'source' in gpu.computeCapability
      ? `sm_${formatCc(gpu.computeCapability.value).replace('.', '')}`
      : 'source' in gpu.gfx
        ? gpu.gfx.value
        : 'source' in gpu.intelFamily
          ? gpu.intelFamily.value
          : '-';
  const memory =
    'source' in gpu.memoryBytes ? `${(gpu.memoryBytes.value / GIB).toFixed(1)} (${gpu.memoryBytes.source})` : 'unknown';
  const name = 'source' in gpu.name ? gpu.name.value : 'unnamed';
  return `${name} | ${target} | ${memory} | ${gpu.usable ? 'usable' : gpu.blockers[0]}`;
}

async function on(name: MachineName, env: Record<string, string> = {}) {
  const ports = play(machine(name), { env });
  const detection = await detect(ports);
  return { ...detection, ports };
}

function driver(machine: Machine): string {
  const nvidia = machine.drivers.nvidia;
  if (!nvidia) return '-';
  const version = 'source' in nvidia.version ? nvidia.version.value : 'none';
  const cuda = 'source' in nvidia.cuda ? `CUDA ${nvidia.cuda.value} (${nvidia.cuda.source})` : 'no CUDA';
  return `${version} ${cuda}`;
}

/** What each machine must yield: the driver, then one line a GPU. */
const expected: Record<MachineName, readonly string[]> = {
  h200: [
    '580.159.04 CUDA 13.0 (nvml)',
    'NVIDIA H200 | sm_90 | 140.4 (nvml) | usable',
    'ASPEED server management adapter | - | unknown | no compute on this device',
  ],
  a100x8: ['535.183.01 CUDA 12.2 (nvml)', ...Array(8).fill('NVIDIA A100-SXM4-40GB | sm_80 | 40.0 (nvml) | usable')],
  a100mig: ['550.54.15 CUDA 12.4 (nvml)', 'NVIDIA A100 80GB PCIe | sm_80 | 80.0 (nvml) | usable'],
  rtx5090: ['580.95.05 CUDA 13.0 (nvml)', 'NVIDIA GeForce RTX 5090 | sm_120 | 31.8 (nvml) | usable'],
  rtx5090oldDriver: ['570.124.06 CUDA 12.8 (nvml)', 'NVIDIA GeForce RTX 5090 | sm_120 | 31.8 (nvml) | usable'],
  rtx4090: ['595.58.03 CUDA 13.2 (nvml)', 'NVIDIA GeForce RTX 4090 | sm_89 | 24.0 (nvml) | usable'],
  rtx3060: ['550.54.14 CUDA 12.4 (nvml)', 'NVIDIA GeForce RTX 3060 | sm_86 | 12.0 (nvml) | usable'],
  gtx1080: ['580.95.05 CUDA 13.0 (nvml)', 'NVIDIA GeForce GTX 1080 | sm_61 | 8.0 (nvml) | usable'],
  mixed: [
    '570.133.07 CUDA 12.8 (nvml)',
    'NVIDIA GeForce RTX 4090 | sm_89 | 24.0 (nvml) | usable',
    'NVIDIA GeForce GTX 1080 Ti | sm_61 | 11.0 (nvml) | usable',
  ],
  optimus: [
    '580.95.05 CUDA 13.0 (pci-table)',
    'NVIDIA GeForce RTX 4070 Laptop GPU | sm_89 | 8.0 (pci-table) | usable',
    'Intel Iris Xe Graphics (Alder Lake) | xe-lp | 32.0 (os) | usable',
  ],
  mi300x: [
    '-',
    'AMD Instinct MI300X OAM | gfx942 | 192.0 (sysfs) | usable',
    'ASPEED server management adapter | - | unknown | no compute on this device',
  ],
  rx7900xtx: [
    '-',
    'AMD Radeon RX 7900 XTX | gfx1100 | 24.0 (sysfs) | usable',
    'AMD Radeon Graphics | gfx1036 | 31.0 (sysfs) | usable',
  ],
  rx9070: ['-', 'AMD Radeon RX 9070 XT | gfx1201 | 16.0 (sysfs) | /dev/kfd has mode 660 and belongs to group render'],
  rx6700xt: ['-', 'AMD Radeon RX 6700 XT | gfx1031 | 12.0 (sysfs) | usable'],
  strixHalo: ['-', 'AMD Radeon 8060S Graphics | gfx1151 | 62.5 (sysfs) | usable'],
  arcB580: ['-', 'Intel Arc B580 | battlemage | 12.0 (pci-table) | usable'],
  arcA770: ['-', 'Intel Arc A770 | alchemist | 16.0 (sysfs) | usable'],
  irisXe: ['-', 'Intel Iris Xe Graphics (Tiger Lake) | xe-lp | 16.0 (os) | usable'],
  uhd770: ['-', 'Intel UHD Graphics 770 | xe-lp | 32.0 (os) | usable'],
  m3max: ['-', 'Apple M3 Max GPU | - | 64.0 (os) | usable'],
  rosetta: ['-', 'Apple M1 GPU | - | 16.0 (os) | this Node is an x64 build under Rosetta: the GPU needs an arm64 one'],
  intelMac: ['-'],
  wsl2: ['572.83 CUDA 12.8 (nvml)', 'NVIDIA GeForce RTX 4080 | sm_89 | 16.0 (nvml) | usable'],
  wsl2smi: [
    '566.36 CUDA 12.7 (pci-table)',
    'NVIDIA GeForce RTX 3090 | sm_86 | 24.0 (smi) | usable',
    'NVIDIA GeForce RTX 3070 | sm_86 | 8.0 (smi) | usable',
  ],
  wsl2noGpu: ['-'],
  jetsonOrin: ['none no CUDA', 'NVIDIA Jetson AGX Orin Developer Kit GPU | sm_87 | 61.0 (os) | usable'],
  jetsonNano: ['none no CUDA', 'NVIDIA Jetson Nano Developer Kit GPU | sm_53 | 3.9 (os) | usable'],
  gb10: ['580.95.05 CUDA 13.0 (pci-table)', 'NVIDIA GB10 | sm_121 | 119.7 (os) | usable'],
  dockerNoDevices: [
    '580.95.05 CUDA 13.0 (pci-table)',
    'NVIDIA H200 | sm_90 | 141.0 (pci-table) | /dev/nvidiactl does not exist',
  ],
  dockerOneOfEight: [
    '550.90.07 CUDA 12.4 (nvml)',
    ...Array(2).fill('NVIDIA A100-SXM4-40GB | sm_80 | 40.0 (pci-table) | the driver does not show it to this process'),
    'NVIDIA A100-SXM4-40GB | sm_80 | 40.0 (nvml) | usable',
    ...Array(5).fill('NVIDIA A100-SXM4-40GB | sm_80 | 40.0 (pci-table) | the driver does not show it to this process'),
  ],
  vfio: [
    'none no CUDA',
    'NVIDIA GeForce RTX 4080 | sm_89 | 16.0 (pci-table) | bound to vfio-pci: reserved for a virtual machine',
    'Intel UHD Graphics 770 | xe-lp | 64.0 (os) | usable',
  ],
  mismatch: [
    '570.133.07 CUDA 12.8 (pci-table)',
    'NVIDIA GeForce RTX 4090 | sm_89 | 24.0 (pci-table) | driver and library differ: kernel module 570.133.07, libnvidia-ml.so.1 580.95.05 (/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1)',
  ],
  nouveau: ['none no CUDA', 'NVIDIA GeForce GTX 970 | sm_52 | 4.0 (pci-table) | bound to nouveau, which has no CUDA'],
  noDriver: [
    'none no CUDA',
    'NVIDIA GeForce RTX 4090 | sm_89 | 24.0 (pci-table) | the NVIDIA kernel module is not loaded',
  ],
  unknownCard: ['615.20 CUDA 13.4 (pci-table)', 'unnamed | - | 128.0 (sysfs) | usable'],
  noGpu: ['-'],
  virtioOnly: ['-', 'virtio display adapter | - | unknown | no compute on this device'],
  smiHangs: ['535.183.01 CUDA 12.2 (pci-table)', 'NVIDIA GeForce RTX 3090 | sm_86 | 24.0 (pci-table) | usable'],
  nvmlHangs: ['535.183.01 CUDA 12.2 (pci-table)', 'NVIDIA GeForce RTX 3090 | sm_86 | 24.0 (pci-table) | usable'],
  kepler: ['470.256.02 CUDA 11.4 (pci-table)', 'Tesla K80 | sm_37 | 11.2 (smi) | usable'],
  win4090: [
    '572.83 CUDA 12.8 (nvml)',
    'NVIDIA GeForce RTX 4090 | sm_89 | 24.0 (nvml) | usable',
    'Intel(R) UHD Graphics 770 | xe-lp | 64.0 (os) | usable',
  ],
  win7900xtx: ['-', 'AMD Radeon RX 7900 XTX | gfx1100 | 24.0 (registry) | usable'],
  unreadableSysfs: ['-'],
};

describe('detection', () => {
  it.each(machineNames)('finds on %s what is there', async (name) => {
    const { machine: found } = await on(name);
    expect([driver(found), ...found.gpus.map(line)]).toEqual(expected[name]);
  });

  it.each(machineNames)('gives every missing value on %s a reason, and never a zero', async (name) => {
    const { machine: found } = await on(name);
    for (const gpu of found.gpus) {
      for (const [field, fact] of Object.entries(gpu)) {
        if (typeof fact !== 'object' || fact === null || !('value' in fact)) continue;
        if (fact.value === null) expect(fact.reason, field).toMatch(/\w{3}/);
        else expect(fact.source, field).toMatch(/\w/);
      }
      expect('source' in gpu.memoryBytes ? gpu.memoryBytes.value : 1).toBeGreaterThan(0);
      expect(gpu.usable).toBe(gpu.blockers.length === 0);
    }
  });

  it('starts nothing where there is no NVIDIA driver to ask', async () => {
    for (const name of [
      'noGpu',
      'rx7900xtx',
      'arcB580',
      'm3max',
      'vfio',
      'nouveau',
      'noDriver',
      'wsl2noGpu',
    ] as const) {
      expect((await on(name)).ports.runs, name).toEqual([]);
    }
  });

  it('asks the library and then no tool', async () => {
    expect((await on('rtx4090')).ports.runs).toEqual(['nvml /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1']);
  });

  it('leaves a sleeping card asleep unless told to wake it', async () => {
    const asleep = await on('optimus');
    expect(asleep.ports.runs).toEqual([]);
    expect(asleep.machine.probes.at(-1)).toMatchObject({ name: 'nvml', outcome: 'skipped' });
    const ports = play(machine('optimus'));
    const woken = await detect(ports, { wake: true });
    expect(woken.machine.gpus[0]?.memoryBytes).toMatchObject({ source: 'nvml' });
  });

  it('never asks a driver whose library does not match it', async () => {
    expect((await on('mismatch')).ports.runs).toEqual([]);
  });

  it('keeps the facts of the files when the library hangs, and does not try the tool', async () => {
    const { machine: found, ports } = await on('nvmlHangs');
    expect(ports.runs).toHaveLength(1);
    expect(found.partial).toBe(true);
    expect(found.probes.at(-1)).toMatchObject({ tier: 1, name: 'nvml', outcome: 'timeout' });
  });

  it('says so when the tool hangs or prints nonsense', async () => {
    expect((await on('smiHangs')).machine.probes.at(-1)).toMatchObject({ tier: 2, outcome: 'timeout' });
    const garbage = (await on('unknownCard')).machine;
    expect(garbage.probes.at(-1)).toMatchObject({ tier: 2, outcome: 'failed' });
    expect(garbage.probes.at(-1)?.detail).toContain('Segmentation fault');
  });

  describe('where NVML would start a second Node', () => {
    const row = (mig: string) => `0, GPU-1, 00000000:4E:00.0, NVIDIA H200, 580.159.04, 9.0, 143771, 143000, ${mig}\n`;
    async function withSmi(answer: { status: number; stdout: string } | 'hangs' | undefined) {
      const fixture = machine('h200');
      const asked: string[] = [];
      const tools = { ...fixture.tools, ...(answer === undefined ? {} : { 'nvidia-smi': answer }) };
      const ports = play({ ...fixture, tools });
      const nvml = {
        startsNode: true as const,
        query: (library: string, timeoutMs: number) => {
          asked.push(library);
          return ports.nvml.query(library, timeoutMs);
        },
      };
      const detection = await detect({ ...ports, nvml }, { cache: false });
      return { asked, gpu: detection.machine.gpus[0]!, probes: detection.machine.probes };
    }

    it('nvidia-smi answers first, and alone where it tells all', async () => {
      const { asked, gpu } = await withSmi({ status: 0, stdout: row('Disabled') });
      expect(asked).toEqual([]);
      expect(gpu.memoryBytes).toMatchObject({ source: 'smi' });
    });

    it('a divided card, an nvidia-smi that fails and one that is absent lead to NVML', async () => {
      for (const answer of [{ status: 0, stdout: row('Enabled') }, { status: 9, stdout: 'no' }, undefined]) {
        const { asked, gpu } = await withSmi(answer);
        expect(asked).toHaveLength(1);
        expect(gpu.memoryBytes).toMatchObject({ source: 'nvml' });
      }
    });

    it('a driver that hangs is asked once', async () => {
      const { asked, probes } = await withSmi('hangs');
      expect(asked).toEqual([]);
      expect(probes.at(-1)).toMatchObject({ name: 'nvidia-smi', outcome: 'timeout' });
    });
  });

  it('asks an old nvidia-smi again without the field it does not know', async () => {
    const { ports } = await on('kepler');
    expect(ports.runs.filter((run) => run.startsWith('nvidia-smi'))).toHaveLength(2);
  });

  it('stays with files when tier 0 is asked for', async () => {
    const ports = play(machine('h200'));
    const { machine: found } = await detect(ports, { tier: 0 });
    expect(ports.runs).toEqual([]);
    expect(found.gpus[0]?.memoryBytes).toMatchObject({ source: 'pci-table', value: 141 * GIB });
    expect(found.gpus[0]?.name).toMatchObject({ source: 'proc', value: 'NVIDIA H200' });
  });

  it('reports MIG instances with their own memory', async () => {
    const { machine: found } = await on('a100mig');
    const mig = found.gpus[0]!.mig;
    expect('source' in mig && mig.value.enabled && mig.value.instances.length).toBe(2);
    expect('source' in mig && mig.value.instances[0]?.memoryBytes).toBe(40_192 * 1024 * 1024);
  });

  it('counts a partitioned MI300X as one GPU and uses the mapped memory of an APU', async () => {
    expect((await on('mi300x')).machine.gpus.filter((gpu) => gpu.vendor === 'amd')).toHaveLength(1);
    const halo = (await on('strixHalo')).machine.gpus[0]!;
    expect(halo.unified).toBe(true);
    expect(halo.units).toMatchObject({ value: 40, source: 'kfd' });
  });

  it('tells the place around the GPUs', async () => {
    expect((await on('a100x8')).machine.host.cloud).toMatchObject({ value: 'aws' });
    expect((await on('wsl2')).machine.host.wsl).toBe(2);
    expect((await on('dockerNoDevices')).machine.host.container).toMatchObject({ value: 'docker' });
    expect((await on('jetsonOrin')).machine.host.board).toMatchObject({ value: { soc: 'tegra234', l4t: '36.4.3' } });
    expect((await on('noGpu')).machine.host.hypervisor).toMatchObject({ value: 'KVM/QEMU' });
    expect((await on('rtx4090')).machine.host.glibc).toMatchObject({ value: '2.39' });
    expect((await on('m3max')).machine.host.name).toMatchObject({ value: 'macOS 15' });
  });
});

describe('visibility variables', () => {
  it('hide a card only where that is certain, and always say so', async () => {
    const uniform = await on('a100x8', { CUDA_VISIBLE_DEVICES: '0,1' });
    expect(uniform.machine.gpus.filter((gpu) => gpu.usable)).toHaveLength(2);
    expect(uniform.machine.gpus).toHaveLength(8);
    expect(uniform.machine.warnings[0]).toContain('6 of 8 devices are hidden');

    const mixed = await on('mixed', { CUDA_VISIBLE_DEVICES: '0' });
    expect(mixed.machine.gpus.every((gpu) => gpu.usable)).toBe(true);
    expect(mixed.machine.warnings[0]).toContain('CUDA_DEVICE_ORDER=PCI_BUS_ID');

    const ordered = await on('mixed', { CUDA_VISIBLE_DEVICES: '1', CUDA_DEVICE_ORDER: 'PCI_BUS_ID' });
    expect(ordered.machine.gpus.map((gpu) => gpu.usable)).toEqual([false, true]);
  });

  it('understand empty lists, -1, UUIDs and numbers that do not exist', async () => {
    for (const value of ['', '-1', '7']) {
      const { machine: found } = await on('rtx4090', { CUDA_VISIBLE_DEVICES: value });
      expect(found.gpus[0]?.usable, value).toBe(false);
    }
    const byUuid = await on('mixed', { CUDA_VISIBLE_DEVICES: 'GPU-00000001' });
    expect(byUuid.machine.gpus.map((gpu) => gpu.usable)).toEqual([false, true]);
    const byMig = await on('a100mig', { CUDA_VISIBLE_DEVICES: 'MIG-00000002-aaaa-bbbb-cccc-dddddddddddd' });
    expect(byMig.machine.gpus[0]?.usable).toBe(true);
  });
});

describe('overrides', () => {
  it('replace detection and are shown', async () => {
    const ports = play(machine('noGpu'));
    const { machine: found } = await detect(ports, { override: { gpus: ['RTX 4090'], driver: '570.124.06' } });
    expect(found.overrides).toEqual(['GPU: RTX 4090', 'driver: 570.124.06']);
    expect(found.gpus.map(line)).toEqual(['NVIDIA GeForce RTX 4090 | sm_89 | 24.0 (pci-table) | usable']);
    expect(driver(found)).toBe('570.124.06 CUDA 12.8 (pci-table)');
  });

  it('come from the environment too, and a given one beats it', async () => {
    const { machine: found } = await on('noGpu', { GPUFORGE_GPU: 'gfx1100, sm_61' });
    expect(found.gpus.map((gpu) => gpu.vendor)).toEqual(['amd', 'nvidia']);
    const ports = play(machine('noGpu'), { env: { GPUFORGE_GPU: 'gfx1100' } });
    expect((await detect(ports, { override: { gpus: ['H200'] } })).machine.gpus.map(line)).toEqual([
      'NVIDIA H200 | sm_90 | 141.0 (pci-table) | usable',
    ]);
  });

  it.each([
    ['rtx4090', 'NVIDIA GeForce RTX 4090'],
    ['GTX 1080', 'NVIDIA GeForce GTX 1080'],
    ['1080 Ti', 'NVIDIA GeForce GTX 1080 Ti'],
    ['10de:2335', 'NVIDIA H200'],
    ['A100', 'NVIDIA A100'],
    ['4090', 'NVIDIA GeForce RTX 4090'],
    ['RX 7900 XTX', 'AMD Radeon RX 7900 XTX'],
    ['Arc B580', 'Intel Arc B580'],
    ['M3 Max', 'Apple M3 Max GPU'],
  ])('understand "%s"', async (text, name) => {
    const { machine: found } = await detect(play(machine('noGpu')), { override: { gpus: [text] } });
    expect('source' in found.gpus[0]!.name && found.gpus[0]!.name.value).toBe(name);
  });

  it('leave the memory open where a name covers several sizes', async () => {
    const { machine: found } = await detect(play(machine('noGpu')), { override: { gpus: ['A100'] } });
    expect(found.gpus[0]?.memoryBytes).toMatchObject({ value: null });
  });

  it('refuse a name that no table knows, and offer near ones', async () => {
    const attempt = detect(play(machine('noGpu')), { override: { gpus: ['RTX 4095'] } });
    await expect(attempt).rejects.toMatchObject({ code: 'UNKNOWN_GPU', fix: expect.stringContaining('RTX 4090') });
  });
});
