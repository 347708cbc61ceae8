// Every routine's PTX, assembled by ptxas over all types and the shapes that choose each path.

import { describe, expect, it } from 'vitest';
import { assemble, hasPtxas } from '../../../../test/gpu/assemble.ts';
import { attention } from '../../../../test/gpu/attention.ts';
import { epilogueCases, matmul, type RoutineCase, routineCases } from '../../../../test/gpu/routines.ts';
import { decomposed, rowsCases } from '../../../../test/gpu/rows.ts';
import { everyNth } from '../../../../test/support/extent.ts';
import { dtypes } from '../../../base/dtype.ts';
import type { Attention, Rows } from '../../../kernel/kernel.ts';
import { nativeOps } from '../ptx/alu.ts';
import { moduleText } from '../ptx/code.ts';
import type { Target } from '../ptx/target.ts';
import { attentionHeads } from './attention/index.ts';
import { matmulRecipe, routineRecipe, takesEpilogue } from './index.ts';
import { sharedLimit } from './tensor-core.ts';

/** Every routine, path and width of type, but not every combination: the GPU tests run those. */
function crossSection(): RoutineCase[] {
  const taken = new Map<string, number>();
  return routineCases().filter(({ routine: r }) => {
    if (r.op === 'products') return r.count === 3 && (r.product.type === 'f32' || r.product.type === 'i64');
    if (r.op === 'compact' || r.op === 'fourier') return false;
    if (r.op === 'raw' || r.op === 'rows' || r.op === 'attention' || !['f32', 'f16', 'i64', 'u8'].includes(r.type))
      return r.op === 'sort' && r.type === 'bool';
    // Widths of keys, and of one update for all, are few.
    if (r.op === 'topk' && r.first > 0 && r.type !== 'f32' && r.type !== 'i64') return false;
    if (r.op === 'scatter' && r.uniform && r.type !== 'f32') return false;
    const size =
      r.op === 'matmul'
        ? `${r.m}x${r.n}`
        : r.op === 'sort' || r.op === 'topk'
          ? `${r.columns}`
          : `${r.inner} ${r.length}`;
    const key = `${r.op} ${r.type} ${size} ${r.op === 'scatter' || r.op === 'scan' ? r.combine : ''}`;
    taken.set(key, (taken.get(key) ?? 0) + 1);
    const rare =
      r.op === 'scan' || r.op === 'scatter' ? r.combine === 'sum' || r.combine === 'max' || r.combine === 'set' : true;
    return rare && taken.get(key)! <= 1;
  });
}

const targets: readonly Target[] = [
  { sm: 90, ptx: 78, processors: 132, fastMath: false },
  { sm: 75, ptx: 70, processors: 1, fastMath: false },
];

const ampere: readonly Target[] = [
  { sm: 80, ptx: 70, processors: 108, fastMath: false },
  { sm: 86, ptx: 71, processors: 1, fastMath: false },
];

