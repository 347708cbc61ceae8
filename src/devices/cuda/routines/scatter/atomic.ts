// Sums and extremes of whole numbers, which are the same in any order: every update changes its target by itself.
//
// Few targets would be changed by everybody at once. A block then keeps targets of its own in shared memory for all of its updates,
// and adds them to the others' at the end: a histogram of 16M values takes no longer than reading them.

import { dtypeInfo } from '../../../../base/dtype.ts';
import { identityOf } from '../../../../kernel/identity.ts';
import type { Scatter } from '../../../../kernel/kernel.ts';
import type { Target } from '../../ptx/target.ts';
import { blocksFor, Kit } from '../kit.ts';
import type { Part } from '../recipe-of.ts';
import { columnPlaces, columnsOf, keyOf, pairsOf, placeAt, threads } from './parts.ts';

const instructions: Readonly<Partial<Record<Scatter['combine'], string>>> = { sum: 'add', max: 'max', min: 'min' };
const suffixes: Readonly<Partial<Record<Scatter['type'], { readonly sum: string; readonly extreme: string }>>> = {
  i32: { sum: 'u32', extreme: 's32' },
  u32: { sum: 'u32', extreme: 'u32' },
  i64: { sum: 'u64', extreme: 's64' },
  u64: { sum: 'u64', extreme: 'u64' },
};

/** The instruction that combines in memory, without the kind of memory; null where there is none, or the order matters. */
function changing({ combine, type }: Scatter): string | null {
  const [op, suffix] = [instructions[combine], suffixes[type]];
  return op && suffix ? `${op}.${combine === 'sum' ? suffix.sum : suffix.extreme}` : null;
}

export const inAnyOrder = (s: Scatter): boolean => changing(s) !== null;

/** Bytes of targets that a block keeps to itself. */
const ownBytes = 32 * 1024;
/** Fewer updates are over before the blocks have put theirs together. */
const manyUpdates = 1 << 16;

export function changeInPlace(s: Scatter, target: Target): Part {
  const fewTargets = columnsOf(s) === 1 && !s.perElement && s.length * dtypeInfo[s.type].bytes <= ownBytes;
  return fewTargets && s.count >= manyUpdates ? withTargetsOfBlock(s, target) : oneByOne(s, target);
}

function oneByOne(s: Scatter, target: Target): Part {
  const kit = new Kit(`${s.name}_change`, target);
  const { b } = kit;
  const at = kit.pointer({ kind: 'buffer', index: 1 });
  const updates = kit.pointer({ kind: 'buffer', index: 2 });
  const output = kit.pointer({ kind: 'buffer', index: 3 });
  const columns = columnsOf(s);
  const all = pairsOf(s) * columns;
  const thread = kit.globalThread(threads);
  kit.exitWhen(b.def('p', 'setp.ge.u64', thread, all));
  const pair = columns === 1 ? thread : b.def('d', 'div.u64', thread, columns);
  const column = columns === 1 ? '0' : b.def('d', 'sub.u64', thread, b.def('d', 'mul.lo.u64', pair, columns));
  const places = columnPlaces(kit, s, column);
  const key = keyOf(kit, s, pair, kit.wide(placeAt(kit, s, at, pair)));
  const value = kit.load(s.type, updates, places.update(pair));
  const to = kit.at(output, places.target(key), dtypeInfo[s.type].bytes);
  b.emit(`red.global.${changing(s)} [${to}], ${value}`);
  return kit.finish([blocksFor(all, threads), 1, 1], threads);
}

const ownThreads = 512;
/** Updates that a thread reads before it changes anything. */
const together = 8;

function withTargetsOfBlock(s: Scatter, target: Target): Part {
  const kit = new Kit(`${s.name}_change`, target);
  const { b } = kit;
  const bytes = dtypeInfo[s.type].bytes;
  const blocks = Math.min(2 * target.processors, blocksFor(s.count, ownThreads * together));
  const at = kit.pointer({ kind: 'buffer', index: 1 });
  const updates = kit.pointer({ kind: 'buffer', index: 2 });
  const output = kit.pointer({ kind: 'buffer', index: 3 });
  const own = kit.shared(s.length * bytes);
  const tid = kit.special('tid.x');
  const ofTarget = (t: string): string => b.def('r', 'mad.lo.u32', t, bytes, own);
  const suffix = bytes === 8 ? 'b64' : 'b32';
  const none = kit.variable(s.type, kit.constant(s.type, identityOf(s.combine === 'set' ? 'sum' : s.combine, s.type)));
  const everyTarget = (then: (t: string) => void): void => {
    const t = b.def('r', 'mov.u32', tid);
    kit.while(
      () => b.def('p', 'setp.lt.u32', t, s.length),
      () => {
        then(t);
        b.set(t, 'add.u32', t, ownThreads);
      },
    );
  };
  everyTarget((t) => b.emit(`st.shared.${suffix} [${ofTarget(t)}], ${none}`));
  kit.sync();
  const step = blocks * ownThreads;
  const i = b.def('d', 'mov.u64', kit.globalThread(ownThreads));
  const change = (pairs: readonly (readonly [place: string, value: string])[]): void => {
    for (const [place, value] of pairs) b.emit(`red.shared.${changing(s)} [${ofTarget(place)}], ${value}`);
  };
  const read = (j: string): readonly [string, string] => [
    placeAt(kit, s, at, j),
    kit.load(s.type, updates, s.uniform ? '0' : j),
  ];
  kit.while(
    () => b.def('p', 'setp.lt.u64', b.def('d', 'add.u64', i, step * (together - 1)), s.count),
    () => {
      change(Array.from({ length: together }, (_, k) => read(k === 0 ? i : b.def('d', 'add.u64', i, k * step))));
      b.set(i, 'add.u64', i, step * together);
    },
  );
  kit.while(
    () => b.def('p', 'setp.lt.u64', i, s.count),
    () => {
      change([read(i)]);
      b.set(i, 'add.u64', i, step);
    },
  );
  kit.sync();
  everyTarget((t) => {
    const value = b.def(kit.kind(s.type), `ld.shared.${suffix}`, `[${ofTarget(t)}]`);
    b.emit(`red.global.${changing(s)} [${kit.at(output, kit.wide(t), bytes)}], ${value}`);
  });
  return kit.finish([blocks, 1, 1], ownThreads);
}
