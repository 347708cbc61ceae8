// Inclusive scans along the middle axis, in at most three launches: totals of chunks, their running values, the scan itself.
//
// With neighbours along the scanned axis (inner = 1) a block scans a chunk together. Otherwise each thread walks its own
// column, and neighbouring threads read neighbouring memory.

import { type DType, dtypeInfo, isFloat } from '../../../base/dtype.ts';
import type { Scan } from '../../../kernel/kernel.ts';
import { moduleText } from '../ptx/code.ts';
import { identityOf, shuffle } from '../ptx/combine.ts';
import type { Target } from '../ptx/target.ts';
import { bitsSuffix } from '../ptx/types.ts';
import type { Recipe } from '../recipe.ts';
import { blocksFor, combineOp, computeType, Kit, Layout } from './kit.ts';

const threads = 256;
const perThread = 8;
const chunk = threads * perThread;

export function scanRecipe(scan: Scan, target: Target): Recipe {
  return scan.inner === 1 ? alongRows(scan, target) : alongColumns(scan, target);
}

type Part = { text: string; launch: Recipe['launches'][number] };

function recipe(scan: Scan, target: Target, parts: readonly Part[], borrowedBytes: number): Recipe {
  return {
    name: scan.name,
    ptx: moduleText(
      target,
      parts.map((p) => p.text),
    ),
    launches: parts.map((p) => p.launch),
    keptBytes: 0,
    borrowedBytes,
  };
}

/** Neutral for the combination; -0 for float sums, so that a leading -0 stays one. */
const startOf = (scan: Scan, type: DType): number | bigint =>
  scan.combine === 'sum' && isFloat(type) ? -0 : identityOf(scan.combine, type);

/** Where element i of the scan lies: from the front, or from the back. */
function place(kit: Kit, scan: Scan, i: string): string {
  return scan.reverse ? kit.b.def('d', 'sub.u64', scan.length - 1, i) : i;
}

function alongRows(scan: Scan, target: Target): Recipe {
  const chunks = blocksFor(scan.length, chunk);
  const layout = new Layout();
  const type = computeType(scan.type);
  const totals = layout.add(scan.outer * chunks * dtypeInfo[type].bytes);
  const parts: Part[] = [];
  if (chunks > 1)
    parts.push(
      rowPass(scan, target, chunks, totals, 'totals'),
      runningTotals(scan, target, chunks, scan.outer, totals),
    );
  parts.push(rowPass(scan, target, chunks, totals, 'scan'));
  return recipe(scan, target, parts, chunks > 1 ? layout.bytes : 0);
}

/** One chunk per block: either its total alone, or the scan with the total of everything before it. */
function rowPass(
  scan: Scan,
  target: Target,
  chunks: number,
  totals: Parameters<Kit['pointer']>[0],
  want: 'totals' | 'scan',
): Part {
  const kit = new Kit(`${scan.name}_${want}`, target);
  const { b } = kit;
  const type = computeType(scan.type);
  const op = combineOp[scan.combine];
  const kind = kit.kind(type);
  const input = kit.pointer({ kind: 'buffer', index: 0 });
  const output = want === 'scan' ? kit.pointer({ kind: 'buffer', index: 1 }) : '';
  const kept = chunks > 1 ? kit.pointer(totals) : '';
  const tid = kit.special('tid.x');
  const block = kit.special('ctaid.x');
  const rowNumber = b.def('r', 'div.u32', block, chunks);
  const row = kit.wide(rowNumber);
  const c = kit.wide(b.def('r', 'sub.u32', block, b.def('r', 'mul.lo.u32', rowNumber, chunks)));
  const rowStart = b.def('d', 'mul.lo.u64', row, scan.length);
  const first = b.def('d', 'mad.lo.u64', kit.wide(tid), perThread, b.def('d', 'mul.lo.u64', c, chunk));
  const identity = kit.constant(type, startOf(scan, type));

  // This thread's elements, each combined with the ones before it.
  const running: string[] = [];
  const inside: string[] = [];
  const addresses: string[] = [];
  for (let i = 0; i < perThread; i++) {
    const at = i === 0 ? first : b.def('d', 'add.u64', first, i);
    inside.push(b.def('p', 'setp.lt.u64', at, scan.length));
    const element = b.def('d', 'add.u64', rowStart, place(kit, scan, at));
    addresses.push(element);
    const value = kit.variable(type, identity);
    kit.when(inside[i]!, () => kit.assign(type, value, kit.cast(scan.type, type, kit.load(scan.type, input, element))));
    running.push(i === 0 ? value : kit.alu(op, type, running[i - 1]!, value));
  }
  const own = running[perThread - 1]!;

  // Inclusive scan of the threads' totals: within warps, then across them.
  const laneId = b.def('r', 'and.b32', tid, 31);
  const warp = b.def('r', 'shr.u32', tid, 5);
  const total = kit.variable(type, own);
  for (let distance = 1; distance < 32; distance *= 2) {
    const below = shuffleUp(kit, type, total, distance);
    const take = b.def('p', 'setp.ge.u32', laneId, distance);
    const sum = kit.alu(op, type, below, total);
    b.set(total, `selp.${bitsSuffix[kind]}`, sum, total, take);
  }
  const bytes = kind === 'd' || kind === 'g' ? 8 : 4;
  const shared = kit.shared((threads / 32) * bytes);
  const isLast = b.def('p', 'setp.eq.u32', laneId, 31);
  kit.when(isLast, () =>
    b.emit(`st.shared.${bitsSuffix[kind]} [${b.def('r', 'mad.lo.u32', warp, bytes, shared)}], ${total}`),
  );
  kit.sync();
  const before = kit.variable(type, identity);
  for (let w = 0; w < threads / 32; w++) {
    const part = b.def(kind, `ld.shared.${bitsSuffix[kind]}`, `[${shared}+${w * bytes}]`);
    const earlier = b.def('p', 'setp.gt.u32', warp, w);
    const sum = kit.alu(op, type, before, part);
    if (want === 'scan') b.set(before, `selp.${bitsSuffix[kind]}`, sum, before, earlier);
    else kit.assign(type, before, sum);
  }
  if (want === 'totals') {
    const leader = b.def('p', 'setp.eq.u32', tid, 0);
    kit.when(leader, () => kit.store(type, kept, b.def('d', 'mad.lo.u64', row, chunks, c), before));
    return kit.finish([chunks * scan.outer, 1, 1], threads);
  }
  // Everything before this thread: earlier chunks, earlier warps, earlier lanes.
  const below = shuffleUp(kit, type, total, 1);
  const isFirst = b.def('p', 'setp.eq.u32', laneId, 0);
  const lanes = b.def(kind, `selp.${bitsSuffix[kind]}`, identity, below, isFirst);
  let offset = kit.alu(op, type, before, lanes);
  if (chunks > 1) {
    const earlier = kit.load(type, kept, b.def('d', 'mad.lo.u64', row, chunks, c));
    offset = kit.alu(op, type, earlier, offset);
  }
  running.forEach((r, i) => {
    const result = kit.cast(type, scan.type, kit.alu(op, type, offset, r));
    kit.when(inside[i]!, () => kit.store(scan.type, output, addresses[i]!, result));
  });
  return kit.finish([chunks * scan.outer, 1, 1], threads);
}

