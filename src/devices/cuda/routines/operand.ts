// One operand of a sliced product: on its way from global memory through a slice's ring of stages to a thread's registers.

import type { Kit } from './kit.ts';

/** Four neighbours in shared memory. */
export function loadFour(kit: Kit, address: string): string[] {
  const four = Array.from({ length: 4 }, () => kit.entry.reg('f'));
  kit.b.emit(`ld.shared.v4.f32 {${four.join(', ')}}, ${address}`);
  return four;
}

interface Side {
  readonly base: string;
  /** The thread's number in its slice, and how many there are. */
  readonly thread: string;
  readonly group: number;
  /** The depth the slice fetches next, by how much that grows, where it ends. */
  readonly k: string;
  readonly stride: number;
  readonly depth: number;
  readonly stageDepth: number;
  /** First row (or column) of the tile, and how many the matrix has. */
  readonly start: string;
  readonly extent: number;
  readonly tile: number;
  /** Rows (or columns) of a thread: a multiple of four. */
  readonly each: number;
  /** Which of the slice's threads along this side this one is. */
  readonly position: string;
  /** Whether neighbours in memory follow each other along the depth. */
  readonly alongDepth: boolean;
}

/**
 * One operand: copies stages from global to shared memory, reads a thread's values from there. Its n-th value belongs to row
 * (or column) `step` · position + `place(n)` of the tile.
 */
export function side(kit: Kit, p: Side) {
  const { b } = kit;
  // Lines along the depth are padded by one vector: eight neighbouring lines start on different banks.
  const pitch = 4 * (p.alongDepth ? p.stageDepth + 4 : p.tile);
  const lines = p.alongDepth ? p.tile : p.stageDepth;
  const pieces = (p.alongDepth ? p.stageDepth : p.tile) / 4;
  const linesPerRound = p.group / pieces;
  const rounds = lines / linesPerRound;
  const line = b.def('r', 'shr.u32', p.thread, Math.log2(pieces));
  const piece = b.def('r', 'and.b32', p.thread, pieces - 1);
  const corner = b.def('r', 'mad.lo.u32', line, pitch, b.def('r', 'shl.b32', piece, 4));
  const run = p.alongDepth ? p.depth : p.extent;
  const [startOuter, startInner] = p.alongDepth ? [p.start, p.k] : [p.k, p.start];
  const inner = b.def('r', 'mad.lo.u32', piece, 4, startInner);
  const outer = b.def('r', 'add.u32', startOuter, line);
  const element = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', outer, run), kit.wide(inner));
  const from = b.def('d', 'mad.lo.u64', element, 4, p.base);
  // Along the depth a thread's lines lie as far apart as can be; else they come in groups of four.
  const step = p.alongDepth ? 1 : 4;
  const groups = p.each / 4;
  const offset = (n: number): number =>
    p.alongDepth ? (n * p.tile) / p.each : Math.floor(n / 4) * (p.tile / groups) + (n % 4);

  /** What has to hold for a round's piece to be inside; none where the tiles fit. */
  const gates = (round: number): string[] => {
    const along = p.alongDepth ? linesPerRound * round : 0;
    const deep = p.alongDepth ? 0 : linesPerRound * round;
    const list: string[] = [];
    if (p.extent % p.tile !== 0) {
      const at = p.alongDepth ? b.def('r', 'add.u32', outer, along) : inner;
      list.push(b.def('p', 'setp.lt.u32', at, p.extent));
    }
    if (p.depth % p.stride !== 0) {
      const own = p.alongDepth ? b.def('r', 'shl.b32', piece, 2) : b.def('r', 'add.u32', line, deep);
      list.push(b.def('p', 'setp.lt.u32', b.def('r', 'add.u32', p.k, own), p.depth));
    }
    return list;
  };

  const copy = (stage: string): void => {
    const to = b.def('r', 'add.u32', stage, corner);
    for (let round = 0; round < rounds; round++) {
      const source = b.def('d', 'add.u64', from, round * linesPerRound * run * 4);
      const at = `[${to}+${round * linesPerRound * pitch}]`;
      const [first, second] = gates(round);
      if (!first) {
        b.emit(`cp.async.cg.shared.global ${at}, [${source}], 16`);
        continue;
      }
      // What is outside reads nothing and becomes zeros; its address must still be a valid one.
      const inside = second ? b.def('p', 'and.pred', first, second) : first;
      const safe = b.def('d', 'selp.b64', source, p.base, inside);
      b.emit(`cp.async.cg.shared.global ${at}, [${safe}], 16, ${b.def('r', 'selp.b32', 16, 0, inside)}`);
    }
    b.set(from, 'add.u64', from, p.stride * 4 * (p.alongDepth ? 1 : run));
  };

  /** Values by depth of the stage; to be asked for in order. */
  const reader = (stage: string) => {
    const at = b.def('r', 'mad.lo.u32', p.position, p.alongDepth ? pitch : 16, stage);
    let held: string[][] = [];
    return (d: number): string[] => {
      if (!p.alongDepth) {
        const four = (g: number): string[] => loadFour(kit, `[${at}+${d * pitch + 4 * offset(4 * g)}]`);
        return Array.from({ length: groups }, (_, g) => four(g)).flat();
      }
      if (d % 4 === 0) {
        held = Array.from({ length: p.each }, (_, n) => loadFour(kit, `[${at}+${offset(n) * pitch + 4 * d}]`));
      }
      return held.map((depths) => depths[d % 4]!);
    };
  };

  return { bytes: lines * pitch, step, place: offset, copy, reader };
}
