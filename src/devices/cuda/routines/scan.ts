// Scans along the middle axis, in at most three launches: totals of chunks, their running values, the scan itself.
//
// With neighbours along the scanned axis (inner = 1) a block scans a chunk together. Otherwise each thread walks its own
// column, and neighbouring threads read neighbouring memory.

import { type DType, dtypeInfo, isFloat } from '../../../base/dtype.ts';
import { identityOf } from '../../../kernel/identity.ts';
import type { Scan } from '../../../kernel/kernel.ts';
import { combineOp } from '../../../kernel/ops.ts';
import { shuffle } from '../ptx/combine.ts';
import { cacheBytes } from '../ptx/elementwise.ts';
import type { Target } from '../ptx/target.ts';
import { bitsSuffix } from '../ptx/types.ts';
import type { ModuleRecipe } from '../recipe.ts';
import type { Argument } from '../step.ts';
import { blocksFor, computeType, Kit, Layout } from './kit.ts';
import { recipeOf } from './recipe-of.ts';

/** Threads that walk columns, each its own. */
const walkers = 256;

/** How a block takes a chunk of a row: so many threads, each with so many neighbours. */
interface Shape {
  readonly threads: number;
  readonly perThread: number;
}

/** Shapes from the smallest on: a row that fits one is scanned in one launch. */
const shapes: readonly Shape[] = [
  { threads: 256, perThread: 8 },
  { threads: 256, perThread: 16 },
  { threads: 512, perThread: 16 },
];

/** Rows that fit no block are cut: very long ones into large chunks, as their totals are scanned by one block. */
const shapeOf = (length: number): Shape =>
  shapes.find((s) => length <= chunkOf(s)) ?? (length >= 2 ** 18 ? shapes.at(-1)! : shapes[0]!);

const chunkOf = ({ threads, perThread }: Shape): number => threads * perThread;

type Part = { text: string; launch: ModuleRecipe['launches'][number] };

/** Rows to be scanned, and where they are. */
export interface RowScan {
  readonly name: string;
  readonly type: DType;
  readonly combine: Scan['combine'];
  readonly rows: number;
  readonly length: number;
  readonly reverse: boolean;
  /** Leave each element out of its own result. */
  readonly exclusive: boolean;
  readonly input: Argument;
  /** May be the input. */
  readonly output: Argument;
}

export function scanRecipe(scan: Scan, target: Target): ModuleRecipe {
  const layout = new Layout();
  const parts =
    scan.inner === 1
      ? rowScan(
          {
            name: scan.name,
            type: scan.type,
            combine: scan.combine,
            rows: scan.outer,
            length: scan.length,
            reverse: scan.reverse,
            exclusive: false,
            input: { kind: 'buffer', index: 0 },
            output: { kind: 'buffer', index: 1 },
          },
          layout,
          target,
        )
      : columnScan(scan, layout, target);
  return recipeOf(scan.name, target, parts, { borrowedBytes: layout.bytes });
}

/** Neutral for the combination; -0 for float sums, so that a leading -0 stays one. */
const startOf = (scan: { readonly combine: Scan['combine'] }, type: DType): number | bigint =>
  scan.combine === 'sum' && isFloat(type) ? -0 : identityOf(scan.combine, type);

/** Where element i lies: from the front, or from the back. */
function place(kit: Kit, scan: { readonly reverse: boolean; readonly length: number }, i: string): string {
  return scan.reverse ? kit.b.def('d', 'sub.u64', scan.length - 1, i) : i;
}

export function rowScan(scan: RowScan, layout: Layout, target: Target): Part[] {
  const chunks = blocksFor(scan.length, chunkOf(shapeOf(scan.length)));
  if (chunks === 1) return [chunkPass(scan, target, 1, null, 'scan')];
  const type = computeType(scan.type);
  const totals = layout.add(scan.rows * chunks * dtypeInfo[type].bytes);
  return [
    chunkPass(scan, target, chunks, totals, 'totals'),
    runningTotals(scan, target, chunks, totals),
    chunkPass(scan, target, chunks, totals, 'scan'),
  ];
}

interface ChunkResult {
  /** This thread's elements, each combined with the ones before it in the thread. */
  readonly running: readonly string[];
  /** Everything in the chunk before this thread. */
  readonly before: string;
  /** The whole chunk. */
  readonly total: string;
}

