// How a stack of rows lies over the threads of a device.
//
// A thread has the same few places of every row. Rows are many, so a block stays and takes one row after the other: while it computes
// one, the next is on its way into registers. Otherwise a multiprocessor reads while it has nothing to compute, and computes while
// nothing is read: a softmax of 4096² took 55 µs where reading and writing alone take 35.

import { dtypeInfo } from '../../../../base/dtype.ts';
import type { Kernel, Rows } from '../../../../kernel/kernel.ts';
import { isColumnLoad, isElementLoad, loadsOf } from '../../../../kernel/rows.ts';
import type { Target } from '../../ptx/target.ts';

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

/** Threads of a row where every block has one row, and where blocks stay. */
const mostThreads = { once: 512, staying: 1024 } as const;
/** Registers that a thread holds of a row where blocks stay. */
const heldRegisters = 16;
/** Shorter rows are read fast enough by many blocks at a time. */
const shortest = 2048;
/** Threads of a multiprocessor that stay: each has 64 registers, for the elements of two rows and what is computed of them. */
const stayingThreads = 1024;

export function layoutOf(stack: Rows, target: Target): Layout {
  const { columns } = stack;
  if (isTurned(stack))
    return { group: 32, threads: 512, vector: 1, places: Math.ceil(columns / 32), turned: true, resident: 0 };
  const widest = Math.max(...[...stack.inputs, ...stack.outputs].map((b) => dtypeInfo[b.type].bytes));
  let vector = Math.min(16 / widest, 8);
  // A vector must not run over the end of a row, nor of its innermost axis.
  while (vector > 1 && stack.stages.some(({ kernel }) => innermost(kernel) % vector !== 0)) vector /= 2;
  const stays = columns >= shortest && vector > 1;
  const { threads: asked, resident: wanted } = target.tuning?.rows ?? {};
  const most = asked ?? mostThreads[stays ? 'staying' : 'once'];
  const each =
    stays && asked === undefined ? Math.max(vector, heldRegisters / Math.max(1, registersOf(stack))) : vector;
  let group = 32;
  while (group < most && group * each < columns) group *= 2;
  const threads = group === 32 ? 256 : group;
  const resident = wanted ?? (stays ? stayingThreads / threads : 0);
  return { group, threads, vector, places: Math.ceil(columns / (group * vector)), turned: false, resident };
}

/** Registers that an element takes: one or two for each operand of whole rows. */
function registersOf({ stages }: Rows): number {
  const held = new Map<number, number>();
  for (const { kernel, sources } of stages) {
    for (const load of loadsOf(kernel)) {
      const source = sources[load.slot]!;
      if ('buffer' in source && isElementLoad(load, kernel))
        held.set(source.buffer, Math.max(1, dtypeInfo[load.type].bytes / 4));
    }
  }
  return [...held.values()].reduce((sum, n) => sum + n, 0);
}

/** Whether what is held of rows lies in columns. */
function isTurned({ stages }: Rows): boolean {
  const all = stages.flatMap(({ kernel }) => loadsOf(kernel).map((load) => ({ load, kernel })));
  return !all.some((l) => isElementLoad(l.load, l.kernel)) && all.some((l) => isColumnLoad(l.load, l.kernel));
}

/** The size of the axis whose elements lie side by side. */
const innermost = ({ space, reduced }: Kernel): number => [...space, ...reduced].reduce((n, d) => (d === 1 ? n : d), 1);
