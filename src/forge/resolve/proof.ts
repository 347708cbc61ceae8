// Why a build was chosen, step by step and in one line; what to mind with it; and, where none fits, the reason that decides.

import type { Framework, Tables } from '../data/schemas.ts';
import { compareVersions, formatCc } from '../machine.ts';
import { checks } from './checks.ts';
import { pythonsIn, smOf, type VendorTarget } from './facts.ts';
import type { Candidate } from './judge.ts';
import type { ProofStep, Rejection, ResolveRequest, Target, Wheel } from './types.ts';
import { nameOf } from './wheels.ts';

export function proofOf(
  tables: Tables,
  entry: VendorTarget,
  target: Target,
  candidate: Candidate,
  request: ResolveRequest,
): readonly ProofStep[] {
  const steps: ProofStep[] = [];
  for (const gpu of target.gpus) {
    const fact = request.machine.gpus.find((other) => other.id === gpu.id);
    const what = gpu.cc
      ? `compute capability ${formatCc(gpu.cc)} (${smOf(gpu.cc)})`
      : (gpu.gfx ?? gpu.family ?? gpu.vendor);
    const origin = gpu.cc ? fact?.computeCapability : gpu.gfx ? fact?.gfx : gpu.family ? fact?.intelFamily : fact?.name;
    const line = `${gpu.name}: ${what}`;
    if (!steps.some((step) => step.fact === line)) {
      steps.push({ check: 'machine', fact: line, source: origin && 'source' in origin ? origin.source : 'detection' });
    }
  }
  if (target.driver !== undefined && !hasUnknownJetPack(target)) {
    const driver = request.machine.drivers.nvidia?.version;
    steps.push({
      check: 'machine',
      fact: `driver ${target.driver}${target.driverAssumed ? ' (assumed: none is known)' : ''} → CUDA ${target.driverCuda ?? 'unknown'}`,
      source: target.driverAssumed ? 'assumption' : driver && 'source' in driver ? driver.source : 'detection',
    });
  }
  const chosen = nameOf(candidate.wheel);
  const all: readonly ProofStep[] = [
    ...steps,
    ...candidate.steps,
    pythonStep(tables, candidate.wheel, request.python),
    {
      check: 'choice',
      fact: `${chosen} is the newest build that passes${entry.target.gpus.length > 1 ? ' for these GPUs' : ''}`,
      source: candidate.wheel.source,
    },
  ];
  return all.filter((step, i) => all.findIndex((other) => other.fact === step.fact) === i);
}

export function pythonStep(tables: Tables, wheel: Wheel, asked: string | undefined): ProofStep {
  const range = pythonsText([wheel.pythonMin, wheel.pythonMax]);
  const chosen = asked ?? pythonsIn(tables, wheel.pythonMin, wheel.pythonMax)[0] ?? wheel.pythonMax;
  return {
    check: 'python',
    fact: asked ? `Python ${asked} lies within ${range}` : `Python ${chosen}: the range is ${range}`,
    source: wheel.source,
  };
}

/** A board's driver comes with its JetPack: the branch that was assumed for it says nothing. */
const hasUnknownJetPack = ({ driverAssumed, gpus }: Target): boolean => driverAssumed && gpus.every((gpu) => gpu.tegra);

/** "driver 570 → CUDA 12.8 → cu126, because cu130 needs driver 580 …": why nothing newer was taken. */
export function summarise(target: Target, candidate: Candidate, rejected: readonly Rejection[]): string {
  const { wheel } = candidate;
  const chain: string[] = [];
  if (target.driver !== undefined && !hasUnknownJetPack(target))
    chain.push(`driver ${target.driver}`, `CUDA ${target.driverCuda ?? 'unknown'}`);
  else
    chain.push(
      target.gpus
        .map((gpu) => gpu.gfx ?? gpu.family ?? gpu.name)
        .filter((name, i, all) => all.indexOf(name) === i)
        .join(' + '),
    );
  chain.push(nameOf(wheel));
  const better = rejected.filter((row) => row.check !== 'platform' && isBetter(row, wheel));
  const because = told(better).map(({ brief, check }) => {
    const alike = better.filter((row) => row.check === check && row.brief === brief);
    const variants = new Set(alike.map(({ build }) => build.split(' ')[2] ?? build));
    // Older releases of the chosen variant have what newer ones have not.
    variants.delete(wheel.variant);
    return brief.replace('{}', variants.size === 0 ? 'newer releases' : listed(newestFirst([...variants])));
  });
  return `${chain.join(' → ')}${because.length > 0 ? `, because ${because.join('; ')}` : ''}`;
}

/**
 * Two reasons are enough: why not the newest build, and what stopped the one that came furthest through the checks. Of reasons
 * that differ in their numbers alone the least demanding counts, as that is the one to overcome.
 */
function told(better: readonly Rejection[]): readonly Rejection[] {
  const numbers = ({ brief }: Rejection): string => /\d+(?:\.\d+)*/.exec(brief)?.[0] ?? '0';
  const kind = ({ brief }: Rejection): string => brief.replace(/\d+(?:\.\d+)*/g, '');
  const kinds = new Map<string, Rejection>();
  for (const row of better) {
    const name = row.brief.includes('{}') ? row.brief : kind(row);
    const before = kinds.get(name);
    if (!before || compareVersions(numbers(row), numbers(before)) < 0) kinds.set(name, row);
  }
  const reasons = [...kinds.values()];
  if (reasons.length < 3) return reasons;
  const [first, ...others] = reasons as [Rejection, ...Rejection[]];
  const further = (a: Rejection, b: Rejection): Rejection => (ORDER.indexOf(b.check) > ORDER.indexOf(a.check) ? b : a);
  return [first, others.reduce(further)];
}

