// How work that stays on the chip is cut, for adapters with much and with little: nothing asks for more than there is.

import { describe, expect, it } from 'vitest';
import { decomposed, rowsCases } from '../../../../test/gpu/rows.ts';
import type { Rows } from '../../../kernel/kernel.ts';
import { dtypesOf } from '../device.ts';
import type { Traits } from '../plan.ts';
import { nativeOps } from '../wgsl/ops.ts';
import {
  type AttentionTiles,
  attentionChoices,
  attentionHeads,
  attentionTiles,
  fitsChip,
  queriesOf,
} from './attention-tiles.ts';
import { rowLayout, rowRoom } from './row-layout.ts';
import { renderRows } from './rows.ts';

const large: Traits = {
  cpu: false,
  f16: true,
  subgroup: 32,
  maxWorkgroupsPerDimension: 65535,
  maxInvocations: 1024,
  workgroupBytes: 48 * 1024,
  exactDivision: false,
  keepsNaN: false,
};
/** What WebGPU promises of every adapter. */
const least: Traits = { ...large, f16: false, subgroup: 0, maxInvocations: 256, workgroupBytes: 16 * 1024 };
const native = nativeOps(dtypesOf(true));
const caseOf = (name: string): Rows =>
  decomposed(rowsCases().find((c) => c.routine.name === name)!.routine as Rows, native);

/** Bytes of workgroup memory that a shader declares. */
function sharedBytes(source: string): number {
  const bytes = { f32: 4, i32: 4, u32: 4, bool: 4, f16: 2 } as Record<string, number>;
  let sum = 0;
  for (const [, type, count] of source.matchAll(/var<workgroup> \w+: array<(\w+), (\d+)>/g))
    sum += bytes[type!]! * Number(count);
  return sum;
}

describe('rows', () => {
  it('are as long as threads have registers for', () => {
    expect(rowRoom(large)).toEqual({ bytes: 65536, columnBytes: 8192 });
    expect(rowRoom(least)).toEqual({ bytes: 32768, columnBytes: 2048 });
  });

  it('have a few elements in each thread, and short ones share a workgroup', () => {
    expect(rowLayout(caseOf('softmax_f32_130x64'), large)).toMatchObject({
      group: 8,
      threads: 256,
      vector: 4,
      places: 2,
    });
    expect(rowLayout(caseOf('softmax_f32_128x4096'), large)).toMatchObject({ group: 256, vector: 4, places: 4 });
    expect(rowLayout(caseOf('softmax_f32_128x12000'), large)).toMatchObject({ group: 1024, places: 3 });
    expect(rowLayout(caseOf('softmax_f32_129x4099'), large)).toMatchObject({ vector: 1 });
    expect(rowLayout(caseOf('spread_f32_5x32x2048_beside'), large)).toMatchObject({
      turned: true,
      group: 64,
      places: 32,
    });
  });

  it('join without workgroup memory within a subgroup, and within its limits beyond', () => {
    const small = renderRows(caseOf('softmax_f32_130x64'), large).passes[0]!.source;
    expect(small).not.toContain('workgroupBarrier');
    for (const traits of [large, least])
      for (const { routine } of rowsCases()) {
        if (
          routine.op !== 'rows' ||
          4 * routine.columns > rowRoom(traits).bytes ||
          /64|bf16/.test(routine.name.split('_')[1]!)
        )
          continue;
        const { source } = renderRows(decomposed(routine, native), traits).passes[0]!;
        expect(sharedBytes(source), routine.name).toBeLessThanOrEqual(traits.workgroupBytes);
      }
  });
});

describe('attention', () => {
  it('takes heads as wide as workgroup memory allows', () => {
    expect(attentionHeads(large)).toEqual({ f32: 256, f16: 256 });
    expect(attentionHeads(least)).toEqual({ f32: 64 });
    expect(attentionHeads({ ...least, workgroupBytes: 0 })).toEqual({ f32: 0 });
  });

  it('has tiles for every head up to that, all of them multiples of 8', () => {
    for (const traits of [large, least])
      for (let head = 8; head <= attentionHeads(traits).f32!; head += 8)
        for (const other of [8, head])
          expect(
            attentionTiles({ depth: head, width: other, batch: 1, queries: 8 }, traits),
            `${head} ${other}`,
          ).toSatisfy(
            (tiles?: AttentionTiles) => tiles !== undefined && fitsChip({ depth: head, width: other }, tiles, traits),
          );
  });

  it('has large tiles where there are enough of them, and many where there are not', () => {
    const head = { depth: 64, width: 64, queries: 1024 };
    const most = attentionTiles({ ...head, batch: 128 }, large)!;
    const fewer = attentionTiles({ ...head, batch: 32 }, large)!;
    expect(queriesOf(most)).toBe(256);
    expect(queriesOf(fewer)).toBeLessThan(256);
    expect(queriesOf(attentionTiles({ ...head, batch: 1 }, large)!)).toBeLessThanOrEqual(queriesOf(fewer));
  });

  it('has no choice that no adapter would ever come to', () => {
    const heads = [8, 16, 32, 64, 80, 96, 128, 192, 256].map((d) => ({ depth: d, width: d }));
    const chips = [16, 24, 32, 48, 64].flatMap((kib) =>
      [0, 4, 8, 16, 32].map((subgroup) => ({ ...large, subgroup, workgroupBytes: kib * 1024 })),
    );
    const used = new Set(chips.flatMap((chip) => heads.map((h) => attentionChoices.find((t) => fitsChip(h, t, chip)))));
    expect(attentionChoices.filter((t) => !used.has(t))).toEqual([]);
  });
});
