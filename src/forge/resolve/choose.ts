// The resolver: machine and wishes in, the exact build with its proof out; or why there is none, and the nearest ways out.
//
// Newest release first; within a release, stable before experimental, then a variant whose CUDA the driver itself reports
// before one that runs only by minor-version compatibility, then the newest CUDA. Every visible GPU of the chosen vendor
// must be served; where no build serves all, the largest set that one does serve is proposed with the variable that
// selects it. Pure: reads nothing but its arguments.

import type { Framework, Tables } from '../data/schemas.ts';
import { compareVersions, formatCc } from '../machine.ts';
import { checks } from './checks.ts';
import { hostTarget, pythonsIn, smOf, type VendorTarget, vendorTargets } from './facts.ts';
import {
  type Choice,
  type ProofStep,
  RESOLVE_SCHEMA,
  type Rejection,
  type Resolution,
  type ResolveRequest,
  type Target,
  type TargetGpu,
  type WayOut,
  type Wheel,
} from './types.ts';
import { nameOf, wheelsOf } from './wheels.ts';

export interface Candidate {
  readonly wheel: Wheel;
  readonly steps: readonly ProofStep[];
  readonly minorVersionCompatibility: boolean;
}

export interface Judgement {
  readonly accepted: readonly Candidate[];
  readonly rejected: readonly { readonly wheel: Wheel; readonly rejection: Rejection }[];
}

/** Finds what can be done where nothing fits. */
export type FindWays = (tables: Tables, request: ResolveRequest, rejected: readonly Rejection[]) => readonly WayOut[];

/** The build that fits best; where none does, the reason, with ways out if `findWays` is given. */
export function choose(
  tables: Tables,
  request: ResolveRequest,
  dataReviewed = '',
  findWays: FindWays | null = null,
): Resolution {
  const { machine, framework } = request;
  const common = { schema: RESOLVE_SCHEMA, framework, dataReviewed } as const;
  const wheels = wheelsOf(tables, framework).filter((wheel) => wished(wheel, request));
  const targets = request.cpuOnly ? [] : vendorTargets(tables, machine, request.python);
  const warnings: string[] = [];
  const rejected: Rejection[] = [];

  for (const entry of targets) {
    const best = bestForVendor(tables, wheels, entry);
    rejected.push(...best.rejected);
    if (!best.found) continue;
    const { candidate, target, left, environment } = best.found;
    if (left.length > 0) {
      const names = left.map((gpu) => gpu.name).join(', ');
      warnings.push(`no build serves every GPU: ${names} is left out by ${variables(environment)}`);
    }
    return {
      ...common,
      status: 'ok',
      choice: choiceOf(tables, candidate, target, environment),
      alternatives: best.others.map((other) => choiceOf(tables, other, target, environment)),
      proof: proofOf(tables, entry, target, candidate, request),
      summary: summarise(target, candidate, best.rejected),
      rejected,
      warnings: [...entry.warnings, ...warnings, ...otherVendors(targets, entry), ...adviceFor(candidate, target)],
    };
  }

  const host = hostTarget(machine, request.python);
  const cpu = rank(
    judge(
      tables,
      wheels.filter((wheel) => wheel.backend === 'cpu'),
      host,
    ).accepted,
  );
  // A machine whose only GPUs are integrated ones that no wheel serves is a CPU machine; a card that was bought to compute is not.
  const computeCard = targets.some((entry) =>
    entry.target.gpus.some((gpu) => !gpu.integrated || gpu.vendor === 'nvidia'),
  );
  const first = cpu[0];
  if (first && (request.cpuOnly || !computeCard)) {
    const why = request.cpuOnly
      ? 'the CPU build was asked for'
      : targets.length === 0
        ? 'no GPU that can compute was found'
        : `no build serves ${targets.flatMap((entry) => entry.target.gpus.map((gpu) => gpu.name)).join(', ')}`;
    const reasons = request.cpuOnly ? [] : targets.flatMap((entry) => entry.warnings);
    return {
      ...common,
      status: 'ok',
      choice: choiceOf(tables, first, host, {}),
      alternatives: cpu.slice(1).map((other) => choiceOf(tables, other, host, {})),
      proof: [
        { check: 'machine', fact: why, source: request.cpuOnly ? 'override' : 'detection' },
        ...first.steps,
        pythonStep(tables, first.wheel, request.python),
      ],
      summary: `${why} → ${nameOf(first.wheel)}`,
      rejected,
      warnings: reasons,
    };
  }
  if (rejected.length === 0) rejected.push(...judge(tables, wheels, host).rejected.map((entry) => entry.rejection));
  const reason = mainReason(framework, wheels.length, rejected, request);
  return {
    ...common,
    status: 'none',
    reason,
    waysOut: findWays?.(tables, request, rejected) ?? [],
    proof: [],
    summary: reason,
    rejected,
    warnings: targets.flatMap((entry) => entry.warnings),
  };
}