/** A value of each lane, combined with those of the lanes below. */
function scanWarp(kit: Kit, type: DType, combine: Scan['combine'], value: string, laneId: string): string {
  const { b } = kit;
  const kind = kit.kind(type);
  const sum = kit.variable(type, value);
  for (let distance = 1; distance < 32; distance *= 2) {
    const below = shuffle(b, kind, sum, distance, 'up');
    const take = b.def('p', 'setp.ge.u32', laneId, distance);
    b.set(sum, `selp.${bitsSuffix[kind]}`, kit.alu(combineOp[combine], type, below, sum), sum, take);
  }
  return sum;
}

/** Scans the values of all threads of a block, a few each in order. The barrier at the end of a loop is the caller's. */
function scanTogether(
  kit: Kit,
  type: DType,
  combine: Scan['combine'],
  values: readonly string[],
  tid: string,
  shared: string,
  threads: number,
): ChunkResult {
  const { b } = kit;
  const op = combineOp[combine];
  const kind = kit.kind(type);
  const suffix = bitsSuffix[kind];
  const identity = kit.constant(type, startOf({ combine }, type));
  const running: string[] = [];
  for (const v of values) running.push(running.length === 0 ? v : kit.alu(op, type, running[running.length - 1]!, v));
  const laneId = b.def('r', 'and.b32', tid, 31);
  const sum = scanWarp(kit, type, combine, running[running.length - 1]!, laneId);
  const isLast = b.def('p', 'setp.eq.u32', laneId, 31);
  const { before: warpsBefore, total } = warpsTogether(kit, type, combine, sum, isLast, tid, shared, threads);
  const below = shuffle(b, kind, sum, 1, 'up');
  const isFirst = b.def('p', 'setp.eq.u32', laneId, 0);
  const lanesBefore = b.def(kind, `selp.${suffix}`, identity, below, isFirst);
  return { running, before: kit.alu(op, type, warpsBefore, lanesBefore), total };
}

/** In a chunk read four by four: lane l of a warp has elements 4l to 4l + 3 of each 128. */
const stride = 128;

/**
 * The same for values that lie so: neighbouring threads read neighbouring memory. A warp has a stretch of its own; `running` are the
 * elements combined with those before them in the stretch, `before` is what comes before it.
 */
function scanStriped(
  kit: Kit,
  type: DType,
  combine: Scan['combine'],
  values: readonly string[],
  tid: string,
  shared: string,
  threads: number,
): ChunkResult {
  const { b } = kit;
  const op = combineOp[combine];
  const kind = kit.kind(type);
  const suffix = bitsSuffix[kind];
  const identity = kit.constant(type, startOf({ combine }, type));
  const laneId = b.def('r', 'and.b32', tid, 31);
  const isFirst = b.def('p', 'setp.eq.u32', laneId, 0);
  const running: string[] = [];
  let carry = identity;
  for (let i = 0; i < values.length; i += 4) {
    const four: string[] = [];
    for (const v of values.slice(i, i + 4)) four.push(four.length === 0 ? v : kit.alu(op, type, four.at(-1)!, v));
    const sum = scanWarp(kit, type, combine, four[3]!, laneId);
    const below = shuffle(b, kind, sum, 1, 'up');
    const lanesBefore = b.def(kind, `selp.${suffix}`, identity, below, isFirst);
    const before = kit.alu(op, type, carry, lanesBefore);
    for (const r of four) running.push(kit.alu(op, type, before, r));
    carry = kit.alu(op, type, carry, shuffle(b, kind, sum, 31, 'idx'));
  }
  return { running, ...warpsTogether(kit, type, combine, carry, isFirst, tid, shared, threads) };
}

