// What the doctor tells owners of old, split and boxed cards.

import { describe, expect, it } from 'vitest';
import { readHost } from '../../src/forge/detect/host.ts';
import { checkDrivers } from '../../src/forge/doctor/checks-driver.ts';
import { checkAccess, checkGpus } from '../../src/forge/doctor/checks-gpu.ts';
import type { Context, Finding } from '../../src/forge/doctor/types.ts';
import { type Gpu, known, type Machine, missing } from '../../src/forge/machine.ts';
import { play } from './fixtures/fixture.ts';
import { machine as recorded } from './fixtures/machines.ts';
import { machine, nvidia } from './fixtures/targets.ts';
import { worldOf } from './fixtures/world.ts';

function context(on: Machine): Context {
  const world = worldOf(recorded('noGpu'));
  return { world, ports: world.ports, machine: on, options: {} };
}

const withModule = (on: Machine, module: 'open' | 'proprietary'): Machine => ({
  ...on,
  drivers: { ...on.drivers, nvidia: { ...on.drivers.nvidia!, module: known(module, 'proc') } },
});

type Check = (context: Context) => readonly Finding[] | Promise<readonly Finding[]>;

async function said(check: Check, on: Machine): Promise<string> {
  const findings = await check(context(on));
  return findings
    .map(
      (row) => `${row.code} ${row.status} ${row.summary} ${row.fix?.text ?? ''} ${row.fix?.commands?.join(' ') ?? ''}`,
    )
    .join('\n');
}

describe('old cards', () => {
  it.each([
    ['GeForce GTX 580', '2.0', null, /branch 390, the last for Fermi/],
    ['Tesla K80', '3.7', null, /branch 470, the last for Kepler/],
    ['Tesla K80', '3.7', '535.104.05', /DRV-LEGACY error driver 535\.104\.05 no longer knows Kepler.*branch 470/],
    ['GeForce GTX 580', '2.0', '470.82.01', /no longer knows Fermi.*branch 390/],
    ['Tesla K80', '3.7', '470.256.02', /R470 is the last for Kepler/],
    ['GTX 1080 Ti', '6.1', '595.58.03', /no longer knows Maxwell, Pascal and Volta.*branch 580/],
  ])('%s (%s) on driver %s are told their last branch', async (name, cc, driver, expected) => {
    const text = await said(checkDrivers, machine({ gpus: [nvidia(name, cc, 8)], driver }));
    expect(text).toMatch(expected);
    expect(text).not.toMatch(/nvidia-driver-580/);
  });

  it('with the open module are told that it does not drive them', async () => {
    const pascal = withModule(machine({ gpus: [nvidia('GTX 1080', '6.1', 8)], driver: '580.95.05' }), 'open');
    expect(await said(checkDrivers, pascal)).toMatch(/DRV-MODULE error the open kernel module is loaded.*Pascal/);
    const turing = withModule(machine({ gpus: [nvidia('RTX 2080', '7.5', 8)], driver: '580.95.05' }), 'open');
    expect(await said(checkDrivers, turing)).not.toMatch(/DRV-MODULE/);
  });
});

describe('a driver older than the card', () => {
  it.each([
    ['RTX 4090', '8.9', '515.48.07', 520],
    ['H100', '9.0', '470.82.01', 520],
    ['RTX 5090', '12.0', '565.57.01', 570],
    ['B300', '10.3', '570.124.06', 575],
    ['RTX 3090', '8.6', '450.80.02', 455],
  ])('%s (%s) on %s is told branch %i, as the resolver says', async (name, cc, driver, branch) => {
    const text = await said(checkDrivers, machine({ gpus: [nvidia(name, cc, 24)], driver }));
    expect(text).toMatch(
      new RegExp(`DRV-TOO-OLD error driver ${driver} is older than this GPU, which needs ${branch} or`),
    );
  });

  it('is not said of one that knows it', async () => {
    expect(await said(checkDrivers, machine({ gpus: [nvidia('H100', '9.0', 80)], driver: '525.60.13' }))).not.toMatch(
      /TOO-OLD/,
    );
  });
});