describe.skipIf(!hasPtxas)('the routines', () => {
  it('keep rows on the chip with PTX that ptxas accepts', { timeout: 240_000 }, () => {
    const [target] = targets;
    const native = Object.fromEntries(dtypes.map((d) => [d, nativeOps(d, target!)]));
    const entries = rowsCases().map(({ routine }) => {
      const { ptx } = routineRecipe(decomposed(routine as Rows, native), target!);
      return ptx.split('\n').slice(3).join('\n');
    });
    expect(entries.length).toBeGreaterThan(50);
    expect(assemble(moduleText(target!, entries), target!)).toBe('');
  });

  it.each(targets)('are PTX that ptxas accepts for sm_$sm', { timeout: 240_000 }, (target) => {
    // One module for all: starting ptxas costs more than what it has to do. Headers are three lines.
    const bodies = new Map<string, string>();
    for (const { routine } of everyNth([...crossSection()], target === targets[0] ? 1 : 7)) {
      const { ptx } = routineRecipe(routine, target);
      const [version, name, address, ...body] = ptx.split('\n');
      const header = `${version}\n${name}\n${address}`;
      bodies.set(header, `${bodies.get(header) ?? header}\n${body.join('\n')}`);
    }
    for (const text of bodies.values()) expect(assemble(text, target)).toBe('');
  });

  it.each(ampere)('multiply on the tensor cores of sm_$sm', { timeout: 120_000 }, (target) => {
    const products = [
      matmul('bf16', 256, 128, 256, { transposeB: true }),
      matmul('f16', 130, 67, 45, { transposeA: true }),
      matmul('f32', 256, 128, 128, { precision: 'tf32' }),
    ];
    for (const { routine } of products) {
      const recipe = routineRecipe(routine, target);
      expect(recipe.ptx).toMatch(/mma\.sync\.aligned/);
      expect(recipe.launches.at(-1)!.shared).toBeLessThanOrEqual((target.sm === 80 ? 163 : 99) * 1024);
      expect(assemble(recipe.ptx, target)).toBe('');
    }
  });

  it.each([targets[0]!, ampere[0]!])(
    'take epilogues along in PTX that ptxas accepts for sm_$sm',
    { timeout: 120_000 },
    (target) => {
      const bodies = new Map<string, string>();
      for (const { routine } of epilogueCases()) {
        const types = target.sm === 90 ? ['f32', 'bf16', 'i64', 'u8'] : ['f32', 'bf16'];
        // A bias alone is part of what the residual does.
        if (routine.op !== 'matmul' || !types.includes(routine.type) || routine.name.endsWith('_bias')) continue;
        expect(takesEpilogue(routine, target)).toBe(!routine.name.endsWith('_long'));
        if (routine.name.endsWith('_long')) continue;
        const { ptx } = matmulRecipe(routine, target);
        const [version, name, address, ...body] = ptx.split('\n');
        // Tensor-core modules declare their dynamic shared memory; one declaration serves all.
        const header = [version, name, address, '.extern .shared .align 1024 .b8 dyn[];'].join('\n');
        const lines = body.filter((l) => !l.startsWith('.extern'));
        bodies.set(header, `${bodies.get(header) ?? header}\n${lines.join('\n')}`);
      }
      for (const text of bodies.values()) expect(assemble(text, target)).toBe('');
    },
  );

  it.each([targets[0]!, ...ampere])(
    'keep scores on the chip with PTX that ptxas accepts for sm_$sm',
    { timeout: 120_000 },
    (target) => {
      const heads = attentionHeads(target);
      const [plain, narrow] = target.sm === 90 ? [256, 256] : target.sm === 80 ? [128, 256] : [128, 128];
      expect(heads).toEqual({ f32: plain, f16: narrow, bf16: narrow });
      const bodies = new Map<string, string>();
      const cases = [
        attention('f32', [2, 150, 201, 64, 64], 'causal'),
        attention('f32', [2, 33, 65, 128, 40], 'biased'),
        attention('bf16', [2, 150, 201, 64, 64], 'masked'),
        attention('f16', [2, 128, 128, 128, 24], 'scaled'),
        attention('f32', [2, 33, 65, plain, plain], 'plain'),
        attention('bf16', [2, 33, 65, narrow, narrow], 'causal'),
      ];
      for (const { routine } of cases) {
        const r = routine as Attention;
        const { ptx, launches } = routineRecipe(r, target);
        expect(launches[0]!.shared).toBeLessThanOrEqual(sharedLimit(target.sm));
        if (r.type === 'f32') expect(ptx).not.toMatch(/mma/);
        else expect(ptx).toMatch(target.sm === 90 ? /wgmma/ : /mma\.sync/);
        const [version, name, address, ...body] = ptx.split('\n');
        const header = [version, name, address, '.extern .shared .align 1024 .b8 dyn[];'].join('\n');
        const lines = body.filter((l) => !l.startsWith('.extern'));
        bodies.set(header, `${bodies.get(header) ?? header}\n${lines.join('\n')}`);
      }
      for (const text of bodies.values()) expect(assemble(text, target)).toBe('');
    },
  );

  it('repack only operands that the tensor cores cannot read as they lie', () => {
    const launches = (target: Target, c: RoutineCase): number => routineRecipe(c.routine, target).launches.length;
    const [hopper, older] = [targets[0]!, ampere[0]!];
    const both = (c: RoutineCase): number[] => [launches(hopper, c), launches(older, c)];
    expect(both(matmul('bf16', 256, 128, 256, { transposeB: true }))).toEqual([1, 1]);
    expect(both(matmul('bf16', 256, 128, 256))).toEqual([1, 2]);
    expect(both(matmul('bf16', 256, 128, 256, { transposeA: true }))).toEqual([1, 3]);
    // Rows of whole pieces of 16 bytes, however much depth there is.
    expect(both(matmul('bf16', 256, 130, 256, { transposeA: true }))).toEqual([1, 3]);
    expect(both(matmul('bf16', 250, 128, 256, { transposeA: true }))).toEqual([2, 3]);
    expect(both(matmul('bf16', 256, 128, 250))).toEqual([2, 2]);
    expect(both(matmul('bf16', 256, 130, 256, { transposeB: true }))).toEqual([3, 3]);
    // Other types are read along the depth.
    expect(both(matmul('f32', 256, 128, 256, { precision: 'tf32' }))).toEqual([2, 2]);
  });

  it('ask for no more shared memory than a block of the architecture may have', () => {
    const limits = [70, 75, 80, 86, 87, 89, 90, 100, 120].map((sm) => sharedLimit(sm) / 1024);
    expect(limits).toEqual([96, 64, 163, 99, 163, 99, 227, 227, 99]);
    for (const target of [...targets, ...ampere]) {
      for (const { routine } of routineCases().filter((c) => c.routine.op === 'scatter')) {
        const { launches } = routineRecipe(routine, target);
        for (const l of launches) expect(l.shared).toBeLessThanOrEqual(sharedLimit(target.sm));
      }
    }
  });

  it('keep true f32 off the tensor cores', () => {
    const recipe = routineRecipe(matmul('f32', 256, 256, 256).routine, targets[0]!);
    expect(recipe.ptx).not.toMatch(/mma/);
    expect(recipe.ptx).toMatch(/fma\.rn\.f32/);
  });
});
