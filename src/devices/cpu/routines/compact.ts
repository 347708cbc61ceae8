// Compaction: what the true ones among a row of flags stand for, packed together; or how many of them there are.
//
// The row is cut into blocks. Each block counts its flags, which tells where its share of the result begins; then each writes its share.
// Nothing branches on a single flag: positions come out of a table by eight flags at a time, and values are written one after the other
// over those that were not wanted.

import { byteSize } from '../../../base/dtype.ts';
import type { Compact } from '../../../kernel/kernel.ts';
import type { WasmEngine } from '../engine.ts';
import type { CpuProgram } from '../program.ts';
import { arg, positionTable, renderCompact, step } from './compact-steps.ts';
import { aligned } from './emit.ts';
import { LongRows, type RowRoutine } from './long-rows.ts';

const minimumBlock = 1 << 15;
const blocksPerThread = 4;

export const prepareCompact = (routine: Compact, engine: WasmEngine): CpuProgram => new Compaction(routine, engine);

class Compaction extends LongRows<Compact & RowRoutine, typeof arg> {
  readonly #blocks: number;

  constructor(routine: Compact, engine: WasmEngine) {
    const { length, type, what, count } = routine;
    const blockItems = Math.max(minimumBlock, Math.ceil(length / (blocksPerThread * engine.threads) / 64) * 64);
    const blocks = Math.ceil(length / blockItems);
    const values = what === 'values' ? [length * byteSize(type)] : [];
    super({ ...routine, rows: 1, columns: length }, engine, {
      needs: [length, ...values, count * byteSize(type)],
      inputs: 1 + values.length,
      scratchBytes: aligned(8 * blocks) + positionTable.length,
      args: arg,
      code: renderCompact(routine, blockItems, engine.memory.shared),
    });
    this.#blocks = blocks;
  }

  protected override runRow(at: readonly number[], scratch: number): void {
    const { what, count, type } = this.routine;
    const output = at[at.length - 1]!;
    const table = scratch + aligned(8 * this.#blocks);
    this.set({ flags: at[0]!, values: at[1]!, output, counts: scratch, table });
    this.step(step.count, this.#blocks, 0.05);
    const total = this.#place(scratch >>> 2);
    if (what === 'count') {
      this.views.i32[output >>> 2] = total;
      return;
    }
    this.views.u8.set(positionTable, table);
    this.step(step.write, this.#blocks, what === 'values' ? 1 : 0.4);
    const bytes = byteSize(type);
    if (total < count) this.views.u8.fill(0, output + total * bytes, output + count * bytes);
  }

  /** Counts become the places where blocks begin, each followed by where it ends. Returns how many there are. */
  #place(counts: number): number {
    const { words } = this;
    const most = this.routine.what === 'count' ? Number.POSITIVE_INFINITY : this.routine.count;
    let next = 0;
    for (let b = 0; b < this.#blocks; b++) {
      const first = next;
      next += words[counts + 2 * b]!;
      words[counts + 2 * b] = Math.min(first, most);
      words[counts + 2 * b + 1] = Math.min(next, most);
    }
    return next;
  }
}
