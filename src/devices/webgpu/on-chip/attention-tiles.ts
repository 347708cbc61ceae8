// How attention is cut for workgroups, as data: chosen from the size of heads and what the adapter has.

import type { Attention } from '../../../kernel/kernel.ts';
import type { Traits } from '../plan.ts';

/** A thread has `rows` queries, four neighbouring keys of a step, and columns of the result in groups of four. */
export interface AttentionTiles {
  /** Threads of one query. */
  readonly across: number;
  readonly rows: number;
  /** Queries are kept in workgroup memory too; else threads read them from storage, through its cache. */
  readonly queriesShared: boolean;
}

export const attentionThreads = 256;

type Head = Pick<Attention, 'depth' | 'width'>;

export const queriesOf = (t: AttentionTiles): number => t.rows * (attentionThreads / t.across);
export const keysOf = (t: AttentionTiles): number => 4 * t.across;

/** Vectors of four of a row in workgroup memory: an odd number, so that rows begin in different banks. */
export const pitchOf = (elements: number): number => elements / 4 + 1;
/** Groups of columns, as many as there are threads of a query, that a thread has a vector of. */
export const columnGroups = ({ width }: Pick<Head, 'width'>, t: AttentionTiles): number =>
  Math.ceil(width / (4 * t.across));

/** Vectors of each region of workgroup memory. Keys and values take turns in one of them. */
export function regionsOf(head: Head, t: AttentionTiles): { queries: number; operand: number; weights: number } {
  return {
    queries: t.queriesShared ? queriesOf(t) * pitchOf(head.depth) : 0,
    operand: keysOf(t) * Math.max(pitchOf(head.depth), columnGroups(head, t) * t.across),
    weights: queriesOf(t) * pitchOf(keysOf(t)),
  };
}

type Chip = Pick<Traits, 'workgroupBytes' | 'maxInvocations' | 'subgroup'>;

/** Whether threads of a query exchange values without workgroup memory. */
export const shuffles = (t: AttentionTiles, { subgroup }: Pick<Traits, 'subgroup'>): boolean => subgroup >= t.across;

function bytesOf(head: Head, t: AttentionTiles, chip: Chip): number {
  const { queries, operand, weights } = regionsOf(head, t);
  const exchanged = shuffles(t, chip) ? 0 : attentionThreads * t.rows * 4;
  // One word says whether all values are finite.
  return 16 * (queries + operand + weights) + exchanged + 16;
}

/** Numbers that a thread holds of results and scores. */
const mostHeld = 144;
const heldBy = (head: Head, t: AttentionTiles): number => 4 * t.rows * (columnGroups(head, t) + 1);

const tiles = (across: number, rows: number, queriesShared: boolean): AttentionTiles => ({
  across,
  rows,
  queriesShared,
});

/** From the fastest on. */
export const attentionChoices: readonly AttentionTiles[] = [
  tiles(16, 4, true),
  tiles(8, 2, true),
  tiles(16, 4, false),
  tiles(8, 4, false),
  tiles(8, 2, false),
  tiles(4, 2, false),
  tiles(8, 1, false),
  tiles(4, 1, false),
];

export const fitsChip = (head: Head, t: AttentionTiles, chip: Chip): boolean =>
  attentionThreads <= chip.maxInvocations &&
  heldBy(head, t) <= mostHeld &&
  bytesOf(head, t, chip) <= chip.workgroupBytes;

export const attentionTiles = (head: Head, chip: Chip): AttentionTiles | undefined =>
  attentionChoices.find((t) => fitsChip(head, t, chip));

/** `caps.attention` of a device: the largest depth and width of heads. */
export function attentionHeads(
  traits: Chip & Pick<Traits, 'f16'>,
): Readonly<Partial<Record<Attention['type'], number>>> {
  const widest = [256, 128, 64].find((d) => attentionTiles({ depth: d, width: d }, traits) !== undefined) ?? 0;
  return { f32: widest, ...(traits.f16 ? { f16: widest } : {}) };
}
