// A scan of long rows in one launch, which reads and writes every element once.
//
// Devices begin blocks in the order of their numbers, and each has the chunk of its number. It tells the total of its chunk, and looks back at what all chunks before it
// told: at those of its own group of 64, and at the totals of the groups before, which the last block of each tells. Nobody waits for a
// running value, so no chain of waits forms, and what is added in which order depends on the sizes alone: the same bits on every run.
//
// What is told is one word of 64 bits: the value, and the number of the run. So the memory need not be cleared between runs.

import { dtypeInfo } from '../../../base/dtype.ts';
import { combineOp } from '../../../kernel/ops.ts';
import { shuffle } from '../ptx/combine.ts';
import type { Target } from '../ptx/target.ts';
import { blocksFor, computeType, Kit } from './kit.ts';
import type { Part } from './recipe-of.ts';
import { chunkOf, foldWarps, loadChunk, type RowScan, scanChunk, shapeFor, startOf, storeChunk } from './scan-chunk.ts';

/** Chunks of a group. */
const group = 64;
/** The number of blocks that began, in all runs; what is told comes behind it. */
const headBytes = 16;
const wordBytes = 8;
/** Of the memory that a program keeps for this. */
const mostKept = 2 ** 20;

/** Threads and elements for which a multiprocessor has registers: while some blocks look back, others read. */
const [residentThreads, residentElements] = [1536, 9 * 2 ** 12];
const warp = 32;

const chunksOf = (scan: RowScan): number => blocksFor(scan.length, chunkOf(shapeFor(scan)));
const groupsOf = (scan: RowScan): number => Math.ceil(chunksOf(scan) / group);

/** Bytes of memory, zero at first, that it keeps from run to run. */
export const keptBy = (scan: RowScan): number => headBytes + wordBytes * scan.rows * (chunksOf(scan) + groupsOf(scan));

/** Values of more than four bytes do not fit a word beside the number of the run. */
export const takesOnePass = (scan: RowScan): boolean =>
  chunksOf(scan) > 1 && dtypeInfo[computeType(scan.type)].bytes === 4 && keptBy(scan) <= mostKept;

export function onePass(scan: RowScan, target: Target): Part {
  const kit = new Kit(`${scan.name}_once`, target);
  const { b } = kit;
  const { threads } = shapeFor(scan);
  const chunks = chunksOf(scan);
  const blocks = scan.rows * chunks;
  const type = computeType(scan.type);
  const op = combineOp[scan.combine];
  const input = kit.pointer(scan.input);
  const output = kit.pointer(scan.output);
  const kept = kit.pointer({ kind: 'kept', offset: 0 });
  const tid = kit.special('tid.x');
  // Which run it is shows in the number of blocks that began; nobody waits for that while the chunk is on its way.
  const begun = kit.shared(8);
  const number = b.def('d', 'mov.u64', 0);
  const leads = b.def('p', 'setp.eq.u32', tid, 0);
  kit.when(leads, () => b.set(number, 'atom.global.add.u64', `[${kept}]`, 1));
  const block = kit.special('ctaid.x');
  const row = kit.wide(b.def('r', 'div.u32', block, chunks));
  const c = kit.wide(b.def('r', 'rem.u32', block, chunks));
  const chunk = loadChunk(kit, scan, input, row, c, tid);
  kit.when(leads, () => {
    // Never 0, which is what the memory begins with.
    const run = b.def('r', 'add.u32', b.def('r', 'cvt.u32.u64', b.def('d', 'div.u64', number, blocks)), 1);
    b.emit(`st.shared.u32 [${begun}], ${run}`);
  });
  const { running, before, total } = scanChunk(kit, chunk, tid, kit.shared((threads / warp) * 8));
  const run = b.def('r', 'ld.shared.u32', `[${begun}]`);
  const earlier = lookBack({ kit, scan, tid, run, told: kept, block, total });
  storeChunk(kit, chunk, running, kit.alu(op, type, earlier, before), output);
  const resident = Math.floor(Math.min(residentThreads / threads, residentElements / chunkOf(shapeFor(scan))));
  return kit.finish([blocks, 1, 1], threads, 0, resident);
}

