// What the doctor tells owners of old, split and boxed cards.

import { describe, expect, it } from 'vitest';
import { readHost } from '../../src/forge/detect/host.ts';
import { checkDrivers } from '../../src/forge/doctor/checks-driver.ts';
import { checkGpus } from '../../src/forge/doctor/checks-gpu.ts';
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

async function said(check: (context: Context) => readonly Finding[], on: Machine): Promise<string> {
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
