// The doctor on every fixture machine: which codes it raises, with what exit status, and that every fix can be pasted.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { detect } from '../../src/forge/detect/detect.ts';
import { type DoctorFlags, type DoctorTools, runDoctor, runReport } from '../../src/forge/doctor/command.ts';
import { examine } from '../../src/forge/doctor/doctor.ts';
import type { FixPort } from '../../src/forge/doctor/fix.ts';
import {
  areas,
  type ComputeProbe,
  type DoctorOptions,
  type DoctorReport,
  type Finding,
} from '../../src/forge/doctor/types.ts';
import { nodeFixPort } from '../../src/forge/doctor/world-node.ts';
import type { Output } from '../../src/forge/style.ts';
import { memoryCache } from './fixtures/fixture.ts';
import { type MachineName, machine, machineNames } from './fixtures/machines.ts';
import { nvidiaCard } from './fixtures/parts.ts';
import { type WorldOptions, worldOf } from './fixtures/world.ts';

async function examined(name: MachineName, options: WorldOptions = {}, how: DoctorOptions = {}): Promise<DoctorReport> {
  const world = worldOf(machine(name), options);
  return examine(world, await detect(world.ports, { cache: false }), how);
}

function all(report: DoctorReport): readonly Finding[] {
  return report.areas.flatMap(({ findings }) => findings);
}

function troubles(report: DoctorReport): readonly string[] {
  return all(report)
    .filter(({ status }) => status === 'warning' || status === 'error')
    .map(({ code, status }) => `${code} ${status}`);
}

/** Exit status, then what is wrong; machines not listed must have nothing wrong. */
const expected: Partial<Record<MachineName, readonly [0 | 1 | 2, ...string[]]>> = {
  a100mig: [0],
  rx9070: [2, 'ACC-DENIED error'],
  arcA770: [1, 'INTEL-RUNTIME warning'],
  rosetta: [2, 'PLACE-ROSETTA error', 'NODE-WEBGPU warning'],
  m3max: [1, 'NODE-WEBGPU warning'],
  win7900xtx: [1, 'NODE-WEBGPU warning'],
  win4090: [1, 'NODE-KOFFI warning'],
  wsl2noGpu: [1, 'WSL-NO-DXG warning'],
  dockerNoDevices: [2, 'ACC-CONTAINER error', 'NODE-LIBCUDA error'],
  vfio: [1, 'GPU-VFIO warning'],
  mismatch: [2, 'DRV-MISMATCH error'],
  nouveau: [2, 'GPU-NOUVEAU error', 'DRV-MISSING error'],
  noDriver: [2, 'DRV-MISSING error'],
  unknownCard: [1, 'GPU-UNKNOWN warning', 'DRV-PROBE warning'],
  smiHangs: [2, 'DRV-HUNG error'],
  nvmlHangs: [2, 'DRV-HUNG error'],
  kepler: [1, 'DRV-BRANCH warning'],
};

describe('the doctor', () => {
  it.each(machineNames)('says of %s what is wrong, and nothing else', async (name) => {
    const report = await examined(name);
    const [status, ...codes] = expected[name] ?? [0];
    expect(troubles(report)).toEqual(codes);
    expect(report.exitStatus).toBe(status);
  });

  it.each(machineNames)('gives on %s a whole report: every area once, and a fix for every trouble', async (name) => {
    const report = await examined(name);
    expect(report.areas.map(({ area }) => area)).toEqual([...areas]);
    for (const entry of all(report)) {
      expect(entry.code).toMatch(/^[A-Z0-9]+(-[A-Z0-9]+)+$/);
      expect(entry.summary).not.toBe('');
      if (entry.status === 'error' || entry.status === 'warning') expect(entry.fix?.text, entry.code).toMatch(/\w{3}/);
    }
    expect(JSON.parse(JSON.stringify(report))).toEqual(report);
  });

  it('never calls a machine healthy without a run', async () => {
    const report = await examined('rtx4090');
    expect(report.verdict).toEqual({ compute: 'unverified', devices: [] });
    expect(report.areas.find(({ area }) => area === 'compute')?.status).toBe('unverified');
  });

  it('takes its verdict from a real run on each device', async () => {
    const good: ComputeProbe = async () => [
      { device: 'cuda:0', ok: true, detail: '1.2 ms' },
      { device: 'cpu', ok: true, detail: '3 ms' },
    ];
    const verified = await examined('rtx4090', {}, { computeProbe: good });
    expect(verified.verdict.compute).toBe('verified');
    expect(verified.exitStatus).toBe(0);

    const half: ComputeProbe = async () => [
      { device: 'cuda:0', ok: false, detail: 'wrong result' },
      { device: 'cpu', ok: true, detail: '3 ms' },
    ];
    expect(troubles(await examined('rtx4090', {}, { computeProbe: half }))).toEqual(['COMPUTE-DEVICE warning']);

    expect(troubles(await examined('noGpu', {}, { computeProbe: half }))).toEqual([]);

    const spare: ComputeProbe = async () => [
      { device: 'cuda:0', ok: true, detail: '1 ms' },
      { device: 'webgpu:0', ok: false, detail: 'not installed' },
    ];
    expect(troubles(await examined('rtx4090', {}, { computeProbe: spare }))).toEqual([]);

    const none = await examined('rtx4090', {}, { computeProbe: async () => Promise.reject(new Error('no device')) });
    expect([none.verdict.compute, none.exitStatus]).toEqual(['failed', 2]);
  });
});