const ORDER = checks.map((check) => check.name);

/** "cu132, cu130 and cu126". */
const listed = (names: readonly string[]): string =>
  names.length < 3 ? names.join(' and ') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

const numberIn = (name: string): number => Number(/\d+/.exec(name)?.[0] ?? 0);

const newestFirst = (names: readonly string[]): readonly string[] =>
  [...names].sort((a, b) => numberIn(b) - numberIn(a));

/** "3.10 to 3.14", or "3.10 only". */
export const pythonsText = ([least, most]: readonly [string, string]): string =>
  least === most ? `${least} only` : `${least} to ${most}`;

/** Whether the rejected build would have been preferred. */
function isBetter(row: Rejection, wheel: Wheel): boolean {
  const [, version = '0', variant = ''] = row.build.split(' ');
  const order = compareVersions(version, wheel.version);
  if (order !== 0) return order > 0;
  const cuda = /^cu(?:da)?(\d+)$/.exec(variant)?.[1];
  const own = /^cu(?:da)?(\d+)$/.exec(wheel.variant)?.[1];
  return cuda !== undefined && own !== undefined && Number(cuda) > Number(own);
}

export function adviceFor(candidate: Candidate, target: Target): readonly string[] {
  const { wheel, minorVersionCompatibility } = candidate;
  const advice: string[] = [];
  if (wheel.note) advice.push(wheel.note);
  if (!wheel.stable) advice.push(`${wheel.variant} is experimental in ${wheel.framework} ${wheel.version}`);
  if (minorVersionCompatibility) {
    advice.push(
      `${wheel.variant} runs by minor-version compatibility on driver ${target.driver}: code that compiles PTX at run time may fail; a newer driver removes the limit`,
    );
  }
  return advice;
}

export function mainReason(
  framework: Framework,
  wheels: readonly Wheel[],
  rejected: readonly Rejection[],
  request: ResolveRequest,
): string {
  const what = [framework, request.version, request.variant].filter((part) => part !== undefined).join(' ');
  if (!wheels.some((wheel) => wished(wheel, request))) return `no build of ${what} is known: ${held(wheels, request)}`;
  const telling = decisive(rejected, request);
  if (!telling) return `no build of ${what} fits this machine`;
  const several = request.version === undefined && request.variant === undefined;
  return `no build of ${what} fits: ${several ? ofAll(telling) : telling.reason}`;
}

/** Whether the build is one that the request names. */
export function wished(wheel: Wheel, { version, variant }: Pick<ResolveRequest, 'version' | 'variant'>): boolean {
  if (version !== undefined && wheel.version !== version && !wheel.version.startsWith(`${version}.`)) return false;
  return variant === undefined || wheel.variant === variant || (variant === 'cpu' && wheel.backend === 'cpu');
}

/** What there is in place of a version or variant that nobody built. */
function held(wheels: readonly Wheel[], { version, variant }: ResolveRequest): string {
  const ofVersion = wheels.filter((wheel) => wished(wheel, version === undefined ? {} : { version }));
  if (version !== undefined && ofVersion.length === 0) {
    const versions = [...new Set(wheels.map((wheel) => wheel.version))].sort(compareVersions);
    return `the tables hold ${versions[0]} to ${versions.at(-1)}`;
  }
  const variants = [...new Set(ofVersion.map((wheel) => wheel.variant))];
  return variant === undefined ? 'the tables hold none' : `the tables hold ${listed(variants)}`;
}

/** Where the newest build lacks the kernels of a card, and no older one passed, all of them do. */
const ofAll = ({ reason }: Rejection): string =>
  reason.replace(
    /^(\S+) holds no kernels for ([^:]+)(?:: it has )?/,
    (_, variant: string, card: string) =>
      `no kernels for ${card} are in any of them${reason.includes(': it has ') ? `; ${variant}, the newest, has ` : ''}`,
  );

/**
 * The rejection that decides: of the build that came furthest through the checks, so a card that the driver no longer drives
 * is not answered with the kernels of a build that was out of the question. Of several, the least demanding one counts.
 */
function decisive(rejected: readonly Rejection[], request: ResolveRequest): Rejection | undefined {
  const far = (row: Rejection): number => ORDER.indexOf(row.check);
  const furthest = Math.max(...rejected.map(far));
  const last = rejected.filter((row) => far(row) === furthest);
  const newest = last[0];
  if (newest?.check === 'python' && request.python !== undefined) {
    // Too new a Python fails at the newest build, too old a one at the oldest.
    const low = /Python (\d+\.\d+) to/.exec(newest.reason)?.[1];
    return low !== undefined && compareVersions(request.python, low) < 0 ? last.at(-1) : newest;
  }
  const least =
    ['driver', 'libc', 'macos'].includes(newest?.check ?? '') ||
    (newest?.check === 'kernels' && last.every(({ reason }) => reason.includes('needs compute capability')));
  return least ? last.at(-1) : newest;
}
