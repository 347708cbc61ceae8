// Few long rows without positions: one row at a time by all threads.
//
// The row is cut into blocks, which are turned into keys. Keys are put into buckets: blocks are counted and moved, so that each bucket
// lies together. Buckets of floats have equal widths, if that makes them of about equal size; else, and of other types, they are by the
// highest bits that differ. If those are all that differ, counting is enough. Then buckets are sorted one by one, in the cache of one thread (local.ts). Equal keys are equal values, so
// results do not depend on how a row was cut.

import { byteSize } from '../../../../base/dtype.ts';
import type { Sort } from '../../../../kernel/kernel.ts';
import type { WasmEngine } from '../../engine.ts';
import { aligned } from '../emit.ts';
import { LongRows } from '../long-rows.ts';
import { keys } from './keys.ts';
import { localBytes } from './local.ts';
import { mostNetwork } from './network.ts';
import { note } from './passes.ts';
import { arg, hasEven, mostBuckets, renderLongValues, step, together } from './values-steps.ts';

const minimumBlock = 1 << 13;
const blocksPerThread = 3;
/** Keys of an average bucket of equal width: two of them fill a network, but for some room since no two are the same. */
const evenKeys = 0.46 * together;
/** The most buckets by bits: each is a place in memory that is written to. */
const mostByBits = 2048;
/** Equal widths are given up if more than this part of the keys is in large buckets. */
const mostCrowded = 4;
/** Tasks of the last step: enough that one which is late makes nobody wait for long. */
const tasksPerThread = 8;

/** Elements of an f64 row that are looked at for its range. */
const samples = 512;

const word = new DataView(new ArrayBuffer(4));

/** The bits of the keys that differ are low … high-1; `lost`: values were met that a key does not keep. */
interface Noted {
  readonly low: number;
  readonly high: number;
  readonly lost: boolean;
  readonly least: number;
  readonly largest: number;
}

/** Where tables of the scratch begin, in words. */
interface Tables {
  readonly counts: number;
  readonly starts: number;
  readonly firsts: number;
}

export class LongValueSort extends LongRows<Sort, typeof arg> {
  readonly #blocks: number;
  readonly #tasks: number;
  readonly #parts: Parts;

  constructor(routine: Sort, engine: WasmEngine) {
    const { rows, columns, type } = routine;
    const values = rows * columns * byteSize(type);
    const blockItems = Math.max(minimumBlock, Math.ceil(columns / (blocksPerThread * engine.threads)));
    const blocks = Math.ceil(columns / blockItems);
    const tasks = tasksPerThread * engine.threads;
    const parts = partsOf(routine, blocks, tasks);
    super(routine, engine, {
      needs: [values, values],
      inputs: 1,
      scratchBytes: parts.bytes,
      args: arg,
      code: renderLongValues(routine, blockItems, engine.memory.shared),
    });
    this.#blocks = blocks;
    this.#tasks = tasks;
    this.#parts = parts;
  }

  protected override runRow([input, values]: readonly number[], scratch: number): void {
    const parts = this.#parts;
    const at = (offset: number): number => scratch + offset;
    this.set({
      input: input!,
      values: values!,
      moved: at(parts.moved),
      spare: at(parts.spare),
      keys: parts.keys === null ? values! : at(parts.keys),
      counts: at(parts.counts),
      starts: at(parts.starts),
      buckets: at(parts.buckets),
      tasks: at(parts.tasks),
      local: at(parts.local),
      notes: at(parts.notes),
    });
    this.#run(step.keys, this.#blocks);
    const noted = this.#noted(at(parts.notes) >>> 2);
    const { low, high } = noted;
    const tables = { counts: at(parts.counts) >>> 2, starts: at(parts.starts) >>> 2, firsts: at(parts.buckets) >>> 2 };
    if (high - low <= Math.log2(mostBuckets)) this.#fill(noted, tables, scratch);
    else this.#distribute(noted, tables, scratch);
    if (noted.lost) this.#run(step.restore, 1);
  }

