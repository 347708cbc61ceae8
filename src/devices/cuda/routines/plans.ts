// How a product without tensor cores is cut: named plans, and a table of which one is usual for what.

import { dtypeInfo } from '../../../base/dtype.ts';
import type { Matmul } from '../../../kernel/kernel.ts';
import type { Target } from '../ptx/target.ts';
import type { ModuleRecipe } from '../recipe.ts';
import { type SlicedTiles, slicedRecipe, slicedResultsPerThread, slicedThreads, takesSliced } from './sliced.ts';
import { sumType, type Tiles, tiledRecipe, tiledThreads } from './tiled.ts';

export type ProductPlan = ({ readonly kind: 'tiled' } & Tiles) | ({ readonly kind: 'sliced' } & SlicedTiles);

/** Tiles of rows × columns, of which each thread has `down` × `across`. */
const tiles = (rows: number, columns: number, down: number, across: number): ProductPlan => ({
  kind: 'tiled',
  rows,
  columns,
  depth: 16,
  down,
  across,
});

const sliced = (
  rows: number,
  columns: number,
  down: number,
  across: number,
  slices: number,
  depth: number,
  stages: number,
  resident: number,
): ProductPlan => ({ kind: 'sliced', rows, columns, down, across, slices, depth, stages, resident });

/** Every plan by its name. */
export const plans = {
  'tiles 128': tiles(128, 128, 8, 8),
  'tiles 128x64': tiles(128, 64, 8, 4),
  'tiles 128x32': tiles(128, 32, 8, 4),
  'tiles 64x128': tiles(64, 128, 4, 8),
  'tiles 32x128': tiles(32, 128, 4, 8),
  'tiles 16x128': tiles(16, 128, 4, 8),
  'tiles 64': tiles(64, 64, 4, 4),
  'tiles 32': tiles(32, 32, 4, 4),
  '32x32 two slices': sliced(32, 32, 4, 4, 2, 16, 3, 5),
  '32x32 four slices': sliced(32, 32, 8, 4, 4, 16, 2, 5),
  '64x64 one slice': sliced(64, 64, 8, 8, 1, 16, 3, 4),
} as const satisfies Readonly<Record<string, ProductPlan>>;

export type PlanName = keyof typeof plans;

/** A product, as the table below looks at it. */
interface Asked {
  /** Tiles of a side. */
  blocks(side: number): number;
  /** Its sums take 8 bytes each. */
  readonly wide: boolean;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Its second operand is read along the depth. */
  readonly transposeB: boolean;
  /** What fills the device. */
  readonly processors: number;
}

interface Usual {
  readonly plan: PlanName;
  readonly when: (asked: Asked) => boolean;
}

/**
 * The first that can do it. On an H200 slices win or tie up to 2048²; at 4096² they take 3,875 µs, tiles of 128 3,538. Four of them
 * make ten products of 256² in 11.6 µs, two in 15.3; two are sooner done with little depth to divide (1024×64×1024: 6.5 µs, four 7.3),
 * with much of it (640²: 19.6, 20.1) and where both operands are read along the depth (ten of 256²: 12.8, 14.7). Many tiles with little
 * depth are soonest done by small blocks of large threads: 128 products of 512×64×512 in 111 µs, tiles of 128 in 151; of 512×128×512 in
 * 206 and 261.
 */
const usual: readonly Usual[] = [
  {
    plan: '32x32 four slices',
    when: ({ blocks, processors, k, transposeB }) => blocks(128) < 4 * processors && k > 128 && k <= 512 && !transposeB,
  },
  { plan: '32x32 two slices', when: ({ blocks, processors }) => blocks(128) < 4 * processors },
  { plan: '64x64 one slice', when: ({ m, n, k }) => k <= 128 && m >= 256 && n >= 256 },
  { plan: 'tiles 128x32', when: ({ blocks, processors, wide, n }) => !wide && n <= 32 && blocks(128) >= processors },
  { plan: 'tiles 128x64', when: ({ blocks, processors, wide, n }) => !wide && n <= 64 && blocks(128) >= processors },
  { plan: 'tiles 16x128', when: ({ blocks, processors, wide, m }) => !wide && m <= 16 && blocks(128) >= processors },
  { plan: 'tiles 32x128', when: ({ blocks, processors, wide, m }) => !wide && m <= 32 && blocks(128) >= processors },
  { plan: 'tiles 64x128', when: ({ blocks, processors, wide, m }) => !wide && m <= 64 && blocks(128) >= processors },
  { plan: 'tiles 128', when: ({ blocks, processors, wide }) => !wide && blocks(128) >= processors },
  { plan: 'tiles 32', when: ({ blocks, processors, wide }) => !wide && blocks(64) < 1.5 * processors },
  { plan: 'tiles 64', when: () => true },
];

/** The plan named by `target.tuning` where it can do this, else the usual one. */
export function planFor(r: Matmul, target: Target): ProductPlan {
  const named = (plans as Readonly<Record<string, ProductPlan>>)[target.tuning?.product ?? ''];
  if (named && takes(r, target, named)) return named;
  const asked: Asked = {
    blocks: (side) => Math.ceil(r.m / side) * Math.ceil(r.n / side) * r.batch,
    wide: dtypeInfo[sumType(r.type)].bytes === 8,
    m: r.m,
    n: r.n,
    k: r.k,
    transposeB: r.transposeB,
    processors: target.processors,
  };
  return plans[usual.find((u) => u.when(asked) && takes(r, target, plans[u.plan]))!.plan];
}

/** `count`: as many products with operands and results of their own. */
export const planned = (r: Matmul, target: Target, p: ProductPlan, count = 1): ModuleRecipe =>
  p.kind === 'tiled' ? tiledRecipe(r, target, p, count) : slicedRecipe(r, target, p, count);

/** How many results a thread stores. */
export const resultsPerThread = (p: ProductPlan): number =>
  p.kind === 'tiled' ? p.down * p.across : slicedResultsPerThread(p);

export const threadsOf = (p: ProductPlan): number => (p.kind === 'tiled' ? tiledThreads(p) : slicedThreads(p));

/** Large tiles do not fit shared memory in types of 8 bytes. */
function takes(r: Matmul, target: Target, p: ProductPlan): boolean {
  if (p.kind === 'sliced') return takesSliced(r, target);
  return p.rows * p.columns <= 64 * 64 || dtypeInfo[sumType(r.type)].bytes === 4;
}
