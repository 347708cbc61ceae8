// How a reduction is laid over the device: which threads share a row, how long each works, how it is split.
//
//   row      the reduced axes are the contiguous ones: a group of threads (part of a warp, a warp, a block) walks one row
//   column   the output's last axis is contiguous: neighbouring threads take neighbouring columns
//
// Few and long rows are split into `splits` parts of `chunk` positions; the block that finishes last combines the parts in
// their order. All numbers depend on the kernel's sizes and the device only, never on timing.

import { dtypeInfo } from '../../../base/dtype.ts';
import { sizeOf } from '../../../base/shape.ts';
import { strideAlong } from '../../../kernel/bounds.ts';
import type { Expr } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { isArg, stateKinds, widthOf } from './combine.ts';
import type { Target } from './target.ts';
import { dependencies, reachable } from './values.ts';

export interface ReducePlan {
  readonly form: 'row' | 'column';
  readonly threads: number;
  /** row: threads per row. column: threads side by side along the columns. */
  readonly group: number;
  readonly vector: number;
  /** row: lanes of a vector are folded into one state, instead of having one each. */
  readonly folds: boolean;
  readonly unroll: number;
  readonly splits: number;
  readonly chunk: number;
}

const threads = 256;
const heavyOperations = 128;
export const manyAccumulators = 4;
/** Loads of a thread beyond which it does not matter how many threads there are. */
const manySteps = 16;
/** Of a thread at a time: what more have in common would not stay in registers. */
export const mostElements = 32;
/**
 * Neighbours whose rows are summed may be twice as many where so many threads of a multiprocessor are left: each then has all registers that
 * a thread can have (measured: the gradient of 32³×64 cells 5.9 µs with 32 elements, 5.6 with 64; of 96³×32 cells 84 and 79).
 */
export const [mostOfRows, leastOfRows] = [64, 240];
const threadsOfRows = 128;
const powerBelow = (n: number): number => 2 ** Math.floor(Math.log2(Math.max(1, n)));
const powerAbove = (n: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, n)));

/** `count`: rows of so many neighbours are combined together, see reduce/spread.ts. */
export function planReduction(kernel: Kernel, target: Target, count = 1): ReducePlan {
  const values = kernel.accumulators.map((a) => a.value);
  const exprs = reachable(values);
  const form = formOf(kernel, exprs);
  const bytes = Math.max(1, ...exprs.filter((e) => e.kind === 'load').map((e) => dtypeInfo[e.type as 'f32'].bytes));
  const stateBytes = kernel.accumulators.flatMap((a) => stateKinds(a, 64)).reduce((n, k) => n + widthOf[k], 0);
  const operations = exprs.length + 2 * kernel.accumulators.length;
  return form === 'row'
    ? rowPlan(kernel, target, bytes, operations, stateBytes, count)
    : columnPlan(kernel, target, bytes, operations, stateBytes);
}

function formOf(kernel: Kernel, exprs: readonly Expr[]): 'row' | 'column' {
  const lastSpace = kernel.space.reduce((last, d, i) => (d === 1 ? last : i), -1);
  const lastReduced = kernel.space.length + kernel.reduced.reduce((last, d, i) => (d === 1 ? last : i), 0);
  if (lastSpace < 0) return 'row';
  const sizes = [...kernel.space, ...kernel.reduced];
  // What neighbouring threads would read apart from each other: a matrix counts more than the vector that it is multiplied with.
  const apart = (axis: number): number => {
    let elements = 0;
    for (const e of exprs) {
      if (e.kind !== 'load' || !dependencies(e.index).has(axis) || Math.abs(strideAlong(e.index, axis) ?? 2) === 1)
        continue;
      elements += [...dependencies(e.index)].reduce((n, a) => n * (sizes[a] ?? 1), 1);
    }
    return elements;
  };
  return apart(lastSpace) < apart(lastReduced) ? 'column' : 'row';
}

/** Whether everything that changes along a row is read in vectors. */
function readsRows({ accumulators, reduced, space }: Kernel): boolean {
  const last = space.length + reduced.reduce((at, d, i) => (d === 1 ? at : i), 0);
  const loads = reachable(accumulators.map((a) => a.value)).filter((e) => e.kind === 'load');
  return loads.every((e) => [0, 1].includes(strideAlong(e.index, last) ?? -1));
}

/** How many independent accumulators a thread may keep without spilling. */
function unrollFor(vector: number, operations: number, stateBytes: number): number {
  let unroll = 4;
  while (unroll > 1 && (vector * unroll * stateBytes > 128 || vector * unroll * operations > 800)) unroll /= 2;
  return unroll;
}