  /** Each bucket holds equal keys: it is enough to count them. */
  #fill({ low, high }: Noted, tables: Tables, scratch: number): void {
    const buckets = 2 ** Math.max(0, high - low);
    this.set({ low, shift: low, high, mask: buckets - 1 });
    this.#setCommon(BigInt(buckets - 1) << BigInt(low));
    this.#run(step.count, this.#blocks);
    this.#place(buckets, tables);
    this.#run(step.fill, this.#divide(buckets, tables.firsts, (scratch + this.#parts.tasks) >>> 2));
  }

  /** Writes the bits of a key that do not differ. */
  #setCommon(differing: bigint): void {
    const words = this.words;
    const first = words[(this.args >>> 2) + arg.keys]! >>> 2;
    const wide = keys[this.routine.type].word === 'i64';
    const [lower, upper] = [Number(differing & 0xffffffffn), Number(differing >> 32n)];
    words[(this.args >>> 2) + arg.common] = words[first]! & ~lower;
    if (wide) words[(this.args >>> 2) + arg.common + 1] = words[first + 1]! & ~upper;
  }

  /** Puts keys into buckets, then sorts those. */
  #distribute(noted: Noted, tables: Tables, scratch: number): void {
    const { low, high } = noted;
    let buckets = Math.min(mostBuckets, Math.ceil(this.routine.columns / evenKeys));
    const even = this.routine.type === 'f64' ? this.#sampled(buckets) : this.#evenly(noted, buckets);
    if (even) {
      this.set({ low, shift: high, high, mask: mostBuckets - 1 });
      this.#setEven(even, buckets - 1);
      this.#run(step.countEvenly, this.#blocks);
    }
    if (even && this.#place(buckets, tables) <= this.routine.columns / mostCrowded) {
      this.#run(step.moveEvenly, this.#blocks);
    } else {
      const shift = Math.max(low, high - Math.log2(mostByBits));
      buckets = 2 ** Math.max(0, high - shift);
      this.set({ low, shift, high, mask: buckets - 1 });
      this.#run(step.count, this.#blocks);
      this.#place(buckets, tables);
      this.#run(step.move, this.#blocks);
    }
    this.#run(step.sort, this.#divide(buckets, tables.firsts, (scratch + this.#parts.tasks) >>> 2));
  }

  /** Buckets of equal width from the least to the largest of the row, where that can be computed with. */
  #evenly({ least, largest }: Noted, buckets: number): { origin: number; factor: number } | null {
    if (!hasEven(this.routine)) return null;
    const [origin, end] = [this.#valueOf(least), this.#valueOf(largest)];
    const factor = Math.fround((buckets - 1) / Math.fround(end - origin));
    return Number.isFinite(end - origin) && Number.isFinite(factor) && factor !== 0 ? { origin, factor } : null;
  }

  /**
   * The same for f64, from the least to the largest of some elements: what lies beyond goes to the outermost buckets. Where those get
   * crowded the row is sorted by bits.
   */
  #sampled(buckets: number): { origin: number; factor: number } | null {
    const { columns, descending } = this.routine;
    const { f64, u32 } = this.views;
    const first = u32[(this.args >>> 2) + arg.input]! / 8;
    let [least, largest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let i = 0; i < samples; i++) {
      const v = f64[first + Math.floor((i * columns) / samples)]!;
      if (v < least) least = v;
      if (v > largest) largest = v;
    }
    const factor = (buckets - 1) / (largest - least);
    if (!(Number.isFinite(factor) && factor > 0)) return null;
    return descending ? { origin: largest, factor: -factor } : { origin: least, factor };
  }

  #setEven({ origin, factor }: { origin: number; factor: number }, last: number): void {
    this.set({ last });
    if (this.routine.type === 'f32') this.setFloats({ origin, factor });
    else {
      const { f64 } = this.views;
      f64[(this.args + arg.origin * 4) / 8] = origin;
      f64[(this.args + arg.factor * 4) / 8] = factor;
    }
  }

  /** The f32 of a key. */
  #valueOf(key: number): number {
    const ordered = this.routine.descending ? ~key : key;
    word.setInt32(0, ordered < 0 ? ordered ^ -(2 ** 31) : ~ordered);
    return word.getFloat32(0);
  }

  #run(what: number, items: number): void {
    this.step(what, items, what === step.sort ? 4 : 1);
  }

  #noted(notes: number): Noted {
    const words = this.words;
    let [lower, upper, lost, least, largest] = [0, 0, 0, 2 ** 32 - 1, 0];
    for (let b = 0; b < this.#blocks; b++) {
      const at = notes + (b * note.bytes) / 4;
      lower |= words[at]!;
      if (keys[this.routine.type].word === 'i64') upper |= words[at + 1]!;
      lost |= words[at + note.lost / 4]!;
      least = Math.min(least, words[at + note.least / 4]!);
      largest = Math.max(largest, words[at + note.largest / 4]!);
    }
    const trailing = (w: number): number => 31 - Math.clz32(w & -w);
    const low = lower ? trailing(lower) : upper ? 32 + trailing(upper) : 0;
    const high = upper ? 64 - Math.clz32(upper) : 32 - Math.clz32(lower);
    return { low, high, lost: lost !== 0, least: least | 0, largest: largest | 0 };
  }

  /** Where each block's keys of each bucket go, and where each bucket begins. Returns how many keys are in buckets that are too large. */
  #place(buckets: number, { counts, starts, firsts }: Tables): number {
    const words = this.words;
    let next = 0;
    let crowded = 0;
    for (let bucket = 0; bucket < buckets; bucket++) {
      const first = next;
      words[firsts + bucket] = first;
      for (let i = bucket; i < this.#blocks * mostBuckets; i += mostBuckets) {
        words[starts + i] = next;
        next += words[counts + i]!;
      }
      if (next - first > mostNetwork) crowded += next - first;
    }
    words[firsts + buckets] = next;
    return crowded;
  }

  /** Cuts the buckets into tasks of about equal work; returns how many. */
  #divide(buckets: number, firsts: number, tasks: number): number {
    const words = this.words;
    const share = this.routine.columns / this.#tasks;
    let count = 0;
    for (let bucket = 0; bucket < buckets; bucket++) {
      if (count < this.#tasks && words[firsts + bucket]! >= count * share) words[tasks + count++] = bucket;
    }
    words[tasks + count] = buckets;
    return count;
  }
}

/** Where the parts of the scratch begin; keys as wide as the values lie where those will be. */
interface Parts {
  readonly moved: number;
  readonly spare: number;
  readonly keys: number | null;
  readonly counts: number;
  readonly starts: number;
  readonly buckets: number;
  readonly tasks: number;
  readonly local: number;
  readonly notes: number;
  readonly bytes: number;
}

function partsOf({ columns, type }: Sort, blocks: number, mostTasks: number): Parts {
  const keyBytes = keys[type].word === 'i64' ? 8 : 4;
  const row = aligned(columns * keyBytes);
  const ownKeys = byteSize(type) !== keyBytes;
  const table = 4 * mostBuckets * blocks;
  const counts = (ownKeys ? 3 : 2) * row;
  const starts = counts + table;
  const buckets = starts + table;
  const tasks = buckets + aligned(4 * (mostBuckets + 1));
  const local = tasks + aligned(4 * (mostTasks + 1));
  const notes = local + mostTasks * localBytes;
  const bytes = notes + aligned(blocks * note.bytes);
  return { moved: 0, spare: row, keys: ownKeys ? 2 * row : null, counts, starts, buckets, tasks, local, notes, bytes };
}
