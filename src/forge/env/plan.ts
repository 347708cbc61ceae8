// The plan of one environment: everything the writers print, decided once.
//
// The writers only spell a plan in their own format; they decide nothing. A container runs Linux whatever the host runs, so
// the plan resolves a second time for it where the host is not Linux.

import { ArgumentError, DeviceUnavailable } from '../../errors.ts';
import type { Framework, PlatformTag, Tables } from '../data/schemas.ts';
import {
  type ComputeCapability,
  compareCc,
  compareVersions,
  factValue,
  formatCc,
  known,
  type Machine,
} from '../machine.ts';
import { type PackageTarget, type PackageUse, type Selection, selectPackages } from '../profiles/packages.ts';
import type { Profile } from '../profiles/profiles.ts';
import { type ProfileScore, scoreProfiles } from '../profiles/score.ts';
import { hostTarget, nameOfGpu } from '../resolve/facts.ts';
import { resolve } from '../resolve/resolve.ts';
import type { Choice, Requirement, Resolution } from '../resolve/types.ts';
import { nameOf } from '../resolve/wheels.ts';
import { listed } from '../text/listed.ts';
import { ubuntuDriver } from './driver-package.ts';
import type { Mirrors } from './mirrors.ts';
import { mirrored } from './mirrors.ts';

export interface PlanRequest {
  readonly name: string;
  readonly machine: Machine;
  readonly framework: Framework;
  /** undefined: the profile that suits the hardware best. */
  readonly profile?: Profile;
  readonly profiles: readonly Profile[];
  readonly python?: string;
  readonly cpuOnly?: boolean;
  readonly minimal?: boolean;
  readonly mirrors?: Mirrors;
  readonly dataReviewed: string;
}

export interface EnvPlan {
  readonly name: string;
  readonly profile: Profile;
  /** True when the hardware chose the profile. */
  readonly recommended: boolean;
  readonly scores: readonly ProfileScore[];
  readonly choice: Choice;
  /** The same framework on the CPU, as the second variant of project files; null where the choice is the CPU itself. */
  readonly cpuTwin: Choice | null;
  readonly resolution: Resolution;
  readonly platform: PlatformTag;
  readonly python: string;
  /** The framework and the companions the profile wants. */
  readonly framework: readonly Requirement[];
  readonly selection: Selection;
  readonly minimal: boolean;
  /** The CUDA version the driver reports, where there is one. */
  readonly driverCuda: string | null;
  /** Ubuntu's package of the NVIDIA driver for the cards; null where there is none, or none is needed. */
  readonly driverPackage: string | null;
  readonly container: ContainerPlan;
  /** Lines for the head of each file: machine, build, reason. */
  readonly madeFor: readonly string[];
  readonly warnings: readonly string[];
  readonly pypiIndex: string | null;
}

export interface ContainerPlan {
  readonly choice: Choice;
  readonly framework: readonly Requirement[];
  readonly selection: Selection;
  readonly python: string;
  readonly image: string;
  /** Arguments of `docker run` that hand the GPU in. */
  readonly runFlags: readonly string[];
  readonly note: string | null;
  readonly imageSource: string;
}

export const NAME = /^[a-z0-9][a-z0-9._-]*$/;

/** A name that is safe as a folder, a project and an image; anything else is refused with the nearest safe one. */
export function checkName(name: string): string {
  if (NAME.test(name) && name.length <= 64 && !name.includes('..') && !/[._-]$/.test(name) && !RESERVED.test(name))
    return name;
  const safe = name
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/\.{2,}/g, '.')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
    .slice(0, 64);
  throw new ArgumentError({
    code: 'FORGE_BAD_NAME',
    message: `"${printable(name)}" cannot be the name of an environment`,
    fix: `Use small letters, digits, dot, dash and underscore, beginning and ending with a letter or digit${safe && NAME.test(safe) ? `: ${safe}` : ''}.`,
    where: 'forge.env',
  });
}

/** Names that Windows keeps for devices. */
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?$/;