function rowPlan(
  kernel: Kernel,
  target: Target,
  bytes: number,
  operations: number,
  stateBytes: number,
  count: number,
): ReducePlan {
  const rows = sizeOf(kernel.space);
  const columns = sizeOf(kernel.reduced);
  const wide = kernel.reduced.filter((d) => d !== 1);
  let vector = Math.min(16 / bytes, 8);
  while (vector > 1 && ((wide.length > 1 && wide[wide.length - 1]! % vector !== 0) || columns < vector * 2))
    vector /= 2;
  const many = kernel.accumulators.length >= manyAccumulators;
  // One state for all lanes takes few registers. What lies apart is loaded lane by lane, and takes as many more.
  const folds = many && readsRows(kernel);
  while (vector > 1 && !folds && vector * stateBytes > 64) vector /= 2;
  const most = (rows * columns) / vector / target.processors >= leastOfRows ? mostOfRows : mostElements;
  while (vector > 2 && vector * count > most) vector /= 2;
  const enoughRows = rows >= target.processors * 32;
  let group: number;
  if (columns >= 4096 || (!enoughRows && columns >= 512)) group = threads;
  else group = Math.min(32, powerBelow(columns / vector));
  // Exchanging many accumulators costs more than folding a few values more: fewer threads a row.
  if (enoughRows && group > 8 && group <= 32 && many && count === 1) group = 8;
  // So does exchanging a value with its position.
  if (enoughRows && group > 4 && group <= 32 && kernel.accumulators.some((a) => isArg(a.op))) group = 4;
  let unroll = unrollFor(vector, operations, stateBytes);
  const heavy = operations >= heavyOperations;
  // Work that takes long at each position is spread over all processors before a thread gets a second position.
  const least = heavy ? target.processors : 1;
  while (unroll > 1 && columns < group * vector * unroll * (group === threads ? least : 1)) unroll /= 2;
  const step = group * vector * unroll;
  // What blocks combine of many accumulators takes as long as some positions.
  const wanted = Math.floor((target.processors * (many ? 2 : 4)) / rows);
  let chunk = columns;
  if (group === threads && wanted > 1 && columns >= step * 4) {
    chunk = Math.max(heavy ? 1 : 2, Math.ceil(columns / wanted / step)) * step;
  }
  const side = vector * count > mostElements ? threadsOfRows : threads;
  return { form: 'row', threads: side, group, vector, folds, unroll, splits: Math.ceil(columns / chunk), chunk };
}

/** Columns, as vectors, up to which all of them may lie side by side in a block, and the part of threads that may be left over. */
const mostAcross = 128;
const mayBeIdle = 1.1;

/**
 * Threads side by side along so many columns: a warp at most, or exactly as many as there are columns, where a warp would be idle in part (37
 * columns would take two). Then the rows of a block are read as one stretch of memory.
 */
function acrossColumns(columns: number): number {
  const usual = Math.min(32, powerAbove(columns));
  const taken = Math.ceil(columns / usual) * usual;
  return columns <= mostAcross && taken > mayBeIdle * columns ? columns : usual;
}

function columnPlan(kernel: Kernel, target: Target, bytes: number, operations: number, stateBytes: number): ReducePlan {
  const rows = sizeOf(kernel.space);
  const columns = sizeOf(kernel.reduced);
  const width = kernel.space.reduce((n, d) => (d === 1 ? n : d), 1);
  let vector = Math.min(16 / bytes, 4);
  while (vector > 1 && (width % vector !== 0 || vector * stateBytes > 32)) vector /= 2;
  // Narrow or few columns: threads along the reduction matter more than wide loads, unless each of them has much to read anyway.
  const much = rows * columns >= target.processors * 4 * threads * vector * manySteps;
  while (!much && vector > 1 && rows / vector < target.processors * 32 && width / vector < 32) vector /= 2;
  const group = acrossColumns(Math.ceil(width / vector));
  // Larger blocks have fewer parts, which the last one puts together while all others are done.
  const most = much ? 2 * threads : threads;
  const deep = powerBelow(most / group);
  const side = deep * group;
  let unroll = unrollFor(vector, operations, stateBytes);
  while (unroll > 1 && columns < deep * unroll) unroll /= 2;
  const step = deep * unroll;
  const blocks = (rows / width) * Math.ceil(width / (group * vector));
  const wanted = Math.floor((target.processors * 4 * threads) / side / blocks);
  let chunk = columns;
  if (wanted > 1 && columns >= step * 4) chunk = Math.max(2, Math.ceil(columns / wanted / step)) * step;
  const splits = Math.ceil(columns / chunk);
  return { form: 'column', threads: side, group, vector, folds: false, unroll, splits, chunk };
}
