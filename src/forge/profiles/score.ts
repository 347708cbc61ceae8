// How well a machine suits each profile, by headroom, with every point explained.
//
// memory 40 (GPU memory against the profile's minimum and recommendation), use 20 (how much of the card the profile is made
// for, so that a small profile does not win a large card), compute 15 (what the architecture can do), packages 10 (how many
// of them install here), place 15 (a serving card in a cluster, many cores for simulations, no GPU at all). Unknown memory
// gives no score: unknown is not 0.

import type { Tables } from '../data/schemas.ts';
import { factValue, type Machine } from '../machine.ts';
import type { Choice } from '../resolve/types.ts';
import { type PackageTarget, selectPackages } from './packages.ts';
import type { Profile } from './profiles.ts';

export interface ScorePart {
  readonly name: 'memory' | 'use' | 'compute' | 'packages' | 'place';
  readonly points: number;
  readonly most: number;
  readonly why: string;
}

export interface ProfileScore {
  readonly profile: string;
  /** 0 to 100; null when the GPU's memory is not known. */
  readonly score: number | null;
  readonly parts: readonly ScorePart[];
  readonly warnings: readonly string[];
}

/** Every profile with its score, best first; profiles without a score last, in their own order. */
export function scoreProfiles(
  tables: Tables,
  profiles: readonly Profile[],
  machine: Machine,
  choice: Choice,
  target: PackageTarget,
): readonly ProfileScore[] {
  return profiles
    .map((profile) => scoreProfile(tables, profile, machine, choice, target))
    .sort((a, b) => (b.score ?? -1) - (a.score ?? -1));
}

function scoreProfile(
  tables: Tables,
  profile: Profile,
  machine: Machine,
  choice: Choice,
  target: PackageTarget,
): ProfileScore {
  const memory = target.memoryGiB;
  const warnings: string[] = [];
  if (memory !== undefined && memory > 0 && memory < profile.minGiB) {
    warnings.push(`${profile.name} wants at least ${profile.minGiB} GB of GPU memory; the GPU has ${round(memory)} GB`);
  }
  if (memory === undefined) {
    warnings.push('the GPU does not tell its memory, so profiles cannot be scored against it');
    return { profile: profile.name, score: null, parts: [], warnings };
  }
  const parts = [
    memoryPart(profile, memory),
    usePart(profile, memory),
    computePart(machine, choice, target),
    packagesPart(tables, profile, target),
    placePart(profile, machine, choice),
  ];
  return {
    profile: profile.name,
    score: Math.round(parts.reduce((sum, part) => sum + part.points, 0)),
    parts,
    warnings,
  };
}

const round = (value: number): number => Math.round(value * 10) / 10;

function memoryPart(profile: Profile, memory: number): ScorePart {
  const { minGiB: min, recommendedGiB: recommended } = profile;
  const part = (points: number, why: string): ScorePart => ({ name: 'memory', points: round(points), most: 40, why });
  if (memory === 0) return part(0, 'no GPU memory');
  if (memory < min) return part((12 * memory) / min, `${round(memory)} GB is below the minimum of ${min} GB`);
  if (memory < recommended) {
    return part(
      12 + (20 * (memory - min)) / (recommended - min),
      `${round(memory)} GB lies between ${min} and the recommended ${recommended} GB`,
    );
  }
  const headroom = recommended > 0 ? Math.min(3, Math.log2(memory / recommended)) : 3;
  return part(32 + (8 * headroom) / 3, `${round(memory)} GB, recommended are ${recommended} GB`);
}

function usePart(profile: Profile, memory: number): ScorePart {
  if (memory === 0) return { name: 'use', points: 0, most: 20, why: 'no GPU to use' };
  const open = profile.use === 'open' && memory >= profile.recommendedGiB;
  const share = open ? 1 : Math.min(1, profile.recommendedGiB / memory);
  return {
    name: 'use',
    points: round(20 * share),
    most: 20,
    why: open ? 'takes all the memory there is' : `made for ${profile.recommendedGiB} of ${round(memory)} GB`,
  };
}

