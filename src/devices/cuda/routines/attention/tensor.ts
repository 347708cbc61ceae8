// Attention on tensor cores, for f16 and bf16: scores live in registers only.
//
// A block has a tile of queries and passes over keys and values step by step, which are copied to shared memory a few steps
// ahead. Products are summed up in f32; the weights of a step, between 0 and 1, are rounded to the operands' type.

import type { Attention } from '../../../../kernel/kernel.ts';
import type { Target } from '../../ptx/target.ts';
import type { ModuleRecipe } from '../../recipe.ts';
import { Kit } from '../kit.ts';
import type { AttentionTiles, Fragment, MakeAttentionCore } from './core.ts';
import { mmaAttention } from './mma.ts';
import { attentionGrid, openAttention } from './opening.ts';
import { panelCopier, tileBytes } from './panels.ts';
import { keysEnd, withFlags } from './range.ts';
import { acrossLanes, addScores, newRow } from './softmax.ts';
import { wgmmaAttention } from './wgmma.ts';

/** The lanes that share a row of a fragment. */
const quad = [1, 2];

export interface TensorPlan {
  readonly core: MakeAttentionCore;
  readonly hopper: boolean;
  readonly tiles: AttentionTiles;
}

/**
 * Of 94 to 137 µs that plans take for 128 × 1024 queries and keys of 64 on an H200, the first takes 94; of 94 to 125 µs for 256 × 512 of
 * 128, the second takes 94: while one block computes weights, the other multiplies. A step's place is filled again when
 * the products that read it have ended: they may go on behind the step where there are two places more than are fetched ahead.
 */
const hopper = [
  { widest: 64, tiles: { keys: 128, stages: 2, ahead: 1, resident: 2 } },
  { widest: 128, tiles: { keys: 64, stages: 2, ahead: 1, resident: 2 } },
  { widest: 256, tiles: { keys: 64, stages: 2, ahead: 1, resident: 1 } },
] as const;

/**
 * Queries of a block on Hopper, two threads for each. Where there are few, smaller blocks read keys sooner (2,048 times one query and
 * 4,096 keys of 128: 1,168 µs, by small blocks 984).
 */
const [manyQueries, fewQueries] = [128, 64];

export function tensorPlan(r: Pick<Attention, 'depth' | 'width' | 'queries'>, target: Target): TensorPlan {
  const widest = Math.max(r.depth, r.width);
  if (target.sm === 90) {
    const rows = r.queries <= fewQueries ? fewQueries : manyQueries;
    const tiles = { ...hopper.find((t) => widest <= t.widest)!.tiles, rows, threads: 2 * rows, slabs: 1 };
    return { core: wgmmaAttention, hopper: true, tiles };
  }
  const slabs = widest <= 64 ? 2 : 1;
  const tiles = { rows: 64 * slabs, keys: 64, threads: 128, slabs };
  return { core: mmaAttention, hopper: false, tiles: { ...tiles, stages: 2, ahead: 1, resident: 0 } };
}

export const tensorShared = (r: Pick<Attention, 'depth' | 'width'>, { rows, keys, stages }: AttentionTiles): number =>
  tileBytes({ width: r.depth, rows }) +
  stages * (tileBytes({ width: r.depth, rows: keys }) + tileBytes({ width: r.width, rows: keys }));

