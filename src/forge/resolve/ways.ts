// Ways out when nothing fits. Each way is tried before it is named: the request is changed in one point and resolved again,
// so a way out that is printed is one that works.

import type { Framework, Tables } from '../data/schemas.ts';
import { factValue, known, type Machine } from '../machine.ts';
import { choose } from './choose.ts';
import { branchOf, longTermBranch } from './drivers.ts';
import { hostTarget, nameOfGpu } from './facts.ts';
import { pythonsText } from './proof.ts';
import type { Choice, Rejection, ResolveRequest, WayOut } from './types.ts';
import { nameOf } from './wheels.ts';

export function waysOut(tables: Tables, request: ResolveRequest, rejected: readonly Rejection[]): readonly WayOut[] {
  return rules.flatMap((rule) => rule(tables, request, rejected) ?? []);
}

type Rule = (
  tables: Tables,
  request: ResolveRequest,
  rejected: readonly Rejection[],
) => WayOut | readonly WayOut[] | undefined;

const rules: readonly Rule[] = [
  anotherVariant,
  anotherDriver,
  anotherPython,
  nearRelative,
  containerImage,
  anotherFramework,
  otherSystem,
  retiredPlatform,
  cpuBuild,
];

const attempt = (tables: Tables, request: ResolveRequest): Choice | undefined => {
  const result = choose(tables, request);
  return result.status === 'ok' ? result.choice : undefined;
};

const onGpu = (choice: Choice | undefined): Choice | undefined =>
  choice && choice.backend !== 'cpu' ? choice : undefined;

/** The request named a version or variant; without it something may fit. */
function anotherVariant(tables: Tables, request: ResolveRequest): WayOut | undefined {
  if (request.version === undefined && request.variant === undefined) return undefined;
  const { version: _version, variant: _variant, ...free } = request;
  const choice = attempt(tables, free);
  return choice && { kind: 'variant', text: `take ${nameOf(choice)} instead`, choice };
}

function anotherDriver(tables: Tables, request: ResolveRequest): WayOut | undefined {
  const nvidia = request.machine.drivers.nvidia;
  const now = nvidia ? factValue(nvidia.version) : undefined;
  if (!nvidia || now === undefined) return undefined;
  const branches = tables.cuda.branches.map((row) => row.branch);
  const newer = branches.filter((branch) => branch > branchOf(now));
  const older = branches.filter((branch) => branch < branchOf(now)).reverse();
  const on = (branch: number): { readonly branch: number; readonly choice: Choice } | undefined => {
    const machine: Machine = {
      ...request.machine,
      drivers: {
        ...request.machine.drivers,
        nvidia: {
          ...nvidia,
          version: known(String(branch), 'override'),
          cuda: { value: null, reason: 'another branch' },
        },
      },
    };
    const choice = onGpu(attempt(tables, { ...request, machine }));
    return choice && { branch, choice };
  };
  const first = (candidates: readonly number[]): ReturnType<typeof on> => {
    for (const branch of candidates) {
      const found = on(branch);
      if (found) return found;
    }
    return undefined;
  };
  const { host } = request.machine;
  const where = host.wsl > 0 ? ' in Windows' : 'source' in host.container ? ' of the host' : '';
  // The branch that is kept longest; the nearest that will do stands behind it, for machines that cannot have that one.
  const least = first(newer);
  const best = newer.includes(longTermBranch(tables)) ? (on(longTermBranch(tables)) ?? least) : least;
  if (best && least) {
    const at = best.branch === least.branch ? '' : `; R${least.branch} is the least, with ${nameOf(least.choice)}`;
    const text = `update the driver${where} to R${best.branch}${life(tables, best.branch)}: then ${nameOf(best.choice)} runs${at}`;
    return { kind: 'driver', text, choice: best.choice };
  }
  const back = first(older);
  if (!back) return undefined;
  const text = `go back to driver R${back.branch}${where}${life(tables, back.branch)}: then ${nameOf(back.choice)} runs`;
  return { kind: 'driver', text, choice: back.choice };
}

/** " (long-term branch, supported to 2028-06)" */
function life(tables: Tables, branch: number): string {
  const support = tables.cuda.support.find((row) => row.branch === branch);
  return support ? ` (${support.kind} branch${support.until ? `, supported to ${support.until}` : ''})` : '';
}

function anotherPython(tables: Tables, request: ResolveRequest): WayOut | undefined {
  if (request.python === undefined) return undefined;
  const { python: _python, ...free } = request;
  const choice = attempt(tables, free);
  return (
    choice && {
      kind: 'python',
      text: `use Python ${choice.python} (${pythonsText(choice.pythonRange)} fit): then ${nameOf(choice)} runs`,
      choice,
    }
  );
}

