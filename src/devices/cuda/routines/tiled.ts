// Matrix product for every type without tensor cores: tiles in shared memory, a block of results per thread.
//
// A and B tiles are kept k-major in shared memory, so that each thread reads its rows and columns as vectors whatever the
// operands' layout. While a tile is used, the next one is on its way in registers. f16 and bf16 are computed in f32.

import { type DType, dtypeInfo, isFloat } from '../../../base/dtype.ts';
import type { Matmul } from '../../../kernel/kernel.ts';
import type { RegKind } from '../ptx/code.ts';
import { loadElement, storeElement } from '../ptx/memory.ts';
import type { Target } from '../ptx/target.ts';
import { bitsSuffix } from '../ptx/types.ts';
import type { ModuleRecipe } from '../recipe.ts';
import { basesOf } from './bases.ts';
import { inlineEpilogue, outputType } from './epilogue.ts';
import { computeType, Kit } from './kit.ts';
import { crossed } from './lanes.ts';
import { recipeOf } from './recipe-of.ts';

export interface Tiles {
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
  /** Results of a thread, in pieces of four: rows and columns. */
  readonly down: number;
  readonly across: number;
}

/** The type products are added up in: 4 or 8 bytes wide. Sums of bytes wrap when they are stored. */
export const sumType = (type: DType): DType => (type === 'bool' || type === 'u8' ? 'u32' : computeType(type));

export const tiledThreads = (t: Tiles): number => (t.rows * t.columns) / (t.down * t.across);

