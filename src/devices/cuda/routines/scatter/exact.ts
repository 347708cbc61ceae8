// Sums of floats that are the same in any order, because nothing is rounded on the way: every update changes its target by itself.
//
// A finite f32 is a whole number of units of 2^-149. A target has a few 64-bit words; word d counts in units of 2^(step·d - 149). An
// update is added to the one word whose unit is the largest that divides it for sure: its 24 bits, shifted by less than a step. A
// word has room for all updates, so nothing overflows, and one atomic addition of whole numbers is all that an update takes. In the
// end the words and the value before are put together and rounded once: the sum is the closest float there is.
//
// Infinities and NaN are noted beside the words. So is that a target whose value was -0 got anything but -0, wherever there is one.

import type { Scatter } from '../../../../kernel/kernel.ts';
import { shuffle } from '../../ptx/combine.ts';
import type { Target } from '../../ptx/target.ts';
import type { ModuleRecipe } from '../../recipe.ts';
import type { Argument } from '../../step.ts';
import { blocksFor, Kit, Layout } from '../kit.ts';
import { type Part, recipeOf } from '../recipe-of.ts';
import { columnPlaces, columnsOf, keyOf, loaded, pairsOf, placeAt, sumType, threads, totalOf } from './parts.ts';

/** Words beyond this do not stay in the cache, where additions are fast. */
const mostBytes = 48 << 20;
/** Updates for each target, from which on clearing and reading the words costs less than sorting. */
const updatesForEach = 2;
/** Words that are changed at the same time without waiting for each other: fewer targets have several sets of them. */
const enoughTargets = 16_384;
const mostSets = 8;

const setsFor = (total: number): number =>
  Math.min(mostSets, 2 ** Math.max(0, Math.ceil(Math.log2(enoughTargets / total))));

/** Places of the lowest bit of an f32, in units of 2^-149: 0 for subnormals and the smallest, 253 for the largest. */
const places = 254;
const minusZero = '0x80000000';

/** What is noted of a target. */
const noted = { nan: 1, plus: 2, minus: 4, changed: 8 } as const;

interface Words {
  readonly s: Scatter;
  readonly target: Target;
  readonly total: number;
  /** Bits between the units of neighbouring words, and how many words a target has. */
  readonly step: number;
  readonly count: number;
  /** Sets of words: blocks take turns with them. */
  readonly sets: number;
  readonly at: Argument;
  readonly notes: Argument;
  /** For each block of the first launch whether it saw a -0. */
  readonly seen: Argument;
  readonly clearers: number;
}

export function exactSums(s: Scatter, target: Target): ModuleRecipe | null {
  if (s.combine !== 'sum' || sumType(s) !== 'f32') return null;
  const total = totalOf(s);
  const updates = pairsOf(s) * columnsOf(s);
  // So that a word has room for all of a target's updates, the value before, and a carry.
  const step = 39 - Math.ceil(Math.log2(s.count));
  const count = Math.ceil(places / step);
  const sets = setsFor(total);
  if (step < 8 || updates < updatesForEach * total || updates >= 2 ** 31 || 8 * total * count > mostBytes) return null;
  const layout = new Layout();
  const words: Words = {
    s,
    target,
    total,
    step,
    count,
    sets,
    at: layout.add(8 * total * count * sets),
    notes: layout.add(4 * total),
    seen: layout.add(4 * threads),
    clearers: Math.min(threads, blocksFor(total * count * sets, 2 * threads)),
  };
  const parts = [clear(words), add(words), round(words)];
  return recipeOf(s.name, target, parts, { borrowedBytes: layout.bytes });
}