/** One printable line: a machine's strings end up in comments of generated files. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();

export function planEnvironment(tables: Tables, request: PlanRequest): EnvPlan {
  const name = checkName(request.name);
  const { machine, framework } = request;
  const ask = {
    machine,
    framework,
    ...(request.python === undefined ? {} : { python: request.python }),
    ...(request.cpuOnly ? { cpuOnly: true } : {}),
  };
  const resolution = resolve(tables, ask, request.dataReviewed);
  const platform = hostTarget(machine, undefined).platform;
  if (resolution.status === 'none' || platform === undefined) throw noBuild(resolution);
  const choice = mirrored(resolution.choice, request.mirrors);
  const target = packageTarget(machine, choice, platform);
  const scores = scoreProfiles(tables, request.profiles, machine, choice, target);
  const profile = request.profile ?? recommended(request.profiles, scores);
  const selection = selectPackages(tables, profile, target, request.minimal);
  const score = scores.find((row) => row.profile === profile.name);
  // On a Mac the same wheel serves both, so there is no second variant.
  const twin =
    choice.backend === 'cpu' || choice.backend === 'mps'
      ? undefined
      : resolve(tables, { ...ask, cpuOnly: true, version: choice.version }, '');
  return {
    name,
    profile,
    recommended: request.profile === undefined,
    scores,
    choice,
    cpuTwin: twin?.status === 'ok' ? mirrored(twin.choice, request.mirrors) : null,
    resolution,
    platform,
    python: choice.python,
    framework: frameworkOf(choice, profile),
    selection,
    minimal: request.minimal ?? false,
    driverCuda: driverCudaOf(tables, machine),
    driverPackage: ubuntuDriver(
      tables,
      machine.gpus.flatMap((gpu) => factValue(gpu.computeCapability) ?? []),
    ),
    container: planContainer(tables, request, profile, choice, selection),
    madeFor: headLines(machine, choice, resolution, request.dataReviewed),
    warnings: [...resolution.warnings, ...(request.profile ? (score?.warnings ?? []) : [])],
    pypiIndex: request.mirrors?.pypi ?? null,
  };
}

function recommended(profiles: readonly Profile[], scores: readonly ProfileScore[]): Profile {
  const best = scores.find((row) => row.score !== null)?.profile ?? 'learning';
  return profiles.find((profile) => profile.name === best) ?? profiles[0]!;
}

function noBuild(resolution: Resolution): DeviceUnavailable {
  const ways = resolution.status === 'none' ? resolution.waysOut : [];
  return new DeviceUnavailable({
    code: 'FORGE_NO_BUILD',
    message: resolution.status === 'none' ? resolution.reason : 'this operating system has no builds',
    fix:
      ways.length > 0
        ? `Ways out: ${ways.map((way) => way.text).join('; ')}.`
        : 'Run gpuforge resolve for the details.',
    where: 'forge.env',
  });
}

function frameworkOf(choice: Choice, profile: Profile): readonly Requirement[] {
  const vision = profile.vision ? choice.companions.find((row) => row.name === 'torchvision') : undefined;
  const own = choice.requirements.some((row) => row.own);
  return vision
    ? [...choice.requirements, { name: 'torchvision', extras: [], spec: `==${vision.version}`, own }]
    : choice.requirements;
}

function packageTarget(machine: Machine, choice: Choice, platform: PlatformTag): PackageTarget {
  const used = machine.gpus.filter((gpu) => choice.gpus.includes(nameOfGpu(gpu)));
  const ccs = used
    .map((gpu) => factValue(gpu.computeCapability))
    .filter((cc): cc is ComputeCapability => cc !== undefined);
  const memory = used.map((gpu) => factValue(gpu.memoryBytes));
  const known = memory.filter((bytes) => bytes !== undefined);
  return {
    framework: choice.framework,
    backend: choice.backend,
    platform,
    python: choice.python,
    cc: ccs.length > 0 ? ccs.reduce((low, cc) => (compareCc(cc, low) < 0 ? cc : low)) : undefined,
    memoryGiB: choice.backend === 'cpu' ? 0 : known.length > 0 ? nominalGiB(Math.max(...known)) : undefined,
  };
}

/** A card sold with 12 GB tells 11.99 GiB or a little less; the profiles speak of the size on the box. */
function nominalGiB(bytes: number): number {
  const gib = bytes / 1024 ** 3;
  const whole = Math.ceil(gib);
  return whole - gib <= gib * 0.05 ? whole : gib;
}

function driverCudaOf(tables: Tables, machine: Machine): string | null {
  const nvidia = machine.drivers.nvidia;
  if (!nvidia) return null;
  const measured = factValue(nvidia.cuda);
  if (measured !== undefined) return measured;
  const version = factValue(nvidia.version);
  const rows = tables.cuda.branches.filter(
    (row) => version !== undefined && row.branch <= Number.parseInt(version, 10),
  );
  return rows.at(-1)?.cuda ?? null;
}

function headLines(machine: Machine, choice: Choice, resolution: Resolution, reviewed: string): readonly string[] {
  const gpus = listed(
    machine.gpus.map((gpu) => {
      const cc = factValue(gpu.computeCapability);
      const what = cc ? `compute capability ${formatCc(cc)}` : (factValue(gpu.gfx) ?? factValue(gpu.intelFamily));
      return `${nameOfGpu(gpu)}${what ? ` (${what})` : ''}`;
    }),
  );
  const driver = machine.drivers.nvidia ? (factValue(machine.drivers.nvidia.version) ?? 'not installed') : undefined;
  const host = `${machine.host.wsl > 0 ? 'WSL2' : machine.host.platform} ${machine.host.arch}`;
  return [
    `Made by gpuforge for ${gpus || 'a machine without a GPU'}${driver ? `, driver ${driver}` : ''}, ${host}.`,
    `Build: ${nameOf(choice)}, Python ${choice.python}; compatibility tables of ${reviewed}.`,
    `Why: ${resolution.summary}.`,
  ].map(printable);
}

