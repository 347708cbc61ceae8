// How attention is cut for workgroups, as data: chosen from the size of heads and what the adapter has.

import type { Attention } from '../../../kernel/kernel.ts';
import type { Traits } from '../plan.ts';

/** A thread has `rows` queries, four neighbouring keys of a step, and columns of the result in groups of four. */
export interface AttentionTiles {
  readonly threads: number;
  /** Threads of one query. */
  readonly across: number;
  readonly rows: number;
}

type Head = Pick<Attention, 'depth' | 'width'>;

export const queriesOf = (t: AttentionTiles): number => t.rows * (t.threads / t.across);
export const keysOf = (t: AttentionTiles): number => 4 * t.across;

/** Groups of columns, as many as there are threads of a query, that a thread has a vector of. */
export const columnGroups = ({ width }: Pick<Head, 'width'>, t: AttentionTiles): number =>
  Math.ceil(width / (4 * t.across));

/** A region of workgroup memory: `count` cells of `vectors` each. What a thread reads at a time lies in one cell, so that one index is checked. */
export interface Region {
  readonly count: number;
  readonly vectors: number;
  /** Cells from one line to the next. */
  readonly pitch: number;
}

/**
 * Lines of a step: of keys one for every four of the depth, of values and weights one for every four keys. Cells have an odd number of
 * vectors and so have lines, so that threads side by side meet different banks. Queries are read from storage, through its cache: copies
 * of them leave room for fewer workgroups at a time.
 */
export function regionsOf(head: Head, t: AttentionTiles): Record<'keys' | 'values' | 'weights', Region> {
  const region = (lines: number, cells: number, vectors: number): Region => {
    const pitch = cells + ((cells + 1) % 2);
    return { count: lines * pitch, vectors: vectors + ((vectors + 1) % 2), pitch };
  };
  return {
    keys: region(head.depth / 4, t.across, 4),
    values: region(t.across, t.across, 4 * columnGroups(head, t)),
    weights: region(t.across, t.threads / t.across, t.rows),
  };
}

type Chip = Pick<Traits, 'workgroupBytes' | 'maxInvocations' | 'subgroup'>;

/** Whether threads of a query exchange values without workgroup memory. */
export const shuffles = (t: AttentionTiles, { subgroup }: Pick<Traits, 'subgroup'>): boolean => subgroup >= t.across;

function bytesOf(head: Head, t: AttentionTiles, chip: Chip): number {
  const cells = Object.values(regionsOf(head, t)).reduce((n, r) => n + r.count * r.vectors, 0);
  const exchanged = shuffles(t, chip) ? 0 : t.threads * t.rows * 4;
  // One word says whether all values are finite.
  return 16 * cells + exchanged + 16;
}

/** Numbers that a thread holds of results and scores. */
const mostHeld = 144;
const heldBy = (head: Head, t: AttentionTiles): number => 4 * t.rows * (columnGroups(head, t) + 1);

const tiles = (threads: number, across: number, rows: number): AttentionTiles => ({ threads, across, rows });

/** From the fastest on. */
export const attentionChoices: readonly AttentionTiles[] = [
  tiles(256, 4, 4),
  tiles(128, 8, 4),
  tiles(64, 8, 4),
  tiles(64, 4, 4),
  tiles(64, 4, 2),
  tiles(64, 4, 1),
];

export const fitsChip = (head: Head, t: AttentionTiles, chip: Chip): boolean =>
  t.threads <= chip.maxInvocations && heldBy(head, t) <= mostHeld && bytesOf(head, t, chip) <= chip.workgroupBytes;

/** Workgroups that keep a large GPU busy. */
const enough = 264;

/** The fastest that fits and keeps the GPU busy; where none does, the one with the most workgroups. Undefined if none fits. */
export function attentionTiles(
  r: Pick<Attention, 'depth' | 'width' | 'batch' | 'queries'>,
  chip: Chip,
): AttentionTiles | undefined {
  const fitting = attentionChoices.filter((t) => fitsChip(r, t, chip));
  const groups = (t: AttentionTiles): number => r.batch * Math.ceil(r.queries / queriesOf(t));
  const busy = fitting.find((t) => groups(t) >= enough);
  return busy ?? fitting.reduce<AttentionTiles | undefined>((a, b) => (a && groups(a) >= groups(b) ? a : b), undefined);
}

/** `caps.attention` of a device: the largest depth and width of heads. */
export function attentionHeads(
  traits: Chip & Pick<Traits, 'f16'>,
): Readonly<Partial<Record<Attention['type'], number>>> {
  const fits = (d: number): boolean => attentionChoices.some((t) => fitsChip({ depth: d, width: d }, t, traits));
  const widest = [256, 128, 96, 64, 32].find(fits) ?? 0;
  return { f32: widest, ...(traits.f16 ? { f16: widest } : {}) };
}