interface LookBack {
  readonly kit: Kit;
  readonly scan: RowScan;
  readonly tid: string;
  /** The number of the run, never 0. */
  readonly run: string;
  /** The memory that is kept. */
  readonly told: string;
  /** The number of the chunk among those of all rows, and its total. */
  readonly block: string;
  readonly total: string;
}

/**
 * Tells a chunk's total; everything in the row before the chunk. The first warp listens to the chunks of its group, and tells the group's total
 * if its chunk is the last one; meanwhile the others listen to the groups before.
 */
function lookBack({ kit, scan, tid, run, told, block, total }: LookBack): string {
  const { b } = kit;
  const { threads } = shapeFor(scan);
  const [chunks, groups] = [chunksOf(scan), groupsOf(scan)];
  const type = computeType(scan.type);
  const op = combineOp[scan.combine];
  const row = b.def('r', 'div.u32', block, chunks);
  const chunk = b.def('r', 'rem.u32', block, chunks);
  const ownGroup = b.def('r', 'div.u32', chunk, group);
  const place = b.def('r', 'rem.u32', chunk, group);
  const totalsOfChunks = b.def('d', 'add.u64', told, headBytes);
  const totalsOfGroups = kit.at(
    b.def('d', 'add.u64', told, headBytes + wordBytes * scan.rows * chunks),
    b.def('d', 'mul.wide.u32', row, groups),
    wordBytes,
  );
  const leads = b.def('p', 'setp.eq.u32', tid, 0);
  const value = kit.variable(type, kit.constant(type, startOf(scan, type)));
  const take = (at: string): void => kit.assign(type, value, kit.alu(op, type, value, heard(kit, at, run)));
  const folded = (): void => {
    for (let distance = warp / 2; distance >= 1; distance /= 2)
      kit.assign(type, value, kit.alu(op, type, value, shuffle(b, kit.kind(type), value, distance)));
  };
  const [near, done] = [kit.entry.label('near'), kit.entry.label('done')];
  b.emit(`@${b.def('p', 'setp.lt.u32', tid, warp)} bra ${near}`);
  const at = b.def('r', 'sub.u32', tid, warp);
  kit.while(
    () => b.def('p', 'setp.lt.u32', at, ownGroup),
    () => {
      take(kit.at(totalsOfGroups, kit.wide(at), wordBytes));
      b.set(at, 'add.u32', at, threads - warp);
    },
  );
  b.emit('bar.warp.sync 0xffffffff');
  folded();
  b.emit(`bra ${done}`);
  b.label(near);
  kit.when(leads, () => tell(kit, kit.at(totalsOfChunks, kit.wide(block), wordBytes), total, run));
  const first = b.def('r', 'sub.u32', block, place);
  for (let i = 0; i < group; i += warp) {
    const own = i === 0 ? tid : b.def('r', 'add.u32', tid, i);
    kit.when(b.def('p', 'setp.lt.u32', own, place), () =>
      take(kit.at(totalsOfChunks, kit.wide(b.def('r', 'add.u32', first, own)), wordBytes)),
    );
  }
  b.emit('bar.warp.sync 0xffffffff');
  folded();
  const closes = b.def('p', 'setp.eq.and.u32', place, group - 1, leads);
  kit.when(closes, () =>
    tell(kit, kit.at(totalsOfGroups, kit.wide(ownGroup), wordBytes), kit.alu(op, type, value, total), run),
  );
  b.label(done);
  return foldWarps({ kit, type, combine: scan.combine, tid, shared: kit.shared((threads / warp) * 8), threads }, value);
}

function tell(kit: Kit, address: string, value: string, run: string): void {
  const { b } = kit;
  const word = b.def('d', 'mov.b64', `{${b.def('r', 'mov.b32', value)}, ${run}}`);
  b.emit(`st.relaxed.gpu.global.u64 [${address}], ${word}`);
}

/** Waits until it was told in this run. Whoever tells it began earlier, and waits for nobody before. */
function heard(kit: Kit, address: string, run: string): string {
  const { b, entry } = kit;
  const again = entry.label('told');
  b.label(again);
  const word = b.def('d', 'ld.relaxed.gpu.global.u64', `[${address}]`);
  const [value, told] = [entry.reg('r'), entry.reg('r')];
  b.emit(`mov.b64 {${value}, ${told}}, ${word}`);
  b.emit(`@${b.def('p', 'setp.ne.u32', told, run)} bra ${again}`);
  return value;
}