/** Words and notes are 0 at first. */
function clear({ s, target, total, count, sets, at, notes, seen, clearers }: Words): Part {
  const kit = new Kit(`${s.name}_clear`, target);
  const { b } = kit;
  const base = kit.pointer({ kind: 'buffer', index: 0 });
  const [words, marks, found] = [at, notes, seen].map((a) => kit.pointer(a)) as [string, string, string];
  const thread = kit.globalThread(threads);
  const stepping = (end: number, body: (i: string) => void): void => {
    const i = b.def('d', 'mov.u64', thread);
    kit.while(
      () => b.def('p', 'setp.lt.u64', i, end),
      () => {
        body(i);
        b.set(i, 'add.u64', i, clearers * threads);
      },
    );
  };
  // Regions are whole multiples of 256 bytes, so the last pair may reach beyond the words.
  const zero = b.def('d', 'mov.u64', 0);
  stepping(Math.ceil((total * count * sets) / 2), (i) =>
    b.emit(`st.global.v2.u64 [${kit.at(words, i, 16)}], {${zero}, ${zero}}`),
  );
  const any = b.def('p', 'setp.ne.u32', 0, 0);
  stepping(total, (i) => {
    kit.store('u32', marks, i, b.def('r', 'mov.u32', 0));
    const value = b.def('r', 'mov.b32', loaded(kit, s, base, i));
    b.set(any, 'or.pred', any, b.def('p', 'setp.eq.u32', value, minusZero));
  });
  const some = b.def('p', 'bar.red.or.pred', 0, any);
  const one = b.def('r', 'selp.u32', 1, 0, some);
  kit.when(b.def('p', 'setp.eq.u32', kit.special('tid.x'), 0), () => {
    kit.store('u32', found, kit.wide(kit.special('ctaid.x')), one);
  });
  return kit.finish([clearers, 1, 1], threads);
}

/** Updates of a thread, all read before the first is added. */
const together = 4;

function add({ s, target, total, step, count, sets, at, notes, seen, clearers }: Words): Part {
  const kit = new Kit(`${s.name}_add`, target);
  const { b } = kit;
  const where = kit.pointer({ kind: 'buffer', index: 1 });
  const updates = kit.pointer({ kind: 'buffer', index: 2 });
  const [words, marks, found] = [at, notes, seen].map((a) => kit.pointer(a)) as [string, string, string];
  const columns = columnsOf(s);
  const all = pairsOf(s) * columns;
  const tid = kit.special('tid.x');
  const any = b.def('p', 'setp.ne.u32', 0, 0);
  kit.when(b.def('p', 'setp.lt.u32', tid, clearers), () => {
    b.set(any, 'setp.ne.u32', kit.load('u32', found, kit.wide(tid)), 0);
  });
  const marksZeros = b.def('p', 'bar.red.or.pred', 0, any);
  const first = b.def('r', 'mad.lo.u32', kit.special('ctaid.x'), threads * together, tid);
  // The first word of this block's set.
  const own =
    sets > 1 ? b.def('r', 'mul.lo.u32', b.def('r', 'and.b32', kit.special('ctaid.x'), sets - 1), count) : null;
  const same = s.uniform ? loaded(kit, s, updates, '0') : null;
  const read = Array.from({ length: together }, (_, k) => {
    const at = k === 0 ? first : b.def('r', 'add.u32', first, k * threads);
    // Beyond the last one there is -0, which changes nothing.
    const inside = b.def('p', 'setp.lt.u32', at, all);
    const i = b.def('r', 'min.u32', at, all - 1);
    const of = columns === 1 ? i : b.def('r', 'div.u32', i, columns);
    const column = columns === 1 ? '0' : kit.wide(b.def('r', 'sub.u32', i, b.def('r', 'mul.lo.u32', of, columns)));
    const pair = kit.wide(of);
    const { target: placeOf, update } = columnPlaces(kit, s, column);
    const to = placeOf(keyOf(kit, s, pair, kit.wide(placeAt(kit, s, where, pair))));
    const value = b.def('r', 'mov.b32', same ?? loaded(kit, s, updates, update(pair)));
    return { to, bits: b.def('r', 'selp.b32', value, minusZero, inside) };
  });
  for (const { to, bits } of read) {
    const { exponent, fraction, whole, word, negative, addend } = splitValue(kit, bits, step);
    const finite = b.def('p', 'setp.ne.u32', exponent, 255);
    const adds = b.def('p', 'setp.ne.and.u32', whole, 0, finite);
    const ofSet = own ? b.def('r', 'add.u32', word, own) : word;
    const place = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', ofSet, total), to);
    addHot(kit, place, addend, adds);
    b.emit(`@${adds} red.global.add.u64 [${kit.at(words, place, 8)}], ${addend}`);
    const note = (mark: string): void => b.emit(`red.global.or.b32 [${kit.at(marks, to, 4)}], ${mark}`);
    kit.when(b.def('p', 'not.pred', finite), () => {
      const infinite = b.def('r', 'selp.b32', noted.minus, noted.plus, negative);
      note(b.def('r', 'selp.b32', infinite, noted.nan, b.def('p', 'setp.eq.u32', fraction, 0)));
    });
    kit.when(b.def('p', 'setp.ne.and.u32', bits, minusZero, marksZeros), () => note(`${noted.changed}`));
  }
  return kit.finish([blocksFor(all, threads * together), 1, 1], threads);
}

