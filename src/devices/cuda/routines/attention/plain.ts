// Attention in true f32, without tensor cores: scores in registers, weights through shared memory to the threads that need them.
//
// Threads of a warp are 2 rows of 16. A thread has rows ty + 16·i and keys tx + 16·j of the scores, and of the results the same rows
// with columns 4·tx … in groups of 64. Operands lie in shared memory as they are, in rows padded by 16 bytes, and are read four
// elements along the depth at a time. A warp reads only weights of its own rows, so it waits for nobody but itself. While the
// values are multiplied the next keys are copied, and the other way round.

import type { Attention } from '../../../../kernel/kernel.ts';
import type { Target } from '../../ptx/target.ts';
import type { ModuleRecipe } from '../../recipe.ts';
import { Kit } from '../kit.ts';
import { attentionGrid, openAttention } from './opening.ts';
import { keysEnd, withFlags } from './range.ts';
import { acrossLanes, addScores, newRow } from './softmax.ts';

const across = 16;
const threads = 256;
const down = threads / across;
/** The lanes of a warp that share a row. */
const lanesOfRow = [2, 4, 8, 16];

export interface PlainTiles {
  /** Rows and keys of a thread. */
  readonly rows: number;
  readonly keys: number;
  /** How often the body of a product's loop is written out. */
  readonly copies: number;
}

type Shape = Pick<Attention, 'depth' | 'width'>;

const pitch = (elements: number): number => (elements + 4) * 4;
const widthOf = ({ width }: Shape): number => 64 * Math.ceil(width / 64);

/** Bytes of each region of shared memory. */
function regions(r: Shape, t: PlainTiles) {
  const [rows, keys] = [t.rows * down, t.keys * across];
  return {
    queries: rows * pitch(r.depth),
    keys: keys * pitch(r.depth),
    values: keys * widthOf(r) * 4,
    weights: rows * pitch(keys),
  };
}

const plainShared = (r: Shape, t: PlainTiles): number => {
  const { queries, keys, values, weights } = regions(r, t);
  return queries + keys + values + weights;
};

/** Registers of results and scores that a thread can hold. */
const mostHeld = 144;

/** From the fastest on. */
const choices: readonly PlainTiles[] = [
  { rows: 8, keys: 8, copies: 2 },
  { rows: 8, keys: 4, copies: 2 },
  { rows: 4, keys: 4, copies: 2 },
  { rows: 2, keys: 4, copies: 2 },
];

export const plainTiles = (r: Shape, shared: number): PlainTiles | undefined =>
  choices.find((t) => t.rows * (widthOf(r) / across + t.keys) <= mostHeld && plainShared(r, t) <= shared);

