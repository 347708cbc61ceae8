// Areas tools, disk, network, data and compute.

import { describeCache } from '../detect/cache.ts';
import type { Mirrors } from '../env/mirrors.ts';
import type { Gpu } from '../machine.ts';
import { formatBytes } from '../style.ts';
import { nameOf } from './checks-gpu.ts';
import { checkConda } from './conda.ts';
import { findProgram } from './programs.ts';
import { type Context, type DeviceVerdict, type Finding, finding, fix } from './types.ts';

const GIB = 1024 ** 3;
const NETWORK_LIMIT_MS = 1500;
const STALE_MONTHS = 6;

const installers = ['uv', 'pixi', 'conda', 'mamba', 'micromamba', 'pip', 'pip3'];
const engines = ['docker', 'podman'];

export async function checkTools(context: Context): Promise<readonly Finding[]> {
  const { ports } = context;
  const present = [...installers, ...engines].flatMap((name) => {
    const path = findProgram(ports, name);
    return path === undefined ? [] : [{ name, path }];
  });
  const evidence = present.map(({ path }) => path);
  if (!present.some(({ name }) => installers.includes(name))) {
    return [
      finding('TOOLS-NONE', 'tools', 'info', 'no Python installer on the path (uv, pixi, conda or pip)', {
        evidence,
        fix: fix('Needed only for the Python frameworks.', 'pipx install uv'),
      }),
    ];
  }
  const names = present.map(({ name }) => name).join(', ');
  return [finding('TOOLS-FOUND', 'tools', 'ok', names, { evidence }), ...(await checkConda(context))];
}

/** A CUDA environment of a framework takes 5 to 8 GB. */
export function checkDisk({ world, ports }: Context): readonly Finding[] {
  const places = [...new Set([world.cwd, ports.home].filter((place) => place !== ''))];
  const measured = places.flatMap((place) => {
    const free = world.freeBytes(place);
    return free === undefined ? [] : [{ place, free }];
  });
  if (measured.length === 0) return [finding('DISK-UNKNOWN', 'disk', 'skipped', 'free space could not be read')];
  const least = measured.reduce((a, b) => (b.free < a.free ? b : a));
  const evidence = measured.map(({ place, free }) => `${formatBytes(free)} free at ${place}`);
  const cleaning = fix(
    'Free some space; package caches are the usual place.',
    'uv cache clean',
    'pip cache purge',
    'conda clean --all',
  );
  if (least.free < 2 * GIB) {
    return [
      finding('DISK-FULL', 'disk', 'error', `only ${formatBytes(least.free)} free: no framework can be installed`, {
        evidence,
        fix: cleaning,
      }),
    ];
  }
  if (least.free < 5 * GIB) {
    return [
      finding('DISK-LOW', 'disk', 'warning', `${formatBytes(least.free)} free: a CUDA environment takes more`, {
        evidence,
        fix: cleaning,
      }),
    ];
  }
  return [finding('DISK-OK', 'disk', 'ok', `${formatBytes(least.free)} free`, { evidence })];
}

const indexes = ({ pypi, pytorch }: Mirrors): readonly string[] => [
  pypi ?? 'https://pypi.org',
  pytorch ?? 'https://download.pytorch.org',
  'https://conda.anaconda.org',
  'https://registry.npmjs.org',
];

export async function checkNetwork({ world, ports, options }: Context): Promise<readonly Finding[]> {
  if (options.offline) return [finding('NET-OFFLINE', 'network', 'skipped', 'not checked: the network is off')];
  const proxy = ports.env.HTTPS_PROXY ?? ports.env.https_proxy;
  if (proxy)
    return [finding('NET-PROXY', 'network', 'skipped', 'a proxy is set; the tools reach the indexes through it')];
  const results = await Promise.all(
    indexes(options.mirrors ?? {}).map(async (index) => {
      const { hostname, port, protocol } = new URL(index);
      const number = port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port);
      return { host: hostname, ...(await world.reach(hostname, NETWORK_LIMIT_MS, number)) };
    }),
  );
  const evidence = results.map(({ host, ok, detail }) => `${host}: ${ok ? 'reached' : detail}`);
  const failed = results.filter(({ ok }) => !ok);
  if (failed.length === 0) return [finding('NET-OK', 'network', 'ok', 'the package indexes answer', { evidence })];
  return [
    finding('NET-UNREACHABLE', 'network', 'info', `${failed.map(({ host }) => host).join(', ')} cannot be reached`, {
      evidence,
      fix: fix(
        'Only installing from there needs them: check the connection, or set HTTPS_PROXY or a mirror; --offline leaves this check out.',
      ),
    }),
  ];
}