/** Lanes whose word may be that of many others, and how many there have to be. */
const hotLanes = [0, 16] as const;
const manyLanes = 3;

/**
 * A word that many lanes of a warp add to gets one sum from all of them: memory changes a word once at a time, and if all updates are for
 * one target they would queue. What is left of `adds` is a lane of each such word, with the sum, and those that share with few.
 */
function addHot(kit: Kit, place: string, addend: string, adds: string): void {
  const { b } = kit;
  // Words are fewer than 2^32.
  const own = b.def('r', 'cvt.u32.u64', place);
  const lane = kit.special('laneid');
  for (const leader of hotLanes) {
    const theirs = b.def('r', 'shfl.sync.idx.b32', own, leader, 31, '0xffffffff');
    const joins = b.def('p', 'setp.eq.and.u32', own, theirs, adds);
    const all = b.def('r', 'vote.sync.ballot.b32', joins, '0xffffffff');
    const many = b.def('p', 'setp.ge.u32', b.def('r', 'popc.b32', all), manyLanes);
    kit.when(many, () => {
      const zero = b.def('d', 'mov.u64', 0);
      const part = b.def('d', 'selp.b64', addend, zero, joins);
      const sum = [16, 8, 4, 2, 1].reduce(
        (s, distance) => b.def('d', 'add.s64', s, shuffle(b, 'd', s, distance)),
        part,
      );
      const first = b.def('r', 'bfind.u32', all);
      const speaks = b.def('p', 'setp.eq.u32', lane, first);
      b.set(addend, 'selp.b64', sum, addend, speaks);
      const leaves = b.def('p', 'and.pred', joins, b.def('p', 'not.pred', speaks));
      b.set(adds, 'and.pred', adds, b.def('p', 'not.pred', leaves));
    });
  }
}

/** The f32 with a power of two as its value: 2^(place - 149). */
const power = (place: number): string => {
  const bits = place < 23 ? 2 ** place : (place - 22) * 2 ** 23;
  return `0f${bits.toString(16).padStart(8, '0')}`;
};