/** What users of unlisted AMD chips do; AMD does not support it. */
const RELATIVES: Readonly<Record<string, readonly [gfx: string, version: string]>> = {
  gfx1031: ['gfx1030', '10.3.0'],
  gfx1032: ['gfx1030', '10.3.0'],
  gfx1033: ['gfx1030', '10.3.0'],
  gfx1034: ['gfx1030', '10.3.0'],
  gfx1035: ['gfx1030', '10.3.0'],
  gfx1036: ['gfx1030', '10.3.0'],
  gfx1103: ['gfx1100', '11.0.0'],
  gfx1152: ['gfx1151', '11.5.1'],
};

function nearRelative(tables: Tables, request: ResolveRequest): WayOut | undefined {
  const { machine } = request;
  if (machine.host.platform !== 'linux' || machine.host.wsl > 0) return undefined;
  const gpu = machine.gpus.find((candidate) => RELATIVES[factValue(candidate.gfx) ?? ''] !== undefined);
  const own = gpu ? factValue(gpu.gfx) : undefined;
  const relative = RELATIVES[own ?? ''];
  if (!gpu || !relative) return undefined;
  const [gfx, version] = relative;
  const gpus = machine.gpus
    .filter((candidate) => candidate === gpu)
    .map((candidate) => ({ ...candidate, gfx: known(gfx, 'override') }));
  const choice = onGpu(attempt(tables, { ...request, machine: { ...machine, gpus } }));
  return (
    choice && {
      kind: 'override',
      text: `set HSA_OVERRIDE_GFX_VERSION=${version}: ${nameOf(choice)} then runs its ${gfx} kernels on ${own}. AMD does not support this, and it can crash`,
      choice: { ...choice, environment: { ...choice.environment, HSA_OVERRIDE_GFX_VERSION: version } },
    }
  );
}

function containerImage(tables: Tables, request: ResolveRequest): readonly WayOut[] {
  const ways: WayOut[] = [];
  const { machine, framework } = request;
  const tegra = machine.gpus.find((gpu) => gpu.tegra);
  if (tegra) {
    ways.push({
      kind: 'container',
      text: `use NVIDIA's build for Jetson (${nameOfGpu(tegra)}): the ${framework} container of NGC for its JetPack release`,
      source: 'https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/index.html',
    });
  } else if (
    framework === 'tensorflow' &&
    machine.gpus.some((gpu) => (factValue(gpu.computeCapability)?.major ?? 0) >= 10)
  ) {
    ways.push({
      kind: 'container',
      text: "use NVIDIA's TensorFlow container from NGC, which is built for Blackwell",
      source: 'https://catalog.ngc.nvidia.com/orgs/nvidia/containers/tensorflow',
    });
  }
  for (const row of tables.rocm.containers) {
    const gpu = machine.gpus.find((candidate) => row.gfx.includes(factValue(candidate.gfx) ?? ''));
    if (row.framework === framework && gpu && machine.host.platform === 'linux') {
      ways.push({
        kind: 'container',
        text: `use the ${row.image} container: AMD lists ${framework} ${row.versions} on Python ${row.python} for ${factValue(gpu.gfx)}`,
        source: row.source,
      });
    }
  }
  return ways;
}

function anotherFramework(tables: Tables, request: ResolveRequest): readonly WayOut[] {
  const others: readonly Framework[] = ['pytorch', 'jax', 'tensorflow'];
  const { version: _version, variant: _variant, ...free } = request;
  return others
    .filter((framework) => framework !== request.framework)
    .flatMap((framework) => {
      const choice = onGpu(attempt(tables, { ...free, framework }));
      return choice
        ? [{ kind: 'framework' as const, text: `use ${framework}: ${nameOf(choice)} runs here`, choice }]
        : [];
    });
}

/** GPU builds of TensorFlow and JAX exist for Linux only; Windows users run them in WSL2. */
function otherSystem(tables: Tables, request: ResolveRequest): WayOut | undefined {
  if (request.machine.host.platform !== 'windows') return undefined;
  const machine: Machine = { ...request.machine, host: { ...request.machine.host, platform: 'linux', wsl: 2 } };
  const choice = onGpu(attempt(tables, { ...request, machine }));
  return (
    choice && {
      kind: 'platform',
      text: `use WSL2 on this machine: ${nameOf(choice)} runs there with the Windows driver`,
      choice,
    }
  );
}

/** A platform that newer releases left behind: the last one that served it, to install by hand. */
function retiredPlatform(tables: Tables, request: ResolveRequest): WayOut | undefined {
  const { platform } = hostTarget(request.machine, undefined);
  const row = tables.pytorch.retired.find((candidate) => candidate.platform === platform);
  if (!row || request.framework !== 'pytorch') return undefined;
  return {
    kind: 'variant',
    text: `torch ${row.version} was the last for this platform (${row.note}; Python ${row.pythonMin} to ${row.pythonMax})`,
    source: row.source,
  };
}

function cpuBuild(tables: Tables, request: ResolveRequest): WayOut | undefined {
  const { version: _version, variant: _variant, ...free } = request;
  const choice = attempt(tables, { ...free, cpuOnly: true });
  return choice && { kind: 'cpu', text: `compute on the CPU: ${nameOf(choice)} (--cpu-only)`, choice };
}
