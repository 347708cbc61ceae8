// How attention is cut for workgroups, as data: chosen from the size of heads and what the adapter has.

import type { Attention } from '../../../kernel/kernel.ts';
import type { Traits } from '../plan.ts';

/** A thread has `rows` queries, some fours of neighbouring keys of a step, and columns of the result in groups of four. */
export interface AttentionTiles {
  readonly threads: number;
  /** Threads of one query. */
  readonly across: number;
  readonly rows: number;
  /** Fours of keys. */
  readonly fours: number;
}

type Head = Pick<Attention, 'depth' | 'width'>;

export const queriesOf = (t: AttentionTiles): number => t.rows * (t.threads / t.across);
export const keysOf = (t: AttentionTiles): number => 4 * t.across * t.fours;

/** Vectors of four of a key in workgroup memory: an odd number, as threads side by side read keys side by side. */
export const pitchOf = (depth: number): number => depth / 4 + 1;
/** Groups of columns, as many as there are threads of a query, that a thread has a vector of. */
export const columnGroups = ({ width }: Pick<Head, 'width'>, t: AttentionTiles): number =>
  Math.ceil(width / (4 * t.across));

/**
 * Vectors of each region of workgroup memory. Keys and values take turns in one of them. Queries are read from storage, through its
 * cache: on an H200 copies of them in workgroup memory cost a third more, as fewer workgroups are at work at a time.
 */
export function regionsOf(head: Head, t: AttentionTiles): { operand: number; weights: number } {
  return {
    operand: keysOf(t) * Math.max(pitchOf(head.depth), columnGroups(head, t) * t.across),
    weights: (queriesOf(t) * keysOf(t)) / 4,
  };
}

type Chip = Pick<Traits, 'workgroupBytes' | 'maxInvocations' | 'subgroup'>;

/** Whether threads of a query exchange values without workgroup memory. */
export const shuffles = (t: AttentionTiles, { subgroup }: Pick<Traits, 'subgroup'>): boolean => subgroup >= t.across;

function bytesOf(head: Head, t: AttentionTiles, chip: Chip): number {
  const { operand, weights } = regionsOf(head, t);
  const exchanged = shuffles(t, chip) ? 0 : t.threads * t.rows * 4;
  // One word says whether all values are finite.
  return 16 * (operand + weights) + exchanged + 16;
}

/** Numbers that a thread holds of results and scores. */
const mostHeld = 144;
const heldBy = (head: Head, t: AttentionTiles): number => 4 * t.rows * (columnGroups(head, t) + t.fours);

const tiles = (threads: number, across: number, rows: number, fours = 1): AttentionTiles => ({
  threads,
  across,
  rows,
  fours,
});

/** From the fastest on. */
export const attentionChoices: readonly AttentionTiles[] = [
  tiles(256, 8, 4),
  tiles(128, 8, 4),
  tiles(64, 8, 4),
  tiles(256, 4, 2),
  tiles(256, 4, 1),
];

export const fitsChip = (head: Head, t: AttentionTiles, chip: Chip): boolean =>
  t.threads <= chip.maxInvocations && heldBy(head, t) <= mostHeld && bytesOf(head, t, chip) <= chip.workgroupBytes;

export const attentionTiles = (head: Head, chip: Chip): AttentionTiles | undefined =>
  attentionChoices.find((t) => fitsChip(head, t, chip));

/** `caps.attention` of a device: the largest depth and width of heads. */
export function attentionHeads(
  traits: Chip & Pick<Traits, 'f16'>,
): Readonly<Partial<Record<Attention['type'], number>>> {
  const widest = [256, 128, 64].find((d) => attentionTiles({ depth: d, width: d }, traits) !== undefined) ?? 0;
  return { f32: widest, ...(traits.f16 ? { f16: widest } : {}) };
}
