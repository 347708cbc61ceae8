// Where things stand in the input and the tail of model `full`, behind those of model `fused`.

import { inputLength } from '../cycle/dials.ts';
import { tailLength } from '../cycle/record.ts';
import type { FieldShape } from '../cycle/shape.ts';

/** Numbers that the host works out for a cycle. */
export const thoughtNames = [
  'intensity',
  'drive',
  /** Length of the content vector that the sensors ask for. */
  'sensorNorm',
  /** The factor of content that stays, before each cell's own. */
  'keep',
  'phase',
  /** What the dynamics go to: decay, diffusion, coupling, plasticity, and what cells of high activity get on top. */
  'aim0',
  'aim1',
  'aim2',
  'aim3',
  'aimOfError',
  /** The mean of Σ |content| over all cells. */
  'activityMean',
  /** 1 and a cell, if a remembered pattern says where to imprint. */
  'remembered',
  'remembered0',
  'remembered1',
  'remembered2',
  /** The same for one that is only similar. */
  'similar',
  'similar0',
  'similar1',
  'similar2',
] as const;
export type ThoughtName = (typeof thoughtNames)[number];

export const waveCount = 4;
/** Positions at which novelty looks. */
export const sampleCount = 512;
/** The largest number of blocks along an edge. */
const mostBlocks = 8;

/** Blocks along an edge: the most, up to 8, that divide it. */
function blocksAlong(edge: number): number {
  for (let g = Math.min(mostBlocks, edge); g > 1; g--) if (edge % g === 0) return g;
  return 1;
}

export interface FullTables {
  readonly blocks: readonly [number, number, number];
  readonly blockCount: number;
  /** In the input. */
  readonly thoughts: number;
  readonly waves: number;
  readonly strengths: number;
  readonly patterns: number;
  /** One for each attractor there may be. */
  readonly forces: number;
  readonly inputLength: number;
  /** In the tail: the cell that was imprinted, the resonance, samples, block means. */
  readonly extra: number;
  readonly samples: number;
  readonly blockActivity: number;
  readonly blockContent: number;
  readonly tailLength: number;
}

export const mostAttractors = 20;

/** place0, place1, place2, peak. */
const extraCount = 4;

export function tablesOf(shape: FieldShape): FullTables {
  const blocks = shape.edges.map(blocksAlong) as [number, number, number];
  const blockCount = blocks[0] * blocks[1] * blocks[2];
  const { content } = shape.layout;
  const thoughts = inputLength(shape);
  const waves = thoughts + thoughtNames.length;
  const strengths = waves + 3 * waveCount;
  const patterns = strengths + blockCount;
  const extra = tailLength(shape);
  const samples = extra + extraCount;
  const blockActivity = samples + sampleCount;
  const blockContent = blockActivity + blockCount;
  return {
    blocks,
    blockCount,
    thoughts,
    waves,
    strengths,
    patterns,
    forces: patterns + blockCount * content,
    inputLength: patterns + blockCount * content + mostAttractors,
    extra,
    samples,
    blockActivity,
    blockContent,
    tailLength: blockContent + blockCount * content,
  };
}

/** The block of a cell. */
export const blockOf = (cell: readonly number[], { edges }: FieldShape, { blocks }: FullTables): number =>
  blocks.reduce((at, g, a) => at * g + Math.floor((cell[a]! * g) / edges[a]!), 0);
