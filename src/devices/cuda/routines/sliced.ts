// Matrix product in f32 where few tiles must keep the whole device busy: a tile's depth is divided among slices of a block.
//
// Each slice is some warps with a ring of stages of its own in shared memory, filled asynchronously, so slices wait for nobody
// else until the end. Then their sums lie side by side in shared memory, and the block adds them, always in the same order, and
// stores them. An operand keeps its layout on the way: read with the depth contiguous, four depths at a time, or with
// neighbouring rows (or columns) contiguous, four of those at a time.

import { dtypeInfo } from '../../../base/dtype.ts';
import type { Matmul } from '../../../kernel/kernel.ts';
import { storeElement } from '../ptx/memory.ts';
import type { Target } from '../ptx/target.ts';
import type { ModuleRecipe } from '../recipe.ts';
import { basesOf } from './bases.ts';
import { inlineEpilogue, outputType } from './epilogue.ts';
import { Kit } from './kit.ts';
import { crossed } from './lanes.ts';
import { loadFour, side } from './operand.ts';
import { recipeOf } from './recipe-of.ts';

export interface SlicedTiles {
  readonly rows: number;
  readonly columns: number;
  /** Results of a thread: rows and columns. */
  readonly down: number;
  readonly across: number;
  /** Into how many parts the depth is divided. */
  readonly slices: number;
  /** Depth of a stage, and how many stages a slice has. */
  readonly depth: number;
  readonly stages: number;
  /** Blocks that a multiprocessor shall hold at a time. */
  readonly resident: number;
}

const perSlice = (t: SlicedTiles): number => (t.rows * t.columns) / (t.down * t.across);

export const slicedThreads = (t: SlicedTiles): number => perSlice(t) * t.slices;

export const slicedResultsPerThread = (t: SlicedTiles): number => (t.down * t.across) / t.slices;

/** Whether this can be multiplied so: sixteen bytes at a time, on a device that copies asynchronously. */
export function takesSliced(r: Matmul, target: Target): boolean {
  const whole = (r.transposeA ? r.m : r.k) % 4 === 0 && (r.transposeB ? r.k : r.n) % 4 === 0;
  return r.type === 'f32' && r.k > 0 && whole && target.sm >= 80;
}

/** Sums of a row in shared memory lie so that neighbouring rows fall on different banks. */
const pitchOf = (t: SlicedTiles): number => 4 * t.columns + 64;

