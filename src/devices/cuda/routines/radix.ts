// Stable radix sort of rows of (key, position) pairs, eight bits a pass, in global memory: every pass reads and writes each pair once.
//
// The digits of all passes are counted first. In a pass, a tile learns how many pairs of each digit lie before it from the tiles before
// it, which tell their own counts as soon as they have them and the sum up to their end later; a tile adds up what it finds until
// it meets such a sum. Tiles are numbered in the order in which blocks begin, so that nobody waits for a block that has not. Within a
// tile a warp has a contiguous stretch and ranks 32 keys at a time, so equal digits keep their order.
// (Adinets and Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022.)

import type { Target } from '../ptx/target.ts';
import type { Argument } from '../step.ts';
import { blocksFor, Kit, type Layout } from './kit.ts';
import {
  digitOf,
  digits,
  keyLoader,
  type Part,
  type RadixBuffers,
  type RadixPlan,
  tilesOf,
  wordOf,
} from './radix-plan.ts';
import { sweep } from './sweep.ts';

export function radixBuffers(plan: RadixPlan, layout: Layout): RadixBuffers {
  const n = plan.rows * plan.columns;
  const word = wordOf(plan);
  const pairs = (bytes: number): [Argument, Argument] => [layout.add(n * bytes), layout.add(n * bytes)];
  const [keys, positions] = [pairs(plan.keyBytes), pairs(4)];
  const first = layout.bytes;
  return {
    keys,
    positions,
    counts: layout.add(plan.rows * plan.passes * digits * word.bytes),
    begun: layout.add(plan.passes * 4),
    told: layout.add(plan.passes * plan.rows * tilesOf(plan).count * digits * word.bytes),
    clearedBytes: layout.bytes - first,
  };
}

/** Index of the buffers that hold the result. */
export const radixResult = (plan: RadixPlan): 0 | 1 => (plan.passes % 2) as 0 | 1;

export function radixPasses(plan: RadixPlan, buffers: RadixBuffers, target: Target): Part[] {
  return [
    clear(plan, buffers, target),
    countDigits(plan, buffers, target),
    startDigits(plan, buffers, target),
    ...Array.from({ length: plan.passes }, (_, pass) => sweep(plan, buffers, pass, target)),
  ];
}

function clear(plan: RadixPlan, { counts, clearedBytes }: RadixBuffers, target: Target): Part {
  const kit = new Kit(`${plan.name}_clear`, target);
  const { b } = kit;
  const from = kit.pointer(counts);
  const vectors = clearedBytes / 16;
  const thread = kit.globalThread(256);
  kit.exitWhen(b.def('p', 'setp.ge.u64', thread, vectors));
  b.emit(`st.global.v4.u32 [${kit.at(from, thread, 16)}], {0, 0, 0, 0}`);
  return kit.finish([blocksFor(vectors, 256), 1, 1], 256);
}

/** A block counts the digits of a stretch of a row, all passes at once. */
function countDigits(plan: RadixPlan, buffers: RadixBuffers, target: Target): Part {
  const [threads, atOnce, rounds] = [512, 4, 8];
  const stretch = threads * atOnce * rounds;
  const kit = new Kit(`${plan.name}_count`, target);
  const { b } = kit;
  const word = wordOf(plan);
  const load = keyLoader(kit, plan, buffers.keys[0], true);
  const counts = kit.pointer(buffers.counts);
  const tid = kit.special('tid.x');
  const perRow = blocksFor(plan.columns, stretch);
  const block = kit.special('ctaid.x');
  const row = b.def('r', 'div.u32', block, perRow);
  const part = b.def('r', 'sub.u32', block, b.def('r', 'mul.lo.u32', row, perRow));
  const shared = kit.shared(plan.passes * digits * 4);
  const entries = plan.passes * digits;
  const each = (body: (index: string) => void): void => {
    for (let i = 0; i < entries; i += threads) {
      const index = b.def('r', 'add.u32', tid, i);
      if (i + threads <= entries) body(index);
      else kit.when(b.def('p', 'setp.lt.u32', index, entries), () => body(index));
    }
  };
  each((index) => b.emit(`st.shared.u32 [${b.def('r', 'mad.lo.u32', index, 4, shared)}], 0`));
  kit.sync();
  const rowStart = b.def('d', 'mul.wide.u32', row, plan.columns);
  const at = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', part, stretch), kit.wide(tid));
  const round = b.def('r', 'mov.u32', 0);
  kit.while(
    () => b.def('p', 'setp.lt.u32', round, rounds),
    () => {
      const loaded = Array.from({ length: atOnce }, (_, i) => {
        const here = i === 0 ? b.def('d', 'mov.u64', at) : b.def('d', 'add.u64', at, i * threads);
        const inside = b.def('p', 'setp.lt.u64', here, plan.columns);
        return { inside, key: load(b.def('d', 'add.u64', rowStart, here), inside) };
      });
      for (const { inside, key } of loaded) {
        for (let pass = 0; pass < plan.passes; pass++) {
          const counter = b.def('r', 'mad.lo.u32', digitOf(kit, plan, key, pass), 4, shared);
          b.emit(`@${inside} red.shared.add.u32 [${counter}+${pass * digits * 4}], 1`);
        }
      }
      b.set(at, 'add.u64', at, atOnce * threads);
      b.set(round, 'add.u32', round, 1);
    },
  );
  kit.sync();
  const first = b.def('d', 'mul.wide.u32', row, entries);
  each((index) => {
    const count = b.def('r', 'ld.shared.u32', `[${b.def('r', 'mad.lo.u32', index, 4, shared)}]`);
    const to = kit.at(counts, b.def('d', 'add.u64', first, kit.wide(index)), word.bytes);
    const some = b.def('p', 'setp.ne.u32', count, 0);
    b.emit(`@${some} red.global.add.${word.unsigned} [${to}], ${word.bytes === 8 ? kit.wide(count) : count}`);
  });
  return kit.finish([plan.rows * perRow, 1, 1], threads);
}

/** Counts of a row's digits in a pass become the places where they start. */
function startDigits(plan: RadixPlan, buffers: RadixBuffers, target: Target): Part {
  const kit = new Kit(`${plan.name}_start`, target);
  const { b } = kit;
  const word = wordOf(plan);
  const counts = kit.pointer(buffers.counts);
  const tid = kit.special('tid.x');
  const element = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', kit.special('ctaid.x'), digits), kit.wide(tid));
  const own = kit.at(counts, element, word.bytes);
  const count = b.def(word.kind, `ld.global.${word.bits}`, `[${own}]`);
  const shared = kit.shared(digits * word.bytes);
  const at = b.def('r', 'mad.lo.u32', tid, word.bytes, shared);
  const sum = b.def(word.kind, `mov.${word.bits}`, count);
  b.emit(`st.shared.${word.bits} [${at}], ${sum}`);
  kit.sync();
  for (let distance = 1; distance < digits; distance *= 2) {
    const reaches = b.def('p', 'setp.ge.u32', tid, distance);
    const lower = b.def(word.kind, `mov.${word.bits}`, 0);
    b.emit(`@${reaches} ld.shared.${word.bits} ${lower}, [${at}+${-distance * word.bytes}]`);
    kit.sync();
    b.set(sum, `add.${word.unsigned}`, sum, lower);
    b.emit(`st.shared.${word.bits} [${at}], ${sum}`);
    kit.sync();
  }
  b.emit(`st.global.${word.bits} [${own}], ${b.def(word.kind, `sub.${word.unsigned}`, sum, count)}`);
  return kit.finish([plan.rows * plan.passes, 1, 1], digits);
}
