// Stable sort of short rows in registers: a bitonic network over pairs of key and place, which are all different.
//
// A thread holds a few neighbours of a row. What lies close together it compares by itself, what lies within a warp is passed from thread
// to thread, and only what lies further apart goes through shared memory: three of the 55 steps of 1,024 pairs.

import type { Sort } from '../../../kernel/kernel.ts';
import { shuffleBy } from '../ptx/combine.ts';
import type { Target } from '../ptx/target.ts';
import type { ModuleRecipe } from '../recipe.ts';
import { Kit } from './kit.ts';
import { recipeOf } from './recipe-of.ts';
import { keyBytes, sortKey } from './sort-key.ts';

/** The longest row that is sorted so. */
export const longestRow = 2048;
/** Pairs that a thread holds, where rows are long enough for a warp. */
const held = 8;
/** Threads of a block, at least: short rows share one. */
const fewestThreads = 128;

interface Pair {
  readonly key: string;
  readonly place: string;
}

export function rowSort(sort: Sort, target: Target): ModuleRecipe {
  return recipeOf(sort.name, target, [new RowSort(sort, target).part()]);
}

class RowSort {
  readonly #sort: Sort;
  readonly #kit: Kit;
  readonly #wide: boolean;
  readonly #size: number;
  /** Threads of a row, and pairs of a thread. */
  readonly #threads: number;
  readonly #each: number;
  readonly #rows: number;
  readonly #pairs: Pair[] = [];
  /** This thread's number in its row. */
  readonly #thread: string;
  readonly #keys: string;
  readonly #places: string;

  constructor(sort: Sort, target: Target) {
    this.#sort = sort;
    this.#kit = new Kit(sort.name, target);
    this.#wide = keyBytes(sort.type) === 8;
    this.#size = Math.max(32, 2 ** Math.ceil(Math.log2(sort.columns)));
    this.#each = Math.min(held, this.#size / 32);
    this.#threads = this.#size / this.#each;
    this.#rows = Math.max(1, fewestThreads / this.#threads);
    const { b } = this.#kit;
    const tid = this.#kit.special('tid.x');
    this.#thread = this.#rows === 1 ? tid : b.def('r', 'and.b32', tid, this.#threads - 1);
    const slots = this.#padded(this.#size);
    const row = this.#rows === 1 ? null : b.def('r', 'shr.u32', tid, Math.log2(this.#threads));
    const own = (bytes: number): string => {
      const base = this.#kit.shared(this.#rows * slots * bytes);
      return row ? b.def('r', 'mad.lo.u32', row, slots * bytes, base) : base;
    };
    this.#keys = own(this.#wide ? 8 : 4);
    this.#places = own(4);
  }

