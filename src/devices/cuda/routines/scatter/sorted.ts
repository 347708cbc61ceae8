// Many updates whose order matters: they are sorted by their target, stably, and runs of equal targets are folded in order.
//
// A thread folds a chunk of the sorted updates. A run that begins and ends in a chunk is folded from its target's value on, as the loop
// does that scattering is defined as. Of a run that goes on into further chunks, each chunk folds its part, and the parts are put
// together: a run of a million updates takes no longer than many short ones. Where chunks begin and which part comes when depends on
// sizes and positions alone, so nothing depends on timing.

import { dtypeInfo } from '../../../../base/dtype.ts';
import { identityOf } from '../../../../kernel/identity.ts';
import type { Scatter } from '../../../../kernel/kernel.ts';
import { shuffle, shuffleBy } from '../../ptx/combine.ts';
import type { Target } from '../../ptx/target.ts';
import type { Argument } from '../../step.ts';
import { blocksFor, Kit, Layout } from '../kit.ts';
import { radixBuffers, radixPasses, radixResult } from '../radix.ts';
import type { RadixPlan } from '../radix-plan.ts';
import type { Part } from '../recipe-of.ts';
import {
  columnPlaces,
  columnsOf,
  combined,
  copyBase,
  keyOf,
  loaded,
  pairsOf,
  placeAt,
  sumType,
  threads,
  totalOf,
} from './parts.ts';

/** Updates of a chunk: more where many elements share a position, and neighbouring threads read neighbouring updates. */
const chunkLength = (s: Scatter): number => (columnsOf(s) >= 8 ? 64 : 16);

/** Updates that a thread reads before it folds any: what it reads next does not wait for what it has. */
const together = 8;

interface Sorted {
  readonly s: Scatter;
  readonly target: Target;
  readonly keyType: 'u32' | 'u64';
  readonly keys: Argument;
  readonly order: Argument;
  /** What a chunk folded of a run that began before it, and of one that began in it and goes on. */
  readonly before: Argument;
  readonly onward: Argument;
  readonly chunks: number;
}

export function bySorting(s: Scatter, target: Target): { readonly parts: readonly Part[]; readonly bytes: number } {
  const pairs = pairsOf(s);
  const targets = s.perElement ? totalOf(s) : s.length;
  const plan: RadixPlan = {
    name: s.name,
    rows: 1,
    columns: pairs,
    keyBytes: targets > 2 ** 32 ? 8 : 4,
    passes: Math.max(1, Math.ceil(Math.log2(Math.max(2, targets)) / 8)),
  };
  const layout = new Layout();
  const buffers = radixBuffers(plan, layout);
  const keyType = plan.keyBytes === 8 ? 'u64' : 'u32';
  const result = radixResult(plan);
  const chunks = Math.ceil(pairs / chunkLength(s));
  const partBytes = s.combine === 'set' ? 0 : chunks * columnsOf(s) * dtypeInfo[sumType(s)].bytes;
  const sorted: Sorted = {
    s,
    target,
    keyType,
    keys: buffers.keys[result],
    order: buffers.positions[result],
    before: layout.add(partBytes),
    onward: layout.add(partBytes),
    chunks,
  };
  const folds = s.combine === 'set' ? [storeLast(sorted)] : [foldChunks(sorted), joinRuns(sorted)];
  const parts = [
    keysOf(s, keyType, buffers.keys[0], target),
    ...radixPasses(plan, buffers, target),
    copyBase(s, target),
    ...folds,
  ];
  return { parts, bytes: layout.bytes };
}

function keysOf(s: Scatter, keyType: 'u32' | 'u64', to: Argument, target: Target): Part {
  const kit = new Kit(`${s.name}_keys`, target);
  const { b } = kit;
  const at = kit.pointer({ kind: 'buffer', index: 1 });
  const out = kit.pointer(to);
  const i = kit.globalThread(threads);
  kit.exitWhen(b.def('p', 'setp.ge.u64', i, pairsOf(s)));
  const key = keyOf(kit, s, i, kit.wide(placeAt(kit, s, at, i)));
  kit.store(keyType, out, i, keyType === 'u64' ? key : b.def('r', 'cvt.u32.u64', key));
  return kit.finish([blocksFor(pairsOf(s), threads), 1, 1], threads);
}

/** The kernel's view of the sorted updates, for one column of them. */
class View {
  readonly kit: Kit;
  readonly #sorted: Sorted;
  readonly #pointers: Readonly<Record<'updates' | 'output' | 'keys' | 'order', string>>;
  #places: ReturnType<typeof columnPlaces> | null = null;