export async function checkData({ ports, options }: Context): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  const broken = describeCache(ports, ports.cache).filter(({ state }) => state === 'unreadable');
  if (broken.length > 0) {
    found.push(
      finding(
        'CACHE-BROKEN',
        'data',
        'warning',
        `${broken.length} cached detection${broken.length === 1 ? ' is' : 's are'} unreadable and ignored`,
        {
          evidence: broken.map(({ file }) => `${ports.cache.folder}/${file}`),
          fix: { text: 'Remove them.', commands: ['gpuforge cache clear'], action: 'clear-broken-cache' },
        },
      ),
    );
  }
  const { loadTables, staleness } = await import('../data/tables.ts');
  const { reviewed } = options.tables ?? loadTables();
  const old = staleness(reviewed, new Date(ports.now()), options.staleMonths ?? STALE_MONTHS);
  if (old !== undefined) {
    found.push(
      finding('DATA-OLD', 'data', 'warning', old, { fix: fix('Update gpuforge.', 'npm install gpuforge@latest') }),
    );
  }
  if (found.length > 0) return found;
  return [finding('DATA-OK', 'data', 'ok', `tables reviewed on ${reviewed}`)];
}

export interface ComputeResult {
  readonly findings: readonly Finding[];
  readonly verdict: 'verified' | 'failed' | 'unverified';
  readonly devices: readonly DeviceVerdict[];
}

/** The devices that are reached through a card. Vulkan opens all cards to list them, so WebGPU wakes any. */
const kindsOf = ({ vendor }: Gpu): readonly string[] => (vendor === 'nvidia' ? ['cuda', 'webgpu'] : ['webgpu']);

/** The only proof that GPUForge computes here is that it did. */
export async function checkCompute({ options, machine }: Context): Promise<ComputeResult> {
  if (!options.computeProbe) return unverified('not verified: this build of the doctor ran no kernel');
  // A run would wait for ever for what detection already waited for in vain.
  const hung = machine.probes.find(({ tier, outcome }) => tier > 0 && outcome === 'timeout');
  if (hung) return unverified(`not run: ${hung.name} did not answer, so a kernel would not return either`);
  const asleep = options.wake ? [] : machine.gpus.filter((gpu) => gpu.pci?.power === 'suspended');
  const leave = [...new Set(asleep.flatMap(kindsOf))];
  let devices: readonly DeviceVerdict[];
  try {
    devices = await options.computeProbe(leave);
  } catch (error) {
    devices = [{ device: 'runtime', ok: false, detail: error instanceof Error ? error.message : String(error) }];
  }
  const evidence = devices.map(({ device, ok, detail }) => `${device}: ${ok ? 'computed' : 'failed'}, ${detail}`);
  const working = devices.filter(({ ok }) => ok);
  const failed = devices.filter(({ ok }) => !ok);
  if (working.length === 0) {
    const summary = devices.length === 0 ? 'no device could be opened' : `no device computes: ${failed[0]!.detail}`;
    const advice = fix('Start with the areas above that show an error.');
    return {
      findings: [finding('COMPUTE-FAILED', 'compute', 'error', summary, { evidence, fix: advice })],
      verdict: 'failed',
      devices,
    };
  }
  const summary = `${working.map(({ device }) => device).join(', ')} computed and gave the right result`;
  const findings = [finding('COMPUTE-OK', 'compute', 'ok', summary, { evidence })];
  if (leave.length > 0) {
    const cards = asleep.map(nameOf).join(', ');
    findings.push(
      finding('COMPUTE-ASLEEP', 'compute', 'info', `${leave.join(' and ')} did not run, as ${cards} sleeps`, {
        fix: fix('Wake it and compute on it.', 'gpuforge doctor --deep'),
      }),
    );
  }
  for (const { device, detail } of failed) {
    const spare = device.startsWith('webgpu') && working.some((other) => other.device.startsWith('cuda'));
    const expected = !spare && hasHardware(machine, device);
    findings.push(
      finding(
        'COMPUTE-DEVICE',
        'compute',
        expected ? 'warning' : 'info',
        `${device} does not compute: ${firstLine(detail)}`,
        {
          evidence: [detail],
          fix: fix(
            expected ? 'The areas above tell what it lacks.' : 'Nothing to mend: this machine has no GPU for it.',
          ),
        },
      ),
    );
  }
  return { findings, verdict: 'verified', devices };
}

function unverified(summary: string): ComputeResult {
  return {
    findings: [finding('COMPUTE-UNVERIFIED', 'compute', 'unverified', summary)],
    verdict: 'unverified',
    devices: [],
  };
}

/** A device that fails is trouble only where the machine has what it runs on. */
function hasHardware(machine: Context['machine'], device: string): boolean {
  if (device.startsWith('cuda')) return machine.gpus.some((gpu) => gpu.vendor === 'nvidia');
  if (device.startsWith('webgpu')) return machine.gpus.some((gpu) => gpu.vendor !== 'other');
  return true;
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}