/** A thread for each target: the sum of its words and the value before, rounded. */
function round({ s, target, total, step, count, sets, at, notes }: Words): Part {
  const kit = new Kit(`${s.name}_round`, target);
  const { b } = kit;
  const base = kit.pointer({ kind: 'buffer', index: 0 });
  const output = kit.pointer({ kind: 'buffer', index: 3 });
  const [words, marks] = [kit.pointer(at), kit.pointer(notes)];
  const i = kit.globalThread(threads);
  kit.exitWhen(b.def('p', 'setp.ge.u64', i, total));
  const before = loaded(kit, s, base, i);
  const note = kit.load('u32', marks, i);
  const from = kit.at(words, i, 8);
  const own = Array.from({ length: count }, (_, d) => {
    const each = Array.from({ length: sets }, (_, set) => `[${from}+${(set * count + d) * total * 8}]`);
    return each.map((place) => b.def('d', 'ld.global.u64', place)).reduce((sum, w) => b.def('d', 'add.s64', sum, w));
  });
  const bits = b.def('r', 'mov.b32', before);
  const { exponent, word, addend } = splitValue(kit, bits, step);
  const finite = b.def('p', 'setp.ne.u32', exponent, 255);
  own.forEach((w, d) => {
    b.emit(`@${b.def('p', 'setp.eq.u32', word, d)} add.s64 ${w}, ${w}, ${addend}`);
  });
  // Carries from word to word show the sign of all; a negative sum is turned around, which turns all words around.
  const mask = `0x${(2n ** BigInt(step) - 1n).toString(16)}`;
  const carried = own.reduce<string>((carry, w) => b.def('d', 'shr.s64', b.def('d', 'add.s64', w, carry), step), '0');
  const negative = b.def('p', 'setp.lt.s64', carried, 0);
  const digits: string[] = [];
  let carry = '0';
  for (const w of own) {
    const sum = b.def('d', 'add.s64', b.def('d', 'selp.b64', b.def('d', 'neg.s64', w), w, negative), carry);
    digits.push(b.def('d', 'and.b64', sum, mask));
    carry = b.def('d', 'shr.s64', sum, step);
  }
  // From the top: as many digits as fit into 63 bits, which are more than 24. Whether anything is left below is one bit more.
  const head = b.def('d', 'mov.u64', carry);
  const scale = b.def('f', 'mov.f32', power(0));
  const rest = b.def('d', 'mov.u64', 0);
  for (let d = count - 1; d >= 0; d--) {
    const room = b.def('p', 'setp.lt.u64', head, `0x${(2n ** BigInt(63 - step)).toString(16)}`);
    const longer = b.def('d', 'or.b64', b.def('d', 'shl.b64', head, step), digits[d]!);
    const below = b.def('d', 'or.b64', rest, digits[d]!);
    b.set(rest, 'selp.b64', rest, below, room);
    b.set(head, 'selp.b64', longer, head, room);
    b.set(scale, 'selp.f32', power(d * step), scale, room);
  }
  const inexact = b.def('d', 'selp.b64', 1, 0, b.def('p', 'setp.ne.u64', rest, 0));
  const size = b.def('f', 'mul.rn.f32', b.def('f', 'cvt.rn.f32.u64', b.def('d', 'or.b64', head, inexact)), scale);
  const signed = b.def('f', 'selp.f32', b.def('f', 'neg.f32', size), size, negative);
  // A -0 that nothing but -0 was added to stays one.
  const changed = b.def('p', 'setp.ne.u32', b.def('r', 'and.b32', note, noted.changed), 0);
  const isMinusZero = b.def('p', 'setp.eq.u32', bits, minusZero);
  const stays = b.def('p', 'and.pred', isMinusZero, b.def('p', 'not.pred', changed));
  const exact = b.def('f', 'selp.f32', before, signed, stays);
  const is = (mark: number): string => b.def('p', 'setp.ne.u32', b.def('r', 'and.b32', note, mark), 0);
  const [plus, minus, none] = ['0f7f800000', '0fff800000', '0f00000000'];
  const [above, below] = [is(noted.plus), is(noted.minus)];
  const infinite = b.def(
    'f',
    'add.rn.f32',
    b.def('f', 'selp.f32', plus, none, above),
    b.def('f', 'selp.f32', minus, none, below),
  );
  const special = b.def('f', 'selp.f32', '0f7fc00000', infinite, is(noted.nan));
  const unusual = b.def('p', 'setp.ne.u32', b.def('r', 'and.b32', note, noted.nan | noted.plus | noted.minus), 0);
  const usual = b.def('p', 'and.pred', finite, b.def('p', 'not.pred', unusual));
  const result = b.def('f', 'selp.f32', exact, b.def('f', 'add.rn.f32', before, special), usual);
  kit.store(s.type, output, i, kit.cast('f32', s.type, result));
  return kit.finish([blocksFor(total, threads), 1, 1], threads);
}

/** An f32 as a whole number, and which word that is added to: what is not finite gives numbers that nobody looks at. */
function splitValue(kit: Kit, bits: string, step: number) {
  const { b } = kit;
  const exponent = b.def('r', 'bfe.u32', bits, 23, 8);
  const fraction = b.def('r', 'and.b32', bits, '0x7fffff');
  const normal = b.def('p', 'setp.ne.u32', exponent, 0);
  const whole = b.def('r', 'selp.b32', b.def('r', 'or.b32', fraction, '0x800000'), fraction, normal);
  const place = b.def('r', 'sub.u32', b.def('r', 'max.u32', exponent, 1), 1);
  const word = b.def('r', 'div.u32', place, step);
  const by = b.def('r', 'sub.u32', place, b.def('r', 'mul.lo.u32', word, step));
  const size = b.def('d', 'shl.b64', kit.wide(whole), by);
  const negative = b.def('p', 'setp.lt.s32', bits, 0);
  const addend = b.def('d', 'selp.b64', b.def('d', 'neg.s64', size), size, negative);
  return { exponent, fraction, whole, word, negative, addend };
}
