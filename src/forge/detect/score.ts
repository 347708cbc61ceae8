// Suitability of a GPU for numeric work, 0 to 100, with its parts: memory, throughput, generation.
//
// Each part comes from facts of the card and is on a logarithmic scale, so that cards differ where they differ. A fact that is
// not known takes its part out of the sum, and the rest is scaled up and marked incomplete; without the generation there is no
// score. The figure ranks cards; it is no benchmark, and nothing in it was measured on the card.

import type { Gpu } from '../machine.ts';
import { coresPerUnit } from './tables/nvidia-chips.ts';

export interface ScorePart {
  readonly name: 'memory' | 'throughput' | 'generation';
  /** null when the fact it needs is not known. */
  readonly points: number | null;
  readonly most: number;
  readonly because: string;
}

export interface Score {
  readonly id: string;
  readonly total: number | null;
  readonly complete: boolean;
  readonly parts: readonly ScorePart[];
}

const GIB = 1024 ** 3;
const MEMORY_MOST = 35;
const THROUGHPUT_MOST = 45;
const GENERATION_MOST = 20;

/** Points for the matrix engines and number formats of a generation. */
const generations: Readonly<Record<string, number>> = {
  Kepler: 0,
  Maxwell: 1,
  Pascal: 3,
  Volta: 9,
  Turing: 10,
  Ampere: 14,
  Ada: 16,
  Hopper: 19,
  Blackwell: 20,
  'Blackwell Ultra': 20,
  'GCN 5': 1,
  'GCN 5.0': 1,
  'GCN 5.1': 2,
  'RDNA 1': 2,
  'RDNA 2': 4,
  'RDNA 3': 9,
  'RDNA 3.5': 9,
  'RDNA 4': 13,
  CDNA: 10,
  'CDNA 2': 14,
  'CDNA 3': 18,
  'CDNA 4': 20,
  'CDNA (MI450)': 20,
  'before Xe': 0,
  'Xe-LP': 1,
  'Xe-LPG': 3,
  'Xe-HPG': 7,
  'Xe2-LPG': 6,
  'Xe2-HPG': 9,
  'Xe3-LPG': 7,
  'Xe-HPC': 14,
  'Apple silicon': 6,
};

export function scoreGpu(gpu: Gpu): Score {
  const parts = [memoryPart(gpu), throughputPart(gpu), generationPart(gpu)];
  const known = parts.filter((part) => part.points !== null);
  const points = known.reduce((sum, part) => sum + (part.points ?? 0), 0);
  const most = known.reduce((sum, part) => sum + part.most, 0);
  const judged = parts[2]?.points !== null && known.length > 1;
  return {
    id: gpu.id,
    total: judged ? Math.round((points / most) * 1000) / 10 : null,
    complete: known.length === parts.length,
    parts,
  };
}

/** Best first; what cannot be used, or not be judged, comes last. */
export function rankGpus(gpus: readonly Gpu[]): readonly Score[] {
  const usable = new Map(gpus.map((gpu) => [gpu.id, gpu.usable]));
  const place = (score: Score) => (usable.get(score.id) ? 1000 : 0) + (score.total ?? -1);
  return gpus.map(scoreGpu).sort((a, b) => place(b) - place(a));
}

/** 1 GiB is nothing, 192 GiB is all. Shared memory is slow and not the GPU's alone: it counts two fifths. */
function memoryPart(gpu: Gpu): ScorePart {
  const base = { name: 'memory', most: MEMORY_MOST } as const;
  if (!('source' in gpu.memoryBytes)) return { ...base, points: null, because: `unknown: ${gpu.memoryBytes.reason}` };
  const gib = gpu.memoryBytes.value / GIB;
  const share = gpu.unified ? 0.4 : 1;
  return {
    ...base,
    points: rounded(MEMORY_MOST * share * logScale(gib, 1, 192)),
    because: `${gib.toFixed(gib < 10 ? 1 : 0)} GiB${gpu.unified ? ', shared with the processor' : ''}`,
  };
}

/** Single-precision lanes: 256 is nothing, 24576 is all. */
function throughputPart(gpu: Gpu): ScorePart {
  const base = { name: 'throughput', most: THROUGHPUT_MOST } as const;
  if (!('source' in gpu.units)) return { ...base, points: null, because: `unknown: ${gpu.units.reason}` };
  const lanes = gpu.units.value * lanesPerUnit(gpu);
  return {
    ...base,
    points: rounded(THROUGHPUT_MOST * logScale(lanes, 256, 24_576)),
    because: `${gpu.units.value} units, ${lanes} lanes`,
  };
}

function generationPart(gpu: Gpu): ScorePart {
  const base = { name: 'generation', most: GENERATION_MOST } as const;
  const name = 'source' in gpu.architecture ? gpu.architecture.value : undefined;
  const points = name === undefined ? undefined : generations[name];
  if (points === undefined) return { ...base, points: null, because: 'unknown architecture' };
  return { ...base, points, because: name! };
}

function lanesPerUnit(gpu: Gpu): number {
  if ('source' in gpu.computeCapability) return coresPerUnit(gpu.computeCapability.value);
  return gpu.vendor === 'amd' ? 64 : 128;
}

function logScale(value: number, low: number, high: number): number {
  return Math.min(1, Math.max(0, Math.log(value / low) / Math.log(high / low)));
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