/** Points for what the architecture can do in hardware; the first row that fits counts. */
const computeRows: readonly {
  readonly points: number;
  readonly why: string;
  readonly fits: (choice: Choice, major: number, gfx: string) => boolean;
}[] = [
  { points: 15, why: 'bf16 and TF32 tensor cores', fits: (choice, major) => choice.backend === 'cuda' && major >= 8 },
  { points: 11, why: 'fp16 tensor cores', fits: (choice, major) => choice.backend === 'cuda' && major === 7 },
  { points: 6, why: 'no tensor cores', fits: (choice, major) => choice.backend === 'cuda' && major === 6 },
  { points: 3, why: 'an old architecture', fits: (choice) => choice.backend === 'cuda' },
  {
    points: 15,
    why: 'matrix cores',
    fits: (choice, _major, gfx) => choice.backend === 'rocm' && /^gfx9(08|0a|42|50)$/.test(gfx),
  },
  {
    points: 12,
    why: 'matrix instructions of RDNA 3 and newer',
    fits: (choice, _major, gfx) => choice.backend === 'rocm' && /^gfx1[12]/.test(gfx),
  },
  { points: 7, why: 'no matrix instructions', fits: (choice) => choice.backend === 'rocm' },
  { points: 10, why: 'matrix engines', fits: (choice) => choice.backend === 'xpu' },
  { points: 9, why: 'unified memory, fp16', fits: (choice) => choice.backend === 'mps' },
  { points: 0, why: 'the CPU computes', fits: () => true },
];

function computePart(machine: Machine, choice: Choice, target: PackageTarget): ScorePart {
  const gfx = machine.gpus.map((gpu) => factValue(gpu.gfx)).find((value) => value !== undefined) ?? '';
  const row = computeRows.find((candidate) => candidate.fits(choice, target.cc?.major ?? 0, gfx))!;
  return { name: 'compute', points: row.points, most: 15, why: row.why };
}

function packagesPart(tables: Tables, profile: Profile, target: PackageTarget): ScorePart {
  const all = [...new Set([...profile.base, ...profile.added])];
  const { left } = selectPackages(tables, profile, { ...target, memoryGiB: undefined });
  const missing = left.filter((row) => all.includes(row.name));
  const share = all.length === 0 ? 1 : 1 - missing.length / all.length;
  return {
    name: 'packages',
    points: round(10 * share),
    most: 10,
    why:
      missing.length === 0
        ? 'all packages install here'
        : `left out here: ${missing.map((row) => row.name).join(', ')}`,
  };
}

const SERVING_CARD = /\b(?:T4|L4|A2|A10G?|A16|L40S?|A30|P4)\b/;

const placeRows: readonly {
  readonly profile: string;
  readonly points: number;
  readonly why: string;
  readonly fits: (machine: Machine, choice: Choice) => boolean;
}[] = [
  {
    profile: 'production',
    points: 15,
    why: 'a serving card in a cluster or cloud',
    fits: (machine, choice) =>
      choice.gpus.some((name) => SERVING_CARD.test(name)) &&
      ('source' in machine.host.container || 'source' in machine.host.cloud),
  },
  {
    profile: 'reinforcement_learning',
    points: 6,
    why: 'many cores for simulation',
    fits: (machine, choice) => machine.host.cores >= 16 && choice.backend !== 'cpu',
  },
  {
    profile: 'lightweight',
    points: 15,
    why: 'nothing in it needs a GPU',
    fits: (_machine, choice) => choice.backend === 'cpu',
  },
  {
    profile: 'learning',
    points: 8,
    why: 'small enough for a machine without a GPU',
    fits: (_machine, choice) => choice.backend === 'cpu',
  },
];

function placePart(profile: Profile, machine: Machine, choice: Choice): ScorePart {
  const row = placeRows.find((candidate) => candidate.profile === profile.name && candidate.fits(machine, choice));
  return {
    name: 'place',
    points: row?.points ?? 0,
    most: 15,
    why: row?.why ?? 'nothing about the place speaks for it',
  };
}
