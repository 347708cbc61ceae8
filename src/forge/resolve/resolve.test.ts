import { describe, expect, it } from 'vitest';
import { amd, hopeless, intel, machine, machines, nvidia } from '../../../test/forge/fixtures/targets.ts';
import { loadTables } from '../data/tables.ts';
import { known, type Machine, missing } from '../machine.ts';
import { listBuilds, resolve } from './resolve.ts';
import type { ResolveRequest } from './types.ts';

const { tables } = loadTables();
const ask = (on: Machine, rest: Partial<ResolveRequest> = {}) =>
  resolve(tables, { machine: on, framework: 'pytorch', ...rest });
const build = (on: Machine, rest: Partial<ResolveRequest> = {}): string => {
  const result = ask(on, rest);
  return result.status === 'ok' ? `${result.choice.version} ${result.choice.variant}` : `none: ${result.reason}`;
};
const one = (cc: string, driver: string, rest: Parameters<typeof machine>[0] = {}) =>
  machine({ gpus: [nvidia(`card ${cc}`, cc, 16)], driver, ...rest });

describe('PyTorch on NVIDIA', () => {
  // The decision matrix for the newest torch: capability × driver.
  it.each([
    ['5.0', '595', 'none'],
    ['5.0', '580', '2.14.1 cu126'],
    ['6.1', '580.95.05', '2.14.1 cu126'],
    ['7.0', '570.124.06', '2.14.1 cu126'],
    ['6.1', '530.30.02', '2.14.1 cu126'],
    ['6.1', '470.82.01', '2.7.1 cu118'],
    ['7.5', '580.65.06', '2.14.1 cu130'],
    ['8.6', '594.10', '2.14.1 cu130'],
    ['8.9', '595.45.04', '2.14.1 cu132'],
    ['9.0', '615.10', '2.14.1 cu132'],
    ['8.9', '570.124.06', '2.14.1 cu126'],
    ['8.0', '525.60.13', '2.14.1 cu126'],
    ['8.0', '525.60.12', '2.7.1 cu118'],
    ['8.0', '450.80.02', '2.7.1 cu118'],
    ['8.0', '450.51.06', 'none'],
    ['12.0', '570.124.06', '2.11.0 cu128'],
    ['12.0', '580.65.06', '2.14.1 cu130'],
    ['12.0', '595.58.03', '2.14.1 cu132'],
    ['12.0', '550.54.15', 'none'],
    ['10.0', '575.57.08', '2.11.0 cu128'],
    ['10.3', '580.95.05', '2.14.1 cu130'],
    ['12.1', '580.95.05', '2.14.1 cu130'],
    ['12.1', '570.124.06', 'none'],
    ['3.7', '470.82.01', '2.7.1 cu118'],
    ['3.5', '470.82.01', 'none'],
  ])('gives compute capability %s on driver %s the build %s', (cc, driver, expected) => {
    expect(build(one(cc, driver)).startsWith(expected)).toBe(true);
  });

  it('reads a bare branch as the newest driver of that branch', () => {
    expect(build(one('8.0', '525'))).toBe('2.14.1 cu126');
    expect(build(one('8.9', '580'))).toBe('2.14.1 cu130');
  });

  it('uses the Windows column of the driver table on Windows and in WSL2', () => {
    expect(build(one('8.6', '527.41', { platform: 'windows' }))).toBe('2.7.1 cu118');
    expect(build(one('8.6', '528.33', { platform: 'windows' }))).toBe('2.14.1 cu126');
    expect(build(one('8.6', '527.41', { host: { wsl: 2 } }))).toBe('2.7.1 cu118');
    expect(build(machines['rtx4090-wsl']!)).toBe('2.14.1 cu126');
  });

  it('never gives a 1080 Ti a CUDA 13 build nor a 5090 one without sm_120', () => {
    for (const driver of ['525.85.12', '560.35.03', '570', '580', '580.95.05', '590.48.01', '610']) {
      for (const choice of listBuilds(tables, { machine: one('6.1', driver), framework: 'pytorch' })) {
        expect(choice.cuda?.startsWith('13')).toBe(false);
      }
      for (const choice of listBuilds(tables, { machine: one('12.0', driver), framework: 'pytorch' })) {
        const row = tables.pytorch.cuda.find(
          (wheel) => wheel.release === choice.version && wheel.variant === choice.variant,
        );
        expect(row?.cubins).toContain('12.0');
      }
    }
  });

  it('keeps Tegra and desktop kernels apart', () => {
    expect(build(hopeless['jetson-orin']!)).toMatch(/^none: .*sm_87.*Tegra/);
    expect(
      build(machine({ gpus: [nvidia('Orin', '8.7', 60, { tegra: true })], driver: '540.4.0', arch: 'arm64' })),
    ).toBe('2.8.0 jp6-cu126');
    expect(build(machines['thor-arm']!)).toBe('2.14.1 cu130');
    // A desktop 11.x does not exist, but its Tegra kernels must not be taken for one.
    expect(build(machine({ gpus: [nvidia('x', '11.0', 8)], driver: '580.95', arch: 'arm64' }))).toBe('2.14.1 cu130');
    expect(build(machine({ gpus: [nvidia('x', '11.1', 8, {})], driver: '580.95', arch: 'arm64' }))).toMatch(/^none/);
  });

  it('uses PTX only on a driver as new as the toolkit, and on Windows not at all', () => {
    const next = (driver: string, platform: 'linux' | 'windows' = 'linux') =>
      build(machine({ gpus: [nvidia('future', '13.0', 48)], driver, platform }));
    expect(next('595.58.03')).toBe('2.14.1 cu132');
    expect(next('580.95.05')).toBe('2.14.1 cu130');
    expect(next('576.57', 'windows')).not.toMatch(/^2\.14/);
  });

  it('prefers a variant the driver reports and says when it falls back on minor-version compatibility', () => {
    const plain = ask(one('8.9', '580.95.05'));
    expect(plain.status === 'ok' && plain.choice.minorVersionCompatibility).toBe(false);
    const old = ask(one('8.9', '535.104.05'));
    expect(old.status === 'ok' && old.choice.minorVersionCompatibility).toBe(true);
    expect(old.warnings.join()).toMatch(/minor-version compatibility/);
    expect(old.proof.map((step) => step.fact).join()).toMatch(/CUDA 12\.2, below 12\.6/);
  });

  it('serves every card of a mixed machine where one build can', () => {
    expect(build(machines['gtx1080ti-4090']!)).toBe('2.14.1 cu126');
  });

  it('proposes a visible set where none can, and says which card is left out', () => {
    const result = ask(machines['gtx1080ti-5090']!);
    expect(result.status === 'ok' && [result.choice.version, result.choice.variant]).toEqual(['2.14.1', 'cu130']);
    expect(result.status === 'ok' && result.choice.environment).toEqual({
      CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
      CUDA_VISIBLE_DEVICES: '1',
    });
    expect(result.warnings.join()).toMatch(/1080 Ti is left out/);
  });

  it('selects by UUID where the machine tells it', () => {
    const mixed = machine({
      gpus: [
        nvidia('old', '6.1', 11, { uuid: known('GPU-a', 'nvml') }),
        nvidia('new', '12.0', 32, { uuid: known('GPU-b', 'nvml') }),
      ],
      driver: '580.95.05',
    });
    const result = ask(mixed);
    expect(result.status === 'ok' && result.choice.environment).toEqual({ CUDA_VISIBLE_DEVICES: 'GPU-b' });
  });

  it('assumes the long-term branch before a driver is installed, and says so', () => {
    const result = ask(machines['rtx3060-nodriver']!);
    expect(result.status === 'ok' && result.choice.variant).toBe('cu130');
    expect(result.warnings.join()).toMatch(/driver is not known: resolved for branch R580/);
    expect(build(machines['gtx1080ti-nodriver']!)).toBe('2.14.1 cu126');
  });

  it('does not resolve for a card that is bound to vfio', () => {
    const passed = machine({
      gpus: [
        nvidia('RTX 4090', '8.9', 24, {
          boundDriver: known('vfio-pci', 'sysfs'),
          usable: false,
          blockers: ['bound to vfio-pci'],
        }),
      ],
      driver: '580',
    });
    expect(build(passed)).toBe('2.14.1 cpu');
  });

  it('prefers the usable card when another is blocked', () => {
    const two = machine({
      gpus: [
        nvidia('old', '6.1', 11, { usable: false, blockers: ['hidden by CUDA_VISIBLE_DEVICES'] }),
        nvidia('RTX 5090', '12.0', 32),
      ],
      driver: '580.95.05',
    });
    expect(build(two)).toBe('2.14.1 cu130');
    expect(ask(two).warnings.join()).toMatch(/old is not usable now: hidden by CUDA_VISIBLE_DEVICES/);
  });

  it('names an unknown compute capability instead of guessing one', () => {
    const unknown = machine({
      gpus: [nvidia('mystery', '8.9', 8, { computeCapability: missing('not in the tables') })],
      driver: '580',
    });
    expect(build(unknown)).toMatch(/^none: .*compute capability of mystery is not known/);
  });

  it('respects glibc and musl', () => {
    expect(build(one('8.9', '580', { host: { glibc: known('2.27', 'file') } }))).toBe('2.5.1 cu124');
    expect(build(one('8.9', '580', { host: { glibc: known('2.12', 'file') } }))).toMatch(/^none: .*glibc 2\.17/);
    expect(build(hopeless['rtx4090-alpine']!)).toMatch(/^none: .*musl/);
  });
});