describe('a card that sleeps', () => {
  it('is not computed on, unless it may be woken', async () => {
    const left: (readonly string[])[] = [];
    const computeProbe: ComputeProbe = async (leave) => {
      left.push(leave);
      return [{ device: 'cpu', ok: true, detail: '3 ms' }];
    };
    const report = await examined('optimus', {}, { computeProbe });
    const [, asleep] = report.areas.find((a) => a.area === 'compute')!.findings;
    expect(asleep).toMatchObject({ code: 'COMPUTE-ASLEEP', status: 'info' });
    expect(asleep?.summary).toMatch(/^cuda and webgpu did not run, as NVIDIA GeForce RTX 4070 Laptop GPU sleeps$/);
    await examined('optimus', {}, { computeProbe, wake: true });
    await examined('rtx4090', {}, { computeProbe });
    expect(left).toEqual([['cuda', 'webgpu'], [], []]);
  });
});

describe('a driver that hangs', () => {
  it('is not asked to compute, since that would never return', async () => {
    let asked = false;
    const probe: ComputeProbe = async () => {
      asked = true;
      return [];
    };
    const report = await examined('nvmlHangs', {}, { computeProbe: probe });
    expect(asked).toBe(false);
    expect(report.verdict.compute).toBe('unverified');
  });
});

describe('the driver area', () => {
  const names = (report: DoctorReport) => troubles(report);

  it('names the branch that fits the card, and the command of the distribution', async () => {
    const legacy = await examined('nouveau');
    const fix = all(legacy).find(({ code }) => code === 'DRV-MISSING')!.fix!;
    expect(fix.text).toContain('580');
    expect(fix.text).toContain('proprietary');
    expect(fix.commands).toEqual(['sudo apt install nvidia-driver-580']);
    const modern = all(await examined('noDriver')).find(({ code }) => code === 'DRV-MISSING')!.fix!;
    expect(modern.commands).toEqual(['sudo apt install nvidia-driver-580-open']);
  });

  it('tells a missing build, an unloaded module and Secure Boot apart', async () => {
    const libraries = {
      '/usr/lib/x86_64-linux-gnu/libcuda.so.1': 'ELF',
      '/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1': 'ELF',
    };
    const built = { '/lib/modules/6.8.0-48-generic/updates/dkms/nvidia.ko.zst': 'ELF' };
    const secure = {
      '/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c': '\u0006\u0000\u0000\u0000\u0001',
    };
    expect(names(await examined('noDriver', { files: libraries }))).toEqual(['DRV-NO-MODULE error']);
    expect(names(await examined('noDriver', { files: { ...libraries, ...built } }))).toEqual(['DRV-NOT-LOADED error']);
    expect(names(await examined('noDriver', { files: { ...libraries, ...built, ...secure } }))).toEqual([
      'DRV-SECURE-BOOT error',
    ]);
  });

  it('refuses drivers that cannot drive the card', async () => {
    const module = (text: string) => ({ '/proc/driver/nvidia/version': `NVRM version: NVIDIA UNIX ${text}\n` });
    const old = {
      '/sys/module/nvidia/version': '550.54.14\n',
      '/usr/lib/x86_64-linux-gnu/libcuda.so.1': 'ELF',
      '/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1': 'ELF',
    };
    expect(names(await examined('rtx5090', { files: old }))).toContain('DRV-TOO-OLD error');
    expect(names(await examined('rtx5090', { files: module('x86_64 Kernel Module  580.95.05  x') }))).toEqual([
      'DRV-MODULE error',
    ]);
    const tooNew = { ...old, '/sys/module/nvidia/version': '595.58.03\n' };
    expect(names(await examined('gtx1080', { files: tooNew }))).toEqual(['DRV-LEGACY error']);
  });
});