export function plainAttention(r: Attention, target: Target, t: PlainTiles): ModuleRecipe {
  const kit = new Kit(r.name, target);
  const { b } = kit;
  const [rows, keys] = [t.rows * down, t.keys * across];
  const { q, k, v, out, tid, batch, ofBatch, scores, row0 } = openAttention(kit, r, rows);
  const bytes = regions(r, t);
  const atQueries = b.def('r', 'mov.u32', 'dyn');
  const atKeys = b.def('r', 'add.u32', atQueries, bytes.queries);
  const atValues = b.def('r', 'add.u32', atKeys, bytes.keys);
  const atWeights = b.def('r', 'add.u32', atValues, bytes.values);

  const copyRows = (
    width: number,
    padded: number,
    to: string,
    rowPitch: number,
    tile: number,
    extent: number,
    from: string,
  ) => rowCopier(kit, { width, padded, to, pitch: rowPitch, rows: tile, extent, from }, tid);
  const copyQueries = copyRows(
    r.depth,
    r.depth,
    atQueries,
    pitch(r.depth),
    rows,
    r.queries,
    ofBatch(q, r.batchQ, r.queries * r.depth),
  );
  const copyKeys = copyRows(
    r.depth,
    r.depth,
    atKeys,
    pitch(r.depth),
    keys,
    r.keys,
    ofBatch(k, r.batchK, r.keys * r.depth),
  );
  const columns = widthOf(r);
  const copyValues = copyRows(
    r.width,
    columns,
    atValues,
    columns * 4,
    keys,
    r.keys,
    ofBatch(v, r.batchV, r.keys * r.width),
  );

  const warp = b.def('r', 'shr.u32', tid, 5);
  const ty = b.def('r', 'mad.lo.u32', warp, 2, b.def('r', 'and.b32', tid, 1));
  const tx = b.def('r', 'and.b32', b.def('r', 'shr.u32', tid, 1), 15);
  const zero = '0f00000000';
  const results = Array.from({ length: t.rows }, () =>
    Array.from({ length: columns / across }, () => b.def('f', 'mov.f32', zero)),
  );
  const states = results.map(() => newRow(kit));
  const fromQueries = b.def('r', 'mad.lo.u32', ty, pitch(r.depth), atQueries);
  const fromKeys = b.def('r', 'mad.lo.u32', tx, pitch(r.depth), atKeys);
  const ownWeights = b.def('r', 'mad.lo.u32', ty, pitch(keys), atWeights);
  const fromValues = b.def('r', 'mad.lo.u32', tx, 16, atValues);
  const four = (address: string, offset: number): string[] => {
    const made = Array.from({ length: 4 }, () => kit.entry.reg('f'));
    b.emit(`ld.shared.v4.f32 {${made.join(', ')}}, [${address}+${offset}]`);
    return made;
  };
  /** Repeats a body `count` times, written out several times where that divides it; it is told which copy it is. */
  const loop = (count: number, body: (copy: number) => void, next: (copies: number) => void): void => {
    const copies = [t.copies, 2, 1].find((n) => count % n === 0)!;
    const left = b.def('r', 'mov.u32', count / copies);
    const again = kit.entry.label('depth');
    b.label(again);
    for (let i = 0; i < copies; i++) body(i);
    next(copies);
    b.set(left, 'sub.u32', left, 1);
    b.emit(`@${b.def('p', 'setp.ne.u32', left, 0)} bra ${again}`);
  };
  const addProduct = (to: string, x: string, y: string): void => b.set(to, 'fma.rn.f32', x, y, to);

  const sums = Array.from({ length: t.rows }, () => Array.from({ length: t.keys }, () => b.def('f', 'mov.f32', zero)));
  const multiplyKeys = (): void => {
    for (const line of sums) for (const s of line) b.set(s, 'mov.f32', zero);
    const [left, right] = [b.def('r', 'mov.u32', fromQueries), b.def('r', 'mov.u32', fromKeys)];
    const step = (copy: number): void => {
      const query = sums.map((_, i) => four(left, i * down * pitch(r.depth) + 16 * copy));
      for (let j = 0; j < t.keys; j++) {
        const key = four(right, j * across * pitch(r.depth) + 16 * copy);
        for (let d = 0; d < 4; d++)
          for (const [i, line] of sums.entries()) addProduct(line[j]!, query[i]![d]!, key[d]!);
      }
    };
    loop(r.depth / 4, step, (copies) => {
      b.set(left, 'add.u32', left, 16 * copies);
      b.set(right, 'add.u32', right, 16 * copies);
    });
  };
  const multiplyValues = (): void => {
    const [left, right] = [b.def('r', 'mov.u32', ownWeights), b.def('r', 'mov.u32', fromValues)];
    const step = (copy: number): void => {
      const weight = results.map((_, i) => four(left, i * down * pitch(keys) + 16 * copy));
      for (let d = 0; d < 4; d++) {
        for (let g = 0; g < columns / 64; g++) {
          const value = four(right, (4 * copy + d) * columns * 4 + g * 256);
          for (const [i, line] of results.entries())
            for (let c = 0; c < 4; c++) addProduct(line[4 * g + c]!, weight[i]![d]!, value[c]!);
        }
      }
    };
    loop(keys / 4, step, (copies) => {
      b.set(left, 'add.u32', left, 16 * copies);
      b.set(right, 'add.u32', right, 16 * columns * copies);
    });
  };

  const end = keysEnd(kit, r, scores, { batch, row0, rows, keys });
  const first = b.def('r', 'mov.u32', 0);
  const behind = b.def('r', 'mov.u32', 0);
  const more = (then: () => void): void => {
    kit.when(b.def('p', 'setp.lt.u32', behind, end), then);
    b.emit('cp.async.commit_group');
  };
  copyQueries(row0);
  copyKeys(first);
  b.emit('cp.async.commit_group');
  copyValues(first);
  b.emit('cp.async.commit_group');
  const again = kit.entry.label('step');
  b.label(again);
  // Keys are here; values may still be on their way.
  b.emit('cp.async.wait_group 1');
  kit.sync();
  multiplyKeys();
  b.set(behind, 'add.u32', first, keys);
  kit.sync();
  more(() => copyKeys(behind));
  sums.forEach((line, i) => {
    const row = b.def('r', 'add.u32', b.def('r', 'add.u32', row0, ty), i * down);
    const column = b.def('r', 'add.u32', first, tx);
    const change = scores.row(row);
    const changed = line.map((s, j) => change(column, j * across, [s])[0]!);
    const cells = changed.map((score, j) => ({ row, column, offset: j * across, score }));
    scores.hide({ row0, first, keys }, cells);
    const { weights, factor } = addScores(kit, states[i]!, changed, lanesOfRow);
    for (const d of results[i]!) b.set(d, 'mul.rn.f32', d, factor);
    const at = b.def('r', 'mad.lo.u32', tx, 4, ownWeights);
    for (const [j, w] of weights.entries())
      b.emit(`st.shared.f32 [${at}+${i * down * pitch(keys) + j * across * 4}], ${w}`);
  });
  b.emit('cp.async.wait_group 1');
  kit.sync();
  multiplyValues();
  kit.sync();
  more(() => copyValues(behind));
  b.set(first, 'mov.u32', behind);
  b.emit(`@${b.def('p', 'setp.lt.u32', first, end)} bra ${again}`);

  const base = ofBatch(out, r.batch === 1 ? 1 : 2, r.queries * r.width);
  states.forEach(({ sum }, i) => {
    const row = b.def('r', 'add.u32', b.def('r', 'add.u32', row0, ty), i * down);
    const by = b.def('f', 'rcp.rn.f32', acrossLanes(kit, 'add', sum, lanesOfRow));
    const line = b.def('d', 'mad.wide.u32', row, r.width * 4, base);
    const address = b.def('d', 'mad.wide.u32', tx, 16, line);
    const inside = b.def('p', 'setp.lt.u32', row, r.queries);
    for (let g = 0; g < columns / 64; g++) {
      const values = results[i]!.slice(4 * g, 4 * g + 4).map((d) => b.def('f', 'mul.rn.f32', d, by));
      const last = b.def('p', 'setp.lt.u32', b.def('r', 'mad.lo.u32', tx, 4, 64 * g), r.width);
      b.emit(
        `@${b.def('p', 'and.pred', inside, last)} st.global.v4.f32 [${address}+${g * 256}], {${values.join(', ')}}`,
      );
    }
  });
  const grid = attentionGrid(r, rows);
  const part = kit.finish(grid, threads, plainShared(r, t));
  return withFlags(r, scores, target, { text: part.text, launch: part.launch, align: 16, suffix: '' });
}