export function slicedRecipe(r: Matmul, target: Target, t: SlicedTiles, count = 1): ModuleRecipe {
  const kit = new Kit(r.name, target);
  const { b } = kit;
  const bases = basesOf(kit, r, count);
  const finish = r.epilogue && inlineEpilogue(kit, r.epilogue);
  const tid = kit.special('tid.x');
  const group = perSlice(t);
  const slice = b.def('r', 'shr.u32', tid, Math.log2(group));
  const thread = b.def('r', 'and.b32', tid, group - 1);

  // Blocks are numbered along x and y together: the grid's y is limited to 65,535.
  const acrossN = Math.ceil(r.n / t.columns);
  const acrossM = Math.ceil(r.m / t.rows);
  const cx = kit.special('ctaid.x');
  const rowBlock = b.def('r', 'div.u32', cx, acrossN);
  const columnBlock = b.def('r', 'sub.u32', cx, b.def('r', 'mul.lo.u32', rowBlock, acrossN));
  const m0 = b.def('r', 'mul.lo.u32', rowBlock, t.rows);
  const n0 = b.def('r', 'mul.lo.u32', columnBlock, t.columns);
  const batch = kit.wide(b.def('r', 'mad.lo.u32', kit.special('ctaid.z'), 65535, kit.special('ctaid.y')));
  if (r.batch > 65535) kit.exitWhen(b.def('p', 'setp.ge.u64', batch, r.batch));

  // Parts of the depth are dealt out in turn, a stage's worth at a time.
  const stride = t.depth * t.slices;
  const steps = Math.ceil(r.k / stride);
  const k = b.def('r', 'mul.lo.u32', slice, t.depth);
  const { row, column } = crossed(kit, thread, t.columns / t.across);
  const shared = { thread, group, k, stride, depth: r.k, stageDepth: t.depth };
  const sideA = side(kit, {
    ...shared,
    base: bases.a(batch),
    start: m0,
    extent: r.m,
    tile: t.rows,
    each: t.down,
    position: row,
    alongDepth: !r.transposeA,
  });
  const sideB = side(kit, {
    ...shared,
    base: bases.b(batch),
    start: n0,
    extent: r.n,
    tile: t.columns,
    each: t.across,
    position: column,
    alongDepth: r.transposeB,
  });

  const stageBytes = sideA.bytes + sideB.bytes;
  const base = b.def('r', 'mov.u32', 'dyn');
  const ring = b.def('r', 'mad.lo.u32', slice, t.stages * stageBytes, base);
  const lastStage = b.def('r', 'add.u32', ring, (t.stages - 1) * stageBytes);
  const advance = (stage: string): void => {
    const wrap = b.def('p', 'setp.eq.u32', stage, lastStage);
    b.set(stage, 'selp.b32', ring, b.def('r', 'add.u32', stage, stageBytes), wrap);
  };
  const fill = b.def('r', 'mov.u32', ring);
  const fetch = (): void => {
    sideA.copy(fill);
    sideB.copy(b.def('r', 'add.u32', fill, sideA.bytes));
    b.set(k, 'add.u32', k, stride);
    advance(fill);
  };
  // A ring that holds the whole depth is filled at once; else one stage is free, the one that was used last.
  const ahead = steps <= t.stages ? steps : t.stages - 1;
  for (let s = 0; s < ahead; s++) {
    fetch();
    b.emit('cp.async.commit_group');
  }

  const [zero, use, step] = [kit.constant('f32', 0), b.def('r', 'mov.u32', ring), b.def('r', 'mov.u32', 0)];
  const sums = Array.from({ length: t.down }, () => Array.from({ length: t.across }, () => kit.variable('f32', zero)));
  const syncSlice = sliceBarrier(kit, slice, group, t.slices);
  kit.while(
    () => b.def('p', 'setp.lt.u32', step, steps),
    () => {
      b.emit(`cp.async.wait_group ${ahead - 1}`);
      syncSlice();
      b.set(step, 'add.u32', step, 1);
      if (steps > ahead) kit.when(b.def('p', 'setp.le.u32', step, steps - ahead), fetch);
      // Empty groups keep the count of what is outstanding right.
      b.emit('cp.async.commit_group');
      const readA = sideA.reader(use);
      const readB = sideB.reader(b.def('r', 'add.u32', use, sideA.bytes));
      for (let d = 0; d < t.depth; d++) {
        const [left, right] = [readA(d), readB(d)];
        left.forEach((x, i) => {
          right.forEach((y, j) => {
            b.set(sums[i]![j]!, 'fma.rn.f32', x, y, sums[i]![j]!);
          });
        });
      }
      advance(use);
    },
  );

  // Where the rings were, the sums are put side by side.
  b.emit('cp.async.wait_group 0');
  kit.sync();
  const pitch = pitchOf(t);
  const sumBytes = t.rows * pitch;
  const own = b.def('r', 'mad.lo.u32', slice, sumBytes, base);
  const corner = b.def(
    'r',
    'mad.lo.u32',
    b.def('r', 'mul.lo.u32', row, sideA.step),
    pitch,
    b.def('r', 'mad.lo.u32', column, 4 * sideB.step, own),
  );
  sums.forEach((line, i) => {
    const at = (j: number): string => `[${corner}+${sideA.place(i) * pitch + 4 * sideB.place(j)}]`;
    if (sideB.place(1) === 1) {
      for (let j = 0; j < t.across; j += 4) b.emit(`st.shared.v4.f32 ${at(j)}, {${line.slice(j, j + 4).join(', ')}}`);
    } else for (const [j, v] of line.entries()) b.emit(`st.shared.f32 ${at(j)}, ${v}`);
  });
  kit.sync();

  // Each thread adds and stores four neighbours at a time.
  const threads = slicedThreads(t);
  const quads = t.columns / 4;
  const quad = b.def('r', 'and.b32', tid, quads - 1);
  const top = b.def('r', 'shr.u32', tid, Math.log2(quads));
  const first = b.def('r', 'mad.lo.u32', top, pitch, b.def('r', 'shl.b32', quad, 4));
  const rounds = slicedResultsPerThread(t) / 4;
  const linesPerRound = threads / quads;
  const totals = Array.from({ length: rounds }, (_, round) => {
    const at = b.def('r', 'add.u32', base, first);
    const parts = Array.from({ length: t.slices }, (_, s) =>
      loadFour(kit, `[${at}+${s * sumBytes + round * linesPerRound * pitch}]`),
    );
    return parts.reduce((sum, part) => sum.map((v, i) => b.def('f', 'add.rn.f32', v, part[i]!)));
  });

  const storedBytes = dtypeInfo[outputType(r)].bytes;
  const baseC = bases.c(batch);
  const resultColumn = b.def('r', 'mad.lo.u32', quad, 4, n0);
  totals.forEach((four, round) => {
    const resultRow = b.def('r', 'add.u32', b.def('r', 'add.u32', m0, top), round * linesPerRound);
    const element = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', resultRow, r.n), kit.wide(resultColumn));
    const address = b.def('d', 'mad.lo.u64', element, storedBytes, baseC);
    const inside = (j: number, then: () => void): void => {
      const gates: string[] = [];
      if (r.m % t.rows !== 0) gates.push(b.def('p', 'setp.lt.u32', resultRow, r.m));
      if (r.n % t.columns !== 0) {
        gates.push(b.def('p', 'setp.lt.u32', b.def('r', 'add.u32', resultColumn, j), r.n));
      }
      if (gates.length === 0) then();
      else kit.when(gates.length === 1 ? gates[0]! : b.def('p', 'and.pred', gates[0]!, gates[1]!), then);
    };
    const place = (j: number) =>
      [batch, kit.wide(resultRow), kit.wide(b.def('r', 'add.u32', resultColumn, j))] as const;
    if (r.n % 4 === 0) {
      inside(0, () => {
        if (finish) finish(place(0), four, address);
        else b.emit(`st.global.v4.f32 [${address}], {${four.join(', ')}}`);
      });
      return;
    }
    four.forEach((v, j) => {
      inside(j, () => {
        if (finish) finish(place(j), [v], b.def('d', 'add.u64', address, j * storedBytes));
        else storeElement(kit.c, 'f32', v, address, j * storedBytes);
      });
    });
  });

  const grid = [acrossM * acrossN, Math.min(r.batch * count, 65535), Math.ceil((r.batch * count) / 65535)] as const;
  const bytes = t.slices * Math.max(t.stages * stageBytes, sumBytes);
  const part = kit.finish(grid, threads, bytes, t.resident);
  return recipeOf(r.name, target, [part], { dynamicAlign: 16 });
}

/** A wait for the threads of a slice only. The number of a barrier is a constant: else the assembler reserves all there are. */
function sliceBarrier(kit: Kit, slice: string, group: number, slices: number): () => void {
  const { b } = kit;
  const mine = Array.from({ length: slices }, (_, s) => b.def('p', 'setp.eq.u32', slice, s));
  return () => {
    for (const [s, predicate] of mine.entries()) b.emit(`@${predicate} bar.sync ${s + 1}, ${group}`);
  };
}