  part() {
    const { columns, rows, type } = this.#sort;
    const kit = this.#kit;
    const { b } = kit;
    const input = kit.pointer({ kind: 'buffer', index: 0 });
    const values = kit.pointer({ kind: 'buffer', index: 1 });
    const positions = kit.pointer({ kind: 'buffer', index: 2 });
    const block = kit.special('ctaid.x');
    const own = b.def('r', 'shr.u32', kit.special('tid.x'), Math.log2(this.#threads));
    const row = b.def('r', 'mad.lo.u32', block, this.#rows, own);
    const real = b.def('p', 'setp.lt.u32', row, rows);
    const rowStart = b.def('d', 'mul.wide.u32', row, columns);
    // In any order at first: neighbouring threads read neighbouring elements.
    for (let e = 0; e < this.#each; e++) this.#pairs.push(this.#load(e, input, rowStart, real));
    this.#sortAll();
    // Back in an order in which neighbouring threads write neighbouring elements.
    this.#pairs.forEach(({ place }, e) => {
      const at = b.def('r', 'mad.lo.u32', this.#thread, this.#each, e);
      b.emit(`st.shared.u32 [${this.#at(this.#places, this.#paddedAt(at), 4)}], ${place}`);
    });
    kit.sync();
    for (let e = 0; e < this.#each; e++) {
      const i = b.def('r', 'add.u32', this.#thread, e * this.#threads);
      const inside = b.def('p', 'and.pred', real, b.def('p', 'setp.lt.u32', i, columns));
      kit.when(inside, () => {
        const from = b.def('r', 'ld.shared.u32', `[${this.#at(this.#places, this.#paddedAt(i), 4)}]`);
        const to = b.def('d', 'add.u64', rowStart, kit.wide(i));
        kit.store(type, values, to, kit.load(type, input, b.def('d', 'add.u64', rowStart, kit.wide(from))));
        kit.store('i32', positions, to, from);
      });
    }
    return kit.finish([Math.ceil(rows / this.#rows), 1, 1], this.#rows * this.#threads);
  }

  /** Places beyond the row sort behind everything: their keys are the largest, and their places too. */
  #load(e: number, input: string, rowStart: string, real: string): Pair {
    const kit = this.#kit;
    const { b } = kit;
    const [kind, suffix] = this.#keyKind;
    const place = b.def('r', 'add.u32', this.#thread, e * this.#threads);
    const key = b.def(kind, `mov.${suffix}`, -1);
    const inside = b.def('p', 'and.pred', real, b.def('p', 'setp.lt.u32', place, this.#sort.columns));
    kit.when(inside, () => {
      const value = kit.load(this.#sort.type, input, b.def('d', 'add.u64', rowStart, kit.wide(place)));
      b.set(key, `mov.${suffix}`, sortKey(kit, this.#sort.type, value, this.#sort.descending));
    });
    return { key, place };
  }

  #sortAll(): void {
    const kit = this.#kit;
    const { b } = kit;
    // Stretches within a thread: their direction is known, but for the longest ones.
    for (let length = 2; length < this.#each; length *= 2) {
      for (let distance = length / 2; distance >= 1; distance /= 2)
        this.#inThread(distance, (e) => ((e & length) === 0 ? 'up' : 'down'));
    }
    // In threads: how long a stretch is that is sorted in one direction. The last one is the row, and goes up.
    const length = b.def('r', 'mov.u32', 1);
    kit.while(
      () => b.def('p', 'setp.le.u32', length, this.#threads),
      () => {
        const down = b.def('p', 'setp.ne.u32', b.def('r', 'and.b32', this.#thread, length), 0);
        const distance = b.def('r', 'shr.u32', length, 1);
        if (this.#threads > 32) this.#throughMemory(distance, down);
        this.#withinWarp(distance, down);
        for (let d = this.#each / 2; d >= 1; d /= 2) this.#inThread(d, () => down);
        b.set(length, 'shl.b32', length, 1);
      },
    );
  }

  /** Compares pairs of this thread; `down` says which of the two comes first. */
  #inThread(distance: number, down: (e: number) => string): void {
    const { b } = this.#kit;
    for (let e = 0; e < this.#each; e++) {
      if ((e & distance) !== 0) continue;
      const [p, q] = [this.#pairs[e]!, this.#pairs[e + distance]!];
      const greater = this.#greater(p, q);
      const way = down(e);
      const swap =
        way === 'up'
          ? greater
          : way === 'down'
            ? b.def('p', 'not.pred', greater)
            : b.def('p', 'xor.pred', greater, way);
      const [first, second] = [this.#chosen(swap, q, p), this.#chosen(swap, p, q)];
      this.#set(p, first);
      this.#set(q, second);
    }
  }

  /** Steps of `distance` threads, halved down to 1; those of 32 and more are over. */
  #withinWarp(distance: string, down: string): void {
    const kit = this.#kit;
    const { b } = kit;
    kit.while(
      () => b.def('p', 'setp.gt.u32', distance, 0),
      () => {
        const largest = this.#keepsLargest(distance, down);
        for (const pair of this.#pairs) {
          const other = {
            key: shuffleBy(b, this.#wide ? 'd' : 'r', pair.key, distance),
            place: shuffleBy(b, 'r', pair.place, distance),
          };
          this.#keep(pair, other, largest);
        }
        b.set(distance, 'shr.u32', distance, 1);
      },
    );
  }

  #throughMemory(distance: string, down: string): void {
    const kit = this.#kit;
    const { b } = kit;
    const [kind, suffix] = this.#keyKind;
    const bytes = this.#wide ? 8 : 4;
    kit.while(
      () => b.def('p', 'setp.ge.u32', distance, 32),
      () => {
        const largest = this.#keepsLargest(distance, down);
        const partner = b.def('r', 'xor.b32', this.#thread, distance);
        const slot = (thread: string, e: number): string => b.def('r', 'add.u32', thread, e * this.#threads);
        this.#pairs.forEach(({ key, place }, e) => {
          const at = slot(this.#thread, e);
          b.emit(`st.shared.${suffix} [${this.#at(this.#keys, at, bytes)}], ${key}`);
          b.emit(`st.shared.u32 [${this.#at(this.#places, at, 4)}], ${place}`);
        });
        kit.sync();
        this.#pairs.forEach((pair, e) => {
          const at = slot(partner, e);
          const other = {
            key: b.def(kind, `ld.shared.${suffix}`, `[${this.#at(this.#keys, at, bytes)}]`),
            place: b.def('r', 'ld.shared.u32', `[${this.#at(this.#places, at, 4)}]`),
          };
          this.#keep(pair, other, largest);
        });
        kit.sync();
        b.set(distance, 'shr.u32', distance, 1);
      },
    );
  }

  /** Whether this thread keeps the larger of two pairs: it is the upper of the two threads, or the stretch goes down, not both. */
  #keepsLargest(distance: string, down: string): string {
    const { b } = this.#kit;
    const upper = b.def('p', 'setp.ne.u32', b.def('r', 'and.b32', this.#thread, distance), 0);
    return b.def('p', 'xor.pred', upper, down);
  }

  #keep(pair: Pair, other: Pair, largest: string): void {
    const take = this.#kit.b.def('p', 'xor.pred', this.#greater(pair, other), largest);
    this.#set(pair, this.#chosen(take, other, pair));
  }

  #greater(p: Pair, q: Pair): string {
    const { b } = this.#kit;
    const u = this.#wide ? 'u64' : 'u32';
    const later = b.def('p', 'setp.gt.u32', p.place, q.place);
    const tie = b.def('p', `setp.eq.and.${u}`, p.key, q.key, later);
    return b.def('p', `setp.gt.or.${u}`, p.key, q.key, tie);
  }

  #chosen(condition: string, yes: Pair, no: Pair): Pair {
    const { b } = this.#kit;
    const [kind, suffix] = this.#keyKind;
    return {
      key: b.def(kind, `selp.${suffix}`, yes.key, no.key, condition),
      place: b.def('r', 'selp.b32', yes.place, no.place, condition),
    };
  }

  #set(pair: Pair, to: Pair): void {
    const { b } = this.#kit;
    b.set(pair.key, `mov.${this.#keyKind[1]}`, to.key);
    b.set(pair.place, 'mov.b32', to.place);
  }

  get #keyKind(): readonly ['r' | 'd', 'b32' | 'b64'] {
    return this.#wide ? ['d', 'b64'] : ['r', 'b32'];
  }

  #at(base: string, slot: string, bytes: number): string {
    return this.#kit.b.def('r', 'mad.lo.u32', slot, bytes, base);
  }

  /** One slot in nine is left out, so that threads that write their own neighbours do not meet in a bank. */
  #padded(slot: number): number {
    return slot + Math.floor(slot / held);
  }

  #paddedAt(slot: string): string {
    return this.#kit.b.def('r', 'add.u32', slot, this.#kit.b.def('r', 'shr.u32', slot, Math.log2(held)));
  }
}
