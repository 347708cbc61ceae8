// One pass of the radix sort: a tile of pairs goes to its places among all pairs of the row, sorted by one digit.

import type { Target } from '../ptx/target.ts';
import { Kit } from './kit.ts';
import {
  digitOf,
  digits,
  keyKind,
  keyLoader,
  keySuffix,
  type Part,
  type RadixBuffers,
  type RadixPlan,
  tilesOf,
  type Word,
  wordOf,
} from './radix-plan.ts';

export function sweep(plan: RadixPlan, buffers: RadixBuffers, pass: number, target: Target): Part {
  const kit = new Kit(`${plan.name}_sweep${pass}`, target);
  const { b } = kit;
  const [from, last] = [(pass % 2) as 0 | 1, pass === plan.passes - 1];
  const to = (1 - from) as 0 | 1;
  const tiles = tilesOf(plan);
  const { threads, perThread } = tiles;
  const warps = threads / 32;
  const word = wordOf(plan);
  const load = keyLoader(kit, plan, buffers.keys[from], pass === 0);
  const sink = last && plan.sink ? plan.sink(kit) : null;
  const keysOut = sink ? '' : kit.pointer(buffers.keys[to]);
  // The first pass starts from the natural order.
  const positionsIn = pass === 0 ? '' : kit.pointer(buffers.positions[from]);
  const positionsOut = sink ? '' : kit.pointer(buffers.positions[to]);
  const counts = kit.pointer(buffers.counts);
  const begun = kit.pointer(buffers.begun);
  const told = kit.pointer(buffers.told);
  const tid = kit.special('tid.x');
  const laneId = b.def('r', 'and.b32', tid, 31);
  const warp = b.def('r', 'shr.u32', tid, 5);

  const number = kit.shared(16);
  kit.when(b.def('p', 'setp.eq.u32', tid, 0), () => {
    const mine = b.def('r', 'atom.global.add.u32', `[${begun}+${4 * pass}]`, 1);
    b.emit(`st.shared.u32 [${number}], ${mine}`);
  });
  const shared = kit.shared(warps * digits * 4);
  const ownCounter = b.def('r', 'mad.lo.u32', tid, 4, shared);
  for (let i = 0; i < warps * digits; i += threads) b.emit(`st.shared.u32 [${ownCounter}+${4 * i}], 0`);
  kit.sync();
  const block = b.def('r', 'ld.shared.u32', `[${number}]`);
  const row = b.def('r', 'div.u32', block, tiles.count);
  const tile = b.def('r', 'sub.u32', block, b.def('r', 'mul.lo.u32', row, tiles.count));
  const rowStart = b.def('d', 'mul.wide.u32', row, plan.columns);
  const stretch = b.def('r', 'mad.lo.u32', warp, 32 * perThread, laneId);
  const tileStart = b.def('d', 'mul.wide.u32', tile, tiles.size);
  const valid = b.def(
    'r',
    'cvt.u32.u64',
    b.def('d', 'min.u64', b.def('d', 'sub.u64', plan.columns, tileStart), tiles.size),
  );
  const own0 = b.def('d', 'add.u64', b.def('d', 'add.u64', rowStart, tileStart), kit.wide(stretch));
  // Predicates are few, and numbers of elements take two registers: both are made anew wherever they are needed.
  const inside = (i: number): string =>
    b.def('p', 'setp.lt.u32', i === 0 ? stretch : b.def('r', 'add.u32', stretch, i * 32), valid);
  const elementOf = (i: number): string => (i === 0 ? own0 : b.def('d', 'add.u64', own0, i * 32));
  const keys = Array.from({ length: perThread }, (_, i) => load(elementOf(i), inside(i)));

  const below = kit.special('lanemask_lt');
  const mine = b.def('r', 'mad.lo.u32', warp, digits * 4, shared);
  const ranks = keys.map((key, i) => {
    const digit = digitOf(kit, plan, key, pass);
    const there = inside(i);
    const peers = withSameDigit(kit, digit, there);
    const before = b.def('r', 'popc.b32', b.def('r', 'and.b32', peers, below));
    const counter = b.def('r', 'mad.lo.u32', digit, 4, mine);
    const count = b.def('r', 'ld.shared.u32', `[${counter}]`);
    b.emit('bar.warp.sync 0xffffffff');
    const leads = b.def('p', 'and.pred', b.def('p', 'setp.eq.u32', before, 0), there);
    const sum = b.def('r', 'add.u32', count, b.def('r', 'popc.b32', peers));
    b.emit(`@${leads} st.shared.u32 [${counter}], ${sum}`);
    b.emit('bar.warp.sync 0xffffffff');
    return b.def('r', 'add.u32', count, before);
  });
  kit.sync();

  const shifts = kit.shared(digits * word.bytes);
  const sums = kit.shared((digits / 32) * 4);
  // Thread d speaks for digit d: what this tile has of it, where that goes within the sorted tile, and what lies before it.
  const speaks = b.def('p', 'setp.lt.u32', tid, digits);
  const [total, place] = [b.def('r', 'mov.u32', 0), b.def('r', 'mov.u32', 0)];
  const said = b.def('d', 'mad.wide.u32', b.def('r', 'and.b32', tid, digits - 1), word.bytes, told);
  const passStart = pass * plan.rows * tiles.count;
  const tellAt = b.def('d', 'mad.lo.u64', b.def('d', 'add.u64', kit.wide(block), passStart), digits * word.bytes, said);
  const own = b.def('r', 'mad.lo.u32', tid, 4, shared);
  const widened = (v: string): string => (word.kind === 'd' ? kit.wide(v) : v);
  const tell = (value: string, flag: string): void =>
    b.emit(`st.relaxed.gpu.global.${word.bits} [${tellAt}], ${b.def(word.kind, `or.${word.bits}`, value, flag)}`);
  const counted: string[] = [];
  kit.when(speaks, () => {
    for (let w = 0; w < warps; w++) counted.push(b.def('r', 'ld.shared.u32', `[${own}+${w * digits * 4}]`));
    for (const c of counted) b.set(total, 'add.u32', total, c);
    kit.when(b.def('p', 'setp.ne.u32', tile, 0), () => tell(widened(total), word.own));
    const upTo = b.def('r', 'mov.u32', total);
    for (let distance = 1; distance < 32; distance *= 2) {
      const lower = b.def('r', 'shfl.sync.up.b32', upTo, distance, 0, '0xffffffff');
      b.emit(`@${b.def('p', 'setp.ge.u32', laneId, distance)} add.u32 ${upTo}, ${upTo}, ${lower}`);
    }
    const lastLane = b.def('p', 'setp.eq.u32', laneId, 31);
    b.emit(`@${lastLane} st.shared.u32 [${b.def('r', 'mad.lo.u32', warp, 4, sums)}], ${upTo}`);
    b.set(place, 'sub.u32', upTo, total);
  });
  // All threads wait here, though half of them have nothing to say: checkers of races know no barriers of fewer.
  kit.sync();
  kit.when(speaks, () => {
    for (let w = 0; w < digits / 32 - 1; w++) {
      const part = b.def('r', 'ld.shared.u32', `[${sums}+${w * 4}]`);
      b.emit(`@${b.def('p', 'setp.gt.u32', warp, w)} add.u32 ${place}, ${place}, ${part}`);
    }
    // The warps' counts become their places within the sorted tile.
    const next = b.def('r', 'mov.u32', place);
    counted.forEach((c, w) => {
      b.emit(`st.shared.u32 [${own}+${w * digits * 4}], ${next}`);
      b.set(next, 'add.u32', next, c);
    });
  });
  kit.sync();
  // Into order within the tile first, so that neighbours are written together.
  const sorted = kit.shared(tiles.size * plan.keyBytes);
  const places = ranks.map((rank, i) => {
    const counter = b.def('r', 'mad.lo.u32', digitOf(kit, plan, keys[i]!, pass), 4, mine);
    const slot = b.def('r', 'add.u32', rank, b.def('r', 'ld.shared.u32', `[${counter}]`));
    const address = b.def('r', 'mad.lo.u32', slot, plan.keyBytes, sorted);
    b.emit(`@${inside(i)} st.shared.${keySuffix(plan)} [${address}], ${keys[i]}`);
    return slot;
  });
  const positions = keys.map((_, i) => {
    const position = b.def('r', 'cvt.u32.u64', b.def('d', 'sub.u64', elementOf(i), rowStart));
    if (pass > 0) b.emit(`@${inside(i)} ld.global.u32 ${position}, [${kit.at(positionsIn, elementOf(i), 4)}]`);
    return position;
  });

  kit.when(speaks, () => {
    const countAt = b.def('d', 'mad.lo.u64', kit.wide(row), plan.passes * digits, kit.wide(tid));
    const start = b.def(
      word.kind,
      `ld.global.${word.bits}`,
      `[${kit.at(counts, countAt, word.bytes)}+${pass * digits * word.bytes}]`,
    );
    const before = b.def(word.kind, `mov.${word.bits}`, start);
    kit.when(b.def('p', 'setp.ne.u32', tile, 0), () => {
      b.set(before, `mov.${word.bits}`, 0);
      lookBack(kit, word, before, tellAt);
    });
    tell(b.def(word.kind, `add.${word.unsigned}`, before, widened(total)), word.sum);
    const shift = b.def(word.kind, `sub.${word.unsigned}`, before, widened(place));
    b.emit(`st.shared.${word.bits} [${b.def('r', 'mad.lo.u32', tid, word.bytes, shifts)}], ${shift}`);
  });
  kit.sync();

  const slotOf = (i: number): string => (i === 0 ? tid : b.def('r', 'add.u32', tid, i * threads));
  const goes = (i: number): string => b.def('p', 'setp.lt.u32', slotOf(i), valid);
  const targetOf = (within: string): string =>
    b.def('d', 'add.u64', rowStart, word.kind === 'd' ? within : kit.wide(within));
  const outs = keys.map((_, i) => {
    const slot = b.def('r', 'mad.lo.u32', slotOf(i), plan.keyBytes, sorted);
    const key = b.def(keyKind(plan), `ld.shared.${keySuffix(plan)}`, `[${slot}]`);
    const shiftAt = b.def('r', 'mad.lo.u32', digitOf(kit, plan, key, pass), word.bytes, shifts);
    const shift = b.def(word.kind, `ld.shared.${word.bits}`, `[${shiftAt}]`);
    const within = b.def(word.kind, `add.${word.unsigned}`, shift, widened(slotOf(i)));
    if (!sink) {
      const address = kit.at(keysOut, targetOf(within), plan.keyBytes);
      b.emit(`@${goes(i)} st.global.${keySuffix(plan)} [${address}], ${key}`);
    }
    return { within, key };
  });
  kit.sync();
  // The positions take the same way through the same memory.
  for (const [i, slot] of places.entries())
    b.emit(`@${inside(i)} st.shared.u32 [${b.def('r', 'mad.lo.u32', slot, 4, sorted)}], ${positions[i]}`);
  kit.sync();
  for (const [i, { within, key }] of outs.entries()) {
    const position = b.def('r', 'ld.shared.u32', `[${b.def('r', 'mad.lo.u32', slotOf(i), 4, sorted)}]`);
    if (sink) kit.when(goes(i), () => sink(key, position, rowStart, targetOf(within)));
    else b.emit(`@${goes(i)} st.global.u32 [${kit.at(positionsOut, targetOf(within), 4)}], ${position}`);
  }
  return kit.finish([plan.rows * tiles.count, 1, 1], threads, 0, 1024 / threads);
}