/** One build serves one vendor: the cards of the others are named, not passed over. */
function otherVendors(targets: readonly VendorTarget[], chosen: VendorTarget): readonly string[] {
  return targets
    .filter((entry) => entry !== chosen)
    .flatMap((entry) => entry.target.gpus.filter((gpu) => !gpu.integrated))
    .map((gpu) => {
      const id = gpu.cc ? smOf(gpu.cc) : (gpu.gfx ?? gpu.name);
      return `${gpu.name} is left out: one build serves the GPUs of one vendor; "--for ${id}" gives the build for it`;
    })
    .filter((line, i, all) => all.indexOf(line) === i);
}

/** Every acceptable build for the machine, best first. */
export function listBuilds(tables: Tables, request: ResolveRequest): readonly Choice[] {
  const result = choose(tables, request);
  return result.status === 'ok' ? [result.choice, ...result.alternatives] : [];
}

function wished(wheel: Wheel, request: ResolveRequest): boolean {
  const { version, variant } = request;
  if (version !== undefined && wheel.version !== version && !wheel.version.startsWith(`${version}.`)) return false;
  return variant === undefined || wheel.variant === variant || (variant === 'cpu' && wheel.backend === 'cpu');
}

export function judge(tables: Tables, wheels: readonly Wheel[], target: Target): Judgement {
  const accepted: Candidate[] = [];
  const rejected: { wheel: Wheel; rejection: Rejection }[] = [];
  for (const wheel of wheels) {
    const steps: ProofStep[] = [];
    let minorVersionCompatibility = false;
    let fault: Rejection | undefined;
    for (const check of checks) {
      const result = check.run(wheel, target, tables);
      if (!result.ok) {
        fault = {
          build: nameOf(wheel),
          check: check.name,
          reason: result.reason,
          brief: result.brief ?? result.reason,
          source: result.source,
        };
        break;
      }
      steps.push(...result.steps);
      minorVersionCompatibility ||= result.minorVersionCompatibility ?? false;
    }
    if (fault) rejected.push({ wheel, rejection: fault });
    else accepted.push({ wheel, steps, minorVersionCompatibility });
  }
  return { accepted, rejected };
}

export function rank(candidates: readonly Candidate[]): readonly Candidate[] {
  const order = [
    (a: Candidate, b: Candidate) => compareVersions(b.wheel.version, a.wheel.version),
    (a: Candidate, b: Candidate) => Number(b.wheel.stable) - Number(a.wheel.stable),
    (a: Candidate, b: Candidate) => Number(a.minorVersionCompatibility) - Number(b.minorVersionCompatibility),
    // The framework's own index before a vendor's.
    (a: Candidate, b: Candidate) =>
      Number(a.wheel.index?.name === 'amd-rocm') - Number(b.wheel.index?.name === 'amd-rocm'),
    (a: Candidate, b: Candidate) => compareVersions(b.wheel.cuda?.version ?? '0', a.wheel.cuda?.version ?? '0'),
  ];
  return [...candidates].sort((a, b) => order.reduce((sum, by) => sum || by(a, b), 0));
}

