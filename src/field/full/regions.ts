// Regions: places where content keeps gathering, found on block means every few cycles, at most one per block.

import type { BlockGrid } from './block-grid.ts';
import { cosineOf } from './cosine.ts';

export interface Region {
  /** The block it is centred on. */
  readonly block: number;
  /** Content means when it was last seen. */
  readonly pattern: Float32Array;
  /** Smoothed activity: 0.9 of before and 0.1 of now. */
  readonly strength: number;
  readonly lastSeen: number;
}

export const mostRegions = 200;
export const regionEvery = 5;
const forgottenAfter = 500;
const mergeWithin = 2;
const mergeCosine = 0.8;

/** The regions after a look at the block means, of which each block has `channels`; `regions` is left as it is. */
export function updateRegions(
  regions: readonly Region[],
  activity: Float32Array,
  content: Float32Array,
  cycle: number,
  grid: BlockGrid,
  channels: number,
): Region[] {
  let mean = 0;
  let square = 0;
  for (let i = 0; i < activity.length; i++) {
    const v = activity[i]!;
    mean += v / grid.count;
    square += (v * v) / grid.count;
  }
  const level = mean + Math.sqrt(Math.max(0, square - mean * mean));
  const next = regions.filter((r) => cycle - r.lastSeen <= forgottenAfter);
  for (let block = 0; block < grid.count; block++) {
    const value = activity[block]!;
    if (!(value > level) || !grid.isPeak(block, activity)) continue;
    const pattern = content.slice(block * channels, (block + 1) * channels);
    const known = next.findIndex(
      (r) => grid.distance(r.block, block) <= mergeWithin && cosineOf(r.pattern, pattern) > mergeCosine,
    );
    if (known >= 0) {
      const before = next[known]!;
      next[known] = { ...before, strength: 0.9 * before.strength + 0.1 * value, pattern, lastSeen: cycle };
      continue;
    }
    // One region per block: the newer pattern takes the place of the one that is there.
    const here = next.findIndex((r) => r.block === block);
    const made = { block, pattern, strength: value, lastSeen: cycle };
    if (here >= 0) next[here] = made;
    else if (next.length < mostRegions) next.push(made);
  }
  return next;
}