/** The lanes with the same digit, of those that are there: a vote on each bit, which takes less time than `match`. */
function withSameDigit(kit: Kit, digit: string, there: string): string {
  const { b } = kit;
  const vote = (p: string): string => b.def('r', 'vote.sync.ballot.b32', p, '0xffffffff');
  let peers = vote(there);
  for (let bit = 0; 2 ** bit < digits; bit++) {
    // All bits as that one is: those who voted otherwise are none of them.
    const own = b.def('r', 'bfe.s32', digit, bit, 1);
    const differ = b.def('r', 'xor.b32', vote(b.def('p', 'setp.ne.s32', own, 0)), own);
    peers = b.def('r', 'and.b32', peers, b.def('r', 'not.b32', differ));
  }
  return peers;
}

/** Adds up what the tiles before this one tell of a digit, up to the last that tells a sum: the first of a row does. */
function lookBack(kit: Kit, word: Word, before: string, own: string): void {
  const { b } = kit;
  const step = digits * word.bytes;
  const at = b.def('d', 'sub.u64', own, step);
  const again = kit.entry.label('look');
  b.label(again);
  const told = b.def(word.kind, `ld.relaxed.gpu.global.${word.bits}`, `[${at}]`);
  b.emit(`@${b.def('p', `setp.lt.${word.unsigned}`, told, word.own)} bra ${again}`);
  b.set(before, `add.${word.unsigned}`, before, b.def(word.kind, `and.${word.bits}`, told, word.value));
  b.set(at, 'sub.u64', at, step);
  b.emit(`@${b.def('p', `setp.lt.${word.unsigned}`, told, word.sum)} bra ${again}`);
}
