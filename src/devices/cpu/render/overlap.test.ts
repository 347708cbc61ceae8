import { describe, expect, it } from 'vitest';
import { decomposed } from '../../../../test/support/decompose.ts';
import { costlyArms } from '../../../kernel/arms.ts';
import { type Expr, Exprs } from '../../../kernel/expr.ts';
import { cpuNative } from './native.ts';
import { overlapOf } from './overlap.ts';
import { bodiesFor, survey } from './plan.ts';

const load = (b: Exprs): Expr => b.load('f32', 0, b.axis(0, 64));

describe('the overlap of steps', () => {
  it('is that of a chain where each step waits for the one before', () => {
    const b = new Exprs();
    const x = load(b);
    let y = x;
    for (let k = 0; k < 10; k++) y = b.alu('mul', b.alu('add', y, b.const('f32', k + 0.5)), y);
    expect(overlapOf([y], new Map())).toEqual({ steps: 21, longest: 21 });
  });

  it('counts what several steps read once, and bits that are read as another type not at all', () => {
    const b = new Exprs();
    const x = load(b);
    const squared = b.alu('mul', x, x);
    const bits = b.bitcast('f32', b.alu('xor', b.bitcast('i32', squared), b.const('i32', 1)));
    expect(overlapOf([b.alu('add', bits, squared), squared], new Map())).toEqual({ steps: 4, longest: 4 });
  });

  it('leaves out what hardly any element takes', () => {
    for (const op of ['sin', 'cos', 'tan'] as const) {
      const root = decomposed(op, 'f64', cpuNative, true);
      const arms = costlyArms([root]);
      expect(arms.size).toBeGreaterThan(0);
      expect(overlapOf([root], arms).steps).toBeLessThan(overlapOf([root], new Map()).steps / 2);
    }
  });

  it('makes bodies of two parts of functions whose steps overlap, of four otherwise', () => {
    const widestOf = (op: 'cos' | 'exp' | 'acos'): number => {
      const root = decomposed(op, 'f64', cpuNative, true);
      return bodiesFor(survey([root]), [64])[0]!;
    };
    expect([widestOf('exp'), widestOf('cos'), widestOf('acos')]).toEqual([8, 4, 4]);
  });
});
