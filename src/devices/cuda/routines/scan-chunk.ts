// One chunk of a row in the registers of a block: loaded, scanned, stored.

import { type DType, dtypeInfo, isFloat } from '../../../base/dtype.ts';
import { identityOf } from '../../../kernel/identity.ts';
import type { Scan } from '../../../kernel/kernel.ts';
import { combineOp } from '../../../kernel/ops.ts';
import { shuffle } from '../ptx/combine.ts';
import { cacheBytes } from '../ptx/elementwise.ts';
import { bitsSuffix } from '../ptx/types.ts';
import type { Argument } from '../step.ts';
import { computeType, type Kit } from './kit.ts';

/** How a block takes a chunk of a row: so many threads, each with so many neighbours. */
export interface Shape {
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
export const shapeOf = (length: number): Shape =>
  shapes.find((s) => length <= chunkOf(s)) ?? (length >= 2 ** 18 ? shapes.at(-1)! : shapes[0]!);

/**
 * Very long rows that are read four by four: a multiprocessor has as much of them in registers as it can (64M f32: 173 µs; by 512 threads with
 * 16 each 203).
 */
const longShape: Shape = { threads: 256, perThread: 48 };

export const shapeFor = (scan: RowScan): Shape =>
  scan.length >= 2 ** 18 && isStriped(scan) ? longShape : shapeOf(scan.length);

export const chunkOf = ({ threads, perThread }: Shape): number => threads * perThread;

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

/** Neutral for the combination; -0 for float sums, so that a leading -0 stays one. */
export const startOf = (scan: { readonly combine: Scan['combine'] }, type: DType): number | bigint =>
  scan.combine === 'sum' && isFloat(type) ? -0 : identityOf(scan.combine, type);

/** Where element i lies: from the front, or from the back. */
export function place(kit: Kit, scan: { readonly reverse: boolean; readonly length: number }, i: string): string {
  return scan.reverse ? kit.b.def('d', 'sub.u64', scan.length - 1, i) : i;
}

export interface ChunkResult {
  /** This thread's elements, each combined with the ones before it in the thread. */
  readonly running: readonly string[];
  /** Everything in the chunk before this thread. */
  readonly before: string;
  /** The whole chunk. */
  readonly total: string;
}

/** The threads of a block that scan together, and what they combine. */
export interface Team {
  readonly kit: Kit;
  readonly type: DType;
  readonly combine: Scan['combine'];
  readonly tid: string;
  /** Shared memory for a value of each warp. */
  readonly shared: string;
  readonly threads: number;
}

/** What a team's instructions are made of. */
function wordsOf({ kit, type, combine }: Team) {
  const kind = kit.kind(type);
  const identity = kit.constant(type, startOf({ combine }, type));
  return { op: combineOp[combine], kind, suffix: bitsSuffix[kind], identity };
}

/** A value of each lane, combined with those of the lanes below. */
function scanWarp({ kit, type, combine }: Team, value: string, laneId: string): string {
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
export function scanTogether(team: Team, values: readonly string[]): ChunkResult {
  const { kit, type, tid } = team;
  const { b } = kit;
  const { op, kind, suffix, identity } = wordsOf(team);
  const running: string[] = [];
  for (const v of values) running.push(running.length === 0 ? v : kit.alu(op, type, running[running.length - 1]!, v));
  const laneId = b.def('r', 'and.b32', tid, 31);
  const sum = scanWarp(team, running[running.length - 1]!, laneId);
  const isLast = b.def('p', 'setp.eq.u32', laneId, 31);
  const { before: warpsBefore, total } = warpsTogether(team, sum, isLast);
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
function scanStriped(team: Team, values: readonly string[]): ChunkResult {
  const { kit, type, tid } = team;
  const { b } = kit;
  const { op, kind, suffix, identity } = wordsOf(team);
  const laneId = b.def('r', 'and.b32', tid, 31);
  const isFirst = b.def('p', 'setp.eq.u32', laneId, 0);
  const running: string[] = [];
  let carry = identity;
  for (let i = 0; i < values.length; i += 4) {
    const four: string[] = [];
    for (const v of values.slice(i, i + 4)) four.push(four.length === 0 ? v : kit.alu(op, type, four.at(-1)!, v));
    const sum = scanWarp(team, four[3]!, laneId);
    const below = shuffle(b, kind, sum, 1, 'up');
    const lanesBefore = b.def(kind, `selp.${suffix}`, identity, below, isFirst);
    const before = kit.alu(op, type, carry, lanesBefore);
    for (const r of four) running.push(kit.alu(op, type, before, r));
    carry = kit.alu(op, type, carry, shuffle(b, kind, sum, 31, 'idx'));
  }
  return { running, ...warpsTogether(team, carry, isFirst) };
}

/** What comes before each warp, and everything together. */
function warpsTogether(team: Team, sum: string, speaks: string): { before: string; total: string } {
  const { kit, type, tid, shared, threads } = team;
  const { b } = kit;
  const bytes = dtypeInfo[type].bytes === 8 ? 8 : 4;
  const { op, kind, suffix, identity } = wordsOf(team);
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
    kit.assign(type, total, kit.alu(op, type, total, part));
  }
  return { before, total };
}

/** One value of each warp, the same in all of its lanes: all of them together, in every thread. */
export function foldWarps(team: Team, value: string): string {
  const laneId = team.kit.b.def('r', 'and.b32', team.tid, 31);
  return warpsTogether(team, value, team.kit.b.def('p', 'setp.eq.u32', laneId, 0)).total;
}

/** The first element of a thread, from the start of the chunk. */
function stripeStart(kit: Kit, tid: string, perThread: number): string {
  const { b } = kit;
  const lane = b.def('r', 'and.b32', tid, 31);
  const warp = b.def('r', 'shr.u32', tid, 5);
  return b.def('r', 'mad.lo.u32', lane, 4, b.def('r', 'mul.lo.u32', warp, 32 * perThread));
}

/** Groups of four are whole or absent, and can be moved at once, if the rows are a multiple of four long. */
const movesFours = (scan: RowScan): boolean =>
  dtypeInfo[scan.type].bytes === 4 && scan.type === computeType(scan.type) && scan.length % 4 === 0 && !scan.reverse;

/** Whether neighbouring threads have neighbouring fours. */
const isStriped = (scan: RowScan): boolean => movesFours(scan) && !scan.exclusive;

/** A chunk that a block has loaded: a few elements in each thread. */
export interface Chunk {
  readonly scan: RowScan;
  readonly threads: number;
  readonly values: readonly string[];
  /** Whether each of them lies in the row, and its number among all elements. */
  readonly inside: readonly string[];
  readonly elements: readonly string[];
  /** How far each lies behind the first one, where elements are moved four at a time. */
  readonly distances: readonly number[];
  /** Elements are moved four at a time. */
  readonly vector: boolean;
  /** Neighbouring threads have neighbouring fours. */
  readonly striped: boolean;
}

/** Loads chunk `c` of a row, both 64 bits wide. */
export function loadChunk(kit: Kit, scan: RowScan, input: string, row: string, c: string, tid: string): Chunk {
  const { b } = kit;
  const shape = shapeFor(scan);
  const { threads, perThread } = shape;
  const type = computeType(scan.type);
  const rowStart = b.def('d', 'mul.lo.u64', row, scan.length);
  const chunkStart = b.def('d', 'mul.lo.u64', c, chunkOf(shape));
  const identity = kit.constant(type, startOf(scan, type));
  const [vector, striped] = [movesFours(scan), isStriped(scan)];
  const first = striped
    ? b.def('d', 'add.u64', chunkStart, kit.wide(stripeStart(kit, tid, perThread)))
    : b.def('d', 'mad.lo.u64', kit.wide(tid), perThread, chunkStart);
  const values: string[] = [];
  const inside: string[] = [];
  const elements: string[] = [];
  const distances = Array.from({ length: perThread }, (_, i) => (striped ? Math.floor(i / 4) * stride + (i % 4) : i));
  for (const distance of distances) {
    const at = distance === 0 ? first : b.def('d', 'add.u64', first, distance);
    inside.push(b.def('p', 'setp.lt.u64', at, scan.length));
    elements.push(b.def('d', 'add.u64', rowStart, place(kit, scan, at)));
    values.push(kit.variable(type, identity));
  }
  const chunk = { scan, threads, values, inside, elements, distances, vector, striped };
  const suffix = bitsSuffix[kit.kind(type)];
  const four = vector ? foursOf(kit, chunk, input) : null;
  for (let i = 0; i < values.length; i += vector ? 4 : 1) {
    if (four) b.emit(`@${inside[i]} ld.global.v4.${suffix} {${values.slice(i, i + 4).join(', ')}}, ${four(i)}`);
    else {
      kit.when(inside[i]!, () => {
        kit.assign(type, values[i]!, kit.cast(scan.type, type, kit.load(scan.type, input, elements[i]!)));
      });
    }
  }
  return chunk;
}

/** Where the four elements from number i on lie in a buffer. */
function foursOf(kit: Kit, { elements, distances }: Chunk, pointer: string): (i: number) => string {
  const first = kit.at(pointer, elements[0]!, 4);
  return (i) => `[${first}+${4 * distances[i]!}]`;
}

/** Scans a chunk by itself. `shared`: room for 8 bytes a warp. */
export function scanChunk(
  kit: Kit,
  { scan, threads, values, striped }: Chunk,
  tid: string,
  shared: string,
): ChunkResult {
  const together = striped ? scanStriped : scanTogether;
  return together({ kit, type: computeType(scan.type), combine: scan.combine, tid, shared, threads }, values);
}

/** Stores the scan, with everything before this thread's elements in front of them. */
export function storeChunk(kit: Kit, chunk: Chunk, running: readonly string[], offset: string, output: string): void {
  const { b } = kit;
  const { scan, inside, elements, vector } = chunk;
  const type = computeType(scan.type);
  const op = combineOp[scan.combine];
  const suffix = bitsSuffix[kit.kind(type)];
  const past = scan.rows * scan.length * dtypeInfo[scan.type].bytes >= cacheBytes;
  const store = past ? 'st.global.cs' : 'st.global';
  const results = running.map((r, i) => {
    if (scan.exclusive) return i === 0 ? offset : kit.alu(op, type, offset, running[i - 1]!);
    return kit.alu(op, type, offset, r);
  });
  const four = vector ? foursOf(kit, chunk, output) : null;
  for (let i = 0; i < elements.length; i += vector ? 4 : 1) {
    if (four) b.emit(`@${inside[i]} ${store}.v4.${suffix} ${four(i)}, {${results.slice(i, i + 4).join(', ')}}`);
    else {
      kit.when(inside[i]!, () => kit.store(scan.type, output, elements[i]!, kit.cast(type, scan.type, results[i]!)));
    }
  }
}
