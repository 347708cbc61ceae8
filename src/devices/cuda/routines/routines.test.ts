// Every routine's PTX, assembled by ptxas over all types and the shapes that choose each path.

import { describe, expect, it } from 'vitest';
import { assemble, hasPtxas } from '../../../../test/gpu/assemble.ts';
import { type RoutineCase, routineCases } from '../../../../test/gpu/routines.ts';
import type { Target } from '../ptx/target.ts';
import { routineRecipe } from './index.ts';

/** Every routine, path and width of type, but not every combination: the GPU tests run those. */
function crossSection(): RoutineCase[] {
  const taken = new Map<string, number>();
  return routineCases().filter(({ routine: r }) => {
    if (r.op === 'raw' || !['f32', 'f16', 'i64', 'u8'].includes(r.type)) return r.op === 'sort' && r.type === 'bool';
    const size = r.op === 'matmul' ? `${r.m}x${r.n}` : r.op === 'sort' ? `${r.columns}` : `${r.inner} ${r.length}`;
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

describe.skipIf(!hasPtxas)('the routines', () => {
  it.each(targets)('are PTX that ptxas accepts for sm_$sm', { timeout: 240_000 }, (target) => {
    // One module for all: starting ptxas costs more than what it has to do. Headers are three lines.
    const bodies = new Map<string, string>();
    for (const { routine } of crossSection()) {
      const { ptx } = routineRecipe(routine, target);
      const [version, name, address, ...body] = ptx.split('\n');
      const header = `${version}\n${name}\n${address}`;
      bodies.set(header, `${bodies.get(header) ?? header}\n${body.join('\n')}`);
    }
    for (const text of bodies.values()) expect(assemble(text, target, ['-O0'])).toBe('');
  });
});