describe('PyTorch elsewhere', () => {
  it.each([
    ['mi300x', '2.13.0 rocm7.2'],
    ['rx7900xtx', '2.13.0 rocm7.2'],
    ['rx7900xtx-igpu', '2.13.0 rocm7.2'],
    ['strix-halo', '2.13.0 rocm7.2'],
    ['radeon-780m', '2.13.0 rocm10.0.0'],
    ['rx7800xt-windows', '2.13.0 rocm10.0.0'],
    ['arc-b580', '2.14.1 xpu'],
    ['arc-a770-windows', '2.14.1 xpu'],
    ['uhd770', '2.14.1 cpu'],
    ['m3-max', '2.14.1 mps'],
    ['no-gpu', '2.14.1 cpu'],
    ['rtx4060-laptop', '2.14.1 cu126'],
    ['gh200-arm', '2.14.1 cu126'],
    ['gb200-arm', '2.14.1 cu130'],
  ])('gives %s the build %s', (name, expected) => {
    expect(build(machines[name]!)).toBe(expected);
  });

  it("takes AMD's own index only where PyTorch's has no such build, with the extra of the exact target", () => {
    const result = ask(machines['radeon-780m']!);
    expect(result.status === 'ok' && result.choice.index?.url).toBe('https://stable.repo.amd.com/rocm/whl-next/');
    expect(result.status === 'ok' && result.choice.requirements[0]).toMatchObject({
      name: 'torch',
      extras: ['device-gfx1103'],
      spec: '==2.13.0+rocm10.0.0',
    });
    const official = ask(machines.rx7900xtx!);
    expect(official.status === 'ok' && official.choice.index?.url).toBe('https://download.pytorch.org/whl/rocm7.2');
  });

  it('leaves an integrated AMD GPU out next to a card', () => {
    const result = ask(machines['rx7900xtx-igpu']!);
    expect(result.status === 'ok' && result.choice.environment).toEqual({ HIP_VISIBLE_DEVICES: '0' });
    expect(result.status === 'ok' && result.choice.gpus).toEqual(['Radeon RX 7900 XTX']);
  });

  it('refuses MPS below macOS 14', () => {
    const old = machine({
      gpus: machines.m1!.gpus,
      platform: 'macos',
      arch: 'arm64',
      host: { name: known('macOS 13.6', 'os') },
    });
    expect(build(old)).toMatch(/^none: .*macOS 14/);
  });

  it('sees an arm64 Mac through Rosetta', () => {
    const rosetta = machine({ gpus: machines.m1!.gpus, platform: 'macos', arch: 'x64', host: { rosetta: true } });
    expect(build(rosetta)).toBe('2.14.1 mps');
  });
});

