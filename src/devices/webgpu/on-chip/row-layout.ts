// How a stack of rows lies over the threads of a workgroup.
//
// A thread has the same few places of its row, all in registers, and a workgroup has one row or several. Where rows lie side by
// side (a middle axis is reduced) neighbouring threads have neighbouring rows, so that they read neighbouring elements.

import type { Rows } from '../../../kernel/kernel.ts';
import { innermost, isTurned } from '../../../kernel/row-stages.ts';
import type { Traits } from '../plan.ts';
import type { Width } from '../wgsl/types.ts';

export interface RowLayout {
  /** Threads of one row. */
  readonly group: number;
  readonly threads: number;
  readonly vector: Width;
  /** Vectors that each thread has of a row. */
  readonly places: number;
  /** Neighbouring threads have neighbouring rows. */
  readonly turned: boolean;
}

const usualThreads = 256;
const mostThreads = 1024;
/** Elements of a row that a thread holds: as many as keep several loads under way, and at most. */
const [fewElements, someElements, mostElements] = [8, 16, 32];
const fewestMembers = 8;
/** Rows side by side that a workgroup has: 64 bytes of f32 are read at once. */
const beside = 16;

const threadsOf = ({ maxInvocations }: Pick<Traits, 'maxInvocations'>): number =>
  Math.min(mostThreads, 2 ** Math.floor(Math.log2(maxInvocations)));

/** `caps.rows` of a device. */
export function rowRoom(traits: Pick<Traits, 'maxInvocations'>): {
  readonly bytes: number;
  readonly columnBytes: number;
} {
  const threads = threadsOf(traits);
  return {
    bytes: Math.min(threads * mostElements * 4, 64 * 1024),
    columnBytes: (threads / beside) * mostElements * 4,
  };
}

export function rowLayout(stack: Rows, traits: Traits): RowLayout {
  const { columns } = stack;
  const most = threadsOf(traits);
  if (isTurned(stack)) {
    let group = Math.min(fewestMembers, most / beside);
    while (group * beside < most && group * someElements < columns) group *= 2;
    return { group, threads: group * beside, vector: 1, places: Math.ceil(columns / group), turned: true };
  }
  // A vector must not run over the end of a row, nor of its innermost axis.
  const vector = stack.stages.every(({ kernel }) => innermost(kernel) % 4 === 0) ? 4 : 1;
  const usual = Math.min(usualThreads, most);
  let group = Math.min(fewestMembers, usual);
  while (group < usual && group * fewElements < columns) group *= 2;
  while (group < most && group * someElements < columns) group *= 2;
  return {
    group,
    threads: Math.max(group, usual),
    vector,
    places: Math.ceil(columns / (group * vector)),
    turned: false,
  };
}