function planContainer(
  tables: Tables,
  request: PlanRequest,
  profile: Profile,
  choice: Choice,
  selection: Selection,
): ContainerPlan {
  const { machine } = request;
  const { platform } = machine.host;
  const linux: Machine = {
    ...machine,
    host: {
      ...machine.host,
      platform: 'linux',
      wsl: platform === 'windows' ? 2 : machine.host.wsl,
      glibc: known('2.39', 'override'),
    },
  };
  // Docker hands GPUs only into Linux containers on Linux and, for NVIDIA, through WSL2.
  const gpu =
    choice.backend !== 'cpu' && (platform === 'linux' || (platform === 'windows' && choice.backend === 'cuda'));
  const same = platform === 'linux';
  const again = same
    ? undefined
    : resolve(
        tables,
        { machine: linux, framework: request.framework, python: choice.python, ...(gpu ? {} : { cpuOnly: true }) },
        '',
      );
  const inside = again?.status === 'ok' ? mirrored(again.choice, request.mirrors) : choice;
  const tag: PlatformTag = machine.host.arch === 'arm64' ? 'linux-arm64' : 'linux-x64';
  const inner = same ? selection : selectPackages(tables, profile, packageTarget(linux, inside, tag), request.minimal);
  const base = imageFor(tables, inside, driverCudaOf(tables, machine));
  return {
    choice: inside,
    framework: frameworkOf(inside, profile),
    selection: inner,
    python: inside.python,
    ...base,
    runFlags: runFlags(inside),
    note:
      gpu || choice.backend === 'cpu'
        ? null
        : `containers on ${platform} get no GPU of this kind: this image computes on the CPU`,
  };
}

/** The images of CUDA are for servers; a board's wheels take CUDA from the image of its own JetPack. */
const JETPACK_IMAGE = {
  image: 'nvcr.io/nvidia/l4t-jetpack:r36.4.0',
  imageSource: 'https://catalog.ngc.nvidia.com/orgs/nvidia/containers/l4t-jetpack',
} as const;

const isJetPack = ({ variant }: Choice): boolean => /^jp\d/.test(variant);

function imageFor(
  tables: Tables,
  choice: Choice,
  driverCuda: string | null,
): { readonly image: string; readonly imageSource: string } {
  if (isJetPack(choice)) return JETPACK_IMAGE;
  if (choice.backend === 'cuda' && choice.cuda !== null) {
    const family = choice.cuda.split('.')[0];
    // The wheels bring their own CUDA; the image must only not ask for more than the driver reports.
    const limit = driverCuda !== null && compareVersions(driverCuda, choice.cuda) < 0 ? driverCuda : choice.cuda;
    const rows = tables.cuda.images.filter((row) => row.cuda.split('.')[0] === family);
    const row = rows.find((candidate) => compareVersions(candidate.cuda, limit) <= 0) ?? rows.at(-1);
    if (row) return { image: row.image, imageSource: row.source };
  }
  return choice.backend === 'rocm' || choice.backend === 'xpu' || choice.backend === 'cuda'
    ? { image: 'ubuntu:24.04', imageSource: 'https://hub.docker.com/_/ubuntu' }
    : { image: 'debian:13-slim', imageSource: 'https://hub.docker.com/_/debian' };
}

function runFlags(choice: Choice): readonly string[] {
  switch (choice.backend) {
    case 'cuda':
      return [isJetPack(choice) ? '--runtime=nvidia' : '--gpus=all', '--ipc=host'];
    case 'rocm':
      return [
        '--device=/dev/kfd',
        '--device=/dev/dri',
        '--group-add=video',
        '--group-add=render',
        '--security-opt=seccomp=unconfined',
        '--ipc=host',
      ];
    case 'xpu':
      return ['--device=/dev/dri', '--group-add=render', '--ipc=host'];
    case 'cpu':
    case 'mps':
      return ['--ipc=host'];
    default:
      return choice.backend satisfies never;
  }
}

/** "torch==2.14.1+cu126", "ray[tune]>=2.49" */
export function spell(row: { readonly name: string; readonly extras: readonly string[] }, spec: string): string {
  return `${row.name}${row.extras.length > 0 ? `[${row.extras.join(',')}]` : ''}${spec}`;
}

/** The version text for a package: exact where the profile or the file wants pins and one is confirmed. */
export function specOf(use: PackageUse, exact: boolean): string {
  return exact ? (use.pin ?? use.range) : use.range;
}
