// Stamps in every kind of kernel that we make: one where it begins, one at every exit, and ptxas accepts them.

import { describe, expect, it } from 'vitest';
import { assemble, hasPtxas } from '../../../../test/gpu/assemble.ts';
import { allKernelCases } from '../../../../test/gpu/corpus.ts';
import { routineCases } from '../../../../test/gpu/routines.ts';
import { kernelRecipe, type ModuleRecipe } from '../recipe.ts';
import { routineRecipe } from '../routines/index.ts';
import { probeRecipe, stamped } from './stamps.ts';
import type { Target } from './target.ts';

const targets: readonly Target[] = [
  { sm: 90, ptx: 78, processors: 132, fastMath: false },
  { sm: 75, ptx: 70, processors: 1, fastMath: false },
];

/** A few kernels of every kind, and one routine of each shape. */
function recipes(target: Target): ModuleRecipe[] {
  const seen = new Set<string>();
  const fresh = (kind: string): boolean => seen.size < seen.add(kind).size;
  const kernels = allKernelCases(target)
    .filter(({ kernel: k }) => fresh(`${k.space.length} ${k.reduced.length} ${k.outputs.length} ${k.scalars.length}`))
    .map(({ kernel, lowered }) => kernelRecipe(lowered ?? kernel, target));
  const routines = routineCases()
    .filter(
      ({ routine: r }) =>
        r.op !== 'raw' && r.op !== 'rows' && (r.op === 'products' || ['f32', 'bf16'].includes(r.type)),
    )
    .filter(({ routine: r }) => fresh(`${r.op} ${r.op === 'matmul' ? `${r.m} ${r.n} ${r.type}` : ''}`))
    .map(({ routine }) => routineRecipe(routine, target));
  return [...kernels, ...routines, probeRecipe(target)];
}

const count = (text: string, what: RegExp): number => text.match(what)?.length ?? 0;

describe('stamps', () => {
  it('are where a kernel begins and at every exit, and leave everything else as it was', () => {
    const all = targets.flatMap(recipes);
    expect(all.length).toBeGreaterThan(30);
    for (const plain of all) {
      const { ptx, launches } = stamped(plain, 132);
      const entries = count(plain.ptx, /^\.visible \.entry/gm);
      expect(count(ptx, /st\.global\.u64 \[%sd0\], %sd1;/g)).toBe(entries);
      expect(count(ptx, /^ {2}\.param \.u64 stamp$/gm)).toBe(entries);
      expect(count(ptx, /red\.global\.max\.u64 \[%sd0\+8\]/g)).toBe(count(plain.ptx, /\bret;/g));
      expect(count(ptx, /\bret;/g)).toBe(count(plain.ptx, /\bret;/g));
      const rest = new Set(ptx.split('\n'));
      const lost = plain.ptx.split('\n').filter((l) => l !== '  ret;' && !rest.has(l) && !rest.has(`${l},`));
      expect(lost).toEqual([]);
      for (const [i, l] of launches.entries()) {
        expect(l.args).toEqual([...plain.launches[i]!.args, { kind: 'slot' }]);
        expect(l.block.slice(1)).toEqual([1, 1]);
        const entry = ptx.slice(ptx.indexOf(`.entry ${l.entry}(`));
        // A parameter may be a table of several arguments.
        const params = [...entry.slice(0, entry.indexOf(')')).matchAll(/\.param .*?(?:\.u64|\[(\d+)\])/g)];
        expect(params.reduce((bytes, [, table]) => bytes + Number(table ?? 8), 0)).toBe(8 * l.args.length);
      }
    }
  });

  it.skipIf(!hasPtxas).each(targets)('are PTX that ptxas accepts for sm_$sm', { timeout: 120_000 }, (target) => {
    const modules = new Map<string, string>();
    const entries = new Set<string>();
    // The older one, which has no other instructions in its stamps, for the look at the clock alone: ptxas takes its time.
    for (const plain of target.sm === 90 ? recipes(target) : [probeRecipe(target)]) {
      if (plain.launches.some((l) => entries.has(l.entry))) continue;
      for (const l of plain.launches) entries.add(l.entry);
      const [version, arch, address, ...body] = stamped(plain, 132).ptx.split('\n');
      const header = `${version}\n${arch}\n${address}`;
      modules.set(header, `${modules.get(header) ?? header}\n${body.join('\n')}`);
    }
    for (const text of modules.values()) expect(assemble(text, target)).toBe('');
  });
});
