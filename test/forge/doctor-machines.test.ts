// Ailing machines, one a line in fixtures/machines-unwell.txt: what the doctor says of each, and what it must never advise there.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { gpuFromText } from '../../src/forge/detect/names.ts';
import { checkDrivers } from '../../src/forge/doctor/checks-driver.ts';
import { checkAccess, checkGpus } from '../../src/forge/doctor/checks-gpu.ts';
import { checkPlace } from '../../src/forge/doctor/checks-place.ts';
import type { Context, Finding } from '../../src/forge/doctor/types.ts';
import { type Access, type Gpu, type HostSystem, known, type Machine, type PciFacts } from '../../src/forge/machine.ts';
import { machine as recorded } from './fixtures/machines.ts';
import { machine } from './fixtures/targets.ts';
import { worldOf } from './fixtures/world.ts';

const rows = ['machines-unwell', 'machines-ailing']
  .flatMap((file) => readFileSync(new URL(`./fixtures/${file}.txt`, import.meta.url), 'utf8').split('\n'))
  .filter((line) => line.includes(' | ') && !line.startsWith('#'));

const slot: PciFacts = {
  address: '0000:01:00.0',
  vendorId: '10de',
  deviceId: '2684',
  subsystem: null,
  revision: null,
  classCode: '030000',
  numaNode: null,
  linkSpeed: null,
  linkWidth: null,
  power: 'active',
  regions: [],
};

function contextOf(line: string): Context {
  const [cards = '', driver = '', where = ''] = line.split(' | ').map((part) => part.trim());
  const [system = '', ...words] = where.split(', ');
  const after = (start: string) => words.find((word) => word.startsWith(start))?.slice(start.length);
  const [missing, denied, mig, box] = [after('missing '), after('denied '), after('mig '), after('in ')];
  const [, node = '', group = ''] = /^(\S+)(?: of (\S+))?$/.exec(missing ?? denied ?? '') ?? [];
  const access: Access | undefined =
    missing !== undefined
      ? { state: 'missing', nodes: [], detail: `${node} does not exist` }
      : denied !== undefined
        ? { state: 'denied', nodes: [node], detail: `${node} may be used by group ${group} only` }
        : undefined;
  const bound = ['nouveau', 'vfio-pci'].find((word) => words.includes(word));
  const [instances = 0, source] = mig?.split(' ').map((word) => (/\d/.test(word) ? Number(word) : word)) ?? [];
  const changed = (gpu: Gpu): Gpu => ({
    ...gpu,
    // A part of a card keeps the name that the driver gives it.
    ...(/-\d+Q$/.test(cards) ? { name: known(cards, 'nvml') } : {}),
    pci: slot,
    ...(access ? { access: known(access, 'file') } : {}),
    ...(bound ? { boundDriver: known(bound, 'sysfs') } : {}),
    ...(source === undefined
      ? {}
      : {
          mig: known(
            {
              enabled: true,
              instances: Array.from({ length: Number(instances) }, () => ({
                uuid: null,
                name: null,
                memoryBytes: null,
              })),
            },
            source as 'nvml' | 'smi',
          ),
        }),
  });
  const distribution = words[0];
  const on = machine({
    gpus: cards.split(', ').map(gpuFromText).map(changed),
    driver: driver === '-' ? null : driver,
    platform: system === 'windows' ? 'windows' : 'linux',
    host: {
      ...(system === 'wsl' ? { wsl: 2 } : {}),
      ...(distribution && !/^(?:in .*|open|proprietary)$/.test(distribution)
        ? { distribution: known(distribution, 'file') }
        : {}),
      ...(box ? { container: known(box, 'file') as HostSystem['container'] } : {}),
    },
  });
  const { nvidia, amd, intel } = on.drivers;
  const module = ['open', 'proprietary'].find((word) => words.includes(word)) as 'open' | 'proprietary' | undefined;
  const runtime = ['libze_loader.so.1', 'libze_intel_gpu.so.1'].map((soname) => ({
    soname,
    path: `/usr/lib/${soname}`,
    version: null,
  }));
  const full: Machine = {
    ...on,
    drivers: {
      nvidia: nvidia && {
        ...nvidia,
        ...(module ? { module: known(module, 'proc') } : {}),
        libraries: words.includes('libraries')
          ? [{ soname: 'libcuda.so.1', path: '/usr/lib/libcuda.so.1', version: '580.95.05' }]
          : [],
        mismatch: words.includes('mismatch') ? 'the module is 580.95.05, libcuda.so.1 is 580.82.07' : null,
      },
      amd: amd && { ...amd, loaded: !words.includes('amdgpu off') },
      intel: intel && {
        module: system === 'linux' && !bound ? known('xe', 'sysfs') : intel.module,
        libraries: words.includes('no runtime') ? [] : runtime,
      },
    },
  };
  const base = recorded(system === 'windows' ? 'win4090' : 'noGpu');
  const world = worldOf(
    { ...base, files: { ...base.files, ...(words.includes('no uvm') ? {} : { '/dev/nvidia-uvm': 'node' }) } },
    { env: words.includes('slurm') ? { SLURM_JOB_ID: '7' } : {} },
  );
  return { world, ports: world.ports, machine: full, options: {} };
}

async function said(line: string): Promise<string> {
  const context = contextOf(line);
  const findings: readonly Finding[] = [
    ...checkGpus(context),
    ...(await checkDrivers(context)),
    ...checkAccess(context),
    ...checkPlace(context),
  ];
  return findings
    .map(({ code, status, summary, fix }) =>
      [code, status, summary, fix?.text ?? '', ...(fix?.commands ?? [])].join(' '),
    )
    .join('\n');
}

describe('a machine that is described by variables', () => {
  it.each(['RX 7900 XTX', 'RTX 4090', 'Arc B580'])('is not taken for this one: %s', async (name) => {
    const context = contextOf(`${name} | - | linux, ubuntu`);
    const gpus = context.machine.gpus.map((gpu) => ({ ...gpu, id: 'override:0' }));
    const ports = { ...context.ports, env: { ...context.ports.env, GPUFORGE_GPU: name } };
    const on = { ...context, ports, machine: { ...context.machine, gpus, overrides: [`GPU: ${name}`] } };
    const [, shown] = checkGpus(on);
    expect(shown).toMatchObject({ code: 'GPU-GIVEN', status: 'warning', fix: { commands: ['unset GPUFORGE_GPU'] } });
    expect((await checkDrivers(on)).map(({ code }) => code)).toEqual(['DRV-NONE']);
  });
});

describe('ailing machines', () => {
  it('are at least 91', () => expect(rows.length).toBeGreaterThanOrEqual(91));

  it.each(rows)('%s', async (line) => {
    const [, , , says = '', never = '-'] = line.split(' | ').map((part) => part.trim());
    const text = await said(line);
    expect(text).toMatch(new RegExp(says));
    if (never !== '-') expect(text).not.toMatch(new RegExp(never));
  });
});