describe('the other areas', () => {
  it('see what the library path hides', async () => {
    const at = '/usr/local/cuda-12.8';
    const shadow = await examined('rtx4090', {
      env: { LD_LIBRARY_PATH: `${at}/lib64` },
      files: { [`${at}/lib64/libcudart.so.12`]: 'ELF' },
    });
    expect(troubles(shadow)).toEqual(['LIB-SHADOW warning']);
    const compat = await examined('rtx4090', {
      env: { LD_LIBRARY_PATH: `/opt/keep:${at}/compat` },
      files: {
        [`${at}/compat/libcuda.so.1`]: { link: 'libcuda.so.570.124.06' },
        [`${at}/compat/libcuda.so.570.124.06`]: 'ELF',
      },
    });
    expect(troubles(compat)).toEqual(['LIB-COMPAT error']);
    expect(all(compat).find(({ code }) => code === 'LIB-COMPAT')?.fix?.commands).toEqual([
      'export LD_LIBRARY_PATH="/opt/keep"',
    ]);
    expect(troubles(await examined('rtx4090', { env: { LD_LIBRARY_PATH: `${at}/lib64/stubs` } }))).toEqual([
      'LIB-STUBS error',
    ]);
  });

  it('see variables that hide the card', async () => {
    expect(troubles(await examined('rtx4090', { env: { CUDA_VISIBLE_DEVICES: '3' } }))).toContain('GPU-HIDDEN warning');
  });

  it('see a Linux driver inside WSL, and WSL 1', async () => {
    const inside = {
      '/usr/lib/x86_64-linux-gnu/libcuda.so.1': { link: 'libcuda.so.550.1' },
      '/usr/lib/x86_64-linux-gnu/libcuda.so.550.1': 'ELF',
    };
    expect(troubles(await examined('wsl2', { files: inside }))).toEqual(['WSL-LINUX-DRIVER error']);
  });

  it('see a container engine without the NVIDIA toolkit', async () => {
    expect(troubles(await examined('rtx4090', { files: { '/usr/bin/docker': 'ELF' } }))).toEqual([
      'CTR-TOOLKIT warning',
    ]);
    expect(
      troubles(await examined('rtx4090', { files: { '/usr/bin/docker': 'ELF', '/usr/bin/nvidia-ctk': 'ELF' } })),
    ).toEqual([]);
    expect(troubles(await examined('rx7900xtx', { files: { '/usr/bin/docker': 'ELF' } }))).toEqual([]);
  });

  it('see a driver whose memory module is not there', async () => {
    expect(troubles(await examined('rtx4090', { without: ['/dev/nvidia-uvm'] }))).toEqual(['ACC-UVM error']);
  });

  it('see what Node lacks', async () => {
    const koffi = '/home/ada/project/node_modules/koffi/package.json';
    expect(troubles(await examined('rtx4090', { without: [koffi] }))).toEqual(['NODE-KOFFI warning']);
    expect(troubles(await examined('noGpu', { without: [koffi] }))).toEqual([]);
  });

  it('see a Vulkan driver that needs a display, a broken one, and none', async () => {
    const icd = '/usr/share/vulkan/icd.d/nvidia_icd.json';
    const glx = { [icd]: '{"ICD":{"library_path":"libGLX_nvidia.so.0"}}' };
    expect(troubles(await examined('h200', { files: glx }))).toEqual(['VK-HEADLESS warning']);
    expect(troubles(await examined('h200', { files: glx, env: { DISPLAY: ':0' } }))).toEqual([]);
    expect(troubles(await examined('h200', { files: { [icd]: '{"ICD":{"library_path":"/opt/gone.so"}}' } }))).toEqual([
      'VK-BROKEN-ICD warning',
    ]);
    expect(troubles(await examined('rx7900xtx', { without: ['/usr/lib/x86_64-linux-gnu/libvulkan.so.1'] }))).toEqual([
      'VK-LOADER warning',
    ]);
    expect(troubles(await examined('rx7900xtx', { without: [icd] }))).toEqual(['VK-NO-ICD warning']);
    // A device that computed has found a loader somewhere.
    const computeProbe = async () => [{ device: 'webgpu:0', ok: true, detail: 'summed' }];
    for (const without of [['/usr/lib/x86_64-linux-gnu/libvulkan.so.1'], [icd]]) {
      const { areas: all } = await examined('rx7900xtx', { without }, { computeProbe });
      expect(all.find((a) => a.area === 'vulkan')?.findings.map((f) => f.code)).toEqual(['VK-OK']);
    }
    // CUDA does without Vulkan.
    expect(troubles(await examined('h200', { without: [icd] }))).toEqual([]);
  });

  it('see a full disk, an unreachable index and old tables', async () => {
    expect(troubles(await examined('noGpu', { freeGiB: 1.5 }))).toEqual(['DISK-FULL error']);
    expect(troubles(await examined('noGpu', { freeGiB: 4 }))).toEqual(['DISK-LOW warning']);
    // Nothing of what is installed needs an index: it is told, and is no trouble.
    const unreachable = await examined('noGpu', { unreachable: ['pypi.org'] });
    expect(troubles(unreachable)).toEqual([]);
    expect(unreachable.exitStatus).toBe(0);
    expect(unreachable.areas.flatMap((a) => a.findings).find((f) => f.code === 'NET-UNREACHABLE')?.status).toBe('info');
    expect(troubles(await examined('noGpu', { unreachable: ['pypi.org'] }, { offline: true }))).toEqual([]);
    // Where a mirror is set, it is the one that must answer.
    const mirrors = { pypi: 'http://mirror.example.com:3141/simple' };
    const network = async (host: string) =>
      (await examined('noGpu', { unreachable: [host] }, { mirrors })).areas
        .flatMap((a) => a.findings)
        .find((f) => f.area === 'network');
    expect((await network('pypi.org'))?.code).toBe('NET-OK');
    expect((await network('mirror.example.com'))?.summary).toBe('mirror.example.com cannot be reached');
    expect(troubles(await examined('noGpu', { now: () => Date.UTC(2028, 0, 1) }))).toEqual(['DATA-OLD warning']);
  });

  it('judge the frameworks that are installed by the tables of the resolver', async () => {
    const torch = (build: string) => ({ python: [`torch-${build}`] });
    expect(troubles(await examined('rtx4090', torch('2.14.1+cu130')))).toEqual([]);
    expect(troubles(await examined('gtx1080', torch('2.14.1+cu130')))).toEqual(['PY-WRONG-BUILD error']);
    expect(troubles(await examined('gtx1080', torch('2.14.1+cu126')))).toEqual([]);
    expect(troubles(await examined('rtx5090', torch('2.14.1+cu126')))).toEqual(['PY-WRONG-BUILD error']);
    expect(troubles(await examined('rtx5090oldDriver', torch('2.14.1+cu130')))).toEqual(['PY-WRONG-BUILD error']);
    expect(troubles(await examined('rtx4090', torch('2.14.1+cpu')))).toEqual(['PY-CPU-BUILD warning']);
    expect(troubles(await examined('noGpu', torch('2.14.1+cpu')))).toEqual([]);
  });

  it('read the build of a PyPI wheel from its own files', async () => {
    const py = (cuda: string) => `__version__ = '2.14.1'\ncuda: Optional[str] = ${cuda}\nhip: Optional[str] = None\n`;
    const report = await examined('gtx1080', { python: ['torch-2.14.1'], torchVersionPy: py("'13.0'") });
    expect(all(report).find(({ code }) => code === 'PY-FOUND')?.summary).toContain('torch 2.14.1 (cu130)');
    expect(troubles(report)).toEqual(['PY-WRONG-BUILD error']);
    expect(troubles(await examined('rtx4090', { python: ['torch-2.14.1'], torchVersionPy: py('None') }))).toEqual([
      'PY-CPU-BUILD warning',
    ]);
  });

  it("see packages that get in each other's way", async () => {
    const jax = { python: ['jax-0.11.1', 'jax_cuda12_plugin-0.11.1', 'jax_cuda13_plugin-0.11.1'] };
    expect(troubles(await examined('rtx4090', jax))).toContain('PY-JAX-PLUGINS error');
    const cudnn = { python: ['nvidia_cudnn_cu12-9.10.2', 'nvidia_cudnn_cu13-9.24.0'] };
    expect(troubles(await examined('rtx4090', cudnn))).toEqual(['PY-CUDNN-MIXED warning']);
  });

  it('go on when one check fails by itself', async () => {
    const world = worldOf(machine('rtx4090'));
    const broken = {
      ...world,
      freeBytes: () => {
        throw new Error('unexpected');
      },
    };
    const report = await examine(broken, await detect(world.ports, { cache: false }));
    expect(troubles(report)).toEqual(['DOCTOR-CHECK warning']);
    expect(report.areas).toHaveLength(areas.length);
  });
});

