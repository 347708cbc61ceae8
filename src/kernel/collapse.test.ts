import { describe, expect, it } from 'vitest';
import { collapse } from './collapse.ts';
import { type Expr, Exprs } from './expr.ts';

/** Row-major position of axes 0 … n-1. */
function position(b: Exprs, sizes: readonly number[]): Expr {
  let at = b.const('index', 0) as Expr;
  sizes.forEach((n, i) => {
    at = b.alu('add', b.alu('mul', at, b.const('index', n)), b.axis(i, n));
  });
  return at;
}

describe('collapse', () => {
  it('makes plain elementwise work one axis', () => {
    const b = new Exprs();
    const value = b.load('f32', 0, position(b, [4, 5, 6]));
    const made = collapse({ space: [4, 5, 6], reduced: [] }, [value]);
    expect(made.space).toEqual([120]);
    expect(made.rewrite(value)).toMatchObject({ kind: 'load', index: { kind: 'axis', axis: 0, size: 120 } });
  });

  it('drops axes of size 1, and keeps one axis of a scalar', () => {
    const b = new Exprs();
    const value = b.load('f32', 0, b.axis(1, 7));
    expect(collapse({ space: [1, 7, 1], reduced: [] }, [value]).space).toEqual([7]);
    expect(collapse({ space: [1, 1], reduced: [1] }, [b.const('f32', 1)])).toMatchObject({ space: [1], reduced: [1] });
  });

  it('keeps axes apart that an operand is broadcast along, or walks in another order', () => {
    const b = new Exprs();
    const broadcast = b.load('f32', 0, b.axis(1, 5));
    expect(collapse({ space: [4, 5], reduced: [] }, [broadcast]).space).toEqual([4, 5]);
    const transposed = b.load('f32', 0, b.alu('add', b.alu('mul', b.axis(1, 5), b.const('index', 4)), b.axis(0, 4)));
    expect(collapse({ space: [4, 5], reduced: [] }, [transposed]).space).toEqual([4, 5]);
  });

  it('keeps an axis that is rolled by itself, and merges the ones inside it', () => {
    const b = new Exprs();
    const i = b.axis(0, 4);
    const c = (v: number): Expr => b.const('index', v);
    const rolled = b.alu('add', i, b.alu('where', b.alu('lt', i, c(3)), c(1), c(-3)));
    const inner = b.alu('add', b.alu('mul', b.axis(1, 5), c(6)), b.axis(2, 6));
    const value = b.load('f32', 0, b.alu('add', b.alu('mul', rolled, c(30)), inner));
    expect(collapse({ space: [4, 5, 6], reduced: [] }, [value]).space).toEqual([4, 30]);
  });

  it('never merges output axes with reduced ones, but each among themselves', () => {
    const b = new Exprs();
    const value = b.load('f32', 0, position(b, [2, 3, 4, 5]));
    const made = collapse({ space: [2, 3], reduced: [4, 5] }, [value]);
    expect([made.space, made.reduced]).toEqual([[6], [20]]);
    const rewritten = made.rewrite(value);
    expect(rewritten.kind === 'load' && rewritten.index).toMatchObject({ op: 'add' });
  });
});