describe('TensorFlow and JAX', () => {
  it.each([
    ['tensorflow', 'rtx4090-595', '2.21.0 and-cuda'],
    ['tensorflow', 'p100-570', '2.21.0 and-cuda'],
    ['tensorflow', 'rtx5090-580', 'none'],
    ['tensorflow', 'rtx4090-windows', 'none'],
    ['tensorflow', 'gtx750ti-580', '2.16.2 and-cuda'],
    ['tensorflow', 'no-gpu', '2.21.0 cpu'],
    ['tensorflow', 'mi300x', 'none'],
    ['jax', 'rtx4090-595', '0.11.1 cuda13'],
    ['jax', 'rtx4090-570', '0.11.1 cuda12'],
    ['jax', 'v100-580', '0.11.1 cuda12'],
    ['jax', 'rtx5090-580', '0.11.1 cuda13'],
    ['jax', 'gtx750ti-580', 'none'],
    ['jax', 'rtx4090-windows', 'none'],
    ['jax', 'mi300x', '0.11.0 rocm10.0.0'],
    ['jax', 'gh200-arm', '0.11.1 cuda12'],
    ['jax', 'no-gpu', '0.11.1 cpu'],
  ] as const)('%s on %s gives %s', (framework, name, expected) => {
    expect(build(machines[name]!, { framework }).startsWith(expected)).toBe(true);
  });

  it("installs AMD's JAX plugin beside the same jax from PyPI", () => {
    const result = ask(machines.mi300x!, { framework: 'jax' });
    const shown =
      result.status === 'ok'
        ? result.choice.requirements.map((row) => `${row.name}${row.spec}${row.own ? ' own' : ''}`)
        : [];
    expect(shown).toEqual([
      'jax==0.11.0',
      'jaxlib==0.11.0',
      'jax-rocm10-plugin==0.11.0+rocm10.0.0 own',
      'jax-rocm10-pjrt==0.11.0+rocm10.0.0 own',
      'rocm==10.0.0 own',
    ]);
  });
});

