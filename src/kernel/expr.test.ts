import { describe, expect, it } from 'vitest';
import { type Expr, Exprs } from './expr.ts';
import { operands } from './walk.ts';

const load = (b: Exprs, slot = 0): Expr => b.load('f32', slot, b.axis(0, 8));

describe('interning', () => {
  it('makes equal structure one object', () => {
    const b = new Exprs();
    const build = () => b.alu('add', b.alu('mul', load(b), b.scalar('f32', 0)), b.cast('f32', b.acc('f64', 1)));
    expect(build()).toBe(build());
    expect(b.bitcast('i32', load(b))).toBe(b.bitcast('i32', load(b)));
    expect(b.bitcast('i32', load(b))).not.toBe(b.cast('i32', load(b)));
    expect(b.axis(0, 8)).toBe(b.axis(0, 8));
    expect(b.axis(0, 8)).not.toBe(b.axis(1, 8));
  });

  it('gives every expression an id of its own', () => {
    const b = new Exprs();
    const all = [load(b), load(b, 1), b.alu('neg', load(b)), b.alu('exp', load(b)), b.const('f32', 1)];
    expect(new Set(all.map((e) => e.id)).size).toBe(all.length);
  });

  it('keeps zeros, types and gates apart', () => {
    const b = new Exprs();
    expect(b.const('f32', 0)).not.toBe(b.const('f32', -0));
    expect(b.const('f32', Number.NaN)).toBe(b.const('f32', Number.NaN));
    expect(b.const('f32', 1)).not.toBe(b.const('f64', 1));
    expect(b.const('i64', 1n)).not.toBe(b.const('i32', 1));
    const gate = b.alu('lt', b.axis(0, 8), b.const('index', 4));
    expect(b.load('f32', 0, b.axis(0, 8), gate)).not.toBe(load(b));
  });
});

describe('constants', () => {
  it.each([
    ['bool', 5, 1],
    ['u8', 300, 44],
    ['u8', -1, 255],
    ['i32', 2 ** 31, -(2 ** 31)],
    ['u32', -1, 2 ** 32 - 1],
    ['i64', 2n ** 63n, -(2n ** 63n)],
    ['u64', -1, 2n ** 64n - 1n],
    ['f16', 0.1, 0.0999755859375],
    ['bf16', 0.1, 0.10009765625],
    ['f32', 0.1, Math.fround(0.1)],
    ['f64', 0.1, 0.1],
    ['index', 7n, 7],
    ['index', -0, 0],
    ['i32', -0, 0],
  ] as const)('of %s take %s as %s', (type, given, kept) => {
    expect(new Exprs().const(type, given).value).toBe(kept);
  });
});

describe('building', () => {
  it('makes an axis of size 1 the position 0', () => {
    const b = new Exprs();
    expect(b.axis(3, 1)).toBe(b.const('index', 0));
  });

  it('drops gates that are always open, and loads that never happen', () => {
    const b = new Exprs();
    expect(b.load('f32', 0, b.axis(0, 8), b.const('bool', 1))).toBe(load(b));
    expect(b.load('i64', 0, b.axis(0, 8), b.const('bool', 0))).toBe(b.const('i64', 0n));
  });

  it('types ops by their operands, comparisons as bool, where by its choices', () => {
    const b = new Exprs();
    expect(b.alu('mul', load(b), load(b, 1)).type).toBe('f32');
    const compared = b.alu('lt', load(b), load(b, 1));
    expect(compared.type).toBe('bool');
    expect(b.alu('where', compared, b.load('i64', 1, b.axis(0, 8)), b.const('i64', 0)).type).toBe('i64');
  });

  it('converts constants at once, and nothing to its own type', () => {
    const b = new Exprs();
    expect(b.cast('i32', b.const('f32', -2.7))).toBe(b.const('i32', -2));
    expect(b.cast('f16', b.const('f64', 1e6))).toBe(b.const('f16', Number.POSITIVE_INFINITY));
    expect(b.cast('f32', load(b))).toBe(load(b));
    expect(b.bitcast('f32', load(b))).toBe(load(b));
  });

  it('does not merge conversions: each one rounds', () => {
    const b = new Exprs();
    const back = b.cast('f32', b.cast('f16', load(b)));
    expect(back).not.toBe(load(b));
  });
});

describe('operands', () => {
  it('are what an expression is computed from, the gate last', () => {
    const b = new Exprs();
    const i = b.axis(0, 8);
    const gate = b.alu('lt', i, b.const('index', 4));
    expect(operands(b.load('f32', 0, i, gate))).toEqual([i, gate]);
    expect(operands(load(b))).toEqual([i]);
    expect(operands(b.alu('exp', load(b)))).toEqual([load(b)]);
    expect(operands(b.cast('f64', load(b)))).toEqual([load(b)]);
    for (const leaf of [i, b.const('f32', 1), b.scalar('f32', 0), b.acc('f32', 0)]) expect(operands(leaf)).toEqual([]);
  });
});