/** `count`: as many products with operands and results of their own. */
export function tiledRecipe(r: Matmul, target: Target, t: Tiles, count = 1): ModuleRecipe {
  const kit = new Kit(r.name, target);
  const { b } = kit;
  const sum = sumType(r.type);
  const kind = kit.kind(sum);
  const bytes = dtypeInfo[sum].bytes as 4 | 8;
  const bases = basesOf(kit, r, count);
  const finish = r.epilogue && inlineEpilogue(kit, r.epilogue);
  const tid = kit.special('tid.x');
  const [cx, cy, cz] = [kit.special('ctaid.x'), kit.special('ctaid.y'), kit.special('ctaid.z')];
  // Blocks are numbered along x and y together: the grid's y is limited to 65,535.
  const acrossN = Math.ceil(r.n / t.columns);
  const acrossM = Math.ceil(r.m / t.rows);
  const rowBlock = b.def('r', 'div.u32', cx, acrossN);
  const columnBlock = b.def('r', 'sub.u32', cx, b.def('r', 'mul.lo.u32', rowBlock, acrossN));
  const m0 = b.def('r', 'mul.lo.u32', rowBlock, t.rows);
  const n0 = b.def('r', 'mul.lo.u32', columnBlock, t.columns);
  const batch = kit.wide(b.def('r', 'mad.lo.u32', cz, 65535, cy));

  const elementBytes = dtypeInfo[r.type].bytes;
  if (r.batch > 65535) kit.exitWhen(b.def('p', 'setp.ge.u64', batch, r.batch));
  const storedBytes = dtypeInfo[outputType(r)].bytes;
  const baseC = bases.c(batch);

  // Rows of shared memory are padded by one vector against bank conflicts of the transposing stores.
  const strideA = (t.rows + 4) * bytes;
  const strideB = (t.columns + 4) * bytes;
  const sharedA = kit.shared(2 * t.depth * strideA);
  const sharedB = kit.shared(2 * t.depth * strideB);
  const loaderA = loader(kit, r.type, sum, {
    base: bases.a(batch),
    tid,
    start: m0,
    extent: r.m,
    depth: r.k,
    alongDepth: !r.transposeA,
    tile: t.rows,
    tileDepth: t.depth,
    shared: sharedA,
    stride: strideA,
    threads: tiledThreads(t),
  });
  const loaderB = loader(kit, r.type, sum, {
    base: bases.b(batch),
    tid,
    start: n0,
    extent: r.n,
    depth: r.k,
    alongDepth: r.transposeB,
    tile: t.columns,
    tileDepth: t.depth,
    shared: sharedB,
    stride: strideB,
    threads: tiledThreads(t),
  });

  // A thread's rows and columns come in groups of four; between two of them lie those of all other threads.
  const { row: ty, column: tx } = crossed(kit, tid, t.columns / t.across);
  const [groupsDown, groupsAcross] = [t.down / 4, t.across / 4];
  const [stepDown, stepAcross] = [t.rows / groupsDown, t.columns / groupsAcross];
  const zero = kit.constant(sum, sum === 'i64' || sum === 'u64' ? 0n : 0);
  const results = Array.from({ length: t.down }, () => Array.from({ length: t.across }, () => kit.variable(sum, zero)));

  const k = b.def('r', 'mov.u32', 0);
  const buffer = b.def('r', 'mov.u32', 0);
  if (r.k > 0) {
    loaderA.fetch(k);
    loaderB.fetch(k);
    loaderA.put(buffer);
    loaderB.put(buffer);
    kit.sync();
    kit.while(
      () => b.def('p', 'setp.lt.u32', k, r.k),
      () => {
        b.set(k, 'add.u32', k, t.depth);
        const more = b.def('p', 'setp.lt.u32', k, r.k);
        loaderA.fetch(k, more);
        loaderB.fetch(k, more);
        const fromA = b.def(
          'r',
          'mad.lo.u32',
          buffer,
          t.depth * strideA,
          b.def('r', 'mad.lo.u32', ty, 4 * bytes, sharedA),
        );
        const fromB = b.def(
          'r',
          'mad.lo.u32',
          buffer,
          t.depth * strideB,
          b.def('r', 'mad.lo.u32', tx, 4 * bytes, sharedB),
        );
        for (let d = 0; d < t.depth; d++) {
          const left: string[] = [];
          const right: string[] = [];
          for (let g = 0; g < groupsDown; g++)
            left.push(...sharedFour(kit, kind, fromA, d * strideA + g * stepDown * bytes));
          for (let g = 0; g < groupsAcross; g++)
            right.push(...sharedFour(kit, kind, fromB, d * strideB + g * stepAcross * bytes));
          left.forEach((x, i) => {
            right.forEach((y, j) => {
              const acc = results[i]![j]!;
              b.set(acc, multiplyAdd(sum), x, y, acc);
            });
          });
        }
        b.set(buffer, 'xor.b32', buffer, 1);
        kit.when(more, () => {
          loaderA.put(buffer);
          loaderB.put(buffer);
        });
        kit.sync();
      },
    );
  }
  const vector = r.n % 4 === 0 && r.type === sum && bytes === 4;
  for (let i = 0; i < t.down; i++) {
    const row = b.def('r', 'add.u32', b.def('r', 'mad.lo.u32', ty, 4, m0), (i % 4) + stepDown * Math.floor(i / 4));
    const rowInside = b.def('p', 'setp.lt.u32', row, r.m);
    const line = b.def('d', 'mul.wide.u32', row, r.n);
    for (let g = 0; g < groupsAcross; g++) {
      const column = b.def('r', 'add.u32', b.def('r', 'mad.lo.u32', tx, 4, n0), stepAcross * g);
      const address = b.def('d', 'mad.lo.u64', b.def('d', 'add.u64', line, kit.wide(column)), storedBytes, baseC);
      const four = results[i]!.slice(4 * g, 4 * g + 4);
      if (finish) {
        const at = (j: number) => [batch, kit.wide(row), kit.wide(b.def('r', 'add.u32', column, j))] as const;
        const own = (v: string): string => kit.cast(sum, r.type, v);
        if (r.n % 4 === 0) {
          const inside = b.def('p', 'and.pred', rowInside, b.def('p', 'setp.lt.u32', column, r.n));
          kit.when(inside, () => finish(at(0), four.map(own), address));
        } else {
          four.forEach((v, j) => {
            const beside = b.def('p', 'setp.lt.u32', b.def('r', 'add.u32', column, j), r.n);
            const place = b.def('d', 'add.u64', address, j * storedBytes);
            kit.when(b.def('p', 'and.pred', rowInside, beside), () => finish(at(j), [own(v)], place));
          });
        }
        continue;
      }
      if (vector) {
        const inside = b.def('p', 'and.pred', rowInside, b.def('p', 'setp.lt.u32', column, r.n));
        kit.when(inside, () => b.emit(`st.global.v4.${bitsSuffix[kind]} [${address}], {${four.join(', ')}}`));
        continue;
      }
      four.forEach((v, j) => {
        const inside = b.def(
          'p',
          'and.pred',
          rowInside,
          b.def('p', 'setp.lt.u32', b.def('r', 'add.u32', column, j), r.n),
        );
        kit.when(inside, () => storeElement(kit.c, r.type, kit.cast(sum, r.type, v), address, j * elementBytes));
      });
    }
  }
  const grid = [acrossM * acrossN, Math.min(r.batch * count, 65535), Math.ceil((r.batch * count) / 65535)] as const;
  const part = kit.finish(grid, tiledThreads(t));
  return recipeOf(r.name, target, [part]);
}

const multiplyAdd = (type: DType): string =>
  isFloat(type)
    ? `fma.rn.${type}`
    : `mad.lo.${{ i32: 's32', u32: 'u32', u8: 'u32', i64: 's64', u64: 'u64' }[type as 'i32']}`;