describe('cards that no driver serves together', () => {
  const both = (old: string, recent: string, more: Parameters<typeof machine>[0] = {}) =>
    machine({
      gpus: [nvidia('the old card', old, 8), nvidia('the new card', recent, 24)],
      driver: '580.95.05',
      ...more,
    });

  it.each([
    ['3.7', '12.0'],
    ['2.0', '7.5'],
    ['6.1', '12.0'],
    ['3.5', '8.9'],
  ])('%s with %s: the doctor says so, and sends neither to a branch that ends the other', async (old, recent) => {
    for (const driver of ['580.95.05', null]) {
      const text = await said(checkDrivers, both(old, recent, { driver }));
      expect(text).toMatch(/No driver serves the old card and the new card together/);
      expect(text).not.toMatch(/Go back to branch|Install|apt install/);
    }
  });

  it.each([
    ['3.7', '8.6', {}],
    ['6.1', '8.9', {}],
    ['6.1', '12.0', { platform: 'windows' as const }],
    ['6.1', '12.0', { host: { wsl: 2 as const } }],
  ])('%s with %s %o is not such a pair', async (old, recent, more) => {
    expect(await said(checkDrivers, both(old, recent, more))).not.toMatch(/No driver serves/);
  });

  it('a Kepler card with the open module is told its branch, not the proprietary R580', async () => {
    const text = await said(
      checkDrivers,
      withModule(machine({ gpus: [nvidia('K80', '3.7', 12)], driver: '580.95.05' }), 'open'),
    );
    expect(text).toMatch(/branch 470/);
    expect(text).not.toMatch(/DRV-MODULE|Volta/);
  });
});

describe('containers', () => {
  const boxed = (container: 'docker' | 'kubernetes' | 'lxc', driver: string | null = null) =>
    machine({
      gpus: [
        nvidia('RTX 3090', '8.6', 24, {
          access: known({ state: 'missing', detail: '/dev/nvidia0 does not exist', nodes: [] }, 'file'),
        }),
      ],
      driver,
      host: { container: known(container, 'file') },
    });

  it('without a driver on their host are not told to install one inside', async () => {
    const text = await said(checkDrivers, boxed('docker'));
    expect(text).toMatch(/On the host, not in here: Install branch 580/);
    expect(text).not.toMatch(/apt install/);
  });

  it('without any GPU are told that a container must be given one', async () => {
    const empty = machine({ host: { container: known('docker', 'file') } });
    expect(await said(checkGpus, empty)).toMatch(/GPU-NONE info no GPU.*only if it was started with it.*--gpus all/);
    expect(await said(checkGpus, machine())).toMatch(/GPU-NONE info no GPU: work runs on the processor *$/);
  });

  it.each([
    ['docker' as const, /docker run --gpus all IMAGE/],
    ['kubernetes' as const, /nvidia\.com\/gpu: 1/],
    ['lxc' as const, /lxc config device add CONTAINER gpu gpu/],
  ])('of the kind %s are told how that kind is given a GPU', async (kind, way) => {
    const text = await said(checkAccess, boxed(kind, '580.95.05'));
    expect(text).toMatch(way);
    if (kind !== 'docker') expect(text).not.toMatch(/docker run/);
  });
});

describe('MIG', () => {
  const split = (mig: Gpu['mig'], container = false) =>
    machine({
      gpus: [nvidia('NVIDIA A100', '8.0', 80, { mig })],
      driver: '580.95.05',
      ...(container ? { host: { container: known('docker' as const, 'file') } } : {}),
    });

  it.each([
    ['nvidia-smi told it, which lists no instances', split(known({ enabled: true, instances: [] }, 'smi'))],
    ['a container hides the instances of others', split(known({ enabled: true, instances: [] }, 'nvml'), true)],
    ['the library saw none', split(known({ enabled: true, instances: [] }, 'nvml'))],
    ['nothing is known', split(missing('needs NVML'))],
  ])('is never to be switched off or split again where %s', async (_, on) => {
    const text = await said(checkGpus, on);
    expect(text).not.toMatch(/-mig 0|mig -cgi|mig -d|turn MIG off/);
  });
});

describe('musl', () => {
  it.each([
    [{ '/lib/ld-musl-x86_64.so.1': 'ELF', '/etc/os-release': 'ID=void\n' }, /^musl, not glibc$/],
    [{ '/etc/os-release': 'ID=void\n' }, /^not a glibc system/],
  ])('is told by its loader, whatever the distribution is called %#', (files, reason) => {
    const { glibc } = readHost(play({ ...recorded('noGpu'), files }));
    expect('reason' in glibc ? glibc.reason : glibc.value).toMatch(reason);
  });
});

describe('LXC', () => {
  it.each([
    [{ '/run/systemd/container': 'lxc\n' }, {}],
    [{ '/dev/lxd/sock': '' }, {}],
    [{ '/proc/1/cgroup': '0::/lxc.payload.box\n' }, {}],
    [{}, { container: 'lxc' }],
  ])('is a container %#', (files, env) => {
    const base = recorded('noGpu');
    const host = readHost(
      play({ ...base, files: { ...base.files, ...files } }, { env: env as Record<string, string> }),
    );
    expect(host.container).toMatchObject({ value: 'lxc' });
  });
});
