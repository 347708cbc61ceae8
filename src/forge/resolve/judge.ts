// Every wheel against every check: which builds are accepted, with the steps of the proof, and what turned the others down.

import type { Tables } from '../data/schemas.ts';
import { compareVersions } from '../machine.ts';
import { checks } from './checks.ts';
import type { ProofStep, Rejection, Target, Wheel } from './types.ts';
import { nameOf } from './wheels.ts';

export interface Candidate {
  readonly wheel: Wheel;
  readonly steps: readonly ProofStep[];
  readonly minorVersionCompatibility: boolean;
}

export interface Judgement {
  readonly accepted: readonly Candidate[];
  readonly rejected: readonly { readonly wheel: Wheel; readonly rejection: Rejection }[];
}

const hasPlatform = ({ platforms }: Wheel, { platform }: Target): boolean =>
  platform !== undefined && platforms.includes(platform);

export function judge(tables: Tables, wheels: readonly Wheel[], target: Target): Judgement {
  const accepted: Candidate[] = [];
  const rejected: { wheel: Wheel; rejection: Rejection }[] = [];
  const here = new Set(wheels.filter((wheel) => hasPlatform(wheel, target)).map(nameOf));
  for (const wheel of wheels) {
    // The tables hold a build once for each set of kernels: the one for servers on arm64 is no other build on x64.
    if (here.has(nameOf(wheel)) && !hasPlatform(wheel, target)) continue;
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
    // Beyond what the driver reports, the nearest: less of it can be missing.
    (a: Candidate, b: Candidate) =>
      compareVersions(b.wheel.cuda?.version ?? '0', a.wheel.cuda?.version ?? '0') *
      (a.minorVersionCompatibility ? -1 : 1),
  ];
  return [...candidates].sort((a, b) => order.reduce((sum, by) => sum || by(a, b), 0));
}