interface RowsTile {
  /** Elements of a row in global memory, and in shared memory: both multiples of 4; the rest is zeros. */
  readonly width: number;
  readonly padded: number;
  readonly to: string;
  readonly pitch: number;
  readonly rows: number;
  readonly extent: number;
  readonly from: string;
}

/** Emits asynchronous copies of the tile that begins at a row; rows beyond the end are zeros. */
function rowCopier(kit: Kit, p: RowsTile, tid: string): (first: string) => void {
  const { b } = kit;
  const pieces = p.padded / 4;
  const count = p.rows * pieces;
  return (first) => {
    const base = b.def('d', 'mad.wide.u32', first, p.width * 4, p.from);
    for (let i = 0; i * threads < count; i++) {
      const index = b.def('r', 'add.u32', tid, i * threads);
      const row = b.def('r', 'div.u32', index, pieces);
      const piece = b.def('r', 'sub.u32', index, b.def('r', 'mul.lo.u32', row, pieces));
      const inRow = b.def('p', 'setp.lt.u32', piece, p.width / 4);
      const inside = b.def(
        'p',
        'and.pred',
        inRow,
        b.def('p', 'setp.lt.u32', b.def('r', 'add.u32', first, row), p.extent),
      );
      const offset = b.def('d', 'mad.wide.u32', row, p.width * 4, kit.wide(b.def('r', 'shl.b32', piece, 4)));
      const source = b.def('d', 'selp.b64', b.def('d', 'add.u64', base, offset), p.from, inside);
      const at = b.def('r', 'mad.lo.u32', row, p.pitch, b.def('r', 'mad.lo.u32', piece, 16, p.to));
      const gate = (i + 1) * threads > count ? `@${b.def('p', 'setp.lt.u32', index, count)} ` : '';
      b.emit(`${gate}cp.async.cg.shared.global [${at}], [${source}], 16, ${b.def('r', 'selp.b32', 16, 0, inside)}`);
    }
  };
}