describe('the proof', () => {
  it('says in one line why nothing newer was taken', () => {
    expect(ask(one('6.1', '580')).summary).toMatch(
      /^driver 580 → CUDA 13\.0 → torch 2\.14\.1 cu126, because sm_61 is not in cu132 and cu130$/,
    );
    expect(ask(one('8.9', '570')).summary).toMatch(
      /^driver 570 → CUDA 12\.8 → torch 2\.14\.1 cu126, because cu132 and cu130 would need driver 580 or newer$/,
    );
  });

  it('on a Mac advises no driver of NVIDIA, and gives commands that can be pasted', () => {
    const mac = machine({ gpus: [nvidia('RTX 4090', '8.9', 24)], driver: null, platform: 'macos', arch: 'arm64' });
    expect(ask(mac).warnings).toEqual([]);
    const two = machine({
      gpus: [nvidia('RTX 4090', '8.9', 24), intel('Intel Arc A770', 'alchemist', 16)],
      driver: '580',
    });
    expect(ask(two).warnings.join()).toContain("--for 'Intel Arc A770' gives the build for it");
  });

  it('numbers given cards in their order, more than ten too', () => {
    const old = Array.from({ length: 2 }, () => nvidia('K80', '3.7', 12));
    const cards = Array.from({ length: 12 }, () => nvidia('RTX 4090', '8.9', 24));
    const result = ask(machine({ gpus: [...cards, ...old], driver: '580' }));
    expect(result.status === 'ok' && result.choice.environment.CUDA_VISIBLE_DEVICES).toBe('0,1,2,3,4,5,6,7,8,9,10,11');
  });

  it('says a reason once, and never that the chosen variant lacks what it has', () => {
    const gfx942 = machine({ gpus: [amd('MI300X', 'gfx942', 192)] });
    expect(ask(gfx942, { python: '3.9' }).summary).toMatch(
      /rocm6\.4, because newer releases need Python 3\.10 at least$/,
    );
    expect(ask(one('5.2', '580'), { framework: 'tensorflow' }).summary).toMatch(/sm_52 is not in newer releases$/);
    expect(ask(one('9.0', '535.183.01'), { framework: 'tensorflow' }).summary).toMatch(
      /because newer releases have only PTX of CUDA 12\.3 for sm_90, which needs a newer driver$/,
    );
    expect(ask(one('7.5', '450.80.02', { host: { glibc: known('2.17', 'file') } })).summary).toMatch(
      /would need driver 580 or newer; newer releases need glibc 2\.28; here it is 2\.17$/,
    );
  });

  it.each(Object.keys(machines))('of %s names a source for every step, and each step once', (name) => {
    const result = ask(machines[name]!);
    expect(result.status).toBe('ok');
    expect(result.proof.length).toBeGreaterThan(1);
    for (const step of result.proof) expect(step.source.length).toBeGreaterThan(0);
    expect(new Set(result.proof.map((step) => step.fact)).size).toBe(result.proof.length);
  });

  it('shows where a fact of the machine came from', () => {
    const steps = ask(one('8.9', '570')).proof;
    expect(steps.find((step) => step.fact.includes('8.9 (sm_89)'))?.source).toBe('nvml');
    expect(steps.find((step) => step.fact.startsWith('driver 570'))?.source).toBe('sysfs');
  });
});