/** What comes before each warp, and everything together. */
function warpsTogether(
  kit: Kit,
  type: DType,
  combine: Scan['combine'],
  sum: string,
  speaks: string,
  tid: string,
  shared: string,
  threads: number,
): { before: string; total: string } {
  const { b } = kit;
  const kind = kit.kind(type);
  const suffix = bitsSuffix[kind];
  const bytes = dtypeInfo[type].bytes === 8 ? 8 : 4;
  const identity = kit.constant(type, startOf({ combine }, type));
  const warp = b.def('r', 'shr.u32', tid, 5);
  const slot = b.def('r', 'mad.lo.u32', warp, bytes, shared);
  kit.when(speaks, () => b.emit(`st.shared.${suffix} [${slot}], ${sum}`));
  kit.sync();
  const before = kit.variable(type, identity);
  const total = kit.variable(type, identity);
  for (let w = 0; w < threads / 32; w++) {
    const part = b.def(kind, `ld.shared.${suffix}`, `[${shared}+${w * bytes}]`);
    const isHere = b.def('p', 'setp.eq.u32', warp, w);
    b.set(before, `selp.${suffix}`, total, before, isHere);
    kit.assign(type, total, kit.alu(combineOp[combine], type, total, part));
  }
  return { before, total };
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
  const shape = shapeOf(scan.length);
  const { threads, perThread } = shape;
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
  const rowStart = b.def('d', 'mul.lo.u64', row, scan.length);
  const chunkStart = b.def('d', 'mul.lo.u64', c, chunkOf(shape));
  const identity = kit.constant(type, startOf(scan, type));
  const shared = kit.shared((threads / 32) * 8);
  const slot = totals ? b.def('d', 'mad.lo.u64', row, chunks, c) : '';

  // Groups of four are whole or absent, and can be moved at once, if the rows are a multiple of four long.
  const vector = dtypeInfo[scan.type].bytes === 4 && scan.type === type && scan.length % 4 === 0 && !scan.reverse;
  const striped = vector && !scan.exclusive;
  const first = striped
    ? b.def('d', 'add.u64', chunkStart, kit.wide(stripeStart(kit, tid, perThread)))
    : b.def('d', 'mad.lo.u64', kit.wide(tid), perThread, chunkStart);
  const values: string[] = [];
  const inside: string[] = [];
  const elements: string[] = [];
  for (let i = 0; i < perThread; i++) {
    const distance = striped ? Math.floor(i / 4) * stride + (i % 4) : i;
    const at = distance === 0 ? first : b.def('d', 'add.u64', first, distance);
    inside.push(b.def('p', 'setp.lt.u64', at, scan.length));
    elements.push(b.def('d', 'add.u64', rowStart, place(kit, scan, at)));
    values.push(kit.variable(type, identity));
  }
  const suffix = bitsSuffix[kit.kind(type)];
  for (let i = 0; i < perThread; i += vector ? 4 : 1) {
    if (vector) {
      const address = kit.at(input, elements[i]!, 4);
      b.emit(`@${inside[i]} ld.global.v4.${suffix} {${values.slice(i, i + 4).join(', ')}}, [${address}]`);
    } else {
      kit.when(inside[i]!, () => {
        kit.assign(type, values[i]!, kit.cast(scan.type, type, kit.load(scan.type, input, elements[i]!)));
      });
    }
  }
  if (want === 'totals') {
    const sum = values.reduce((all, v) => kit.alu(op, type, all, v));
    const { total } = scanTogether(kit, type, scan.combine, [sum], tid, shared, threads);
    const leader = b.def('p', 'setp.eq.u32', tid, 0);
    kit.when(leader, () => kit.store(type, kept, slot, total));
    return kit.finish([chunks * scan.rows, 1, 1], threads);
  }
  const past = scan.rows * scan.length * dtypeInfo[scan.type].bytes >= cacheBytes;
  const store = past ? 'st.global.cs' : 'st.global';
  const together = striped ? scanStriped : scanTogether;
  const { running, before } = together(kit, type, scan.combine, values, tid, shared, threads);
  const offset = totals ? kit.alu(op, type, kit.load(type, kept, slot), before) : before;
  const results = running.map((r, i) => {
    if (scan.exclusive) return i === 0 ? offset : kit.alu(op, type, offset, running[i - 1]!);
    return kit.alu(op, type, offset, r);
  });
  for (let i = 0; i < perThread; i += vector ? 4 : 1) {
    if (vector) {
      const address = kit.at(output, elements[i]!, 4);
      b.emit(`@${inside[i]} ${store}.v4.${suffix} [${address}], {${results.slice(i, i + 4).join(', ')}}`);
    } else {
      kit.when(inside[i]!, () => kit.store(scan.type, output, elements[i]!, kit.cast(type, scan.type, results[i]!)));
    }
  }
  return kit.finish([chunks * scan.rows, 1, 1], threads);
}

/** The first element of a thread, from the start of the chunk. */
function stripeStart(kit: Kit, tid: string, perThread: number): string {
  const { b } = kit;
  const lane = b.def('r', 'and.b32', tid, 31);
  const warp = b.def('r', 'shr.u32', tid, 5);
  return b.def('r', 'mad.lo.u32', lane, 4, b.def('r', 'mul.lo.u32', warp, 32 * perThread));
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
      const { running, before, total } = scanTogether(kit, type, scan.combine, values, tid, shared, threads);
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