export function tensorAttention(r: Attention, target: Target, plan = tensorPlan(r, target)): ModuleRecipe {
  const { tiles } = plan;
  const { rows, keys, threads, stages, ahead, slabs } = tiles;
  const type = r.type as 'f16' | 'bf16';
  const kit = new Kit(r.name, target);
  const { b } = kit;
  const { q, k, v, out, tid, batch, ofBatch, scores, row0 } = openAttention(kit, r, rows);

  const queries = b.def('r', 'mov.u32', 'dyn');
  const ring = b.def('r', 'add.u32', queries, tileBytes({ width: r.depth, rows }));
  const keyBytes = tileBytes({ width: r.depth, rows: keys });
  const stageBytes = keyBytes + tileBytes({ width: r.width, rows: keys });
  const copyQueries = panelCopier(
    kit,
    { width: r.depth, rows, extent: r.queries, from: ofBatch(q, r.batchQ, r.queries * r.depth) },
    tid,
    threads,
  );
  copyQueries(row0, queries);
  const side = (width: number, from: string) =>
    panelCopier(kit, { width, rows: keys, extent: r.keys, from }, tid, threads);
  const copyKeys = side(r.depth, ofBatch(k, r.batchK, r.keys * r.depth));
  const copyValues = side(r.width, ofBatch(v, r.batchV, r.keys * r.width));

  const end = keysEnd(kit, r, scores, { batch, row0, rows, keys });
  const lastStage = b.def('r', 'add.u32', ring, (stages - 1) * stageBytes);
  const advance = (stage: string): void => {
    const wrap = b.def('p', 'setp.eq.u32', stage, lastStage);
    b.set(stage, 'selp.b32', ring, b.def('r', 'add.u32', stage, stageBytes), wrap);
  };
  const next = b.def('r', 'mov.u32', 0);
  const fill = b.def('r', 'mov.u32', ring);
  const fetch = (): void => {
    kit.when(b.def('p', 'setp.lt.u32', next, end), () => {
      copyKeys(next, fill);
      copyValues(next, b.def('r', 'add.u32', fill, keyBytes));
    });
    // Empty groups keep the count of what is outstanding right.
    b.emit('cp.async.commit_group');
    b.set(next, 'add.u32', next, keys);
    advance(fill);
  };
  // The queries are part of the first group.
  for (let s = 0; s < ahead; s++) fetch();

  const core = plan.core(kit, { type, depth: r.depth, width: r.width, tiles, queries, tid });
  const laneId = b.def('r', 'and.b32', tid, 31);
  const ownRow = b.def('r', 'add.u32', core.firstRow, b.def('r', 'shr.u32', laneId, 2));
  const ownColumn = b.def('r', 'shl.b32', b.def('r', 'and.b32', laneId, 3), 1);
  const states = Array.from({ length: 2 * slabs }, () => newRow(kit));
  const rowAt = (h: number): string => b.def('r', 'add.u32', b.def('r', 'add.u32', row0, ownRow), 8 * h);

  const arrive = (): void => {
    b.emit(`cp.async.wait_group ${ahead - 1}`);
    if (plan.hopper) b.emit('fence.proxy.async.shared::cta');
    kit.sync();
  };
  const use = b.def('r', 'mov.u32', ring);
  const first = b.def('r', 'mov.u32', 0);
  const body = (): void => {
    fetch();
    const found = core.scores(use);
    const column = b.def('r', 'add.u32', first, ownColumn);
    const rows_ = states.map((_, i) => rowAt(i));
    const changed = found.flatMap((line, i) =>
      [0, 1].map((h) => {
        const change = scores.row(rows_[2 * i + h]!);
        return line.map((four, j) => change(column, 8 * j, four.slice(2 * h, 2 * h + 2)));
      }),
    );
    const cells = changed.flatMap((line, i) =>
      line.flatMap((two, j) => two.map((score, e) => ({ row: rows_[i]!, column, offset: 8 * j + e, score }))),
    );
    scores.hide({ row0, first, keys }, cells);
    const weights: Fragment[][] = Array.from({ length: slabs }, () => []);
    const pair = (low: string, high: string): string => b.def('r', `cvt.rn.${type}x2.f32`, high, low);
    const packed = changed.map((line, i) => {
      const { weights: w, factor } = addScores(kit, states[i]!, line.flat(), quad);
      for (const d of core.results[i >> 1]!)
        for (const e of [0, 1]) b.set(d[2 * (i & 1) + e]!, 'mul.rn.f32', d[2 * (i & 1) + e]!, factor);
      return line.map((_, j) => pair(w[2 * j]!, w[2 * j + 1]!));
    });
    for (let i = 0; i < slabs; i++) {
      const [upper, lower] = [packed[2 * i]!, packed[2 * i + 1]!];
      for (let t = 0; t < keys / 16; t++)
        weights[i]!.push([upper[2 * t]!, lower[2 * t]!, upper[2 * t + 1]!, lower[2 * t + 1]!]);
    }
    core.accumulate(weights, b.def('r', 'add.u32', use, keyBytes));
    if (stages - ahead < 2) core.end();
    advance(use);
    b.set(first, 'add.u32', first, keys);
  };
  arrive();
  core.begin();
  const again = kit.entry.label('step');
  const over = kit.entry.label('over');
  b.label(again);
  body();
  b.emit(`@${b.def('p', 'setp.ge.u32', first, end)} bra ${over}`);
  arrive();
  b.emit(`bra ${again}`);
  b.label(over);
  core.end();

  const base = ofBatch(out, r.batch === 1 ? 1 : 2, r.queries * r.width);
  states.forEach(({ sum }, i) => {
    const row = rowAt(i);
    const total = acrossLanes(kit, 'add', sum, quad);
    const by = b.def('f', 'rcp.rn.f32', total);
    const line = b.def('d', 'mad.wide.u32', row, r.width * 2, base);
    const address = b.def('d', 'mad.wide.u32', ownColumn, 2, line);
    const inside = b.def('p', 'setp.lt.u32', row, r.queries);
    core.results[i >> 1]!.forEach((d, j) => {
      if (8 * j >= r.width) return;
      const [x, y] = [0, 1].map((e) => b.def('f', 'mul.rn.f32', d[2 * (i & 1) + e]!, by)) as [string, string];
      b.emit(`@${inside} st.global.b32 [${address}+${16 * j}], ${b.def('r', `cvt.rn.${type}x2.f32`, y, x)}`);
    });
  });
  const grid = attentionGrid(r, rows);
  const part = kit.finish(grid, threads, tensorShared(r, tiles), tiles.resident);
  return withFlags(r, scores, target, {
    text: part.text,
    launch: part.launch,
    align: 1024,
    suffix: plan.hopper ? 'a' : '',
  });
}