  constructor(name: string, sorted: Sorted) {
    this.kit = new Kit(`${sorted.s.name}_${name}`, sorted.target);
    this.#sorted = sorted;
    this.#pointers = {
      updates: this.kit.pointer({ kind: 'buffer', index: 2 }),
      output: this.kit.pointer({ kind: 'buffer', index: 3 }),
      keys: this.kit.pointer(sorted.keys),
      order: this.kit.pointer(sorted.order),
    };
  }

  /** Splits a number over [of, columns]; the column is the one that is seen from here on. */
  seen(flat: string): { readonly of: string; readonly column: string } {
    const { b } = this.kit;
    const columns = columnsOf(this.#sorted.s);
    const of = columns === 1 ? flat : b.def('d', 'div.u64', flat, columns);
    const column = columns === 1 ? '0' : b.def('d', 'sub.u64', flat, b.def('d', 'mul.lo.u64', of, columns));
    this.#places = columnPlaces(this.kit, this.#sorted.s, column);
    return { of, column };
  }

  /** The key of a rank, 64 bits wide. */
  key(rank: string): string {
    const { keyType } = this.#sorted;
    const key = this.kit.load(keyType, this.#pointers.keys, rank);
    return keyType === 'u64' ? key : this.kit.wide(key);
  }

  update(rank: string): string {
    const j = this.kit.wide(this.kit.load('i32', this.#pointers.order, rank));
    return loaded(this.kit, this.#sorted.s, this.#pointers.updates, this.#places!.update(j));
  }

  /** What the output has for a key so far. */
  value(key: string): string {
    return loaded(this.kit, this.#sorted.s, this.#pointers.output, this.#places!.target(key));
  }

  store(key: string, value: string): void {
    const { s } = this.#sorted;
    this.kit.store(s.type, this.#pointers.output, this.#places!.target(key), this.kit.cast(sumType(s), s.type, value));
  }

  equal(a: string, b: string): string {
    return this.kit.b.def('p', 'setp.eq.u64', a, b);
  }
}

/** The last update of each run is what remains of it. */
function storeLast(sorted: Sorted): Part {
  const { s } = sorted;
  const view = new View('last', sorted);
  const { kit } = view;
  const { b } = kit;
  const pairs = pairsOf(s);
  const thread = kit.globalThread(threads);
  kit.exitWhen(b.def('p', 'setp.ge.u64', thread, pairs * columnsOf(s)));
  const { of: rank } = view.seen(thread);
  const key = view.key(rank);
  const next = b.def('d', 'add.u64', rank, 1);
  kit.when(b.def('p', 'setp.lt.u64', next, pairs), () => kit.exitWhen(view.equal(view.key(next), key)));
  view.store(key, view.update(rank));
  return kit.finish([blocksFor(pairs * columnsOf(s), threads), 1, 1], threads);
}

function foldChunks(sorted: Sorted): Part {
  const { s, chunks } = sorted;
  const type = sumType(s);
  const view = new View('fold', sorted);
  const { kit } = view;
  const { b } = kit;
  const [before, onward] = [kit.pointer(sorted.before), kit.pointer(sorted.onward)];
  const pairs = pairsOf(s);
  const thread = kit.globalThread(threads);
  kit.exitWhen(b.def('p', 'setp.ge.u64', thread, chunks * columnsOf(s)));
  const { of: chunk } = view.seen(thread);
  const i = b.def('d', 'mul.lo.u64', chunk, chunkLength(s));
  const end = b.def('d', 'min.u64', b.def('d', 'add.u64', i, chunkLength(s)), pairs);
  const key = b.def('d', 'mov.u64', view.key(i));
  // Whether the run began before this chunk.
  const open = b.def('p', 'setp.ne.u32', 0, 0);
  kit.when(b.def('p', 'setp.gt.u64', i, 0), () => {
    b.set(open, 'setp.eq.u64', view.key(b.def('d', 'sub.u64', i, 1)), key);
  });
  const sum = kit.variable(type, view.update(i));
  const begin = (): void => kit.assign(type, sum, combined(kit, s, view.value(key), sum));
  kit.when(b.def('p', 'not.pred', open), begin);
  const close = (): void => {
    const own = b.def('p', 'not.pred', open);
    kit.when(open, () => kit.store(type, before, thread, sum));
    kit.when(own, () => view.store(key, sum));
  };
  const fold = (next: string, update: string, inside: string): void => {
    const same = view.equal(next, key);
    const other = b.def('p', 'not.pred', same);
    kit.when(b.def('p', 'and.pred', same, inside), () => kit.assign(type, sum, combined(kit, s, sum, update)));
    kit.when(b.def('p', 'and.pred', other, inside), () => {
      close();
      b.set(open, 'setp.ne.u32', 0, 0);
      b.set(key, 'mov.u64', next);
      kit.assign(type, sum, update);
      begin();
    });
  };
  const last = b.def('d', 'sub.u64', end, 1);
  b.set(i, 'add.u64', i, 1);
  kit.while(
    () => b.def('p', 'setp.lt.u64', i, end),
    () => {
      const ranks = Array.from({ length: together }, (_, k) => b.def('d', 'add.u64', i, k));
      const within = ranks.map((rank) => b.def('d', 'min.u64', rank, last));
      const keys = within.map((rank) => view.key(rank));
      const updates = within.map((rank) => view.update(rank));
      for (const [k, rank] of ranks.entries()) fold(keys[k]!, updates[k]!, b.def('p', 'setp.lt.u64', rank, end));
      b.set(i, 'add.u64', i, together);
    },
  );
  const goesOn = b.def('p', 'setp.ne.u32', 0, 0);
  kit.when(b.def('p', 'setp.lt.u64', end, pairs), () => b.set(goesOn, 'setp.eq.u64', view.key(end), key));
  const leaves = b.def('p', 'and.pred', goesOn, b.def('p', 'not.pred', open));
  kit.when(leaves, () => kit.store(type, onward, thread, sum));
  kit.when(b.def('p', 'not.pred', leaves), close);
  return kit.finish([blocksFor(chunks * columnsOf(s), threads), 1, 1], threads);
}

/** Further chunks of a run that one thread goes through by itself. */
const fewChunks = 8;

/**
 * A thread for each chunk and column: of the chunk's last run, if it began there and goes on, it joins the parts of further chunks. Long
 * runs are joined by the whole warp, one after the other.
 */
function joinRuns(sorted: Sorted): Part {
  const { s, chunks } = sorted;
  const type = sumType(s);
  const columns = columnsOf(s);
  const view = new View('join', sorted);
  const { kit } = view;
  const { b } = kit;
  const [before, onward] = [kit.pointer(sorted.before), kit.pointer(sorted.onward)];
  const all = (chunks - 1) * columns;
  const thread = kit.globalThread(threads);
  const { of: chunk, column } = view.seen(thread);
  const following = b.def('d', 'add.u64', chunk, 1);
  const first = (c: string): string => view.key(b.def('d', 'mul.lo.u64', c, chunkLength(s)));
  const key = b.def('d', 'mov.u64', 0);
  const goesOn = b.def('p', 'setp.ne.u32', 0, 0);
  kit.when(b.def('p', 'setp.lt.u64', thread, all), () => {
    b.set(key, 'mov.u64', first(following));
    const begin = b.def('d', 'mul.lo.u64', chunk, chunkLength(s));
    b.set(goesOn, 'setp.eq.u64', view.key(b.def('d', 'add.u64', begin, chunkLength(s) - 1)), key);
    const later = b.def('p', 'setp.gt.u64', begin, 0);
    kit.when(b.def('p', 'and.pred', goesOn, later), () => {
      b.set(goesOn, 'setp.ne.u64', view.key(b.def('d', 'sub.u64', begin, 1)), key);
    });
  });
  // The first chunk behind those that begin with the run: found by halves.
  const low = b.def('d', 'add.u64', following, 1);
  const high = b.def('d', 'selp.b64', chunks, low, goesOn);
  kit.while(
    () => b.def('p', 'setp.lt.u64', low, high),
    () => {
      const middle = b.def('d', 'shr.u64', b.def('d', 'add.u64', low, high), 1);
      const within = view.equal(first(middle), key);
      const beyond = b.def('p', 'not.pred', within);
      kit.when(within, () => b.set(low, 'add.u64', middle, 1));
      kit.when(beyond, () => b.set(high, 'mov.u64', middle));
    },
  );
  const partAt = (of: string, its: string): string => (columns === 1 ? of : b.def('d', 'mad.lo.u64', of, columns, its));
  const fold = (sum: string, from: string, to: string, step: number, its: string): void => {
    const c = b.def('d', 'mov.u64', from);
    kit.while(
      () => b.def('p', 'setp.lt.u64', c, to),
      () => {
        kit.assign(type, sum, combined(kit, s, sum, kit.load(type, before, partAt(c, its))));
        b.set(c, 'add.u64', c, step);
      },
    );
  };
  const isLong = b.def('p', 'setp.gt.u64', b.def('d', 'sub.u64', low, following), fewChunks);
  const long = b.def('p', 'and.pred', goesOn, isLong);
  const short = b.def('p', 'and.pred', goesOn, b.def('p', 'not.pred', isLong));
  kit.when(short, () => {
    const sum = kit.variable(type, kit.load(type, onward, thread));
    fold(sum, following, low, 1, column);
    view.store(key, sum);
  });
  const waiting = b.def('r', 'vote.sync.ballot.b32', long, '0xffffffff');
  const lane = kit.special('laneid');
  const op = s.combine === 'set' ? 'sum' : s.combine;
  kit.while(
    () => b.def('p', 'setp.ne.u32', waiting, 0),
    () => {
      const whose = b.def('r', 'bfind.u32', waiting);
      b.set(waiting, 'xor.b32', waiting, b.def('r', 'shl.b32', 1, whose));
      const [from, to, its] = [following, low, column].map((v) =>
        v === '0' ? v : shuffleBy(b, 'd', v, whose, 'idx'),
      ) as [string, string, string];
      const sum = kit.variable(type, kit.constant(type, identityOf(op, type)));
      fold(sum, b.def('d', 'add.u64', from, kit.wide(lane)), to, 32, its);
      for (let distance = 16; distance >= 1; distance /= 2) {
        kit.assign(type, sum, combined(kit, s, sum, shuffle(b, kit.kind(type), sum, distance)));
      }
      kit.when(b.def('p', 'setp.eq.u32', lane, whose), () => {
        view.store(key, combined(kit, s, kit.load(type, onward, thread), sum));
      });
    },
  );
  return kit.finish([blocksFor(all, threads), 1, 1], threads);
}
