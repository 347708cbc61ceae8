// How a stack of rows lies over the threads of a device.
//
// A thread has the same few places of every row. Rows are many, so a block stays and takes one row after the other: while it computes
// one, the next is on its way into registers. Otherwise a multiprocessor reads while it has nothing to compute, and computes while
// nothing is read: a softmax of 4096² took 55 µs where reading and writing alone take 35.

import { dtypeInfo } from '../../../../base/dtype.ts';
import type { Kernel, Rows } from '../../../../kernel/kernel.ts';
import { isColumnLoad, isElementLoad, loadsOf } from '../../../../kernel/rows.ts';
import { rootsOf } from '../../ptx/shape.ts';
import type { Target } from '../../ptx/target.ts';
import { reachable } from '../../ptx/values.ts';

export interface Layout {
  /** Threads of one row: a warp, or a whole block. */
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

/** Threads of a row; fewer, with more places each, where little is done with an element. */
const mostThreads = { heavy: 1024, light: 512 } as const;
/** Operations on an element from which it is much: a softmax has more, a layer norm fewer. */
const heavyFrom = 100;

/**
 * One vector for each thread where rows are not too long for it: what a thread does with its places is written out one after the
 * other, and long code does not stay in the instruction cache.
 */
export function layoutOf(stack: Rows, target: Target): Layout {
  const { columns } = stack;
  if (isTurned(stack))
    return { group: 32, threads: 512, vector: 1, places: Math.ceil(columns / 32), turned: true, resident: 0 };
  const widest = Math.max(...[...stack.inputs, ...stack.outputs].map((b) => dtypeInfo[b.type].bytes));
  let vector = Math.min(16 / widest, 8);
  // A vector must not run over the end of a row, nor of its innermost axis.
  while (vector > 1 && stack.stages.some(({ kernel }) => innermost(kernel) % vector !== 0)) vector /= 2;
  let group = 32;
  const most = target.tuning?.rows?.threads ?? mostThreads[isHeavy(stack) ? 'heavy' : 'light'];
  while (group < most && group * vector < columns) group *= 2;
  const threads = group === 32 ? 256 : group;
  const resident = target.tuning?.rows?.resident ?? 0;
  return { group, threads, vector, places: Math.ceil(columns / (group * vector)), turned: false, resident };
}

const isHeavy = ({ stages }: Rows): boolean =>
  stages.reduce((n, { kernel }) => n + reachable(rootsOf(kernel)).length, 0) >= heavyFrom;

/** Whether what is held of rows lies in columns. */
function isTurned({ stages }: Rows): boolean {
  const all = stages.flatMap(({ kernel }) => loadsOf(kernel).map((load) => ({ load, kernel })));
  return !all.some((l) => isElementLoad(l.load, l.kernel)) && all.some((l) => isColumnLoad(l.load, l.kernel));
}

/** The size of the axis whose elements lie side by side. */
const innermost = ({ space, reduced }: Kernel): number => [...space, ...reduced].reduce((n, d) => (d === 1 ? n : d), 1);
