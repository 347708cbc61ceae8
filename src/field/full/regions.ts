// Regions: places where content keeps gathering, found on block means every few cycles, at most one per block.

import type { FieldShape } from '../cycle/shape.ts';
import type { FullTables } from './tables.ts';

export interface Region {
  /** The block it is centred on. */
  block: number;
  /** Content means when it was last seen. */
  pattern: Float32Array;
  /** Smoothed activity: 0.9 of before and 0.1 of now. */
  strength: number;
  lastSeen: number;
}

export const mostRegions = 200;
export const regionEvery = 5;
const forgottenAfter = 500;
const mergeWithin = 2;
const mergeCosine = 0.8;

export function cosineOf(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [dot, x, y] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    dot += a[i]! * b[i]!;
    x += a[i]! * a[i]!;
    y += b[i]! * b[i]!;
  }
  return x > 0 && y > 0 ? dot / Math.sqrt(x * y) : 0;
}

/** The regions after a look at the block means; `regions` is left as it is. */
export function updateRegions(
  regions: readonly Region[],
  activity: Float32Array,
  content: Float32Array,
  cycle: number,
  { blocks, blockCount }: FullTables,
  { layout }: FieldShape,
  periodic: boolean,
): Region[] {
  const at = (block: number): number[] => [
    Math.floor(block / (blocks[1] * blocks[2])),
    Math.floor(block / blocks[2]) % blocks[1],
    block % blocks[2],
  ];
  const distance = (a: number, b: number): number => {
    const [p, q] = [at(a), at(b)];
    return Math.max(
      ...p.map((x, i) => {
        const d = Math.abs(x - q[i]!);
        return periodic ? Math.min(d, blocks[i]! - d) : d;
      }),
    );
  };
  let [mean, square] = [0, 0];
  for (const v of activity) {
    mean += v / blockCount;
    square += (v * v) / blockCount;
  }
  const level = mean + Math.sqrt(Math.max(0, square - mean * mean));
  const next = regions.filter((r) => cycle - r.lastSeen <= forgottenAfter).map((r) => ({ ...r }));
  for (let block = 0; block < blockCount; block++) {
    const value = activity[block]!;
    if (!(value > level) || !isPeak(block, activity, at, blocks, periodic)) continue;
    const pattern = content.slice(block * layout.content, (block + 1) * layout.content);
    const known = next.find(
      (r) => distance(r.block, block) <= mergeWithin && cosineOf(r.pattern, pattern) > mergeCosine,
    );
    if (known) {
      known.strength = 0.9 * known.strength + 0.1 * value;
      known.pattern = pattern;
      known.lastSeen = cycle;
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

/** Whether no block beside it has more. */
function isPeak(
  block: number,
  activity: Float32Array,
  at: (block: number) => number[],
  blocks: readonly [number, number, number],
  periodic: boolean,
): boolean {
  const [x, y, z] = at(block) as [number, number, number];
  for (let i = -1; i <= 1; i++)
    for (let j = -1; j <= 1; j++)
      for (let k = -1; k <= 1; k++) {
        const p = [x + i, y + j, z + k];
        if (!periodic && p.some((v, a) => v < 0 || v >= blocks[a]!)) continue;
        const [a, b, c] = p.map((v, axis) => (v + blocks[axis]!) % blocks[axis]!) as [number, number, number];
        const other = (a * blocks[1] + b) * blocks[2] + c;
        // Of equal neighbours the first counts.
        if (activity[other]! > activity[block]! || (activity[other] === activity[block] && other < block)) return false;
      }
  return true;
}
