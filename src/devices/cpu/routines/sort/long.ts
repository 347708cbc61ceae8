// Few long rows with positions: radix sort of one row at a time by all threads.
//
// The row is cut into blocks. Each pass counts one byte of the keys per block, turns the counts into the place where each
// block's share of each bucket begins, and moves the elements there, block by block: stable, and the same for any number
// of threads. Key and position travel as one element, so a move is one write. Values come back from their keys without
// looking at the input again, unless the row holds a NaN or -0, whose bits a key does not keep. Bytes are sorted by one pass.

import { byteSize } from '../../../../base/dtype.ts';
import type { Sort } from '../../../../kernel/kernel.ts';
import type { WasmEngine } from '../../engine.ts';
import { LongRows } from '../long-rows.ts';
import { keys } from './keys.ts';
import { arg, buckets, elementBytesOf, inOnePass, renderLong, step } from './long-steps.ts';

const longRow = 1 << 15;
const fewRows = 32;
const minimumBlock = 1 << 13;
const mostBlocks = 64;

export const isLong = (r: Sort): boolean => r.columns >= longRow && r.rows <= fewRows;

export class LongSort extends LongRows<Sort, typeof arg> {
  readonly #blocks: number;
  /** Bytes of all elements of a row, and of the counts of all blocks. */
  readonly #elements: number;
  readonly #counts: number;

  constructor(routine: Sort, engine: WasmEngine) {
    const { rows, columns, type } = routine;
    const values = rows * columns * byteSize(type);
    const blockItems = Math.max(minimumBlock, Math.ceil(columns / mostBlocks));
    const blocks = Math.ceil(columns / blockItems);
    const elements = inOnePass(routine) ? 0 : columns * elementBytesOf(routine);
    const counts = blocks * buckets * 4;
    super(routine, engine, {
      needs: [values, values, rows * columns * 4],
      inputs: 1,
      scratchBytes: 2 * elements + 2 * counts + blocks * 4 + 64,
      args: arg,
      code: renderLong(routine, blockItems, engine.memory.shared),
    });
    this.#blocks = blocks;
    this.#elements = elements;
    this.#counts = counts;
  }

  protected override runRow([input, values, positions]: readonly number[], scratch: number): void {
    const elements = [scratch, scratch + this.#elements] as const;
    const counts = scratch + 2 * this.#elements;
    const starts = counts + this.#counts;
    const flags = starts + this.#counts;
    this.set({ input: input!, values: values!, positions: positions!, counts, starts, flags });
    if (inOnePass(this.routine)) {
      this.set({ shift: 0 });
      this.#run(step.keys);
      this.#place(counts >>> 2, starts >>> 2);
      this.#run(step.move);
      this.#fill(values!, starts >>> 2);
      return;
    }
    let from: 0 | 1 = 0;
    keys[this.routine.type].digits.forEach((digit, i) => {
      this.set({ from: elements[from], to: elements[from === 0 ? 1 : 0], shift: 8 * digit });
      // Making the keys counts the first digit on the way.
      this.#run(i === 0 ? step.keys : step.count);
      if (!this.#place(counts >>> 2, starts >>> 2)) return;
      this.#run(step.move);
      from = from === 0 ? 1 : 0;
    });
    let exact = 1;
    for (let b = 0; b < this.#blocks; b++) if (this.words[(flags >>> 2) + b]) exact = 0;
    this.set({ from: elements[from], exact });
    this.#run(step.write);
  }

  #run(what: number): void {
    this.step(what, this.#blocks, 3);
  }

  /** The values of keys of one byte: every bucket is one value, and ends where the next begins. */
  #fill(values: number, starts: number): void {
    const { words } = this;
    const { u8 } = this.views;
    const { columns, descending } = this.routine;
    for (let bucket = 0; bucket < buckets; bucket++) {
      const end = bucket + 1 < buckets ? words[starts + bucket + 1]! : columns;
      u8.fill(descending ? buckets - 1 - bucket : bucket, values + words[starts + bucket]!, values + end);
    }
  }

  /** Where each block's elements of each bucket go. False if all elements are in one bucket. */
  #place(counts: number, starts: number): boolean {
    const { words } = this;
    let next = 0;
    let differ = true;
    for (let bucket = 0; bucket < buckets; bucket++) {
      const first = next;
      for (let block = 0; block < this.#blocks; block++) {
        const i = block * buckets + bucket;
        words[starts + i] = next;
        next += words[counts + i]!;
      }
      if (next - first === this.routine.columns) differ = false;
    }
    return differ;
  }
}
