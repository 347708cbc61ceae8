// Scans along the middle axis.
//
// With neighbours along the scanned axis (inner = 1) a block scans a chunk together: a row that is one chunk, or longer ones in one
// launch whose blocks look back (scan-once.ts). Values of eight bytes take three: totals of chunks, their running values, the scan itself.
// Otherwise each thread walks its own column, and neighbouring threads read neighbouring memory.

import { dtypeInfo } from '../../../base/dtype.ts';
import type { Scan } from '../../../kernel/kernel.ts';
import { combineOp } from '../../../kernel/ops.ts';
import type { Target } from '../ptx/target.ts';
import type { ModuleRecipe } from '../recipe.ts';
import type { Argument } from '../step.ts';
import { blocksFor, computeType, Kit, Layout } from './kit.ts';
import { type Part, recipeOf } from './recipe-of.ts';
import {
  chunkOf,
  loadChunk,
  place,
  type RowScan,
  scanChunk,
  scanTogether,
  shapeFor,
  shapeOf,
  startOf,
  storeChunk,
} from './scan-chunk.ts';
import { keptBy, onePass, takesOnePass } from './scan-once.ts';

/** Threads that walk columns, each its own. */
const walkers = 256;

export function scanRecipe(scan: Scan, target: Target): ModuleRecipe {
  const layout = new Layout();
  if (scan.inner !== 1)
    return recipeOf(scan.name, target, columnScan(scan, layout, target), { borrowedBytes: layout.bytes });
  const rows: RowScan = {
    name: scan.name,
    type: scan.type,
    combine: scan.combine,
    rows: scan.outer,
    length: scan.length,
    reverse: scan.reverse,
    exclusive: false,
    input: { kind: 'buffer', index: 0 },
    output: { kind: 'buffer', index: 1 },
  };
  if (takesOnePass(rows)) return recipeOf(scan.name, target, [onePass(rows, target)], { keptBytes: keptBy(rows) });
  return recipeOf(scan.name, target, rowScan(rows, layout, target), { borrowedBytes: layout.bytes });
}

function rowScan(scan: RowScan, layout: Layout, target: Target): Part[] {
  const chunks = blocksFor(scan.length, chunkOf(shapeFor(scan)));
  if (chunks === 1) return [chunkPass(scan, target, 1, null, 'scan')];
  const type = computeType(scan.type);
  const totals = layout.add(scan.rows * chunks * dtypeInfo[type].bytes);
  return [
    chunkPass(scan, target, chunks, totals, 'totals'),
    runningTotals(scan, target, chunks, totals),
    chunkPass(scan, target, chunks, totals, 'scan'),
  ];
}

/** One chunk per block: either its total alone, or the scan on top of everything before the chunk. */
function chunkPass(
  scan: RowScan,
  target: Target,
  chunks: number,
  totals: Argument | null,
  want: 'totals' | 'scan',
): Part {
  const kit = new Kit(`${scan.name}_${want}`, target);
  const { b } = kit;
  const { threads } = shapeFor(scan);
  const type = computeType(scan.type);
  const op = combineOp[scan.combine];
  const input = kit.pointer(scan.input);
  const output = want === 'scan' ? kit.pointer(scan.output) : '';
  const kept = totals ? kit.pointer(totals) : '';
  const tid = kit.special('tid.x');
  // The second time from the end: what was read last the first time is still near.
  const last = chunks * scan.rows - 1;
  const cta = kit.special('ctaid.x');
  const block = want === 'scan' && totals ? b.def('r', 'sub.u32', last, cta) : cta;
  const rowNumber = b.def('r', 'div.u32', block, chunks);
  const row = kit.wide(rowNumber);
  const c = kit.wide(b.def('r', 'sub.u32', block, b.def('r', 'mul.lo.u32', rowNumber, chunks)));
  const shared = kit.shared((threads / 32) * 8);
  const slot = totals ? b.def('d', 'mad.lo.u64', row, chunks, c) : '';
  const chunk = loadChunk(kit, scan, input, row, c, tid);
  if (want === 'totals') {
    const sum = chunk.values.reduce((all, v) => kit.alu(op, type, all, v));
    const { total } = scanTogether({ kit, type, combine: scan.combine, tid, shared, threads }, [sum]);
    const leader = b.def('p', 'setp.eq.u32', tid, 0);
    kit.when(leader, () => kit.store(type, kept, slot, total));
    return kit.finish([chunks * scan.rows, 1, 1], threads);
  }
  const { running, before } = scanChunk(kit, chunk, tid, shared);
  storeChunk(kit, chunk, running, totals ? kit.alu(op, type, kit.load(type, kept, slot), before) : before, output);
  return kit.finish([chunks * scan.rows, 1, 1], threads);
}