function sharedFour(kit: Kit, kind: RegKind, base: string, offset: number): string[] {
  const four = Array.from({ length: 4 }, () => kit.entry.reg(kind));
  if (kind === 'd' || kind === 'g') {
    for (const half of [0, 2]) {
      kit.b.emit(`ld.shared.v2.${bitsSuffix[kind]} {${four[half]}, ${four[half + 1]}}, [${base}+${offset + half * 8}]`);
    }
  } else {
    kit.b.emit(`ld.shared.v4.${bitsSuffix[kind]} {${four.join(', ')}}, [${base}+${offset}]`);
  }
  return four;
}

interface LoadPlace {
  readonly base: string;
  readonly tid: string;
  /** First row (or column) of the tile, and how many the matrix has. */
  readonly start: string;
  readonly extent: number;
  readonly depth: number;
  /** Whether neighbours in memory follow each other along the depth. */
  readonly alongDepth: boolean;
  readonly tile: number;
  readonly tileDepth: number;
  readonly shared: string;
  readonly stride: number;
  readonly threads: number;
}

/** Brings one operand's tiles from global memory through registers into shared memory, four elements at a time. */
function loader(kit: Kit, type: DType, sum: DType, p: LoadPlace) {
  const { b } = kit;
  const kind = kit.kind(sum);
  const bytes = dtypeInfo[sum].bytes;
  const size = dtypeInfo[type].bytes;
  const perRow = (p.alongDepth ? p.tileDepth : p.tile) / 4;
  const rowsPerRound = p.threads / perRow;
  const rounds = (p.alongDepth ? p.tile : p.tileDepth) / rowsPerRound;
  const line = b.def('r', 'div.u32', p.tid, perRow);
  const four = b.def('r', 'shl.b32', b.def('r', 'sub.u32', p.tid, b.def('r', 'mul.lo.u32', line, perRow)), 2);
  // Elements that follow each other in memory: whole groups are inside or outside if the extent is a multiple of four.
  const run = p.alongDepth ? p.depth : p.extent;
  const whole = run % 4 === 0;
  const canVector = whole && size === 4 && type === sum;
  const held = Array.from({ length: rounds }, () => Array.from({ length: 4 }, () => kit.entry.reg(kind)));
  const zero = kit.constant(sum, sum === 'i64' || sum === 'u64' ? 0n : 0);

  const fetch = (k: string, gate?: string): void => {
    held.forEach((registers, round) => {
      const row = b.def('r', 'add.u32', line, round * rowsPerRound);
      const outer = p.alongDepth ? b.def('r', 'add.u32', p.start, row) : b.def('r', 'add.u32', k, row);
      const inner = p.alongDepth ? b.def('r', 'add.u32', k, four) : b.def('r', 'add.u32', p.start, four);
      const outerInside = b.def('p', 'setp.lt.u32', outer, p.alongDepth ? p.extent : p.depth);
      const inside = gate ? b.def('p', 'and.pred', outerInside, gate) : outerInside;
      const element = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', outer, run), kit.wide(inner));
      const address = b.def('d', 'mad.lo.u64', element, size, p.base);
      for (const r of registers) b.set(r, `mov.${bitsSuffix[kind]}`, zero);
      if (canVector) {
        const ok = b.def('p', 'and.pred', inside, b.def('p', 'setp.lt.u32', inner, run));
        b.emit(`@${ok} ld.global.nc.v4.${bitsSuffix[kind]} {${registers.join(', ')}}, [${address}]`);
        return;
      }
      registers.forEach((r, i) => {
        const ok = b.def('p', 'and.pred', inside, b.def('p', 'setp.lt.u32', b.def('r', 'add.u32', inner, i), run));
        const value = loadElement(kit.c, 'ld.global.nc', type, address, i * size, ok);
        b.set(r, `mov.${bitsSuffix[kind]}`, kit.cast(type, sum, value));
      });
    });
  };
  const put = (buffer: string): void => {
    const base = b.def('r', 'mad.lo.u32', buffer, p.tileDepth * p.stride, p.shared);
    held.forEach((registers, round) => {
      const row = b.def('r', 'add.u32', line, round * rowsPerRound);
      if (p.alongDepth) {
        // Four depths of one row: each goes to its own line.
        const at = b.def('r', 'mad.lo.u32', four, p.stride, b.def('r', 'mad.lo.u32', row, bytes, base));
        registers.forEach((r, i) => {
          b.emit(`st.shared.${bitsSuffix[kind]} [${at}+${i * p.stride}], ${r}`);
        });
        return;
      }
      const at = b.def('r', 'mad.lo.u32', row, p.stride, b.def('r', 'mad.lo.u32', four, bytes, base));
      if (bytes === 4) {
        b.emit(`st.shared.v4.${bitsSuffix[kind]} [${at}], {${registers.join(', ')}}`);
        return;
      }
      registers.forEach((r, i) => {
        b.emit(`st.shared.${bitsSuffix[kind]} [${at}+${i * bytes}], ${r}`);
      });
    });
  };
  return { fetch, put };
}
