// Which GPUs of a machine one build can serve together: all of them, else the largest set, with the variable that selects it.

import type { Tables } from '../data/schemas.ts';
import { formatCc } from '../machine.ts';
import { VENDOR_OF } from './checks.ts';
import type { VendorTarget } from './facts.ts';
import { type Candidate, judge, rank } from './judge.ts';
import type { Rejection, Target, TargetGpu, Wheel } from './types.ts';

export interface VendorResult {
  readonly found?: {
    readonly candidate: Candidate;
    readonly target: Target;
    readonly left: readonly TargetGpu[];
    readonly environment: Readonly<Record<string, string>>;
  };
  readonly others: readonly Candidate[];
  readonly rejected: readonly Rejection[];
}

export function bestForVendor(tables: Tables, wheels: readonly Wheel[], entry: VendorTarget): VendorResult {
  const gpuWheels = wheels.filter(({ backend }) => backend !== 'cpu' && VENDOR_OF[backend] === entry.vendor);
  let firstRejected: readonly Rejection[] | undefined;
  for (const gpus of subsets(entry.target.gpus)) {
    const target = { ...entry.target, gpus };
    const judged = judge(tables, gpuWheels, target);
    firstRejected ??= judged.rejected.map((row) => row.rejection);
    const [candidate, ...others] = rank(judged.accepted);
    if (!candidate) continue;
    const left = entry.target.gpus.filter((gpu) => !gpus.includes(gpu));
    const rejected = left.length === 0 ? firstRejected : judged.rejected.map((row) => row.rejection);
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
function subsets(gpus: readonly TargetGpu[]): readonly (readonly TargetGpu[])[] {
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
