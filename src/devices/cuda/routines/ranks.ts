// Elements of some ranks of each row, a median for example: a row stays in registers, and the key of a rank is found by halving.
//
// Threads of a row count their keys up to the middle of what is still possible; that halves it. The search ends where one key is left,
// after about as many steps as the number of elements has bits. Of equal keys the one at the right place is found the same way, so that
// the result is that of a stable sort.

import { dtypeInfo } from '../../../base/dtype.ts';
import type { TopK } from '../../../kernel/kernel.ts';
import { shuffle } from '../ptx/combine.ts';
import { loadElement } from '../ptx/memory.ts';
import type { Target } from '../ptx/target.ts';
import type { ModuleRecipe } from '../recipe.ts';
import { blocksFor, Kit } from './kit.ts';
import { recipeOf } from './recipe-of.ts';
import { keyBytes, sortKey } from './sort-key.ts';

/** Threads of a row, from the fewest on. */
const choices = [32, 128, 256, 512] as const;
/** Keys of a thread. */
const held = 32;
const fewestThreads = 128;

const threadsOf = ({ columns }: TopK): number | undefined => choices.find((threads) => columns <= threads * held);

type Width = 'r' | 'd';
const suffixes = { r: { bits: 'b32', plain: 'u32' }, d: { bits: 'b64', plain: 'u64' } } as const;

export function ranksRecipe(r: TopK, target: Target): ModuleRecipe {
  const threads = threadsOf(r);
  if (!threads) throw new Error(`${r.name}: rows of ${r.columns} elements are sorted, not searched`);
  const rowsPerBlock = Math.max(1, fewestThreads / threads);
  const kit = new Kit(r.name, target);
  const { b } = kit;
  const bytes = dtypeInfo[r.type].bytes;
  const kind: Width = keyBytes(r.type) === 8 ? 'd' : 'r';
  const input = kit.pointer({ kind: 'buffer', index: 0 });
  const values = kit.pointer({ kind: 'buffer', index: 1 });
  const positions = kit.pointer({ kind: 'buffer', index: 2 });
  const tid = kit.special('tid.x');
  const thread = rowsPerBlock === 1 ? tid : b.def('r', 'and.b32', tid, threads - 1);
  const inBlock = b.def('r', 'shr.u32', tid, Math.log2(threads));
  const row = b.def('r', 'mad.lo.u32', kit.special('ctaid.x'), rowsPerBlock, inBlock);
  // Whole warps end here, and only where no other warp waits for them.
  if (rowsPerBlock > 1) kit.exitWhen(b.def('p', 'setp.ge.u32', row, r.rows));
  const start = b.def('d', 'mul.wide.u32', row, r.columns);
  const from = kit.at(input, start, bytes);
  const loaded = Array.from({ length: Math.ceil(r.columns / threads) }, (_, i) => {
    const place = i === 0 ? thread : b.def('r', 'add.u32', thread, threads * i);
    const inside = b.def('p', 'setp.lt.u32', place, r.columns);
    const value = loadElement(kit.c, 'ld.global.nc', r.type, b.def('d', 'mad.wide.u32', place, bytes, from), 0, inside);
    return { place, inside, value };
  });
  // Places beyond the row have the largest key; real ones with that key come before them.
  const { bits, plain } = suffixes[kind];
  const keys = loaded.map(({ inside, value }) =>
    b.def(kind, `selp.${bits}`, sortKey(kit, r.type, value, r.descending), -1, inside),
  );
  const together = new RowOfThreads(kit, tid, threads, target);
  const none = b.def(kind, `mov.${bits}`, 0);
  const reals = keys.map((key, i) => b.def(kind, `selp.${bits}`, key, none, loaded[i]!.inside));
  const least = together.fold(
    'min',
    kind,
    keys.reduce((m, k) => b.def(kind, `min.${plain}`, m, k)),
  );
  const largest = together.fold(
    'max',
    kind,
    reals.reduce((m, k) => b.def(kind, `max.${plain}`, m, k)),
  );
  const rank = b.def('r', 'mov.u32', r.first);
  kit.while(
    () => b.def('p', 'setp.lt.u32', rank, r.first + r.count),
    () => {
      const key = together.search(kind, keys, rank, [least, largest], b.def('r', 'mov.u32', r.columns));
      const places = keys.map((k, i) => {
        const same = b.def('p', `setp.eq.${plain}`, k, key.found);
        return b.def('r', 'selp.b32', loaded[i]!.place, -1, same);
      });
      const among = b.def('r', 'sub.u32', rank, key.below);
      const ends = [b.def('r', 'mov.u32', 0), b.def('r', 'mov.u32', r.columns - 1)] as const;
      const place = together.search('r', places, among, ends, together.count('r', places, ends[1]));
      kit.when(b.def('p', 'setp.eq.u32', thread, 0), () => {
        const slot = b.def('r', 'sub.u32', rank, r.first);
        const to = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', row, r.count), kit.wide(slot));
        const element = b.def('d', 'add.u64', start, kit.wide(place.found));
        kit.store(r.type, values, to, kit.load(r.type, input, element));
        kit.store('i32', positions, to, place.found);
      });
      b.set(rank, 'add.u32', rank, 1);
    },
  );
  const part = kit.finish([blocksFor(r.rows, rowsPerBlock), 1, 1], threads * rowsPerBlock);
  return recipeOf(r.name, target, [part]);
}

