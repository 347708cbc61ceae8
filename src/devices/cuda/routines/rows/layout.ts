// How a stack of rows lies over the threads of a device.
//
// A thread has the same few places of every row. Where much is computed of an element, a block stays and takes one row after the other:
// while it computes one, the next is on its way into registers. Otherwise a multiprocessor reads while it has nothing to compute, and
// computes while nothing is read: a softmax of 4096² took 50 µs and takes 41, where reading and writing alone take 36. Where little is
// computed, many blocks with a row each overlap by themselves (a layer norm of 4096²: 36 µs, with blocks that stay 41), and threads that
// read several vectors at once are better than more of them (an RMS norm of 8192 x 4096 in bf16: 38 µs by 128 threads, 44 by 512).

import { dtypeInfo } from '../../../../base/dtype.ts';
import type { Rows } from '../../../../kernel/kernel.ts';
import { innermost, isTurned } from '../../../../kernel/row-stages.ts';
import { isElementLoad, loadsOf } from '../../../../kernel/rows.ts';
import { rootsOf } from '../../ptx/shape.ts';
import type { Target } from '../../ptx/target.ts';
import { reachable } from '../../ptx/values.ts';

export interface Layout {
  /** Threads of one row: part of a warp, a warp, or a whole block. */
  readonly group: number;
  readonly threads: number;
  readonly vector: number;
  /** Vectors that each thread has of a row. */
  readonly places: number;
  /** Neighbouring threads have neighbouring rows: those lie side by side. */
  readonly turned: boolean;
  /** Blocks that a multiprocessor holds and that stay until all rows are done; 0 if every block has rows of its own. */
  readonly resident: number;
}

/** Threads of a row where every block has one row, by the bytes of the widest operand. Of a long row each thread holds so much that there are registers for 512. */
const mostThreads = (widest: number, columns: number): number => (widest === 8 && columns <= 8192 ? 1024 : 512);
/** Elements of f64 for each thread: with fewer, blocks wait for each other more often (a softmax of 4096 x 1024: 27 µs by 128 threads, 31 by 256, 43 by 512). */
const wideElements = 8;
/** Operations on an element from which it is much: a softmax has more, a layer norm fewer. */
const heavyFrom = 100;
/**
 * Rows for which blocks stay, by operations on an element and by length, and the most threads of such a block. Shorter rows are read fast
 * enough by many blocks at a time. (The sum of a log softmax of 8192²: 137 µs by blocks of a row each, 106 by 256 threads that stay.)
 */
const stayFor = [
  { operations: heavyFrom, shortest: 2048, longest: 16_384, threads: 1024 },
  { operations: 64, shortest: 4096, longest: 8192, threads: 256 },
] as const;
/** Elements of a row that a thread of a staying block holds, and threads of a multiprocessor that have registers for two rows of them. */
const heldElements = 16;
const stayingThreads = { few: 768, many: 1024 } as const;

/** Vectors of a row that a part of a warp holds at most, and bytes of a row that it reads at a time at least: a line of the cache. */
const shortVectors = 64;
const lineBytes = 128;
/** Bytes of a row that a thread of a short row holds at most. */
const heldBytes = 128;
/** Threads of a multiprocessor that short rows must leave it: with fewer, more threads a row are better. */
const busyThreads = 4096;
/** Threads of a block of short rows: while some are read, others are computed (softmax of 262144 x 200: 145 µs by 256, 127 by 128). */
const shortThreads = 128;
/** What combining two values costs, in operations on an element. */
const exchangeCost = 4;

export function layoutOf(stack: Rows, target: Target): Layout {
  const { columns } = stack;
  if (isTurned(stack))
    return { group: 32, threads: 512, vector: 1, places: Math.ceil(columns / 32), turned: true, resident: 0 };
  const widest = Math.max(...[...stack.inputs, ...stack.outputs].map((b) => dtypeInfo[b.type].bytes));
  let vector = Math.min(16 / widest, 8);
  // A vector must not run over the end of a row, nor of its innermost axis.
  while (vector > 1 && stack.stages.some(({ kernel }) => innermost(kernel) % vector !== 0)) vector /= 2;
  const { threads: asked, resident: wanted } = target.tuning?.rows ?? {};
  const operations = operationsOf(stack);
  const heavy = operations >= heavyFrom;
  const may = asked === undefined && vector === 4 && operandsOf(stack) === 1;
  const stays = may
    ? stayFor.find((s) => operations >= s.operations && columns >= s.shortest && columns <= s.longest)
    : undefined;
  const most = asked ?? stays?.threads ?? mostThreads(widest, columns);
  const short = asked === undefined ? shortGroup(stack, vector, widest, operations, target) : null;
  if (short !== null)
    return {
      group: short,
      threads: shortThreads,
      vector,
      places: Math.ceil(columns / (short * vector)),
      turned: false,
      resident: 0,
    };
  let group = 32;
  const plain = widest === 8 ? wideElements : heavy ? vector : vector * (widest < 4 ? 4 : 2);
  const each = stays ? heldElements : asked !== undefined ? vector : plain;
  while (group < most && group * each < columns) group *= 2;
  const threads = group === 32 ? 256 : group;
  const staying = stayingThreads[threads > 256 ? 'many' : 'few'] / threads;
  const resident = wanted ?? (stays ? staying : 0);
  return { group, threads, vector, places: Math.ceil(columns / (group * vector)), turned: false, resident };
}

/**
 * Threads of a row that part of a warp can hold; null for longer rows. A warp for each would be idle in part: of 64 numbers 16 threads have
 * a vector. Fewer threads exchange less, and so many share a row that few of them are left over.
 */
function shortGroup(stack: Rows, vector: number, widest: number, operations: number, target: Target): number | null {
  const vectors = Math.ceil(stack.columns / vector);
  if (vectors > shortVectors) return null;
  const folds = stack.stages.filter(({ kernel }) => kernel.accumulators.length > 0).length;
  let best: number | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (let group = 32; group * vector * widest >= lineBytes; group /= 2) {
    const places = Math.ceil(vectors / group);
    if (places * vector * Math.max(4, widest) > heldBytes) break;
    if (group < 32 && stack.rows * group < target.processors * busyThreads) break;
    const cost = group * (places * vector * operations + folds * Math.log2(group) * exchangeCost);
    if (cost < least) [best, least] = [group, cost];
  }
  return best;
}

const operationsOf = ({ stages }: Rows): number =>
  stages.reduce((n, { kernel }) => n + reachable(rootsOf(kernel)).length, 0);

/** Operands of whole rows. */
function operandsOf({ stages }: Rows): number {
  const held = new Set<number>();
  for (const { kernel, sources } of stages) {
    for (const load of loadsOf(kernel)) {
      const source = sources[load.slot]!;
      if ('buffer' in source && isElementLoad(load, kernel)) held.add(source.buffer);
    }
  }
  return held.size;
}
