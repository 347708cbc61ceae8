// A scan of long rows in one launch, which reads and writes every element once.
//
// Blocks take chunks in the order in which they begin. Each tells the total of its chunk, and looks back at what all chunks before it
// told: at those of its own group of 64, and at the totals of the groups before, which the last block of each tells. Nobody waits for a
// running value, so no chain of waits forms, and what is added in which order depends on the sizes alone: the same bits on every run.
//
// What is told is one word of 64 bits: the value, and the number of the run. So the memory need not be cleared between runs.

import { dtypeInfo } from '../../../base/dtype.ts';
import { combineOp } from '../../../kernel/ops.ts';
import type { Target } from '../ptx/target.ts';
import { blocksFor, computeType, Kit } from './kit.ts';
import type { Part } from './recipe-of.ts';
import {
  chunkOf,
  loadChunk,
  type RowScan,
  scanChunk,
  scanTogether,
  shapeOf,
  startOf,
  storeChunk,
} from './scan-chunk.ts';

/** Chunks of a group. */
const group = 64;
/** The number of blocks that began, in all runs; what is told comes behind it. */
const headBytes = 16;
const wordBytes = 8;
/** Of the memory that a program keeps for this. */
const mostKept = 2 ** 20;

/** Threads of a multiprocessor that have registers: while some look back, others read. */
const residentThreads = 1536;

const chunksOf = (scan: RowScan): number => blocksFor(scan.length, chunkOf(shapeOf(scan.length)));
const groupsOf = (scan: RowScan): number => Math.ceil(chunksOf(scan) / group);

/** Bytes of memory, zero at first, that it keeps from run to run. */
export const keptBy = (scan: RowScan): number => headBytes + wordBytes * scan.rows * (chunksOf(scan) + groupsOf(scan));

/** Values of more than four bytes do not fit a word beside the number of the run. */
export const takesOnePass = (scan: RowScan): boolean =>
  chunksOf(scan) > 1 && dtypeInfo[computeType(scan.type)].bytes === 4 && keptBy(scan) <= mostKept;

export function onePass(scan: RowScan, target: Target): Part {
  const kit = new Kit(`${scan.name}_once`, target);
  const { b } = kit;
  const { threads } = shapeOf(scan.length);
  const [chunks, groups] = [chunksOf(scan), groupsOf(scan)];
  const blocks = scan.rows * chunks;
  const type = computeType(scan.type);
  const op = combineOp[scan.combine];
  const input = kit.pointer(scan.input);
  const output = kit.pointer(scan.output);
  const kept = kit.pointer({ kind: 'kept', offset: 0 });
  const tid = kit.special('tid.x');
  const leads = b.def('p', 'setp.eq.u32', tid, 0);

  const begun = kit.shared(8);
  kit.when(leads, () => {
    const number = b.def('d', 'atom.global.add.u64', `[${kept}]`, 1);
    b.emit(`st.shared.u64 [${begun}], ${number}`);
  });
  kit.sync();
  const number = b.def('d', 'ld.shared.u64', `[${begun}]`);
  const runs = b.def('d', 'div.u64', number, blocks);
  const block = b.def('d', 'sub.u64', number, b.def('d', 'mul.lo.u64', runs, blocks));
  // Never 0, which is what the memory begins with.
  const run = b.def('r', 'add.u32', b.def('r', 'cvt.u32.u64', runs), 1);
  const row = b.def('d', 'div.u64', block, chunks);
  const c = b.def('d', 'sub.u64', block, b.def('d', 'mul.lo.u64', row, chunks));
  const chunk32 = b.def('r', 'cvt.u32.u64', c);
  const ownGroup = b.def('r', 'div.u32', chunk32, group);
  const place = b.def('r', 'rem.u32', chunk32, group);
  const totalsOfChunks = b.def('d', 'add.u64', kept, headBytes);
  const totalsOfGroups = kit.at(
    b.def('d', 'add.u64', kept, headBytes + wordBytes * blocks),
    b.def('d', 'mul.lo.u64', row, groups),
    wordBytes,
  );

  const chunk = loadChunk(kit, scan, input, row, c, tid);
  const { running, before, total } = scanChunk(kit, chunk, tid, kit.shared((threads / 32) * 8));
  const fold = (value: string): string =>
    scanTogether({ kit, type, combine: scan.combine, tid, shared: kit.shared((threads / 32) * 8), threads }, [value])
      .total;

  kit.when(leads, () => tell(kit, kit.at(totalsOfChunks, block, wordBytes), total, run));
  const identity = kit.constant(type, startOf(scan, type));
  const near = kit.variable(type, identity);
  kit.when(b.def('p', 'setp.lt.u32', tid, place), () => {
    const first = b.def('d', 'sub.u64', block, kit.wide(place));
    const at = kit.at(totalsOfChunks, b.def('d', 'add.u64', first, kit.wide(tid)), wordBytes);
    kit.assign(type, near, heard(kit, at, run));
  });
  const inGroup = fold(near);
  const closes = b.def('p', 'setp.eq.and.u32', place, group - 1, leads);
  kit.when(closes, () =>
    tell(kit, kit.at(totalsOfGroups, kit.wide(ownGroup), wordBytes), kit.alu(op, type, inGroup, total), run),
  );
  const far = kit.variable(type, identity);
  const at = b.def('r', 'mov.u32', tid);
  kit.while(
    () => b.def('p', 'setp.lt.u32', at, ownGroup),
    () => {
      const value = heard(kit, kit.at(totalsOfGroups, kit.wide(at), wordBytes), run);
      kit.assign(type, far, kit.alu(op, type, far, value));
      b.set(at, 'add.u32', at, threads);
    },
  );
  const earlier = kit.alu(op, type, fold(far), inGroup);
  storeChunk(kit, chunk, running, kit.alu(op, type, earlier, before), output);
  return kit.finish([blocks, 1, 1], threads, 0, residentThreads / threads);
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