type Fold = 'add' | 'min' | 'max';

/** The threads of a row: what they find out together. All of them call everything here. */
class RowOfThreads {
  readonly #kit: Kit;
  readonly #warps: number;
  readonly #lane: string;
  readonly #warp: string;
  readonly #reduces: boolean;
  /** Room for a number of each warp, twice: who is ahead writes to the other half. */
  readonly #room: string = '';
  readonly #half: string = '';

  constructor(kit: Kit, tid: string, threads: number, target: Target) {
    const { b } = kit;
    this.#kit = kit;
    this.#warps = threads / 32;
    this.#lane = b.def('r', 'and.b32', tid, 31);
    this.#warp = b.def('r', 'shr.u32', tid, 5);
    this.#reduces = target.sm >= 80;
    if (this.#warps === 1) return;
    this.#room = kit.shared(2 * 8 * this.#warps);
    this.#half = b.def('r', 'mov.u32', 0);
  }

  /** A number of each thread, combined over the row. */
  fold(op: Fold, kind: Width, value: string): string {
    const inWarp = this.#inWarp(op, kind, value);
    if (this.#warps === 1) return inWarp;
    const { b } = this.#kit;
    const { bits } = suffixes[kind];
    const base = b.def('r', 'add.u32', this.#room, this.#half);
    const speaks = b.def('p', 'setp.eq.u32', this.#lane, 0);
    b.emit(`@${speaks} st.shared.${bits} [${b.def('r', 'mad.lo.u32', this.#warp, 8, base)}], ${inWarp}`);
    this.#kit.sync();
    const own = b.def(kind, `mov.${bits}`, op === 'min' ? -1 : 0);
    const reads = b.def('p', 'setp.lt.u32', this.#lane, this.#warps);
    b.emit(`@${reads} ld.shared.${bits} ${own}, [${b.def('r', 'mad.lo.u32', this.#lane, 8, base)}]`);
    b.set(this.#half, 'xor.b32', this.#half, 8 * this.#warps);
    return this.#inWarp(op, kind, own);
  }

  #inWarp(op: Fold, kind: Width, value: string): string {
    const { b } = this.#kit;
    if (kind === 'r' && this.#reduces) return b.def('r', `redux.sync.${op}.u32`, value, '0xffffffff');
    return [16, 8, 4, 2, 1].reduce(
      (all, distance) => b.def(kind, `${op}.${suffixes[kind].plain}`, all, shuffle(b, kind, all, distance)),
      value,
    );
  }

  /** How many items of the row are at most so large. */
  count(kind: Width, items: readonly string[], most: string): string {
    const { b } = this.#kit;
    // A few counters, so that no addition waits for the last.
    const counters = Array.from({ length: Math.min(4, items.length) }, () => b.def('r', 'mov.u32', 0));
    items.forEach((item, i) => {
      const small = b.def('p', `setp.le.${suffixes[kind].plain}`, item, most);
      const counter = counters[i % counters.length]!;
      b.emit(`@${small} add.u32 ${counter}, ${counter}, 1`);
    });
    return this.fold(
      'add',
      'r',
      counters.reduce((sum, c) => b.def('r', 'add.u32', sum, c)),
    );
  }

  /** The item of a rank, which lies between two ends, and how many are smaller. `upTo`: how many are at most the upper end. */
  search(
    kind: Width,
    items: readonly string[],
    rank: string,
    [least, largest]: readonly [string, string],
    upTo: string,
  ): { readonly found: string; readonly below: string } {
    const kit = this.#kit;
    const { b } = kit;
    const { bits, plain } = suffixes[kind];
    const [low, high] = [b.def(kind, `mov.${bits}`, least), b.def(kind, `mov.${bits}`, largest)];
    const [below, until] = [b.def('r', 'mov.u32', 0), b.def('r', 'mov.u32', upTo)];
    kit.while(
      () => {
        const several = b.def('p', 'setp.gt.u32', b.def('r', 'sub.u32', until, below), 1);
        return b.def('p', `setp.lt.and.${plain}`, low, high, several);
      },
      () => {
        const half = b.def(kind, `shr.${plain}`, b.def(kind, `sub.${plain}`, high, low), 1);
        const middle = b.def(kind, `add.${plain}`, low, half);
        const count = this.count(kind, items, middle);
        const inLower = b.def('p', 'setp.gt.u32', count, rank);
        b.set(high, `selp.${bits}`, middle, high, inLower);
        b.set(until, 'selp.b32', count, until, inLower);
        b.set(low, `selp.${bits}`, low, b.def(kind, `add.${plain}`, middle, 1), inLower);
        b.set(below, 'selp.b32', below, count, inLower);
      },
    );
    const possible = items.map((item) => {
      const large = b.def('p', `setp.ge.${plain}`, item, low);
      return b.def(kind, `selp.${bits}`, item, -1, large);
    });
    const found = this.fold(
      'min',
      kind,
      possible.reduce((m, k) => b.def(kind, `min.${plain}`, m, k)),
    );
    return { found, below };
  }
}