interface VendorResult {
  readonly found?: {
    readonly candidate: Candidate;
    readonly target: Target;
    readonly left: readonly TargetGpu[];
    readonly environment: Readonly<Record<string, string>>;
  };
  readonly others: readonly Candidate[];
  readonly rejected: readonly Rejection[];
}

function bestForVendor(tables: Tables, wheels: readonly Wheel[], entry: VendorTarget): VendorResult {
  const gpuWheels = wheels.filter((wheel) => wheel.backend !== 'cpu');
  let firstRejected: readonly Rejection[] | undefined;
  for (const gpus of subsets(entry.target.gpus)) {
    const target = { ...entry.target, gpus };
    const judged = judge(tables, gpuWheels, target);
    firstRejected ??= judged.rejected.map((row) => row.rejection).filter((row) => row.check !== 'vendor');
    const [candidate, ...others] = rank(judged.accepted);
    if (!candidate) continue;
    const left = entry.target.gpus.filter((gpu) => !gpus.includes(gpu));
    const rejected =
      left.length === 0
        ? firstRejected
        : judged.rejected.map((row) => row.rejection).filter((row) => row.check !== 'vendor');
    return {
      found: { candidate, target, left, environment: left.length > 0 ? selecting(gpus) : {} },
      others,
      rejected,
    };
  }
  return { others: [], rejected: firstRejected ?? [] };
}

/**
 * All GPUs, then smaller sets. GPUs of one architecture stay together, so there are few sets even on a big machine. Larger
 * memory first, then more GPUs, then the newer architecture; unknown memory counts by number only.
 */
export function subsets(gpus: readonly TargetGpu[]): readonly (readonly TargetGpu[])[] {
  const groups = new Map<string, TargetGpu[]>();
  for (const gpu of gpus) {
    const key = gpu.cc ? `${formatCc(gpu.cc)}${gpu.tegra ? 't' : ''}` : (gpu.gfx ?? gpu.family ?? gpu.name);
    groups.set(key, [...(groups.get(key) ?? []), gpu]);
  }
  const parts = [...groups.values()].slice(0, 8);
  const sets: TargetGpu[][] = [];
  for (let mask = 1; mask < 1 << parts.length; mask++) {
    const chosen = new Set(parts.filter((_, i) => mask & (1 << i)).flat());
    sets.push(gpus.filter((gpu) => chosen.has(gpu)));
  }
  const memory = (set: readonly TargetGpu[]): number => set.reduce((sum, gpu) => sum + (gpu.memoryBytes ?? 0), 0);
  const newest = (set: readonly TargetGpu[]): number =>
    Math.max(...set.map((gpu) => (gpu.cc ? gpu.cc.major * 10 + gpu.cc.minor : 0)));
  const discrete = (set: readonly TargetGpu[]): number => set.filter((gpu) => !gpu.integrated).length;
  return sets.sort(
    (a, b) =>
      Number(b.length === gpus.length) - Number(a.length === gpus.length) ||
      discrete(b) - discrete(a) ||
      memory(b) - memory(a) ||
      b.length - a.length ||
      newest(b) - newest(a),
  );
}

function selecting(gpus: readonly TargetGpu[]): Readonly<Record<string, string>> {
  const indices = gpus.map((gpu) => gpu.index).join(',');
  const uuids = gpus.map((gpu) => gpu.uuid);
  switch (gpus[0]?.vendor) {
    case 'nvidia':
      return uuids.every((uuid) => uuid !== undefined)
        ? { CUDA_VISIBLE_DEVICES: uuids.join(',') }
        : { CUDA_DEVICE_ORDER: 'PCI_BUS_ID', CUDA_VISIBLE_DEVICES: indices };
    case 'amd':
      return { HIP_VISIBLE_DEVICES: indices };
    case 'intel':
      return { ONEAPI_DEVICE_SELECTOR: `level_zero:${indices}` };
    default:
      return {};
  }
}

const variables = (environment: Readonly<Record<string, string>>): string =>
  Object.entries(environment)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