function capture(isTTY = false): Output & { readonly out: string[]; readonly err: string[] } {
  const out: string[] = [];
  const err: string[] = [];
  return { out, err, write: (text) => void out.push(text), warn: (text) => void err.push(text), isTTY, columns: 100 };
}

function recording(made: string[]): FixPort {
  return {
    create(file) {
      made.push(file);
      return 'written';
    },
  };
}

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true, force: true });
});

describe('gpuforge doctor', () => {
  const tools: DoctorTools = { fixPort: { create: () => 'failed' } };
  const run = async (
    name: MachineName,
    flags: DoctorFlags,
    options: WorldOptions = {},
    own: Partial<DoctorTools> = {},
  ) => {
    const output = capture();
    const status = await runDoctor(worldOf(machine(name), options), flags, output, { ...tools, ...own });
    return { status, text: output.out.join(''), warnings: output.err.join('') };
  };

  it('prints one line an area and the fix below what is wrong', async () => {
    const { status, text } = await run('mismatch', {});
    expect(status).toBe(2);
    expect(text).toContain('[✗] driver         the kernel module and the library are of different versions');
    expect(text).toContain('        fix  Reboot.');
    expect(text).toContain('             sudo reboot');
    expect(text).toContain('[?] compute');
    expect(text).toMatch(/Doctor found issues in 1 area\. Whether GPUForge computes here was not verified\.\n$/);
    expect(text).not.toContain('DRV-MISMATCH');
    expect(text).not.toContain('\u001b[');
  });

  it('shows evidence and codes with -v', async () => {
    const { text } = await run('mismatch', { verbose: true });
    expect(text).toContain('DRV-MISMATCH');
    expect(text).toContain('kernel module 570.133.07, libnvidia-ml.so.1 580.95.05');
  });

  it('prints pure JSON with --json, whatever else is said', async () => {
    const { text, warnings } = await run(
      'h200',
      { json: true, fix: true },
      { files: { '/usr/share/vulkan/icd.d/nvidia_icd.json': '{"ICD":{"library_path":"libGLX_nvidia.so.0"}}' } },
    );
    const report = JSON.parse(text) as DoctorReport;
    expect(report).toMatchObject({
      schema: 'gpuforge.doctor/1',
      exitStatus: 1,
      supportedFixes: ['write-headless-icd'],
    });
    expect(warnings).toContain('--fix would');
  });

  it('leaves the network alone with --offline and takes another interpreter with --python', async () => {
    expect((await run('noGpu', { offline: true })).text).toContain(
      '[-] network        not checked: the network is off',
    );
    const other = await run('noGpu', { python: '/opt/none/bin/python', verbose: true });
    expect(other.text).toContain('/opt/none/bin/python does not exist');
  });

  it('wakes a sleeping card only with --deep', async () => {
    expect((await run('optimus', {})).text).toContain('sleeps; it was not asked');
    const world = worldOf(machine('optimus'));
    await runDoctor(world, { deep: true }, capture(), tools);
    expect(world.ports.runs).toContain('nvml /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1');
  });

  describe('--fix', () => {
    const glx = {
      files: { '/usr/share/vulkan/icd.d/nvidia_icd.json': '{"ICD":{"library_path":"libGLX_nvidia.so.0"}}' },
    };

    it('shows what it would do and does nothing without consent', async () => {
      const made: string[] = [];
      const fixPort = recording(made);
      const { warnings } = await run('h200', { fix: true }, glx, { fixPort });
      expect(warnings).toContain('write /home/ada/.local/share/vulkan/icd.d/nvidia_headless_icd.json');
      expect(warnings).toContain('Nothing was changed');
      expect(made).toEqual([]);
      const refused = await run('h200', { fix: true }, glx, { fixPort, confirm: async () => false });
      expect(refused.warnings).toContain('Nothing was changed');
      expect(made).toEqual([]);
    });

    it('does it on consent, and never over an existing file', async () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gpuforge-fix-'));
      folders.push(folder);
      const options = { ...glx, env: { XDG_DATA_HOME: folder } };
      const first = await run('h200', { fix: true, yes: true }, options, { fixPort: nodeFixPort });
      expect(first.warnings).toContain('done: wrote');
      const file = path.join(folder, 'vulkan/icd.d/nvidia_headless_icd.json');
      expect(JSON.parse(fs.readFileSync(file, 'utf8')).ICD.library_path).toBe('libEGL_nvidia.so.0');
      fs.writeFileSync(file, 'mine');
      const second = await run('h200', { fix: true, yes: true }, options, { fixPort: nodeFixPort });
      expect(second.warnings).toContain('not done');
      expect(fs.readFileSync(file, 'utf8')).toBe('mine');
    });

    it('refuses to work as root unless told so', async () => {
      const made: string[] = [];
      const fixPort = recording(made);
      const root = { ...machine('h200'), user: { uid: 0, gids: [0] } };
      const output = capture();
      await runDoctor(worldOf(root, glx), { fix: true, yes: true }, output, { fixPort });
      expect(output.err.join('')).toContain('this is root');
      expect(made).toEqual([]);
      await runDoctor(worldOf(root, glx), { fix: true, yes: true, allowRoot: true }, capture(), { fixPort });
      expect(made).toHaveLength(1);
    });

    it('removes unreadable cache entries and nothing else', async () => {
      const cache = memoryCache();
      cache.write('detect-0123456789abcdef.json', 'broken');
      cache.write('keep.txt', 'mine');
      const { status, warnings } = await run('noGpu', { fix: true, yes: true }, { cache });
      expect(status).toBe(1);
      expect(warnings).toContain('removed 1 files');
      expect(cache.list().map(({ name }) => name)).toEqual(['keep.txt']);
    });

    it('says so when nothing is for it to do', async () => {
      expect((await run('mismatch', { fix: true, yes: true })).warnings).toContain('Nothing that --fix may do');
    });
  });
});