function shuffleUp(kit: Kit, type: Parameters<Kit['kind']>[0], value: string, distance: number): string {
  return shuffle(kit.b, kit.kind(type), value, distance, 'up');
}

/** Turns the totals of `count` parts into the combination of all parts before each; one thread per row of parts. */
function runningTotals(
  scan: Scan,
  target: Target,
  count: number,
  rows: number,
  totals: Parameters<Kit['pointer']>[0],
  stride = 1,
): Part {
  const kit = new Kit(`${scan.name}_running`, target);
  const { b } = kit;
  const type = computeType(scan.type);
  const op = combineOp[scan.combine];
  const kept = kit.pointer(totals);
  const row = kit.globalThread(threads);
  kit.exitWhen(b.def('p', 'setp.ge.u64', row, rows));
  // Rows of parts lie side by side (stride = inner) or one after the other.
  const outer = b.def('d', 'div.u64', row, stride);
  const inner = b.def('d', 'sub.u64', row, b.def('d', 'mul.lo.u64', outer, stride));
  const at = b.def('d', 'mad.lo.u64', outer, count * stride, inner);
  const sum = kit.variable(type, kit.constant(type, startOf(scan, type)));
  const i = b.def('r', 'mov.u32', 0);
  kit.while(
    () => b.def('p', 'setp.lt.u32', i, count),
    () => {
      const part = kit.load(type, kept, at);
      kit.store(type, kept, at, sum);
      kit.assign(type, sum, kit.alu(op, type, sum, part));
      b.set(at, 'add.u64', at, stride);
      b.set(i, 'add.u32', i, 1);
    },
  );
  return kit.finish([blocksFor(rows, threads), 1, 1], threads);
}

function alongColumns(scan: Scan, target: Target): Recipe {
  const columns = scan.outer * scan.inner;
  const wanted = Math.max(1, Math.floor((target.processors * 1024) / columns));
  const length = Math.max(32, Math.ceil(scan.length / wanted));
  const parts = blocksFor(scan.length, length);
  const type = computeType(scan.type);
  const layout = new Layout();
  const totals = layout.add(columns * parts * dtypeInfo[type].bytes);
  const passes: Part[] = [];
  if (parts > 1) {
    passes.push(columnPass(scan, target, parts, length, totals, 'totals'));
    passes.push(runningTotals(scan, target, parts, columns, totals, scan.inner));
  }
  passes.push(columnPass(scan, target, parts, length, totals, 'scan'));
  return recipe(scan, target, passes, parts > 1 ? layout.bytes : 0);
}

function columnPass(
  scan: Scan,
  target: Target,
  parts: number,
  length: number,
  totals: Parameters<Kit['pointer']>[0],
  want: 'totals' | 'scan',
): Part {
  const kit = new Kit(`${scan.name}_${want}`, target);
  const { b } = kit;
  const type = computeType(scan.type);
  const op = combineOp[scan.combine];
  const input = kit.pointer({ kind: 'buffer', index: 0 });
  const output = want === 'scan' ? kit.pointer({ kind: 'buffer', index: 1 }) : '';
  const kept = parts > 1 ? kit.pointer(totals) : '';
  const work = scan.outer * parts * scan.inner;
  const thread = kit.globalThread(threads);
  kit.exitWhen(b.def('p', 'setp.ge.u64', thread, work));
  // thread = (outer · parts + part) · inner + n
  const rest = b.def('d', 'div.u64', thread, scan.inner);
  const n = b.def('d', 'sub.u64', thread, b.def('d', 'mul.lo.u64', rest, scan.inner));
  const outer = b.def('d', 'div.u64', rest, parts);
  const part = b.def('d', 'sub.u64', rest, b.def('d', 'mul.lo.u64', outer, parts));
  const i = b.def('d', 'mul.lo.u64', part, length);
  const end = b.def('d', 'min.u64', b.def('d', 'add.u64', i, length), scan.length);
  const base = b.def('d', 'mul.lo.u64', outer, scan.length);
  const start = want === 'scan' && parts > 1 ? kit.load(type, kept, thread) : kit.constant(type, startOf(scan, type));
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
  return kit.finish([blocksFor(work, threads), 1, 1], threads);
}