/** Turns the totals of each row's chunks into the combination of all chunks before each: one block per row. */
function runningTotals(scan: RowScan, target: Target, chunks: number, totals: Argument): Part {
  const kit = new Kit(`${scan.name}_running`, target);
  const { b } = kit;
  const shape = shapeOf(chunks);
  const { threads, perThread } = shape;
  const type = computeType(scan.type);
  const op = combineOp[scan.combine];
  const kept = kit.pointer(totals);
  const tid = kit.special('tid.x');
  const rowStart = b.def('d', 'mul.lo.u64', kit.wide(kit.special('ctaid.x')), chunks);
  const identity = kit.constant(type, startOf(scan, type));
  const carry = kit.variable(type, identity);
  const shared = kit.shared((threads / 32) * 8);
  const done = b.def('r', 'mov.u32', 0);
  kit.while(
    () => b.def('p', 'setp.lt.u32', done, chunks),
    () => {
      const first = b.def('r', 'mad.lo.u32', tid, perThread, done);
      const at = Array.from({ length: perThread }, (_, i) => b.def('r', 'add.u32', first, i));
      const inside = at.map((a) => b.def('p', 'setp.lt.u32', a, chunks));
      const elements = at.map((a) => b.def('d', 'add.u64', rowStart, kit.wide(a)));
      const values = at.map(() => kit.variable(type, identity));
      values.forEach((v, i) => {
        kit.when(inside[i]!, () => kit.assign(type, v, kit.load(type, kept, elements[i]!)));
      });
      const { running, before, total } = scanTogether(
        { kit, type, combine: scan.combine, tid, shared, threads },
        values,
      );
      const offset = kit.alu(op, type, carry, before);
      elements.forEach((element, i) => {
        const result = i === 0 ? offset : kit.alu(op, type, offset, running[i - 1]!);
        kit.when(inside[i]!, () => kit.store(type, kept, element, result));
      });
      kit.assign(type, carry, kit.alu(op, type, carry, total));
      b.set(done, 'add.u32', done, chunkOf(shape));
      kit.sync();
    },
  );
  return kit.finish([scan.rows, 1, 1], threads);
}

function columnScan(scan: Scan, layout: Layout, target: Target): Part[] {
  const columns = scan.outer * scan.inner;
  const wanted = Math.max(1, Math.floor((target.processors * 1024) / columns));
  const length = Math.max(32, Math.ceil(scan.length / wanted));
  const parts = blocksFor(scan.length, length);
  if (parts === 1) return [columnPass(scan, target, 1, length, null, 'scan')];
  const totals = layout.add(columns * parts * dtypeInfo[computeType(scan.type)].bytes);
  return [
    columnPass(scan, target, parts, length, totals, 'totals'),
    runningColumns(scan, target, parts, totals),
    columnPass(scan, target, parts, length, totals, 'scan'),
  ];
}

function columnPass(
  scan: Scan,
  target: Target,
  parts: number,
  length: number,
  totals: Argument | null,
  want: 'totals' | 'scan',
): Part {
  const kit = new Kit(`${scan.name}_${want}`, target);
  const { b } = kit;
  const type = computeType(scan.type);
  const op = combineOp[scan.combine];
  const input = kit.pointer({ kind: 'buffer', index: 0 });
  const output = want === 'scan' ? kit.pointer({ kind: 'buffer', index: 1 }) : '';
  const kept = totals ? kit.pointer(totals) : '';
  const work = scan.outer * parts * scan.inner;
  const thread = kit.globalThread(walkers);
  kit.exitWhen(b.def('p', 'setp.ge.u64', thread, work));
  // thread = (outer · parts + part) · inner + n
  const rest = b.def('d', 'div.u64', thread, scan.inner);
  const n = b.def('d', 'sub.u64', thread, b.def('d', 'mul.lo.u64', rest, scan.inner));
  const outer = b.def('d', 'div.u64', rest, parts);
  const part = b.def('d', 'sub.u64', rest, b.def('d', 'mul.lo.u64', outer, parts));
  const i = b.def('d', 'mul.lo.u64', part, length);
  const end = b.def('d', 'min.u64', b.def('d', 'add.u64', i, length), scan.length);
  const base = b.def('d', 'mul.lo.u64', outer, scan.length);
  const start = want === 'scan' && totals ? kit.load(type, kept, thread) : kit.constant(type, startOf(scan, type));
  const sum = kit.variable(type, start);
  kit.while(
    () => b.def('p', 'setp.lt.u64', i, end),
    () => {
      const at = b.def('d', 'mad.lo.u64', b.def('d', 'add.u64', base, place(kit, scan, i)), scan.inner, n);
      kit.assign(type, sum, kit.alu(op, type, sum, kit.cast(scan.type, type, kit.load(scan.type, input, at))));
      if (want === 'scan') kit.store(scan.type, output, at, kit.cast(type, scan.type, sum));
      b.set(i, 'add.u64', i, 1);
    },
  );
  if (want === 'totals') kit.store(type, kept, thread, sum);
  return kit.finish([blocksFor(work, walkers), 1, 1], walkers);
}

/** One thread per column: the combination of all parts before each. Columns are many where parts are few. */
function runningColumns(scan: Scan, target: Target, parts: number, totals: Argument): Part {
  const kit = new Kit(`${scan.name}_running`, target);
  const { b } = kit;
  const type = computeType(scan.type);
  const kept = kit.pointer(totals);
  const columns = scan.outer * scan.inner;
  const column = kit.globalThread(walkers);
  kit.exitWhen(b.def('p', 'setp.ge.u64', column, columns));
  const outer = b.def('d', 'div.u64', column, scan.inner);
  const n = b.def('d', 'sub.u64', column, b.def('d', 'mul.lo.u64', outer, scan.inner));
  const at = b.def('d', 'mad.lo.u64', outer, parts * scan.inner, n);
  const sum = kit.variable(type, kit.constant(type, startOf(scan, type)));
  const i = b.def('r', 'mov.u32', 0);
  kit.while(
    () => b.def('p', 'setp.lt.u32', i, parts),
    () => {
      const part = kit.load(type, kept, at);
      kit.store(type, kept, at, sum);
      kit.assign(type, sum, kit.alu(combineOp[scan.combine], type, sum, part));
      b.set(at, 'add.u64', at, scan.inner);
      b.set(i, 'add.u32', i, 1);
    },
  );
  return kit.finish([blocksFor(columns, walkers), 1, 1], walkers);
}