describe('gpuforge report', () => {
  it('is a Markdown table with the facts of an issue', async () => {
    const output = capture();
    const world = worldOf(machine('mixed'), {
      python: ['torch-2.14.1+cu126'],
      env: { CUDA_VISIBLE_DEVICES: 'GPU-00000001-1111-2222-3333-444444444444' },
    });
    expect(await runReport(world, {}, output, '0.1.0')).toBe(0);
    const text = output.out.join('');
    expect(text).toContain('| gpuforge | 0.1.0 |');
    expect(text).toContain('| GPU 0 | NVIDIA GeForce RTX 4090 (24.0 GiB, sm_89) [10de:2684]');
    expect(text).toContain('| NVIDIA driver | 570.133.07, CUDA 12.8, proprietary module |');
    expect(text).toContain('| packages | koffi 3.3.4, webgpu 0.6.2 |');
    expect(text).toContain('torch 2.14.1+cu126');
    expect(text).toContain('| compute | not verified |');
    expect(text).toContain('- `GPU-HIDDEN`');
  });

  it.each(machineNames)('names nobody on %s', async (name) => {
    const output = capture();
    await runReport(
      worldOf(machine(name), {
        env: {
          CUDA_VISIBLE_DEVICES: 'GPU-00000000-1111-2222-3333-444444444444',
          LD_LIBRARY_PATH: '/home/ada/lib/stubs',
        },
      }),
      {},
      output,
      '0.1.0',
    );
    const text = output.out.join('');
    expect(text).not.toMatch(/\bada\b/);
    expect(text).not.toContain('GPU-00000000-1111');
    expect(text).not.toContain('/home/');
  });

  it('has a JSON form with a schema', async () => {
    const output = capture();
    await runReport(worldOf(machine('noGpu')), { json: true }, output, '0.1.0');
    expect(JSON.parse(output.out.join(''))).toMatchObject({ schema: 'gpuforge.report/1' });
  });

  it('starts no framework: one question to the interpreter, and the driver library', async () => {
    const world = worldOf(machine('rtx4090'), { python: ['torch-2.14.1+cu130'] });
    await runReport(world, {}, capture(), '0.1.0');
    const programs = new Set(world.ports.runs.map((run) => run.split(' ')[0]));
    expect([...programs].sort()).toEqual(['/usr/bin/python3', 'nvml']);
    for (const run of world.ports.runs) expect(run).not.toContain('import torch');
  });
});

describe('a card that is swapped', () => {
  it('is seen by the doctor at once, since it reads no cache', async () => {
    const cache = memoryCache();
    const first = worldOf(machine('noDriver'), { cache });
    await detect(first.ports);
    const report = await examined('noDriver', {
      cache,
      files: nvidiaCard('0000:01:00.0', '2b85', { driver: undefined as never }),
    });
    expect(all(report)[0]?.summary).toContain('5090');
  });
});