describe('when nothing fits', () => {
  const ways = (on: Machine, rest: Partial<ResolveRequest> = {}) => {
    const result = ask(on, rest);
    return result.status === 'none' ? result.waysOut.map((way) => `${way.kind}: ${way.text}`) : [];
  };

  it('says of a card that every build left behind that none has its kernels, and of one build only that one', () => {
    expect(build(one('2.0', '390.157'))).toMatch(
      /^none: no build of pytorch fits: no kernels for sm_20 \(card 2\.0\) are in any of them; cu\d+, the newest, has sm_/,
    );
    expect(build(one('2.0', '390.157'), { variant: 'cu126' })).toMatch(/cu126 holds no kernels for sm_20/);
  });

  it('names the driver that is kept longest, and the least that makes a build run', () => {
    expect(ways(hopeless['rtx5090-550']!)[0]).toBe(
      'driver: update the driver to R580 (long-term branch, supported to 2028-06): then torch 2.14.1 cu130 runs; R570 is the least, with torch 2.11.0 cu128',
    );
    const wsl = one('12.0', '566.36', { host: { wsl: 2 } });
    expect(ways(wsl)[0]).toMatch(/^driver: update the driver in Windows to R580 /);
    const boxed = one('12.0', '550.54.15', { host: { container: known('docker', 'file') } });
    expect(ways(boxed)[0]).toMatch(/^driver: update the driver of the host to R580 /);
    expect(ways(hopeless['gtx1080ti-595']!)[0]).toMatch(/go back to driver R58?\d/);
  });

  it('names another framework, a container and the CPU', () => {
    const blackwell = ways(machines['rtx5090-580']!, { framework: 'tensorflow' });
    expect(blackwell.some((way) => way.startsWith('container: ') && way.includes('NGC'))).toBe(true);
    expect(blackwell.some((way) => way.startsWith('framework: use pytorch: torch 2.14.1 cu130'))).toBe(true);
    expect(blackwell.at(-1)).toMatch(/^cpu: .*tensorflow 2\.21\.0 cpu/);
    expect(ways(machines.mi300x!, { framework: 'tensorflow' }).some((way) => way.includes('rocm/tensorflow'))).toBe(
      true,
    );
    expect(ways(hopeless['jetson-orin']!).some((way) => way.includes('JetPack'))).toBe(true);
  });

  it('sends Windows users of Linux-only builds to WSL2', () => {
    expect(
      ways(machines['rtx4090-windows']!, { framework: 'jax' }).some((way) => way.startsWith('platform: use WSL2')),
    ).toBe(true);
  });

  it('names the last release of a platform that was left behind', () => {
    expect(ways(machine({ platform: 'macos', arch: 'x64' }))[0]).toMatch(
      /torch 2\.2\.2 was the last for this platform \(Intel Macs/,
    );
  });

  it('names the Python versions that do fit', () => {
    const result = ask(machines['rtx4090-595']!, { python: '3.6' });
    expect(result.status).toBe('none');
    expect(result.summary).toMatch(/3\.6 was asked for/);
    expect(ways(machines['rtx4090-595']!, { python: '3.6' })[0]).toMatch(
      /^python: use Python 3\.12 \(3\.10 to 3\.15 fit\)/,
    );
  });

  it('refuses a build that was asked for and says what fits instead', () => {
    const result = ask(machines['gtx1080ti-580']!, { variant: 'cu130' });
    expect(result.status === 'none' && result.reason).toMatch(/cu130 holds no kernels for sm_61/);
    expect(ways(machines['gtx1080ti-580']!, { variant: 'cu130' })[0]).toBe('variant: take torch 2.14.1 cu126 instead');
    expect(ask(machines['gtx1080ti-580']!, { version: '9.9' })).toMatchObject({
      status: 'none',
      reason: 'no build of pytorch 9.9 is known: the tables hold 1.13.1 to 2.14.1',
    });
  });

  it.each(Object.keys(hopeless))('%s still gets a reason and at least one way out that works', (name) => {
    const result = ask(hopeless[name]!);
    expect(result.status).toBe('none');
    if (result.status !== 'none') return;
    expect(result.reason.length).toBeGreaterThan(20);
    expect(result.waysOut.length + (name === 'rtx4090-alpine' ? 1 : 0)).toBeGreaterThan(0);
  });

  it('offers the older release that still supports an old Python', () => {
    expect(build(machines['rtx4090-595']!, { python: '3.9' })).toBe('2.8.0 cu128');
  });
});

describe('the CPU as a target', () => {
  it('ignores every GPU when asked to, for all frameworks', () => {
    for (const framework of ['pytorch', 'tensorflow', 'jax'] as const) {
      const result = ask(machines['h200-580']!, { framework, cpuOnly: true });
      expect(result.status === 'ok' && result.choice.backend).toBe('cpu');
      expect(result.status === 'ok' && result.choice.gpus).toEqual([]);
    }
  });

  it('is Apple’s plain wheel on a Mac', () => {
    const result = ask(machines['m3-max']!, { cpuOnly: true });
    expect(result.status).toBe('ok');
    expect(result.status === 'ok' && result.choice.index).toBeNull();
  });
});

describe('listing', () => {
  it('gives every acceptable build, newest first, and nothing else', () => {
    const names = listBuilds(tables, { machine: one('12.0', '580.95.05'), framework: 'pytorch' }).map(
      (row) => `${row.version} ${row.variant}`,
    );
    expect(names[0]).toBe('2.14.1 cu130');
    expect(names).toContain('2.11.0 cu128');
    expect(names).not.toContain('2.14.1 cu126');
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('an AMD machine with two cards of different targets', () => {
  it('gets one build for both where it holds both', () => {
    const two = machine({ gpus: [amd('a', 'gfx1100', 24), amd('b', 'gfx1201', 16)] });
    const result = ask(two);
    expect(result.status === 'ok' && result.choice.environment).toEqual({});
    expect(build(two)).toBe('2.13.0 rocm7.2');
  });
});
