// Modules whose kernels note when they ran: the same code, with a stamp where it begins and where it ends.
//
// An event behind a launch makes the device wait until everything is written before the next launch begins: 1.7 µs on an H200. A
// stamp is a few instructions of one thread, and nothing waits for it. The first block notes the device's clock in the first word
// of a slot of 16 bytes when it begins. Blocks raise the second word to the clock when their first thread is done: those that begin
// last, a quarter of what the device can hold at once, and those that ran for long. If every block did, they would queue for the
// slot, and a kernel of 7 µs would take 9. The clock never goes back, so a slot that is used again needs no clearing.
//
// What a stamped launch leaves out is the way to the first block and the writes under way behind the last one, about 1 µs each; and a
// block that is not among the last ones may outlive them by less than `longNs`.

import type { ModuleRecipe } from '../recipe.ts';
import { EntryPoint, moduleText } from './code.ts';
import type { Target } from './target.ts';

/** Bytes of a slot: when the launch began, when it ended; in ns of the device's clock. */
export const slotBytes = 16;
/** A block that ran for so long notes its end wherever it is in the grid. */
const longNs = 32_768;
/** Threads that a multiprocessor holds at once, and blocks; and the part of them whose ends are noted. */
const [mostThreads, mostBlocks] = [2048, 32];
const lastPart = 1 / 4;

type Grid = readonly [number, number, number];

const slot = ['ld.param.u64 %sd0, [stamp];', 'cvta.to.global.u64 %sd0, %sd0;', 'mov.u64 %sd1, %globaltimer;'];
/** Most threads do nothing but pass by here. */
const firstThread = ['mov.u32 %sr0, %tid.x;', 'setp.ne.u32 %sp0, %sr0, 0;', '@%sp0 bra $stamped;'];
const registers = '{ .reg .pred %sp<2>; .reg .b32 %sr<4>; .reg .b64 %sd<4>;';
const lines = (...text: readonly string[]): string => text.map((l) => `  ${l}`).join('\n');

/** With `timed`, `%sb` is when the block began, by the low word of the clock; it lives as long as the kernel. */
const begin = (timed: boolean): string =>
  lines(
    ...(timed ? ['.reg .b32 %sb;'] : []),
    registers,
    ...firstThread,
    ...(timed ? ['mov.u32 %sb, %globaltimer_lo;'] : []),
    ...['x', 'y', 'z'].flatMap((axis) => [`mov.u32 %sr1, %ctaid.${axis};`, 'or.b32 %sr0, %sr0, %sr1;']),
    'setp.ne.u32 %sp0, %sr0, 0;',
    '@%sp0 bra $stamped;',
    ...slot,
    'st.global.u64 [%sd0], %sd1;',
    '$stamped: }',
  );

const end = (early: readonly string[]): string =>
  lines(registers, ...firstThread, ...early, ...slot, 'red.global.max.u64 [%sd0+8], %sd1;', '$stamped: ret; }');

/** Lets blocks pass by that are not among the last ones of the grid and did not run for long. */
const passBy = (isEarly: readonly string[]): readonly string[] => [
  ...isEarly,
  'mov.u32 %sr0, %globaltimer_lo;',
  'sub.u32 %sr0, %sr0, %sb;',
  `setp.lt.u32 %sp1, %sr0, ${longNs};`,
  'and.pred %sp0, %sp0, %sp1;',
  '@%sp0 bra $stamped;',
];

/** Whether a block is before the last ones: a comparison where the grid is known and flat, else its number is worked out. */
function isEarly(grids: readonly Grid[], last: number): readonly string[] {
  const [x, y, z] = grids[0]!;
  if (grids.length === 1 && y === 1 && z === 1)
    return ['mov.u32 %sr0, %ctaid.x;', `setp.lt.u32 %sp0, %sr0, ${x - last};`];
  return [
    'mov.u32 %sr0, %nctaid.x;',
    'mov.u32 %sr1, %nctaid.y;',
    'mov.u32 %sr2, %ctaid.z;',
    'mov.u32 %sr3, %ctaid.y;',
    'mad.lo.u32 %sr2, %sr2, %sr1, %sr3;',
    'mov.u32 %sr3, %ctaid.x;',
    'cvt.u64.u32 %sd0, %sr3;',
    'mul.wide.u32 %sd1, %sr2, %sr0;',
    'add.u64 %sd0, %sd0, %sd1;',
    'mov.u32 %sr2, %nctaid.z;',
    'mul.lo.u32 %sr1, %sr1, %sr2;',
    'mul.wide.u32 %sd1, %sr1, %sr0;',
    `add.u64 %sd0, %sd0, ${last};`,
    'setp.lt.u64 %sp0, %sd0, %sd1;',
  ];
}

/**
 * The recipe with stamps: each launch has a slot as its last argument. Only for text of ours, whose entries have blocks of one
 * dimension, parameters of 8 bytes or tables of such, and a line `ret;` at every exit.
 */
export function stamped(recipe: ModuleRecipe, processors: number): ModuleRecipe {
  const [header, ...entries] = recipe.ptx.split(/^(?=\.visible \.entry )/m);
  const gridsOf = (entry: string): Grid[] => {
    const name = /^\.visible \.entry (\w+)/.exec(entry)![1]!;
    const grids = recipe.launches.filter((l) => l.entry === name).map((l) => l.grid);
    return [...new Map(grids.map((g) => [g.join(), g])).values()];
  };
  const ptx = [header!, ...entries.map((e) => stampedEntry(e, gridsOf(e), processors))].join('');
  const launches = recipe.launches.map((l) => ({ ...l, args: [...l.args, { kind: 'slot' as const }] }));
  return { ...recipe, ptx, launches };
}

function stampedEntry(entry: string, grids: readonly Grid[], processors: number): string {
  const threads = Number(/^\.maxntid (\d+)/m.exec(entry)?.[1] ?? 1);
  const resident = Math.min(mostBlocks, Math.max(1, Math.floor(mostThreads / threads)));
  const last = processors * Math.ceil(resident * lastPart);
  // In a small grid all are last.
  const all = grids.every(([x, y, z]) => x * y * z <= last);
  return entry
    .replace(/\(([^)]*?)\n\)/, (_, params: string) => `(${params}${params === '' ? '' : ','}\n  .param .u64 stamp\n)`)
    .replace(/^\{$/m, `{\n${begin(!all)}`)
    .replace(/^ {2}ret;$/gm, end(all ? [] : passBy(isEarly(grids, last))));
}

/** A launch that does nothing but note the time. */
export function probeRecipe(target: Target): ModuleRecipe {
  const entry = new EntryPoint('look_at_the_clock', target);
  entry.body.emit('ret');
  const launches = [{ entry: entry.name, grid: [1, 1, 1], block: [1, 1, 1], shared: 0, args: [] } as const];
  return { name: entry.name, ptx: moduleText(target, [entry.render(1)]), launches, keptBytes: 0, borrowedBytes: 0 };
}
