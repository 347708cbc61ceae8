// The resolver: machine and wishes in, the exact build with its proof out; or why there is none, and the nearest ways out.
//
// Newest release first; within a release, stable before experimental, then a variant whose CUDA the driver itself reports
// before one that runs only by minor-version compatibility, then the newest CUDA (judge.ts). Every visible GPU of the chosen
// vendor must be served; where no build serves all, the largest set that one does serve is proposed with the variable that
// selects it (sets.ts). Pure: reads nothing but its arguments.

import type { Tables } from '../data/schemas.ts';
import { shell } from '../text/quote.ts';
import { MAKERS } from './checks.ts';
import { hostTarget, pythonsIn, smOf, type VendorTarget, vendorTargets } from './facts.ts';
import { type Candidate, judge, rank } from './judge.ts';
import { adviceFor, mainReason, proofOf, pythonStep, summarise, wished } from './proof.ts';
import { bestForVendor } from './sets.ts';
import {
  type Choice,
  RESOLVE_SCHEMA,
  type Rejection,
  type Resolution,
  type ResolveRequest,
  type Target,
  type TargetGpu,
  type WayOut,
  type Wheel,
} from './types.ts';
import { nameOf, PRODUCT, wheelsOf } from './wheels.ts';

/** Finds what can be done where nothing fits. */
export type FindWays = (tables: Tables, request: ResolveRequest, rejected: readonly Rejection[]) => readonly WayOut[];

/** The build that fits best; where none does, the reason, with ways out if `findWays` is given. */
export function choose(
  tables: Tables,
  asked: ResolveRequest,
  dataReviewed = '',
  findWays: FindWays | null = null,
): Resolution {
  const near = nearPatch(tables, asked);
  const request: ResolveRequest = {
    ...asked,
    ...(near === undefined ? {} : { version: near }),
    ...(asked.variant === 'cpu' ? { cpuOnly: true } : {}),
  };
  const { machine, framework } = request;
  const common = { schema: RESOLVE_SCHEMA, framework, dataReviewed } as const;
  const wheels = wheelsOf(tables, framework).filter((wheel) => wished(wheel, request));
  const targets = request.cpuOnly ? [] : vendorTargets(tables, machine, request.python);
  const warnings: string[] =
    near === undefined
      ? []
      : [`${PRODUCT[framework]} ${asked.version} is judged by ${near}: one set of kernels for a minor release`];
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
  // Nor is an integrated GPU that the wheels do serve, with another Python.
  const computeCard =
    rejected.some((row) => row.check === 'python') ||
    targets.some((entry) => entry.target.gpus.some((gpu) => !gpu.integrated || gpu.vendor === 'nvidia'));
  const first = cpu[0];
  if (first && (request.cpuOnly || !computeCard)) {
    const why = request.cpuOnly
      ? 'the CPU build was asked for'
      : targets.length === 0
        ? 'no GPU that can compute was found'
        : `no build serves ${targets.flatMap((entry) => entry.target.gpus.map(withTarget)).join(', ')}`;
    const overrides = request.cpuOnly || targets.length === 0 ? [] : (findWays?.(tables, request, rejected) ?? []);
    const reasons = [
      ...(request.cpuOnly ? [] : targets.flatMap((entry) => entry.warnings)),
      ...overrides.filter(({ kind }) => kind === 'override').map(({ text }) => `to use the GPU all the same, ${text}`),
    ];
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
      warnings: [...warnings, ...reasons],
    };
  }
  if (rejected.length === 0 && targets.length > 0 && !request.cpuOnly) rejected.push(...unserved(wheels, targets));
  if (rejected.length === 0) rejected.push(...judge(tables, wheels, host).rejected.map((entry) => entry.rejection));
  const reason = mainReason(framework, wheelsOf(tables, framework), rejected, request);
  return {
    ...common,
    status: 'none',
    reason,
    waysOut: findWays?.(tables, request, rejected) ?? [],
    proof: [],
    summary: reason,
    rejected,
    warnings: [...warnings, ...targets.flatMap((entry) => entry.warnings)],
  };
}

/**
 * "2.5.0" where the tables hold 2.5.1: a patch release keeps the kernels, the drivers and the Pythons of its minor release. Not so
 * with JAX, whose 0.4 was a year of releases.
 */
function nearPatch(tables: Tables, { framework, version }: ResolveRequest): string | undefined {
  const minor = /^(\d+\.\d+)\.\d+$/.exec(version ?? '')?.[1];
  if (minor === undefined || framework === 'jax') return undefined;
  const versions = wheelsOf(tables, framework).map((wheel) => wheel.version);
  return versions.includes(version!) ? undefined : versions.find((one) => one.startsWith(`${minor}.`));
}

/** A framework that publishes nothing for this maker's GPUs. */
function unserved(wheels: readonly Wheel[], targets: readonly VendorTarget[]): readonly Rejection[] {
  const [wheel] = wheels;
  const makers = targets.map(({ vendor }) => MAKERS[vendor]).join(' or ');
  const reason = wheel && `${PRODUCT[wheel.framework]} publishes no wheels for GPUs of ${makers}`;
  return wheel && reason
    ? [{ build: nameOf(wheel), check: 'vendor', reason, brief: reason, source: wheel.source }]
    : [];
}

/** "AMD Radeon 680M (gfx1035)": what no build has kernels for. */
function withTarget({ name, gfx, family }: TargetGpu): string {
  // The families before Arc have names of our own, which tell a reader nothing.
  const target = gfx ?? (family === 'gen' || family === 'xe-lp' ? undefined : family);
  return target === undefined || name.includes(target) ? name : `${name} (${target})`;
}

/** One build serves one vendor: the cards of the others are named, not passed over. */
function otherVendors(targets: readonly VendorTarget[], chosen: VendorTarget): readonly string[] {
  return targets
    .filter((entry) => entry !== chosen)
    .flatMap((entry) => entry.target.gpus.filter((gpu) => !gpu.integrated))
    .map((gpu) => {
      const id = gpu.cc ? smOf(gpu.cc) : (gpu.gfx ?? gpu.name);
      return `${gpu.name} is left out: one build serves the GPUs of one vendor; --for ${shell(id)} gives the build for it`;
    })
    .filter((line, i, all) => all.indexOf(line) === i);
}

/** Every acceptable build for the machine, best first. */
export function listBuilds(tables: Tables, request: ResolveRequest): readonly Choice[] {
  const result = choose(tables, request);
  return result.status === 'ok' ? [result.choice, ...result.alternatives] : [];
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