function choiceOf(
  tables: Tables,
  candidate: Candidate,
  target: Target,
  environment: Readonly<Record<string, string>>,
): Choice {
  const { wheel } = candidate;
  return {
    framework: wheel.framework,
    version: wheel.version,
    variant: wheel.variant,
    backend: wheel.backend,
    cuda: wheel.cuda?.version ?? null,
    index: wheel.index,
    python: target.python ?? pythonsIn(tables, wheel.pythonMin, wheel.pythonMax)[0] ?? wheel.pythonMax,
    pythonRange: [wheel.pythonMin, wheel.pythonMax],
    requirements: wheel.requirements(target.gpus[0]?.gfx),
    companions: wheel.companions,
    environment,
    minorVersionCompatibility: candidate.minorVersionCompatibility,
    gpus: wheel.backend === 'cpu' ? [] : target.gpus.map((gpu) => gpu.name),
    source: wheel.source,
  };
}

function proofOf(
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
  if (target.driver !== undefined) {
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

function pythonStep(tables: Tables, wheel: Wheel, asked: string | undefined): ProofStep {
  const range = `${wheel.pythonMin} to ${wheel.pythonMax}`;
  const chosen = asked ?? pythonsIn(tables, wheel.pythonMin, wheel.pythonMax)[0] ?? wheel.pythonMax;
  return {
    check: 'python',
    fact: asked ? `Python ${asked} lies within ${range}` : `Python ${chosen}: the range is ${range}`,
    source: wheel.source,
  };
}

/** "driver 570 → CUDA 12.8 → cu126, because cu130 needs driver 580 …": why nothing newer was taken. */
function summarise(target: Target, candidate: Candidate, rejected: readonly Rejection[]): string {
  const { wheel } = candidate;
  const chain: string[] = [];
  if (target.driver !== undefined) chain.push(`driver ${target.driver}`, `CUDA ${target.driverCuda ?? 'unknown'}`);
  else
    chain.push(
      target.gpus
        .map((gpu) => gpu.gfx ?? gpu.family ?? gpu.name)
        .filter((name, i, all) => all.indexOf(name) === i)
        .join(' + '),
    );
  chain.push(nameOf(wheel));
  const better = rejected.filter((row) => row.check !== 'platform' && isBetter(row, wheel));
  const grouped = new Map<string, Set<string>>();
  for (const row of better) {
    const variants = grouped.get(row.brief) ?? new Set<string>();
    grouped.set(row.brief, variants.add(row.build.split(' ')[2] ?? row.build));
  }
  const because = [...grouped].slice(0, 2).map(([brief, variants]) => brief.replace('{}', [...variants].join(' and ')));
  return `${chain.join(' → ')}${because.length > 0 ? `, because ${because.join('; ')}` : ''}`;
}

/** Whether the rejected build would have been preferred. */
function isBetter(row: Rejection, wheel: Wheel): boolean {
  const [, version = '0', variant = ''] = row.build.split(' ');
  const order = compareVersions(version, wheel.version);
  if (order !== 0) return order > 0;
  const cuda = /^cu(?:da)?(\d+)$/.exec(variant)?.[1];
  const own = /^cu(?:da)?(\d+)$/.exec(wheel.variant)?.[1];
  return cuda !== undefined && own !== undefined && Number(cuda) > Number(own);
}

function adviceFor(candidate: Candidate, target: Target): readonly string[] {
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

function mainReason(
  framework: Framework,
  wheels: number,
  rejected: readonly Rejection[],
  request: ResolveRequest,
): string {
  const what = [framework, request.version, request.variant].filter((part) => part !== undefined).join(' ');
  if (wheels === 0) return `no build of ${what} is known`;
  const telling = decisive(rejected, request);
  return telling ? `no build of ${what} fits: ${telling.reason}` : `no build of ${what} fits this machine`;
}

const ORDER = checks.map((check) => check.name);

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
  const least = newest?.check === 'driver' || newest?.check === 'libc' || newest?.check === 'macos';
  return least ? last.at(-1) : newest;
}
