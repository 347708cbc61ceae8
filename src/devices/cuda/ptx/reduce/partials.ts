// A reduction split between blocks: its partial results in scratch memory, and the last block that folds them.

import type { Kernel } from '../../../../kernel/kernel.ts';
import { reload, spill } from '../combine.ts';
import type { PtxScope } from '../scope.ts';
import { type Builder, foldAll, type States, slotsOf, stateBytes } from './builder.ts';

export const counterBytes = (blocks: number): number => Math.ceil((blocks * 4) / 256) * 256;

/** Byte offset of one partial: part-major, so that the last block reads neighbours. */
export function partialOffset(b: Builder, partIndex: string, row: string, scope?: PtxScope): string {
  const block = scope?.block ?? b.entry.body;
  const wide = block.def('d', 'mul.wide.u32', partIndex, b.rows);
  const element = block.def('d', 'add.s64', wide, b.bits === 32 ? block.def('d', 'cvt.s64.s32', row) : row);
  return block.def('d', 'mad.lo.s64', element, stateBytes(b), b.frame.scratch!);
}

export const widthOfSpace = (kernel: Kernel): number => kernel.space.reduce((n, d) => (d === 1 ? n : d), 1);

function blocksOf(b: Builder): number {
  if (b.plan.form === 'row') return Math.ceil(b.rows / (b.plan.threads / b.plan.group));
  const width = widthOfSpace(b.kernel);
  return (b.rows / width) * Math.ceil(width / (b.plan.group * b.plan.vector));
}

export function storePartial(b: Builder, states: States, place: string, guard: string): void {
  const { body } = b.entry;
  const skip = b.entry.label('kept');
  const offset = counterBytes(blocksOf(b));
  body.emit(`@!${guard} bra ${skip}`);
  slotsOf(b).forEach((slot, i) => {
    spill(body, 'st.global', slot.kind, states[slot.acc]![slot.register]!, `[${place}+${offset + i * 8}]`);
  });
  body.emit('membar.gl');
  body.label(skip);
}

export function loadPartial(b: Builder, scope: PtxScope, into: States, place: string, extra: number): void {
  const offset = counterBytes(blocksOf(b)) + extra;
  const loaded: string[][] = b.kernel.accumulators.map(() => []);
  // Written by other multiprocessors during this launch: the L1 cache must not answer.
  slotsOf(b).forEach((slot, i) => {
    loaded[slot.acc]![slot.register] = reload(scope.block, 'ld.global.cg', slot.kind, `[${place}+${offset + i * 8}]`);
  });
  foldAll(b, scope, into, loaded);
}

/** Only the last block of this row of blocks goes on; the others leave. */
export function waitForAll(b: Builder, cta: string, leave: string): void {
  const { body } = b.entry;
  const flag = body.def('r', 'mov.u32', b.entry.sharedArray(16));
  const skip = b.entry.label('counted');
  body.emit('bar.sync 0');
  const first = body.def('p', 'setp.eq.u32', b.tid, 0);
  body.emit(`@!${first} bra ${skip}`);
  const counter = body.def('d', 'mad.wide.u32', cta, 4, b.frame.scratch!);
  const before = body.def('r', 'atom.global.inc.u32', `[${counter}]`, b.plan.splits - 1);
  body.emit(`st.shared.u32 [${flag}], ${before}`);
  body.emit('membar.gl');
  body.label(skip);
  body.emit('bar.sync 0');
  const arrived = body.def('r', 'ld.shared.u32', `[${flag}]`);
  const notLast = body.def('p', 'setp.ne.u32', arrived, b.plan.splits - 1);
  body.emit(`@${notLast} bra ${leave}`);
}
